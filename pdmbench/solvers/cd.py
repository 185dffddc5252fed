"""Certified dual coordinate descent: ends when its own certificate says ε, not by a gradient tolerance.

Not in the paper. The problem is the L2-loss SVM in the extended space, min ½‖w‖² + Σ ξ_k²/(2Δ²), whose
optimum is 1/(2γ_d²); any w and any α ≥ 0 prove a lower and an upper bound on γ_d.
"""

from __future__ import annotations

import math

import numpy as np

from pdmbench.kernels import cd, margins, newton
from pdmbench.kernels.margins import Reflected
from pdmbench.problem import MarginProblem
from pdmbench.solvers.active_sets import Copy, Permutation, bytes_per_pattern
from pdmbench.solvers.base import BudgetExhausted, KernelSolver, Monitor, Settings, Solution, Status

FEW_FEATURES = 2048  # up to here Newton's steps are cheap beside a pass over the patterns
CERTIFY_FROM = 3.5  # an exact pass pays once the estimated accuracy is below this many ε
SMALLEST_SAMPLE = 2000  # patterns
LARGEST_SAMPLE = 32 * 2**20  # bytes, of those before the whole
SAMPLE_GROWTH = 4  # each sample of the patterns is so many times the one before
SAMPLE_ACCURACY = 0.3
HESSIAN_ROWS = 64  # per feature: the Hessian of so many of the active patterns will do ...
CHEAP_STEPS = 6  # ... for so many steps; each one after takes twice the patterns of the one before
CG_TOLERANCE, CG_LIMIT = 0.1, 60


class CertifiedDescent(KernelSolver):
    """Dual coordinate descent on many features, Newton's method on growing samples on few."""

    name = "cd"

    def solve(self, problem: MarginProblem, settings: Settings, monitor: Monitor) -> Solution:
        few = problem.n <= FEW_FEATURES and problem.delta > 0.0
        run = (_Newton if few else _Descent)(problem, settings, monitor)
        monitor.start()
        try:
            run.train()
        except BudgetExhausted as end:
            return run.solution(end.status)
        return run.solution(Status.CONVERGED)


class _Descent:
    """Epochs of dual coordinate descent.

    The primal side swings from epoch to epoch: the better of ā and its mean with the ā of the epoch before
    is measured, and the best ever measured is kept. α's bound improves steadily.
    """

    def __init__(self, problem: MarginProblem, settings: Settings, monitor: Monitor):
        self.problem, self.eps, self.monitor = problem, settings.eps, monitor
        self.random = np.random.PCG64(settings.seed)
        self.weights, self.dual = problem.zero_weights(), np.zeros(problem.m)
        self.best, self.margin = problem.zero_weights(), 0.0
        self.row_products = self.updates = 0
        self._previous: tuple[np.ndarray, np.ndarray] | None = None

    def train(self) -> None:
        """Epochs until 1 − margin/bound ≤ ε."""
        problem, m = self.problem, self.problem.m
        everything = np.arange(m, dtype=np.uint32)
        active, kept, cut = everything.copy(), np.empty(m, np.uint32), math.inf
        while True:
            self._shuffle(active)
            n_kept, n_updated, largest, slack = cd.sweep(
                problem.y, active, True, cut, self.weights, self.dual, kept
            )
            self.row_products += len(active)
            self.updates += n_updated
            self.monitor.epoch(problem, self.updates, self._vector)
            active, kept = kept[:n_kept].copy(), kept
            cut = largest
            if self._estimate(slack) <= CERTIFY_FROM * self.eps or n_updated == 0:
                if self._measure() <= self.eps:
                    return
                active = everything.copy()  # what was set aside is due again

    def _estimate(self, slack: float) -> float:
        """The accuracy as the products seen during the epoch tell it, each a little out of date."""
        if self.problem.delta == 0.0:
            return 0.0
        primal = self._squared(self.weights) + slack / self.problem.y.delta2
        return 1.0 - 1.0 / (math.sqrt(primal) * self._bound())

    def _measure(self) -> float:
        """The accuracy proven by one exact pass."""
        products = np.empty(self.problem.m)
        margins.augmented_products(self.problem.y, self.weights, products)
        self.row_products += self.problem.m
        now = (self.weights.copy(), products)
        candidates = [now]
        if self._previous is not None:
            candidates.append(tuple(0.5 * (a + b) for a, b in zip(now, self._previous, strict=True)))
        self._previous = now
        for weights, products in candidates:
            margin = margins.best_margin(products, self._squared(weights), self.problem.y.delta2)
            if margin > self.margin:
                self.best, self.margin = weights, margin
        return 1.0 - self.margin / self._bound()

    def _bound(self) -> float:
        norm = math.sqrt(margins.squared_norm(self.weights, self.dual, self.problem.y.delta2))
        return norm / margins.total(self.dual)

    def _squared(self, weights: np.ndarray) -> float:
        return margins.squared_norm(weights, self.dual[:0], 0.0)

    def _shuffle(self, active: np.ndarray) -> None:
        draws = self.random.random_raw((len(active) + 1) // 2).view(np.uint32)[: len(active)]
        margins.shuffle(active, draws)

    def _vector(self) -> tuple[np.ndarray, None, np.ndarray]:
        weights = self.best if self.margin > 0.0 else self.weights
        return self.problem.augmented(weights), None, self.dual

    def solution(self, status: Status) -> Solution:
        """The best ā measured, with α as the witness of the bound."""
        seconds = self.monitor.seconds()
        weights, _, witness = self._vector()
        return Solution(
            status,
            weights,
            None,
            self.updates,
            self.row_products,
            self.monitor.epochs,
            seconds,
            witness=witness,
        )


class _Newton:
    """Newton's method for the primal, on samples of the patterns that grow to all of them.

    On a sample of s patterns each counts m/s times. The samples are nested and copied together; each
    begins where the one before ended, so that few steps see all patterns.
    """

    def __init__(self, problem: MarginProblem, settings: Settings, monitor: Monitor):
        self.problem, self.eps, self.monitor = problem, settings.eps, monitor
        self.order = Permutation(problem.m, settings.seed)
        self.weights = problem.zero_weights()
        self.steps = self.row_products = 0

    def train(self) -> None:
        """Samples from small to large, then everything."""
        problem = self.problem
        largest = LARGEST_SAMPLE / bytes_per_pattern(problem)
        sizes = [problem.m]
        while sizes[0] // SAMPLE_GROWTH > max(SMALLEST_SAMPLE, 4 * problem.n):
            sizes.insert(0, sizes[0] // SAMPLE_GROWTH)
        sizes = [size for size in sizes[:-1] if size <= largest] + sizes[-1:]
        if len(sizes) > 1:
            self.order.draw()
            sample, _, _ = Copy().gather(problem.y, np.zeros(problem.m), self.order.patterns[: sizes[-2]])
        for size in sizes[:-1]:
            self._minimise(sample, size, SAMPLE_ACCURACY)
        self._minimise(problem.y, problem.m, self.eps)

    def _minimise(self, y: Reflected, size: int, accuracy: float) -> None:
        """Newton steps until the primal and the dual value of the first ``size`` patterns agree."""
        everything = size == self.problem.m
        c = self.problem.m / (size * y.delta2)
        w, zeros = self.weights, self.problem.zero_weights
        d, combination, diagonal, work = zeros(), zeros(), zeros(), np.zeros((3, len(w)))
        products, along, active = np.empty(size), np.empty(size), np.empty(size, np.uint32)
        margins.augmented_products(y, w, products)
        newton.rescale(w, products, margins.squared_norm(w, products[:0], 0.0), c)
        self.row_products += size
        for step in range(10**9):
            n_active, total, squared = newton.slacks(y, products, active, combination)
            ww = margins.squared_norm(w, products[:0], 0.0)
            primal = ww + c * squared
            # The slacks as dual weights α = c ξ: (Σ α)² / ‖Σ α_k y_k‖² ≤ 1/γ_d².
            dual = total**2 / (margins.squared_norm(combination, products[:0], 0.0) + squared / c)
            if everything:
                self.monitor.epoch(self.problem, self.steps, lambda: (self.problem.augmented(w),))
            else:
                self.monitor.check()
            if n_active == 0 or 1.0 - math.sqrt(dual / primal) <= accuracy:
                return
            gradient = w - c * combination
            enough = HESSIAN_ROWS * self.problem.n << min(max(0, step - CHEAP_STEPS), 32)
            some = np.ascontiguousarray(active[: n_active : max(1, n_active // enough)])
            weight = c * n_active / len(some)
            newton.hessian_diagonal(y, some, weight, diagonal)
            iterations = newton.direction(
                y, some, weight, gradient, diagonal, CG_TOLERANCE, CG_LIMIT, d, work
            )
            margins.augmented_products(y, d, along)
            newton.advance(w, products, d, along, c)
            self.steps += 1
            self.row_products += iterations * len(some) + size

    def solution(self, status: Status) -> Solution:
        """ā alone: its slacks are the dual weights."""
        seconds = self.monitor.seconds()
        weights = self.problem.augmented(self.weights)
        return Solution(status, weights, None, self.steps, self.row_products, self.monitor.epochs, seconds)
