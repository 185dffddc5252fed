"""Products, steps and norms in the reflected, augmented, extended space.

The m extra dimensions are never stored: a vector a = Σ I_k y_k is its augmented part ``weights`` (ā, laid
out as :mod:`pdmbench.patterns` says: zeros, bias, features) and its dual coefficients ``dual`` (I_k).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pdmbench.kernels import inlined, jit
from pdmbench.kernels.rows import AHEAD, add, dot, find, gather, prefetch_pointer, prefetch_row, squared
from pdmbench.kernels.vector import prefetch
from pdmbench.patterns import BIAS, Rows


class Reflected(NamedTuple):
    """The patterns y_k = [l_k x_k, l_k ρ, l_k Δ at position k], as kernels see them."""

    rows: Rows
    label: np.ndarray  # float64[m], l_k = ±1
    q: np.ndarray  # float64[m], ‖y_k‖²
    rho: float  # ρ
    delta2: float  # Δ²


@inlined
def augmented_product(y, row, weights):
    """ā·ȳ_k, for ``row = find(y.rows, k)``."""
    k = row[0]
    return dot(y.rows, row, weights, y.label[k]) + y.label[k] * y.rho * weights[BIAS]


@inlined
def augmented_step(y, row, size, weights):
    """ā ← ā + size · ȳ_k."""
    signed = size * y.label[row[0]]
    add(y.rows, row, signed, weights)
    weights[BIAS] += signed * y.rho


@inlined
def product(y, row, weights, dual):
    """a·y_k = ā·ȳ_k + Δ² I_k; the row's sum, which takes longest, is added last."""
    k = row[0]
    return dot(y.rows, row, weights, y.label[k]) + (y.label[k] * y.rho * weights[BIAS] + y.delta2 * dual[k])


@inlined
def step(y, row, size, weights, dual):
    """a ← a + size · y_k."""
    augmented_step(y, row, size, weights)
    dual[row[0]] += size


@inlined
def row_at(y, order, i):
    """The row of pattern order[i]; beyond the end, of the last one.

    Asked for one pattern ahead: after a branch that was guessed wrong, its product need not wait for it.
    """
    return find(y.rows, order[min(i, np.uint64(order.shape[0]) - np.uint64(1))])


@inlined
def fetch_ahead(y, order, i, dual):
    """While pattern order[i] is presented, fetch what the ones behind it will need.

    Worth its price only where ``order`` jumps about in memory, as in a full epoch.
    """
    last = order.shape[0] - 1
    prefetch_pointer(y.rows, order[min(i + 2 * AHEAD, last)])
    k = order[min(i + AHEAD, last)]
    prefetch_row(y.rows, k)
    prefetch(y.label, k)
    prefetch(dual, k)


@jit
def shuffle(order, draws):
    """Permute ``order`` in place (Fisher & Yates) by m uniform draws of 32 bits.

    Position i swaps with ⌊draw · (i+1) / 2³²⌋ ≤ i; the bias of this, below m/2³², is no matter here.
    """
    for i in range(order.shape[0] - 1, 0, -1):
        j = (np.uint64(draws[i]) * np.uint64(i + 1)) >> np.uint64(32)
        order[i], order[j] = order[j], order[i]


@jit
def squared_patterns(rows, rho, delta2, out):
    """q_k = ‖x_k‖² + ρ² + Δ² for every k, into ``out``."""
    for k in range(out.shape[0]):
        out[k] = squared(rows, k) + rho * rho + delta2


@jit
def squared_norm(weights, dual, delta2):
    """‖a‖² = ‖ā‖² + Δ² Σ I_k², each sum over four interleaved accumulators."""
    return _sum_of_squares(weights) + delta2 * _sum_of_squares(dual)


@jit
def _sum_of_squares(v):
    s0 = s1 = s2 = s3 = 0.0
    whole = v.shape[0] - v.shape[0] % 4
    for i in range(0, whole, 4):
        s0 += v[i] * v[i]
        s1 += v[i + 1] * v[i + 1]
        s2 += v[i + 2] * v[i + 2]
        s3 += v[i + 3] * v[i + 3]
    for i in range(whole, v.shape[0]):
        s0 += v[i] * v[i]
    return (s0 + s1) + (s2 + s3)


@jit
def total(dual):
    """Σ I_k, summed in index order."""
    amount = 0.0
    for k in range(dual.shape[0]):
        amount += dual[k]
    return amount


@jit
def combine(y, dual, weights):
    """ā = Σ I_k ȳ_k, added to ``weights``."""
    for k in range(dual.shape[0]):
        if dual[k] != 0.0:
            augmented_step(y, find(y.rows, k), dual[k], weights)


@jit
def smallest_product(y, weights, dual):
    """min_k a·y_k by one exact pass."""
    smallest = np.inf
    for k in range(dual.shape[0]):
        smallest = min(smallest, product(y, find(y.rows, k), weights, dual))
    return smallest


@jit
def augmented_products(y, weights, out):
    """ā·ȳ_k for every k, into ``out``."""
    for k in range(out.shape[0]):
        out[k] = augmented_product(y, find(y.rows, k), weights)


@jit
def best_scale(products, squared_weights, delta2):
    """The s ≥ 0 that minimises f(s) = s²‖ā‖² + Σ max(0, 1 − s ā·ȳ_k)²/Δ².

    f' is increasing and piecewise linear: Newton's step is the exact root of the present piece, and the
    bracket [low, high] around the sign change keeps it from cycling.
    """
    low, high, s = 0.0, np.inf, 1.0
    for _ in range(200):
        linear, quadratic = 0.0, 0.0
        for k in range(products.shape[0]):
            if s * products[k] < 1.0:
                linear += products[k]
                quadratic += products[k] * products[k]
        root = max(0.0, linear / (delta2 * squared_weights + quadratic))
        if root > s:
            low = s
        else:
            high = s
        if abs(root - s) <= 1e-15 * s:
            return root
        if not low <= root <= high:
            root = 0.5 * (low + high)
        s = root
    return s


@jit
def best_margin(products, squared_weights, delta2):
    """The margin of ā with its best extension, 1/√min_s f(s); without one (Δ = 0) min_k ā·ȳ_k / ‖ā‖."""
    if squared_weights <= 0.0:
        return 0.0
    if delta2 == 0.0:
        return products.min() / np.sqrt(squared_weights)
    s = best_scale(products, squared_weights, delta2)
    slack = 0.0
    for k in range(products.shape[0]):
        slack += max(0.0, 1.0 - s * products[k]) ** 2
    return 1.0 / np.sqrt(s * s * squared_weights + slack / delta2)


@jit
def gather_patterns(y, dual, members, out, out_dual):
    """Copy the patterns ``members`` and their dual coefficients together, for passes over an active set."""
    gather(y.rows, members, out.rows)
    for i in range(members.shape[0]):
        k = members[i]
        out.label[i] = y.label[k]
        out.q[i] = y.q[k]
        out_dual[i] = dual[k]
