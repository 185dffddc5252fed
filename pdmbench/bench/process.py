"""One cell in a process of its own, so that nothing it does can reach the others.

On Linux the process is forked from one that has loaded the data and compiled the kernels; elsewhere, and
under Dask, whose workers have threads, a new interpreter is started that does both itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, Pipe
from typing import Any, ClassVar

from pdmbench.bench import measure, memory
from pdmbench.bench.measure import Prepared
from pdmbench.bench.plan import Cell
from pdmbench.bench.record import Record
from pdmbench.solvers.base import Status, TracePoint

FORK = sys.platform == "linux"
POLL_SECONDS = 0.05  # how often memory and the clock are looked at


@dataclass(frozen=True, kw_only=True)
class Job:
    """A cell and what its process needs to know beside it.

    Attributes
    ----------
    cell : Cell
    beta : float, optional
        β for PFM.
    core : int, optional
        The core the process is to stay on.
    jobs : int
        Processes that run at once.
    debug : bool
        Print the traceback of what fails to stderr.
    """

    cell: Cell
    beta: float | None = None
    core: int | None = None
    jobs: int = 1
    debug: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of a cell."""

    record: Record
    trace: list[TracePoint] = field(default_factory=list)


class CellProcess:
    """A running cell.

    Parameters
    ----------
    job : Job
    prepared : Prepared or None
        Data and warm kernels to fork with; None where the new process is to prepare itself.
    fork : bool
        False: start a new interpreter.
    report : callable
        Receives the notes of a process that prepares itself.
    """

    alive: ClassVar[set[CellProcess]] = set()

    def __init__(
        self, job: Job, prepared: Prepared | None, report: Callable[[str], None], fork: bool = FORK
    ) -> None:
        self.job, self.prepared, self._report = job, prepared, report
        self.connection, theirs = Pipe()
        self._trace: list[TracePoint] = []
        self._record: Record | None = None
        self._peak = 0.0
        self._started = time.monotonic()
        self._training = fork  # the clock of the limit runs once data and kernels are there
        sys.stdout.flush()  # what is buffered must not be written by both
        sys.stderr.flush()
        self._popen: subprocess.Popen | None = None
        if fork:
            self.pid = os.fork()
            if self.pid == 0:
                _forked(theirs, job, prepared, [self.connection, *(other.connection for other in self.alive)])
        else:
            command = [sys.executable, "-m", __name__, str(theirs.fileno())]
            self._popen = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=2
            )
            self.pid = self._popen.pid
            self.connection.send(job)
        theirs.close()
        self.alive.add(self)

    def step(self) -> Outcome | None:
        """Read what has arrived and enforce the limits.

        Returns
        -------
        Outcome or None
            None while the cell is running.
        """
        if not self._receive():
            return self._outcome(self._record, Status.FAILED, None)
        own = memory.own(self.pid)
        self._peak = max(self._peak, own or 0.0)
        cell, seconds = self.job.cell, time.monotonic() - self._started
        if cell.memory_limit is not None and own is not None and own > cell.memory_limit:
            return self.stop(
                Status.FAILED, f"over its memory limit of {cell.memory_limit:g} MiB ({own:.0f} MiB)"
            )
        if self._training and cell.time_limit is not None and seconds > _hard(cell.time_limit):
            return self.stop(Status.TIME_LIMIT, f"ended at its time limit of {cell.time_limit:g} s")
        return None

    def stop(self, status: Status, reason: str) -> Outcome:
        """End the process and whatever it started, now; a record that had already arrived stands."""
        _kill(self.pid)
        while self._receive():
            self.connection.poll(None)
        return self._outcome(self._record, status, reason)

    def _receive(self) -> bool:
        """Take in the messages that are there; False once there will be no more."""
        try:
            while self.connection.poll():
                kind, value = self.connection.recv()
                if kind == "record":
                    self._record = value
                elif kind == "trace":
                    self._trace.append(value)
                elif kind == "training":
                    self._training, self._started = True, time.monotonic()
                else:
                    self._report(value)
        except (EOFError, OSError):
            return False
        return True

    def _outcome(self, record: Record | None, status: Status, reason: str | None) -> Outcome:
        self.alive.remove(self)
        self.connection.close()
        _kill(self.pid)  # before it is reaped: its number is still its own, and so are its children
        code = self._wait()
        if record is None:
            record = measure.blank(
                self.job.cell, self.prepared, beta=self.job.beta, status=status,
                error=reason or _last_words(code), wall_seconds=time.monotonic() - self._started,
            )  # fmt: skip
        peak = max(self._peak, record.peak_anon_mb or 0.0)
        return Outcome(replace(record, jobs=self.job.jobs, peak_anon_mb=peak or None), self._trace)

    def _wait(self) -> int:
        if self._popen is not None:
            return self._popen.wait()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def _hard(limit: float) -> float:
    """When a cell that did not end itself is killed: after one more sweep and a certificate."""
    return 1.1 * limit + 1.0


def _kill(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
            return
        except (ProcessLookupError, PermissionError):  # not yet in a group of its own; a zombie, on macOS
            continue


def _last_words(code: int) -> str:
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        hint = ", from outside or for want of memory" if -code == signal.SIGKILL else ""
        return f"its process was ended by {name}{hint}"
    return f"its process ended with exit status {code}"


def _forked(connection: Connection, job: Job, prepared: Prepared | None, others: list[Connection]) -> None:
    """Body of the forked process; never returns."""
    code = 1
    try:
        for other in others:  # else this process would keep its siblings from seeing their parent's end
            other.close()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        _serve(connection, job, prepared)
        code = 0
    finally:
        os._exit(code)


def _serve(connection: Connection, job: Job | None = None, prepared: Prepared | None = None) -> None:
    """Run one cell and send what comes of it."""
    from pdmbench.kernels.compilation import Compilation

    os.setpgid(0, 0)  # so that everything it starts can be ended with it
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    if job is None:
        job = connection.recv()
    threading.Thread(target=_end_with_parent, args=(connection,), daemon=True).start()
    if job.core is not None:
        os.sched_setaffinity(0, {job.core})

    def send(kind: str) -> Callable[[Any], None]:
        return lambda value: connection.send((kind, value))

    cell, compilation = job.cell, Compilation(send("note"))

    try:
        if prepared is None:
            prepared = measure.prepare(cell, send("note"), compilation)
            measure.warm_up(cell.algorithm, prepared.problem, compilation)
        seconds = compilation.settle()
        send("training")(None)
        record = measure.measure(cell, prepared, job.beta, send("trace") if cell.trace else None)
        record = replace(record, compile_seconds=seconds)
    except Exception as error:
        if job.debug:
            traceback.print_exc()
            sys.stderr.flush()
        record = measure.failure(cell, prepared, error, beta=job.beta)
    send("record")(replace(record, peak_anon_mb=memory.own(os.getpid())))


def _end_with_parent(connection: Connection) -> None:
    """Wait for the end of the parent, which never sends again, then end this process and its children."""
    try:
        connection.recv()
    finally:
        os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])))
