"""Cast, CastLike and BitCast: conversions between element types."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IntegerType, f32, f64, i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.math import DecodeOp
from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops import tensor
from xonnc.dialects.onnx.types import element_type
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder, lowers_data_movement
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.math.elementwise_fusion import ElementwiseBody, lowers_elementwise
from xonnc.lowering.onnx_to_krnl.planning.element_types import (
    NARROW_FLOATS,
    compute_type,
    integer_range,
    is_sub_byte,
    is_unsigned_element,
    storage_type,
)
from xonnc.lowering.onnx_to_krnl.planning.qdq_pairs import ROUNDS


@lowers_elementwise(tensor.CastOp, tensor.CastLikeOp)
def cast(op: tensor.CastOp | tensor.CastLikeOp, body: ElementwiseBody) -> Scalar:
    """
    Convert to another element type, or to that of another tensor. Floats are truncated to integers;
    `saturate` applies to 8-bit floats and smaller.
    """
    if ROUNDS in op.attributes:
        return body(op.input).small_integer()
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
) -> Scalar:
    """Return an element of `given` converted to the element type of `result`."""
    source, target = element_type(given.type), element_type(result.type)
    assert source is not None
    assert target is not None
    number = _rounded(body(given), source)
    if source == target:
        return number
    if target in NARROW_FLOATS:
        return _float(number, source).stored_as(target, saturate, round_mode)
    if compute_type(target) == f32 and target != f32:
        return _float(number, source).stored_as(target)
    if not is_integer(storage_type(target)):
        return _float(number, source, target).to(target)
    if number.is_float:
        return from_float(number, target)
    return _from_integer(number, is_unsigned_element(source), target)


def _rounded(number: Scalar, source: Attribute) -> Scalar:
    """Round a narrow float that was computed as f32 in the same kernel to its own type."""
    is_stored = isinstance(number.value.owner, arith.ExtFOp | DecodeOp)
    return number if compute_type(source) != f32 or source == f32 or is_stored else number.rounded_to(source)


def _float(number: Scalar, source: Attribute, target: Attribute = f32) -> Scalar:
    """Return an element as a float: floats unchanged, integers converted to `target`, rounded once."""
    return number if number.is_float else to_float(number, is_unsigned_element(source), target)


def to_float(number: Scalar, unsigned: bool, target: Attribute) -> Scalar:
    """Convert an integer or boolean to f32 or f64."""
    assert is_integer(number.type)
    kind = f64 if target == f64 else f32
    width = number.type.width.data
    if not unsigned and width > 1:
        return _signed_to_float(number, kind)
    if width < 64:
        wide = i64 if width == 32 else i32
        return _signed_to_float(number.made(arith.ExtUIOp(number.value, wide)), kind)
    # u64 >= 2^63: convert x/2 as signed and double. The shifted-out bit is or-ed into the last bit (round to
    # odd), so that halfway cases are rounded as those of x.
    one = number.like(1)
    odd = number & one
    half = number.shift_right(one) | odd
    twice = _signed_to_float(half, kind)
    twice = twice + twice
    return (number < 0).select(twice, _signed_to_float(number, kind))


def _signed_to_float(number: Scalar, kind: AnyFloat) -> Scalar:
    return number.made(arith.SIToFPOp(number.value, kind))


def from_float(number: Scalar, target: Attribute) -> Scalar:
    """
    Truncate a float to an integer; saturate if it is out of range, 0 for NaN.

    ONNX leaves both undefined (see docs/edge-values.md). Integers of 2 or 4 bits are the low bits of a
    saturated 32-bit integer, as the node tests of the onnx package expect.
    """
    kind = storage_type(target)
    assert is_integer(kind)
    if kind == i1:
        return number.differs(0)
    width, unsigned = kind.width.data, is_unsigned_element(target)
    if width == 64 and not unsigned and number.type == f32:
        return _truncated_to_i64(number)
    if width == 64:
        return number.made((arith.FPToUIOp if unsigned else arith.FPToSIOp)(number.value, i64))
    if number.type == f32 and not is_sub_byte(target) and not (width == 32 and unsigned):
        return _truncated(number, *integer_range(target)).to(kind)
    over = i64 if width == 32 and unsigned else i32
    made = number.made(arith.FPToSIOp(number.value, over))
    if kind != over and not is_sub_byte(target):
        made = made.clamp(*integer_range(target))
    return _wrapped(made, target, kind)


def _truncated(number: Scalar, low: int, high: int) -> Scalar:
    """
    Truncate an f32 to an i32 in a range of at most 32 bits; 0 for NaN.

    LLVM computes saturating conversions of vectors one lane at a time.
    """
    bounded = number.is_number().select(number, 0.0)
    bounded = (bounded > low).select(bounded, low)
    bounded = (bounded < high).select(bounded, high)
    if high < 1 << 16:
        return bounded.trunc().small_integer()
    # Two parts, each exact and of 16 bits at most; of 2^31, the least float beyond, they give -2^31.
    upper = (bounded * 2.0**-16).trunc()
    lower = (bounded - upper * 2.0**16).trunc()
    made = upper.small_integer() * (1 << 16) + lower.small_integer()
    return (number >= 2.0**31).select(high, made)


def _truncated_to_i64(number: Scalar) -> Scalar:
    """
    Truncate an f32 to an i64, saturating; 0 for NaN.

    Its 24 bits of mantissa are shifted by the exponent, whichever way.
    """
    bits = number.bitcast(i32)
    mantissa = ((bits & 0x7FFFFF) | 0x800000).to(i64)
    # Of the last bit of the mantissa; numbers from 2^63 on are replaced below.
    exponent = (bits.shift_right(23) & 0xFF).to(i64) - 150
    left, right = exponent.clamp(0, 39), (exponent.like(0) - exponent).clamp(0, 24)
    size = mantissa.shift_left(left).shift_right(right)
    low, high = -(1 << 63), (1 << 63) - 1
    made = (number < 0.0).select(size.like(0) - size, size)
    made = (number >= 2.0**63).select(high, made)
    made = (number <= -(2.0**63)).select(low, made)
    return number.is_number().select(made, 0)


def _from_integer(number: Scalar, unsigned: bool, target: Attribute) -> Scalar:
    kind = storage_type(target)
    assert is_integer(kind)
    assert is_integer(number.type)
    if kind == i1:
        return number.differs(0)
    if kind.width.data > number.type.width.data:
        number = number.to(kind, unsigned)
    return _wrapped(number, target, kind)


def _wrapped(number: Scalar, target: Attribute, kind: IntegerType) -> Scalar:
    """Truncate an integer to the low bits of its type."""
    if number.type != kind:
        number = number.made(arith.TruncIOp(number.value, kind))
    return number.rounded_to(target) if is_sub_byte(target) else number
