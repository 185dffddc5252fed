"""The margin perceptron with unlearning (Panagiotakopoulos & Tsampouka, ICML 2010)."""

from __future__ import annotations

import numpy as np

from pdmbench.kernels import margins, mpu
from pdmbench.problem import MarginProblem
from pdmbench.solvers.active_sets import ActiveSets, Level, Permutation
from pdmbench.solvers.base import BudgetExhausted, KernelSolver, Monitor, Settings, Solution, Status

C_BAR = 1.01
# N₁ = N₂ = 5; within the first set, the patterns updated in the last round (a choice).
LEVELS = (Level(5, np.nan), Level(5, np.nan))


class MPU(KernelSolver):
    """MPU: learns where a·y_k ≤ b, unlearns where a·y_k > b' and I_k > 0; b' = b + 3R², b = 3R² (1−ε)/ε.

    When nothing is left to do, ‖a‖² ≤ b' t and t γ_d ≤ ‖a‖ give γ'_d ≥ γ_d b/b' = (1−ε) γ_d.

    Parameters
    ----------
    early_stopping : bool
        Also end as soon as an exact pass shows min_k a·y_k ≥ (1−ε) ‖a‖²/t.
    """

    name = "mpu"

    def __init__(self, early_stopping: bool = True):
        self.early_stopping = early_stopping

    def solve(self, problem: MarginProblem, settings: Settings, monitor: Monitor) -> Solution:
        gap = 3.0 * problem.R**2  # δb
        low = gap * (1.0 - settings.eps) / settings.eps
        high = low + gap
        weights, dual, state = problem.zero_weights(), np.zeros(problem.m), np.zeros(4)
        if settings.start is not None:
            weights, dual = problem.slots(settings.start.weights), settings.start.dual.copy()
            state[0] = settings.start.total
        order = Permutation(problem.m, settings.seed)
        monitor.start()

        def visit(y, order, rounds, scattered, cut, dual, kept):
            return mpu.sweep(y, order, rounds, scattered, low, high, cut, state, weights, dual, kept)

        sets = ActiveSets(problem, dual, visit, LEVELS, monitor)
        status = Status.CONVERGED
        try:
            while True:
                order.draw()
                state[1] = margins.squared_norm(weights, dual, problem.y.delta2)
                near, n_updated = sets.full_epoch(order.patterns, C_BAR * high)
                monitor.epoch(problem, state[2], lambda: (problem.augmented(weights), dual))
                if not n_updated or (
                    self.early_stopping and self._accurate(sets, settings.eps, state, weights)
                ):
                    break
                sets.nested_rounds(near)
        except BudgetExhausted as end:
            status = end.status
        seconds = monitor.seconds()
        return Solution(
            status,
            problem.augmented(weights),
            dual,
            round(state[2]),
            sets.row_products,
            monitor.epochs,
            seconds,
        )

    @staticmethod
    def _accurate(sets: ActiveSets, eps: float, state: np.ndarray, weights: np.ndarray) -> bool:
        """Whether min_k a·y_k ≥ (1−ε) ‖a‖²/t; the exact pass only where the products just seen allow it."""
        needed = (1.0 - eps) * state[1] / state[0]
        if state[3] < needed:
            return False
        sets.row_products += sets.problem.m
        return margins.smallest_product(sets.problem.y, weights, sets.dual) >= needed
