"""What makes a file the right one: its hash, packed or unpacked, or that of its first download."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from pdmbench.data import packing

if TYPE_CHECKING:
    from pdmbench.data.registry import FileSpec


def fault(path: Path, file: FileSpec, target: Path) -> str | None:
    """Compare a file with what is known of it.

    Parameters
    ----------
    path : Path
        The file as it lies there.
    file : FileSpec
        What is published about it. Without a hash, that of the first download is used; without that one, a
        file is right when it has the published size and can be unpacked.
    target : Path
        Its place in the cache, beside which the first download's hash is noted.

    Returns
    -------
    str or None
        What is wrong with it, as a clause; None when it is right.
    """
    size = path.stat().st_size
    if size == 0:
        return "it is empty"
    if packing.is_web_page(path):
        return "it is a web page (a server's error page?), not data"
    expected = file.sha256 or (None if file.unpacked_sha256 else _remembered(target))
    actual = packing.sha256(path) if expected else None
    if expected and actual == expected:
        return None
    if file.unpacked_sha256:  # the content counts, however it is packed
        wrong = _wrong_content(path, file)
        return wrong and (_wrong_size(path, size, file) or wrong)
    if wrong := _wrong_size(path, size, file):
        return wrong
    if file.sha256:
        return f"its sha256 is {actual}, not {expected}"
    if expected:
        return f"its sha256 is {actual}, and was {expected} at its first download ({_note(target)})"
    return _wrong_content(path, file)


def remember(path: Path, file: FileSpec, target: Path) -> None:
    """Where no hash is published, note the first download's beside `target`, for ``sha256sum -c`` too."""
    note = _note(target)
    if file.sha256 or file.unpacked_sha256 or note.exists():
        return
    unfinished = note.with_name(f"{note.name}.{os.getpid()}")
    unfinished.write_text(f"{packing.sha256(path)}  {target.name}\n", encoding="utf-8")
    unfinished.replace(note)


def _note(target: Path) -> Path:
    return target.with_name(f"{target.name}.sha256")


def _remembered(target: Path) -> str | None:
    try:
        known = re.match(r"[0-9a-f]{64}\b", _note(target).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return known.group() if known else None


def _wrong_content(path: Path, file: FileSpec) -> str | None:
    try:
        with packing.open_unpacked(path, file.member) as stream:
            actual, size = packing.digest(stream)
    except ValueError as error:
        return str(error)
    if file.unpacked_sha256 in (None, actual):
        return None
    if file.unpacked_bytes and size != file.unpacked_bytes:
        return f"it unpacks to {size} bytes instead of {file.unpacked_bytes}"
    return f"the sha256 of its content is {actual}, not {file.unpacked_sha256}"


def _wrong_size(path: Path, size: int, file: FileSpec) -> str | None:
    if file.bytes is None or size == file.bytes:
        return None
    if size > file.bytes:
        return f"it has {size} bytes, {size - file.bytes} more than {file.bytes}"
    with open(path, "rb") as stream:
        stream.seek(-1, os.SEEK_END)
        within_line = stream.read() != b"\n" and packing.kind(path) is None
    end = " and the last line is cut" if within_line else ""
    return f"it has {size} bytes, {file.bytes - size} fewer than {file.bytes}{end}"
