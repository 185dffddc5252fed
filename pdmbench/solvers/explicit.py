"""The extended space written out, for libraries that take rows and know no Δ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdmbench.patterns import ConstantRows, DenseRows, Patterns

if TYPE_CHECKING:
    import scipy.sparse

    from pdmbench.problem import MarginProblem

BLOCK = 1 << 14  # rows handled at a time: what is copied beside the result stays small


class Block(NamedTuple):
    """Some consecutive rows, and where they go in arrays that leave room at the end of each row."""

    rows: slice
    places: slice  # of the whole block, room included
    ends: np.ndarray  # int64[rows], the place after each row's last
    features: np.ndarray  # bool[places], true where a feature goes
    indices: np.ndarray  # from 0
    values: np.ndarray


def blocks(patterns: Patterns, room: int) -> Iterator[Block]:
    """Walk over the non-zeros of all rows, whatever their layout.

    Parameters
    ----------
    patterns : Patterns
    room : int
        Places left free after the features of each row.
    """
    end = 0
    for first in range(0, patterns.m, BLOCK):
        rows = slice(first, min(first + BLOCK, patterns.m))
        part = _part(patterns, rows).to_csr()
        begin, ends = end, end + np.cumsum(np.diff(part.indptr).astype(np.int64) + room)
        end = int(ends[-1])
        features = np.ones(end - begin, dtype=bool)
        for place in range(1, room + 1):
            features[ends - begin - place] = False
        yield Block(rows, slice(begin, end), ends, features, part.indices, part.data)


def _part(patterns: Patterns, rows: slice) -> Patterns:
    """Some consecutive rows, in the same layout and without copying their entries."""
    stored = patterns.rows
    if isinstance(stored, DenseRows):
        part = DenseRows(stored.data[rows])
        return Patterns(part, patterns.n, part.data.size)
    pointer = stored.indptr[rows.start : rows.stop + 1]
    entries = slice(pointer[0], pointer[-1])
    values = stored.value[rows] if isinstance(stored, ConstantRows) else stored.data[entries]
    part = type(stored)(pointer - pointer[0], stored.indices[entries], values)
    return Patterns(part, patterns.n, len(part.indices))


def extended_matrix(problem: MarginProblem) -> scipy.sparse.csr_matrix:
    """[X, Δ·1], the patterns with their m extra dimensions and no bias; X itself where Δ = 0.

    Returns
    -------
    csr_matrix of shape (m, n + m), float64, with 32-bit indices where they suffice
    """
    import scipy.sparse

    room = int(problem.delta > 0.0)
    size, width = problem.nnz + room * problem.m, problem.n + room * problem.m
    index = np.int32 if max(size, width) < 2**31 else np.int64
    data, indices = np.empty(size), np.empty(size, dtype=index)
    pointer = np.zeros(problem.m + 1, dtype=index)
    for block in blocks(problem.patterns, room):
        data[block.places][block.features] = block.values
        indices[block.places][block.features] = block.indices
        pointer[1:][block.rows] = block.ends
    if room:
        data[pointer[1:] - 1] = problem.delta
        indices[pointer[1:] - 1] = np.arange(problem.n, width)
    return scipy.sparse.csr_matrix((data, indices, pointer), shape=(problem.m, width), copy=False)
