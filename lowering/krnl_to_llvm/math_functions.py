"""Functions of floats in vectors, where LLVM would call the C library once a lane."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from xdsl.dialects import llvm
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from xonnc.lowering.krnl_to_llvm.llvm_builder import Emitter, element_of, lanes_of, vector_of

LOG2_E = 1.44269504088896341
LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440e-4
"""The natural logarithm of 2, the first part exact when multiplied by a small integer."""
EXP_COEFFICIENTS = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5)
"""Cephes `expf`: `e^r` on `|r| ≤ ln 2 / 2`."""
ROUNDING = 12582912.0
"""1.5 · 2²³: a float added to it and taken away again is rounded to a whole number."""
ERF_SCALE = 0.3275911
ERF_COEFFICIENTS = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
"""Abramowitz and Stegun 7.1.26; off by at most 1.5e-7."""


def polynomial(to: Emitter, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
    """The polynomial by Horner's rule, the highest power first."""
    value = to.number(coefficients[0], x.type)
    for coefficient in coefficients[1:]:
        value = to.fma(value, x, to.number(coefficient, x.type))
    return value


def exp(to: Emitter, x: SSAValue) -> SSAValue:
    """`e^x`: `2^n e^r` with `n` whole; by the C library for floats that are not f32."""
    if element_of(x) != f32:
        return to.intrinsic("exp", x)
    type_ = x.type
    kept = to.select(to.fcmp("olt", x, to.number(-104.0, type_)), to.number(-104.0, type_), x)
    kept = to.select(to.fcmp("ogt", kept, to.number(89.0, type_)), to.number(89.0, type_), kept)
    shifted = to.fma(kept, to.number(LOG2_E, type_), to.number(ROUNDING, type_))
    whole = to.fsub(shifted, to.number(ROUNDING, type_))
    rest = to.fma(whole, to.number(-LN2_HIGH, type_), kept)
    rest = to.fma(whole, to.number(-LN2_LOW, type_), rest)
    tail = to.fma(polynomial(to, rest, EXP_COEFFICIENTS), to.fmul(rest, rest), rest)
    value = to.fadd(tail, to.number(1.0, type_))
    # In two factors, since 2^n itself may leave the range where the product does not.
    integers = vector_of(i32, lanes_of(x))
    power = to.add(llvm.BitcastOp(shifted, integers))
    power = to.add(llvm.SubOp(power, to.number(0x4B400000, integers)))
    half = to.add(llvm.AShrOp(power, to.number(1, integers)))
    for part in (half, to.add(llvm.SubOp(power, half))):
        value = to.fmul(value, _power_of_two(to, part))
    return to.select(to.fcmp("ogt", x, to.number(88.7228394, type_)), to.number(inf, type_), value)


def _power_of_two(to: Emitter, exponent: SSAValue) -> SSAValue:
    biased = to.add(llvm.AddOp(exponent, to.number(127, exponent.type)))
    bits = to.add(llvm.ShlOp(biased, to.number(23, exponent.type)))
    return to.add(llvm.BitcastOp(bits, vector_of(f32, lanes_of(exponent))))


def quick_exp(to: Emitter, x: SSAValue) -> SSAValue:
    """`e^x`, and 0 below the least normal number, where `exp` gives what is left of it."""
    if element_of(x) != f32:
        return to.intrinsic("exp", x)
    type_ = x.type
    shifted = to.fma(x, to.number(LOG2_E, type_), to.number(ROUNDING, type_))
    whole = to.fsub(shifted, to.number(ROUNDING, type_))
    rest = to.fma(whole, to.number(-LN2_HIGH, type_), x)
    rest = to.fma(whole, to.number(-LN2_LOW, type_), rest)
    power = polynomial(to, rest, (*EXP_COEFFICIENTS, 1.0, 1.0))
    # The last bits of `shifted` are n, which is added to the exponent.
    integers = vector_of(i32, lanes_of(x))
    bits = [to.add(llvm.BitcastOp(each, integers)) for each in (shifted, power)]
    scaled = to.plus(bits[1], to.add(llvm.ShlOp(bits[0], to.number(23, integers))))
    value = to.add(llvm.BitcastOp(scaled, type_))
    value = to.select(to.fcmp("olt", x, to.number(-87.33, type_)), to.number(0.0, type_), value)
    return to.select(to.fcmp("ogt", x, to.number(88.7228394, type_)), to.number(inf, type_), value)


def exp_of_negative(to: Emitter, x: SSAValue) -> SSAValue:
    """`e^x` of what is not above 0, below the least normal number too."""
    if element_of(x) != f32:
        return to.intrinsic("exp", x)
    type_, integers = x.type, vector_of(i32, lanes_of(x))
    shifted = to.fma(x, to.number(LOG2_E, type_), to.number(ROUNDING, type_))
    whole = to.fsub(shifted, to.number(ROUNDING, type_))
    rest = to.fma(whole, to.number(-LN2_HIGH, type_), x)
    rest = to.fma(whole, to.number(-LN2_LOW, type_), rest)
    power = polynomial(to, rest, (*EXP_COEFFICIENTS, 1.0, 1.0))
    bits = [to.add(llvm.BitcastOp(each, integers)) for each in (shifted, power)]
    scaled = to.plus(bits[1], to.add(llvm.ShlOp(bits[0], to.number(23, integers))))
    # Of what is below, an exponent of 64 more is in range, and a product brings it back.
    is_below = to.fcmp("olt", x, to.number(-87.33, type_))
    raised = to.plus(scaled, to.select(is_below, to.number(64 << 23, integers), to.number(0, integers)))
    value = to.fmul(
        to.add(llvm.BitcastOp(raised, type_)),
        to.select(is_below, to.number(2.0**-64, type_), to.number(1.0, type_)),
    )
    return to.select(to.fcmp("olt", x, to.number(-104.0, type_)), to.number(0.0, type_), value)


def erf(to: Emitter, x: SSAValue) -> SSAValue:
    """The error function: `1 - t p(t) e^(-x²)` with `t = 1 / (1 + 0.3275911 |x|)`, with the sign of x."""
    type_ = x.type
    one = to.number(1.0, type_)
    size = to.intrinsic("fabs", x)
    t = to.add(llvm.FDivOp(one, to.fma(size, to.number(ERF_SCALE, type_), one)))
    decay = quick_exp(to, to.fsub(to.number(-0.0, type_), to.fmul(x, x)))
    value = to.fsub(one, to.fmul(to.fmul(polynomial(to, t, ERF_COEFFICIENTS), t), decay))
    return to.intrinsic("copysign", value, x)


def tanh(to: Emitter, x: SSAValue) -> SSAValue:
    """`tanh x` of f32: by `1 - 2 / (e^2x + 1)`, near 0 by its series, where that would cancel."""
    if element_of(x) != f32:
        return to.intrinsic("tanh", x)
    type_ = x.type
    one, two = to.number(1.0, type_), to.number(2.0, type_)
    size = to.intrinsic("fabs", x)
    grown = quick_exp(to, to.fmul(size, two))
    large = to.fsub(one, to.add(llvm.FDivOp(two, to.fadd(grown, one))))
    square = to.fmul(x, x)
    # Cephes `tanhf` for |x| < 0.625.
    series = polynomial(
        to,
        square,
        (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1),
    )
    small = to.fma(to.fmul(series, square), size, size)
    value = to.select(to.fcmp("olt", size, to.number(0.625, type_)), small, large)
    return to.intrinsic("copysign", value, x)
