"""The m × n pattern matrix in the one of three layouts that fits its data best.

The layout is a function of the data alone; kernels are compiled per layout (:mod:`pdmbench.kernels.rows`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import scipy.sparse

DENSE_FROM = 0.5  # stored as a full matrix from this share of non-zeros on: an index costs as much as a value


# Weight vectors as kernels see them: three slots that stay zero, the bias, after a cache line the features.
BIAS = 3
HEAD = 8  # a cache line
GROUP = 4  # sparse rows are padded to whole groups with the zero slots: one loop, no ragged end to mispredict
DENSE_GROUP = 8  # dense rows are padded with zero columns
CACHE_LINE = 64  # bytes


class ConstantRows(NamedTuple):
    """Padded CSR whose rows each hold one repeated value (binary data): no value array."""

    indptr: np.ndarray  # int64[m + 1], multiples of GROUP
    indices: np.ndarray  # uint16 or uint32: HEAD + feature; padding 0, 1, 2
    value: np.ndarray  # float64[m]


class SparseRows(NamedTuple):
    """Padded CSR."""

    indptr: np.ndarray  # int64[m + 1], multiples of GROUP
    indices: np.ndarray  # uint16 or uint32: HEAD + feature; padding 0, 1, 2
    data: np.ndarray  # float32 where that is exact, else float64; padding 0


class DenseRows(NamedTuple):
    """A full matrix, padded with zero columns."""

    data: np.ndarray  # float32[m, padded n] where that is exact, else float64


Rows = ConstantRows | SparseRows | DenseRows
LAYOUTS: dict[str, type] = {"constant": ConstantRows, "sparse": SparseRows, "dense": DenseRows}


def index_dtype(n: int) -> type:
    """Smallest unsigned index type for n features behind the head of a weight vector."""
    return np.uint16 if n + HEAD <= 2**16 else np.uint32


def aligned(shape: int | tuple[int, ...], dtype: type) -> np.ndarray:
    """Uninitialised memory from a cache line on: loads across lines slow dense runs by a fifth."""
    shape = (shape,) if isinstance(shape, int) else shape
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.empty(size + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + size].view(dtype).reshape(shape)


def weight_slots(n: int) -> int:
    """Length of a weight vector as kernels see it."""
    return HEAD + padded_columns(n)


def padded_columns(n: int) -> int:
    """Columns of a dense row of n features."""
    return -(-n // DENSE_GROUP) * DENSE_GROUP


def group_places(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Padded lengths of rows, and the place of each of their entries among the padded ones."""
    padded = -(-lengths // GROUP) * GROUP
    shift = (np.cumsum(padded) - padded) - (np.cumsum(lengths) - lengths)
    return padded, np.repeat(shift, lengths) + np.arange(int(lengths.sum()))


def pad_rows(
    lengths: np.ndarray, indices: np.ndarray, values: np.ndarray | None, dtype: type
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Pad rows to whole groups.

    Parameters
    ----------
    lengths : ndarray of int64
        Entries of each row.
    indices : ndarray of int
        Features, counted from 0, row after row.
    values : ndarray of float64 or None
        Their values; None where a layout has none.
    dtype : type
        Of the indices that come back.

    Returns
    -------
    lengths, indices, values
        The same, padded; the indices count from HEAD.
    """
    padded, place = group_places(lengths)
    total = int(padded.sum())
    # The k-th position of a group can only be padding for k ≥ 1: slots 0, 1, 2.
    padded_indices = np.tile(np.arange(-1, GROUP - 1).astype(dtype), total // GROUP)
    padded_indices[place] = indices + HEAD
    if values is None:
        return padded, padded_indices, None
    padded_values = np.zeros(total)
    padded_values[place] = values
    return padded, padded_indices, padded_values


def exact_dtype(values: np.ndarray) -> type:
    """float32 where every value survives the round trip, else float64."""
    with np.errstate(over="ignore", under="ignore"):
        return (
            np.float32 if np.array_equal(values.astype(np.float32).astype(np.float64), values) else np.float64
        )


@dataclass(frozen=True)
class Patterns:
    """A pattern matrix X.

    Attributes
    ----------
    rows : ConstantRows, SparseRows or DenseRows
    n : int
        Number of features (columns).
    nnz : int
        Stored non-zeros, whatever the layout.
    """

    rows: Rows
    n: int
    nnz: int

    @property
    def m(self) -> int:
        """Number of patterns (rows)."""
        return self.rows.data.shape[0] if isinstance(self.rows, DenseRows) else len(self.rows.indptr) - 1

    @property
    def layout(self) -> str:
        """``constant``, ``sparse`` or ``dense``."""
        return next(name for name, kind in LAYOUTS.items() if isinstance(self.rows, kind))

    @classmethod
    def from_csr(cls, matrix: scipy.sparse.csr_array, layout: str | None = None) -> Patterns:
        """Lay out a CSR matrix with sorted, distinct column indices and no explicit zeros.

        Parameters
        ----------
        matrix : scipy.sparse.csr_array of shape (m, n)
        layout : {"constant", "sparse", "dense"}, optional
            Default: what fits the data. Naming one is for comparing layouts.

        Raises
        ------
        ValueError
            When the data do not fit the layout that was named.
        """
        m, n = matrix.shape
        indptr = np.asarray(matrix.indptr, dtype=np.int64)
        value = _row_value(indptr, matrix.data)
        if layout is None:
            density = matrix.nnz / max(1, m * n)
            layout = "constant" if value is not None else "dense" if density >= DENSE_FROM else "sparse"
        if layout == "constant" and value is None:
            raise ValueError("rows hold more than one value: not a constant layout")
        if layout == "dense":
            full = aligned((m, padded_columns(n)), exact_dtype(matrix.data))
            full[:, n:] = 0.0
            full[:, :n] = matrix.toarray()
            return cls(DenseRows(full), n, int(matrix.nnz))
        values = None if layout == "constant" else np.asarray(matrix.data, dtype=np.float64)
        lengths, indices, values = pad_rows(np.diff(indptr), matrix.indices, values, index_dtype(n))
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        if layout == "constant":
            rows: Rows = ConstantRows(indptr, indices, value)
        else:
            rows = SparseRows(indptr, indices, values.astype(exact_dtype(values)))
        return cls(rows, n, int(matrix.nnz))

    def to_csr(self) -> scipy.sparse.csr_array:
        """The matrix as float64 CSR with 32-bit indices, a copy: for libraries that want one."""
        import scipy.sparse

        rows = self.rows
        if isinstance(rows, DenseRows):
            return scipy.sparse.csr_array(rows.data[:, : self.n].astype(np.float64))
        entries = rows.indices >= HEAD
        before = np.concatenate([[0], np.cumsum(entries)])
        indptr = before[rows.indptr]
        if isinstance(rows, ConstantRows):
            data = np.repeat(rows.value, np.diff(indptr))
        else:
            data = rows.data[entries].astype(np.float64)
        indptr = indptr.astype(np.int32 if self.nnz < 2**31 else np.int64)
        indices = rows.indices[entries].astype(indptr.dtype) - HEAD
        return scipy.sparse.csr_array((data, indices, indptr), shape=(self.m, self.n))


def _row_value(indptr: np.ndarray, data: np.ndarray) -> np.ndarray | None:
    """The one value of each row (1 for an empty row), None when some row holds two."""
    filled = np.diff(indptr) > 0
    value = np.ones(len(indptr) - 1)
    value[filled] = data[indptr[:-1][filled]]
    return value if np.array_equal(np.repeat(value, np.diff(indptr)), data) else None
