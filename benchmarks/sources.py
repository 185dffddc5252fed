"""What is measured on: ``NAME_OR_PATH[@DELTA]``, names of generated sets among them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import generate
from pdmbench import data
from pdmbench.errors import UsageError
from pdmbench.patterns import HEAD, ConstantRows, DenseRows, Patterns
from pdmbench.problem import MarginProblem, default_delta


@dataclass(frozen=True)
class Source:
    """A data set and Δ.

    Attributes
    ----------
    path : str
        What :func:`pdmbench.data.load` takes.
    name : str
        What tables call it.
    delta : float or None
        None: the set's own, else about R/10.
    """

    path: str
    name: str
    delta: float | None

    def problem(self, m: int | None = None) -> MarginProblem:
        """The margin problem on the first m patterns, all by default; Δ is that of the whole set."""
        found = data.load(self.path)
        patterns, labels = found.patterns, found.labels
        delta = found.delta if self.delta is None else self.delta
        if delta is None:
            delta = default_delta(MarginProblem(patterns, labels, 0.0).R)
        if m is not None and m < patterns.m:
            patterns, labels = prefix(patterns, m), labels[:m]
        return MarginProblem(patterns, labels, delta)


def parse(text: str, folder: Path) -> Source:
    """Read ``NAME_OR_PATH[@DELTA]``; a generated set is made in ``folder`` unless it is there.

    Raises
    ------
    UsageError
        Δ is not a number.
    """
    path, at, number = text.rpartition("@")
    if not at:
        path, number = text, ""
    try:
        delta = float(number) if number else None
    except ValueError:
        raise UsageError(f"Δ is not a number: {number}", text, "write NAME_OR_PATH@DELTA") from None
    if path in generate.SETS:
        delta = generate.SETS[path].delta if delta is None else delta
        return Source(str(generate.ensure(path, folder)), path, delta)
    return Source(path, Path(path).stem if "/" in path else path, delta)


def prefix(patterns: Patterns, m: int) -> Patterns:
    """The first m patterns, without copying an entry."""
    rows = patterns.rows
    if isinstance(rows, DenseRows):
        few = DenseRows(rows.data[:m])
        return Patterns(few, patterns.n, int(np.count_nonzero(few.data)))
    end = int(rows.indptr[m])
    few = rows._replace(indptr=rows.indptr[: m + 1], indices=rows.indices[:end])
    few = (
        few._replace(value=few.value[:m])
        if isinstance(few, ConstantRows)
        else few._replace(data=few.data[:end])
    )
    return Patterns(few, patterns.n, int(np.count_nonzero(few.indices >= HEAD)))


def bytes_per_product(patterns: Patterns) -> float:
    """Bytes streamed for one product a·y_k: the stored row, its pointer, l_k and I_k; ā stays in cache."""
    rows = patterns.rows
    stored = sum(array.nbytes for array in rows)
    return stored / patterns.m + 2 * 8
