"""Run cells: in order, each in its own process, some at once, none twice, nothing lost on Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import connection
from typing import Any

from filelock import FileLock

from pdmbench.bench import environment, measure
from pdmbench.bench.measure import Prepared
from pdmbench.bench.plan import Cell
from pdmbench.bench.process import FORK, POLL_SECONDS, CellProcess, Job, Outcome
from pdmbench.bench.record import Record
from pdmbench.bench.store import Store
from pdmbench.errors import PdmbenchError, SolverUnavailable
from pdmbench.solvers.base import Status, TracePoint


def _nothing(*_: Any) -> None:
    return None


@dataclass(frozen=True, kw_only=True)
class Options:
    """How cells are run.

    Attributes
    ----------
    resume : bool
        Leave out cells that have a finished record, and those that another process is running.
    strict : bool
        Raise what is wrong with the data instead of recording it.
    jobs : int
        Cells at once, each on a core of its own where the system allows it and has that many.
    debug : bool
        Print the traceback of what fails.
    fork : bool
        Fork the cells' processes; False: start new interpreters.
    """

    resume: bool = False
    strict: bool = False
    jobs: int = 1
    debug: bool = False
    fork: bool = FORK


@dataclass(frozen=True, kw_only=True)
class Observer:
    """Who is told what; all of it is called in the runner's own process.

    Attributes
    ----------
    on_start : callable
        A cell starts.
    on_record : callable
        A cell has ended: its record, and its trace where one was asked for.
    on_skip : callable
        A cell has a finished record already.
    on_tick : callable
        Some time has passed.
    report : callable
        One line for the user.
    """

    on_start: Callable[[Cell], None] = _nothing
    on_record: Callable[[Record, list[TracePoint]], None] = _nothing
    on_skip: Callable[[Cell, Record], None] = _nothing
    on_tick: Callable[[], None] = _nothing
    report: Callable[[str], None] = _nothing


def run_cells(
    cells: Iterable[Cell], store: Store, machine: dict, options: Options, observer: Observer
) -> None:
    """Run every cell and append its record as it ends.

    PFM without β takes the margin of its partner, which is run first when it has no finished record.

    Parameters
    ----------
    cells : iterable of Cell
    store : Store
    machine : dict
        What :func:`pdmbench.bench.environment.gather` says; stored with the first record.
    options : Options
    observer : Observer

    Raises
    ------
    KeyboardInterrupt
        After the running cells were ended and recorded as interrupted.
    PdmbenchError
        With ``strict``, when a data set cannot be loaded.
    """
    _Run(list(cells), store, machine, options, observer).all()


def finished(store: Store, asked: Record) -> Record | None:
    """The newest finished record of a cell, None when there is none.

    One that ended at a limit counts only while the cell asks for no higher limit; one of other data does not.

    Parameters
    ----------
    store : Store
    asked : Record
        What :func:`pdmbench.bench.measure.blank` says of the cell.
    """
    for record in reversed(store.records()):
        if record.identity == asked.identity and asked.digest in (None, record.digest):
            short = _above(asked.time_limit, record.time_limit) and record.status is Status.TIME_LIMIT
            few = _above(asked.max_epochs, record.max_epochs) and record.status is Status.EPOCH_LIMIT
            if record.finished and not short and not few:
                return record
    return None


def described(cell: Cell) -> Record | None:
    """What is known of a cell's record before its data are loaded; None for a file of one's own."""
    from pdmbench import data

    if cell.dataset not in data.names() and not cell.dataset.endswith(".toml"):
        return None
    spec = data.describe(cell.dataset)
    delta = spec.delta if cell.delta is None else cell.delta
    if delta is None:
        return None
    return measure.blank(cell, dataset=spec.name, delta=delta, status=Status.UNAVAILABLE)


def asked_of(cell: Cell) -> Record:
    """What is known of a cell's record; loads a file of one's own for it."""
    return described(cell) or measure.blank(cell, measure.prepare(cell, _nothing), status=Status.UNAVAILABLE)


def outlook(cells: Iterable[Cell], store: Store, force: bool) -> Iterator[tuple[Cell, str]]:
    """What a run would do with each cell, and why."""
    from pdmbench.data import inventory

    for cell in cells:
        asked = asked_of(cell)
        done = finished(store, asked)
        before = next((r for r in reversed(store.records()) if r.identity == asked.identity), None)
        if done is not None and not force:
            yield cell, f"done ({done.status.value})"
            continue
        reasons = []
        if done is not None:
            reasons.append("done, but --force")
        elif before is not None:
            reasons.append(f"was {before.status.value}" + (f": {before.error}" if before.error else ""))
        if inventory.state(cell.dataset) == inventory.ABSENT:
            reasons.append("data to be downloaded")
        yield cell, "to run" + (f" ({'; '.join(reasons)})" if reasons else "")


@dataclass
class _Running:
    cell: Cell
    core: int | None
    lock: FileLock | None
    compile_seconds: float


class _Run:
    """The state of one call of :func:`run_cells`."""

    def __init__(
        self, cells: list[Cell], store: Store, machine: dict, options: Options, observer: Observer
    ) -> None:
        from pdmbench.kernels.compilation import Compilation

        self.todo, self.store, self.environment = cells, store, machine
        self.options, self.observer = options, observer
        self.running: dict[CellProcess, _Running] = {}
        self.ended: dict[Cell, Record] = {}
        self.problems: dict[tuple, Prepared | PdmbenchError] = {}
        self.warm: set[tuple] = set()
        self.compilation = Compilation(observer.report)
        self.warned = False
        self.cores = _cores(options.jobs)

    def all(self) -> None:
        try:
            while self.todo or self.running:
                self._start_what_can()
                self._await()
        finally:  # also on Ctrl-C
            with _uninterrupted():
                for process in list(self.running):
                    self._finish(process, process.stop(Status.INTERRUPTED, "interrupted"))

    def _start_what_can(self) -> None:
        for cell in list(self.todo):
            if len(self.running) == self.options.jobs:
                return
            if self._start(cell):
                self.todo.remove(cell)

    def _await(self) -> None:
        connection.wait([process.connection for process in self.running], POLL_SECONDS)
        self.observer.on_tick()
        for process in list(self.running):
            with _uninterrupted():  # between a cell's end and its record on disk
                outcome = process.step()
                if outcome is not None:
                    self._finish(process, outcome)

    def _start(self, cell: Cell) -> bool:
        """Start a cell, or deal with it otherwise; False when it has to wait."""
        known = described(cell)
        if known is not None and self._skip(cell, known):
            return True
        prepared = self._prepare(cell)
        if isinstance(prepared, PdmbenchError):
            named = {"dataset": known.dataset, "delta": known.delta} if known else {}
            self._end(cell, measure.failure(cell, None, prepared, **named))
            return True
        asked = measure.blank(cell, prepared, status=Status.INTERRUPTED)
        if self._skip(cell, asked):
            return True
        beta = cell.beta
        if cell.beta_from is not None:
            partner = self._partner(cell, prepared)
            if partner is None:
                return False
            try:
                beta = measure.target(partner)
            except SolverUnavailable as error:
                self._end(cell, measure.failure(cell, prepared, error))
                return True
        lock = None
        if self.options.resume:
            lock = self.store.claim(asked)
            if lock is None:
                return False
            if self._skip(cell, asked):  # finished by another process just before
                lock.release()
                return True
        self._launch(cell, prepared, beta, lock)
        return True

    def _skip(self, cell: Cell, asked: Record) -> bool:
        record = finished(self.store, asked) if self.options.resume else None
        if record is not None:
            self.observer.on_skip(cell, record)
        return record is not None

    def _prepare(self, cell: Cell) -> Prepared | PdmbenchError:
        key = (cell.dataset, cell.positive, cell.delta, cell.rho)
        if key not in self.problems:
            needed = {(c.dataset, c.positive, c.delta, c.rho) for c in self.todo}
            self.problems = {k: v for k, v in self.problems.items() if k in needed}
            try:
                self.problems[key] = measure.prepare(cell, self.observer.report, self.compilation)
            except PdmbenchError as error:
                if self.options.strict:
                    raise
                self.problems[key] = error
        return self.problems[key]

    def _partner(self, cell: Cell, prepared: Prepared) -> Record | None:
        """The record whose margin is to be β; when there is none yet, its cell is put before this one."""
        partner = replace(cell, algorithm=cell.beta_from)
        if partner in self.ended:
            return self.ended[partner]
        if partner in self.todo or any(partner == running.cell for running in self.running.values()):
            return None
        record = finished(self.store, measure.blank(partner, prepared, status=Status.INTERRUPTED))
        if record is None:
            self.todo.insert(self.todo.index(cell), partner)
        return record

    def _launch(self, cell: Cell, prepared: Prepared, beta: float | None, lock: FileLock | None) -> None:
        rows = prepared.data.patterns.rows
        kernels = (cell.algorithm, type(rows), *(array.dtype for array in rows))
        try:
            if kernels not in self.warm:
                measure.warm_up(cell.algorithm, prepared.problem, self.compilation)
                self.warm.add(kernels)
        except Exception as error:  # a plug-in's may be any
            if self.options.debug:
                traceback.print_exc()
            self._end(cell, measure.failure(cell, prepared, error, beta=beta))
            if lock is not None:
                lock.release()
            return
        compile_seconds = self.compilation.settle()
        self._warn_once()
        core = self.cores.pop()
        job = Job(cell=cell, beta=beta, core=core, jobs=self.options.jobs, debug=self.options.debug)
        self.observer.on_start(cell)
        with _uninterrupted():  # else Ctrl-C might reach a forked process while it still looks like this one
            process = CellProcess(job, prepared, self.observer.report, self.options.fork)
            self.running[process] = _Running(cell, core, lock, compile_seconds)

    def _warn_once(self) -> None:
        if not self.warned:
            self.warned = True
            if warning := environment.busy(self.environment):
                self.observer.report(warning)

    def _finish(self, process: CellProcess, outcome: Outcome) -> None:
        running = self.running.pop(process)
        self.cores.append(running.core)
        seconds = running.compile_seconds + (outcome.record.compile_seconds or 0.0)
        self._end(running.cell, replace(outcome.record, compile_seconds=seconds), outcome.trace)
        if running.lock is not None:
            running.lock.release()

    def _end(self, cell: Cell, record: Record, trace: list[TracePoint] | None = None) -> None:
        key = self.store.write_environment(self.environment)
        record = replace(record, environment=key, jobs=self.options.jobs)
        self.ended[cell] = record
        if trace:
            self.store.write_trace(record.cell_key(), trace)
        if not self._said_before(record):
            self.store.append(record)
        self.observer.on_record(record, trace or [])

    def _said_before(self, record: Record) -> bool:
        """Whether a cell that is unavailable again has just that as its newest record."""
        known = next((r for r in reversed(self.store.records()) if r.identity == record.identity), None)
        unavailable = known is not None and known.status is record.status is Status.UNAVAILABLE
        return self.options.resume and unavailable and known.error == record.error


def _above(asked: float | None, given: float | None) -> bool:
    """Whether a cell asks for a higher limit than a record had; None is no limit."""
    return given is not None and (asked is None or asked > given)


def _cores(jobs: int) -> list[int | None]:
    """A core for each job where the system lets us choose and there are enough."""
    free = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []
    return list(free[:jobs]) if 1 < jobs <= len(free) else [None] * jobs


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait until the block is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending = []
    before = signal.signal(signal.SIGINT, lambda *_: pending.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pending:
        raise KeyboardInterrupt
