"""Seconds to a margin within 1 % of the optimum: ours with their certificates, other trainers without."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmarks import peers
from benchmarks.harness import Report, Spread, alternate, say, spread, train, warm_up
from benchmarks.sources import Source
from pdmbench.problem import MarginProblem
from pdmbench.report.grid import number
from pdmbench.solvers.base import Settings

ALGORITHMS = ("pdm", "pdm-succ", "mpu", "romma", "cd")
TOLERANCES = tuple(10.0 ** (1.0 - k / 4.0) for k in range(33))  # 10 … 10⁻⁷, four a decade
_OPTIMUM_TOLERANCE = 1e-6

_HEAD = (
    "data set",
    "trainer",
    "tolerance",
    "s",
    "10⁴γ'_d",
    "short of γ_d %",
    "certified %",
    "× fastest peer",
)


class Fit(NamedTuple):
    """One training run.

    Attributes
    ----------
    seconds : float
    margin : float
        γ'_d by the problem's own exact pass.
    accuracy : float
        Certified; NaN for a peer, which brings no certificate.
    """

    seconds: float
    margin: float
    accuracy: float


def measure(
    sources: Sequence[Source], algorithms: Sequence[str], eps: float, repeats: int, report: Report
) -> None:
    """Measure all trainers on all data sets and write the table ``certified``."""
    percent = f"{100.0 * eps:g} %"
    rows, runs, ratios = [], [], []
    try:
        for source in sources:
            say(f"certified: {source.name}")
            table, fits, ours = _on(source.problem(), algorithms, eps, repeats)
            rows += [[source.name, *cells] for cells in table]
            runs += [{"data set": source.name, **fit} for fit in fits]
            ratios.append(ours)
    finally:
        remarks = [
            f"a peer runs at the loosest tolerance that reaches {percent}, found beforehand: four tried a"
            " decade",
            f"a solver of ours ends when it knows that it reached {percent}: its certificate is in its time",
            f"{len(ratios)} data sets, geometric mean of time / fastest peer: {summary(ratios)}",
        ]
        title = f"Time to within {percent} of the largest margin"
        if rows:
            report.write("certified", title, _HEAD, rows, runs, remarks)


def _on(
    problem: MarginProblem, algorithms: Sequence[str], eps: float, repeats: int
) -> tuple[list[list[str]], list[dict[str, Any]], dict[str, float]]:
    """One data set: rows of the table, single runs, and each of our solvers' time over the fastest peer's."""
    optimum = _optimum(problem)
    trainers = {name: _ours(problem, name, eps) for name in algorithms}
    loosest: dict[str, float | None] = {}
    for kind in peers.installed():
        peer = kind(problem)
        tolerance = find_tolerance(lambda t, peer=peer: _margin(peer, t) >= (1.0 - eps) * optimum)
        loosest[peer.name] = tolerance
        if tolerance is not None:
            trainers[peer.name] = lambda _, peer=peer, tolerance=tolerance: _peer_fit(peer, tolerance)
    fits = alternate(trainers, repeats)
    times = {name: spread(fit.seconds for fit in results) for name, results in fits.items()}
    fastest = min((times[name].median for name in loosest if name in times), default=math.nan)
    ours = {
        name: times[name].median / fastest
        for name in algorithms
        if all(fit.accuracy <= eps * (1.0 + 1e-9) for fit in fits[name])
    }
    table, runs = [], []
    for name in (*algorithms, *loosest):
        results, tolerance = fits.get(name, []), loosest.get(name)
        table.append([name, *_cells(results, times.get(name), tolerance, optimum, fastest)])
        runs += [{"trainer": name, "tolerance": tolerance, **fit._asdict()} for fit in results]
    return table, runs, ours


def find_tolerance(reaches: Callable[[float], bool]) -> float | None:
    """The loosest tolerance of the grid that suffices, None where none does."""
    return next((tolerance for tolerance in TOLERANCES if reaches(tolerance)), None)


def summary(ratios: Sequence[dict[str, float]]) -> str:
    """Geometric means over data sets of the best of ours, and of each solver that reached the margin on all.

    Parameters
    ----------
    ratios : sequence of dict
        For each data set, each solver's time over the fastest peer's.
    """
    parts = []
    if ratios and all(ratios):
        parts.append(f"best of ours {number(statistics.geometric_mean(min(r.values()) for r in ratios))}")
    everywhere = [name for name in (ratios[0] if ratios else ()) if all(name in r for r in ratios)]
    parts += [f"{name} {number(statistics.geometric_mean(r[name] for r in ratios))}" for name in everywhere]
    return ", ".join(parts) or "none"


def _optimum(problem: MarginProblem) -> float:
    """γ_d from below, by a tight run: what a margin within 1 % means favours those without a certificate."""
    _, weights = peers.LiblinearPrimal(problem).train(_OPTIMUM_TOLERANCE)
    return problem.certify(weights).margin


def _ours(problem: MarginProblem, algorithm: str, eps: float) -> Callable[[int], Fit]:
    warm_up(algorithm, problem)

    def fit(repetition: int) -> Fit:
        solution = train(algorithm, problem, Settings(eps=eps, seed=repetition))
        certificate = solution.certify(problem)
        return Fit(solution.train_seconds, certificate.margin, certificate.accuracy)

    return fit


def _margin(peer: peers.Peer, tolerance: float) -> float:
    return peer.problem.certify(peer.train(tolerance)[1]).margin


def _peer_fit(peer: peers.Peer, tolerance: float) -> Fit:
    seconds, weights = peer.train(tolerance)
    return Fit(seconds, peer.problem.certify(weights).margin, math.nan)


def _cells(
    fits: list[Fit], time: Spread | None, tolerance: float | None, optimum: float, fastest: float
) -> list[str]:
    if time is None:
        return ["not reached", "–", "–", "–", "–", "–"]
    least = min(fit.margin for fit in fits)
    accuracy = max(fit.accuracy for fit in fits)
    return [
        "–" if tolerance is None else number(tolerance, 2),
        str(time),
        number(1e4 * least, 5),
        f"{100.0 * (1.0 - least / optimum):.2f}",
        "–" if math.isnan(accuracy) else f"{100.0 * accuracy:.2f}",
        number(time.median / fastest),
    ]
