"""What the paper says in words, and what the records say to it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pdmbench.bench.record import Record
from pdmbench.report import evidence, grid
from pdmbench.report.evidence import Evidence

HOLDS, FAILS, UNMEASURED = "holds", "does not hold", "not measured"


@dataclass(frozen=True)
class Claim:
    """A claim with its verdict.

    Attributes
    ----------
    id, text : str
        As in the paper's section 5.
    rule : str
        How the words were turned into numbers.
    verdict : {"holds", "does not hold", "not measured"}
    rows : tuple of Evidence
    """

    id: str
    text: str
    rule: str
    verdict: str
    rows: tuple[Evidence, ...]

    @property
    def tally(self) -> str:
        """On how many of the rows that can decide it the claim holds."""
        decided = [row.holds for row in self.rows if row.holds is not None]
        return f"{sum(decided)} of {len(decided)}" if decided else "–"


def evaluate(records: Iterable[Record], environments: Mapping[str, Mapping] | None = None) -> list[Claim]:
    """Judge every claim of the paper by the records.

    Parameters
    ----------
    records : iterable of Record
    environments : mapping, optional
        Environment by id. Times are compared between runs on the same machine with the same software;
        without it, only between records of one and the same run.

    Returns
    -------
    list of Claim
        P1 to P13.
    """
    measured = evidence.Measured.of(records, environments or {})
    return [
        Claim(name, text, rule, *_settle(list(gather(measured)), verdict))
        for name, text, rule, gather, verdict in _CLAIMS
    ]


def as_grid(claims: Iterable[Claim]) -> grid.Grid:
    """Claims, verdicts and the numbers behind them as a table of text."""
    body = []
    for claim in claims:
        numbers = "; ".join(f"{row.dataset}: {row.text}" for row in claim.rows)
        body.append([claim.id, claim.text, claim.verdict, claim.tally, numbers])
    return grid.Grid("The paper's claims", ["", "Claim", "Verdict", "Rows", "Measured"], body, (), "lllll")


def _settle(
    found: list[Evidence], verdict: Callable[[list[Evidence]], bool | None]
) -> tuple[str, tuple[Evidence, ...]]:
    holds = verdict(found)
    return UNMEASURED if holds is None else HOLDS if holds else FAILS, tuple(found)


def _everywhere(found: list[Evidence]) -> bool | None:
    """On all rows that can decide; None where none can."""
    marks = [row.holds for row in found if row.holds is not None]
    return all(marks) if marks else None


def _mostly(found: list[Evidence]) -> bool | None:
    marks = [row.holds for row in found if row.holds is not None]
    return sum(marks) > len(marks) / 2 if marks else None


def _between_svm_and_dcd_verdict(found: list[Evidence]) -> bool | None:
    """Faster than the SVM everywhere, and a few times slower than DCD in the median ("statistically")."""
    to_svm = [row for row in found if not any(name.startswith("PDM /") for name in row.values)]
    ratios = [value for row in found if row not in to_svm for value in row.values.values()]
    faster = _everywhere(to_svm)
    slower = 1.0 < statistics.median(ratios) <= evidence.A_FEW if ratios else None
    if False in (faster, slower):
        return False
    return None if None in (faster, slower) else True


_CLAIMS = (
    (
        "P1",
        "PDM is considerably faster than PFM in training time at the same γ'_d …",
        f"CPU seconds PFM / PDM ≥ {evidence.CONSIDERABLY:g} on every row",
        evidence.ratio("pfm", "pdm", evidence.CONSIDERABLY),
        _everywhere,
    ),
    (
        "P2",
        "… although PFM needs far fewer updates.",
        f"updates PDM / PFM ≥ {evidence.FAR_FEWER:g} on every row",
        evidence.ratio("pdm", "pfm", evidence.FAR_FEWER, field="updates"),
        _everywhere,
    ),
    (
        "P3",
        "Successive runs bring the updates down to PFM's level for the same γ'_d …",
        f"updates PDM-succ / PFM (of the right half) ≤ {evidence.SAME_LEVEL:g} on every row",
        evidence.ratio("pdm-succ", "pfm-succ", 0.0, evidence.SAME_LEVEL, field="updates"),
        _everywhere,
    ),
    (
        "P4",
        "… at the price of a longer runtime than PDM.",
        "CPU seconds PDM-succ / PDM ≥ 1 on every row",
        evidence.ratio("pdm-succ", "pdm", 1.0),
        _everywhere,
    ),
    (
        "P5",
        "Everyone reaches (1−ε) of the maximum margin.",
        "γ'_d / γ_d ≥ 1 − ε for every solver of the tables, γ_d from the tightest certified interval",
        evidence.guarantee,
        _everywhere,
    ),
    (
        "P6",
        "PDM's achieved accuracy is closest to the one asked for: in most cases its margin is the lowest.",
        "PDM's γ'_d is the lowest among PDM and the solvers of Table 2 on more than half of the rows",
        evidence.lowest,
        _mostly,
    ),
    (
        "P7",
        "ROMMA and the decomposition SVM are orders of magnitude slower than DCD and MPU.",
        f"CPU seconds of each over each of DCD-L1, DCD-L2, MPU ≥ {evidence.ORDERS:g} on every row",
        evidence.slow_against_fast,
        _everywhere,
    ),
    (
        "P8",
        "PDM is orders of magnitude faster than ROMMA.",
        f"CPU seconds ROMMA / PDM ≥ {evidence.ORDERS:g} on every row",
        evidence.ratio("romma", "pdm", evidence.ORDERS),
        _everywhere,
    ),
    (
        "P9",
        "PDM is much faster than the decomposition SVM, and statistically a few times slower than DCD.",
        f"CPU seconds SVM / PDM ≥ {evidence.MUCH:g} on every row; "
        f"median of PDM / DCD above 1, at most {evidence.A_FEW:g}",
        evidence.between_svm_and_dcd,
        _between_svm_and_dcd_verdict,
    ),
    (
        "P10",
        "PDM is a few times slower than MPU on all sets.",
        f"CPU seconds PDM / MPU from 1 to {evidence.A_FEW:g} on every row",
        evidence.ratio("pdm", "mpu", 1.0, evidence.A_FEW),
        _everywhere,
    ),
    (
        "P11",
        "DCD-L1 and DCD-L2 reach coinciding margins.",
        "their γ'_d differ by at most the relative accuracy ε that was asked for, on every row",
        evidence.coinciding,
        _everywhere,
    ),
    (
        "P12",
        "With ρ = 1 the geometric margin is very close to the directional one.",
        f"γ'/γ'_d ≤ {evidence.CLOSE:g} for every solver of the tables on every row with ρ = 1",
        evidence.geometric,
        _everywhere,
    ),
    (
        "P13",
        "Theorems 1 and 2: updates stay below their bounds.",
        "log₁₀ t at most log₁₀ of the bound, for every run",
        evidence.theorems,
        _everywhere,
    ),
)
