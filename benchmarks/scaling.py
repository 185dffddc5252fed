"""How time, updates and memory grow with m, n, density and 1/ε; every run in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import generate
from benchmarks.harness import Report, alternate, pin, power_law, say, spread, train, warm_up
from benchmarks.sources import Source
from pdmbench import data
from pdmbench.bench import memory
from pdmbench.report.grid import number
from pdmbench.solvers.base import Settings

ALGORITHMS = ("pdm", "pdm-succ", "mpu", "cd")
ROWS = (50_000, 100_000, 200_000, 400_000, 800_000)
_POLL = 0.005  # seconds between looks at a run's memory

# The small sets on which one number varies and the others stay.
_SMALL_ROWS, _SMALL_DELTA = 20_000, 0.3
_FEATURES = (1_000, 3_000, 10_000, 30_000, 100_000)
_ENTRIES = (10, 20, 40, 80, 160)  # of 2,000 features
_ACCURACIES = (0.1, 0.05, 0.02, 0.01, 0.005)

_HEAD = (
    "data set",
    "algorithm",
    "against",
    "value",
    "s",
    "10⁶ updates",
    "MB of its own",
    "exponents: s, updates, MB",
)


@dataclass(frozen=True)
class Case:
    """One point of a curve.

    Attributes
    ----------
    source : Source
    against : str
        What varies along the curve.
    value : float
        Of that, at this point.
    algorithm : str
    eps : float
    m : int or None
        Only so many of the first patterns.
    """

    source: Source
    against: str
    value: float
    algorithm: str
    eps: float
    m: int | None = None

    @property
    def label(self) -> str:
        return f"{self.source.name} {self.algorithm} {self.against}={self.value:g}"


def measure(
    source: Source,
    rows: Sequence[int],
    algorithms: Sequence[str],
    eps: float,
    repeats: int,
    core: int | None,
    folder: Path,
    report: Report,
) -> None:
    """Measure the curves and write the table ``scaling``.

    Parameters
    ----------
    source : Source
        The first ``rows`` of it are the curve over m.
    rows : sequence of int
    algorithms : sequence of str
    eps : float
        Where it does not vary.
    repeats : int
    core : int or None
        To train on; this process watches from another.
    folder : Path
        For the generated sets of the other curves.
    report : Report
    """
    m = data.load(source.path).patterns.m
    curves = [
        [Case(source, "m", min(k, m), name, eps, min(k, m)) for k in sorted(set(rows))] for name in algorithms
    ]
    small = list(_small_sources(folder))
    for name in algorithms:
        for against in ("n", "entries a row"):
            curves.append([Case(s, against, value, name, eps) for what, value, s in small if what == against])
        base = Case(source, "1/ε", 0.0, name, eps, min(m, *rows))
        curves.append([replace(base, value=1.0 / accuracy, eps=accuracy) for accuracy in _ACCURACIES])

    cases = [case for curve in curves for case in curve]
    results = alternate(
        {case.label: lambda seed, case=case: run_apart(case, seed, core) for case in cases}, repeats
    )
    for _, _, made in small:
        data.clear(made.path)
    table, runs = [], []
    for curve in curves:
        table += _rows(curve, results)
        for case in curve:
            what = {
                "data set": case.source.name,
                "algorithm": case.algorithm,
                "against": case.against,
                "value": case.value,
            }
            runs += [what | {"eps": case.eps, **run} for run in results[case.label]]
    remarks = [
        "memory: the largest RssAnon seen while loading and training, beyond that with all code loaded and"
        " compiled; mapped data are not in it",
        "exponents: least squares on logarithms of the medians",
    ]
    report.write(
        "scaling",
        f"Growth of time, updates and memory, ε = {eps:g} where it is fixed",
        _HEAD,
        table,
        runs,
        remarks,
    )


def run_apart(case: Case, seed: int, core: int | None) -> dict[str, Any]:
    """Train in a fresh process and watch its memory."""
    say(f"scaling: {case.label}")
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    child = context.Process(target=_child, args=(there, case, seed, core))
    child.start()
    there.close()
    try:
        before = here.recv()
        most = before
        while not here.poll(_POLL):
            most = max(most, memory.own(child.pid) or 0.0)
        result = here.recv()
    except EOFError:
        raise RuntimeError(f"the run of {case.label} ended early") from None
    finally:
        child.join()
    return result | {"own_mb": most - before}


def _child(connection: Any, case: Case, seed: int, core: int | None) -> None:
    """Import and compile everything, say how much memory that took, then load, train and certify."""
    if core is not None:
        pin(core)
    warm_up(case.algorithm, case.source.problem(m=8))
    connection.send(memory.own(os.getpid()) or 0.0)
    problem = case.source.problem(case.m)
    solution = train(case.algorithm, problem, Settings(eps=case.eps, seed=seed))
    certificate = solution.certify(problem)
    connection.send(
        {
            "m": problem.m,
            "n": problem.n,
            "nnz": problem.nnz,
            "seconds": solution.train_seconds,
            "updates": solution.updates,
            "row_products": solution.row_products,
            "accuracy": certificate.accuracy,
            "status": solution.status.value,
        }
    )


def _small_sources(folder: Path):
    """What varies, its value, and the set that has it."""
    varied = [("n", n, generate.Documents(n)) for n in _FEATURES]
    varied += [("entries a row", k, generate.Documents(2_000, k)) for k in _ENTRIES]
    for what, value, documents in varied:
        path = folder / f"documents-{documents.n}-{value}.svm"
        if not path.exists():
            generate.write_libsvm(path, documents.blocks(_SMALL_ROWS))
        yield what, value, Source(str(path), f"{_SMALL_ROWS} documents", _SMALL_DELTA)


def _rows(curve: Sequence[Case], results: dict[str, list[dict[str, Any]]]) -> list[list[str]]:
    columns = {
        key: [spread(run[key] for run in results[case.label]) for case in curve]
        for key in ("seconds", "updates", "own_mb")
    }
    exponents = "; ".join(
        _exponent([case.value for case in curve], [s.median for s in c]) for c in columns.values()
    )
    return [
        [
            case.source.name, case.algorithm, case.against, f"{case.value:g}", str(columns["seconds"][k]),
            number(columns["updates"][k].median / 1e6), number(columns["own_mb"][k].median),
            exponents if case is curve[-1] else "",
        ]
        for k, case in enumerate(curve)
    ]  # fmt: skip


def _exponent(x: Sequence[float], y: Sequence[float]) -> str:
    try:
        return str(power_law(x, y))
    except ValueError:
        return "–"
