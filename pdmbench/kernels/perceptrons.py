"""Sweeps of the perceptron family: perceptron, perceptron with margin, margitron, dual perceptron, ALMA₂."""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from pdmbench.kernels import jit
from pdmbench.kernels.margins import augmented_products, fetch_ahead, product, row_at, step
from pdmbench.kernels.romma import SMALLEST_SCALE
from pdmbench.kernels.rows import add, find
from pdmbench.patterns import BIAS

MOST_STEPS = 2.0**53  # beyond, λ + 1 = λ


@jit
def sweep(y, order, rounds, scattered, b, power, multiple, normalised, cut, state, weights, dual, kept):
    """Present the patterns ``order``; update where a·y_k ≤ b ‖a‖^power.

    Perceptron: b = 0; perceptron with margin: power = 0; PFM: power = 1; margitron: any power in (−1, 1).

    Parameters
    ----------
    y, order, rounds, scattered, state, weights, dual, kept
        As in :func:`pdmbench.kernels.pdm.sweep`; ``state[0]`` counts updates.
    b, power : float
        The threshold b ‖a‖^power, 0 at a = 0.
    multiple : bool
        Take the smallest λ after which the pattern no longer asks for an update, instead of 1.
    normalised : bool
        Present y_k/‖y_k‖ in place of y_k; the I_k remain those of y_k.
    cut : float
        Keep the visited pattern when a·y_k ≤ cut · b ‖a‖^power.

    Returns
    -------
    n_kept, n_updated, presented : int
    """
    t, squared = state[0], state[1]
    half = 0.5 * power
    threshold = _threshold(b, half, squared)
    unit = 1.0
    presented = 0
    for _ in range(rounds):
        n_kept, n_updated = 0, 0
        following = row_at(y, order, np.uint64(0))
        for i in range(np.uint64(order.shape[0])):
            row, k = following, following[0]
            following = row_at(y, order, i + np.uint64(1))
            if scattered:
                fetch_ahead(y, order, i, dual)
            p, q = product(y, row, weights, dual), y.q[k]
            if normalised:
                unit = 1.0 / np.sqrt(q)
                p, q = p * unit, 1.0
            if p <= cut * threshold:
                kept[n_kept] = k
                n_kept += 1
                if p <= threshold:
                    size = _fewest_steps(b, half, squared, p, q) if multiple else 1.0
                    step(y, row, size * unit, weights, dual)
                    squared += 2.0 * size * p + size * size * q
                    threshold = _threshold(b, half, squared)
                    t += size
                    n_updated += 1
        presented += order.shape[0]
        if n_updated == 0:
            break
    state[0], state[1] = t, squared
    return n_kept, n_updated, presented


@register_jitable
def _threshold(b, half, squared):
    """b ‖a‖^power, 0 at a = 0."""
    return b * squared**half if squared > 0.0 else 0.0


@jit
def _fewest_steps(b, half, squared, p, q):
    """The smallest λ ≥ 1 with (a + λy)·y > b ‖a + λy‖^power.

    For −1 ≤ power ≤ 1 the left side over the right one grows with λ, by Cauchy & Schwarz: doubling finds a λ
    that is enough, halving the smallest.
    """
    low, high = 0.0, 1.0
    while high < MOST_STEPS and p + high * q <= _threshold(
        b, half, squared + 2.0 * high * p + high * high * q
    ):
        low, high = high, 2.0 * high
    while high - low > 1.0:
        middle = np.floor(0.5 * (low + high))
        if p + middle * q <= _threshold(b, half, squared + 2.0 * middle * p + middle * middle * q):
            low = middle
        else:
            high = middle
    return high


@jit
def sweep_dual(y, order, normalised, gram, place, products, workspace, state, dual):
    """Present the patterns ``order`` to the perceptron in dual form; update where Σ_j I_j y_j·y_k ≤ 0.

    The sums are carried along in ``products``: an update of pattern k adds a row of the Gram matrix to them.

    Parameters
    ----------
    y, order, normalised, dual
        As in :func:`sweep`.
    gram : ndarray of shape (rows, m)
        Rows of the Gram matrix y_j·y_k; when it is full, its last row is made anew each time.
    place : ndarray of int64, shape (m,)
        Where the row of a pattern is, −1: nowhere.
    products : ndarray of shape (m,)
        a·y_k, in and out.
    workspace : ndarray
        A weight vector of zeros.
    state : ndarray
        Updates, in and out; then anything; then the rows of ``gram`` that are taken, in and out.

    Returns
    -------
    n_updated : int
    """
    n_updated = 0
    for i in range(np.uint64(order.shape[0])):
        k = order[i]
        if products[k] <= 0.0:
            if place[k] < 0:
                row = min(np.int64(state[2]), gram.shape[0] - 1)
                if row < gram.shape[0] - 1:
                    place[k] = row
                    state[2] += 1.0
                _gram_row(y, k, workspace, gram[row])
            else:
                row = place[k]
            size = 1.0 / np.sqrt(y.q[k]) if normalised else 1.0
            for j in range(products.shape[0]):
                products[j] += size * gram[row, j]
            dual[k] += size
            n_updated += 1
    state[0] += n_updated
    return n_updated


@jit
def _gram_row(y, k, workspace, out):
    """y_k·y_j for every j, into ``out``."""
    add(y.rows, find(y.rows, k), y.label[k], workspace)
    workspace[BIAS] = y.label[k] * y.rho
    augmented_products(y, workspace, out)
    out[k] += y.delta2
    workspace[:] = 0.0


@jit
def sweep_alma(y, order, alpha, state, weights, dual):
    """Present the patterns ``order`` to ALMA₂: with ŷ = y/‖y‖, update where w·ŷ ≤ (1−α) B/√k.

    w = s v is kept as a scalar times a vector, so that the projection onto ‖w‖ ≤ 1 costs nothing.

    Parameters
    ----------
    y, order
        As in :func:`sweep`.
    alpha : float
        α; B = √8/α, C = √2.
    state : ndarray of shape (3,)
        Updates k − 1, ‖v‖² and s, in and out.
    weights, dual : ndarray
        v̄ and its dual coefficients, in and out.

    Returns
    -------
    n_updated : int
    """
    t, scale = state[0], state[2]
    squared = scale * scale * state[1]  # ‖w‖²
    n_updated = 0
    for i in range(np.uint64(order.shape[0])):
        k = order[i]
        row = find(y.rows, k)
        fetch_ahead(y, order, i, dual)
        norm = np.sqrt(y.q[k])
        p = scale * product(y, row, weights, dual) / norm
        if p <= (1.0 - alpha) * np.sqrt(8.0 / (t + 1.0)) / alpha:
            rate = np.sqrt(2.0 / (t + 1.0))
            step(y, row, rate / (scale * norm), weights, dual)
            squared += 2.0 * rate * p + rate * rate
            if squared > 1.0:
                scale /= np.sqrt(squared)
                squared = 1.0
                if scale < SMALLEST_SCALE:
                    weights *= scale
                    dual *= scale
                    scale = 1.0
            t += 1.0
            n_updated += 1
    state[0], state[1], state[2] = t, squared / (scale * scale), scale
    return n_updated
