"""MatMulInteger, QLinearMatMul, ConvInteger and QLinearConv in general form: i32 sums, rescaled once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerType, Signedness, f32, f64, i32
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops.math import MatMulIntegerOp, QLinearMatMulOp
from xonnc.dialects.onnx.ops.nn import ConvIntegerOp, QLinearConvOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Index, Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import fill
from xonnc.lowering.onnx_to_krnl.int8.quantize_linear import round_within
from xonnc.lowering.onnx_to_krnl.math.matmul import product_of_buffers
from xonnc.lowering.onnx_to_krnl.math.matmul_accumulation import (
    MatrixOperand,
    accumulate_matmul,
    matrix_shapes,
)
from xonnc.lowering.onnx_to_krnl.nn.conv_and_pooling import columns_of, window_of
from xonnc.lowering.onnx_to_krnl.planning.element_types import integer_range

QuantizedMatrices: TypeAlias = tuple[SSAValue, Sequence[int], SSAValue | None, Sequence[int]]
"""
Matrices with their shape in the loops, and their zero point with the shape that is broadcast; `None` if it is
subtracted already.
"""

MAX_EXACT = 1 << 24
"""The largest integer up to which float32 has all."""

MAX_PARTS = 16
"""Products of run-time integers have at most so many parts of terms; others are summed as integers."""

MIN_ROWS = 2
"""Rows from which the conversion of the other factor to floats pays."""

CENTRED = IntegerType(16, Signedness.SIGNED)
"""The type of an 8-bit integer less its zero point."""


def _centred(
    value: SSAValue, shape: Sequence[int], zero: SSAValue, zeros: Sequence[int], builder: LoweringBuilder
) -> MatrixOperand:
    """Return a tensor less its zero point, which is broadcast."""
    if zero.type == NONE or _is_zero(zero, builder):
        return MatrixOperand(builder.buffer(value), shape)
    target = builder.allocate(shape, CENTRED)
    _subtract(target, [0] * len(shape), value, shape, zero, zeros, builder)
    return MatrixOperand(target, shape)


def _is_zero(zero: SSAValue, builder: LoweringBuilder) -> bool:
    known = builder.constant(zero)
    return known is not None and not known.any()


def _subtract(
    target: SSAValue,
    begins: Sequence[int],
    value: SSAValue,
    shape: Sequence[int],
    zero: SSAValue,
    zeros: Sequence[int],
    builder: LoweringBuilder,
) -> None:
    """Write `value - zero` into a buffer at `begins`; without a zero point, `value`."""
    inputs = [(value, shape), *([(zero, zeros)] if zero.type != NONE else [])]
    kernel = Kernel(builder, "subtract_zero_point", [target], inputs)
    out, source, *offsets = kernel.buffers
    with kernel.loops(shape) as indices:
        x = _difference(source, indices, offsets)
        out[*(index.offset_by(begin) for index, begin in zip(indices, begins, strict=True))] = x
    kernel.call()


def _difference(source: Buffer, indices: Sequence[Scalar], offsets: Sequence[Buffer]) -> Scalar:
    """Return an element less its zero point, if there is one."""
    x = source.read_as(i32, *indices)
    for offset in offsets:
        x = x - offset.read_as(i32, *offset.broadcast(indices))
    return x


@dataclass(frozen=True)
class _Rescaling:
    """Requantization of i32 sums: `round(sum · x_scale w_scale / y_scale) + zero`."""

    scales: tuple[SSAValue, SSAValue, SSAValue]
    """Of both factors and of the result."""
    shapes: tuple[Sequence[int], Sequence[int], Sequence[int]]
    """The scales' shapes, broadcast against the sums."""
    zero: SSAValue


def _rescale(
    result: SSAValue, sums: SSAValue, sizes: Sequence[int], how: _Rescaling, builder: LoweringBuilder
) -> None:
    inputs = [(sums, sizes), *zip(how.scales, how.shapes, strict=True), (how.zero, [1])]
    kernel = Kernel(builder, "requantize", [(result, sizes)], inputs)
    out, source, *scales, zero = kernel.buffers

    def factor(indices: Sequence[Index]) -> Scalar:
        x, w, y = (buffer.read_as(f32, *buffer.broadcast(indices)) for buffer in scales)
        return (x * w / y).to(f64)

    # Outside of the loops if it is the same for all sums: what they write might be what they read, for LLVM.
    common = factor([0] * len(sizes)) if all(prod(shape) == 1 for shape in how.shapes) else None
    low, high = integer_range(out.element)
    offset = zero.read_as(i32, 0)
    centre = offset.to(f64)
    with kernel.loops(sizes) as indices:
        # i32 (31 bits) times f32 (24 bits) needs 55 bits: nearly exact in f64.
        x = source[*indices].to(f64)
        x = x * (factor(indices) if common is None else common)
        out[*indices] = round_within(x, low - centre, high - centre)[1] + offset
    kernel.call()


def _aligned(shape: Sequence[int], rank: int, is_row: bool) -> list[int]:
    """Return the shape of a scale or zero point, broadcast in loops over batch, row and column."""
    if prod(shape) == 1:
        return [1] * rank
    if len(shape) == 1:
        return [1] * (rank - 2) + ([shape[0], 1] if is_row else [1, shape[0]])
    return [1] * (rank - len(shape)) + list(shape)


@lowers(MatMulIntegerOp, QLinearMatMulOp)
def integer_matmul(op: MatMulIntegerOp | QLinearMatMulOp, builder: LoweringBuilder) -> str | None:
    """Products of the last two axes, zero points subtracted."""
    is_rescaled = isinstance(op, QLinearMatMulOp)
    a, b = (op.a, op.b) if is_rescaled else (op.A, op.B)
    if not is_integer(builder.element(a)) or not is_integer(builder.element(b)):
        return "8-bit floats"
    left, right, batch = matrix_shapes(builder.shape(a), builder.shape(b))
    rank = len(left)
    m, n, k = left[-2], right[-1], left[-1]
    zeros = [_zeros(op.a_zero_point, rank, True, builder), _zeros(op.b_zero_point, rank, False, builder)]
    sizes = [*batch, m, n]
    operands = (a, left, op.a_zero_point, zeros[0]), (b, right, op.b_zero_point, zeros[1])
    bounds = _largest(a, op.a_zero_point, builder), _largest(b, op.b_zero_point, builder)
    parts = _float_sums(sizes, operands, bounds, builder)
    if is_rescaled and len(parts) == 1:
        sums = parts[0]
    else:
        sums = builder.allocate(sizes, i32) if is_rescaled else builder.result(op.Y)
        if parts:
            _total(sums, parts, sizes, builder)
        else:
            factors = (
                _centred(a, left, op.a_zero_point, zeros[0], builder),
                _centred(b, right, op.b_zero_point, zeros[1], builder),
            )
            fill(sums, prod(sizes), 0, builder)
            accumulate_matmul(sums, batch, (m, n, k), factors, i32, builder)
    if is_rescaled:
        scales = op.a_scale, op.b_scale, op.y_scale
        bias_shape = (
            _aligned(builder.shape(op.a_scale), rank, True),
            _aligned(builder.shape(op.b_scale), rank, False),
            _aligned(builder.shape(op.y_scale), rank, True),
        )
        _rescale(op.y, sums, sizes, _Rescaling(scales, bias_shape, op.y_zero_point), builder)
    return None


def _float_sums(
    sizes: Sequence[int],
    operands: tuple[QuantizedMatrices, QuantizedMatrices],
    bounds: tuple[int, int],
    builder: LoweringBuilder,
) -> list[SSAValue]:
    """
    Return buffers whose total is the sums, each of products in register tiles of float32; empty if none are.

    Products of 8-bit integers less their zero points are integers up to 2^16, of which float32 adds 2^8
    exactly: as many terms are one part. `bounds` are the largest absolute values of both factors.
    """
    k = operands[0][1][-1]
    most = MAX_EXACT // (bounds[0] * bounds[1])
    if sizes[-2] < MIN_ROWS or k > most * MAX_PARTS:
        return []
    parts: list[SSAValue] = []
    for begin in range(0, k, most):
        terms = begin, min(most, k - begin)
        sums = builder.allocate(sizes, f32)
        (a, left), (b, right) = (
            _as_floats(operand, len(sizes) - 1 - is_right, terms, builder)
            for is_right, operand in enumerate(operands)
        )
        product_of_buffers(sums, (a, b), (left, right), builder)
        parts.append(sums)
    return parts


def _largest(value: SSAValue, zero: SSAValue, builder: LoweringBuilder) -> int:
    """Return a bound of the absolute value of integers less their zero point."""
    low, high = integer_range(builder.element(value))
    has_zero = zero.type != NONE and not _is_zero(zero, builder)
    return int(high - low) if has_zero else int(max(-low, high))


def _as_floats(
    operand: QuantizedMatrices, axis: int, terms: tuple[int, int], builder: LoweringBuilder
) -> tuple[SSAValue, list[int]]:
    """Return a part of a tensor along an axis, less its zero point, as floats, and its shape."""
    value, shape, zero, zeros = operand
    begin, count = terms
    offset = None if zero is None or zero.type == NONE or _is_zero(zero, builder) else zero
    part = [*shape[:axis], count, *shape[axis + 1 :]]
    target = builder.allocate(part, f32)
    inputs = [(value, shape), *([] if offset is None else [(offset, zeros)])]
    kernel = Kernel(builder, "subtract_zero_point", [target], inputs)
    out, source, *offsets = kernel.buffers
    with kernel.loops(part) as indices:
        at = [index.offset_by(begin if number == axis else 0) for number, index in enumerate(indices)]
        out[*indices] = _difference(source, at, offsets)
    kernel.call()
    return target, part


def _total(
    result: SSAValue,
    parts: Sequence[SSAValue],
    sizes: Sequence[int],
    builder: LoweringBuilder,
    bias: SSAValue | None = None,
) -> None:
    """Write the total of parts as integers, with a bias for each group and row."""
    inputs = [*parts, *([] if bias is None else [(bias, sizes[1:3])])]
    kernel = Kernel(builder, "sums", [(result, sizes)], inputs)
    out, *sources = kernel.buffers
    biases = sources[len(parts) :]
    with kernel.loops(sizes) as indices:
        first, *others = (each[*indices].to(i32) for each in sources[: len(parts)])
        others += [each[*indices[1:3]] for each in biases]
        for other in others:
            first = first + other
        out[*indices] = first
    kernel.call()


def _zeros(zero: SSAValue, rank: int, is_row: bool, builder: LoweringBuilder) -> Sequence[int]:
    return [] if zero.type == NONE else _aligned(builder.shape(zero), rank, is_row)


@lowers(ConvIntegerOp, QLinearConvOp)
def integer_conv(op: ConvIntegerOp | QLinearConvOp, builder: LoweringBuilder) -> str | None:
    """im2col and a matrix product, zero points subtracted."""
    shape, out, weights = builder.shape(op.x), builder.shape(op.y), builder.shape(op.w)
    window = window_of(op, weights[2:], shape[2:], out[2:])
    sizes = [*shape[:2], *window.padded]
    source = builder.allocate(sizes, CENTRED)
    if window.is_padded:
        fill(source, prod(sizes), 0, builder)
    ones = [1] * len(shape)
    _subtract(source, [0, 0, *window.begins], op.x, shape, op.x_zero_point, ones, builder)
    columns = columns_of(source, shape, out, window, builder)
    groups, pixels, depth = op.group.value.data, prod(out[2:]), prod(weights[1:])
    filters = out[1] // groups
    matrices = [1, groups, filters, depth]
    zeros = [1, groups, filters, 1] if _count(op.w_zero_point, builder) > 1 else [1] * 4
    inner = [shape[0], groups, depth, pixels]
    sum_shape = [shape[0], groups, filters, pixels]
    operands = (op.w, matrices, op.w_zero_point, zeros), (columns, inner, None, ones)
    bounds = _largest(op.w, op.w_zero_point, builder), _largest(op.x, op.x_zero_point, builder)
    parts = _float_sums(sum_shape, operands, bounds, builder)
    is_rescaled = isinstance(op, QLinearConvOp)
    sums = builder.allocate(sum_shape, i32) if is_rescaled else builder.result(op.y)
    bias = op.B if is_rescaled and op.B.type != NONE else None
    if parts:
        _total(sums, parts, sum_shape, builder, bias)
    else:
        a = _centred(op.w, matrices, op.w_zero_point, zeros, builder)
        b = MatrixOperand(columns, inner)
        _begin(sums, sum_shape, bias, builder)
        accumulate_matmul(sums, sum_shape[:2], (filters, pixels, depth), (a, b), i32, builder)
    if not is_rescaled:
        return None
    of_filter = [1, groups, filters, 1] if _count(op.w_scale, builder) > 1 else [1] * 4
    scales = _Rescaling((op.x_scale, op.w_scale, op.y_scale), ([1] * 4, of_filter, [1] * 4), op.y_zero_point)
    _rescale(op.y, sums, sum_shape, scales, builder)
    return None


def _count(value: SSAValue, builder: LoweringBuilder) -> int:
    return 0 if value.type == NONE else prod(builder.shape(value))


def _begin(sums: SSAValue, sum_shape: Sequence[int], bias: SSAValue | None, builder: LoweringBuilder) -> None:
    """Initialize sums with their bias."""
    if bias is None:
        fill(sums, prod(sum_shape), 0, builder)
        return
    kernel = Kernel(builder, "bias", [sums], [(bias, sum_shape[1:3])])
    out, source = kernel.buffers
    with kernel.loops(sum_shape) as indices:
        out[*indices] = source[*indices[1:3]]
    kernel.call()
