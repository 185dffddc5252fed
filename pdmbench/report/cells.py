"""Records sorted into the rows and cells of a table: a row is a problem, a cell one solver on it."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from pdmbench.bench.record import Record
from pdmbench.solvers import GROUPS
from pdmbench.solvers.base import Status

TABLE2 = GROUPS["table2"]
PAPER = GROUPS["table1"] + TABLE2

TITLES = {
    "pdm": "PDM",
    "pfm": "PFM",
    "pdm-succ": "PDM-succ",
    "pfm-succ": "PFM (succ)",
    "romma": "ROMMA",
    "svm-light": "SVM-light",
    "svm": "LIBSVM",
    "dcd-l1": "DCD-L1",
    "dcd-l2": "DCD-L2",
    "mpu": "MPU",
    "naromma": "NAROMMA",
    "cd": "CD (ours)",
    "perceptron": "Perceptron",
    "perceptron-dual": "Perceptron (dual)",
    "perceptron-margin": "Perceptron (margin)",
    "margitron": "Margitron",
    "alma2": "ALMA₂",
}

DATASETS = {  # the order of the paper
    "adult": "Adult",
    "web": "Web",
    "physics": "Physics",
    "real-sim": "Real-sim",
    "news20": "News20",
    "webspam": "Webspam",
    "covertype": "Covertype",
    "rcv1-c11": "C11",
    "rcv1-ccat": "CCAT",
}


def title(algorithm: str) -> str:
    """What tables call an algorithm; a plug-in goes by its own name."""
    return TITLES.get(algorithm, algorithm)


@dataclass(frozen=True)
class Problem:
    """What one row of a table is about."""

    dataset: str
    positive: str | None
    digest: str | None
    delta: float | None
    rho: float
    eps: float

    @property
    def title(self) -> str:
        """The data set as the paper writes it, a file by its name; the class set against the rest."""
        name = DATASETS.get(self.dataset) or PurePath(self.dataset).name or self.dataset
        return name if self.positive is None else f"{name}, class {self.positive}"


@dataclass(frozen=True)
class Cell:
    """One solver on one problem, over all its seeds.

    Attributes
    ----------
    algorithm : str
    done : tuple of Record
        The converged ones, one a seed.
    undone : tuple of Record
        The newest ones of the seeds that did not converge.
    """

    algorithm: str
    done: tuple[Record, ...] = ()
    undone: tuple[Record, ...] = ()

    def values(self, name: str) -> list[float]:
        """The field ``name`` of the converged records, where it exists."""
        return [value for record in self.done if (value := getattr(record, name)) is not None]

    def mean(self, name: str) -> float | None:
        """Mean of a field over the seeds, None where there is none."""
        values = self.values(name)
        return statistics.fmean(values) if values else None

    def std(self, name: str) -> float | None:
        """Standard deviation over the seeds (n − 1), None below two values."""
        values = self.values(name)
        return statistics.stdev(values) if len(values) > 1 else None

    @property
    def least_seconds(self) -> float | None:
        """CPU seconds that were certainly needed: those measured, or a time limit that was reached."""
        if self.done:
            return self.mean("train_seconds")
        reached = [limit_of(r) for r in self.undone if r.status is Status.TIME_LIMIT]
        return max((limit for limit in reached if limit is not None), default=None)


@dataclass
class Row:
    """A problem, what tables call it, and its cells."""

    problem: Problem
    label: str
    cells: dict[str, Cell] = field(default_factory=dict)

    def cell(self, algorithm: str) -> Cell:
        """The cell of a solver, an empty one when it never ran."""
        return self.cells.get(algorithm) or Cell(algorithm)

    def records(self) -> list[Record]:
        """Everything the row rests on."""
        return [record for cell in self.cells.values() for record in (*cell.done, *cell.undone)]


@dataclass(frozen=True)
class Interval:
    """Where γ_d certainly lies: above every margin reached, below every bound proven."""

    lower: float
    lower_by: str
    upper: float
    upper_by: str

    @property
    def width(self) -> float:
        """Relative width."""
        return 1.0 - self.lower / self.upper


def latest(records: Iterable[Record]) -> list[Record]:
    """One record a cell and seed: the newest converged one, else the newest finished one, else the newest."""
    best: dict[tuple, tuple[int, Record]] = {}
    for record in records:
        rank = 2 if record.status is Status.CONVERGED else int(record.finished)
        known = best.get(record.identity)
        if known is None or rank >= known[0]:
            best[record.identity] = (rank, record)
    return [record for _, record in best.values()]


def rows(records: Iterable[Record], algorithms: Iterable[str] | None = None) -> list[Row]:
    """Sort records into rows: the paper's data sets in its order, others as they came.

    Parameters
    ----------
    records : iterable of Record
    algorithms : iterable of str, optional
        Keep rows that have a record of one of these, and cells of these alone.

    Returns
    -------
    list of Row
    """
    wanted = None if algorithms is None else set(algorithms)
    kept = [r for r in latest(records) if wanted is None or r.algorithm in wanted]
    grouped: dict[Problem, dict[str, list[Record]]] = {}
    whole = [r for r in kept if r.digest is not None and r.delta is not None]
    for record in whole:
        grouped.setdefault(_problem(record), {}).setdefault(record.algorithm, []).append(record)
    for record in kept:
        if record.digest is None or record.delta is None:  # its data were never read
            problem = _matching(record, grouped)
            grouped.setdefault(problem, {}).setdefault(record.algorithm, []).append(record)
    order = {name: k for k, name in enumerate(dict.fromkeys([*DATASETS, *(r.dataset for r in kept)]))}
    problems = sorted(grouped, key=lambda problem: order[problem.dataset])
    return [Row(p, _label(p, problems), {a: _cell(a, rs) for a, rs in grouped[p].items()}) for p in problems]


def interval(records: Iterable[Record], problem: Problem) -> Interval | None:
    """The tightest certified interval of γ_d from all records of the same data, Δ and ρ, at any ε.

    A margin and a bound are exact whether or not the run that gave them converged.
    """
    lower, upper = (0.0, ""), (float("inf"), "")
    for record in records:
        if _data(record) != _data(problem):
            continue
        for margin in (record.margin, record.polished_margin):
            if margin is not None and margin > lower[0]:
                lower = (margin, record.algorithm)
        if record.bound is not None and record.bound < upper[0]:
            upper = (record.bound, record.algorithm)
    return Interval(*lower, *upper) if lower[1] and upper[1] else None


def limit_of(record: Record) -> float | None:
    """The time limit a record ran into, in seconds; what it ran for when the limit was not written down."""
    return next(
        (s for s in (record.time_limit, record.train_seconds, record.wall_seconds) if s is not None), None
    )


def _data(of: Record | Problem) -> tuple:
    """What γ_d depends on."""
    return (of.dataset, of.positive, of.digest, of.delta, of.rho)


def _problem(record: Record) -> Problem:
    return Problem(*_data(record), record.eps)


def _matching(record: Record, grouped: Iterable[Problem]) -> Problem:
    """The row of a record whose data were never read: one that agrees in all that is known of it."""
    own = _problem(record)
    for problem in grouped:
        known = replace(own, digest=problem.digest, delta=problem.delta if own.delta is None else own.delta)
        if known == problem:
            return problem
    return own


def _label(own: Problem, problems: Iterable[Problem]) -> str:
    """The data set, and what else tells its row from the others."""
    twins = [other for other in problems if other.title == own.title]
    more = []
    if len({other.eps for other in problems}) > 1:
        more.append(f"ε = {own.eps:g}")
    for sign, name in (("Δ", "delta"), ("ρ", "rho")):
        value = getattr(own, name)
        if value is not None and any(getattr(other, name) != value for other in twins):
            more.append(f"{sign} = {value:g}")
    if own.digest and any(other.digest != own.digest for other in twins):
        more.append(f"data {own.digest[:8]}")
    return ", ".join([own.title, *more])


def _cell(algorithm: str, records: list[Record]) -> Cell:
    """Gather the seeds of one variant: the paper's (η = 8, β from PDM) where it was run, else the newest."""
    variants: dict[tuple, list[Record]] = {}
    for record in records:
        given_beta = None if record.beta_from else record.beta
        variants.setdefault((record.eta, given_beta), []).append(record)
    chosen = max(
        variants.items(), key=lambda item: (item[0] in ((8.0, None), (None, None)), item[1][-1].started or "")
    )[1]
    done = tuple(r for r in chosen if r.status is Status.CONVERGED)
    return Cell(algorithm, done, tuple(r for r in chosen if r.status is not Status.CONVERGED))
