"""The row operations every solver is made of, for each layout of the pattern matrix.

``dot(rows, k, w)`` is Σ_j x_kj w_j, ``add(rows, k, c, w)`` is w ← w + c x_k, ``gather`` copies rows
together. Products and sums are in double precision whatever the values are stored in. Sums run over four
interleaved accumulators, added as ((s₀+s₁)+(s₂+s₃)): a fixed order, so results do not depend on the
machine, and no chain of dependent additions as long as the row.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from pdmbench.patterns import ConstantRows, DenseRows, SparseRows


def _dot_constant(rows, k, w):
    j, end = np.uint64(rows.indptr[k]), np.uint64(rows.indptr[k + 1])
    indices = rows.indices
    s0 = s1 = s2 = s3 = 0.0
    while j + np.uint64(4) <= end:
        s0 += w[indices[j]]
        s1 += w[indices[j + np.uint64(1)]]
        s2 += w[indices[j + np.uint64(2)]]
        s3 += w[indices[j + np.uint64(3)]]
        j += np.uint64(4)
    while j < end:
        s0 += w[indices[j]]
        j += np.uint64(1)
    return rows.value[k] * ((s0 + s1) + (s2 + s3))


def _add_constant(rows, k, c, w):
    step = c * rows.value[k]
    for j in range(np.uint64(rows.indptr[k]), np.uint64(rows.indptr[k + 1])):
        w[rows.indices[j]] += step


def _dot_sparse(rows, k, w):
    j, end = np.uint64(rows.indptr[k]), np.uint64(rows.indptr[k + 1])
    indices, data = rows.indices, rows.data
    s0 = s1 = s2 = s3 = 0.0
    while j + np.uint64(4) <= end:
        s0 += np.float64(data[j]) * w[indices[j]]
        s1 += np.float64(data[j + np.uint64(1)]) * w[indices[j + np.uint64(1)]]
        s2 += np.float64(data[j + np.uint64(2)]) * w[indices[j + np.uint64(2)]]
        s3 += np.float64(data[j + np.uint64(3)]) * w[indices[j + np.uint64(3)]]
        j += np.uint64(4)
    while j < end:
        s0 += np.float64(data[j]) * w[indices[j]]
        j += np.uint64(1)
    return (s0 + s1) + (s2 + s3)


def _add_sparse(rows, k, c, w):
    for j in range(np.uint64(rows.indptr[k]), np.uint64(rows.indptr[k + 1])):
        w[rows.indices[j]] += c * np.float64(rows.data[j])


def _dot_dense(rows, k, w):
    x = rows.data[k]
    n = np.uint64(x.shape[0])
    j = np.uint64(0)
    s0 = s1 = s2 = s3 = 0.0
    while j + np.uint64(4) <= n:
        s0 += np.float64(x[j]) * w[j]
        s1 += np.float64(x[j + np.uint64(1)]) * w[j + np.uint64(1)]
        s2 += np.float64(x[j + np.uint64(2)]) * w[j + np.uint64(2)]
        s3 += np.float64(x[j + np.uint64(3)]) * w[j + np.uint64(3)]
        j += np.uint64(4)
    while j < n:
        s0 += np.float64(x[j]) * w[j]
        j += np.uint64(1)
    return (s0 + s1) + (s2 + s3)


def _add_dense(rows, k, c, w):
    x = rows.data[k]
    for j in range(np.uint64(0), np.uint64(x.shape[0])):
        w[j] += c * np.float64(x[j])


def _squared_constant(rows, k):
    return rows.value[k] * rows.value[k] * np.float64(rows.indptr[k + 1] - rows.indptr[k])


def _squared_sparse(rows, k):
    total = 0.0
    for j in range(rows.indptr[k], rows.indptr[k + 1]):
        total += np.float64(rows.data[j]) * np.float64(rows.data[j])
    return total


def _squared_dense(rows, k):
    total = 0.0
    for j in range(rows.data.shape[1]):
        total += np.float64(rows.data[k, j]) * np.float64(rows.data[k, j])
    return total


def _gather_constant(rows, members, out):
    end = 0
    out.indptr[0] = 0
    for i in range(members.shape[0]):
        k = members[i]
        for j in range(np.uint64(rows.indptr[k]), np.uint64(rows.indptr[k + 1])):
            out.indices[end] = rows.indices[j]
            end += 1
        out.indptr[i + 1] = end
        out.value[i] = rows.value[k]


def _gather_sparse(rows, members, out):
    end = 0
    out.indptr[0] = 0
    for i in range(members.shape[0]):
        k = members[i]
        for j in range(np.uint64(rows.indptr[k]), np.uint64(rows.indptr[k + 1])):
            out.indices[end] = rows.indices[j]
            out.data[end] = rows.data[j]
            end += 1
        out.indptr[i + 1] = end


def _gather_dense(rows, members, out):
    for i in range(members.shape[0]):
        out.data[i] = rows.data[members[i]]


_DOT = {ConstantRows: _dot_constant, SparseRows: _dot_sparse, DenseRows: _dot_dense}
_ADD = {ConstantRows: _add_constant, SparseRows: _add_sparse, DenseRows: _add_dense}
_SQUARED = {ConstantRows: _squared_constant, SparseRows: _squared_sparse, DenseRows: _squared_dense}
_GATHER = {ConstantRows: _gather_constant, SparseRows: _gather_sparse, DenseRows: _gather_dense}


def dot(rows, k, w):
    """Σ_j x_kj w_j.

    Parameters
    ----------
    rows : ConstantRows, SparseRows or DenseRows
    k : int
        Row.
    w : ndarray of shape (≥ n,)

    Returns
    -------
    float
    """
    return _DOT[type(rows)](rows, k, w)


def add(rows, k, c, w):
    """w ← w + c x_k, in place."""
    _ADD[type(rows)](rows, k, c, w)


def squared(rows, k):
    """‖x_k‖²."""
    return _SQUARED[type(rows)](rows, k)


def gather(rows, members, out):
    """Copy the rows ``members``, in that order, to the start of ``out``, which has the same layout."""
    _GATHER[type(rows)](rows, members, out)


def _of_layout(implementations, rows):
    return implementations.get(rows.instance_class) if isinstance(rows, types.BaseNamedTuple) else None


@overload(dot, inline="always")
def _dot_jit(rows, k, w):
    return _of_layout(_DOT, rows)


@overload(add, inline="always")
def _add_jit(rows, k, c, w):
    return _of_layout(_ADD, rows)


@overload(squared, inline="always")
def _squared_jit(rows, k):
    return _of_layout(_SQUARED, rows)


@overload(gather, inline="always")
def _gather_jit(rows, members, out):
    return _of_layout(_GATHER, rows)
