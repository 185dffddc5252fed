"""Measured updates against the theorems of the paper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pdmbench import theory
from pdmbench.bench.record import Record
from pdmbench.report import grid
from pdmbench.report.cells import Interval, Row, interval, title
from pdmbench.report.cells import rows as problem_rows

PERCEPTRONS = ("perceptron", "perceptron-dual")


@dataclass(frozen=True)
class BoundRow:
    """One theorem against one solver on one problem; of several seeds the one nearest to the bound.

    Attributes
    ----------
    dataset, algorithm, theorem : str
    eps : float or None
        The ε of the theorem: what was asked of PDM, 1 − β/γ_d of PFM; None where it has none.
    r : float
        R over the certified upper bound of γ_d. The theorems' bounds fall as γ_d rises, so this is the
        least that each of them can be.
    updates : int
    log10_t, log10_bound : float
    guaranteed : bool
        False for the estimate of successive runs, which presumes that each run uses up its bound.
    """

    dataset: str
    algorithm: str
    theorem: str
    eps: float | None
    r: float
    updates: int
    log10_t: float
    log10_bound: float
    guaranteed: bool = True

    @property
    def holds(self) -> bool:
        """Whether the run stayed within the bound; counts are integers, hence the slack of rounding alone."""
        return self.log10_t <= self.log10_bound + 1e-12


def rows(records: Iterable[Record]) -> list[BoundRow]:
    """All bounds that apply to what was measured.

    Parameters
    ----------
    records : iterable of Record

    Returns
    -------
    list of BoundRow
    """
    records = list(records)
    found = []
    for row in problem_rows(records):
        gamma = interval(records, row.problem)
        if gamma is not None:
            found += _of_row(row, gamma)
    return found


def as_grid(found: Iterable[BoundRow]) -> grid.Grid:
    """The rows as a table of text."""
    found = list(found)
    body = [
        [
            row.dataset,
            title(row.algorithm),
            "–" if row.eps is None else f"{row.eps:.3g}",
            grid.number(row.r, 4),
            f"{row.log10_t:.2f}",
            row.theorem,
            f"{row.log10_bound:.2f}",
            "yes" if row.holds else "NO" if row.guaranteed else "no",
        ]
        for row in found
    ]
    head = ["Data set", "Solver", "ε", "R/γ_d", "log₁₀ t", "Bound", "log₁₀ bound", "within"]
    remarks = ["γ_d is the certified upper bound, at which every bound is least; for PFM ε = 1 − β/γ_d."]
    if any(not row.guaranteed for row in found):
        remarks.append(
            "Successive runs: an estimate, for runs that each use up their bound; Theorem 2 covers all."
        )
    return grid.Grid("Updates t against the theorems", head, body, (), "llrrrlrl", (), remarks)


def _of_row(row: Row, gamma: Interval) -> Iterator[BoundRow]:
    for cell in row.cells.values():
        nearest: dict[str, BoundRow] = {}
        for record in (*cell.done, *cell.undone):
            if not record.updates or record.R is None:
                continue
            r = max(1.0, record.R / gamma.upper)
            for theorem, eps, log10_bound, guaranteed in _bounds(record, gamma.upper, r):
                one = BoundRow(
                    row.label,
                    cell.algorithm,
                    theorem,
                    eps,
                    r,
                    record.updates,
                    math.log10(record.updates),
                    log10_bound,
                    guaranteed,
                )
                known = nearest.get(theorem)
                if known is None or one.log10_bound - one.log10_t < known.log10_bound - known.log10_t:
                    nearest[theorem] = one
        yield from nearest.values()


def _bounds(record: Record, gamma: float, r: float) -> Iterator[tuple[str, float | None, float, bool]]:
    """(name, ε, log₁₀ of the bound, guaranteed) of every theorem about the record's solver."""
    eps = record.eps
    if record.algorithm in ("pdm", "pdm-succ"):
        yield "Theorem 2", eps, theory.theorem2(eps, r), True
        if record.algorithm == "pdm-succ" and record.eta:
            yield "Successive runs", eps, theory.successive(eps, record.eta, r), False
    elif record.algorithm in ("pfm", "pfm-succ") and record.beta is not None and 0 < record.beta < gamma:
        own = 1.0 - record.beta / gamma
        yield "Theorem 1", own, theory.theorem1(own, r), True
        yield "Theorem 2", own, theory.theorem2(own, r), True
    elif record.algorithm in PERCEPTRONS:
        yield "Novikoff", None, theory.novikoff(r), True
