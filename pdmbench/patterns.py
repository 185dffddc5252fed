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


class ConstantRows(NamedTuple):
    """CSR whose rows each hold one repeated value (binary data): no value array."""

    indptr: np.ndarray  # int64[m + 1]
    indices: np.ndarray  # uint16[nnz] or uint32[nnz]
    value: np.ndarray  # float64[m]


class SparseRows(NamedTuple):
    """CSR."""

    indptr: np.ndarray  # int64[m + 1]
    indices: np.ndarray  # uint16[nnz] or uint32[nnz]
    data: np.ndarray  # float32[nnz] where that is exact, else float64[nnz]


class DenseRows(NamedTuple):
    """A full matrix."""

    data: np.ndarray  # float32[m, n] where that is exact, else float64[m, n]


Rows = ConstantRows | SparseRows | DenseRows
LAYOUTS: dict[str, type] = {"constant": ConstantRows, "sparse": SparseRows, "dense": DenseRows}


def index_dtype(n: int) -> type:
    """Smallest unsigned index type for n features plus the bias."""
    return np.uint16 if n < 2**16 else np.uint32


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
        if layout == "constant":
            if value is None:
                raise ValueError("rows hold more than one value: not a constant layout")
            rows: Rows = ConstantRows(indptr, matrix.indices.astype(index_dtype(n)), value)
        elif layout == "sparse":
            data = np.asarray(matrix.data, dtype=np.float64).astype(exact_dtype(matrix.data))
            rows = SparseRows(indptr, matrix.indices.astype(index_dtype(n)), data)
        else:
            rows = DenseRows(np.ascontiguousarray(matrix.toarray().astype(exact_dtype(matrix.data))))
        return cls(rows, n, int(matrix.nnz))

    def to_csr(self) -> scipy.sparse.csr_array:
        """The matrix as float64 CSR with 32-bit indices, a copy: for libraries that want one."""
        import scipy.sparse

        rows = self.rows
        if isinstance(rows, DenseRows):
            return scipy.sparse.csr_array(rows.data.astype(np.float64))
        if isinstance(rows, ConstantRows):
            data = np.repeat(rows.value, np.diff(rows.indptr))
        else:
            data = rows.data.astype(np.float64)
        pointer = rows.indptr.astype(np.int32) if self.nnz < 2**31 else rows.indptr
        return scipy.sparse.csr_array(
            (data, rows.indices.astype(pointer.dtype), pointer), shape=(self.m, self.n)
        )


def _row_value(indptr: np.ndarray, data: np.ndarray) -> np.ndarray | None:
    """The one value of each row (1 for an empty row), None when some row holds two."""
    filled = np.diff(indptr) > 0
    value = np.ones(len(indptr) - 1)
    value[filled] = data[indptr[:-1][filled]]
    return value if np.array_equal(np.repeat(value, np.diff(indptr)), data) else None
