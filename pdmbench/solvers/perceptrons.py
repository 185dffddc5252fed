"""The family around the perceptron with dynamic margin: its ancestors and its neighbours."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from pdmbench.errors import UsageError
from pdmbench.kernels import margins, perceptrons
from pdmbench.problem import MarginProblem
from pdmbench.solvers.base import KernelSolver, Monitor, Settings, Solution, Status
from pdmbench.solvers.perceptron_like import LEVELS, PerceptronRun

GRAM_LIMIT = 256 * 2**20  # bytes of Gram rows kept; the others are made anew when needed


class Perceptron(KernelSolver):
    """Rosenblatt's perceptron: a ← a + y_k where a·y_k ≤ 0; at most (R/γ_d)² updates (Novikoff).

    Ends with any separating hyperplane; nothing is promised of its margin.

    Parameters
    ----------
    normalise : bool
        Present y_k/‖y_k‖ in place of y_k.
    """

    name = "perceptron"

    def __init__(self, normalise: bool = False):
        self.normalise = normalise

    def solve(self, problem: MarginProblem, settings: Settings, monitor: Monitor) -> Solution:
        run = PerceptronRun(problem, settings, monitor)
        rule = _rule(0.0, 0.0, False, self.normalise)
        return run.until_converged(partial(run.converge, rule, levels=()))


class DualPerceptron(KernelSolver):
    """The perceptron in dual form: a is nowhere, only I_k and rows of the Gram matrix of the y_k.

    Makes the same updates as :class:`Perceptron` for the same seed. Begins at a = 0.

    Parameters
    ----------
    normalise : bool
        Present y_k/‖y_k‖ in place of y_k.
    """

    name = "perceptron-dual"

    def __init__(self, normalise: bool = False):
        self.normalise = normalise

    def solve(self, problem: MarginProblem, settings: Settings, monitor: Monitor) -> Solution:
        run = _DualRun(problem, replace(settings, start=None), monitor)
        gram = np.empty((max(1, min(problem.m, GRAM_LIMIT // (8 * problem.m))) + 1, problem.m))
        place, products = np.full(problem.m, -1), np.zeros(problem.m)
        run.state = np.zeros(3)

        def sweep(y, order, rounds, scattered, cut, state, weights, dual, kept):
            n_updated = perceptrons.sweep_dual(
                y, order, self.normalise, gram, place, products, weights, state, dual
            )
            return 0, n_updated, len(order)

        return run.until_converged(partial(run.converge, sweep, levels=()))


class _DualRun(PerceptronRun):
    """A run whose ``weights`` are a workspace; ā = Σ I_k ȳ_k is formed for those who ask."""

    def _vector(self) -> tuple[np.ndarray, np.ndarray]:
        weights = self.problem.zero_weights()
        margins.combine(self.problem.y, self.dual, weights)
        return self.problem.augmented(weights), self.dual


class Margitron(KernelSolver):
    """The margitron: updates while a·y_k ≤ b ‖a‖^{1−ε'} (Panagiotakopoulos & Tsampouka, arXiv 0805.2752).

    The form of the condition is reconstructed from its two limits: ε' = 1 is the perceptron with margin,
    ε' → 0 is PFM with β = b. Updates are multiple, active sets those of PFM.

    By default b = R (R/2ε)^{ε'}. Then, for 0 < ε' ≤ 1, γ'_d ≥ γ_d / ((1+ε')(1 + ε/ε') + (2ε)^{1+ε'}): of the
    guarantee in the limit, γ_d/(1+ε'), only a part of order ε is lost. For an update adds at most
    2b‖a‖^{1−ε'} + R² to ‖a‖², hence (1+ε')(b + R²‖a‖^{ε'−1}/2) to ‖a‖^{1+ε'}; with ‖a‖ ≥ γ_d t, and
    ‖a‖ ≥ R/2ε at the end, ‖a‖^{ε'} = b/γ'_d is bounded. No t is needed, unlike in PDM.

    Parameters
    ----------
    exponent : float
        ε' in (0, 2). The smaller, the larger the margin, and the slower: ‖a‖ ends at about (b/γ_d)^{1/ε'}.
    b : float, optional
        b > 0.
    normalise : bool
        Present y_k/‖y_k‖ in place of y_k.

    Raises
    ------
    UsageError
        When ε' or b is out of range.
    """

    name = "margitron"

    def __init__(self, exponent: float = 0.5, b: float | None = None, normalise: bool = False):
        if not 0.0 < exponent < 2.0:
            raise UsageError(f"the margitron's ε' must be between 0 and 2, not {exponent}")
        if b is not None and not (math.isfinite(b) and b > 0.0):
            raise UsageError(f"b must be a finite number > 0, not {b}")
        self.exponent, self.b, self.normalise = exponent, b, normalise

    def solve(self, problem: MarginProblem, settings: Settings, monitor: Monitor) -> Solution:
        longest, shortest = (1.0, 1.0) if self.normalise else (problem.R, math.sqrt(float(problem.q.min())))
        b = self.b or longest * (longest / (2.0 * settings.eps)) ** self.exponent
        run = PerceptronRun(problem, settings, monitor)
        # b ‖a‖^{−ε'} < γ'_d ≤ min ‖y_k‖ at the end, and ‖a‖ ≤ t R.
        if math.log2(b / shortest) / self.exponent - math.log2(longest) > math.log2(perceptrons.MOST_STEPS):
            return run.solution(Status.FAILED, f"b = {b:.6g} with ε' = {self.exponent:g} takes > 2⁵³ updates")
        rule = _rule(b, 1.0 - self.exponent, True, self.normalise)
        return run.until_converged(partial(run.converge, rule, levels=LEVELS))


class MarginPerceptron(Margitron):
    """The perceptron with margin (Duda & Hart): updates while a·y_k ≤ b; the margitron with ε' = 1.

    γ'_d ≥ γ_d b/(2b + R²) after at most (2b + R²)/γ_d² updates. By default b = R²/2ε, in the manner of MPU's
    b = 3R² (1−ε)/ε: γ'_d ≥ γ_d/(2(1 + ε)), the limit γ_d/2 but for ε.

    Parameters
    ----------
    b : float, optional
        b > 0.
    normalise : bool
        Present y_k/‖y_k‖ in place of y_k.
    """

    name = "perceptron-margin"

    def __init__(self, b: float | None = None, normalise: bool = False):
        super().__init__(1.0, b, normalise)


class ALMA2(KernelSolver):
    """ALMA₂ (Gentile 2001) with accuracy α = ε; begins at w = 0.

    With ŷ = y_k/‖y_k‖ and k = 1, 2, …: where w·ŷ ≤ (1−α) B/√k, w ← w + (C/√k) ŷ and w ← w/max(1, ‖w‖);
    B = √8/α, C = √2. Ends within (2/γ̂²)(2/α − 1)² + 8/α − 4 updates, with (1−α) of the maximum margin γ̂ of
    the *normalised* patterns; and not before 8(1−α)²/(αγ̂)² of them, when the threshold has come down to γ̂.
    """

    name = "alma2"

    def solve(self, problem: MarginProblem, settings: Settings, monitor: Monitor) -> Solution:
        run = PerceptronRun(problem, replace(settings, start=None), monitor)
        run.state = np.array([0.0, 0.0, 1.0])  # k − 1, ‖v‖², s of w = s v; v is what is returned

        def sweep(y, order, rounds, scattered, cut, state, weights, dual, kept):
            return 0, perceptrons.sweep_alma(y, order, settings.eps, state, weights, dual), len(order)

        # No active sets: folding s into I_k takes all I_k, not those of a copied set.
        return run.until_converged(partial(run.converge, sweep, levels=()))


def _rule(b: float, power: float, multiple: bool, normalised: bool):
    """The sweep for one threshold b ‖a‖^power, as :class:`PerceptronRun` calls it."""

    def sweep(y, order, rounds, scattered, cut, state, weights, dual, kept):
        return perceptrons.sweep(
            y, order, rounds, scattered, b, power, multiple, normalised, cut, state, weights, dual, kept
        )

    return sweep
