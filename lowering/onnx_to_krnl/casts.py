"""Conversions of element types."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, f32, f64, i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.math import DecodeOp
from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops import tensor
from xonnc.dialects.onnx.types import element_type
from xonnc.lowering.onnx_to_krnl.element_types import (
    CODED,
    integer_range,
    is_nibble,
    is_unsigned_element,
    stored,
    wide,
)
from xonnc.lowering.onnx_to_krnl.elementwise_fusion import Point, at_each_point, is_float
from xonnc.lowering.onnx_to_krnl.lowering_builder import Lowering, moves

Made = SSAValue | None


@at_each_point(tensor.CastOp)
def cast(op: tensor.CastOp, at: Point) -> Made:
    """To another type: floats to integers towards 0, to small floats as `saturate` says."""
    return converted(at, op.input, op.output, bool(op.saturate.value.data), op.round_mode.data)


@at_each_point(tensor.CastLikeOp)
def cast_like(op: tensor.CastLikeOp, at: Point) -> Made:
    """To the type of another tensor, of which nothing else counts."""
    return converted(at, op.input, op.output, bool(op.saturate.value.data), op.round_mode.data)


@moves(tensor.BitCastOp)
def bit_cast(op: tensor.BitCastOp, to: Lowering) -> str | None:
    """The same bits as another type of the same size."""
    wanted, source = to.element(op.output), to.element(op.input)
    if is_nibble(wanted) or is_nibble(source):
        return "of integers of less than a byte"
    to.alias(op.output, op.input)
    return None


def converted(at: Point, given: SSAValue, result: SSAValue, saturate: bool, round_mode: str) -> Made:
    """The number of a tensor as an element of another."""
    source, wanted = element_type(given.type), element_type(result.type)
    assert source is not None
    assert wanted is not None
    number = _rounded(at, at(given), source)
    if source == wanted:
        return number
    if wanted in CODED:
        return at.kernel.narrowed(_float(at, number, source), wanted, saturate, round_mode)
    if wide(wanted) == f32 and wanted != f32:
        return at.kernel.narrowed(_float(at, number, source), wanted)
    if not is_integer(stored(wanted)):
        return _sized(at, _float(at, number, source, wanted), wanted)
    if is_float(number):
        return from_float(at, number, wanted)
    return _from_integer(at, number, is_unsigned_element(source), wanted)


def _rounded(at: Point, number: SSAValue, source: Attribute) -> SSAValue:
    """A number of a small float, which has more bits where the kernel computes it itself."""
    if wide(source) != f32 or source == f32 or isinstance(number.owner, arith.ExtFOp | DecodeOp):
        return number
    return at.kernel.widened(at.kernel.narrowed(number, source), source)


def _float(at: Point, number: SSAValue, source: Attribute, wanted: Attribute = f32) -> SSAValue:
    """A number as a float: floats as they are, integers as `wanted`, rounded once."""
    return number if is_float(number) else to_float(at, number, is_unsigned_element(source), wanted)


def _sized(at: Point, number: SSAValue, wanted: Attribute) -> SSAValue:
    if number.type == wanted:
        return number
    return at.add(arith.ExtFOp(number, f64) if wanted == f64 else arith.TruncFOp(number, f32))


def to_float(at: Point, number: SSAValue, unsigned: bool, wanted: Attribute) -> SSAValue:
    """An integer or truth value as f32 or f64."""
    assert is_integer(number.type)
    kind = f64 if wanted == f64 else f32
    width = number.type.width.data
    if not unsigned and width > 1:
        return at.add(arith.SIToFPOp(number, kind))
    if width < 64:
        return at.add(arith.SIToFPOp(at.add(arith.ExtUIOp(number, i64)), kind))
    # Half of it has a sign bit to spare; the bit that goes is kept in the last, which decides ties.
    one = at.number(1, number)
    odd = at.add(arith.AndIOp(number, one))
    half = at.add(arith.OrIOp(at.add(arith.ShRUIOp(number, one)), odd))
    twice = at.add(arith.SIToFPOp(half, kind))
    twice = at.add(arith.AddfOp(twice, twice))
    is_large = at.add(arith.CmpiOp(number, at.number(0, number), "slt"))
    return at.add(arith.SelectOp(is_large, twice, at.add(arith.SIToFPOp(number, kind))))


def from_float(at: Point, number: SSAValue, wanted: Attribute) -> SSAValue:
    """
    Towards 0; what is out of range gives the nearest integer, NaN 0.

    ONNX leaves both undefined; docs/edge-values.md has what is chosen. Integers of less than a byte are
    the low bits of the nearest of 32 bits, as the node tests of the onnx package expect.
    """
    kind = stored(wanted)
    assert is_integer(kind)
    if kind == i1:
        return at.add(arith.CmpfOp(number, at.number(0, number), "une"))
    width, unsigned = kind.width.data, is_unsigned_element(wanted)
    if width == 64:
        return at.add((arith.FPToUIOp if unsigned else arith.FPToSIOp)(number, i64))
    over = i64 if width == 32 and unsigned else i32
    made = at.add(arith.FPToSIOp(number, over))
    if kind != over and not is_nibble(wanted):
        low, high = integer_range(wanted)
        made = at.add(arith.MaxSIOp(made, at.number(low, made)))
        made = at.add(arith.MinSIOp(made, at.number(high, made)))
    return _wrapped(at, made, wanted, kind)


def _from_integer(at: Point, number: SSAValue, unsigned: bool, wanted: Attribute) -> SSAValue:
    kind = stored(wanted)
    assert is_integer(kind)
    assert is_integer(number.type)
    if kind == i1:
        return at.add(arith.CmpiOp(number, at.number(0, number), "ne"))
    if kind.width.data > number.type.width.data:
        is_zero_extended = unsigned or number.type == i1
        number = at.add((arith.ExtUIOp if is_zero_extended else arith.ExtSIOp)(number, kind))
    return _wrapped(at, number, wanted, kind)


def _wrapped(at: Point, number: SSAValue, wanted: Attribute, kind: IntegerType) -> SSAValue:
    """The low bits of an integer."""
    if number.type != kind:
        number = at.add(arith.TruncIOp(number, kind))
    if is_nibble(wanted):
        number = at.kernel.widened(at.kernel.narrowed(number, wanted), wanted)
    return number
