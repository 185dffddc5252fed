"""Sweeps of dual coordinate descent for the L2-loss SVM in the extended space."""

from __future__ import annotations

import numpy as np

from pdmbench.kernels import jit
from pdmbench.kernels.margins import augmented_product, augmented_step, fetch_ahead
from pdmbench.kernels.rows import find


@jit
def sweep(y, order, scattered, cut, weights, dual, kept):
    """Minimise ½‖Σ α_k y_k‖² − Σ α_k exactly along each coordinate of ``order``, within α ≥ 0.

    Parameters
    ----------
    y, order, scattered, kept
        As in :func:`pdmbench.kernels.pdm.sweep`.
    cut : float
        Leave out of ``kept`` the patterns with α_k = 0 and a·y_k − 1 > cut.
    weights, dual : ndarray
        ā = Σ α_k ȳ_k and α, in and out.

    Returns
    -------
    n_kept, n_updated : int
    largest : float
        The largest violation |projected gradient| seen.
    slack : float
        Σ max(0, 1 − ā·ȳ_k)² with each ā·ȳ_k as it was when k was visited.
    """
    n_kept, n_updated, largest, slack = 0, 0, 0.0, 0.0
    for i in range(np.uint64(order.shape[0])):
        k = order[i]
        row = find(y.rows, k)
        if scattered:
            fetch_ahead(y, order, i, dual)
        p = augmented_product(y, row, weights)
        slack += max(0.0, 1.0 - p) ** 2
        alpha = dual[k]
        gradient = p + y.delta2 * alpha - 1.0
        if alpha > 0.0 or gradient <= cut:
            kept[n_kept] = k
            n_kept += 1
        if alpha > 0.0 or gradient < 0.0:
            largest = max(largest, abs(gradient))
            dual[k] = max(0.0, alpha - gradient / y.q[k])
            augmented_step(y, row, dual[k] - alpha, weights)
            n_updated += 1
    return n_kept, n_updated, largest, slack
