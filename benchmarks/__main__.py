"""``python -m benchmarks``: the measurements as commands."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

# Before any library that would start threads is imported.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import click

from benchmarks import anatomy, certified, generate, kernels, publish, scaling
from benchmarks.harness import Report, pin
from benchmarks.sources import Source, parse
from benchmarks.yardstick import Yardstick
from pdmbench.errors import PdmbenchError
from pdmbench.paths import root

HERE = Path(__file__).resolve().parent
DEFAULT_DATA = ("adult", "web", "rcv1like-100k", "covlike", "covlike-dense")


def _data_folder() -> Path:
    return root() / "benchmarks"


def _options(*options):
    def decorate(command):
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


data_option = click.option(
    "--data", "-d", "data_sets", multiple=True, metavar="NAME_OR_PATH[@DELTA]",
    help=f"A data set; repeatable. Generated ones: {', '.join(generate.SETS)}.",
)  # fmt: skip
eps_option = click.option("--eps", "-e", default=0.01, show_default=True, help="Accuracy ε.")
folder_option = click.option(
    "--folder", type=click.Path(file_okay=False, path_type=Path), default=_data_folder,
    help="Where generated data sets lie, or are put.  [default: benchmarks in the cache folder]",
)  # fmt: skip
output_option = click.option(
    "--output", "-o", type=click.Path(file_okay=False, path_type=Path), default=HERE / "results",
    show_default="benchmarks/results", help="Folder of the tables.",
)  # fmt: skip
measuring = _options(
    eps_option,
    click.option("--repeats", "-r", type=click.IntRange(min=1), default=5, show_default=True),
    click.option("--core", type=int, help="Train on this core.  [default: the last one]"),
    output_option,
    folder_option,
)
yardstick_option = click.option(
    "--yardstick", envvar="PDMBENCH_YARDSTICK", show_envvar=True, type=click.Path(path_type=Path),
    help="Another program with these solvers, or its C++ source, to compare with.",
)  # fmt: skip


def algorithms_option(default):
    return click.option(
        "--algorithm", "-a", "algorithms", multiple=True, default=default, show_default=True,
        help="A solver; repeatable.",
    )  # fmt: skip


@click.group(context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100})
def cli() -> None:
    """Measure speed. Tables go to stdout and into files, progress to stderr."""


@cli.command("kernels")
@_options(data_option, algorithms_option(kernels.ALGORITHMS), yardstick_option)
@measuring
def kernels_(data_sets, algorithms, yardstick, eps, repeats, core, output, folder) -> None:
    """Seconds, row products and bytes a second of each solver; against another program's."""
    sources = _sources(data_sets or DEFAULT_DATA, folder)
    report = Report(output, pin(core), repeats)
    with tempfile.TemporaryDirectory() as scratch:
        other = Yardstick(yardstick, Path(scratch)) if yardstick else None
        kernels.measure(sources, algorithms, eps, repeats, report, other)


@cli.command("anatomy")
@_options(data_option, algorithms_option(anatomy.ALGORITHMS))
@measuring
def anatomy_(data_sets, algorithms, eps, repeats, core, output, folder) -> None:
    """Where training time goes: full epochs, active sets, copying, the rest."""
    sources = _sources(data_sets or DEFAULT_DATA, folder)
    anatomy.measure(sources, algorithms, eps, repeats, Report(output, pin(core), repeats))


@cli.command("certified")
@_options(data_option, algorithms_option(certified.ALGORITHMS))
@measuring
def certified_(data_sets, algorithms, eps, repeats, core, output, folder) -> None:
    """Time to within ε of the largest margin, against liblinear, scikit-learn and Snap ML."""
    sources = _sources(data_sets or ("adult", "web", "rcv1like-100k"), folder)
    certified.measure(sources, algorithms, eps, repeats, Report(output, pin(core), repeats))


@cli.command("scaling")
@_options(
    click.option("--data", "-d", default="rcv1like-804k", show_default=True, metavar="NAME_OR_PATH[@DELTA]"),
    click.option(
        "--rows",
        "-m",
        type=int,
        multiple=True,
        default=scaling.ROWS,
        show_default=True,
        help="How many of its first patterns; repeatable.",
    ),
    algorithms_option(scaling.ALGORITHMS),
)
@measuring
def scaling_(data, rows, algorithms, eps, repeats, core, output, folder) -> None:
    """Growth of time, updates and memory with m, n, density and 1/ε."""
    source = parse(data, folder)
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    core = cores[-1] if core is None and cores else core
    report = Report(output, core, repeats)
    scaling.measure(source, rows, algorithms, eps, repeats, core, folder, report)


@cli.command("generate")
@click.argument("names", nargs=-1, required=True, type=click.Choice(list(generate.SETS)))
@folder_option
def generate_(names, folder) -> None:
    """Make generated data sets as LIBSVM files; print where they are."""
    for name in names:
        click.echo(generate.ensure(name, folder))


@cli.command("publish")
@output_option
def publish_(output) -> None:
    """Put the tables measured last into benchmarks/README.md."""
    publish.fill(HERE / "README.md", output)


@cli.command("all")
@_options(data_option, yardstick_option)
@measuring
@click.pass_context
def all_(context, data_sets, yardstick, output, **common) -> None:
    """All measurements; --data is for all but scaling."""
    context.invoke(scaling_, output=output, **common)  # first: its own process must not be bound to a core
    chosen = {"data_sets": data_sets} if data_sets else {}
    context.invoke(kernels_, yardstick=yardstick, output=output, **chosen, **common)
    context.invoke(anatomy_, output=output, **chosen, **common)
    context.invoke(certified_, output=output, **chosen, **common)


def _sources(texts, folder: Path) -> list[Source]:
    return [parse(text, folder) for text in texts]


def main() -> None:
    """Run a command. Exit status: 0 done, 2 bad usage or input."""
    try:
        cli(prog_name="python -m benchmarks")
    except PdmbenchError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
