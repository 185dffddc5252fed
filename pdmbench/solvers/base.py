"""What a solver is: a name and ``solve(problem, settings, monitor) -> Solution``."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

import numpy as np

if TYPE_CHECKING:
    from pdmbench.problem import Certificate, MarginProblem


class Status(str, Enum):
    """How a cell ended; the values are what records carry."""

    CONVERGED = "converged"
    TIME_LIMIT = "time-limit"
    EPOCH_LIMIT = "epoch-limit"
    FAILED = "failed"
    UNAVAILABLE = "unavailable"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Start:
    """Where a run begins, other than at a = 0.

    Attributes
    ----------
    weights : ndarray of shape (n + 1,)
        ā, the bias component last.
    dual : ndarray of shape (m,)
        I_k ≥ 0 of the patterns at hand.
    total : float
        Σ I_k over these patterns and any that are gone: ‖a‖/total bounds γ_d of them all.
    """

    weights: np.ndarray
    dual: np.ndarray
    total: float


@dataclass(frozen=True)
class Settings:
    """What a user asks of a solver; each solver reads the fields it knows.

    Attributes
    ----------
    eps : float
        Accuracy ε in (0, 1): the margin to reach is (1−ε) γ_d.
    eta : float
        Factor η > 1 between the accuracies of successive runs (PDM-succ).
    beta : float, optional
        Target margin β of PFM, in the extended space.
    seed : int
        The only source of randomness.
    start : Start, optional
        What to go on from: a warm start.
    """

    eps: float = 0.01
    eta: float = 8.0
    beta: float | None = None
    seed: int = 0
    start: Start | None = None


@dataclass(frozen=True)
class TracePoint:
    """The state at the end of one full epoch: what convergence plots are made of."""

    epoch: int
    updates: int
    seconds: float
    margin: float
    bound: float


class BudgetExhausted(Exception):
    """A limit was reached; solvers let it through to :meth:`Solver.solve`'s caller as a status."""

    def __init__(self, status: Status):
        self.status = status
        super().__init__(status.value)


@dataclass
class Monitor:
    """Clock, limits and observer of one solver run.

    Solvers call :meth:`start` once, :meth:`check` between sweeps and :meth:`epoch` after each full
    epoch. Work done for the observer (an exact margin per epoch) does not count as training time.

    Attributes
    ----------
    max_seconds : float
        CPU seconds of training after which :meth:`check` ends the run.
    max_epochs : int
        Full epochs after which :meth:`epoch` ends the run.
    on_epoch : callable, optional
        Receives a :class:`TracePoint` per full epoch.
    """

    max_seconds: float = float("inf")
    max_epochs: int = 10**9
    on_epoch: Callable[[TracePoint], None] | None = None
    epochs: int = field(default=0, init=False)
    _started: float = field(default=0.0, init=False)
    _paused: float = field(default=0.0, init=False)

    def start(self) -> None:
        """Start the training clock; everything is compiled and loaded by now."""
        self._started, self._paused, self.epochs = time.process_time(), 0.0, 0

    def seconds(self) -> float:
        """CPU seconds of training so far, this process alone."""
        return time.process_time() - self._started - self._paused

    def check(self) -> None:
        """Raise :class:`BudgetExhausted` once the time is used up."""
        if self.seconds() > self.max_seconds:
            raise BudgetExhausted(Status.TIME_LIMIT)

    def epoch(
        self, problem: MarginProblem, updates: int, weights: Callable[[], tuple[np.ndarray | None, ...]]
    ) -> None:
        """Count one full epoch, report it to the observer, enforce both limits.

        Parameters
        ----------
        problem : MarginProblem
        updates : int
            Updates so far.
        weights : callable
            Returns the present (ā, I), as :meth:`MarginProblem.certify` takes them; called only when
            somebody observes.
        """
        self.epochs += 1
        if self.on_epoch is not None:
            seconds, before = self.seconds(), time.process_time()
            certificate = problem.certify(*weights())
            self.on_epoch(
                TracePoint(self.epochs, int(updates), seconds, certificate.margin, certificate.bound)
            )
            self._paused += time.process_time() - before
        if self.epochs >= self.max_epochs:
            raise BudgetExhausted(Status.EPOCH_LIMIT)
        self.check()


@dataclass(frozen=True)
class Solution:
    """What a solver returns; the certificate is computed from it by the problem, never by the solver.

    Attributes
    ----------
    status : Status
    weights : ndarray of shape (n + 1,)
        Augmented weight vector ā, the bias component last.
    dual : ndarray of shape (m,) or None
        Dual coefficients I_k ≥ 0 with a = Σ I_k y_k; None for a solver that returns only ā, which is then
        measured with its best extension.
    updates : int
        Unit steps, a multiple update by λ counting λ; 0 where the solver does not tell.
    row_products : int
        Products a·y_k evaluated; 0 where the solver does not tell.
    full_epochs : int
        Passes over all m patterns.
    train_seconds : float
        CPU seconds of training alone.
    note : str, optional
        One line the reader of the table must know.
    witness : ndarray of shape (m,), optional
        Other non-negative coefficients, where their bound on γ_d is better than that of ``dual``.
    """

    status: Status
    weights: np.ndarray
    dual: np.ndarray | None
    updates: int
    row_products: int
    full_epochs: int
    train_seconds: float
    note: str | None = None
    witness: np.ndarray | None = None

    def certify(self, problem: MarginProblem) -> Certificate:
        """What ``problem`` proves about this solution."""
        return problem.certify(self.weights, self.dual, self.witness)


class Solver(ABC):
    """One training algorithm.

    Attributes
    ----------
    name : str
        What ``--algorithm`` and records call it; tables too, where they know no other title.
    """

    name: ClassVar[str]

    @abstractmethod
    def solve(self, problem: MarginProblem, settings: Settings, monitor: Monitor) -> Solution:
        """Train on ``problem`` until the accuracy is reached or ``monitor`` ends it.

        Raises
        ------
        SolverUnavailable
            When this machine lacks what the solver needs.
        """

    def warm_up(self, problem: MarginProblem) -> None:  # noqa: B027 - most wrappers have nothing to compile
        """Compile (or load) every kernel that :meth:`solve` will call on data of this layout."""


class KernelSolver(Solver):
    """A solver over the kernels, which are compiled for the layout of the data when first called."""

    def warm_up(self, problem: MarginProblem) -> None:
        """Train on the first patterns of ``problem``: the same types, hence the same compiled kernels."""
        from pdmbench.solvers.active_sets import Copy

        few = problem.miniature()
        reachable = 1e-3 * float(np.sqrt(few.q.min()))
        solution = self.solve(few, Settings(beta=reachable), Monitor(max_epochs=2))
        Copy().gather(few.y, np.zeros(few.m), np.arange(few.m, dtype=np.uint32))  # what large sets need
        solution.certify(few)
        few.certify(solution.weights)
