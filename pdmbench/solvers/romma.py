"""Aggressive ROMMA (Li & Long 2002) and NAROMMA, its form in the maximum-cosine framework."""

from __future__ import annotations

import math

import numpy as np

from pdmbench.kernels import margins, romma
from pdmbench.problem import MarginProblem
from pdmbench.solvers.active_sets import ActiveSets, Level, Permutation
from pdmbench.solvers.base import BudgetExhausted, KernelSolver, Monitor, Settings, Solution, Status

# The patterns updated in the last full epoch, after Ishibashi, Hatano & Takeda; the limit of 12 is a choice.
LEVELS = (Level(12, np.nan),)
DIVERGED = "‖w‖ has grown beyond all numbers: the data seem not to be separable without Δ"


class ROMMA(KernelSolver):
    """Aggressive ROMMA: w becomes the shortest vector in the intersection of two half-spaces.

    Ends when a full epoch finds all w·y_k ≥ 1 − ε; ‖w‖ ≤ 1/γ_d throughout, hence γ'_d ≥ (1−ε) γ_d. Where
    there is no γ_d > 0, ‖w‖ has no bound, and the run fails when it overflows.
    """

    name = "romma"

    def solve(self, problem: MarginProblem, settings: Settings, monitor: Monitor) -> Solution:
        weights, dual = problem.zero_weights(), np.zeros(problem.m)
        order = Permutation(problem.m, settings.seed)
        monitor.start()
        order.draw()
        if settings.start is None:
            state = self._start(problem, int(order.patterns[0]), weights, dual)
        else:
            weights, dual = problem.slots(settings.start.weights), settings.start.dual.copy()
            squared = margins.squared_norm(weights, dual, problem.y.delta2)
            state = self._continue(settings.start.total, squared)

        rescaled = 1.0  # of v, while only a copied active set's dual coefficients were at hand

        def visit(y, order, rounds, scattered, cut, at_hand, kept):
            nonlocal rescaled
            n_kept, presented = self._sweep(
                y, order, rounds, scattered, settings.eps, state, weights, at_hand, kept
            )
            if at_hand is not dual:
                rescaled *= state[3]
            return n_kept, n_kept, presented

        sets = ActiveSets(problem, dual, visit, LEVELS, monitor)
        status = Status.CONVERGED
        try:
            while True:
                self._recompute(problem, state, weights, dual)
                updated, n_updated = sets.full_epoch(order.patterns, np.nan)
                if not math.isfinite(state[1]):  # no product is then less than 1 − ε
                    raise BudgetExhausted(Status.FAILED)
                monitor.epoch(problem, state[2], lambda: self._vector(problem, state, weights, dual))
                if not n_updated:
                    break
                sets.nested_rounds(updated)
                if rescaled != 1.0:
                    _rescale_others(dual, updated, rescaled)
                    rescaled = 1.0
                order.draw()
        except BudgetExhausted as end:
            status = end.status
        seconds = monitor.seconds()
        if status is Status.FAILED:
            vector, note = (np.zeros(problem.n + 1), np.zeros(problem.m)), DIVERGED
        else:
            vector, note = self._vector(problem, state, weights, dual), None
        return Solution(
            status, *vector, round(state[2]), sets.row_products, monitor.epochs, seconds, note=note
        )

    @staticmethod
    def _start(problem, first, weights, dual):
        """w = y_k/q_k for the first pattern seen, as scale, ‖w‖², updates."""
        dual[first] = 1.0 / problem.q[first]
        margins.combine(problem.y, dual, weights)
        return np.array([1.0, dual[first], 1.0, 1.0])

    @staticmethod
    def _continue(total, squared):
        """w = a Σ I_k/‖a‖²: then ‖w‖ = Σ I_k/‖a‖ ≤ 1/γ_d, and a vector of ROMMA's own stays as it is."""
        return np.array([total / squared, total**2 / squared, 0.0, 1.0])

    @staticmethod
    def _sweep(*arguments):
        return romma.sweep_romma(*arguments)

    @staticmethod
    def _recompute(problem, state, weights, dual):
        """‖w‖² is tracked incrementally and drifts."""
        with np.errstate(over="ignore", invalid="ignore"):
            state[1] = state[0] ** 2 * margins.squared_norm(weights, dual, problem.y.delta2)

    @staticmethod
    def _vector(problem, state, weights, dual):
        """(w̄, I) with the scale multiplied in."""
        return state[0] * problem.augmented(weights), state[0] * dual


def _rescale_others(dual: np.ndarray, members: np.ndarray, factor: float) -> None:
    """Multiply the dual coefficients of the patterns that are not ``members``."""
    others = np.ones(len(dual), bool)
    others[members] = False
    dual[others] *= factor


class NAROMMA(ROMMA):
    """NAROMMA: fed the same patterns in the same order its direction equals aggressive ROMMA's.

    Carries 1/ℓ̂ ≥ γ_d along and ends when a full epoch finds all w·y_k/‖w‖ ≥ (1 − ε)/ℓ̂.
    """

    name = "naromma"

    @staticmethod
    def _start(problem, first, weights, dual):
        """w = y_k/‖y_k‖, ℓ̂ = 1/‖y_k‖, as ℓ̂, ‖w‖², updates."""
        norm = float(np.sqrt(problem.q[first]))
        dual[first] = 1.0 / norm
        margins.combine(problem.y, dual, weights)
        return np.array([1.0 / norm, 1.0, 1.0, 1.0])

    @staticmethod
    def _continue(total, squared):
        """ℓ̂ = Σ I_k/‖a‖."""
        return np.array([total / np.sqrt(squared), squared, 0.0, 1.0])

    @staticmethod
    def _sweep(*arguments):
        return romma.sweep_naromma(*arguments)

    @staticmethod
    def _recompute(problem, state, weights, dual):
        state[1] = margins.squared_norm(weights, dual, problem.y.delta2)

    @staticmethod
    def _vector(problem, state, weights, dual):
        return problem.augmented(weights), dual
