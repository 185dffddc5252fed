"""Newton's method for the primal of the L2-loss SVM: P(w) = ½‖w‖² + ½c Σ_k max(0, 1 − w·ȳ_k)².

In the extended space c = 1/Δ², and P's minimum is 1/(2γ_d²). Everything lives in the augmented space.
"""

from __future__ import annotations

import numpy as np

from pdmbench.kernels import jit
from pdmbench.kernels.margins import augmented_product, augmented_step, best_scale
from pdmbench.kernels.rows import add_squares, find
from pdmbench.patterns import BIAS


@jit
def slacks(y, products, active, combination):
    """The active patterns and Σ ξ_k ȳ_k of their slacks ξ_k = max(0, 1 − w·ȳ_k).

    Parameters
    ----------
    y : Reflected
    products : ndarray of shape (m,)
        w·ȳ_k.
    active : ndarray of uint32, shape (m,)
        Receives the patterns with ξ_k > 0, in ascending order.
    combination : ndarray
        Receives Σ ξ_k ȳ_k.

    Returns
    -------
    n_active : int
    total, squared : float
        Σ ξ_k and Σ ξ_k².
    """
    combination[:] = 0.0
    n_active, total, squared = 0, 0.0, 0.0
    for k in range(products.shape[0]):
        if products[k] < 1.0:
            slack = 1.0 - products[k]
            active[n_active] = k
            n_active += 1
            total += slack
            squared += slack * slack
            augmented_step(y, find(y.rows, k), slack, combination)
    return n_active, total, squared


@jit
def hessian_diagonal(y, active, c, diagonal):
    """1 + c Σ ȳ_kj² over the active patterns, into ``diagonal``."""
    diagonal[:] = 0.0
    for i in range(active.shape[0]):
        add_squares(y.rows, active[i], diagonal)
    diagonal[BIAS] = y.rho * y.rho * active.shape[0]
    for j in range(diagonal.shape[0]):
        diagonal[j] = 1.0 + c * diagonal[j]


@jit
def direction(y, active, c, gradient, diagonal, tolerance, limit, d, work):
    """Solve (1 + c Σ ȳ_k ȳ_kᵀ) d = −gradient by conjugate gradients, preconditioned by the diagonal.

    Parameters
    ----------
    y : Reflected
    active : ndarray of uint32
        The patterns of the sum.
    c : float
    gradient, diagonal : ndarray
    tolerance : float
        Ends when the preconditioned residual norm has fallen by this factor.
    limit : int
        Iterations at most.
    d : ndarray
        Receives the direction.
    work : ndarray of shape (3, len(d))

    Returns
    -------
    int
        Iterations made: each evaluates a product per active pattern.
    """
    residual, search, image = work[0], work[1], work[2]
    rz = 0.0
    for j in range(d.shape[0]):
        d[j] = 0.0
        residual[j] = -gradient[j]
        search[j] = residual[j] / diagonal[j]
        rz += residual[j] * search[j]
    goal = tolerance * tolerance * rz
    iterations = 0
    while iterations < limit and rz > goal:
        iterations += 1
        image[:] = 0.0
        for i in range(active.shape[0]):
            row = find(y.rows, active[i])
            augmented_step(y, row, augmented_product(y, row, search), image)
        curvature = 0.0
        for j in range(d.shape[0]):
            image[j] = search[j] + c * image[j]
            curvature += search[j] * image[j]
        size = rz / curvature
        previous, rz = rz, 0.0
        for j in range(d.shape[0]):
            d[j] += size * search[j]
            residual[j] -= size * image[j]
            rz += residual[j] * residual[j] / diagonal[j]
        for j in range(d.shape[0]):
            search[j] = residual[j] / diagonal[j] + rz / previous * search[j]
    return iterations


@jit
def advance(weights, products, d, along, c):
    """w ← s (w + t d), with the t and then the s that minimise P; w·ȳ_k follows.

    Parameters
    ----------
    weights, products : ndarray
        w and w·ȳ_k, in and out.
    d, along : ndarray
        The direction d and d·ȳ_k.
    c : float
    """
    wd, dd = 0.0, 0.0
    for j in range(d.shape[0]):
        wd += weights[j] * d[j]
        dd += d[j] * d[j]
    t = _line_search(products, along, wd, dd, c)
    ww = 0.0
    for j in range(d.shape[0]):
        weights[j] += t * d[j]
        ww += weights[j] * weights[j]
    for k in range(products.shape[0]):
        products[k] += t * along[k]
    rescale(weights, products, ww, c)


@jit
def rescale(weights, products, squared_weights, c):
    """w ← s w with the s ≥ 0 that minimises P; w·ȳ_k follows."""
    if squared_weights <= 0.0:
        return
    s = best_scale(products, squared_weights, 1.0 / c)
    for j in range(weights.shape[0]):
        weights[j] *= s
    for k in range(products.shape[0]):
        products[k] *= s


@jit
def _line_search(products, along, wd, dd, c):
    """The t that minimises P(w + t d), given w·ȳ_k, d·ȳ_k, w·d and ‖d‖².

    P' is increasing and piecewise linear along the line: Newton's step is the exact root of the present
    piece, and a bracket keeps it from cycling.
    """
    low, high, t = -np.inf, np.inf, 1.0
    for _ in range(100):
        slope, curvature = wd + t * dd, dd
        for k in range(products.shape[0]):
            slack = 1.0 - products[k] - t * along[k]
            if slack > 0.0:
                slope -= c * slack * along[k]
                curvature += c * along[k] * along[k]
        if slope < 0.0:
            low = t
        else:
            high = t
        root = t - slope / curvature
        if abs(root - t) <= 1e-6 * abs(t):
            return root
        if not low <= root <= high:
            root = 0.5 * (low + high)
        t = root
    return t
