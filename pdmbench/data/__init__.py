"""Data sets: by name from the registry, by path from a file of one's own.

:func:`load` reads the cache if it can; only then are files fetched, parsed and packed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pdmbench.data import cache, registry, sources
from pdmbench.data.classes import choose
from pdmbench.data.registry import DataSetSpec, names
from pdmbench.patterns import Patterns

__all__ = ["DataSet", "DataSetSpec", "clear", "describe", "load", "names"]


@dataclass(frozen=True)
class DataSet:
    """Patterns with labels.

    Attributes
    ----------
    name : str
        What records and tables call it.
    patterns : Patterns
        Memory-mapped.
    labels : ndarray of int8, shape (m,)
        ±1.
    delta : float or None
        Δ of the extended space that belongs to the set; None for a file of one's own.
    notes : tuple of str
        What a run must say: which label is +1, that indices count from 0.
    digest : str
        sha256 of the source file or files, or of what the generator was told.
    positives : int
        Number of patterns labelled +1.
    """

    name: str
    patterns: Patterns
    labels: np.ndarray
    delta: float | None
    notes: tuple[str, ...]
    digest: str
    positives: int


def load(
    source: str | os.PathLike[str],
    positive: str | None = None,
    report: Callable[[str], None] | None = None,
) -> DataSet:
    """A data set, from the cache if it is there, else into the cache first.

    Parameters
    ----------
    source : str or path
        A registered name, the path of a TOML file, or that of a LIBSVM file, plain or packed.
    positive : str, optional
        The label that is +1 against the rest; by default the registry's, else the larger of two.
    report : callable, optional
        Gets one-line notes while files are fetched.

    Returns
    -------
    DataSet

    Raises
    ------
    DataError
        A file is not what it should be; nothing is cached.
    DownloadError
        A file could not be had.
    UsageError
        There is no such data set.
    """
    origin = sources.find(os.fspath(source))
    spec = origin.spec
    if positive is None and spec is not None:
        positive = spec.positive
    entry = cache.find(origin.key)
    if entry is None or not origin.is_current(entry):
        entry = cache.make(
            origin.key, lambda folder: origin.fill(folder, positive, report), origin.is_current
        )

    m = entry.patterns.m
    chosen, note = choose(entry.classes, m, positive, origin.name)
    positives = entry.classes.counts[entry.classes.names.index(chosen)]
    if spec is not None:
        for fact, found in (("m", m), ("n", entry.patterns.n), ("nnz", entry.patterns.nnz)):
            sources.check_fact(spec, fact, found)
        if positive == spec.positive:
            sources.check_fact(spec, "positives", positives)
    from_zero = entry.base == 0 and (spec is None or spec.format == "libsvm")
    return DataSet(
        name=origin.name,
        patterns=entry.patterns,
        labels=entry.classes.labels(chosen, m),
        delta=spec.delta if spec else None,
        notes=(*([note] if note else []), *(["indices count from 0: index 0 occurs"] if from_zero else [])),
        digest=entry.digest,
        positives=positives,
    )


def describe(source: str | os.PathLike[str]) -> DataSetSpec:
    """What the registry or a TOML file says of a data set, without reading the data."""
    return registry.get(source)


def clear(source: str | os.PathLike[str] | None = None) -> int:
    """Remove the cached patterns of one data set, or of all; files fetched or placed by hand stay.

    Returns
    -------
    int
        Bytes freed.
    """
    return cache.clear(None if source is None else sources.find(os.fspath(source)).key)
