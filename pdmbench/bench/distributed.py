"""Run cells on a Dask cluster: workers fetch the data themselves, records come back as cells end.

Each worker runs one cell at a time, in a process of its own. A cell whose worker is lost is run again by
another one: Dask's own doing. Records are written here, by one process.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse
from uuid import uuid4

import pdmbench
from pdmbench.bench import environment, measure
from pdmbench.bench.plan import Cell
from pdmbench.bench.process import POLL_SECONDS, CellProcess, Job, Outcome
from pdmbench.bench.record import Record
from pdmbench.bench.runner import Observer, Options, asked_of, described, finished
from pdmbench.bench.store import Store
from pdmbench.errors import PdmbenchError, UsageError
from pdmbench.solvers.base import Status

if TYPE_CHECKING:
    from distributed import Client, Future
    from filelock import FileLock

CONNECT_SECONDS = 10


def run_cells(
    cells: Iterable[Cell], store: Store, scheduler: str, options: Options, observer: Observer
) -> None:
    """Run every cell on a cluster and append its record as it comes back.

    Parameters
    ----------
    cells : iterable of Cell
    store : Store
    scheduler : str
        Address of the Dask scheduler, ``tcp://host:8786``.
    options : Options
        ``jobs`` and ``fork`` mean nothing here: the cluster has its own number of workers.
    observer : Observer

    Raises
    ------
    UsageError
        When the scheduler does not answer, or its workers lack this version of pdmbench.
    KeyboardInterrupt
        After the running cells were called off.
    """
    with _connected(scheduler, options, observer) as client:
        run = _Run(client, store, options, observer)
        held = list(cells)
        try:
            while held:
                held = run.round(held)
        finally:
            client.cancel(list(run.futures.values()), force=True)


@dataclass(frozen=True)
class Answer:
    """What a worker sends back."""

    outcome: Outcome
    environment: dict
    address: str
    notes: list[str] = field(default_factory=list)


class _Run:
    """The state of one call of :func:`run_cells`."""

    def __init__(self, client: Client, store: Store, options: Options, observer: Observer) -> None:
        self.client, self.store, self.options, self.observer = client, store, options, observer
        self.key = uuid4().hex
        self.futures: dict[Cell, Future] = {}
        self.locks: dict[Cell, FileLock] = {}

    def round(self, cells: list[Cell]) -> list[Cell]:
        """Run what can be claimed; returns the cells that another process is running, once one is free."""
        from distributed import as_completed

        held = [cell for cell in cells if not self._submit(cell)]
        open_ = {future: cell for cell, future in self.futures.items() if cell in self.locks}
        for future in as_completed(open_, loop=self.client.loop):
            if future.cancelled():
                raise UsageError(
                    "the scheduler is gone",
                    self.client.scheduler.address,
                    "start again: what had finished is kept",
                )
            self._record(open_[future], future)
        if held:
            lock = self.store.claim(asked_of(held[0]), wait=-1)
            if lock is not None:
                lock.release()
        return held

    def _submit(self, cell: Cell) -> bool:
        """Send a cell to the cluster; False when another process has it or what it needs."""
        try:
            return self._send(cell)
        except PdmbenchError as error:
            known = described(cell)
            named = {"dataset": known.dataset, "delta": known.delta} if known else {}
            self._keep(Outcome(measure.failure(cell, None, error, **named)))
            return True

    def _send(self, cell: Cell) -> bool:
        if cell in self.futures:
            return True
        asked = asked_of(cell)
        if self._skip(cell, asked):
            return True
        beta, partner = cell.beta, None
        if cell.beta_from is not None:
            needed = replace(cell, algorithm=cell.beta_from)
            known = finished(self.store, asked_of(needed)) if needed not in self.futures else None
            if known is not None:
                beta = measure.target(known)
            elif not self._submit(needed):
                return False
            elif needed not in self.futures:  # finished by another process just now
                return self._send(cell)
            else:
                partner = self.futures[needed]
        lock = self.store.claim(asked)
        if lock is None:
            return False
        if self._skip(cell, asked):  # finished by another process just before
            lock.release()
            return True
        self.locks[cell] = lock
        self.observer.on_start(cell)
        self.futures[cell] = self.client.submit(
            work,
            cell,
            beta,
            partner,
            self.key,
            self.options.debug,
            pure=False,
            key=f"{cell.dataset}-{uuid4()}",
        )
        return True

    def _skip(self, cell: Cell, asked: Record) -> bool:
        record = finished(self.store, asked) if self.options.resume else None
        if record is not None:
            self.observer.on_skip(cell, record)
        return record is not None

    def _record(self, cell: Cell, future: Future) -> None:
        error = future.exception()
        if error is not None:  # nothing the cell could do: its process is apart
            asked = asked_of(cell)
            failed = measure.failure(cell, None, error, dataset=asked.dataset, delta=asked.delta)
            self._keep(Outcome(failed))
        else:
            answer = future.result()
            for note in answer.notes:
                self.observer.report(f"{answer.address}: {note}")
            jobs = self._neighbours(answer.address)
            key = self.store.write_environment({**answer.environment, "jobs": jobs})
            record = replace(answer.outcome.record, jobs=jobs, environment=key)
            self._keep(Outcome(record, answer.outcome.trace))
        self.locks.pop(cell).release()

    def _keep(self, outcome: Outcome) -> None:
        if outcome.trace:
            self.store.write_trace(outcome.record.cell_key(), outcome.trace)
        self.store.append(outcome.record)
        self.observer.on_record(outcome.record, outcome.trace)

    def _neighbours(self, address: str) -> int:
        """Workers on the machine of one of them, which may all have had a cell."""
        hosts = Counter(urlparse(worker).hostname for worker in self.client.nthreads())
        return max(1, hosts[urlparse(address).hostname])


def _is_address(text: str) -> bool:
    """Whether this is ``host:port``, after the name of a transport or without one."""
    try:
        parts = urlparse(text if "://" in text else f"tcp://{text}")
        return parts.scheme in ("tcp", "tls", "ws", "wss", "ucx") and bool(parts.hostname and parts.port)
    except ValueError:  # a port beyond 65535
        return False


@contextmanager
def _connected(scheduler: str, options: Options, observer: Observer) -> Iterator[Client]:
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise UsageError(
            "Dask is not installed", "--scheduler", "pip install 'pdmbench[distributed]'"
        ) from None
    if not _is_address(scheduler):  # Dask's client would take half a minute and a traceback to say so
        raise UsageError(f"{scheduler!r} is no address", "--scheduler", "give one such as tcp://host:8786")
    if not options.debug:  # Dask logs a traceback for what is said in one line here
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = str(error) or type(error).__name__
        raise UsageError(
            f"no scheduler answers ({reason})", scheduler, "start one with: dask scheduler"
        ) from None
    with client:
        if not client.nthreads():
            observer.report(
                f"{scheduler} has no workers yet: waiting; start some with: dask worker {scheduler}"
            )
            client.wait_for_workers(1)
        _check_versions(client, scheduler)
        yield client


def _check_versions(client: Client, scheduler: str) -> None:
    try:
        versions = set(client.run(version).values())
    except Exception as error:  # whatever importing pdmbench raised over there
        raise UsageError(f"a worker cannot run pdmbench: {error}", scheduler, "install it there") from None
    if versions != {pdmbench.__version__}:
        there = ", ".join(sorted(versions))
        raise UsageError(
            f"workers have pdmbench {there}, this is {pdmbench.__version__}", scheduler, "install one version"
        )


# What follows runs in the workers.

_one_at_a_time = threading.Lock()


def version() -> str:
    """The version a worker has."""
    return pdmbench.__version__


def work(cell: Cell, beta: float | None, partner: Answer | None, run: str, debug: bool) -> Answer:
    """Measure one cell in a process below this worker.

    Parameters
    ----------
    cell : Cell
    beta : float, optional
        β where it is known.
    partner : Answer, optional
        That of the cell whose margin is β.
    run : str
        Names the run, of which the environment is gathered once.
    debug : bool
    """
    from distributed import get_worker

    notes: list[str] = []
    with _one_at_a_time:
        machine = _environment(run)
        outcome = _outcome(cell, beta, partner, notes, debug)
    return Answer(outcome, machine, get_worker().address, notes)


@lru_cache(maxsize=4)
def _environment(run: str) -> dict:
    return environment.gather()


def _outcome(
    cell: Cell, beta: float | None, partner: Answer | None, notes: list[str], debug: bool
) -> Outcome:
    prepared = None
    try:
        prepared = measure.prepare(cell, notes.append)
        if partner is not None:
            beta = measure.target(partner.outcome.record)
    except PdmbenchError as error:
        return Outcome(measure.failure(cell, prepared, error, beta=beta))
    process = CellProcess(Job(cell=cell, beta=beta, debug=debug), prepared, lambda line: None, fork=False)
    while (outcome := process.step()) is None:
        if _called_off():
            return process.stop(Status.INTERRUPTED, "called off")
        process.connection.poll(POLL_SECONDS)
    return outcome


def _called_off() -> bool:
    """Whether nobody wants the task of this thread any more."""
    from distributed import get_worker

    worker: Any = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is None or task.state == "cancelled"
