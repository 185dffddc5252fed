"""What all measurements share: one core, alternating runs, medians with their spread, tables."""

from __future__ import annotations

import csv
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pdmbench import solvers
from pdmbench.bench import environment, measure
from pdmbench.kernels.compilation import Compilation
from pdmbench.problem import MarginProblem
from pdmbench.report import grid
from pdmbench.solvers.base import Monitor, Settings, Solution

T = TypeVar("T")

_BANDWIDTH_BYTES = 1 << 29  # far beyond any cache


class Spread(NamedTuple):
    """Repeated measurements in short."""

    median: float
    least: float
    most: float

    def __str__(self) -> str:
        """The median, and the whole range in per cent of it."""
        share = (self.most - self.least) / self.median if self.median else 0.0
        return f"{grid.number(self.median)} ({100.0 * share:.0f} %)"


def spread(values: Iterable[float]) -> Spread:
    """Median and range."""
    values = list(values)
    return Spread(statistics.median(values), min(values), max(values))


class PowerLaw(NamedTuple):
    """y ≈ factor · x^exponent.

    Attributes
    ----------
    exponent, factor : float
    error : float
        Standard error of the exponent; NaN for two points.
    """

    exponent: float
    factor: float
    error: float

    def __str__(self) -> str:
        return (
            f"{self.exponent:.2f} ± {self.error:.2f}" if self.error == self.error else f"{self.exponent:.2f}"
        )


def power_law(x: Sequence[float], y: Sequence[float]) -> PowerLaw:
    """Least squares through (ln x, ln y).

    Raises
    ------
    ValueError
        For fewer than two different x, or a number that has no logarithm.
    """
    if len(set(x)) < 2 or min(*x, *y) <= 0.0:
        raise ValueError("a power law needs two different points of positive numbers")
    u, v = np.log(np.asarray(x, float)), np.log(np.asarray(y, float))
    centred = u - u.mean()
    square = float(centred @ centred)
    exponent = float(centred @ v) / square
    residual = v - v.mean() - exponent * centred
    freedom = len(u) - 2
    error = math.sqrt(float(residual @ residual) / freedom / square) if freedom else math.nan
    return PowerLaw(exponent, math.exp(v.mean() - exponent * u.mean()), error)


def alternate(contenders: Mapping[str, Callable[[int], T]], repeats: int) -> dict[str, list[T]]:
    """Run all contenders one after the other, then all again: what disturbs the machine disturbs each.

    Parameters
    ----------
    contenders : mapping of name to callable
        Each is called with the number of the repetition.
    repeats : int
    """
    results: dict[str, list[T]] = {name: [] for name in contenders}
    for repetition in range(repeats):
        for name, run in contenders.items():
            results[name].append(run(repetition))
    return results


def pin(core: int | None) -> int | None:
    """Bind this process, and those it starts, to one core; returns it, None where the system cannot.

    Parameters
    ----------
    core : int, optional
        Default: the last one allowed.
    """
    if not hasattr(os, "sched_setaffinity"):
        return None
    core = max(os.sched_getaffinity(0)) if core is None else core
    os.sched_setaffinity(0, {core})
    return core


def read_bandwidth(passes: int = 7) -> float:
    """Bytes a second one core reads from memory: the best pass over an array far larger than the caches."""
    array = np.ones(_BANDWIDTH_BYTES // 8)
    best = math.inf
    for _ in range(passes):
        began = time.perf_counter()
        np.dot(array, array)
        best = min(best, time.perf_counter() - began)
    return array.nbytes / best


def warm_up(algorithm: str, problem: MarginProblem) -> None:
    """Compile a solver's kernels for the layout of a problem, or load them."""
    measure.warm_up(algorithm, problem, Compilation(say))


def train(
    algorithm: str,
    problem: MarginProblem,
    settings: Settings,
    around: Callable[[], AbstractContextManager] = nullcontext,
) -> Solution:
    """Train once with warm kernels, within ``around()``.

    A run in which a kernel was compiled after all does not count: there is another one.
    """
    solver = solvers.get(algorithm)
    while True:
        compilation = Compilation(say)
        with compilation.watched(algorithm), around():
            solution = solver.solve(problem, settings, Monitor())
        if not compilation.settle():
            return solution
        say(f"{algorithm}: compiled while training, so its warm-up misses a kernel; this run is repeated")


def target_margin(algorithm: str, problem: MarginProblem, eps: float) -> float | None:
    """β for a solver that has to be told one: what PDM reaches at ε. None for the others."""
    partner = solvers.TARGET_FROM.get(algorithm)
    if partner is None:
        return None
    warm_up(partner, problem)
    return train(partner, problem, Settings(eps=eps)).certify(problem).margin


def say(line: str) -> None:
    """Progress, on stderr."""
    print(line, file=sys.stderr, flush=True)


class Report:
    """Collects the lines about the machine and writes tables with them.

    Parameters
    ----------
    folder : Path
        Each table becomes ``<name>.txt`` and ``<name>.csv``, the single runs ``<name>-runs.csv``.
    core : int or None
        The core all was measured on.
    repeats : int
    """

    def __init__(self, folder: Path, core: int | None, repeats: int):
        facts = environment.gather()
        libraries = ", ".join(f"{name} {version}" for name, version in facts["libraries"].items() if version)
        place = f"all on core {core}" if core is not None else "not bound to a core"
        self.machine = [
            f"{facts['cpu']}, {facts['logical_cores']} cores, {facts['memory_gib']} GiB, {facts['os']}",
            f"pdmbench {facts['pdmbench']}, {facts['python']}, {libraries}",
            f"{facts['time']}: {place}; medians of {repeats} alternating runs, in brackets their whole range",
        ]
        if warning := environment.busy(facts):
            self.machine.append(warning)
            say(warning)
        self.folder = folder

    def write(
        self,
        name: str,
        title: str,
        head: Sequence[str],
        rows: Sequence[Sequence[str]],
        runs: Sequence[Mapping[str, Any]],
        remarks: Sequence[str] = (),
    ) -> None:
        """Print a table; write it as text and CSV, and the runs behind it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        text = grid.text(grid.Grid(title, head, rows, remarks=(*remarks, *self.machine)))
        print(text)
        (self.folder / f"{name}.txt").write_text(text, encoding="utf-8")
        table = grid.csv_text([head, *rows])
        (self.folder / f"{name}.csv").write_text(table, encoding="utf-8")
        with open(self.folder / f"{name}-runs.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(dict.fromkeys(key for run in runs for key in run)))
            writer.writeheader()
            writer.writerows(runs)
