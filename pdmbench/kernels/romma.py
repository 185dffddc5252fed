"""Sweeps of aggressive ROMMA, and of its equivalent NAROMMA."""

from __future__ import annotations

import numpy as np

from pdmbench.kernels import jit
from pdmbench.kernels.margins import fetch_ahead, product, row_at, step

SMALLEST_SCALE = 1e-100  # folded into the vector below this, long before it underflows
LARGEST_SQUARE = 1e200  # of NAROMMA's vector, which is brought back to length 1 beyond


@jit
def sweep_romma(y, order, rounds, scattered, eps, state, weights, dual, kept):
    """Present the patterns ``order``; update where w·y_k < 1 − ε (Li & Long 2002).

    w = s v is kept as a scalar times a vector, so that an update costs one row. The update makes w the
    shortest vector with w·y_k = 1 and w·w_old = ‖w_old‖², hence ‖w‖² = w·(c w_old + d y_k) = c‖w_old‖² + d.

    Parameters
    ----------
    y, order, rounds, scattered, kept
        As in :func:`pdmbench.kernels.pdm.sweep`; the patterns that ask for an update are kept.
    eps : float
        ε.
    state : ndarray of shape (4,)
        s, ‖w‖² and the number of updates, in and out; out: the factor by which v was rescaled on the way, to
        be applied to the dual coefficients that are not in ``dual`` (those outside a copied active set).
    weights, dual : ndarray
        v̄ and its dual coefficients, in and out.

    Returns
    -------
    n_kept, presented : int
        Patterns that asked for an update in the last round, and patterns presented in all rounds.
    """
    scale, squared, updates, factor = state[0], state[1], state[2], 1.0
    presented = 0
    for _ in range(rounds):
        n_kept = 0
        following = row_at(y, order, np.uint64(0))
        for i in range(np.uint64(order.shape[0])):
            row, k = following, following[0]
            following = row_at(y, order, i + np.uint64(1))
            if scattered:
                fetch_ahead(y, order, i, dual)
            p = scale * product(y, row, weights, dual)
            if p < 1.0 - eps:
                kept[n_kept] = k
                n_kept += 1
                q = y.q[k]
                if q * squared > p:
                    above = q * squared - p
                    below = q * squared - p * p
                    if below <= 0.0:
                        continue  # y_k is opposite to w: no update helps, it stays unsatisfied
                    c = above / below
                    step(y, row, squared * (1.0 - p) / (above * scale), weights, dual)  # d / (s c)
                    scale *= c
                    squared = squared * (above + 1.0 - p) / below  # c ‖w‖² + d
                    if scale < SMALLEST_SCALE:
                        _rescale(weights, dual, scale)
                        factor *= scale
                        scale = 1.0
                else:
                    _rescale(weights, dual, 0.0)
                    factor = 0.0
                    scale = 1.0
                    step(y, row, 1.0 / q, weights, dual)
                    squared = 1.0 / q
                updates += 1.0
        presented += order.shape[0]
        if n_kept == 0:
            break
    state[0], state[1], state[2], state[3] = scale, squared, updates, factor
    return n_kept, presented


@jit
def sweep_naromma(y, order, rounds, scattered, eps, state, weights, dual, kept):
    """Present the patterns ``order``; update where w·y_k / ‖w‖ < (1 − ε)/ℓ̂.

    1/ℓ̂ is the upper bound on γ_d that the maximum-cosine framework carries along; each update moves w to
    the vector of largest cosine in the span of w and y_k.

    Parameters and return values are those of :func:`sweep_romma`, with ``state`` = ℓ̂, ‖w‖², updates
    and the factor.
    """
    ell, squared, updates, factor = state[0], state[1], state[2], 1.0
    presented = 0
    for _ in range(rounds):
        n_kept = 0
        following = row_at(y, order, np.uint64(0))
        for i in range(np.uint64(order.shape[0])):
            row, k = following, following[0]
            following = row_at(y, order, i + np.uint64(1))
            if scattered:
                fetch_ahead(y, order, i, dual)
            norm = np.sqrt(squared)
            g = product(y, row, weights, dual) / norm
            if g < (1.0 - eps) / ell:
                kept[n_kept] = k
                n_kept += 1
                q = y.q[k]
                if ell * q > g:
                    if q - g * g <= 0.0:
                        continue
                    x = (1.0 - ell * g) / (ell * q - g)
                    size = x * norm
                    step(y, row, size, weights, dual)
                    squared += 2.0 * size * g * norm + size * size * q
                    ell = (ell + x) / np.sqrt(1.0 + q * x * x + 2.0 * g * x)
                    if squared > LARGEST_SQUARE:
                        shrink = 1.0 / np.sqrt(squared)
                        _rescale(weights, dual, shrink)
                        factor *= shrink
                        squared = 1.0
                else:
                    _rescale(weights, dual, 0.0)
                    factor = 0.0
                    step(y, row, 1.0, weights, dual)
                    squared = q
                    ell = 1.0 / np.sqrt(q)
                updates += 1.0
        presented += order.shape[0]
        if n_kept == 0:
            break
    state[0], state[1], state[2], state[3] = ell, squared, updates, factor
    return n_kept, presented


@jit
def _rescale(weights, dual, factor):
    """A call of its own: an array assigned to in the loop above would slow every visit."""
    for j in range(weights.shape[0]):
        weights[j] *= factor
    for k in range(dual.shape[0]):
        dual[k] *= factor
