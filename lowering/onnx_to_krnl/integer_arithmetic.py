"""Elementwise operators with rules of their own for integers: Div, Mod, Pow, BitShift, Abs, Sign."""

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
from xonnc.lowering.onnx_to_krnl.elementwise_fusion import (
    ElementwiseBody,
    is_float,
    is_unsigned,
    lowers_elementwise,
)

MaybeScalar = SSAValue | None


def compared(body: ElementwiseBody, predicate: str, a: SSAValue, bound: float | SSAValue) -> SSAValue:
    """Compare an integer with another or a constant."""
    return body.add(
        arith.CmpiOp(a, body.constant(bound, a) if isinstance(bound, int | float) else bound, predicate)
    )


def chosen(body: ElementwiseBody, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
    """Select `a` where the condition holds, else `b`."""
    return body.add(arith.SelectOp(condition, a, b))


@lowers_elementwise(onnx.DivOp)
def div(op: onnx.DivOp, body: ElementwiseBody) -> MaybeScalar:
    """`A / B`; integers are truncated towards 0, and a division by 0 gives 0."""
    a, b = body(op.A), body(op.B)
    if is_float(a):
        return body.add(arith.DivfOp(a, b))
    return quotient(body, is_unsigned(op.A), a, b)


def quotient(body: ElementwiseBody, unsigned: bool, a: SSAValue, b: SSAValue) -> SSAValue:
    """
    `a / b` truncated towards 0.

    Processors trap on division by 0, and on the least integer divided by -1: both are replaced.
    """
    zero, one = body.constant(0, a), body.constant(1, a)
    is_zero = compared(body, "eq", b, 0)
    if unsigned:
        return chosen(body, is_zero, zero, body.add(arith.DivUIOp(a, chosen(body, is_zero, one, b))))
    is_minus = compared(body, "eq", b, -1)
    safe = chosen(body, body.add(arith.OrIOp(is_zero, is_minus)), one, b)
    made = body.add(arith.DivSIOp(a, safe))
    made = chosen(body, is_minus, body.add(arith.SubiOp(zero, a)), made)
    return chosen(body, is_zero, zero, made)


def remainder(body: ElementwiseBody, unsigned: bool, a: SSAValue, b: SSAValue) -> SSAValue:
    """The remainder of a division truncated towards 0; 0 for divisors 0 and -1, on which processors trap."""
    one = body.constant(1, a)
    is_zero = compared(body, "eq", b, 0)
    if unsigned:
        made = body.add(arith.RemUIOp(a, chosen(body, is_zero, one, b)))
        return chosen(body, is_zero, body.constant(0, a), made)
    is_minus = compared(body, "eq", b, -1)
    return body.add(arith.RemSIOp(a, chosen(body, body.add(arith.OrIOp(is_zero, is_minus)), one, b)))


@lowers_elementwise(onnx.ModOp)
def mod(op: onnx.ModOp, body: ElementwiseBody) -> MaybeScalar:
    """Remainder of `A / B`, with the sign of A if `fmod`, else with that of B (as Python's `%`)."""
    a, b = body(op.A), body(op.B)
    keeps_sign = bool(op.fmod.value.data)
    if is_float(a):
        return _float_mod(body, keeps_sign, a, b)
    left = remainder(body, is_unsigned(op.A), a, b)
    if keeps_sign or is_unsigned(op.A):
        return left
    differs = compared(body, "slt", body.add(arith.XOrIOp(left, b)), 0)
    moved = body.add(arith.AndIOp(differs, compared(body, "ne", left, 0)))
    # The remainder by 0 is defined as 0, which is not adjusted.
    return chosen(body, moved, body.add(arith.AddiOp(left, b)), left)


def _float_mod(body: ElementwiseBody, keeps_sign: bool, a: SSAValue, b: SSAValue) -> SSAValue:
    left = body.add(RemainderOp(a, b))
    if keeps_sign:
        return left
    zero = body.constant(0, a)
    is_below, is_divisor_below = (body.add(arith.CmpfOp(each, zero, "olt")) for each in (left, b))
    is_left = body.add(arith.CmpfOp(left, zero, "une"))
    moved = body.add(arith.AndIOp(body.add(arith.XOrIOp(is_below, is_divisor_below)), is_left))
    made = chosen(body, moved, body.add(arith.AddfOp(left, b)), left)
    return chosen(body, is_left, made, body.add(math.CopySignOp(zero, b)))


MULTIPLICATIONS: Mapping[float | None, int] = {2.0: 1, 3.0: 2}
"""Exponents that are expanded to multiplications, with how many."""

EXACT = 1 << 24
"""Up to this, integers are exact in f32."""


def _known(value: SSAValue) -> float | None:
    """Return the value of a scalar constant, or None."""
    array = constant_elements(value)
    return float(array.reshape(-1)[0]) if array is not None and array.size == 1 else None


@lowers_elementwise(onnx.PowOp)
def power(op: onnx.PowOp, body: ElementwiseBody) -> MaybeScalar:
    """`X^Y` in the type of X; of two integers by exact multiplication, modulo the width."""
    a = body(op.X)
    times = MULTIPLICATIONS.get(_known(op.Y)) if is_float(a) else None
    if times is not None:
        made = a
        for _ in range(times):
            made = body.add(arith.MulfOp(made, a))
        return made
    b = body(op.Y)
    if is_float(a):
        return _float_power(body, a, b) if is_float(b) else _whole_power(body, a, b, op.Y)
    if is_float(b):
        base = to_float(body, a, is_unsigned(op.X), f64)
        element = element_type(op.X.type)
        assert element is not None
        return from_float(body, body.add(math.PowFOp(base, _double(body, b))), element)
    return _integer_power(body, a, b, is_unsigned(op.Y))


def _double(body: ElementwiseBody, number: SSAValue) -> SSAValue:
    """Convert a float to f64."""
    return number if number.type == f64 else body.add(arith.ExtFOp(number, f64))


def _float_power(body: ElementwiseBody, a: SSAValue, b: SSAValue) -> SSAValue:
    """
    Power of two floats in the wider of both types: narrowing a large exponent could lose that it is odd.
    """
    if a.type == b.type:
        return body.add(math.PowFOp(a, b))
    made = body.add(math.PowFOp(_double(body, a), _double(body, b)))
    return made if a.type == f64 else body.add(arith.TruncFOp(made, a.type))


def _whole_power(body: ElementwiseBody, a: SSAValue, b: SSAValue, exponent: SSAValue) -> SSAValue:
    """
    Power of a float to an integer: `|a|^b`, with the sign of `a` if `b` is odd.

    As a float, an exponent of 2^53 or more would always be even.
    """
    array = constant_elements(exponent)
    if array is not None and array.size and max(abs(int(array.min())), abs(int(array.max()))) <= EXACT:
        return body.add(math.PowFOp(a, to_float(body, b, is_unsigned(exponent), a.type)))
    size = body.add(math.AbsFOp(_double(body, a)))
    made = body.add(math.PowFOp(size, to_float(body, b, is_unsigned(exponent), f64)))
    made = made if a.type == f64 else body.add(arith.TruncFOp(made, a.type))
    one = body.constant(1, b)
    is_odd = compared(body, "ne", body.add(arith.AndIOp(b, one)), 0)
    return chosen(body, is_odd, body.add(math.CopySignOp(made, a)), made)


def _integer_power(body: ElementwiseBody, a: SSAValue, b: SSAValue, unsigned: bool) -> SSAValue:
    """Exponentiation by squaring; a negative exponent gives 0, except for bases 1 and -1."""
    assert is_integer(b.type)
    exponent = b if b.type == i64 else body.add((arith.ExtUIOp if unsigned else arith.ExtSIOp)(b, i64))
    one, zero = body.constant(1, a), body.constant(0, a)
    with body.kernel.reducing([64], [one, a, exponent]) as (_, accumulators, results):
        made, square, rest = accumulators
        is_odd = compared(body, "ne", body.add(arith.AndIOp(rest, body.constant(1, rest))), 0)
        results.append(chosen(body, is_odd, body.add(arith.MuliOp(made, square)), made))
        results.append(body.add(arith.MuliOp(square, square)))
        results.append(body.add(arith.ShRUIOp(rest, body.constant(1, rest))))
    if unsigned:
        return results[0]
    is_odd = compared(body, "ne", body.add(arith.AndIOp(exponent, body.constant(1, exponent))), 0)
    inverse = chosen(body, compared(body, "eq", a, 1), one, zero)
    signed = chosen(body, is_odd, a, one)
    inverse = chosen(body, compared(body, "eq", a, -1), signed, inverse)
    return chosen(body, compared(body, "slt", exponent, 0), inverse, results[0])


@lowers_elementwise(logical.BitShiftOp)
def bit_shift(op: logical.BitShiftOp, body: ElementwiseBody) -> MaybeScalar:
    """`X` shifted by `Y` bits; a shift by the width or more gives 0, or the sign if arithmetic."""
    x, count = body(op.X), body(op.Y)
    assert is_integer(x.type)
    width = x.type.width.data
    unsigned = is_unsigned(op.X)
    fits = compared(body, "ult", count, width)
    if op.direction.data == "RIGHT" and not unsigned:
        return body.add(arith.ShRSIOp(x, chosen(body, fits, count, body.constant(width - 1, x))))
    kind = arith.ShLIOp if op.direction.data == "LEFT" else arith.ShRUIOp
    zero = body.constant(0, x)
    return chosen(body, fits, body.add(kind(x, chosen(body, fits, count, zero))), zero)


@lowers_elementwise(onnx.AbsOp)
def absolute(op: onnx.AbsOp, body: ElementwiseBody) -> MaybeScalar:
    """`|X|`"""
    x = body(op.X)
    if is_float(x):
        return body.add(math.AbsFOp(x))
    return (
        x if is_unsigned(op.X) else body.add(arith.MaxSIOp(x, body.add(arith.SubiOp(body.constant(0, x), x))))
    )


@lowers_elementwise(onnx.SignOp)
def sign(op: onnx.SignOp, body: ElementwiseBody) -> MaybeScalar:
    """-1, 0 or 1; NaN stays NaN."""
    x = body(op.input)
    zero, one = body.constant(0, x), body.constant(1, x)
    if is_float(x):
        rest = chosen(body, body.add(arith.CmpfOp(x, x, "uno")), x, zero)
        positive = chosen(body, body.add(arith.CmpfOp(x, zero, "ogt")), one, rest)
        return chosen(body, body.add(arith.CmpfOp(x, zero, "olt")), body.constant(-1, x), positive)
    if x.type == i1:
        return x
    positive = chosen(body, compared(body, "ne", x, 0), one, zero)
    if is_unsigned_element(element_type(op.input.type) or x.type):
        return positive
    return chosen(body, compared(body, "slt", x, 0), body.constant(-1, x), positive)
