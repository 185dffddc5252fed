"""Sweeps of the perceptron with dynamic margin."""

from __future__ import annotations

import numpy as np

from pdmbench.kernels import inlined, jit
from pdmbench.kernels.margins import fetch_ahead, product, row_at, step


@jit
def sweep(y, order, rounds, scattered, eps, multiple, cut, state, weights, dual, kept):
    """Present the patterns ``order``; update where a·y_k ≤ (1−ε) ‖a‖²/t (paper, condition 8).

    Parameters
    ----------
    y : Reflected
    order : ndarray of uint32
        Patterns in the order of their visits, at least one.
    rounds : int
        Passes over ``order``; the first without an update is the last.
    scattered : bool
        Whether ``order`` jumps about in memory.
    eps : float
        ε.
    multiple : bool
        Take the smallest λ after which the pattern no longer asks for an update, instead of 1.
    cut : float
        At least 1: keep the visited pattern when a·y_k ≤ cut · (1−ε) ‖a‖²/t.
    state : ndarray of shape (2,)
        t and ‖a‖², in and out.
    weights, dual : ndarray
        ā and I, in and out.
    kept : ndarray of uint32
        Receives the kept patterns.

    Returns
    -------
    n_kept, n_updated : int
        Patterns kept and updated in the last round.
    presented : int
        Patterns presented in all rounds.
    """
    t, squared = state[0], state[1]
    target = 1.0 - eps
    threshold = squared * (target / t) if t > 0.0 else 0.0
    wide = cut > 1.0  # else just the updated patterns are kept
    presented = 0
    for _ in range(rounds):
        n_kept, n_updated = 0, 0
        following = row_at(y, order, np.uint64(0))
        for i in range(np.uint64(order.shape[0])):
            row, k = following, following[0]
            following = row_at(y, order, i + np.uint64(1))
            if scattered:
                fetch_ahead(y, order, i, dual)
            p = product(y, row, weights, dual)
            if wide:
                kept[n_kept] = k  # counted or not: there is no branch to guess wrong
                n_kept += p <= cut * threshold
            if p <= threshold:
                if not wide:
                    kept[n_kept] = k
                    n_kept += 1
                q = y.q[k]
                size = 1.0
                if multiple and _asks(1.0, target, t, squared, p, q):
                    # Nearly always right, as the threshold moves little: the root need not be taken.
                    size = max(2.0, np.floor((threshold - p) / q) + 1.0)
                    if _asks(size, target, t, squared, p, q) or not _asks(
                        size - 1.0, target, t, squared, p, q
                    ):
                        size = np.floor(_root(eps, target, t, squared, p, q)) + 1.0
                step(y, row, size, weights, dual)
                t += size
                squared += size * (2.0 * p + size * q)
                threshold = squared * (target / t)  # the quotient need not wait for p
                n_updated += 1
        presented += order.shape[0]
        if n_updated == 0:
            break
    state[0], state[1] = t, squared
    return n_kept, n_updated, presented


@inlined
def _asks(size, target, t, squared, p, q):
    """Whether the pattern asks for an update still after one by ``size``: condition (8) times t."""
    return (t + size) * (p + size * q) <= target * (squared + size * (2.0 * p + size * q))


@jit
def _root(eps, target, t, squared, p, q):
    """μ₊ ≥ 0 of ε q μ² + (t q + (1−2ε̄) p) μ + (t p − ε̄ ‖a‖²) = 0, in the form that does not cancel."""
    a = eps * q
    b = t * q + (1.0 - 2.0 * target) * p
    c = min(0.0, t * p - target * squared)
    root = np.sqrt(b * b - 4.0 * a * c)
    return -2.0 * c / (b + root) if b > 0.0 else (root - b) / (2.0 * a)
