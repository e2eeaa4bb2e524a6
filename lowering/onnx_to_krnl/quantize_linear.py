"""QuantizeLinear and DequantizeLinear: per tensor, per axis, or blocked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import f16, f32, f64, i32
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.types import ELEMENT_TYPES_BY_CODE, NONE
from xonnc.lowering.onnx_to_krnl.element_types import (
    NARROW_FLOATS,
    integer_range,
    is_unsigned_element,
    storage_type,
)
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder, lowers, supports_dynamic_shapes
from xonnc.lowering.onnx_to_krnl.scalars import Number, Scalar
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size, is_static, volume


@dataclass(frozen=True)
class _ScaleBlocks:
    """Loops over all elements, and along which of them scales and zero points vary."""

    sizes: Sequence[Size]
    varies: Sequence[bool]

    @property
    def scales(self) -> list[Size]:
        """The shape of scales in these loops."""
        return [size if varies else 1 for size, varies in zip(self.sizes, self.varies, strict=True)]


def _blocks(shape: Sequence[Size], scale: Sequence[Size], axis: int, block: int) -> _ScaleBlocks | None:
    """
    Return the loops for a tensor; None if blocks do not divide the axis, or scales may not match it.

    With dynamic dimensions, a mismatch at run time would read past the scales.
    """
    if volume(scale) == 1:
        return _ScaleBlocks([volume(shape)], [False])
    axis %= len(shape)
    before, size, after = volume(shape[:axis]), shape[axis], volume(shape[axis + 1 :])
    found: list[tuple[Size, bool]]
    if len(scale) == 1 and not block:
        if scale[0] != size:
            return None
        found = [(before, False), (size, True), (after, False)]
    elif not block or not is_static(size) or size % block or scale[axis] * block != size:
        return None
    else:
        found = [(before, True), (size // block, True), (block, False), (after, True)]
    nontrivial = [(number, varies) for number, varies in found if number != 1] or [(1, False)]
    return _ScaleBlocks([number for number, _ in nontrivial], [varies for _, varies in nontrivial])


def read_as(
    kernel: KernelBuilder,
    buffer: SSAValue,
    indices: Sequence[SSAValue],
    element: Attribute,
    target: Attribute,
) -> Scalar:
    """Load an element of a buffer and convert it to the type `target`."""
    number = Scalar(kernel, kernel.read(buffer, indices, element))
    return number.to(target, is_unsigned_element(element))


def saturated(number: Scalar, element: Attribute) -> SSAValue:
    """Convert an integral float to the nearest integer of a type; NaN to the least."""
    low, high = integer_range(element)
    clamped = (number > low).select(number, low)
    return (clamped < high).select(clamped, high).to(i32).to(storage_type(element)).value


ROUND_MAGIC = 12582912.0
"""
1.5 · 2²³: adding it to an f32 below 2²² rounds to the nearest integer, ties to even, in the low mantissa
bits.
"""
ROUND_MAGIC_BITS = 0x4B400000


def round_to_int8(steps: Scalar, low: Number, high: Number) -> tuple[Scalar, Scalar]:
    """
    Round an f32 to the nearest integer in [low, high], ties to even; NaN becomes `low`.

    Bounds are integers within ±2²². Returns the integer as f32 and as i32.
    """
    # The comparison is false for NaN, which thus becomes `low`.
    clamped = (steps > low).select(steps, low)
    clamped = (clamped < high).select(clamped, high)
    shifted = clamped + ROUND_MAGIC
    bits = Scalar(steps.kernel, steps.kernel.add(arith.BitcastOp(shifted.value, i32)))
    return shifted - ROUND_MAGIC, bits - ROUND_MAGIC_BITS


supports_dynamic_shapes(QuantizeLinearOp, DequantizeLinearOp)


MISFIT = "blocks that do not divide the axis, or scales that may not match a dynamic dimension"


def _fits(zero: SSAValue, scale: SSAValue, builder: LoweringBuilder) -> bool:
    """Whether zero points are absent, or as many as scales."""
    return zero.type == NONE or volume(builder.sizes(zero)) == volume(builder.sizes(scale))


@lowers(QuantizeLinearOp)
def quantize(op: QuantizeLinearOp, builder: LoweringBuilder) -> str | None:
    """`saturate(round(x / scale) + zero)`, ties to even."""
    shape, scales = builder.sizes(op.x), builder.sizes(op.y_scale)
    blocks = _blocks(shape, scales, op.axis.value.data, op.block_size.value.data)
    if blocks is None or not _fits(op.y_zero_point, op.y_scale, builder):
        return MISFIT
    elements = [builder.element(value) for value in (op.y, op.x, op.y_scale)]
    out_element, element, scale_element = elements
    precision = ELEMENT_TYPES_BY_CODE.get(op.precision.value.data)
    # As in numpy: float16 is divided in float16, integers in float64.
    if precision is None:
        precision = element if element == scale_element else f32
    number = f64 if is_integer(element) or precision == f64 else f32
    types = [buffer_type(blocks.sizes, element) for element in elements[:2]]
    types.append(buffer_type(blocks.scales, scale_element))
    buffers = [builder.buffer(op.x), builder.buffer(op.y_scale)]
    has_zero = op.y_zero_point.type != NONE and is_integer(out_element)
    if has_zero:
        types.append(buffer_type(blocks.scales, out_element))
        buffers.append(builder.buffer(op.y_zero_point))
    kernel = KernelBuilder(types)
    out, source, scale, *zero = kernel.buffers
    with kernel.loops(blocks.sizes) as indices:
        own = [
            index if varies else kernel.index(0) for index, varies in zip(indices, blocks.varies, strict=True)
        ]
        x = read_as(kernel, source, indices, element, number)
        x = x / read_as(kernel, scale, own, scale_element, number)
        if precision == f16 or precision in NARROW_FLOATS:
            x = Scalar(
                kernel, kernel.to_compute_type(kernel.to_storage_type(x.to(f32).value, precision), precision)
            )
        if not is_integer(out_element):
            saturate = bool(op.saturate.value.data)
            kernel.store(kernel.to_storage_type(x.to(f32).value, out_element, saturate), out, indices)
        elif out_element.width.data == 8 and x.type == f32:
            low, high = integer_range(out_element)
            offset = (
                read_as(kernel, zero[0], own, out_element, i32)
                if zero
                else Scalar(kernel, kernel.constant(0, i32))
            )
            centre = Scalar(kernel, kernel.add(arith.SIToFPOp(offset.value, f32)))
            _, rounded = round_to_int8(x, low - centre, high - centre)
            kernel.write((rounded + offset).to(storage_type(out_element)).value, out, indices, out_element)
        else:
            x = x.round()
            if zero:
                x = x + read_as(kernel, zero[0], own, out_element, x.type)
            kernel.write(saturated(x, out_element), out, indices, out_element)
    builder.call("quantizelinear", kernel, [builder.result(op.y)], buffers)
    return None


@lowers(DequantizeLinearOp)
def dequantize(op: DequantizeLinearOp, builder: LoweringBuilder) -> str | None:
    """`(x - zero) scale`."""
    shape, scales = builder.sizes(op.x), builder.sizes(op.x_scale)
    blocks = _blocks(shape, scales, op.axis.value.data, op.block_size.value.data)
    if blocks is None or not _fits(op.x_zero_point, op.x_scale, builder):
        return MISFIT
    out_element, element, scale_element = [builder.element(value) for value in (op.y, op.x, op.x_scale)]
    types = [buffer_type(blocks.sizes, out_element), buffer_type(blocks.sizes, element)]
    types.append(buffer_type(blocks.scales, scale_element))
    buffers = [builder.buffer(op.x), builder.buffer(op.x_scale)]
    if op.x_zero_point.type != NONE and is_integer(element):
        types.append(buffer_type(blocks.scales, element))
        buffers.append(builder.buffer(op.x_zero_point))
    kernel = KernelBuilder(types)
    out, source, scale, *zero = kernel.buffers
    with kernel.loops(blocks.sizes) as indices:
        own = [
            index if varies else kernel.index(0) for index, varies in zip(indices, blocks.varies, strict=True)
        ]
        x = read_as(kernel, source, indices, element, f32)
        if zero:
            x = x - read_as(kernel, zero[0], own, element, f32)
        x = x * read_as(kernel, scale, own, scale_element, f32)
        kernel.write(x.value, out, indices, out_element)
    builder.call("dequantizelinear", kernel, [builder.result(op.y)], buffers)
    return None
