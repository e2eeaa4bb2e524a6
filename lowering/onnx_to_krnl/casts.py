"""Cast, CastLike and BitCast: conversions between element types."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, f32, f64, i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.math import DecodeOp
from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops import tensor
from xonnc.dialects.onnx.types import element_type
from xonnc.lowering.onnx_to_krnl.element_types import (
    NARROW_FLOATS,
    compute_type,
    integer_range,
    is_sub_byte,
    is_unsigned_element,
    storage_type,
)
from xonnc.lowering.onnx_to_krnl.elementwise_fusion import ElementwiseBody, is_float, lowers_elementwise
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder, lowers_data_movement

MaybeScalar = SSAValue | None


@lowers_elementwise(tensor.CastOp)
def cast(op: tensor.CastOp, body: ElementwiseBody) -> MaybeScalar:
    """
    Convert to another element type. Floats are truncated to integers; `saturate` applies to 8-bit floats and
    smaller.
    """
    return converted(body, op.input, op.output, bool(op.saturate.value.data), op.round_mode.data)


@lowers_elementwise(tensor.CastLikeOp)
def cast_like(op: tensor.CastLikeOp, body: ElementwiseBody) -> MaybeScalar:
    """Convert to the element type of another tensor."""
    return converted(body, op.input, op.output, bool(op.saturate.value.data), op.round_mode.data)


@lowers_data_movement(tensor.BitCastOp)
def bit_cast(op: tensor.BitCastOp, builder: LoweringBuilder) -> str | None:
    """Reinterpret the bits as another type of the same width."""
    target, source = builder.element(op.output), builder.element(op.input)
    if is_sub_byte(target) or is_sub_byte(source):
        return "integers of 2 or 4 bits"
    builder.alias(op.output, op.input)
    return None


def converted(
    body: ElementwiseBody, given: SSAValue, result: SSAValue, saturate: bool, round_mode: str
) -> MaybeScalar:
    """Return an element of `given` converted to the element type of `result`."""
    source, target = element_type(given.type), element_type(result.type)
    assert source is not None
    assert target is not None
    number = _rounded(body, body(given), source)
    if source == target:
        return number
    if target in NARROW_FLOATS:
        return body.kernel.to_storage_type(_float(body, number, source), target, saturate, round_mode)
    if compute_type(target) == f32 and target != f32:
        return body.kernel.to_storage_type(_float(body, number, source), target)
    if not is_integer(storage_type(target)):
        return _sized(body, _float(body, number, source, target), target)
    if is_float(number):
        return from_float(body, number, target)
    return _from_integer(body, number, is_unsigned_element(source), target)


def _rounded(body: ElementwiseBody, number: SSAValue, source: Attribute) -> SSAValue:
    """Round a narrow float that was computed as f32 in the same kernel to its own type."""
    if compute_type(source) != f32 or source == f32 or isinstance(number.owner, arith.ExtFOp | DecodeOp):
        return number
    return body.kernel.to_compute_type(body.kernel.to_storage_type(number, source), source)


def _float(body: ElementwiseBody, number: SSAValue, source: Attribute, target: Attribute = f32) -> SSAValue:
    """Return an element as a float: floats unchanged, integers converted to `target`, rounded once."""
    return number if is_float(number) else to_float(body, number, is_unsigned_element(source), target)


def _sized(body: ElementwiseBody, number: SSAValue, target: Attribute) -> SSAValue:
    if number.type == target:
        return number
    return body.add(arith.ExtFOp(number, f64) if target == f64 else arith.TruncFOp(number, f32))


def to_float(body: ElementwiseBody, number: SSAValue, unsigned: bool, target: Attribute) -> SSAValue:
    """Convert an integer or boolean to f32 or f64."""
    assert is_integer(number.type)
    kind = f64 if target == f64 else f32
    width = number.type.width.data
    if not unsigned and width > 1:
        return body.add(arith.SIToFPOp(number, kind))
    if width < 64:
        return body.add(arith.SIToFPOp(body.add(arith.ExtUIOp(number, i64)), kind))
    # u64 >= 2^63: convert x/2 as signed and double. The shifted-out bit is or-ed into the last bit (round to
    # odd), so that halfway cases are rounded as those of x.
    one = body.constant(1, number)
    odd = body.add(arith.AndIOp(number, one))
    half = body.add(arith.OrIOp(body.add(arith.ShRUIOp(number, one)), odd))
    twice = body.add(arith.SIToFPOp(half, kind))
    twice = body.add(arith.AddfOp(twice, twice))
    is_large = body.add(arith.CmpiOp(number, body.constant(0, number), "slt"))
    return body.add(arith.SelectOp(is_large, twice, body.add(arith.SIToFPOp(number, kind))))


def from_float(body: ElementwiseBody, number: SSAValue, target: Attribute) -> SSAValue:
    """
    Truncate a float to an integer; saturate if it is out of range, 0 for NaN.

    ONNX leaves both undefined (see docs/edge-values.md). Integers of 2 or 4 bits are the low bits of a
    saturated 32-bit integer, as the node tests of the onnx package expect.
    """
    kind = storage_type(target)
    assert is_integer(kind)
    if kind == i1:
        return body.add(arith.CmpfOp(number, body.constant(0, number), "une"))
    width, unsigned = kind.width.data, is_unsigned_element(target)
    if width == 64:
        return body.add((arith.FPToUIOp if unsigned else arith.FPToSIOp)(number, i64))
    over = i64 if width == 32 and unsigned else i32
    made = body.add(arith.FPToSIOp(number, over))
    if kind != over and not is_sub_byte(target):
        low, high = integer_range(target)
        made = body.add(arith.MaxSIOp(made, body.constant(low, made)))
        made = body.add(arith.MinSIOp(made, body.constant(high, made)))
    return _wrapped(body, made, target, kind)


def _from_integer(body: ElementwiseBody, number: SSAValue, unsigned: bool, target: Attribute) -> SSAValue:
    kind = storage_type(target)
    assert is_integer(kind)
    assert is_integer(number.type)
    if kind == i1:
        return body.add(arith.CmpiOp(number, body.constant(0, number), "ne"))
    if kind.width.data > number.type.width.data:
        is_zero_extended = unsigned or number.type == i1
        number = body.add((arith.ExtUIOp if is_zero_extended else arith.ExtSIOp)(number, kind))
    return _wrapped(body, number, target, kind)


def _wrapped(body: ElementwiseBody, number: SSAValue, target: Attribute, kind: IntegerType) -> SSAValue:
    """Truncate an integer to the low bits of its type."""
    if number.type != kind:
        number = body.add(arith.TruncIOp(number, kind))
    if is_sub_byte(target):
        number = body.kernel.to_compute_type(body.kernel.to_storage_type(number, target), target)
    return number
