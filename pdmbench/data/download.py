"""Fetching the files of a data set: from a mirror, then from where they are published.

Built on requests rather than pooch, which neither resumes a broken transfer, nor keeps two processes from
fetching the same file, nor tries a second address, nor hashes unpacked content: nothing would be saved.

A file is received as ``<name>.part``, verified, and only then renamed; so a file that bears its own name is
whole, whenever and however a process ended. ``<name>.part.json`` says which version of which address it is.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from pdmbench import paths
from pdmbench.data import verify
from pdmbench.data.transfer import Failed, Part, Report, download, tell
from pdmbench.errors import DataError, DownloadError

if TYPE_CHECKING:
    from pdmbench.data.registry import DataSetSpec, FileSpec


def place(spec: DataSetSpec) -> list[Path]:
    """Where the files of a data set lie, or would: the place for those fetched by hand."""
    return [paths.root() / "raw" / spec.folder / file.name for file in spec.files]


def fetch(spec: DataSetSpec, report: Report | None = None) -> tuple[Path, ...]:
    """Have the files of a data set on disk, verified, packed as published.

    Files that lie in their place are verified and used. At most one process fetches a file; others wait.

    Parameters
    ----------
    spec : DataSetSpec
        A data set with files; a built-in one has none.
    report : callable, optional
        Gets one-line notes. Without it no progress bar is shown either.

    Returns
    -------
    tuple of Path
        In the order of ``spec.files``.

    Raises
    ------
    DataError
        A file in its place is not the right one.
    DownloadError
        A file could not be had; the message lists all that was tried.
    """
    return tuple(
        _fetch(spec, file, target, report) for file, target in zip(spec.files, place(spec), strict=True)
    )


def _fetch(spec: DataSetSpec, file: FileSpec, target: Path, report: Report | None) -> Path:
    try:
        if target.is_file():
            _verify_in_place(file, target)
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        with _alone(target, report):
            if target.is_file():  # another process has fetched it meanwhile
                _verify_in_place(file, target)
            else:
                _acquire(spec, file, target, report)
    except OSError as error:
        raise DownloadError(
            error.strerror or str(error), str(error.filename or target), "PDMBENCH_CACHE names another folder"
        ) from error
    return target


def _verify_in_place(file: FileSpec, target: Path) -> None:
    if wrong := verify.fault(target, file, target):
        raise DataError(wrong, str(target), "remove it to have it fetched again")
    if os.access(target.parent, os.W_OK):
        verify.remember(target, file, target)


@contextmanager
def _alone(target: Path, report: Report | None) -> Iterator[None]:
    """Hold the lock of a file; the system frees it when its holder ends, however that ends."""
    from filelock import FileLock, Timeout

    lock = FileLock(f"{target}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        tell(report, f"{target.name}: waiting for another process that is fetching it")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _acquire(spec: DataSetSpec, file: FileSpec, target: Path, report: Report | None) -> None:
    """Try each source in turn until one gives the right file."""
    part = Part(target)
    tried = []
    for source in _sources(spec, file):
        try:
            _receive(source, part, file, report)
        except Failed as error:
            tried.append(f"{source}: {error}")
            tell(report, f"{file.name}: {tried[-1]}")
            continue
        verify.remember(part.path, file, target)
        part.finish()
        return
    if _offline():
        tried.append("PDMBENCH_OFFLINE is set, so no server was asked")
    raise DownloadError(
        f"could not be had. Tried: {'; '.join(tried) or 'nothing, no address is known'}",
        f"{spec.name}, file {file.name}",
        f"to place the file by hand, save it as {target}",
    )


def _offline() -> bool:
    return os.environ.get("PDMBENCH_OFFLINE", "") not in ("", "0")


def _sources(spec: DataSetSpec, file: FileSpec) -> list[Path | str]:
    """The mirror's file, then the published addresses."""
    sources: list[Path | str] = list(file.urls)
    if mirror := os.environ.get("PDMBENCH_MIRROR"):
        if re.match("https?://", mirror):
            sources.insert(0, f"{mirror.rstrip('/')}/{quote(spec.folder)}/{quote(file.name)}")
        else:
            sources.insert(0, Path(mirror).expanduser() / spec.folder / file.name)
    return [source for source in sources if isinstance(source, Path) or not _offline()]


def _receive(source: Path | str, part: Part, file: FileSpec, report: Report | None) -> None:
    """Bring a right file into the part, or raise Failed."""
    resumed = download(source, part, report) if isinstance(source, str) else _copy(source, part)
    wrong = verify.fault(part.path, file, part.target)
    if wrong and resumed:  # two versions of the file may have met in it
        part.discard()
        tell(report, f"{file.name}: {wrong}; fetching it from the start")
        download(source, part, report)
        wrong = verify.fault(part.path, file, part.target)
    if wrong:
        part.discard()
        raise Failed(wrong)


def _copy(source: Path, part: Part) -> bool:
    """Copy a mirror's file. False: a copy is never continued."""
    try:
        original = source.open("rb") if source.is_file() else None
    except OSError as error:
        raise Failed(error.strerror or str(error)) from error
    if original is None:
        raise Failed("no such file")
    part.discard()
    with original, open(part.path, "wb") as copy:
        part.need(os.fstat(original.fileno()).st_size)
        shutil.copyfileobj(original, copy, 1 << 20)
    return False
