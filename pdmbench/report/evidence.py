"""The numbers behind the paper's claims: ratios, ranks, differences, one piece of evidence a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pdmbench.bench.record import Record
from pdmbench.report import bounds, grid
from pdmbench.report.cells import PAPER, TABLE2, Cell, Interval, Row, interval, rows, title

# How the paper's words are read as numbers; each claim's rule says which it uses.
CONSIDERABLY = 1.2  # "considerably faster"
FAR_FEWER = 1.5  # "far fewer updates"
SAME_LEVEL = 1.5  # "down to the level of"
MUCH = 5.0  # "much faster"
ORDERS = 10.0  # "orders of magnitude", read generously as one
A_FEW = 10.0  # "a few times": above 1, up to 10
CLOSE = 1.05  # "very close"
ROUNDING = 1e-9


@dataclass(frozen=True)
class Evidence:
    """The numbers of one row of the tables behind a verdict.

    Attributes
    ----------
    dataset : str
    text : str
        The numbers in words.
    values : mapping of str to float
        The same, for programs.
    holds : bool or None
        None when the row cannot decide.
    """

    dataset: str
    text: str
    values: Mapping[str, float] = field(default_factory=dict)
    holds: bool | None = None


@dataclass(frozen=True)
class Range:
    """A number known exactly (low = high) or, where a run met its time limit, on one side only."""

    low: float
    high: float

    def __str__(self) -> str:
        if self.low == self.high:
            return f"= {grid.number(self.low)}"
        return f"> {grid.number(self.low)}" if self.high == float("inf") else f"< {grid.number(self.high)}"

    @property
    def value(self) -> float:
        """The number, or the side that is known."""
        return self.high if self.low == 0.0 else self.low

    def within(self, least: float, most: float = float("inf")) -> bool | None:
        """Whether least ≤ number ≤ most; None when that is not known."""
        if least <= self.low and self.high <= most:
            return True
        return False if self.high < least or self.low > most else None


@dataclass(frozen=True)
class Measured:
    """The records in the forms that claims ask for."""

    rows: list[Row]
    gamma: list[Interval | None]
    bounds: list[bounds.BoundRow]
    machine: Callable[[Record], object]

    @classmethod
    def of(cls, records: Iterable[Record], environments: Mapping[str, Mapping]) -> Measured:
        """Sort records; ``environments`` by id tell which times are comparable."""
        records = list(records)
        found = rows(records)
        gamma = [interval(records, row.problem) for row in found]
        return cls(found, gamma, bounds.rows(records), _machine(environments))

    def seconds(self, row: Row, over: str, under: str) -> Range | None:
        """CPU seconds of one solver over those of another; None unless both ran on one machine alike."""
        above, below = row.cell(over), row.cell(under)
        a, b = above.least_seconds, below.least_seconds
        if not a or not b or not (above.done or below.done):
            return None
        if len({self.machine(record) for cell in (above, below) for record in cell.done or cell.undone}) > 1:
            return None
        return Range(a / b if below.done else 0.0, a / b if above.done else float("inf"))


def ratio(
    over: str, under: str, least: float, most: float = float("inf"), field: str = "seconds"
) -> Callable[[Measured], Iterator[Evidence]]:
    """Evidence that is one ratio between two solvers, in the range that the words mean or not."""
    label = f"{title(over)} / {title(under)}"

    def gather(measured: Measured) -> Iterator[Evidence]:
        for row in measured.rows:
            if not _same_margin(row, over, under):
                continue
            if field == "seconds":
                found = measured.seconds(row, over, under)
            else:
                found = _quotient(row.cell(over), row.cell(under), field)
            if found is not None:
                yield Evidence(row.label, f"{label} {found}", {label: found.value}, found.within(least, most))

    return gather


def _quotient(over: Cell, under: Cell, field: str) -> Range | None:
    a, b = over.mean(field), under.mean(field)
    return Range(a / b, a / b) if a is not None and b else None


def _same_margin(row: Row, over: str, under: str) -> bool:
    """PFM is compared with PDM only where its β is PDM's margin."""
    pairs = {("pfm", "pdm"): "pfm", ("pdm", "pfm"): "pfm", ("pdm-succ", "pfm-succ"): "pfm-succ"}
    fixed = pairs.get((over, under))
    return fixed is None or all(record.beta_from is not None for record in row.cell(fixed).done)


def guarantee(measured: Measured) -> Iterator[Evidence]:
    """γ'_d / γ_d of each solver; undecided where the interval of γ_d leaves it open."""
    for row, gamma in zip(measured.rows, measured.gamma, strict=True):
        least = (1.0 - row.problem.eps) * (1.0 - ROUNDING)
        for algorithm in PAPER:
            margins = row.cell(algorithm).values("margin")
            if not margins or gamma is None:
                continue
            found = Range(min(margins) / gamma.upper, min(margins) / gamma.lower)
            holds = found.within(least)
            text = f"{title(algorithm)} {found.low:.4f}" + (f" to {found.high:.4f}" if holds is None else "")
            yield Evidence(row.label, text, {algorithm: found.low}, holds)


def lowest(measured: Measured) -> Iterator[Evidence]:
    """The rank of PDM's margin, from below."""
    for row in measured.rows:
        margins = {a: m for a in ("pdm", *TABLE2) if (m := row.cell(a).mean("margin")) is not None}
        if "pdm" in margins and len(margins) > 1:
            rank = 1 + sum(margin < margins["pdm"] for margin in margins.values())
            text = f"PDM's margin is number {rank} of {len(margins)} from below"
            yield Evidence(row.label, text, {"rank": rank, **margins}, rank == 1)


def slow_against_fast(measured: Measured) -> Iterator[Evidence]:
    """ROMMA and the decomposition SVMs over DCD and MPU; the least of a solver's ratios decides."""
    for row in measured.rows:
        for slow in ("romma", "svm-light", "svm"):
            pairs = {fast: measured.seconds(row, slow, fast) for fast in ("dcd-l1", "dcd-l2", "mpu")}
            known = {fast: ratio for fast, ratio in pairs.items() if ratio is not None}
            if known:
                least = Range(min(r.low for r in known.values()), min(r.high for r in known.values()))
                text = ", ".join(f"{title(slow)} / {title(fast)} {ratio}" for fast, ratio in known.items())
                values = {f"{title(slow)} / {title(fast)}": ratio.value for fast, ratio in known.items()}
                yield Evidence(row.label, text, values, least.within(ORDERS))


def between_svm_and_dcd(measured: Measured) -> Iterator[Evidence]:
    """The decomposition SVMs over PDM, and PDM over DCD."""
    for svm in ("svm-light", "svm"):
        yield from ratio(svm, "pdm", MUCH)(measured)
    for dcd in ("dcd-l1", "dcd-l2"):
        yield from ratio("pdm", dcd, 1.0, A_FEW)(measured)


def coinciding(measured: Measured) -> Iterator[Evidence]:
    """The relative difference of the two DCD margins."""
    for row in measured.rows:
        one, two = row.cell("dcd-l1").mean("margin"), row.cell("dcd-l2").mean("margin")
        if one is not None and two:
            gap = abs(one - two) / max(one, two)
            text = f"they differ by {grid.number(100 * gap, 2)} %"
            yield Evidence(row.label, text, {"difference": gap}, gap <= row.problem.eps)


def geometric(measured: Measured) -> Iterator[Evidence]:
    """The largest ratio of geometric to directional margin."""
    for row in measured.rows:
        if row.problem.rho != 1.0:
            continue
        cells = [cell for cell in row.cells.values() if cell.algorithm in PAPER]
        margins = {c.algorithm: (c.mean("geometric_margin"), c.mean("margin")) for c in cells}
        ratios = {a: both / own for a, (both, own) in margins.items() if both is not None and own}
        if ratios:
            worst = max(ratios, key=ratios.__getitem__)
            text = f"γ'/γ'_d at most {ratios[worst]:.4f} ({title(worst)})"
            yield Evidence(row.label, text, ratios, ratios[worst] <= CLOSE)


def theorems(measured: Measured) -> Iterator[Evidence]:
    """Measured updates against Theorems 1 and 2."""
    for row in measured.bounds:
        if row.guaranteed and row.theorem in ("Theorem 1", "Theorem 2"):
            sign = "≤" if row.holds else ">"
            numbers = f"log₁₀ t = {row.log10_t:.2f} {sign} {row.log10_bound:.2f}"
            text = f"{title(row.algorithm)} {numbers} ({row.theorem})"
            values = {"log10_t": row.log10_t, "log10_bound": row.log10_bound}
            yield Evidence(row.dataset, text, values, row.holds)


def _machine(environments: Mapping[str, Mapping]) -> Callable[[Record], object]:
    """What must be equal for times to be comparable: hardware, software, cells at once; not load or hour."""

    def key(record: Record) -> object:
        environment = environments.get(record.environment or "")
        if environment is None:
            return record.environment, record.jobs
        fixed = {k: str(v) for k, v in environment.items() if k not in ("time", "load", "jobs", "memory_gib")}
        return tuple(sorted(fixed.items())), record.jobs

    return key
