"""Random margin problems, and what an independent computation says about them.

Everything here is dense numpy on the explicit extension: none of the package's kernels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.optimize
import scipy.sparse

from pdmbench.patterns import Patterns
from pdmbench.problem import MarginProblem

LAYOUTS = ("constant", "sparse", "dense")


class Sample(NamedTuple):
    """A problem and its patterns y_k, one a row, all n + 1 + m components of them."""

    problem: MarginProblem
    extended: np.ndarray


def extend(x: np.ndarray, labels: np.ndarray, delta: float, rho: float = 1.0) -> np.ndarray:
    """y_k = l_k [x_k, ρ, Δ e_k]."""
    m = len(x)
    return labels[:, None] * np.hstack([x, np.full((m, 1), rho), delta * np.eye(m)])


def sample(x: np.ndarray, labels: np.ndarray, delta: float, layout: str | None = None, rho: float = 1.0):
    """The problem of a dense matrix, stored in the layout named."""
    patterns = Patterns.from_csr(scipy.sparse.csr_array(x), layout)
    problem = MarginProblem(patterns, labels.astype(np.int8), delta, rho)
    return Sample(problem, extend(x, labels, delta, rho))


def values(random: np.random.Generator, m: int, n: int, layout: str) -> np.ndarray:
    """Data that suit a layout; multiples of 1/8, hence exact in single precision."""
    if layout == "constant":
        return (random.random((m, n)) < 0.5) * random.choice([0.5, 1.0, 2.0], size=(m, 1))
    x = np.round(8 * random.normal(size=(m, n))) / 8
    return x * (random.random((m, n)) < 0.4) if layout == "sparse" else x


def inseparable(seed: int, layout: str, delta: float, m: int = 40, n: int = 5, rho: float = 1.0) -> Sample:
    """Labels that hardly depend on the patterns; separable by the extension alone, when Δ > 0."""
    random = np.random.default_rng(seed)
    x = values(random, m, n, layout)
    labels = np.where(x @ random.normal(size=n) + 2.0 * random.normal(size=m) > 0, 1.0, -1.0)
    return sample(x, labels, delta, layout, rho)


def separable(seed: int, layout: str, m: int = 40, n: int = 5, delta: float = 0.0) -> Sample:
    """Patterns on either side of a random hyperplane, none nearer to it than 0.3."""
    random = np.random.default_rng(seed)
    x = values(random, 100 * m, n, layout)
    u = random.normal(size=n + 1)
    distance = (x @ u[:-1] + u[-1]) / np.linalg.norm(u)
    far = np.flatnonzero(np.abs(distance) > 0.3)[:m]
    return sample(x[far], np.sign(distance[far]), delta, layout)


def optimum(extended: np.ndarray) -> tuple[float, float]:
    """A lower and an upper bound on γ_d = min ‖Σ α_k y_k‖, α in the simplex.

    Non-negative least squares for Σ α_k [y_k, 1] = [0, 1]: its α is a multiple of the minimiser (Lawson &
    Hanson 1974, least distance programming).
    """
    m, width = extended.shape
    stacked = np.vstack([extended.T, np.ones(m)])
    alpha, _ = scipy.optimize.nnls(stacked, np.append(np.zeros(width), 1.0), maxiter=100 * m)
    nearest = extended.T @ (alpha / alpha.sum())
    upper = float(np.linalg.norm(nearest))
    return float((extended @ nearest).min()) / upper, upper


def vector(sample: Sample, weights: np.ndarray, dual: np.ndarray) -> np.ndarray:
    """a = (ā, l_k Δ I_k), all components."""
    problem = sample.problem
    return np.concatenate([weights, problem.delta * problem.labels * dual])
