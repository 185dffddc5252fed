"""``pdmbench datasets``: what data there are, and getting them."""

from __future__ import annotations

import click

from pdmbench.cli_parts import Group, command, complete_dataset, debug_option, quiet_option


@click.group(cls=Group)
@debug_option
def datasets() -> None:
    """What data there are, what is cached; get them."""


_name_argument = click.argument("name", metavar="NAME_OR_PATH", shell_complete=complete_dataset)


@command(datasets, name="list")
def list_() -> None:
    """List the registered data sets."""
    from pdmbench import data
    from pdmbench.data import inventory

    click.echo(f"{'name':<16} {'m':>8} {'n':>8} {'Δ':>5}  {'state':<11} title")
    for name in data.names():
        spec = data.describe(name)
        delta = "–" if spec.delta is None else f"{spec.delta:g}"
        click.echo(f"{name:<16} {spec.m:>8} {spec.n:>8} {delta:>5}  {inventory.state(name):<11} {spec.title}")


@command(datasets, _name_argument)
def info(name: str) -> None:
    """Say what is known of a data set."""
    from pdmbench.data import inventory

    for key, value in inventory.facts(name).items():
        click.echo(f"{key:<12} {value}")


@command(datasets, quiet_option)
@click.argument("names", nargs=-1, metavar="NAME_OR_PATH...", shell_complete=complete_dataset)
@click.option("--all", "every", is_flag=True, help="All registered ones.")
def fetch(names: tuple[str, ...], every: bool, quiet: bool) -> int:
    """Download, check and cache data sets."""
    from pdmbench import data
    from pdmbench.errors import PdmbenchError, UsageError

    if not names and not every:
        raise UsageError("no data set named", fix="give names or --all")
    wrong = False
    for name in (*names, *(data.names() if every else ())):
        try:
            found = data.load(name, report=None if quiet else lambda line: click.echo(line, err=True))
        except PdmbenchError as error:
            if len(names) == 1:
                raise
            click.echo(f"pdmbench: {error}", err=True)
            wrong = True
            continue
        patterns = found.patterns
        click.echo(
            f"{found.name}: {patterns.m} × {patterns.n}, {patterns.nnz} entries, {found.positives} positive"
        )
    return 2 if wrong else 0


@command(datasets)
@click.argument("name", required=False, metavar="[NAME]", shell_complete=complete_dataset)
def path(name: str | None) -> None:
    """Print where the files of a data set lie, or belong; without a name, the cache folder."""
    from pdmbench.data import inventory

    for place in inventory.places(name):
        click.echo(place)


@command(datasets)
@click.argument("name", required=False, metavar="[NAME_OR_PATH]", shell_complete=complete_dataset)
def clear(name: str | None) -> None:
    """Remove one data set, or all, from the cache; downloaded files stay."""
    from pdmbench import data

    click.echo(f"{data.clear(name) / 2**20:.1f} MiB freed", err=True)
