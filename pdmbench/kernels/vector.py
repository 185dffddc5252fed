"""What numba cannot be told in Python: products in fixed lanes, several items at once, memory fetched early.

LLVM may not reorder a floating-point sum by itself, so a product stays scalar unless its lanes are written
out; nor does it join loads that stand between others. Each function has a Python form with the same results,
which also runs without the JIT.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from pdmbench.kernels import INLINED
from pdmbench.patterns import DENSE_GROUP, GROUP

_LANES = ir.VectorType(ir.DoubleType(), DENSE_GROUP)
_I32 = ir.IntType(32)


def dot8(matrix, k, w, head):
    """Σ_j matrix[k, j] w[head + j] in eight lanes: lane l sums j ≡ l (mod 8) in ascending order.

    Parameters
    ----------
    matrix : ndarray of float32 or float64, shape (m, multiple of 8), C order
    k : int
    w : ndarray of float64
    head : int

    Returns
    -------
    float
        ((s₀+s₄)+(s₂+s₆)) + ((s₁+s₅)+(s₃+s₇)).
    """
    lanes = np.zeros(DENSE_GROUP)
    row = matrix[k]
    for j in range(0, matrix.shape[1], DENSE_GROUP):
        lanes += row[j : j + DENSE_GROUP].astype(np.float64) * w[head + j : head + j + DENSE_GROUP]
    quarters = lanes[:4] + lanes[4:]
    halves = quarters[:2] + quarters[2:]
    return halves[0] + halves[1]


def dot4(data, indices, j, end, w):
    """Σ data[i] w[indices[i]] for j ≤ i < end, whole groups of four, in four lanes.

    Parameters
    ----------
    data : ndarray of float32 or float64
    indices : ndarray of uint16 or uint32
    j, end : int
    w : ndarray of float64

    Returns
    -------
    float
        (s₀+s₁) + (s₂+s₃): lane l sums i ≡ l (mod 4) in ascending order.
    """
    lanes = np.zeros(GROUP)
    for i in range(j, end, GROUP):
        lanes += data[i : i + GROUP].astype(np.float64) * w[indices[i : i + GROUP]]
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])


def four(indices, j):
    """Items j to j+3 of unsigned 16- or 32-bit ``indices``, read 64 bits at a time."""
    return indices[j], indices[j + 1], indices[j + 2], indices[j + 3]


def copy4(source, j, target, i):
    """Copy items j to j+3 of ``source`` to i to i+3 of ``target``, of the same type, at once."""
    target[i : i + GROUP] = source[j : j + GROUP]


def prefetch(array, index):
    """Hint that item ``index`` of a flat ``array`` will be read soon.

    Changes no result, and harms nothing beyond the end of the array.
    """


@intrinsic
def _dot8(typing_context, matrix, k, w, head):
    signature = types.float64(matrix, k, w, head)

    def generate(context, builder, signature, arguments):
        matrix_type, k_type, w_type, head_type = signature.args
        rows = context.make_array(matrix_type)(context, builder, arguments[0])
        weights = context.make_array(w_type)(context, builder, arguments[2])
        k = context.cast(builder, arguments[1], k_type, types.intp)
        head = context.cast(builder, arguments[3], head_type, types.intp)
        columns = cgutils.unpack_tuple(builder, rows.shape)[1]
        stored = ir.VectorType(context.get_data_type(matrix_type.dtype), DENSE_GROUP)
        row = builder.gep(rows.data, [builder.mul(k, columns)])
        start = builder.gep(weights.data, [head])
        sums = cgutils.alloca_once_value(builder, ir.Constant(_LANES, [0.0] * DENSE_GROUP))
        step = ir.Constant(columns.type, DENSE_GROUP)
        with cgutils.for_range_slice(builder, columns.type(0), columns, step, columns.type) as (j, _):
            x = builder.load(builder.bitcast(builder.gep(row, [j]), stored.as_pointer()), align=4)
            if matrix_type.dtype != types.float64:
                x = builder.fpext(x, _LANES)
            v = builder.load(builder.bitcast(builder.gep(start, [j]), _LANES.as_pointer()), align=8)
            builder.store(builder.fadd(builder.load(sums), builder.fmul(x, v)), sums)
        total = builder.load(sums)
        for width in (4, 2, 1):
            low = ir.Constant(ir.VectorType(_I32, width), list(range(width)))
            high = ir.Constant(ir.VectorType(_I32, width), list(range(width, 2 * width)))
            total = builder.fadd(
                builder.shuffle_vector(total, total, low), builder.shuffle_vector(total, total, high)
            )
        return builder.extract_element(total, _I32(0))

    return signature, generate


@overload(dot8, jit_options=INLINED)
def _dot8_jit(matrix, k, w, head):
    return lambda matrix, k, w, head: _dot8(matrix, k, w, head)


@intrinsic
def _dot4(typing_context, data, indices, j, end, w):
    signature = types.float64(data, indices, j, end, w)

    def generate(context, builder, signature, arguments):
        data_type, indices_type, j_type, end_type, w_type = signature.args
        values = context.make_array(data_type)(context, builder, arguments[0])
        packed = context.make_array(indices_type)(context, builder, arguments[1])
        weights = context.make_array(w_type)(context, builder, arguments[4])
        j = context.cast(builder, arguments[2], j_type, types.intp)
        end = context.cast(builder, arguments[3], end_type, types.intp)
        lanes = ir.VectorType(ir.DoubleType(), GROUP)
        stored = ir.VectorType(context.get_data_type(data_type.dtype), GROUP)
        sums = cgutils.alloca_once_value(builder, ir.Constant(lanes, [0.0] * GROUP))
        step = ir.Constant(j.type, GROUP)
        with cgutils.for_range_slice(builder, j, end, step, j.type) as (i, _):
            x = builder.load(builder.bitcast(builder.gep(values.data, [i]), stored.as_pointer()), align=4)
            if data_type.dtype != types.float64:
                x = builder.fpext(x, lanes)
            v = ir.Constant(lanes, ir.Undefined)
            for lane, index in enumerate(_load_four(builder, packed.data, i, indices_type.dtype.bitwidth)):
                v = builder.insert_element(v, builder.load(builder.gep(weights.data, [index])), _I32(lane))
            builder.store(builder.fadd(builder.load(sums), builder.fmul(x, v)), sums)
        total = builder.load(sums)
        s0, s1, s2, s3 = (builder.extract_element(total, _I32(lane)) for lane in range(GROUP))
        return builder.fadd(builder.fadd(s0, s1), builder.fadd(s2, s3))

    return signature, generate


@overload(dot4, jit_options=INLINED)
def _dot4_jit(data, indices, j, end, w):
    return lambda data, indices, j, end, w: _dot4(data, indices, j, end, w)


def _load_four(builder, data, j, bits):
    """Items j to j+3 as 64-bit integers; the first of those packed in a word is in its lowest bits."""
    word = ir.IntType(64)
    start = builder.bitcast(builder.gep(data, [j]), word.as_pointer())
    items = []
    for i in range(GROUP * bits // 64):
        packed = builder.load(builder.gep(start, [word(i)]), align=bits // 8)
        for shift in range(0, 64, bits):
            items.append(builder.and_(builder.lshr(packed, word(shift)), word(2**bits - 1)))
    return items


@intrinsic
def _four(typing_context, indices, j):
    result = types.UniTuple(types.uint64, 4)
    signature = result(indices, j)

    def generate(context, builder, signature, arguments):
        array_type, j_type = signature.args
        array = context.make_array(array_type)(context, builder, arguments[0])
        j = context.cast(builder, arguments[1], j_type, types.intp)
        items = _load_four(builder, array.data, j, array_type.dtype.bitwidth)
        return context.make_tuple(builder, result, items)

    return signature, generate


@overload(four, jit_options=INLINED)
def _four_jit(indices, j):
    return lambda indices, j: _four(indices, j)


@intrinsic
def _copy4(typing_context, source, j, target, i):
    signature = types.void(source, j, target, i)

    def generate(context, builder, signature, arguments):
        source_type, j_type, target_type, i_type = signature.args
        group = ir.VectorType(context.get_data_type(source_type.dtype), GROUP).as_pointer()

        def place(array_type, array, index_type, index):
            items = context.make_array(array_type)(context, builder, array)
            index = context.cast(builder, index, index_type, types.intp)
            return builder.bitcast(builder.gep(items.data, [index]), group)

        align = source_type.dtype.bitwidth // 8
        four = builder.load(place(source_type, arguments[0], j_type, arguments[1]), align=align)
        builder.store(four, place(target_type, arguments[2], i_type, arguments[3]), align=align)
        return context.get_dummy_value()

    return signature, generate


@overload(copy4, jit_options=INLINED)
def _copy4_jit(source, j, target, i):
    return lambda source, j, target, i: _copy4(source, j, target, i)


@intrinsic
def _prefetch(typing_context, array, index):
    signature = types.void(array, index)

    def generate(context, builder, signature, arguments):
        array_type, index_type = signature.args
        values = context.make_array(array_type)(context, builder, arguments[0])
        position = context.cast(builder, arguments[1], index_type, types.intp)
        address = builder.bitcast(builder.gep(values.data, [position]), ir.IntType(8).as_pointer())
        i32 = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, i32, i32, i32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(function, [address, i32(0), i32(3), i32(1)])  # read, keep in all caches, data
        return context.get_dummy_value()

    return signature, generate


@overload(prefetch, jit_options=INLINED)
def _prefetch_jit(array, index):
    return lambda array, index: _prefetch(array, index)
