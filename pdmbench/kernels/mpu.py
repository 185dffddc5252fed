"""Sweeps of the margin perceptron with unlearning."""

from __future__ import annotations

import numpy as np

from pdmbench.kernels import jit
from pdmbench.kernels.margins import fetch_ahead, product, row_at, step


@jit
def sweep(y, order, rounds, scattered, low, high, cut, state, weights, dual, kept):
    """Present the patterns ``order``; learn where a·y_k ≤ b, unlearn where a·y_k > b' and I_k > 0.

    Parameters
    ----------
    y, order, rounds, scattered, kept
        As in :func:`pdmbench.kernels.pdm.sweep`.
    low, high : float
        The levels b and b'.
    cut : float
        Keep the visited pattern when a·y_k ≤ cut or I_k > 0; NaN: keep it when it was updated.
    state : ndarray of shape (4,)
        t = Σ I_k, ‖a‖², updates (learned and unlearned units) in and out; out: the smallest a·y_k of the
        last round.
    weights, dual : ndarray
        ā and I, in and out.

    Returns
    -------
    n_kept, n_updated, presented : int
    """
    t, squared, updates, smallest = state[0], state[1], state[2], np.inf
    only_updated = np.isnan(cut)
    presented = 0
    for _ in range(rounds):
        n_kept, n_updated, smallest = 0, 0, np.inf
        following = row_at(y, order, np.uint64(0))
        for i in range(np.uint64(order.shape[0])):
            row, k = following, following[0]
            following = row_at(y, order, i + np.uint64(1))
            if scattered:
                fetch_ahead(y, order, i, dual)
            p = product(y, row, weights, dual)
            size = 0.0
            if p <= low:
                size = np.floor((low - p) / y.q[k]) + 1.0
            elif p > high and dual[k] > 0.0:
                size = -min(np.floor((p - high) / y.q[k]) + 1.0, dual[k])
            if size != 0.0:
                step(y, row, size, weights, dual)
                squared += size * (2.0 * p + size * y.q[k])
                t += size
                updates += abs(size)
                n_updated += 1
            if size != 0.0 if only_updated else (p <= cut or dual[k] > 0.0):
                kept[n_kept] = k
                n_kept += 1
            smallest = min(smallest, p)
        presented += order.shape[0]
        if n_updated == 0:
            break
    state[0], state[1], state[2], state[3] = t, squared, updates, smallest
    return n_kept, n_updated, presented
