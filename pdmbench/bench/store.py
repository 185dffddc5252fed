"""A results folder: records, traces, environments, and who is running what.

::

    records.jsonl             one record a line, only ever appended to
    traces/<cell>.jsonl       one TracePoint a line
    environments/<id>.json    the machine and the versions of one run
    locks/                    each held by the process that runs the cell
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout

from pdmbench.bench.record import Record
from pdmbench.errors import DataError
from pdmbench.solvers.base import TracePoint

T = TypeVar("T")

LONGEST_TRACE = 1000  # points; more than a plot can show


class Store:
    """The records of one results folder; several processes may use the folder at once.

    Parameters
    ----------
    folder : str or path
        Made when the first thing is written.
    report : callable, optional
        Receives one line when something had to be repaired.
    """

    def __init__(self, folder: str | os.PathLike, report: Callable[[str], None] | None = None):
        self.folder = Path(folder)
        self._report = report or (lambda line: None)
        self._read: list[Record] = []
        self._offset = 0

    @property
    def path(self) -> Path:
        """The file of records."""
        return self.folder / "records.jsonl"

    def records(self) -> list[Record]:
        """All records, oldest first. A last line that is still being written is not one yet.

        Raises
        ------
        DataError
            When a whole line is not a record.
        """
        if not self.path.exists():
            return []
        tail = []
        with self.path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                record = _parse(line)
                if line.endswith(b"\n"):
                    if record is None:
                        where = f"{self.path}, line {len(self._read) + 1}"
                        raise DataError("not a record", where, "mend or delete that line")
                    self._read.append(record)
                    self._offset += len(line)
                elif record is not None:
                    tail = [record]
        return self._read + tail

    def append(self, record: Record) -> None:
        """Add one record durably; cut off what a writer that was killed left half-written."""
        self.folder.mkdir(parents=True, exist_ok=True)
        line = record.to_json().encode() + b"\n"
        with self._lock("records"):
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                self._repair(file)
                while line:  # a disk that fills up takes a part of it, and says so at the next
                    line = line[os.write(file, line) :]
                os.fsync(file)
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(self.path)) from None
            finally:
                os.close(file)

    def _repair(self, file: int) -> None:
        tail = _last_line(file)
        if not tail:
            return
        if _parse(tail) is not None:
            os.write(file, b"\n")
            return
        os.ftruncate(file, os.fstat(file).st_size - len(tail))
        self._report(f"{self.path}: cut off a half-written last line ({len(tail)} bytes)")

    def claim(self, asked: Record, wait: float = 0) -> FileLock | None:
        """Claim a cell for this process until the returned lock is released or the process ends.

        Parameters
        ----------
        asked : Record
            Names the cell by its identity.
        wait : float
            Seconds to wait for another process that has it; negative: for ever.

        Returns
        -------
        filelock.FileLock or None
            None when another process has it.
        """
        lock = self._lock(hashlib.sha256(json.dumps(asked.identity).encode()).hexdigest()[:16])
        try:
            lock.acquire(timeout=wait)
        except Timeout:
            return None
        return lock

    def _lock(self, name: str) -> FileLock:
        folder = self.folder / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        return FileLock(folder / f"{name}.lock")

    def write_environment(self, environment: dict) -> str:
        """Store one run's environment; returns its id."""
        text = json.dumps(environment, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        key = hashlib.sha256(text.encode()).hexdigest()[:12]
        _replace(self.folder / "environments" / f"{key}.json", text)
        return key

    def environments(self) -> dict[str, dict]:
        """All environments by their id."""
        return self._files("environments/*.json", json.loads)

    def write_trace(self, key: str, points: Iterable[TracePoint]) -> None:
        """Store the trace of the cell ``key``, over an older one; of a long one every so manyth point."""
        points = list(points)
        step = -(-len(points) // LONGEST_TRACE) or 1
        thinned = points[::-step][::-1]  # the last point stays
        lines = (trace_line(point) + "\n" for point in thinned)
        _replace(self.folder / "traces" / f"{key}.jsonl", "".join(lines))

    def traces(self) -> dict[str, list[TracePoint]]:
        """All traces by :meth:`Record.cell_key`."""
        return self._files("traces/*.jsonl", lambda text: [_point(line) for line in text.splitlines()])

    def _files(self, pattern: str, parse: Callable[[str], T]) -> dict[str, T]:
        """The content of some files by their stems."""
        found = {}
        for path in sorted(self.folder.glob(pattern)):
            try:
                found[path.stem] = parse(path.read_text(encoding="utf-8"))
            except (ValueError, TypeError, AttributeError):
                raise DataError("cannot be read", str(path), "mend or delete that file") from None
        return found


def _point(line: str) -> TracePoint:
    values = json.loads(line)
    return TracePoint(**{key: math.inf if value is None else value for key, value in values.items()})


def trace_line(point: TracePoint, **more: object) -> str:
    """One point of a trace as JSON, after whatever else is to stand there; null for an infinite bound."""
    values = {**more, **asdict(point)}
    finite = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()}
    return json.dumps(finite, ensure_ascii=False, allow_nan=False)


def _parse(line: bytes) -> Record | None:
    try:
        return Record.from_json(line.decode())
    except ValueError:
        return None


def _last_line(file: int) -> bytes:
    """What follows the last newline of an open file."""
    size, tail = os.fstat(file).st_size, b""
    while len(tail) < size:
        start = max(0, size - len(tail) - 65536)
        os.lseek(file, start, os.SEEK_SET)
        block = os.read(file, size - len(tail) - start)
        newline = block.rfind(b"\n")
        tail = block[newline + 1 :] + tail
        if newline >= 0:
            break
    return tail


def _replace(path: Path, text: str) -> None:
    """Write a file so that nobody ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
