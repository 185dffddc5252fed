"""Pattern matrices on disk, ready to be memory-mapped.

An entry is a folder ``sets/<key>`` with the arrays of the matrix, the members of its classes and a
``manifest.json``. It is written under another name and renamed when complete, under a lock. Reading needs
no lock: an entry that is incomplete, damaged or of another version counts as absent.
"""

from __future__ import annotations

import errno
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pdmbench.data.classes import Classes
from pdmbench.data.writer import Packed
from pdmbench.errors import DataError, PdmbenchError
from pdmbench.paths import root
from pdmbench.patterns import LAYOUTS, Patterns

VERSION = 4
_MAGIC = "pdmbench patterns"


@dataclass(frozen=True)
class Entry:
    """A pattern matrix and its classes, memory-mapped.

    Attributes
    ----------
    patterns : Patterns
    classes : Classes
    base : int
        The first index in the source: 0 or 1.
    digest : str
        sha256 of what it was made from.
    source : dict
        What else the maker wants to know of it.
    """

    patterns: Patterns
    classes: Classes
    base: int
    digest: str
    source: dict[str, Any]


class Made(NamedTuple):
    """What goes into the manifest of a new entry."""

    packed: Packed
    classes: Classes
    digest: str
    source: dict[str, Any]


def find(key: str) -> Entry | None:
    """The entry of this name, None if there is none that is whole."""
    folder = _folder() / key
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        if (manifest["format"], manifest["version"]) != (_MAGIC, VERSION):
            return None
        arrays = {name: _map(folder, name, facts) for name, facts in manifest["arrays"].items()}
        members = arrays.pop("members")
        patterns = Patterns(LAYOUTS[manifest["layout"]](**arrays), manifest["n"], manifest["nnz"])
        classes = Classes(tuple(manifest["classes"]), tuple(manifest["counts"]), members)
        return Entry(patterns, classes, manifest["base"], manifest["digest"], manifest["source"])
    except (OSError, EOFError, ValueError, TypeError, KeyError, AttributeError):
        return None


def make(
    key: str,
    fill: Callable[[Path], Made],
    is_current: Callable[[Entry], bool],
) -> Entry:
    """Make an entry, or take the one that another process has made meanwhile.

    Parameters
    ----------
    key : str
        Its name.
    fill : callable
        Writes the arrays into a folder. What it raises leaves no entry.
    is_current : callable
        Whether an entry that is there is the one to make.
    """
    with _writing(key) as locked:
        entry = find(key)
        if entry is not None and is_current(entry):
            return entry
        for left in locked.glob(f".{key}.*"):  # by a process that was killed
            shutil.rmtree(left, ignore_errors=True)
        building = Path(tempfile.mkdtemp(prefix=f".{key}.", dir=locked))
        try:
            _complete(building, fill(building))
            building.chmod(0o755)  # mkdtemp's are for their owner alone
            shutil.rmtree(locked / key, ignore_errors=True)
            building.rename(locked / key)
        finally:
            shutil.rmtree(building, ignore_errors=True)
        entry = find(key)
    if entry is None:
        raise DataError("the entry just written cannot be read", str(_folder() / key), "try again")
    return entry


def amend(key: str, source: dict[str, Any]) -> None:
    """Replace what is known of the source of an entry; in a cache that cannot be written nothing changes."""
    with suppress(OSError, ValueError, DataError), _writing(key) as folder:
        path = folder / key / "manifest.json"
        manifest = json.loads(path.read_text(encoding="utf-8"))
        new = path.with_name("manifest.new")
        new.write_text(json.dumps(manifest | {"source": source}, indent=1), encoding="utf-8")
        new.replace(path)


def clear(key: str | None = None) -> int:
    """Remove one entry, or all and what killed processes left; returns the bytes freed."""
    freed = 0
    for path in [path for path in _folder().glob("*") if path.is_dir()]:
        name = path.name[1:].rpartition(".")[0] if path.name.startswith(".") else path.name
        if key in (None, name):
            with _writing(name):
                freed += sum(file.stat().st_size for file in path.glob("*"))
                shutil.rmtree(path, ignore_errors=True)
    return freed


def _folder() -> Path:
    return root() / "sets"


def _map(folder: Path, name: str, facts: list[Any]) -> np.ndarray:
    # Copy on write: kernels are compiled for writable arrays, as active sets are; nothing is ever written.
    array = np.load(folder / f"{name}.npy", mmap_mode="c")
    if [array.dtype.str, list(array.shape)] != facts:
        raise ValueError(f"{name} is not the array of the manifest")
    return array.view(np.ndarray)


def _complete(folder: Path, made: Made) -> None:
    """Add the members of the classes and the manifest."""
    np.save(folder / "members.npy", made.classes.members)
    arrays = {file.stem: np.load(file, mmap_mode="r") for file in sorted(folder.glob("*.npy"))}
    manifest = {
        "format": _MAGIC,
        "version": VERSION,
        **made.packed._asdict(),
        "classes": made.classes.names,
        "counts": made.classes.counts,
        "digest": made.digest,
        "source": made.source,
        "arrays": {name: [array.dtype.str, array.shape] for name, array in arrays.items()},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")


@contextmanager
def _writing(key: str) -> Iterator[Path]:
    """The folder of entries, with the lock of one of them held."""
    from filelock import FileLock

    folder = _folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = folder / f"{key}.lock"
        with FileLock(lock):
            try:
                yield folder
            except PdmbenchError:  # whoever waits will fail, too: a file that is wrong leaves no trace
                with suppress(OSError):
                    lock.unlink()
                raise
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM):
            raise
        raise DataError(
            f"the cache cannot be written: {error.strerror}",
            str(folder),
            "PDMBENCH_CACHE names another folder",
        ) from error
