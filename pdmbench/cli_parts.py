"""What the commands share: options, completion of names, suggestions for mistyped ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import click
from click.shell_completion import CompletionItem


@dataclass
class State:
    """What holds for the whole command line."""

    debug: bool = False


class Group(click.Group):
    """A group that suggests the nearest command."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple:
        from pdmbench.schema import nearest

        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            ctx.fail(f"no such command: {args[0]}{nearest(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


def command(group: click.Group, *options: Callable, **settings: Any) -> Callable:
    """A command of a group, with options that stand below its own."""

    def decorate(function: Callable) -> click.Command:
        made = group.command(**settings)(function)
        below = click.Command(None)
        for option in (*options, debug_option):
            option(below)
        made.params += below.params
        return made

    return decorate


def _debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    state = ctx.find_object(State)
    if state is not None:
        state.debug = state.debug or value


def _references(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    for reference in given:
        if not all(reference.partition(":")):
            raise click.BadParameter(f"{reference!r} is not of the form module:Class; -a takes names")
    return given


def _completion(names: Callable[[], Iterable[str]], files: bool) -> Callable:
    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = [CompletionItem(name) for name in names() if name.startswith(incomplete)]
        return found or ([CompletionItem(incomplete, type="file")] if files else [])

    return complete


def _datasets() -> Iterable[str]:
    from pdmbench import data

    return data.names()


def _algorithms() -> Iterable[str]:
    from pdmbench import solvers

    return (*solvers.names(), *solvers.GROUPS)


def _experiments() -> Iterable[str]:
    from pdmbench.bench import plan

    return plan.experiments()


complete_dataset = _completion(_datasets, files=True)
complete_algorithm = _completion(_algorithms, files=False)
complete_experiment = _completion(_experiments, files=True)

debug_option = click.option(
    "--debug", is_flag=True, expose_value=False, callback=_debug, help="Show the traceback of an error."
)
solver_option = click.option(
    "--solver", "own", multiple=True, metavar="MODULE:CLASS", callback=_references,
    help="A solver of your own, from a module here or on the import path. Repeatable.",
)  # fmt: skip
results_option = click.option(
    "--results", type=click.Path(file_okay=False), default="results", show_default=True,
    help="Folder of the records.",
)  # fmt: skip
quiet_option = click.option("--quiet", "-q", is_flag=True, help="No notes and no progress on stderr.")
jobs_option = click.option(
    "--jobs", "-j", type=click.IntRange(min=1), default=1, show_default=True,
    help="Cells to run at once, each on a core of its own.",
)  # fmt: skip
