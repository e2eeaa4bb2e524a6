"""Products and convolutions of 8 bit integers: exact sums in 32 bits, rescaled once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import IntegerType, Signedness, f32, f64, i32
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops.math import MatMulIntegerOp, QLinearMatMulOp
from xonnc.dialects.onnx.ops.nn import ConvIntegerOp, QLinearConvOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.conv_and_pooling import columns_of, window_of
from xonnc.lowering.onnx_to_krnl.kernel_builder import Kernel, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import Lowering, lowers
from xonnc.lowering.onnx_to_krnl.matmul_accumulation import Factor, accumulate
from xonnc.lowering.onnx_to_krnl.quantize_linear import read_as, saturated
from xonnc.lowering.onnx_to_krnl.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.strided_copies import fill

CENTRED = IntegerType(16, Signedness.SIGNED)
"""What holds the difference of two integers of 8 bits."""


def _centred(
    value: SSAValue, shape: Sequence[int], zero: SSAValue, zeros: Sequence[int], to: Lowering
) -> Factor:
    """Numbers without their zero point, which is broadcast to them."""
    if zero.type == NONE or _is_zero(zero, to):
        return Factor(to.buffer(value), shape, to.element(value))
    target = to.allocate(shape, CENTRED)
    _subtract(target, shape, [0] * len(shape), value, shape, zero, zeros, to)
    return Factor(target, shape, CENTRED)


def _is_zero(zero: SSAValue, to: Lowering) -> bool:
    known = to.constant(zero)
    return known is not None and not known.any()


def _subtract(
    target: SSAValue,
    sizes: Sequence[int],
    begins: Sequence[int],
    value: SSAValue,
    shape: Sequence[int],
    zero: SSAValue,
    zeros: Sequence[int],
    to: Lowering,
) -> None:
    """Writes `value - zero` from `begins` on into a buffer; without a zero point `value` alone."""
    element = to.element(value)
    has_zero = zero.type != NONE
    types = [buffer_type(sizes, CENTRED), buffer_type(shape, element)]
    kernel = Kernel([*types, buffer_type(zeros, element)] if has_zero else types)
    out, source, *offsets = kernel.buffers
    with kernel.loops(shape) as indices:
        x = read_as(kernel, source, indices, element, i32)
        if has_zero:
            own = [
                kernel.index(0) if size == 1 else index for index, size in zip(indices, zeros, strict=True)
            ]
            x = x - read_as(kernel, offsets[0], own, element, i32)
        places = [kernel.scaled(index, 1, begin) for index, begin in zip(indices, begins, strict=True)]
        kernel.store(x.to(IntegerType(16)).value, out, places)
    inputs = [to.buffer(value), to.buffer(zero)] if has_zero else [to.buffer(value)]
    to.call("centred", kernel, [target], inputs)


@dataclass(frozen=True)
class _Rescaling:
    """What becomes of sums: `round(sum · x_scale w_scale / y_scale) + zero point`."""

    scales: tuple[SSAValue, SSAValue, SSAValue]
    """Of both factors and of the result."""
    shapes: tuple[Sequence[int], Sequence[int], Sequence[int]]
    """The scales' shapes, with as many axes as the sums."""
    zero: SSAValue


def _rescale(result: SSAValue, sums: SSAValue, sizes: Sequence[int], how: _Rescaling, to: Lowering) -> None:
    element = to.element(result)
    kinds = [to.element(scale) for scale in how.scales]
    types = [buffer_type(sizes, element), buffer_type(sizes, i32)]
    types += [buffer_type(shape, kind) for shape, kind in zip(how.shapes, kinds, strict=True)]
    kernel = Kernel([*types, buffer_type([1], element)])
    out, source, *scales, zero = kernel.buffers
    with kernel.loops(sizes) as indices:
        factors: list[Scalar] = []
        for buffer, shape, kind in zip(scales, how.shapes, kinds, strict=True):
            own = [
                kernel.index(0) if size == 1 else index for index, size in zip(indices, shape, strict=True)
            ]
            factors.append(read_as(kernel, buffer, own, kind, f32))
        factor = (factors[0] * factors[1] / factors[2]).to(f64)
        # A sum of 32 bits times a float of 24 is all but exact in a double.
        x = (Scalar(kernel, kernel.load(source, indices)).to(f64) * factor).round()
        x = x + read_as(kernel, zero, [kernel.index(0)], element, f64)
        kernel.write(saturated(x, element), out, indices, element)
    buffers = [sums, *(to.buffer(scale) for scale in how.scales), to.buffer(how.zero)]
    to.call("rescaled", kernel, [to.result(result)], buffers)


def _aligned(shape: Sequence[int], rank: int, is_row: bool) -> list[int]:
    """The shape of a scale or zero point of matrices in loops over batch, row and column."""
    if prod(shape) == 1:
        return [1] * rank
    if len(shape) == 1:
        return [1] * (rank - 2) + ([shape[0], 1] if is_row else [1, shape[0]])
    return [1] * (rank - len(shape)) + list(shape)


@lowers(MatMulIntegerOp, QLinearMatMulOp)
def integer_matmul(op: MatMulIntegerOp | QLinearMatMulOp, to: Lowering) -> str | None:
    """Products of the last two axes without the zero points."""
    is_rescaled = isinstance(op, QLinearMatMulOp)
    a, b = (op.a, op.b) if is_rescaled else (op.A, op.B)
    if not is_integer(to.element(a)) or not is_integer(to.element(b)):
        return "of floats of 8 bits"
    shapes = [to.shape(a) if len(to.shape(a)) > 1 else (1, *to.shape(a))]
    shapes.append(to.shape(b) if len(to.shape(b)) > 1 else (*to.shape(b), 1))
    rank = max(map(len, shapes))
    left, right = ([1] * (rank - len(shape)) + list(shape) for shape in shapes)
    batch = [max(sizes) for sizes in zip(left[:-2], right[:-2], strict=True)]
    m, n, k = left[-2], right[-1], left[-1]
    zeros = [_zeros(op.a_zero_point, rank, True, to), _zeros(op.b_zero_point, rank, False, to)]
    factors = (
        _centred(a, left, op.a_zero_point, zeros[0], to),
        _centred(b, right, op.b_zero_point, zeros[1], to),
    )
    sizes = [*batch, m, n]
    sums = to.allocate(sizes, i32) if is_rescaled else to.result(op.Y)
    fill(sums, prod(sizes), 0, to)
    accumulate(sums, batch, (m, n, k), factors, i32, to)
    if is_rescaled:
        scales = op.a_scale, op.b_scale, op.y_scale
        places = (
            _aligned(to.shape(op.a_scale), rank, True),
            _aligned(to.shape(op.b_scale), rank, False),
            _aligned(to.shape(op.y_scale), rank, True),
        )
        _rescale(op.y, sums, sizes, _Rescaling(scales, places, op.y_zero_point), to)
    return None


def _zeros(zero: SSAValue, rank: int, is_row: bool, to: Lowering) -> Sequence[int]:
    return [] if zero.type == NONE else _aligned(to.shape(zero), rank, is_row)


@lowers(ConvIntegerOp, QLinearConvOp)
def integer_conv(op: ConvIntegerOp | QLinearConvOp, to: Lowering) -> str | None:
    """Products of the weights with the windows, without the zero points."""
    shape, out, weights = to.shape(op.x), to.shape(op.y), to.shape(op.w)
    window = window_of(op, weights[2:], shape[2:], out[2:])
    sizes = [*shape[:2], *window.padded]
    source = to.allocate(sizes, CENTRED)
    if window.is_padded:
        fill(source, prod(sizes), 0, to)
    ones = [1] * len(shape)
    _subtract(source, sizes, [0, 0, *window.begins], op.x, shape, op.x_zero_point, ones, to)
    columns = columns_of(source, shape, out, window, to)
    groups, pixels, depth = op.group.value.data, prod(out[2:]), prod(weights[1:])
    filters = out[1] // groups
    matrices = [1, groups, filters, depth]
    zeros = [1, groups, filters, 1] if _count(op.w_zero_point, to) > 1 else [1] * 4
    a = _centred(op.w, matrices, op.w_zero_point, zeros, to)
    b = Factor(columns, [shape[0], groups, depth, pixels], CENTRED)
    places = [shape[0], groups, filters, pixels]
    if isinstance(op, ConvIntegerOp):
        sums = to.result(op.y)
        fill(sums, prod(places), 0, to)
        accumulate(sums, places[:2], (filters, pixels, depth), (a, b), i32, to)
        return None
    sums = to.allocate(places, i32)
    _begin(sums, places, op.B, to)
    accumulate(sums, places[:2], (filters, pixels, depth), (a, b), i32, to)
    of_filter = [1, groups, filters, 1] if _count(op.w_scale, to) > 1 else [1] * 4
    scales = _Rescaling((op.x_scale, op.w_scale, op.y_scale), ([1] * 4, of_filter, [1] * 4), op.y_zero_point)
    _rescale(op.y, sums, places, scales, to)
    return None


def _count(value: SSAValue, to: Lowering) -> int:
    return 0 if value.type == NONE else prod(to.shape(value))


def _begin(sums: SSAValue, places: Sequence[int], bias: SSAValue, to: Lowering) -> None:
    """Sets sums to their bias, if there is one."""
    if bias.type == NONE:
        fill(sums, prod(places), 0, to)
        return
    kernel = Kernel([buffer_type(places, i32), buffer_type(places[1:3], i32)])
    out, source = kernel.buffers
    with kernel.loops(places) as indices:
        kernel.store(kernel.load(source, indices[1:3]), out, indices)
    to.call("bias", kernel, [sums], [to.buffer(bias)])
