"""The row operations every solver is made of, for each layout of the pattern matrix.

With ``row = find(rows, k)``, ``dot(rows, row, w, c)`` is c Σ_j x_kj w_j and ``add(rows, row, c, w)`` is
w ← w + c x_k; ``squared(rows, k)`` is ‖x_k‖², ``gather`` copies rows together; w is laid out as
:mod:`pdmbench.patterns` says. Products and sums are in double precision whatever the values are stored in, in
a fixed order (four interleaved accumulators for sparse rows, eight for dense ones): results do not depend on
the machine.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from pdmbench.kernels import INLINED
from pdmbench.kernels.vector import copy4, dot4, dot8, four, prefetch
from pdmbench.patterns import CACHE_LINE, GROUP, HEAD, ConstantRows, DenseRows, SparseRows

# Unsigned: numba then leaves out the branch for negative indices.
_HEAD, _GROUP = np.uint64(HEAD), np.uint64(GROUP)
_1, _2, _3 = np.uint64(1), np.uint64(2), np.uint64(3)
AHEAD = 8  # patterns fetched ahead
_LINE = CACHE_LINE  # bytes fetched at a time; the processor follows a row by itself after its first lines


def _find_sparse(rows, k):
    return k, np.uint64(rows.indptr[k]), np.uint64(rows.indptr[k + 1])


def _find_dense(rows, k):
    return (k,)


def _dot_constant(rows, row, w, factor):
    k, j, end = row
    indices = rows.indices
    s0 = s1 = s2 = s3 = 0.0
    while j < end:
        i0, i1, i2, i3 = four(indices, j)
        s0 += w[i0]
        s1 += w[i1]
        s2 += w[i2]
        s3 += w[i3]
        j += _GROUP
    return (factor * rows.value[k]) * ((s0 + s1) + (s2 + s3))


def _add_constant(rows, row, c, w):
    k, j, end = row
    indices = rows.indices
    amount = c * rows.value[k]
    while j < end:
        i0, i1, i2, i3 = four(indices, j)
        w[i0] += amount
        w[i1] += amount
        w[i2] += amount
        w[i3] += amount
        j += _GROUP
    w[0] = w[1] = w[2] = 0.0  # what padding points to


def _dot_sparse(rows, row, w, factor):
    _, j, end = row
    return factor * dot4(rows.data, rows.indices, j, end, w)


def _add_sparse(rows, row, c, w):
    _, j, end = row
    indices, data = rows.indices, rows.data
    while j < end:
        i0, i1, i2, i3 = four(indices, j)
        w[i0] += c * np.float64(data[j])
        w[i1] += c * np.float64(data[j + _1])
        w[i2] += c * np.float64(data[j + _2])
        w[i3] += c * np.float64(data[j + _3])
        j += _GROUP


def _dot_dense(rows, row, w, factor):
    return factor * dot8(rows.data, row[0], w, HEAD)


def _add_dense(rows, row, c, w):
    k = row[0]
    for j in range(np.uint64(rows.data.shape[1])):
        w[_HEAD + j] += c * np.float64(rows.data[k, j])


def _add_squares_constant(rows, k, w):
    amount = rows.value[k] * rows.value[k]
    for j in range(np.uint64(rows.indptr[k]), np.uint64(rows.indptr[k + 1])):
        w[rows.indices[j]] += amount
    w[0] = w[1] = w[2] = 0.0  # what padding points to


def _add_squares_sparse(rows, k, w):
    for j in range(np.uint64(rows.indptr[k]), np.uint64(rows.indptr[k + 1])):
        x = np.float64(rows.data[j])
        w[rows.indices[j]] += x * x


def _add_squares_dense(rows, k, w):
    for j in range(np.uint64(rows.data.shape[1])):
        w[_HEAD + j] += np.float64(rows.data[k, j]) * np.float64(rows.data[k, j])


def _squared_constant(rows, k):
    entries = 0
    for j in range(rows.indptr[k], rows.indptr[k + 1]):
        entries += rows.indices[j] >= HEAD
    return rows.value[k] * rows.value[k] * np.float64(entries)


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
    end, last = np.uint64(0), members.shape[0] - 1
    out.indptr[0] = 0
    for i in range(members.shape[0]):
        k, j, stop = find(rows, members[i])
        prefetch_row(rows, members[min(i + AHEAD, last)])
        while j < stop:
            copy4(rows.indices, j, out.indices, end)
            j += _GROUP
            end += _GROUP
        out.indptr[i + 1] = end
        out.value[i] = rows.value[k]


def _gather_sparse(rows, members, out):
    end, last = np.uint64(0), members.shape[0] - 1
    out.indptr[0] = 0
    for i in range(members.shape[0]):
        _, j, stop = find(rows, members[i])
        prefetch_row(rows, members[min(i + AHEAD, last)])
        while j < stop:
            copy4(rows.indices, j, out.indices, end)
            copy4(rows.data, j, out.data, end)
            j += _GROUP
            end += _GROUP
        out.indptr[i + 1] = end


def _gather_dense(rows, members, out):
    for i in range(members.shape[0]):
        out.data[i] = rows.data[members[i]]


def _prefetch_indptr(rows, k):
    prefetch(rows.indptr, k)


def _prefetch_no_indptr(rows, k):
    pass


def _prefetch_constant(rows, k):
    j = rows.indptr[k]
    prefetch(rows.indices, j)
    prefetch(rows.indices, j + _LINE // 2)
    prefetch(rows.value, k)


def _prefetch_sparse(rows, k):
    j = rows.indptr[k]
    prefetch(rows.indices, j)
    prefetch(rows.data, j)
    prefetch(rows.data, j + _LINE // 8)


def _prefetch_dense(rows, k):
    j = k * rows.data.shape[1]
    prefetch(rows.data, j)
    prefetch(rows.data, j + _LINE // 4)
    prefetch(rows.data, j + 2 * _LINE // 4)


_FIND = {ConstantRows: _find_sparse, SparseRows: _find_sparse, DenseRows: _find_dense}
_DOT = {ConstantRows: _dot_constant, SparseRows: _dot_sparse, DenseRows: _dot_dense}
_ADD = {ConstantRows: _add_constant, SparseRows: _add_sparse, DenseRows: _add_dense}
_ADD_SQUARES = {
    ConstantRows: _add_squares_constant,
    SparseRows: _add_squares_sparse,
    DenseRows: _add_squares_dense,
}
_SQUARED = {ConstantRows: _squared_constant, SparseRows: _squared_sparse, DenseRows: _squared_dense}
_PREFETCH_POINTER = {
    ConstantRows: _prefetch_indptr,
    SparseRows: _prefetch_indptr,
    DenseRows: _prefetch_no_indptr,
}
_PREFETCH = {ConstantRows: _prefetch_constant, SparseRows: _prefetch_sparse, DenseRows: _prefetch_dense}
_GATHER = {ConstantRows: _gather_constant, SparseRows: _gather_sparse, DenseRows: _gather_dense}


def find(rows, k):
    """Row k as :func:`dot` and :func:`add` take it.

    Parameters
    ----------
    rows : ConstantRows, SparseRows or DenseRows
    k : int

    Returns
    -------
    tuple
        First k, then where its entries lie.
    """
    return _FIND[type(rows)](rows, k)


def dot(rows, row, w, factor):
    """factor · Σ_j x_kj w_j.

    Parameters
    ----------
    rows : ConstantRows, SparseRows or DenseRows
    row : tuple
        What :func:`find` returned.
    w : ndarray of shape (weight_slots(n),)
    factor : float

    Returns
    -------
    float
    """
    return _DOT[type(rows)](rows, row, w, factor)


def add(rows, row, c, w):
    """w ← w + c x_k, in place."""
    _ADD[type(rows)](rows, row, c, w)


def add_squares(rows, k, w):
    """w_j ← w_j + x_kj² for every j, in place."""
    _ADD_SQUARES[type(rows)](rows, k, w)


def squared(rows, k):
    """‖x_k‖²."""
    return _SQUARED[type(rows)](rows, k)


def gather(rows, members, out):
    """Copy the rows ``members``, in that order, to the start of ``out``, which has the same layout."""
    _GATHER[type(rows)](rows, members, out)


def prefetch_pointer(rows, k):
    """Hint that row k will be prefetched soon."""
    _PREFETCH_POINTER[type(rows)](rows, k)


def prefetch_row(rows, k):
    """Hint that row k will be read soon. No loop and no branch: it must cost less than it saves."""
    _PREFETCH[type(rows)](rows, k)


def _of_layout(implementations, rows):
    return implementations.get(rows.instance_class) if isinstance(rows, types.BaseNamedTuple) else None


@overload(find, jit_options=INLINED)
def _find_jit(rows, k):
    return _of_layout(_FIND, rows)


@overload(dot, jit_options=INLINED)
def _dot_jit(rows, row, w, factor):
    return _of_layout(_DOT, rows)


@overload(add, jit_options=INLINED)
def _add_jit(rows, row, c, w):
    return _of_layout(_ADD, rows)


@overload(add_squares, jit_options=INLINED)
def _add_squares_jit(rows, k, w):
    return _of_layout(_ADD_SQUARES, rows)


@overload(squared, jit_options=INLINED)
def _squared_jit(rows, k):
    return _of_layout(_SQUARED, rows)


@overload(gather, jit_options=INLINED)
def _gather_jit(rows, members, out):
    return _of_layout(_GATHER, rows)


@overload(prefetch_pointer, jit_options=INLINED)
def _prefetch_pointer_jit(rows, k):
    return _of_layout(_PREFETCH_POINTER, rows)


@overload(prefetch_row, jit_options=INLINED)
def _prefetch_row_jit(rows, k):
    return _of_layout(_PREFETCH, rows)
