"""What PDM, PDM-succ and PFM share: the state (ā, I, t, ‖a‖²) and the loop over full epochs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pdmbench.kernels import margins
from pdmbench.problem import MarginProblem
from pdmbench.solvers.active_sets import ActiveSets, Level, Permutation
from pdmbench.solvers.base import BudgetExhausted, Monitor, Settings, Solution, Status

C1, C2 = 2.2, 1.1
LEVELS = (Level(9, C2), Level(12, 1.0), Level(12, 1.0))  # N₁, N₂, N₃

# sweep(y, order, rounds, scattered, cut, state, weights, dual, kept) -> (n_kept, n_updated, presented)
Sweep = Callable[..., tuple[int, int, int]]


class PerceptronRun:
    """One training run.

    Parameters
    ----------
    problem : MarginProblem
    settings : Settings
        Its seed is that of the permutations.
    monitor : Monitor
        Its clock starts here.

    Attributes
    ----------
    weights : ndarray
        ā as the kernels see it.
    dual : ndarray of shape (m,)
        I_k; Σ I_k = t.
    state : ndarray
        t and ‖a‖², then what else a rule carries along.
    """

    def __init__(self, problem: MarginProblem, settings: Settings, monitor: Monitor):
        self.problem, self.monitor = problem, monitor
        self.weights, self.dual, self.state = problem.zero_weights(), np.zeros(problem.m), np.zeros(2)
        if settings.start is not None:
            self.weights, self.dual = problem.slots(settings.start.weights), settings.start.dual.copy()
            self.state[0] = settings.start.total
        self._before = self.state[0]
        self.row_products = 0
        self._order = Permutation(problem.m, settings.seed)
        monitor.start()

    @property
    def bound(self) -> float:
        """‖a‖/t ≥ γ_d, the after-run estimate (paper, 4 and 5); infinite before the first update."""
        t, squared = self.state[:2]
        return float(np.sqrt(squared) / t) if t > 0.0 else np.inf

    def converge(
        self,
        sweep: Sweep,
        first: Sweep | None = None,
        first_cut: float = C1,
        levels: tuple[Level, ...] = LEVELS,
    ) -> None:
        """Full epochs and active sets until a full epoch makes no update.

        Parameters
        ----------
        sweep : callable
            One sweep of the update rule.
        first : callable, optional
            The rule of the first full epoch and its active sets, where it differs.
        first_cut : float
            c₁ of the first full epoch.
        levels : tuple of Level
            The active sets; none: full epochs alone.

        Raises
        ------
        BudgetExhausted
        """
        rule, cut = first or sweep, first_cut

        def visit(y, order, rounds, scattered, cut, dual, kept):
            return rule(y, order, rounds, scattered, cut, self.state, self.weights, dual, kept)

        sets = ActiveSets(self.problem, self.dual, visit, levels, self.monitor)
        try:
            while True:
                self._order.draw()
                # ‖a‖² is tracked incrementally and drifts over millions of updates.
                self.state[1] = margins.squared_norm(self.weights, self.dual, self.problem.y.delta2)
                active, n_updated = sets.full_epoch(self._order.patterns, cut)
                self.monitor.epoch(self.problem, self.state[0] - self._before, self._vector)
                if not n_updated:
                    return
                if levels:
                    sets.nested_rounds(active)
                rule, cut = sweep, C1
        finally:
            self.row_products += sets.row_products

    def _vector(self) -> tuple[np.ndarray, np.ndarray]:
        return self.problem.augmented(self.weights), self.dual

    def solution(self, status: Status, note: str | None = None) -> Solution:
        """What the run has reached."""
        seconds = self.monitor.seconds()
        return Solution(
            status,
            *self._vector(),
            updates=round(self.state[0] - self._before),
            row_products=self.row_products,
            full_epochs=self.monitor.epochs,
            train_seconds=seconds,
            note=note,
        )

    def until_converged(self, train: Callable[[], None]) -> Solution:
        """Run ``train``; a limit that ends it becomes the solution's status."""
        try:
            train()
        except BudgetExhausted as end:
            return self.solution(end.status)
        return self.solution(Status.CONVERGED)
