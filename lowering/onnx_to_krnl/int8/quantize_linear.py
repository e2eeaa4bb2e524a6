"""QuantizeLinear and DequantizeLinear: per tensor, per axis, or blocked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import f16, f32, f64, i32, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.types import ELEMENT_TYPES_BY_CODE, NONE
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel, Operand
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    LoweringBuilder,
    lowers,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.scalars import (
    ROUND_MAGIC,
    ROUND_MAGIC_BITS,
    ROUND_MAGIC_F64,
    Number,
    Scalar,
)
from xonnc.lowering.onnx_to_krnl.planning.element_types import (
    NARROW_FLOATS,
    integer_range,
)
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static, volume


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


def round_within(steps: Scalar, low: Number, high: Number) -> tuple[Scalar, Scalar]:
    """
    Round a float to the nearest integer in [low, high], ties to even; NaN becomes `low`.

    Bounds are integers within ±2²². Returns the integer as float and as i32.
    """
    # The comparison is false for NaN, which thus becomes `low`.
    clamped = (steps > low).select(steps, low)
    clamped = (clamped < high).select(clamped, high)
    if steps.type == f64:
        shifted = clamped + ROUND_MAGIC_F64
        return shifted - ROUND_MAGIC_F64, shifted.bitcast(i64).to(i32)
    shifted = clamped + ROUND_MAGIC
    return shifted - ROUND_MAGIC, shifted.bitcast(i32) - ROUND_MAGIC_BITS


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
    operands = _operands(op.x, op.y_scale, op.y_zero_point, blocks, out_element)
    kernel = Kernel(builder, "quantizelinear", [(op.y, blocks.sizes)], operands)
    out, source, scale, *zero = kernel.buffers
    with kernel.loops(blocks.sizes) as indices:
        x = source.read_as(number, *indices)
        x = x / scale.read_as(number, *scale.broadcast(indices))
        if precision == f16 or precision in NARROW_FLOATS:
            x = x.to(f32).rounded_to(precision)
        if not is_integer(out_element):
            out.store(x.to(f32).stored_as(out_element, bool(op.saturate.value.data)), *indices)
        else:
            low, high = integer_range(out_element)
            offset = zero[0].read_as(i32, *zero[0].broadcast(indices)) if zero else kernel.constant(0, i32)
            centre = offset.made(arith.SIToFPOp(offset.value, f64 if x.type == f64 else f32))
            out[*indices] = round_within(x, low - centre, high - centre)[1] + offset
    kernel.call()
    return None


def _operands(
    x: SSAValue, scale: SSAValue, zero: SSAValue, blocks: _ScaleBlocks, element: Attribute
) -> list[Operand]:
    """Return the operands of a kernel; zero points of an `element` that is a float are not read."""
    zeros = [zero] if zero.type != NONE and is_integer(element) else []
    return [(x, blocks.sizes), *((each, blocks.scales) for each in (scale, *zeros))]


@lowers(DequantizeLinearOp)
def dequantize(op: DequantizeLinearOp, builder: LoweringBuilder) -> str | None:
    """`(x - zero) scale`."""
    shape, scales = builder.sizes(op.x), builder.sizes(op.x_scale)
    blocks = _blocks(shape, scales, op.axis.value.data, op.block_size.value.data)
    if blocks is None or not _fits(op.x_zero_point, op.x_scale, builder):
        return MISFIT
    operands = _operands(op.x, op.x_scale, op.x_zero_point, blocks, builder.element(op.x))
    kernel = Kernel(builder, "dequantizelinear", [(op.y, blocks.sizes)], operands)
    out, source, scale, *zeros = kernel.buffers
    with kernel.loops(blocks.sizes) as indices:
        x = source.read_as(f32, *indices)
        for zero in zeros:
            x = x - zero.read_as(f32, *zero.broadcast(indices))
        out[*indices] = x * scale.read_as(f32, *scale.broadcast(indices))
    kernel.call()
    return None
