"""
Functions of f32 that are computed in f64 and rounded once: inverse sine and cosine, hyperbolic sine and
cosine, powers, remainders. Those of f64 call the C library.
"""

from __future__ import annotations

from math import factorial, inf, log, nan, pi, sqrt
from struct import pack, unpack

from xdsl.dialects import llvm
from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import SSAValue

from xonnc.lowering.krnl_to_llvm import llvm_ops
from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder, element_of, lanes_of
from xonnc.lowering.krnl_to_llvm.llvm_ops import vector_of
from xonnc.lowering.krnl_to_llvm.math_functions import clamp, in_double, polynomial, unless, wide

ASIN_COEFFICIENTS = (
    2.930523970533579e-2,
    5.4431851027481075e-3,
    1.9306260869368045e-2,
    2.2132443623426794e-2,
    3.0397634130580702e-2,
    4.4642358484883196e-2,
    7.500000598829049e-2,
    1.6666666665495086e-1,
)
"""Minimax polynomial for `(asin(t) - t) / t³` up to 1/2, in powers of t²: off by at most 4e-12."""
RECIPROCAL_ROOT = 0x5F1FFFF9
"""
Less half of the bits of an f32, those of one over its square root, roughly: made for the first of
`ROOT_STEPS`.
"""
ROOT_STEPS = ((0.703952253, 2.38924456), (0.5, 3.0))
"""Factors f and g of the steps `y = f y (g - x y²)`: within 7e-4 and 7e-7 of one over a square root."""
EXP2_COEFFICIENTS = tuple(log(2) ** n / factorial(n) for n in range(11, -1, -1))
"""The Maclaurin polynomial of `2^r`: within 1e-14 for `|r| ≤ 1/2`."""
LOG2_COEFFICIENTS = tuple(2 / log(2) / n for n in range(17, 0, -2))
"""Of `log2((1 + s) / (1 - s)) / s` in powers of s²: within 1e-15 where the quotient is from √½ to √2."""
SINH_COEFFICIENTS = tuple(1 / factorial(n) for n in range(13, 0, -2))
"""Of `sinh(x) / x` in powers of x²: within 1e-15 up to 1/2."""
ROUND_TO_INTEGER = 1.5 * 2.0**52
"""Adding it rounds an f64 to an integer, which the low bits of the sum are."""
MAX_QUOTIENT = 2.0**27
"""
Up to this the quotient of two f32 rounds in f64 to the integers that it lies between at most, and the
product of that integer and the divisor is exact.
"""


def asin(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """`asin t` by a polynomial up to 1/2, beyond as `π/2 - 2 asin(sqrt((1 - t) / 2))`."""
    if element_of(x) != f32:
        return builder.intrinsic("asin", x)
    is_high, angle = _inverse_sine(builder, builder.intrinsic("fabs", x))
    other = builder.fma(angle, builder.constant(-2.0, angle.type), builder.constant(pi / 2, angle.type))
    return builder.intrinsic("copysign", _narrow(builder, builder.select(is_high, other, angle)), x)


def acos(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """`π/2 - asin t` up to 1/2, beyond `2 asin(sqrt((1 - t) / 2))`; for negative numbers π less that."""
    if element_of(x) != f32:
        return builder.intrinsic("acos", x)
    is_high, angle = _inverse_sine(builder, builder.intrinsic("fabs", x))
    quarter, half = (builder.constant(number, angle.type) for number in (pi / 2, pi))
    found = builder.select(is_high, builder.fadd(angle, angle), builder.fsub(quarter, angle))
    is_negative = builder.fcmp("olt", x, builder.constant(0.0, x.type))
    return _narrow(builder, builder.select(is_negative, builder.fsub(half, found), found))


def _narrow(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    return builder.add(llvm_ops.cast(llvm.FPTruncOp, x, vector_of(f32, lanes_of(x))))


def _inverse_sine(builder: LLVMBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return whether an f32 `x ≥ 0` is above 1/2, and in f64 `asin x`, or there `asin(sqrt((1 - x) / 2))`."""
    half, minus_half = (builder.constant(number, x.type) for number in (0.5, -0.5))
    is_high = builder.fcmp("ogt", x, half)
    # Exact where it is used. It is negative beyond 1.
    reciprocal = wide(builder, _reciprocal_root(builder, builder.fma(x, minus_half, half)))
    narrow, x = x, wide(builder, x)
    half, minus_half = (builder.constant(number, x.type) for number in (0.5, -0.5))
    rest = builder.fma(x, minus_half, half)
    # One step of Newton's method in f64.
    root = builder.fmul(rest, reciprocal)
    error = builder.fma(builder.fsub(builder.constant(-0.0, x.type), root), root, rest)
    root = builder.fma(error, builder.fmul(reciprocal, half), root)
    sine = builder.select(is_high, root, x)
    square = builder.select(is_high, rest, builder.fmul(x, x))
    is_beyond = builder.fcmp("ogt", narrow, builder.constant(1.0, narrow.type))
    sine = builder.select(is_beyond, builder.constant(nan, x.type), sine)
    series = polynomial(builder, square, ASIN_COEFFICIENTS)
    return is_high, builder.fma(series, builder.fmul(sine, square), sine)


def _reciprocal_root(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """
    Return one over the square root of an f32, within 7e-7: for 0 a finite number.

    The steps of Newton's method take a fraction of the time of a square root and a division.
    """
    integers = vector_of(i32, lanes_of(x))
    halved = builder.add(llvm.LShrOp(builder.add(llvm.BitcastOp(x, integers)), builder.constant(1, integers)))
    bits = builder.add(llvm.SubOp(builder.constant(RECIPROCAL_ROOT, integers), halved))
    found = builder.add(llvm.BitcastOp(bits, x.type))
    for factor, addend in ROOT_STEPS:
        # The square of what is found for 0 overflows: it is multiplied by that first.
        product = builder.fmul(builder.fmul(x, builder.constant(-factor, x.type)), found)
        scale = builder.fma(product, found, builder.constant(factor * addend, x.type))
        found = builder.fmul(found, scale)
    return found


def _exp2(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """`2^x` of an f64 whose result is normal."""
    integers = vector_of(i64, lanes_of(x))
    rounding = builder.constant(ROUND_TO_INTEGER, x.type)
    shifted = builder.fadd(x, rounding)
    power = polynomial(builder, builder.fsub(x, builder.fsub(shifted, rounding)), EXP2_COEFFICIENTS)
    number = builder.add(llvm.BitcastOp(shifted, integers))
    exponent = builder.add(llvm.ShlOp(number, builder.constant(52, integers)))
    bits = builder.iadd(builder.add(llvm.BitcastOp(power, integers)), exponent)
    return builder.add(llvm.BitcastOp(bits, x.type))


def _log2(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """`log2 x` of an f64 that is not negative, and not subnormal."""
    type_, integers = x.type, vector_of(i64, lanes_of(x))
    bits = builder.add(llvm.BitcastOp(x, integers))
    # The exponent of x over √½, with its bias.
    start = _bits(1.0) - _bits(sqrt(0.5))
    moved = builder.iadd(bits, builder.constant(start, integers))
    exponent = builder.add(llvm.LShrOp(moved, builder.constant(52, integers)))
    shifted = builder.add(llvm.ShlOp(exponent, builder.constant(52, integers)))
    unit = builder.add(llvm.SubOp(bits, shifted))
    mantissa = builder.add(llvm.BitcastOp(builder.iadd(unit, builder.constant(_bits(1.0), integers)), type_))
    # As the low bits of 2^52, an integer is an f64.
    number = builder.add(llvm.OrOp(exponent, builder.constant(_bits(2.0**52), integers)))
    number = builder.fsub(builder.add(llvm.BitcastOp(number, type_)), builder.constant(2.0**52 + 1023, type_))
    one = builder.constant(1.0, type_)
    s = builder.add(llvm.FDivOp(builder.fsub(mantissa, one), builder.fadd(mantissa, one)))
    series = polynomial(builder, builder.fmul(s, s), LOG2_COEFFICIENTS)
    found = builder.fma(series, s, number)
    # The logarithms of infinity and NaN are they themselves.
    found = builder.select(builder.fcmp("olt", x, builder.constant(inf, type_)), found, x)
    is_zero = builder.fcmp("oeq", x, builder.constant(0.0, type_))
    return builder.select(is_zero, builder.constant(-inf, type_), found)


def _bits(number: float) -> int:
    return int(unpack("<q", pack("<d", number))[0])


def sinh(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """`(e^x - e^-x) / 2`; up to 1/2, where this cancels, an odd polynomial."""

    def made(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
        magnitude, half, half_inverse = _half_exponentials(builder, x)
        series = polynomial(builder, builder.fmul(x, x), SINH_COEFFICIENTS)
        is_small = builder.fcmp("olt", magnitude, builder.constant(0.5, x.type))
        found = builder.select(is_small, builder.fmul(series, magnitude), builder.fsub(half, half_inverse))
        return builder.intrinsic("copysign", found, x)

    return in_double(builder, x, "sinh", made)


def cosh(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """`(e^x + e^-x) / 2`"""

    def made(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
        _, half, half_inverse = _half_exponentials(builder, x)
        return builder.fadd(half, half_inverse)

    return in_double(builder, x, "cosh", made)


def _half_exponentials(builder: LLVMBuilder, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Return `|x|`, `e^|x| / 2` and `e^-|x| / 2`, beyond the range of f32 those of its end."""
    magnitude = builder.intrinsic("fabs", x)
    powers = builder.fmul(clamp(builder, magnitude, None, 100.0), builder.constant(1 / log(2), x.type))
    half = _exp2(builder, builder.fsub(powers, builder.constant(1.0, x.type)))
    return magnitude, half, builder.add(llvm.FDivOp(builder.constant(0.25, x.type), half))


def power(builder: LLVMBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """`x^y = 2^(y log2 |x|)`, with the sign of x for odd y."""
    if element_of(x) != f32:
        return builder.intrinsic("pow", x, y)
    base, exponent = wide(builder, x), wide(builder, y)
    type_ = base.type
    zero = builder.constant(0.0, type_)
    logarithm = _log2(builder, builder.intrinsic("fabs", base))
    # 1 to any power and any number to the power of 0 are 1, with infinity and NaN too.
    is_one = builder.add(llvm.OrOp(builder.fcmp("oeq", logarithm, zero), builder.fcmp("oeq", exponent, zero)))
    total = builder.select(is_one, zero, builder.fmul(exponent, logarithm))
    found = _exp2(builder, clamp(builder, total, -200.0, 200.0))
    tested = [exponent, builder.fmul(exponent, builder.constant(0.5, type_))]
    whole, even = (builder.fcmp("oeq", builder.intrinsic("trunc", each), each) for each in tested)
    found = builder.select(
        even, found, builder.select(whole, builder.intrinsic("copysign", found, base), found)
    )
    # Finite negative numbers have roots in complex numbers only.
    is_negative = builder.add(
        llvm.AndOp(builder.fcmp("olt", base, zero), builder.fcmp("ogt", base, builder.constant(-inf, type_)))
    )
    is_real = builder.select(whole, found, builder.constant(nan, type_))
    found = builder.select(is_negative, is_real, found)
    return _narrow(builder, found)


def remainder(builder: LLVMBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    """`x - trunc(x / y) y`, exact, with the sign of x; where the quotient is large, by the C library."""
    by_library = llvm_ops.binary(llvm.FRemOp, x, y)
    if element_of(x) != f32:
        return builder.add(by_library)
    dividend, divisor = wide(builder, x), wide(builder, y)
    quotient = builder.add(llvm.FDivOp(dividend, divisor))
    whole = builder.intrinsic("trunc", quotient)
    minus = builder.fsub(builder.constant(-0.0, whole.type), whole)
    left = builder.fma(minus, divisor, dividend)
    sizes = [builder.intrinsic("fabs", each) for each in (dividend, divisor)]
    # Infinity divides every number, but not by the formula.
    left = builder.select(builder.fcmp("olt", *sizes), dividend, left)
    left = builder.intrinsic("copysign", left, dividend)
    found = _narrow(builder, left)
    is_large = builder.fcmp(
        "ogt", builder.intrinsic("fabs", quotient), builder.constant(MAX_QUOTIENT, quotient.type)
    )

    def computed() -> SSAValue:
        return builder.add(by_library)

    return unless(builder, is_large, found, computed)
