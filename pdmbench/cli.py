"""The command line: parse, call, print."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from typing import IO, TYPE_CHECKING, Any

import click

from pdmbench import __version__
from pdmbench.cli_datasets import datasets
from pdmbench.cli_parts import (
    Group,
    State,
    command,
    complete_algorithm,
    complete_dataset,
    complete_experiment,
    debug_option,
    jobs_option,
    quiet_option,
    results_option,
    solver_option,
)

if TYPE_CHECKING:
    from pdmbench.bench.plan import Cell
    from pdmbench.bench.record import Record
    from pdmbench.bench.runner import Options
    from pdmbench.console import Console

# One thread a process: libraries then sum in one order, and a CPU second is a second of one core.
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def main() -> None:
    """Run the command line. Exit status: 0 done, 1 a cell failed, 2 bad usage or input, 130 interrupted."""
    from pdmbench.errors import PdmbenchError

    _prepare_streams()
    warnings.formatwarning = lambda message, *_, **__: f"pdmbench: {message}\n"
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    state = State()
    try:
        status = cli.main(prog_name="pdmbench", standalone_mode=False, obj=state)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        status = 2
    except click.ClickException as error:
        command = getattr(error, "ctx", None)
        fix = f"; see {command.command_path} --help" if command else ""
        status = _refuse(f"{' '.join(error.format_message().split()).rstrip('.')}{fix}", state)
    except PdmbenchError as error:
        status = _refuse(str(error), state)
    except OSError as error:
        status = _refuse(f"{error.filename or 'system'}: {error.strerror or error}", state)
    except (click.Abort, KeyboardInterrupt):
        print("interrupted; what had finished is kept", file=sys.stderr)
        status = 130
    sys.exit(status if isinstance(status, int) else 0)


def _prepare_streams() -> None:
    """Let no stream stop a run: one that is closed (``>&-``), one that cannot say γ and Δ (``LC_ALL=C``)."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - for good, with the number it had
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]


def _refuse(line: str, state: State) -> int:
    if state.debug:
        traceback.print_exc()
    print(f"pdmbench: {line}", file=sys.stderr)
    return 2


@click.group(
    cls=Group,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
    epilog='Shell completion: eval "$(_PDMBENCH_COMPLETE=bash_source pdmbench)" in ~/.bashrc, the same with '
    "zsh_source in ~/.zshrc; for fish, _PDMBENCH_COMPLETE=fish_source pdmbench | source.",
)
@click.version_option(__version__, prog_name="pdmbench", message="%(prog)s %(version)s")
@debug_option
def cli() -> None:
    """Certified benchmarks of large-margin linear classifiers.

    Reproduces the experiments of "The Perceptron with Dynamic Margin" (arXiv 1105.6041).
    """


cli.add_command(datasets)


@command(cli, results_option, jobs_option, quiet_option)
@click.option(
    "--dataset",
    "-d",
    required=True,
    metavar="NAME_OR_PATH",
    shell_complete=complete_dataset,
    help="A registered data set, a LIBSVM file (also .gz .bz2 .xz), or a TOML file that describes one.",
)
@click.option(
    "--algorithm",
    "-a",
    "algorithms",
    multiple=True,
    shell_complete=complete_algorithm,
    help="A solver or a group: table1, table2, all. Repeatable.  [default: all, unless --solver is given]",
)
@solver_option
@click.option("--eps", "-e", type=float, default=0.01, show_default=True, help="Accuracy ε.")
@click.option("--eta", type=float, default=8.0, show_default=True, help="Factor η of successive runs.")
@click.option("--beta", type=float, help="PFM's target margin β.  [default: the margin of pdm or pdm-succ]")
@click.option("--delta", type=float, help="Extension Δ.  [default: the data set's own, else about R/10]")
@click.option("--rho", type=float, default=1.0, show_default=True, help="Augmentation ρ.")
@click.option("--seed", "-s", type=int, default=0, show_default=True, help="Seed of the permutations.")
@click.option(
    "--repeats",
    "-r",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Runs of each solver, with seeds counted on from --seed.",
)
@click.option(
    "--time-limit",
    "-t",
    type=float,
    default=3600,
    show_default=True,
    metavar="SECONDS",
    help="Ends a cell, whatever it is doing.",
)
@click.option("--memory-limit", type=float, metavar="MIB", help="Ends a cell; mapped files do not count.")
@click.option("--max-epochs", type=int, help="Ends a cell after so many full epochs.")
@click.option("--positive", metavar="LABEL", help="The class that is +1 against the rest.")
@click.option(
    "--trace",
    type=click.File("w", encoding="utf-8", lazy=False),
    help="Margin and bound after every full epoch, as JSON Lines.",
)
@click.option("--json", "as_json", is_flag=True, help="Records as JSON Lines on stdout, nothing else.")
@click.pass_obj
def run(
    state: State, dataset: str, algorithms: tuple[str, ...], own: tuple[str, ...], beta: float | None,
    seed: int, repeats: int, trace: IO[str] | None, as_json: bool, results: str, jobs: int, quiet: bool,
    **settings: Any,
) -> int:  # fmt: skip
    """Run solvers on one data set; print a row and append a record as each ends."""
    from pdmbench import solvers
    from pdmbench.bench.plan import Cell
    from pdmbench.bench.runner import Options
    from pdmbench.console import Console
    from pdmbench.errors import UsageError

    names = solvers.expand([*algorithms, *own] or ["all"])
    if beta is not None and not set(names) & set(solvers.TARGET_FROM):
        raise UsageError("--beta is for pfm alone", fix="leave it out or add -a pfm")
    cells = [
        Cell(
            dataset=dataset, algorithm=name, seed=one, trace=trace is not None,
            beta=beta if name in solvers.TARGET_FROM else None, **settings,
        )
        for one in range(seed, seed + repeats) for name in names
    ]  # fmt: skip
    console = Console(len(cells), as_json=as_json, quiet=quiet, trace=trace)
    _run_cells(cells, console, results, Options(strict=True, jobs=jobs, debug=state.debug))
    return int(console.failed)


@command(cli, results_option, jobs_option, quiet_option)
@click.option(
    "--config",
    "-c",
    default="paper",
    show_default=True,
    metavar="NAME_OR_PATH",
    shell_complete=complete_experiment,
    help="An experiment file.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="DATASET/ALGORITHM",
    help="Only these cells; * for any, /ALGORITHM may be left out. Repeatable.",
)
@click.option("--time-limit", "-t", type=float, metavar="SECONDS", help="In place of the experiment's own.")
@click.option("--force", is_flag=True, help="Run also what has a finished record.")
@click.option("--dry-run", "-n", is_flag=True, help="Say what would run, what is done, and why.")
@click.option("--scheduler", metavar="ADDRESS", help="Run on a Dask cluster: tcp://host:8786.")
@click.pass_obj
def reproduce(
    state: State, config: str, only: tuple[str, ...], time_limit: float | None, force: bool, dry_run: bool,
    scheduler: str | None, results: str, jobs: int, quiet: bool,
) -> int:  # fmt: skip
    """Run every cell of an experiment that has no finished record yet, then print the tables."""
    from pdmbench.bench import plan
    from pdmbench.bench.runner import Options, outlook
    from pdmbench.bench.store import Store
    from pdmbench.console import Console
    from pdmbench.report import tables

    experiment = plan.load_experiment(config)
    cells = plan.select(experiment.cells, only, time_limit)
    if dry_run:
        for cell, state_of_it in outlook(cells, Store(results), force):
            click.echo(f"{cell.dataset:<18} {cell.algorithm:<12} {cell.seed:>4}  {state_of_it}")
        return 0
    console = Console(len(cells), quiet=quiet)
    console.note(f"{experiment.title}: {len(cells)} cells")
    _run_cells(cells, console, results, Options(resume=not force, jobs=jobs, debug=state.debug), scheduler)
    click.echo("\n" + tables.render(tables.build_all(console.records), "text"), nl=False)
    return int(console.failed)


def _run_cells(
    cells: list[Cell], console: Console, results: str, options: Options, scheduler: str | None = None
) -> None:
    from pdmbench.bench import environment, runner
    from pdmbench.bench.store import Store
    from pdmbench.kernels.compilation import forgo_blas

    forgo_blas()
    machine = environment.gather(options.jobs)
    store = Store(results, console.note)
    try:
        if scheduler is not None:
            from pdmbench.bench import distributed

            distributed.run_cells(cells, store, scheduler, options, console.observer)
            return
        runner.run_cells(cells, store, machine, options, console.observer)
    finally:
        console.close()


@command(cli, results_option)
@click.argument("number", type=click.Choice(["1", "2", "all"]), default="all", metavar="[1|2|all]")
@click.option(
    "--format",
    "-f",
    "style",
    type=click.Choice(["text", "markdown", "latex", "csv", "json"]),
    default="text",
    show_default=True,
    help="What to print.",
)
@click.option("--published", is_flag=True, help="Beside the numbers printed in the paper, where filled in.")
def table(number: str, style: str, published: bool, results: str) -> None:
    """Print the paper's tables from the records."""
    from pdmbench.report import published as printed
    from pdmbench.report import tables

    records = _records(results)
    beside = printed.load() if published else None
    found = (
        tables.build_all(records, beside) if number == "all" else tables.build(int(number), records, beside)
    )
    click.echo(tables.render(found, style), nl=False)


def _records(results: str) -> list[Record]:
    from pdmbench.bench.store import Store
    from pdmbench.errors import UsageError

    records = Store(results).records()
    if not records:
        raise UsageError("no records", results, "make some with pdmbench run or pdmbench reproduce")
    return records


@command(cli, results_option)
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="File to write, - for stdout.  [default: report.html, stdout for markdown]",
)
@click.option(
    "--format",
    "-f",
    "style",
    type=click.Choice(["html", "markdown"]),
    default="html",
    show_default=True,
    help="One page for a browser, or text.",
)
def report(output: str | None, style: str, results: str) -> None:
    """Write one self-contained page: tables, plots, claims, bounds, environment."""
    from pdmbench.bench.store import Store
    from pdmbench.report import html, markdown, published

    records, store, printed = _records(results), Store(results), published.load()
    output = output or ("report.html" if style == "html" else "-")
    line = f"pdmbench report --results {results} --output {output} --format {style}"
    if style == "html":
        page = html.render(records, store.traces(), store.environments(), printed, line)
    else:
        page = markdown.render(records, store.environments(), printed, line)
    with click.open_file(output, "w", encoding="utf-8") as file:
        file.write(page)
    if output != "-":
        click.echo(output)


@command(cli, results_option)
@click.option("--dataset", "-d", metavar="NAME", shell_complete=complete_dataset, help="Only this data set.")
def bounds(dataset: str | None, results: str) -> None:
    """Hold measured updates against Theorems 1 and 2, the successive-run bound and Novikoff's."""
    from pdmbench.errors import UsageError
    from pdmbench.report import bounds as measured
    from pdmbench.report import grid

    records = _records(results)
    if dataset is not None:
        known = {record.dataset for record in records}
        records = [record for record in records if record.dataset == dataset]
        if not records:
            raise UsageError(
                f"no records of {dataset}", results, f"there are some of {', '.join(sorted(known))}"
            )
    click.echo(grid.text(measured.as_grid(measured.rows(records))), nl=False)


@command(cli, name="info")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def machine_info(as_json: bool) -> None:
    """Print versions, the machine, the cache folder and the state of the compiled kernels."""
    import json

    from pdmbench.bench import environment

    facts = environment.installation() | environment.gather()
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False))
        return
    for key, value in facts.items():
        if isinstance(value, dict):
            value = ", ".join(f"{name} {version or 'not installed'}" for name, version in value.items())
        click.echo(f"{key:<20} {'unknown' if value is None else value}")
