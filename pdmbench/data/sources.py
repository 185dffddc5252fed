"""Where a data set comes from: how its cache entry is named, when that is up to date, how it is made."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pdmbench.data import cache, packing, registry
from pdmbench.data.cache import Entry, Made
from pdmbench.data.classes import choose
from pdmbench.data.registry import DataSetSpec
from pdmbench.errors import DataError

Report = Callable[[str], None]


@dataclass(frozen=True)
class OwnFile:
    """A LIBSVM file given by its path.

    Attributes
    ----------
    name : str
        The path as the user gave it.
    """

    name: str
    spec: None = None

    @property
    def key(self) -> str:
        """Name of the cache entry."""
        path = Path(self.name).resolve()
        return f"{path.name[:40]}-{_hash(str(path))[:12]}"  # a longer name might leave no room for the rest

    def is_current(self, entry: Entry) -> bool:
        """Whether the file is still the one the entry was made of; it is hashed only when it was touched."""
        stat = _stat(Path(self.name))
        if stat == entry.source:
            return True
        if packing.sha256(Path(self.name)) != entry.digest:
            return False
        cache.amend(self.key, stat)
        return True

    def fill(self, folder: Path, positive: str | None, report: Report | None) -> Made:
        """Parse the file into a folder."""
        from pdmbench.data.formats import libsvm

        path = Path(self.name)
        stat = _stat(path)
        with ThreadPoolExecutor(1) as thread:
            digest = thread.submit(packing.sha256, path)
            packed, labels = _write(folder, libsvm.blocks([path]), libsvm.base)
            _expect_examples(packed, self.name)
            classes = libsvm.classes(labels, [path])
            choose(classes, packed.m, positive, self.name)
            return Made(packed, classes, digest.result(), stat)


@dataclass(frozen=True)
class Registered:
    """A data set of the registry, or of a TOML file given by its path."""

    spec: DataSetSpec

    @property
    def name(self) -> str:
        """What records call it."""
        return self.spec.name

    @property
    def key(self) -> str:
        """Name of the cache entry; tasks on the same patterns share it."""
        return f"{self.spec.folder}-{_hash(self._made_of())[:12]}"

    def is_current(self, entry: Entry) -> bool:
        """Published hashes are in the key; a file without one must not have changed since it was read."""
        return all(
            not path.exists() or _stat(path) == entry.source.get(path.name) for path in self._without_hash()
        )

    def fill(self, folder: Path, positive: str | None, report: Report | None) -> Made:
        """Have the files, parse them into a folder, compare them with the registry."""
        spec = self.spec
        if spec.generator:
            from pdmbench.data import builtin
            from pdmbench.data.classes import by_value

            packed, labels = _write(folder, builtin.blocks(spec), 0, spec.rescale)
            classes, digest, source = by_value(labels), _hash(self._made_of()), {}
        else:
            from pdmbench.data import download, formats

            paths = download.fetch(spec, report)
            source = {path.name: _stat(path) for path in self._without_hash()}
            reader = formats.reader(spec.format)
            packed, labels = _write(folder, reader.blocks(paths, spec), reader.base, spec.rescale)
            _expect_examples(packed, self.name)
            classes = reader.classes(labels, paths)
            digest = _digest(spec, paths)
        chosen, _ = choose(classes, packed.m, positive, self.name)
        for fact in ("m", "n", "nnz"):
            check_fact(spec, fact, getattr(packed, fact))
        if positive == spec.positive:
            check_fact(spec, "positives", classes.counts[classes.names.index(chosen)])
        return Made(packed, classes, digest, source)

    def _made_of(self) -> str:
        spec = self.spec
        facts = [spec.rescale, spec.drop, spec.missing]
        if spec.generator:
            return json.dumps([spec.generator, spec.m, spec.n, sorted(spec.parameters), *facts])
        files = [(f.name, f.sha256, f.unpacked_sha256, f.member) for f in spec.files]
        return json.dumps([spec.format, files, *facts])

    def _without_hash(self) -> Iterator[Path]:
        from pdmbench.data.download import place

        for file, path in zip(self.spec.files, place(self.spec), strict=True):
            if not (file.sha256 or file.unpacked_sha256):
                yield path


def find(source: str) -> OwnFile | Registered:
    """What a name or path means; a registered name goes before a file that happens to be called so.

    Raises
    ------
    UsageError
        No such data set, or a TOML file that does not describe one.
    DataError
        No such file.
    """
    if not source.endswith(".toml") and source not in registry.names():
        path = Path(source)
        if path.is_file():
            try:
                str(path.resolve()).encode()
            except UnicodeEncodeError:  # records are text
                raise DataError("its path is no text in this locale", ascii(source), "rename it") from None
            return OwnFile(source)
        if path.is_dir():
            raise DataError("is a folder", source, "give the path of a data file")
        if path.suffix or len(path.parts) > 1:
            raise DataError(
                "no such file", source, "pdmbench datasets list shows the data sets known by name"
            )
    return Registered(registry.get(source))


def check_fact(spec: DataSetSpec, fact: str, found: int) -> None:
    """Compare a number with the registry's.

    Raises
    ------
    DataError
        They differ.
    """
    from pdmbench.data.download import place

    expected = getattr(spec, fact)
    if expected is not None and found != expected:
        folders = {str(path.parent) for path in place(spec)}
        raise DataError(
            f"{fact} is {found}, but {spec.origin.name} says {expected}",
            spec.name,
            f"to have the files fetched anew, empty {folders.pop()}" if folders else None,
        )


def _write(
    folder: Path, blocks: Iterator[Any], base: int | None, rescale: float = 1.0
) -> tuple[Any, np.ndarray]:
    """Write all blocks; what was written, and the labels in float64[m]."""
    from pdmbench.data.formats import ahead
    from pdmbench.data.writer import LayoutWriter

    writer, labels = LayoutWriter(folder, base), [np.empty(0)]
    for block in ahead(blocks):
        writer.append(block if rescale == 1.0 else block._replace(values=block.values * rescale))
        labels.append(block.labels.copy())  # a view would keep the whole block
    return writer.finish(), np.concatenate(labels)


def _expect_examples(packed: Any, where: str) -> None:
    if packed.m == 0:
        raise DataError("has no examples", where, "is it the right file?")
    if packed.n == 0:
        raise DataError("has no features: every example is a label alone", where, "is it the right file?")


def _digest(spec: DataSetSpec, paths: tuple[Path, ...]) -> str:
    """The sha256 of a single file, or of the list of all files' sha256."""
    known = [file.sha256 or packing.sha256(path) for file, path in zip(spec.files, paths, strict=True)]
    return known[0] if len(known) == 1 else _hash("\n".join(known))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _stat(path: Path) -> dict[str, int]:
    """What changes when a file is written anew."""
    stat = os.stat(path)
    return {"size": stat.st_size, "modified": stat.st_mtime_ns, "inode": stat.st_ino}
