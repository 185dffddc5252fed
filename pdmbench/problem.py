"""The margin problem: labelled patterns, reflected, augmented by ρ, extended by Δ, and its certificates."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np

from pdmbench.errors import DataError, UsageError
from pdmbench.kernels import margins
from pdmbench.kernels.margins import Reflected
from pdmbench.patterns import BIAS, HEAD, ConstantRows, DenseRows, Patterns, Rows, aligned, weight_slots


@dataclass(frozen=True)
class Certificate:
    """What is proven about a weight vector a = (ā, I), whoever found it.

    Attributes
    ----------
    margin : float
        γ'_d = min_k a·y_k / ‖a‖, by one exact pass over all patterns.
    bound : float
        ‖Σ I_k y_k‖ / Σ I_k ≥ γ_d, valid for any I_k ≥ 0 (paper, equations 4 and 5).
    geometric_margin : float
        min_k a·y_k / ‖a without its bias component‖.
    """

    margin: float
    bound: float
    geometric_margin: float

    @property
    def accuracy(self) -> float:
        """1 − γ'_d / bound ≥ (γ_d − γ'_d) / γ_d; NaN where the bound is 0: inseparable."""
        return 1.0 - self.margin / self.bound if self.bound > 0.0 else math.nan


def default_delta(radius: float) -> float:
    """Δ for data that bring none: R/10 to one significant digit, the paper's proportion.

    Parameters
    ----------
    radius : float
        max_k ‖[x_k, ρ]‖.
    """
    return float(f"{radius / 10:.0e}")


def _has_square(value: float) -> bool:
    """Whether value² neither overflows nor loses digits to underflow."""
    return sys.float_info.min <= value * value < math.inf


def _of_length_one(weights: np.ndarray, dual: np.ndarray, unit: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """The same direction, its largest component between ½ and 1: squares then neither vanish nor overflow.

    Multiplies by a power of two, which is exact.

    Parameters
    ----------
    weights : ndarray
    dual : ndarray
    unit : float
        Length that a dual coefficient of 1 stands for.
    """
    largest = max(np.abs(weights).max(initial=0.0), unit * np.abs(dual).max(initial=0.0))
    if not 0.0 < largest < math.inf:
        return weights, dual
    exponent = -math.frexp(largest)[1]
    return np.ldexp(weights, exponent), np.ldexp(dual, exponent)


class MarginProblem:
    """Maximise the directional margin min_k u·y_k over unit vectors u.

    y_k = l_k [x_k, ρ, 0, …, Δ, …, 0] with Δ at position k of m extra dimensions, which are never stored.

    Parameters
    ----------
    patterns : Patterns
        The m × n matrix X; used in place, also when memory-mapped.
    labels : ndarray of shape (m,)
        l_k = ±1.
    delta : float
        Δ ≥ 0; 0 means no extension, and the data must then be separable.
    rho : float
        ρ > 0, the value of the bias feature.

    Attributes
    ----------
    y : Reflected
        The same as the kernels see it.
    q : ndarray of shape (m,)
        ‖y_k‖² = ‖x_k‖² + ρ² + Δ².
    R : float
        max_k ‖y_k‖.

    Raises
    ------
    UsageError
        When Δ or ρ is out of range.
    DataError
        When a squared length is no finite number.
    """

    def __init__(self, patterns: Patterns, labels: np.ndarray, delta: float, rho: float = 1.0):
        if not (delta == 0 or (delta > 0 and _has_square(delta))):
            raise UsageError(
                f"Δ must be 0, or above 0 with a square in a double's range, not {delta}", "--delta"
            )
        if not (rho > 0 and _has_square(rho)):
            raise UsageError(f"ρ must be above 0 with a square in a double's range, not {rho}", "--rho")
        self.patterns, self.delta, self.rho = patterns, float(delta), float(rho)
        self.m, self.n, self.nnz = patterns.m, patterns.n, patterns.nnz
        self.labels = labels
        self.q = np.empty(self.m)
        margins.squared_patterns(patterns.rows, self.rho, self.delta**2, self.q)
        self.R = math.sqrt(float(self.q.max()))
        if not math.isfinite(self.R):
            raise DataError(
                f"the squared length of pattern {int(self.q.argmax()) + 1} overflows",
                fix="scale the values down, or take a smaller Δ",
            )
        self.y = Reflected(patterns.rows, labels.astype(np.float64), self.q, self.rho, self.delta**2)

    def miniature(self, m: int = 8) -> MarginProblem:
        """The first patterns as a problem of the same layout and types: what kernels are compiled on."""
        rows = self.patterns.rows
        if isinstance(rows, DenseRows):
            few: Rows = DenseRows(rows.data[:m])
        else:
            few = rows._replace(indptr=rows.indptr[: m + 1])
            if isinstance(few, ConstantRows):
                few = few._replace(value=few.value[:m])
        nnz = min(m, self.m) * self.n if isinstance(few, DenseRows) else int(few.indptr[-1])
        return MarginProblem(Patterns(few, self.n, nnz), self.labels[:m], self.delta, self.rho)

    def zero_weights(self) -> np.ndarray:
        """A weight vector ā = 0 laid out for the kernels (:mod:`pdmbench.patterns`)."""
        slots = aligned(weight_slots(self.n), np.float64)
        slots[:] = 0.0
        return slots

    def augmented(self, slots: np.ndarray) -> np.ndarray:
        """The kernels' weight vector as ā of shape (n + 1,), the bias component last."""
        return np.append(slots[HEAD : HEAD + self.n], slots[BIAS])

    def slots(self, weights: np.ndarray) -> np.ndarray:
        """ā of shape (n + 1,) laid out for the kernels: the inverse of :meth:`augmented`."""
        slots = self.zero_weights()
        slots[HEAD : HEAD + self.n] = weights[:-1]
        slots[BIAS] = weights[-1]
        return slots

    def certify(
        self, weights: np.ndarray, dual: np.ndarray | None = None, witness: np.ndarray | None = None
    ) -> Certificate:
        """Measure a solver's result.

        The margin is that of the vector handed in; the bound is computed from the dual coefficients alone,
        so a solver that lets ā drift away from Σ I_k ȳ_k loses margin, never truth.

        Parameters
        ----------
        weights : ndarray of shape (n + 1,)
            Augmented weight vector ā, the bias component last.
        dual : ndarray of shape (m,), optional
            I_k ≥ 0. Without it the best extension of ā is used (:meth:`polish`).
        witness : ndarray of shape (m,), optional
            Any other coefficients ≥ 0, for a second bound; the smaller one counts.

        Returns
        -------
        Certificate
        """
        if dual is None:
            weights, dual = self.polish(weights)
        weights, dual = _of_length_one(weights, dual, self.delta)
        bound = self._bound(dual)
        if witness is not None:
            bound = min(bound, self._bound(witness))
        squared = margins.squared_norm(weights, dual, self.y.delta2)
        if not squared > 0.0 or not math.isfinite(squared):
            return Certificate(0.0, bound, 0.0)
        smallest = margins.smallest_product(self.y, self.slots(weights), dual)
        without_bias = squared - float(weights[-1]) ** 2
        geometric = smallest / math.sqrt(without_bias) if without_bias > 0.0 else 0.0
        return Certificate(smallest / math.sqrt(squared), bound, geometric)

    def polish(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The best scale and extension for a direction ā.

        Minimises f(s) = s²‖ā‖² + Σ_k max(0, 1 − s ā·ȳ_k)²/Δ² over s ≥ 0; the margin of the result is
        1/√f(s), and its slacks are non-negative dual weights.

        Parameters
        ----------
        weights : ndarray of shape (n + 1,)

        Returns
        -------
        weights : ndarray of shape (n + 1,)
            s ā.
        dual : ndarray of shape (m,)
            max(0, 1 − s ā·ȳ_k)/Δ²; zero where Δ = 0, where no dual weights follow from ā.
        """
        if self.delta == 0.0:
            return weights, np.zeros(self.m)
        weights, _ = _of_length_one(weights, np.zeros(0))
        products = np.empty(self.m)
        margins.augmented_products(self.y, self.slots(weights), products)
        scale = margins.best_scale(products, margins.squared_norm(weights, products[:0], 0.0), self.y.delta2)
        return scale * weights, np.maximum(0.0, 1.0 - scale * products) / self.y.delta2

    def polished_margin(self, weights: np.ndarray) -> float:
        """The margin of ā with its best extension: never smaller than with any other."""
        return self.certify(weights).margin

    def _bound(self, dual: np.ndarray) -> float:
        """‖Σ I_k y_k‖ / Σ I_k over the I_k > 0, which alone prove anything; infinite where there are none."""
        _, dual = _of_length_one(np.zeros(0), np.maximum(dual, 0.0), self.R)
        total = math.fsum(dual)
        if not total > 0.0:
            return math.inf
        weights = self.zero_weights()
        margins.combine(self.y, dual, weights)
        return math.sqrt(margins.squared_norm(weights, dual, self.y.delta2)) / total
