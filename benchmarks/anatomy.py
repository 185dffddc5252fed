"""Where training time goes: full epochs, active sets, copying them together, drawing orders, the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.harness import Report, say, spread, target_margin, train, warm_up
from benchmarks.sources import Source
from pdmbench.kernels import margins
from pdmbench.problem import MarginProblem
from pdmbench.report.grid import number
from pdmbench.solvers import active_sets
from pdmbench.solvers.base import Settings

ALGORITHMS = ("pdm", "pdm-succ", "pfm", "mpu", "romma")  # those that sweep over active sets

_PASSES = 9

_HEAD = (
    "data set", "algorithm", "s", "full epochs %", "ns a visit", "active sets %", "ns a visit",
    "copying %", "orders %", "rest %", "bare product ns",
)  # fmt: skip

_PARTS = ("full", "active", "copy", "order")


@dataclass
class Clock:
    """Seconds and visits of the parts of one run.

    Attributes
    ----------
    seconds, visits : dict
        By part: ``full``, ``active``, ``copy``, ``order``.
    now : str
        The part that sweeps belong to.
    """

    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_PARTS, 0.0))
    visits: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_PARTS, 0))
    now: str = "active"

    def timed(self, part: str, work: Callable) -> Callable:
        """``work``, its time counted as ``part``."""

        def run(*args):
            began = time.perf_counter()
            try:
                return work(*args)
            finally:
                self.seconds[part] += time.perf_counter() - began

        return run

    def sweep(self, visit: Callable) -> Callable:
        """A solver's sweep, its time and visits counted as :attr:`now`."""

        def run(*args):
            began = time.perf_counter()
            result = visit(*args)
            self.seconds[self.now] += time.perf_counter() - began
            self.visits[self.now] += result[-1]  # presented
            return result

        return run

    def epoch(self, full_epoch: Callable) -> Callable:
        """What is swept in it counts as ``full``, all else as ``active``."""

        def run(*args):
            self.now = "full"
            try:
                return full_epoch(*args)
            finally:
                self.now = "active"

        return run


@contextmanager
def watched(clock: Clock) -> Iterator[None]:
    """Time the parts of the run made meanwhile, from zero on."""
    clock.seconds, clock.visits = dict.fromkeys(_PARTS, 0.0), dict.fromkeys(_PARTS, 0)
    sets = active_sets.ActiveSets
    begin = sets.__init__

    def begin_watched(self, problem, dual, visit, levels, monitor):
        begin(self, problem, dual, clock.sweep(visit), levels, monitor)

    gather, draw = active_sets.Copy.gather, active_sets.Permutation.draw
    with (
        mock.patch.object(sets, "__init__", begin_watched),
        mock.patch.object(sets, "full_epoch", clock.epoch(sets.full_epoch)),
        mock.patch.object(active_sets.Copy, "gather", clock.timed("copy", gather)),
        mock.patch.object(active_sets.Permutation, "draw", clock.timed("order", draw)),
    ):
        yield


def bare_product(problem: MarginProblem) -> float:
    """Nanoseconds of one product a·y_k where nothing else is done: the best pass over all, in order."""
    weights, dual = problem.zero_weights(), np.zeros(problem.m)
    best = np.inf
    for _ in range(_PASSES):
        began = time.perf_counter()
        margins.smallest_product(problem.y, weights, dual)
        best = min(best, time.perf_counter() - began)
    return 1e9 * best / problem.m


def measure(
    sources: Sequence[Source], algorithms: Sequence[str], eps: float, repeats: int, report: Report
) -> None:
    """Take all solvers apart on all data sets and write the table ``anatomy``."""
    remarks = [
        "rest: the solver's own Python code and the calls of kernels",
        "bare product: a·y_k alone, all patterns in the order they are stored, no update",
    ]
    rows: list[list[str]] = []
    runs: list[dict[str, Any]] = []
    try:
        for source in sources:
            problem = source.problem()
            bare = bare_product(problem)
            for algorithm in algorithms:
                say(f"anatomy: {source.name} {algorithm}")
                beta = target_margin(algorithm, problem, eps)
                warm_up(algorithm, problem)
                settings = [Settings(eps, beta=beta, seed=seed) for seed in range(repeats)]
                measured = [_apart(algorithm, problem, each) for each in settings]
                rows.append([source.name, algorithm, *_cells(measured), number(bare)])
                what = {"data set": source.name, "algorithm": algorithm, "bare": bare}
                runs += [what | run for run in measured]
    finally:
        if rows:
            report.write("anatomy", f"Where training time goes, ε = {eps:g}", _HEAD, rows, runs, remarks)


def _apart(algorithm: str, problem: MarginProblem, settings: Settings) -> dict[str, float]:
    clock = Clock()
    seconds = train(algorithm, problem, settings, lambda: watched(clock)).train_seconds
    parts = {f"{part} s": value for part, value in clock.seconds.items()}
    return {
        "seconds": seconds,
        **parts,
        "full visits": clock.visits["full"],
        "active visits": clock.visits["active"],
    }


def _cells(runs: list[dict[str, float]]) -> list[str]:
    def share(part: str) -> str:
        return f"{spread(100.0 * run[f'{part} s'] / run['seconds'] for run in runs).median:.0f}"

    def per_visit(part: str) -> str:
        return number(spread(1e9 * run[f"{part} s"] / max(1, run[f"{part} visits"]) for run in runs).median)

    rest = spread(100.0 - 100.0 * sum(run[f"{part} s"] for part in _PARTS) / run["seconds"] for run in runs)
    return [
        number(spread(run["seconds"] for run in runs).median),
        share("full"), per_visit("full"), share("active"), per_visit("active"),
        share("copy"), share("order"), f"{max(0.0, rest.median):.0f}",
    ]  # fmt: skip
