"""Elementwise operators with rules of their own for integers: Div, Mod, Pow, BitShift, Abs, Sign."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, f64, i1, i32, i64
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.math import RemainderOp
from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops import logical
from xonnc.dialects.onnx.ops import math as onnx
from xonnc.dialects.onnx.ops.constant import constant_elements
from xonnc.dialects.onnx.types import element_type
from xonnc.lowering.onnx_to_krnl.builders.scalars import ROUND_MAGIC_F64, Scalar
from xonnc.lowering.onnx_to_krnl.math.casts import from_float, to_float
from xonnc.lowering.onnx_to_krnl.math.elementwise_fusion import (
    ElementwiseBody,
    is_unsigned,
    lowers_elementwise,
)
from xonnc.lowering.onnx_to_krnl.planning.element_types import is_unsigned_element
from xonnc.lowering.onnx_to_krnl.planning.qdq_pairs import IS_BOUNDED


@lowers_elementwise(onnx.DivOp)
def div(op: onnx.DivOp, body: ElementwiseBody) -> Scalar:
    """`A / B`; integers are truncated towards 0, and a division by 0 gives 0."""
    a, b = body(op.A), body(op.B)
    divisor = _known(op.B) if IS_BOUNDED in op.attributes and a.type == f32 else None
    if divisor is not None:
        return _by_reciprocal(a, divisor)
    return a / b if a.is_float else quotient(is_unsigned(op.A), a, b)


def _by_reciprocal(a: Scalar, divisor: float) -> Scalar:
    """
    `a / divisor` of f32, rounded once but for a few subnormal quotients.

    The remainder of the first product is exact, and so small that the second one corrects the last place
    (Markstein). A division takes ten times as long.
    """
    inverse = float(np.float32(1) / np.float32(divisor))
    made = a * inverse
    return (-made).multiply_add(divisor, a).multiply_add(inverse, made)


def quotient(unsigned: bool, a: Scalar, b: Scalar) -> Scalar:
    """
    `a / b` truncated towards 0.

    Processors trap on division by 0, and on the least integer divided by -1: both are replaced.
    """
    zero, one = a.like(0), a.like(1)
    is_zero = b.equals(0)
    if unsigned:
        return is_zero.select(zero, _divided(unsigned, a, is_zero.select(one, b)))
    is_minus = b.equals(-1)
    made = _divided(unsigned, a, (is_zero | is_minus).select(one, b))
    made = is_minus.select(zero - a, made)
    return is_zero.select(zero, made)


def _divided(unsigned: bool, a: Scalar, b: Scalar) -> Scalar:
    """
    The quotient of integers, truncated towards 0; the divisor is not 0, nor -1.

    Only floats are divided in vectors. A quotient of n bits that is no integer differs from the nearest one
    by 2⁻ⁿ of it or more, which f32 tells apart up to 16 bits, and f64 up to 32.
    """
    assert is_integer(a.type)
    width = a.type.width.data
    if width > i32.width.data or (unsigned and width == i32.width.data):
        return a.divide_unsigned(b) if unsigned else a // b
    if width < i32.width.data:
        return (a.to(f32, unsigned) / b.to(f32, unsigned)).trunc().small_integer().to(a.type)
    made = a.made(arith.SIToFPOp(a.value, f64)) / a.made(arith.SIToFPOp(b.value, f64))
    return (made.trunc() + ROUND_MAGIC_F64).bitcast(i64).to(i32)


def remainder(unsigned: bool, a: Scalar, b: Scalar) -> Scalar:
    """The remainder of a division truncated towards 0; 0 for divisors 0 and -1, on which processors trap."""
    one = a.like(1)
    is_zero = b.equals(0)
    if unsigned:
        made = a.remainder_unsigned(is_zero.select(one, b))
        return is_zero.select(0, made)
    is_minus = b.equals(-1)
    return a % (is_zero | is_minus).select(one, b)


@lowers_elementwise(onnx.ModOp)
def mod(op: onnx.ModOp, body: ElementwiseBody) -> Scalar:
    """Remainder of `A / B`, with the sign of A if `fmod`, else with that of B (as Python's `%`)."""
    a, b = body(op.A), body(op.B)
    keeps_sign = bool(op.fmod.value.data)
    if a.is_float:
        return _float_mod(keeps_sign, a, b)
    left = remainder(is_unsigned(op.A), a, b)
    if keeps_sign or is_unsigned(op.A):
        return left
    differs = (left ^ b) < 0
    moved = differs & left.differs(0)
    # The remainder by 0 is defined as 0, which is not adjusted.
    return moved.select(left + b, left)


def _float_mod(keeps_sign: bool, a: Scalar, b: Scalar) -> Scalar:
    left = a.made(RemainderOp(a.value, b.value))
    if keeps_sign:
        return left
    zero = a.like(0)
    is_below, is_divisor_below = left < zero, b < zero
    is_left = left.differs(zero)
    moved = (is_below ^ is_divisor_below) & is_left
    made = moved.select(left + b, left)
    return is_left.select(made, zero.copy_sign(b))


MULTIPLICATIONS: Mapping[float | None, int] = {2.0: 1, 3.0: 2}
"""Exponents that are expanded to multiplications, with how many."""

EXACT = 1 << 24
"""Up to this, integers are exact in f32."""


def _known(value: SSAValue) -> float | None:
    """Return the value of a scalar constant, or None."""
    array = constant_elements(value)
    return float(array.reshape(-1)[0]) if array is not None and array.size == 1 else None


@lowers_elementwise(onnx.PowOp)
def power(op: onnx.PowOp, body: ElementwiseBody) -> Scalar:
    """`X^Y` in the type of X; of two integers by exact multiplication, modulo the width."""
    a = body(op.X)
    times = MULTIPLICATIONS.get(_known(op.Y))
    if times is not None:
        made = a
        for _ in range(times):
            made = made * a
        return made
    b = body(op.Y)
    if a.is_float:
        return _float_power(a, b) if b.is_float else _whole_power(a, b, op.Y)
    if b.is_float:
        base = to_float(a, is_unsigned(op.X), f64)
        element = element_type(op.X.type)
        assert element is not None
        return from_float(base.power(b.to(f64)), element)
    return _integer_power(a, b, is_unsigned(op.Y))


def _float_power(a: Scalar, b: Scalar) -> Scalar:
    """
    Power of two floats in the wider of both types: narrowing a large exponent could lose that it is odd.
    """
    return a.power(b) if a.type == b.type else a.to(f64).power(b.to(f64)).to(a.type)


def _whole_power(a: Scalar, b: Scalar, exponent: SSAValue) -> Scalar:
    """
    Power of a float to an integer: `|a|^b`, with the sign of `a` if `b` is odd.

    As a float, an exponent of 2^53 or more would always be even.
    """
    array = constant_elements(exponent)
    if array is not None and array.size and max(abs(int(array.min())), abs(int(array.max()))) <= EXACT:
        return a.power(to_float(b, is_unsigned(exponent), a.type))
    size = a.to(f64).abs()
    made = size.power(to_float(b, is_unsigned(exponent), f64)).to(a.type)
    is_odd = (b & 1).differs(0)
    return is_odd.select(made.copy_sign(a), made)


def _integer_power(a: Scalar, b: Scalar, unsigned: bool) -> Scalar:
    """
    Exponentiation by squaring; a negative exponent gives 0, except for bases 1 and -1.

    Modulo 2ⁿ, n bits of the exponent of an odd base matter, and even bases to n and more are 0. The steps are
    no loop, so that they are vectorized.
    """
    assert is_integer(a.type)
    assert is_integer(b.type)
    exponent, rest, square = b, b, a
    one, zero, width = a.like(1), a.like(0), a.type.width.data
    found = one
    for step in range(min(width, b.type.width.data)):
        square = square * square if step else a
        found = (rest & 1).differs(0).select(found * square, found)
        rest = rest.shift_right(1)
    if b.type.width.data > width:
        is_beyond = ~exponent.compare_unsigned(width, "lt") & (a & 1).equals(0)
        found = is_beyond.select(zero, found)
    if unsigned:
        return found
    is_odd = (exponent & 1).differs(0)
    inverse = a.equals(1).select(one, zero)
    signed = is_odd.select(a, one)
    inverse = a.equals(-1).select(signed, inverse)
    return (exponent < 0).select(inverse, found)


@lowers_elementwise(logical.BitShiftOp)
def bit_shift(op: logical.BitShiftOp, body: ElementwiseBody) -> Scalar:
    """`X` shifted by `Y` bits; a shift by the width or more gives 0, or the sign if arithmetic."""
    x, count = body(op.X), body(op.Y)
    assert is_integer(x.type)
    width = x.type.width.data
    fits = count.compare_unsigned(width, "lt")
    if op.direction.data == "RIGHT" and not is_unsigned(op.X):
        return x.shift_right_signed(fits.select(count, width - 1))
    shift = x.shift_left if op.direction.data == "LEFT" else x.shift_right
    zero = x.like(0)
    return fits.select(shift(fits.select(count, zero)), zero)


@lowers_elementwise(onnx.AbsOp)
def absolute(op: onnx.AbsOp, body: ElementwiseBody) -> Scalar:
    """`|X|`"""
    x = body(op.X)
    return x if is_unsigned(op.X) else x.abs()


@lowers_elementwise(onnx.SignOp)
def sign(op: onnx.SignOp, body: ElementwiseBody) -> Scalar:
    """-1, 0 or 1; NaN stays NaN."""
    x = body(op.input)
    zero, one = x.like(0), x.like(1)
    if x.is_float:
        rest = x.is_nan().select(x, zero)
        positive = (x > zero).select(one, rest)
        return (x < zero).select(-1, positive)
    if x.type == i1:
        return x
    positive = x.differs(0).select(one, zero)
    if is_unsigned_element(element_type(op.input.type) or x.type):
        return positive
    return (x < 0).select(-1, positive)
