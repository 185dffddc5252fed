"""What a run shows: rows on stdout as cells end, notes and progress on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import IO, Any

from pdmbench.bench.plan import Cell
from pdmbench.bench.record import Record
from pdmbench.bench.runner import Observer
from pdmbench.bench.store import trace_line
from pdmbench.report.grid import number
from pdmbench.solvers.base import Status, TracePoint

_ROW = "{:<18} {:<12} {:>4}  {:<12} {:>10} {:>11} {:>10} {:>9}"
_HEAD = ("data set", "algorithm", "seed", "status", "10⁴γ'_d", "certified %", "10⁻⁶ upd", "CPU s")


class Console:
    """Shows a run as it goes.

    Parameters
    ----------
    cells : int
        How many cells there are, for the progress bar.
    as_json : bool
        Records as JSON Lines instead of rows.
    quiet : bool
        Nothing on stderr.
    trace : file, optional
        Receives the traces as JSON Lines.

    Attributes
    ----------
    records : list of Record
        Of all cells, also of those that had finished before.
    """

    def __init__(self, cells: int, as_json: bool = False, quiet: bool = False, trace: IO[str] | None = None):
        self.records: list[Record] = []
        self._as_json, self._quiet, self._trace = as_json, quiet, trace
        self._bar = None if quiet or not sys.stderr.isatty() else _progress_bar(cells)
        self._headed = as_json

    @property
    def observer(self) -> Observer:
        """To be handed to :func:`pdmbench.bench.runner.run_cells`."""
        return Observer(
            on_start=self._on_start, on_record=self._on_record, on_skip=self._on_skip,
            on_tick=self._bar.refresh if self._bar else lambda: None, report=self.note,
        )  # fmt: skip

    @property
    def failed(self) -> bool:
        """Whether a cell failed."""
        return any(record.status is Status.FAILED for record in self.records)

    def note(self, line: str) -> None:
        """Say one line on stderr."""
        if not self._quiet:
            self._aside(lambda: print(line, file=sys.stderr, flush=True))

    def close(self) -> None:
        """Remove the progress bar."""
        if self._bar is not None:
            self._bar.close()

    def _on_start(self, cell: Cell) -> None:
        if self._bar is not None:
            self._bar.set_description(f"{cell.dataset} {cell.algorithm}")

    def _on_skip(self, cell: Cell, record: Record) -> None:
        self.records.append(record)
        self._advance()

    def _on_record(self, record: Record, trace: list[TracePoint]) -> None:
        self.records.append(record)
        self._advance()
        self._aside(lambda: self._print(record))
        if self._trace is not None:
            for point in trace:
                line = trace_line(point, dataset=record.dataset, algorithm=record.algorithm, seed=record.seed)
                print(line, file=self._trace)
            self._trace.flush()

    def _print(self, record: Record) -> None:
        if not self._headed:
            self._headed = True
            print(_ROW.format(*_HEAD))
        print(record.to_json() if self._as_json else row(record), flush=True)

    def _advance(self) -> None:
        if self._bar is not None:
            self._bar.update()

    def _aside(self, say: Callable[[], None]) -> None:
        """Print without tearing the progress bar."""
        if self._bar is None:
            say()
            return
        self._bar.clear()
        say()
        self._bar.refresh()


def row(record: Record) -> str:
    """One line for one record."""
    head = (record.dataset, record.algorithm, record.seed, record.status.value)
    if record.margin is None:
        return _ROW[: _ROW.index(" {:>10}")].format(*head) + f"  {record.error or ''}".rstrip()
    accuracy, updates, seconds = record.certified_accuracy, record.updates, record.train_seconds
    if record.margin <= 0:  # however much: nothing is separated yet, and the excess has no meaning
        certified = "≥ 100"
    else:
        certified = "–" if accuracy is None else f"{100 * accuracy:.3f}"
    line = _ROW.format(
        *head, number(1e4 * record.margin, 5), certified,
        "–" if updates is None else number(1e-6 * updates, 4), "–" if seconds is None else f"{seconds:.3f}",
    )  # fmt: skip
    return f"{line}  {record.note}" if record.note else line


def _progress_bar(cells: int) -> Any:
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # its thread would be there when cells are forked
    return tqdm(total=cells, unit="cell", leave=False, file=sys.stderr)
