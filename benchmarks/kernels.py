"""How fast solvers pass over patterns: seconds, row products, bytes a second; against another's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.harness import Report, alternate, read_bandwidth, say, spread, target_margin, train, warm_up
from benchmarks.sources import Source, bytes_per_product
from benchmarks.yardstick import Yardstick
from pdmbench.problem import MarginProblem
from pdmbench.report.grid import number
from pdmbench.solvers.base import Settings

ALGORITHMS = ("pdm", "pdm-succ", "pfm", "mpu", "romma", "cd")

_HEAD = (
    "data set", "layout", "algorithm", "s", "10⁶ row products", "10⁶ products/s", "GB/s", "% of memory",
    "yardstick s", "10⁶ products/s", "ours/yardstick",
)  # fmt: skip


def measure(
    sources: Sequence[Source],
    algorithms: Sequence[str],
    eps: float,
    repeats: int,
    report: Report,
    yardstick: Yardstick | None,
) -> None:
    """Measure all solvers on all data sets and write the table ``kernels``."""
    bandwidth = read_bandwidth()
    remarks = [
        f"one core reads {bandwidth / 1e9:.1f} GB/s from memory; active sets come from caches, so a share may"
        " exceed 100 %",
        "bytes: the stored row with its pointer, its label and dual coefficient; not the weights",
    ]
    rows, runs = [], []
    try:
        for source in sources:
            problem = source.problem()
            if yardstick:
                yardstick.read(problem)
            for algorithm in algorithms:
                say(f"kernels: {source.name} {algorithm}")
                results = _pairs(problem, algorithm, eps, repeats, yardstick)
                cells = _cells(problem, results, bandwidth)
                rows.append([source.name, problem.patterns.layout, algorithm, *cells])
                for side, measured in results.items():
                    what = {"data set": source.name, "algorithm": algorithm, "side": side}
                    runs += [what | run for run in measured]
    finally:  # hours of measurements survive what ends them early
        if rows:
            report.write("kernels", f"Training time, ε = {eps:g}", _HEAD, rows, runs, remarks)


def _pairs(
    problem: MarginProblem, algorithm: str, eps: float, repeats: int, yardstick: Yardstick | None
) -> dict[str, list[dict[str, Any]]]:
    """Alternating runs, ours first; the seed changes from pair to pair."""
    beta = target_margin(algorithm, problem, eps)
    warm_up(algorithm, problem)

    def ours(repetition: int) -> dict[str, Any]:
        solution = train(algorithm, problem, Settings(eps=eps, beta=beta, seed=repetition))
        certificate = solution.certify(problem)
        return {
            "seconds": solution.train_seconds, "visits": solution.row_products, "updates": solution.updates,
            "margin": certificate.margin, "status": solution.status.value,
        }  # fmt: skip

    contenders: dict[str, Callable[[int], dict[str, Any]]] = {"ours": ours}
    if yardstick and yardstick.knows(algorithm):
        contenders["yardstick"] = lambda seed: yardstick.run(algorithm, eps, beta, seed)
    return alternate(contenders, repeats)


def _ratio(a: float, b: float) -> float:
    """a/b; ∞ where b is below the resolution of a clock."""
    return a / b if b else math.inf


def _cells(problem: MarginProblem, results: dict[str, list[dict[str, Any]]], bandwidth: float) -> list[str]:
    ours, theirs = results["ours"], results.get("yardstick", [])
    rate = spread(_ratio(run["visits"], run["seconds"]) for run in ours)
    bytes_a_second = rate.median * bytes_per_product(problem.patterns)
    cells = [
        str(spread(run["seconds"] for run in ours)),
        number(spread(run["visits"] for run in ours).median / 1e6),
        number(rate.median / 1e6),
        number(bytes_a_second / 1e9),
        f"{100.0 * bytes_a_second / bandwidth:.0f}",
    ]
    if not theirs:
        return [*cells, "–", "–", "–"]
    return [
        *cells,
        str(spread(run["seconds"] for run in theirs)),
        number(spread(_ratio(run["visits"], run["seconds"]) for run in theirs).median / 1e6),
        str(spread(_ratio(a["seconds"], b["seconds"]) for a, b in zip(ours, theirs, strict=True))),
    ]
