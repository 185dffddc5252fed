"""Sweeps of the perceptron with fixed margin."""

from __future__ import annotations

import numpy as np

from pdmbench.kernels import jit
from pdmbench.kernels.margins import fetch_ahead, product, row_at, step


@jit
def sweep(y, order, rounds, scattered, beta, cut, state, weights, dual, kept):
    """Present the patterns ``order``; update where a·y_k ≤ β ‖a‖ (paper, condition 7).

    Parameters and return values are those of :func:`pdmbench.kernels.pdm.sweep`; updates are multiple.
    """
    t, squared = state[0], state[1]
    threshold = beta * np.sqrt(squared)
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
                after = p + q
                if t > 0.0 and (after <= 0.0 or after * after <= beta * beta * (squared + 2.0 * p + q)):
                    size = np.floor(_root(beta * beta, squared, p, q)) + 1.0
                step(y, row, size, weights, dual)
                squared += size * (2.0 * p + size * q)
                threshold = beta * np.sqrt(squared)
                t += size
                n_updated += 1
        presented += order.shape[0]
        if n_updated == 0:
            break
    state[0], state[1] = t, squared
    return n_kept, n_updated, presented


@jit
def _root(beta2, squared, p, q):
    """μ ≥ 0 with p + μq = β √(‖a‖² + 2μp + μ²q): root of q(q−β²)μ² + 2p(q−β²)μ + (p² − β²‖a‖²) = 0.

    With b = p(q−β²) and c the constant term the wanted root is the larger one, where p + μq ≥ 0.
    """
    a = q * (q - beta2)
    b = p * (q - beta2)
    c = p * p - beta2 * squared
    root = np.sqrt(max(0.0, b * b - a * c))
    return max(0.0, -c / (b + root) if b > 0.0 else (root - b) / a)
