"""Readers: one module per file format, each with the same two functions.

``blocks(paths, spec)`` yields :class:`Block` after :class:`Block` without ever holding a whole file, and
``classes(labels, paths)`` says which rows belong to which class.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from pdmbench.data import packing
from pdmbench.data.classes import Classes
from pdmbench.data.registry import DataSetSpec
from pdmbench.errors import DataError

CHUNK = 1 << 20  # bytes of text parsed at a time
LONGEST = 256 << 20  # bytes of a line: beyond it the file has no lines
SMALL = 256 << 10  # a text below this is parsed sooner than numba is imported

_DECIMAL = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_NOT_FINITE = re.compile(rb"[+-]?(nan|inf|infinity)", re.IGNORECASE)

T = TypeVar("T")


class Block(NamedTuple):
    """Some consecutive rows as they stand in a file, indices ascending within a row."""

    labels: np.ndarray  # float64[rows]
    ends: np.ndarray  # int64[rows], entries up to the end of each row
    indices: np.ndarray  # unsigned or int64[entries]
    values: np.ndarray  # float64[entries], explicit zeros among them


class Text(NamedTuple):
    """Some consecutive whole lines of a file; the last one ends with a newline, too."""

    content: bytes
    path: Path
    line: int  # number of the first line, from 1
    quick: bool  # long enough for compiled kernels


class Fault(Exception):
    """What is wrong with one line: ``Fault(what, fix=None)``."""

    def __init__(self, what: str, fix: str | None = None):
        self.what, self.fix = what, fix
        super().__init__(what, fix)


class Reader(Protocol):
    """A module of this package."""

    base: int | None  # the first index; None: 1, unless index 0 occurs

    def blocks(self, paths: Sequence[Path], spec: DataSetSpec | None) -> Iterator[Block]: ...

    def classes(self, labels: np.ndarray, paths: Sequence[Path]) -> Classes: ...


def reader(name: str) -> Reader:
    """The reader of a format, one of :data:`pdmbench.data.registry.FORMATS`."""
    return importlib.import_module(f"{__name__}.{name}")


def texts(path: Path, member: str | None = None) -> Iterator[Text]:
    """A file in pieces of whole lines, unpacked; the next piece is read while one is parsed.

    Raises
    ------
    DataError
        The file cannot be read or unpacked, or is no text.
    """
    try:
        with packing.open_unpacked(path, member) as stream:
            yield from ahead(_cut(stream, path))
    except ValueError as error:  # from the packing
        raise DataError(str(error), str(path), "get the file anew") from error
    except OSError as error:
        raise DataError(error.strerror or str(error), str(path)) from error


def _cut(stream, path: Path) -> Iterator[Text]:
    rest, line, quick = b"", 1, None
    while True:
        chunk = stream.read(CHUNK)
        if quick is None:
            chunk = chunk.removeprefix(b"\xef\xbb\xbf")
            _expect_text(chunk, path)
            quick = len(chunk) >= SMALL
        if not chunk:
            break
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            rest += chunk
            if len(rest) > LONGEST:
                raise DataError("is too long", f"{path}, line {line}", "is it the right file?")
            continue
        content, rest = b"".join((rest, memoryview(chunk)[:cut])), chunk[cut:]  # one copy
        yield Text(content, path, line, quick)
        line += content.count(b"\n")
    if rest:
        yield Text(rest + b"\n", path, line, bool(quick))


def _expect_text(head: bytes, path: Path) -> None:
    if head.lstrip()[:1] == b"<":
        raise DataError("looks like a web page, not data", str(path), "get the data file itself")
    if b"\0" in head[:4096]:
        raise DataError(
            "is not text", str(path), "unpack it first: only gzip, bzip2 and xz files are read as they are"
        )


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items, each made by a thread while the one before is used."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item


def full_block(labels: np.ndarray, features: np.ndarray) -> Block:
    """Rows given in full, as float64[rows, n]."""
    rows, n = features.shape
    ends = np.arange(1, rows + 1, dtype=np.int64) * n
    return Block(labels, ends, np.tile(np.arange(n, dtype=np.uint32), rows), features.ravel())


def fault(text: Text, position: int, wrong: Fault) -> DataError:
    """The error for a fault in the line that begins at a position of a text."""
    number = text.line + text.content.count(b"\n", 0, position)
    return DataError(wrong.what, f"{text.path}, line {number}", wrong.fix)


def shown(token: bytes) -> str:
    """A token as a message shows it."""
    readable = token.decode("ascii", "backslashreplace")
    return f"`{readable}`" if len(readable) <= 40 else f"`{readable[:40]}…`"


def number(token: bytes, what: str) -> float:
    """A finite decimal number.

    Raises
    ------
    Fault
        It is not one; ``what`` names it.
    """
    if _DECIMAL.fullmatch(token):
        value = float(token)
        if value - value == 0.0:
            return value
    elif not _NOT_FINITE.fullmatch(token):
        raise Fault(f"{what} {shown(token)} is not a number")
    raise Fault(f"{what} {shown(token)} is not a finite number")
