"""One cell, measured in the process that calls: load, warm up, train, certify."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pdmbench
from pdmbench.bench import memory
from pdmbench.bench.plan import USES_ETA, Cell
from pdmbench.bench.record import Record
from pdmbench.errors import DataError, DownloadError, PdmbenchError, SolverUnavailable
from pdmbench.solvers.base import BudgetExhausted, Monitor, Settings, Status, TracePoint

if TYPE_CHECKING:
    from pdmbench.data import DataSet
    from pdmbench.kernels.compilation import Compilation
    from pdmbench.problem import MarginProblem

Report = Callable[[str], None]

_WEIGHT_VECTORS = 3  # a solver's, the solution's and the one that is certified


@dataclass(frozen=True)
class Prepared:
    """A cell's problem in memory.

    Attributes
    ----------
    data : DataSet
    problem : MarginProblem
    load_seconds : float
        Wall-clock seconds of loading the data and building the problem, without compiling what that needs.
    """

    data: DataSet
    problem: MarginProblem
    load_seconds: float


def prepare(cell: Cell, report: Report, compilation: Compilation | None = None) -> Prepared:
    """Load a cell's data set and build its problem; choose Δ where nobody gave one.

    Parameters
    ----------
    cell : Cell
    report : callable
        Receives what the user must know of the data.
    compilation : Compilation, optional

    Raises
    ------
    PdmbenchError
        When the data cannot be had or are not what they should be.
    """
    from pdmbench.data import load
    from pdmbench.kernels.compilation import Compilation  # imports numba, which is not loading data
    from pdmbench.problem import MarginProblem, default_delta

    began = time.perf_counter()
    data = load(cell.dataset, cell.positive, report)
    for note in data.notes:
        report(f"{data.name}: {note}")
    _leave_room(data)
    compilation = compilation or Compilation(report)
    compiled = compilation.seconds
    with compilation.watched(f"{data.patterns.layout} rows"):
        delta = data.delta if cell.delta is None else cell.delta
        if delta is None:
            radius = MarginProblem(data.patterns, data.labels, 0.0, cell.rho).R
            delta = default_delta(radius)
            report(f"{data.name}: Δ = {delta:g}, about a tenth of R = {radius:.4g}; --delta sets another")
        problem = MarginProblem(data.patterns, data.labels, delta, cell.rho)
    seconds = time.perf_counter() - began - (compilation.seconds - compiled)
    return Prepared(data, problem, seconds)


def _leave_room(data: DataSet) -> None:
    """Refuse data whose weight vectors would not fit into memory: few entries may name a huge feature."""
    needed = _WEIGHT_VECTORS * 8.0 * data.patterns.n / 2**20
    free = memory.available()
    if needed > free:
        raise DataError(
            f"{data.patterns.n:,} features: weight vectors take {needed / 1024:.1f} GiB,"
            f" {free / 1024:.1f} are free",
            data.name,
            "number the features without gaps",
        )


def warm_up(algorithm: str, problem: MarginProblem, compilation: Compilation) -> None:
    """Compile, or load, a solver's kernels for the layout of these data."""
    from pdmbench import solvers

    with compilation.watched(f"{algorithm} on {problem.patterns.layout} rows"):
        solvers.get(algorithm).warm_up(problem)


def blank(cell: Cell, prepared: Prepared | None = None, **values: Any) -> Record:
    """The record of a cell before anything is measured.

    Parameters
    ----------
    cell : Cell
    prepared : Prepared, optional
        None where the data could not be had.
    **values
        Further fields; ``status`` is one of them.
    """
    described: dict[str, Any] = {"dataset": cell.dataset, "delta": cell.delta}
    if prepared is not None:
        data, problem = prepared.data, prepared.problem
        described = {
            "dataset": data.name, "digest": data.digest, "load_seconds": prepared.load_seconds,
            "m": problem.m, "n": problem.n, "nnz": data.patterns.nnz, "R": float(problem.R),
            "delta": float(problem.delta),
        }  # fmt: skip
    described |= {
        "positive": cell.positive, "algorithm": cell.algorithm, "eps": cell.eps, "rho": cell.rho,
        "eta": cell.eta if cell.algorithm in USES_ETA else None,
        "beta": cell.beta, "beta_from": cell.beta_from, "seed": cell.seed,
        "time_limit": cell.time_limit, "max_epochs": cell.max_epochs, "version": pdmbench.__version__,
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }  # fmt: skip
    return Record(**{**described, **values})


def failure(cell: Cell, prepared: Prepared | None, error: Exception, **values: Any) -> Record:
    """The record of a cell that ended in an exception: its status and one line of reason."""
    if isinstance(error, BudgetExhausted):
        return blank(cell, prepared, status=error.status, **values)
    status = Status.UNAVAILABLE if isinstance(error, (SolverUnavailable, DownloadError)) else Status.FAILED
    line = str(error) if isinstance(error, PdmbenchError) else f"{type(error).__name__}: {error}"
    return blank(cell, prepared, status=status, error=" ".join(line.split()), **values)


def target(partner: Record) -> float:
    """β of PFM: the margin its partner reached.

    Raises
    ------
    SolverUnavailable
        When it reached none.
    """
    if not partner.finished or partner.margin is None or partner.margin <= 0:
        raise SolverUnavailable(f"{partner.algorithm} gave no positive margin to aim at")
    return partner.margin


@dataclass
class Clock(Monitor):
    """A monitor that also counts wall-clock time: a solver that waits is over its limit too."""

    _deadline: float = field(default=float("inf"), init=False)

    def start(self) -> None:
        super().start()
        self._deadline = time.monotonic() + self.max_seconds

    def check(self) -> None:
        super().check()
        if time.monotonic() > self._deadline:
            raise BudgetExhausted(Status.TIME_LIMIT)


def measure(
    cell: Cell,
    prepared: Prepared,
    beta: float | None,
    on_epoch: Callable[[TracePoint], None] | None = None,
) -> Record:
    """Run a cell's solver and certify what it returns.

    Parameters
    ----------
    cell : Cell
    prepared : Prepared
        Its kernels are warm.
    beta : float, optional
        β for PFM.
    on_epoch : callable, optional
        Receives a :class:`~pdmbench.solvers.base.TracePoint` per full epoch.
    """
    from pdmbench import solvers

    began = time.perf_counter()
    record = blank(cell, prepared, beta=beta, status=Status.FAILED)
    limits = {"max_seconds": cell.time_limit, "max_epochs": cell.max_epochs}
    monitor = Clock(**{k: v for k, v in limits.items() if v is not None}, on_epoch=on_epoch)
    settings = Settings(eps=cell.eps, eta=cell.eta, beta=beta, seed=cell.seed)
    solution = solvers.get(cell.algorithm).solve(prepared.problem, settings, monitor)
    certificate = solution.certify(prepared.problem)
    polished = certificate if solution.dual is None else prepared.problem.certify(solution.weights)
    return replace(
        record,
        status=solution.status,
        margin=float(certificate.margin),
        geometric_margin=float(certificate.geometric_margin),
        bound=float(certificate.bound),
        certified_accuracy=float(certificate.accuracy),
        polished_margin=float(polished.margin),
        updates=int(solution.updates) or None,
        row_products=int(solution.row_products) or None,
        full_epochs=int(solution.full_epochs) or None,
        train_seconds=float(solution.train_seconds),
        wall_seconds=time.perf_counter() - began,
        peak_rss_mb=memory.peak_rss(),
        note=solution.note,
    )
