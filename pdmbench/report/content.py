"""What a report says beside the paper's tables, apart from how: certificates, machines, commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence

from pdmbench.bench.record import Record
from pdmbench.report import claims as paper_claims
from pdmbench.report.cells import interval, latest, rows, title
from pdmbench.report.grid import Grid, number
from pdmbench.solvers import GROUPS

TITLE = "The Perceptron with Dynamic Margin, measured"
Environments = Mapping[str, Mapping]

_MACHINE = {
    "cpu": "Processor",
    "cores": "Cores",
    "logical_cores": "Logical cores",
    "memory_gib": "Memory, GiB",
    "os": "System",
    "machine": "Architecture",
    "governor": "Frequency governor",
    "python": "Python",
    "pdmbench": "pdmbench",
    "libraries": "Libraries",
    "liblinear_compiler": "Compiler of liblinear",
    "jit": "Kernels compiled (JIT)",
}


def summary(
    records: Sequence[Record], claims: Iterable[paper_claims.Claim], environments: Environments
) -> list[str]:
    """Two or three sentences at the head of a report."""
    if not records:
        return ["There are no records yet."]
    cells = latest(records)
    done = sum(record.status.value == "converged" for record in cells)
    days = sorted({record.started[:10] for record in cells if record.started})
    when = "" if not days else f", {days[0]}" if len(days) == 1 else f", {days[0]} to {days[-1]}"
    datasets = len({record.dataset for record in cells})
    lines = [
        f"{_plural(len(cells), 'run')} on {_plural(datasets, 'data set')}, {done} of them converged{when}."
    ]
    verdicts = [claim.verdict for claim in claims]
    holds, fails, open_ = map(
        verdicts.count, (paper_claims.HOLDS, paper_claims.FAILS, paper_claims.UNMEASURED)
    )
    lines.append(
        f"Of the paper's {len(verdicts)} claims {holds} hold, {fails} do not, {open_} could not be judged."
    )
    machines = sorted(
        {e["cpu"] for r in cells if (e := environments.get(r.environment or "")) and e.get("cpu")}
    )
    if machines:
        lines.append(f"Measured on {' and '.join(machines)}.")
    return lines


def problems(records: Sequence[Record]) -> Grid:
    """The data sets, and the interval in which γ_d of each certainly lies."""
    body = []
    for row in rows(records):
        one = next((r for r in row.records() if r.m is not None), None)
        gamma = interval(records, row.problem)
        sizes = (
            ["–"] * 5
            if one is None
            else [_whole(one.m), _whole(one.n), _whole(one.nnz), number(one.R, 4), f"{one.delta:g}"]
        )
        certain = ["–"] * 5
        if gamma is not None:
            lower, upper = number(1e4 * gamma.lower, 6), number(1e4 * gamma.upper, 6)
            certain = [
                lower,
                title(gamma.lower_by),
                upper,
                title(gamma.upper_by),
                number(100 * gamma.width, 2),
            ]
        body.append([row.label, *sizes, *certain])
    head = ["Data set", "m", "n", "non-zeros", "R", "Δ", "10⁴γ_d ≥", "by", "10⁴γ_d ≤", "by", "width %"]
    remark = "γ_d lies above every margin that was reached and below every bound that was proven."
    return Grid("Data sets and their maximum margins", head, body, (), "lrrrrrrlrlr", (), [remark])


def certificates(records: Sequence[Record]) -> Grid:
    """Margin, bound and accuracy of every solver, of its lowest seed."""
    body = []
    for row in rows(records):
        for cell in row.cells.values():
            record = min(cell.done or cell.undone, key=lambda r: r.seed)
            if record.margin is None or record.bound is None:
                continue
            accuracy = record.certified_accuracy
            if record.margin <= 0:  # however much: nothing is separated yet, and the excess has no meaning
                certified = "≥ 100"
            else:
                certified = "–" if accuracy is None else number(100 * accuracy, 3)
            body.append(
                [
                    row.label,
                    title(cell.algorithm),
                    number(1e4 * record.margin, 6),
                    number(1e4 * record.bound, 6),
                    certified,
                    "–" if record.polished_margin is None else number(1e4 * record.polished_margin, 6),
                    "–" if record.geometric_margin is None else number(1e4 * record.geometric_margin, 6),
                    record.status.value,
                ]
            )
    head = ["Data set", "Solver", "10⁴γ'_d", "10⁴ bound", "certified %", "10⁴ polished", "10⁴γ'", "status"]
    remark = "Computed by one exact pass over all patterns after training, the same for every solver."
    return Grid("Certificates", head, body, (), "llrrrrrl", (), [remark])


def machines(records: Iterable[Record], environments: Environments) -> list[Grid]:
    """Each machine with its software once, then the runs made on it."""
    used: dict[tuple, list[Mapping]] = {}
    for key in dict.fromkeys(record.environment for record in latest(records)):
        environment = environments.get(key or "")
        if environment is not None:
            used.setdefault(tuple(_described(environment)), []).append(environment)
    grids = []
    for described, runs in used.items():
        loads = [run["load"] for run in runs if run.get("load") is not None]
        jobs = sorted({run.get("jobs", 1) for run in runs})
        lines = [*described, ("Cells at once", ", ".join(map(str, jobs)))]
        if loads:
            spread = f"{min(loads):g}" if min(loads) == max(loads) else f"{min(loads):g} to {max(loads):g}"
            lines.append(("Load at start", spread))
        times = sorted(run["time"] for run in runs if run.get("time"))
        if times:
            lines.append(
                ("Runs", f"{len(runs)}, from {times[0]} to {times[-1]}" if len(runs) > 1 else times[0])
            )
        grids.append(Grid("Environment", ["Item", "Value"], lines, (), "ll", (), _warnings(runs)))
    return grids


def commands(records: Iterable[Record], own: str | None = None) -> list[str]:
    """Shell commands that measure the same cells again, and the one that makes the report.

    Parameters
    ----------
    records : iterable of Record
    own : str, optional
        The command that made this very report.
    """
    groups: dict[tuple, dict[str, set[int]]] = {}
    for r in latest(records):
        given_beta = None if r.beta_from else r.beta
        eta = None if r.eta == 8 else r.eta
        options = (r.dataset, r.positive, r.eps, r.delta, r.rho, eta, given_beta, r.time_limit, r.max_epochs)
        groups.setdefault(options, {}).setdefault(r.algorithm, set()).add(r.seed)
    names = ("dataset", "positive", "eps", "delta", "rho", "eta", "beta", "time-limit", "max-epochs")
    lines = []
    for options, algorithms in groups.items():
        given = [
            word
            for name, value in zip(names, options, strict=True)
            if value is not None
            for word in (f"--{name}", _exact(value) if isinstance(value, float) else str(value))
        ]
        same: dict[tuple[int, int], list[str]] = {}
        for algorithm, seeds in algorithms.items():
            for first, count in _stretches(sorted(seeds)):
                same.setdefault((first, count), []).append(algorithm)
        for (first, count), chosen in same.items():
            repeats = ["--repeats", str(count)] if count > 1 else []
            named = [word for name in _grouped(chosen) for word in ("-a", name)]
            lines.append(shlex.join(["pdmbench", "run", *given, *named, "--seed", str(first), *repeats]))
    return [*lines, own or "pdmbench report"]


def _exact(value: float) -> str:
    """The short form of a number where that is the number itself."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _grouped(algorithms: Sequence[str]) -> list[str]:
    """Names for ``--algorithm``: a table's group where all of it was run."""
    whole = [name for name in ("table1", "table2") if set(GROUPS[name]) <= set(algorithms)]
    covered = {algorithm for name in whole for algorithm in GROUPS[name]}
    return [*whole, *(algorithm for algorithm in algorithms if algorithm not in covered)]


def _stretches(seeds: Sequence[int]) -> list[tuple[int, int]]:
    """Runs of consecutive seeds as (first, how many)."""
    found: list[tuple[int, int]] = []
    for seed in seeds:
        if found and seed == sum(found[-1]):
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((seed, 1))
    return found


def _described(environment: Mapping) -> list[tuple[str, str]]:
    lines = []
    for key, name in _MACHINE.items():
        value = environment.get(key)
        if isinstance(value, Mapping):
            value = ", ".join(f"{library} {version}" for library, version in value.items() if version)
        if isinstance(value, bool):
            value = "yes" if value else "no"
        if value is not None:
            lines.append((name, str(value)))
    return lines


def _warnings(runs: Iterable[Mapping]) -> list[str]:
    from pdmbench.bench.environment import busy

    runs = list(runs)
    busy_ones = sum(busy({"load": None, "logical_cores": None, "jobs": 1, **run}) is not None for run in runs)
    if not busy_ones:
        return []
    return [f"Warning: the machine was busy at the start of {busy_ones} of {_plural(len(runs), 'run')}."]


def _whole(count: int | None) -> str:
    return "–" if count is None else f"{count:,}".replace(",", "\u202f")


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
