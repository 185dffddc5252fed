"""The paper's two tables from records, and a third for the solvers the paper does not have."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from pdmbench.bench.record import Record
from pdmbench.errors import UsageError
from pdmbench.report import export, grid
from pdmbench.report.cells import PAPER, Cell, Problem, Row, limit_of, rows, title
from pdmbench.report.published import Published
from pdmbench.solvers.base import Status

FORMATS = ("text", "markdown", "latex", "csv", "json")
NOT_RUN = "–"


@dataclass(frozen=True)
class Quantity:
    """A field of the record as tables print it: heading with its unit, factor, significant digits."""

    name: str
    heading: str
    factor: float
    digits: int


MARGIN = Quantity("margin", "10⁴γ'_d", 1e4, 4)
GEOMETRIC = Quantity("geometric_margin", "10⁴γ'", 1e4, 4)
UPDATES = Quantity("updates", "10⁻⁶ upd", 1e-6, 3)
SECONDS = Quantity("train_seconds", "s", 1.0, 3)
ACCURACY = Quantity("certified_accuracy", "certified %", 1e2, 2)

LAYOUTS: dict[int, tuple[str, dict[str, tuple[Quantity, ...]]]] = {
    1: (
        "Table 1. PDM, PFM and PDM-succ: directional margin, updates, CPU seconds",
        {
            "pdm": (MARGIN, UPDATES, SECONDS),
            "pfm": (UPDATES, SECONDS),
            "pdm-succ": (MARGIN, UPDATES, SECONDS),
            "pfm-succ": (UPDATES, SECONDS),
        },
    ),
    2: (
        "Table 2. ROMMA, decomposition SVMs, DCD and MPU: margin, CPU seconds",
        {
            "romma": (MARGIN, SECONDS),
            "svm-light": (GEOMETRIC, SECONDS),
            "svm": (GEOMETRIC, SECONDS),
            "dcd-l1": (MARGIN, SECONDS),
            "dcd-l2": (SECONDS,),
            "mpu": (MARGIN, SECONDS),
        },
    ),
}
OTHERS = ("Other solvers, not in the paper", (MARGIN, GEOMETRIC, ACCURACY, UPDATES, SECONDS))


@dataclass(frozen=True)
class Entry:
    """One number of a table, or the reason why there is none.

    Attributes
    ----------
    text : str
        As printed, without the markers of its footnotes.
    mean, std : float or None
        In the unit of the column; std from two seeds on.
    seeds : int
        Finished runs behind the mean.
    why : str or None
        The reason in place of a number.
    published : float or None
        What the printed paper has, in the unit of the column.
    notes : tuple of int
        Its footnotes, counted from 1.
    """

    text: str
    mean: float | None = None
    std: float | None = None
    seeds: int = 0
    why: str | None = None
    published: float | None = None
    notes: tuple[int, ...] = ()

    @property
    def marked(self) -> str:
        """The text with the markers of its footnotes."""
        return self.text + "".join(map(grid.marker, self.notes))

    @property
    def ratio(self) -> float | None:
        """Ours over the published number."""
        return self.mean / self.published if self.mean is not None and self.published else None


@dataclass(frozen=True)
class Column:
    """What a column shows; ``algorithm`` is None where each row has its own."""

    algorithm: str | None
    quantity: Quantity


@dataclass(frozen=True)
class Line:
    """One row: its problem, its heading, one entry a column."""

    problem: Problem
    headings: tuple[str, ...]
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Table:
    """A table of the paper.

    Attributes
    ----------
    number : int or str
        1, 2 or ``others``.
    title : str
    columns : tuple of Column
    groups : tuple of (str, int)
        Headings above the columns and how many each spans.
    lines : tuple of Line
    notes, remarks : tuple of str
        Numbered footnotes, and lines about the whole table.
    """

    number: int | str
    title: str
    columns: tuple[Column, ...]
    groups: tuple[tuple[str, int], ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    remarks: tuple[str, ...]


@dataclass
class _Notes:
    """Footnotes in the order they come up, equal ones once."""

    lines: list[str] = field(default_factory=list)

    def number(self, line: str) -> int:
        if line not in self.lines:
            self.lines.append(line)
        return self.lines.index(line) + 1


def build(number: int | str, records: Iterable[Record], published: Published | None = None) -> Table:
    """Make a table from records.

    Parameters
    ----------
    number : {1, 2, "others"}
    records : iterable of Record
        Of several of one cell and seed the newest converged one counts.
    published : Published, optional
        The printed numbers to stand beside ours.

    Returns
    -------
    Table
    """
    records = list(records)
    if number == "others":
        return _others(records)
    name, layout = LAYOUTS[number]
    found = rows(records, layout)
    notes = _Notes()
    columns = tuple(Column(a, q) for a, quantities in layout.items() for q in quantities)
    lines = []
    for row in found:
        entries: list[Entry] = []
        for algorithm, quantities in layout.items():
            printed = [
                published.value(row.problem, algorithm, q.name) if published else None for q in quantities
            ]
            entries += _entries(row.cell(algorithm), quantities, notes, printed)
        lines.append(Line(row.problem, (row.label,), tuple(entries)))
    groups = [(_group(algorithm, found), len(quantities)) for algorithm, quantities in layout.items()]
    remarks = _remarks(found)
    if published is not None and not any(e.published is not None for line in lines for e in line.entries):
        remarks.append(
            f"No published number of these rows is filled in (see {PurePath(published.where).name})."
        )
    return Table(number, name, columns, tuple(groups), tuple(lines), tuple(notes.lines), tuple(remarks))


def build_all(records: Iterable[Record], published: Published | None = None) -> list[Table]:
    """Both tables of the paper, and that of the other solvers where one of them ran."""
    records = list(records)
    tables = [build(number, records, published) for number in LAYOUTS]
    others = build("others", records)
    return [*tables, others] if others.lines else tables


def render(tables: Table | Sequence[Table], style: str) -> str:
    """Print one table or several.

    Parameters
    ----------
    tables : Table or sequence of Table
    style : {"text", "markdown", "latex", "csv", "json"}
        JSON is one object for one table, an array for several.

    Returns
    -------
    str
        Ends with a newline.
    """
    several = [tables] if isinstance(tables, Table) else list(tables)
    if style == "json":
        objects = [export.json_object(table) for table in several]
        chosen = objects[0] if isinstance(tables, Table) else objects
        return json.dumps(chosen, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if style == "latex":
        return grid.latex([as_grid(table) for table in several])
    if style not in FORMATS:
        raise UsageError(f"no table format {style!r}", fix=f"use one of {', '.join(FORMATS)}")
    one = {
        "text": lambda t: grid.text(as_grid(t)),
        "markdown": lambda t: grid.markdown(as_grid(t)),
        "csv": export.csv_text,
    }
    return "\n".join(one[style](table) for table in several)


def as_grid(table: Table) -> grid.Grid:
    """The table as text; published numbers and ratios stand in rows of their own below ours."""
    body: list[list[str]] = []
    for line in table.lines:
        body.append([*line.headings, *(entry.marked for entry in line.entries)])
        if any(entry.published is not None for entry in line.entries):
            blank = [""] * (len(line.headings) - 1)
            printed = [
                _optional(e.published, c.quantity.digits)
                for e, c in zip(line.entries, table.columns, strict=True)
            ]
            body.append(["  printed in the paper", *blank, *printed])
            body.append(["  ours / printed", *blank, *(_optional(e.ratio, 3) for e in line.entries)])
    first = ["Data set"] if table.number != "others" else ["Data set", "Solver"]
    groups = (("", len(first)), *table.groups) if table.groups else ()
    align = "l" * len(first) + "r" * len(table.columns)
    head = [*first, *(column.quantity.heading for column in table.columns)]
    return grid.Grid(table.title, head, body, groups, align, table.notes, table.remarks)


def _others(records: list[Record]) -> Table:
    name, quantities = OTHERS
    found = rows(records, {r.algorithm for r in records} - set(PAPER))
    notes = _Notes()
    lines = [
        Line(row.problem, (row.label, title(cell.algorithm)), tuple(_entries(cell, quantities, notes)))
        for row in found
        for cell in row.cells.values()
    ]
    columns = tuple(Column(None, quantity) for quantity in quantities)
    return Table("others", name, columns, (), tuple(lines), tuple(notes.lines), tuple(_remarks(found)))


def _entries(
    cell: Cell, quantities: Sequence[Quantity], notes: _Notes, printed: Sequence[float | None] = ()
) -> list[Entry]:
    """The entries of one cell; footnotes are marked at its last one, the time."""
    printed = printed or [None] * len(quantities)
    entries = []
    for quantity, other in zip(quantities, printed, strict=True):
        mean, std = cell.mean(quantity.name), cell.std(quantity.name)
        if not cell.done or mean is None:
            why = NOT_RUN if cell.done else _reason(cell, quantity)
            entries.append(Entry(why, why=why, published=other))
            continue
        mean, std = mean * quantity.factor, None if std is None else std * quantity.factor
        text = grid.number(mean, quantity.digits) if std is None else grid.spread(mean, std, quantity.digits)
        entries.append(Entry(text, mean, std, len(cell.values(quantity.name)), published=other))
    numbers = tuple(notes.number(line) for line in _cell_notes(cell))
    return [*entries[:-1], replace(entries[-1], notes=numbers)]


def _reason(cell: Cell, quantity: Quantity) -> str:
    """Why a cell has no number, in the words of cli.md."""
    if not cell.undone:
        return NOT_RUN
    record = cell.undone[-1]
    timed = quantity is SECONDS
    if record.status is Status.TIME_LIMIT:
        limit = limit_of(record)
        return f"> {limit:g}" if timed and limit is not None else "> limit"
    if record.status is Status.EPOCH_LIMIT:
        return f"> {record.full_epochs} epochs" if timed and record.full_epochs else "> limit"
    return {Status.UNAVAILABLE: "n/a", Status.FAILED: "failed"}.get(record.status, NOT_RUN)


def _cell_notes(cell: Cell) -> list[str]:
    lines = []
    for record in cell.done:
        if record.note:
            lines.append(record.note)
        if record.eta is not None and record.eta != 8:
            lines.append(f"η = {record.eta:g}.")
        if record.beta is not None and record.beta_from is None:
            lines.append(f"β = {record.beta:.6g}, given by the user.")
    if not cell.done:
        lines += [r.error or r.note for r in cell.undone if r.error or r.note]
    elif cell.undone:
        seeds = len(cell.done) + len(cell.undone)
        lines.append(f"{len(cell.undone)} of {seeds} seeds did not converge ({_reason(cell, SECONDS)}).")
    return list(dict.fromkeys(lines))


def _group(algorithm: str, found: Sequence[Row]) -> str:
    """The heading of a solver; PDM's names ε where all rows have one."""
    name = "PFM" if algorithm == "pfm-succ" else title(algorithm)
    accuracies = {row.problem.eps for row in found}
    if algorithm in ("pdm", "pdm-succ") and len(accuracies) == 1:
        return f"{name} ε = {accuracies.pop():g}"
    return name


def _remarks(found: Sequence[Row]) -> list[str]:
    records = [record for row in found for record in row.records()]
    cells = [cell for row in found for cell in row.cells.values()]
    remarks = []
    seeds = sorted({len(cell.done) for cell in cells if len(cell.done) > 1})
    if seeds:
        count = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
        remarks.append(f"Mean ± standard deviation over {count} seeds.")
    jobs = max((record.jobs for record in records), default=1)
    if jobs > 1:
        remarks.append(f"Times were taken with up to {jobs} cells running at once.")
    return remarks


def _optional(value: float | None, digits: int) -> str:
    return "" if value is None else grid.number(value, digits)
