"""Operators whose rules for integers are their own: division, remainders, powers, shifts, signs."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f64, i1, i64
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.math import RemainderOp
from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops import logical
from xonnc.dialects.onnx.ops import math as onnx
from xonnc.dialects.onnx.ops.constant import constant_elements
from xonnc.dialects.onnx.types import element_type
from xonnc.lowering.onnx_to_krnl.casts import from_float, to_float
from xonnc.lowering.onnx_to_krnl.element_types import is_unsigned_element
from xonnc.lowering.onnx_to_krnl.elementwise_fusion import Point, at_each_point, is_float, is_unsigned

Made = SSAValue | None


def compared(at: Point, predicate: str, a: SSAValue, bound: float | SSAValue) -> SSAValue:
    """An integer compared with another or a number."""
    return at.add(
        arith.CmpiOp(a, at.number(bound, a) if isinstance(bound, int | float) else bound, predicate)
    )


def chosen(at: Point, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
    """`a` where the condition holds, else `b`."""
    return at.add(arith.SelectOp(condition, a, b))


@at_each_point(onnx.DivOp)
def div(op: onnx.DivOp, at: Point) -> Made:
    """`A / B`, of integers towards 0; divided by 0 they give 0."""
    a, b = at(op.A), at(op.B)
    if is_float(a):
        return at.add(arith.DivfOp(a, b))
    return quotient(at, is_unsigned(op.A), a, b)


def quotient(at: Point, unsigned: bool, a: SSAValue, b: SSAValue) -> SSAValue:
    """`a / b` towards 0. Processors trap on a division by 0, and on one by -1 that leaves the range."""
    zero, one = at.number(0, a), at.number(1, a)
    is_zero = compared(at, "eq", b, 0)
    if unsigned:
        return chosen(at, is_zero, zero, at.add(arith.DivUIOp(a, chosen(at, is_zero, one, b))))
    is_minus = compared(at, "eq", b, -1)
    safe = chosen(at, at.add(arith.OrIOp(is_zero, is_minus)), one, b)
    made = at.add(arith.DivSIOp(a, safe))
    made = chosen(at, is_minus, at.add(arith.SubiOp(zero, a)), made)
    return chosen(at, is_zero, zero, made)


def remainder(at: Point, unsigned: bool, a: SSAValue, b: SSAValue) -> SSAValue:
    """What a division towards 0 leaves; 0 for 0 and for -1, on which processors trap."""
    one = at.number(1, a)
    is_zero = compared(at, "eq", b, 0)
    if unsigned:
        made = at.add(arith.RemUIOp(a, chosen(at, is_zero, one, b)))
        return chosen(at, is_zero, at.number(0, a), made)
    is_minus = compared(at, "eq", b, -1)
    return at.add(arith.RemSIOp(a, chosen(at, at.add(arith.OrIOp(is_zero, is_minus)), one, b)))


@at_each_point(onnx.ModOp)
def mod(op: onnx.ModOp, at: Point) -> Made:
    """What `A / B` leaves: with the sign of A if `fmod`, else with that of B."""
    a, b = at(op.A), at(op.B)
    keeps_sign = bool(op.fmod.value.data)
    if is_float(a):
        return _float_mod(at, keeps_sign, a, b)
    left = remainder(at, is_unsigned(op.A), a, b)
    if keeps_sign or is_unsigned(op.A):
        return left
    differs = compared(at, "slt", at.add(arith.XOrIOp(left, b)), 0)
    moved = at.add(arith.AndIOp(differs, compared(at, "ne", left, 0)))
    # By 0 nothing is left, so that nothing is moved.
    return chosen(at, moved, at.add(arith.AddiOp(left, b)), left)


def _float_mod(at: Point, keeps_sign: bool, a: SSAValue, b: SSAValue) -> SSAValue:
    left = at.add(RemainderOp(a, b))
    if keeps_sign:
        return left
    zero = at.number(0, a)
    is_below, is_divisor_below = (at.add(arith.CmpfOp(each, zero, "olt")) for each in (left, b))
    is_left = at.add(arith.CmpfOp(left, zero, "une"))
    moved = at.add(arith.AndIOp(at.add(arith.XOrIOp(is_below, is_divisor_below)), is_left))
    made = chosen(at, moved, at.add(arith.AddfOp(left, b)), left)
    return chosen(at, is_left, made, at.add(math.CopySignOp(zero, b)))


MULTIPLICATIONS: Mapping[float | None, int] = {2.0: 1, 3.0: 2}
"""Exponents that are a few multiplications, with how many."""

EXACT = 1 << 24
"""So far integers are exact as f32."""


def _known(value: SSAValue) -> float | None:
    """The number that a constant is."""
    array = constant_elements(value)
    return float(array.reshape(-1)[0]) if array is not None and array.size == 1 else None


@at_each_point(onnx.PowOp)
def power(op: onnx.PowOp, at: Point) -> Made:
    """`X^Y` in the type of X; of two integers exactly, as far as the bits go."""
    a = at(op.X)
    times = MULTIPLICATIONS.get(_known(op.Y)) if is_float(a) else None
    if times is not None:
        made = a
        for _ in range(times):
            made = at.add(arith.MulfOp(made, a))
        return made
    b = at(op.Y)
    if is_float(a):
        return _float_power(at, a, b) if is_float(b) else _whole_power(at, a, b, op.Y)
    if is_float(b):
        base = to_float(at, a, is_unsigned(op.X), f64)
        element = element_type(op.X.type)
        assert element is not None
        return from_float(at, at.add(math.PowFOp(base, _double(at, b))), element)
    return _integer_power(at, a, b, is_unsigned(op.Y))


def _double(at: Point, number: SSAValue) -> SSAValue:
    """A float as f64."""
    return number if number.type == f64 else at.add(arith.ExtFOp(number, f64))


def _float_power(at: Point, a: SSAValue, b: SSAValue) -> SSAValue:
    """Of two floats, in the wider type of both: what a large exponent loses may be that it is odd."""
    if a.type == b.type:
        return at.add(math.PowFOp(a, b))
    made = at.add(math.PowFOp(_double(at, a), _double(at, b)))
    return made if a.type == f64 else at.add(arith.TruncFOp(made, a.type))


def _whole_power(at: Point, a: SSAValue, b: SSAValue, exponent: SSAValue) -> SSAValue:
    """
    Of a float and an integer: the power of the size of the float, with the sign if the integer is odd.

    A float of 2^53 or more is even, so that the sign would get lost.
    """
    array = constant_elements(exponent)
    if array is not None and array.size and max(abs(int(array.min())), abs(int(array.max()))) <= EXACT:
        return at.add(math.PowFOp(a, to_float(at, b, is_unsigned(exponent), a.type)))
    size = at.add(math.AbsFOp(_double(at, a)))
    made = at.add(math.PowFOp(size, to_float(at, b, is_unsigned(exponent), f64)))
    made = made if a.type == f64 else at.add(arith.TruncFOp(made, a.type))
    one = at.number(1, b)
    is_odd = compared(at, "ne", at.add(arith.AndIOp(b, one)), 0)
    return chosen(at, is_odd, at.add(math.CopySignOp(made, a)), made)


def _integer_power(at: Point, a: SSAValue, b: SSAValue, unsigned: bool) -> SSAValue:
    """By squares; a negative exponent gives 0 but for 1 and -1."""
    assert is_integer(b.type)
    exponent = b if b.type == i64 else at.add((arith.ExtUIOp if unsigned else arith.ExtSIOp)(b, i64))
    one, zero = at.number(1, a), at.number(0, a)
    with at.kernel.reducing([64], [one, a, exponent]) as (_, held, results):
        made, square, rest = held
        is_odd = compared(at, "ne", at.add(arith.AndIOp(rest, at.number(1, rest))), 0)
        results.append(chosen(at, is_odd, at.add(arith.MuliOp(made, square)), made))
        results.append(at.add(arith.MuliOp(square, square)))
        results.append(at.add(arith.ShRUIOp(rest, at.number(1, rest))))
    if unsigned:
        return results[0]
    is_odd = compared(at, "ne", at.add(arith.AndIOp(exponent, at.number(1, exponent))), 0)
    inverse = chosen(at, compared(at, "eq", a, 1), one, zero)
    signed = chosen(at, is_odd, a, one)
    inverse = chosen(at, compared(at, "eq", a, -1), signed, inverse)
    return chosen(at, compared(at, "slt", exponent, 0), inverse, results[0])


@at_each_point(logical.BitShiftOp)
def bit_shift(op: logical.BitShiftOp, at: Point) -> Made:
    """`X` shifted by `Y` bits; as many as there are or more leave the sign or nothing."""
    x, count = at(op.X), at(op.Y)
    assert is_integer(x.type)
    width = x.type.width.data
    unsigned = is_unsigned(op.X)
    fits = compared(at, "ult", count, width)
    if op.direction.data == "RIGHT" and not unsigned:
        return at.add(arith.ShRSIOp(x, chosen(at, fits, count, at.number(width - 1, x))))
    kind = arith.ShLIOp if op.direction.data == "LEFT" else arith.ShRUIOp
    zero = at.number(0, x)
    return chosen(at, fits, at.add(kind(x, chosen(at, fits, count, zero))), zero)


@at_each_point(onnx.AbsOp)
def absolute(op: onnx.AbsOp, at: Point) -> Made:
    """`|X|`"""
    x = at(op.X)
    if is_float(x):
        return at.add(math.AbsFOp(x))
    return x if is_unsigned(op.X) else at.add(arith.MaxSIOp(x, at.add(arith.SubiOp(at.number(0, x), x))))


@at_each_point(onnx.SignOp)
def sign(op: onnx.SignOp, at: Point) -> Made:
    """-1, 0 or 1, of -0 too; NaN stays."""
    x = at(op.input)
    zero, one = at.number(0, x), at.number(1, x)
    if is_float(x):
        rest = chosen(at, at.add(arith.CmpfOp(x, x, "uno")), x, zero)
        positive = chosen(at, at.add(arith.CmpfOp(x, zero, "ogt")), one, rest)
        return chosen(at, at.add(arith.CmpfOp(x, zero, "olt")), at.number(-1, x), positive)
    if x.type == i1:
        return x
    positive = chosen(at, compared(at, "ne", x, 0), one, zero)
    if is_unsigned_element(element_type(op.input.type) or x.type):
        return positive
    return chosen(at, compared(at, "slt", x, 0), at.number(-1, x), positive)
