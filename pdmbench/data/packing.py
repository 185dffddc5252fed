"""What a file is by its first bytes, and the bytes inside packed ones."""

from __future__ import annotations

import hashlib
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz"}
_BLOCK = 1 << 20
_HEAD = 512


def kind(path: Path) -> str | None:
    """``"gz"``, ``"bz2"``, ``"xz"``, or None for a file that is not packed; names do not matter."""
    head = _head(path)
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)


def is_web_page(path: Path) -> bool:
    """Whether a file, unpacked, begins like HTML or XML, as no data do: a server's page under its name."""
    try:
        with open_unpacked(path) as stream:
            head = stream.read(_HEAD)
    except ValueError:  # broken, which is another fault
        return False
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<")


@contextmanager
def open_unpacked(path: Path, member: str | None = None) -> Iterator[BinaryIO]:
    """The bytes inside a gzip, bzip2 or xz file (of several streams too), or of a plain file, as a stream.

    Parameters
    ----------
    path : Path
        The file.
    member : str, optional
        The file wanted from a tar archive, with or without the folders in front of its name.

    Raises
    ------
    ValueError
        The file is broken or has no such member; raised while reading, too.
    """
    import bz2
    import gzip
    import lzma
    import tarfile

    opener = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}.get(kind(path) or "", open)
    try:
        with opener(path, "rb") as stream:
            if member is None:
                yield stream
                return
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                for entry in archive:
                    if entry.isfile() and (entry.name == member or entry.name.endswith(f"/{member}")):
                        yield archive.extractfile(entry)
                        return
            raise ValueError(f"it has no member {member}")
    except (EOFError, lzma.LZMAError, tarfile.TarError, zlib.error) as error:
        raise ValueError(f"it cannot be unpacked: {error}") from error
    except OSError as error:
        if error.errno is not None:  # the disk's, not the decompressor's, which sets no number
            raise
        raise ValueError(f"it cannot be unpacked: {error}") from error


def digest(stream: BinaryIO) -> tuple[str, int]:
    """The sha256 of a stream and its length in bytes."""
    hasher, size = hashlib.sha256(), 0
    while block := stream.read(_BLOCK):
        hasher.update(block)
        size += len(block)
    return hasher.hexdigest(), size


def sha256(path: Path) -> str:
    """The sha256 of a file as it lies there, packed or not."""
    with open(path, "rb") as stream:
        return digest(stream)[0]


def _head(path: Path) -> bytes:
    with open(path, "rb") as stream:
        return stream.read(_HEAD)
