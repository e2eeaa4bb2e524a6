"""
Vectorised f32 math functions: exp, erf, tanh.

LLVM lowers its intrinsics for these to one call of the C library per lane
(docs/internals/cpu-kernels.md §4.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from xdsl.dialects import llvm
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder, element_of, lanes_of
from xonnc.lowering.krnl_to_llvm.llvm_ops import vector_of

LOG2_E = 1.44269504088896341
LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440e-4
"""
ln 2 in two parts (Cody and Waite): the high one has few significant bits, so that `n * LN2_HIGH` is exact.
"""
EXP_COEFFICIENTS = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5)
"""Minimax polynomial of Cephes `expf` for `(e^r - 1 - r) / r²` on `|r| ≤ ln 2 / 2`, highest power first."""
ROUND_TO_INTEGER = 12582912.0
"""
1.5 · 2²³: adding it to an f32 of magnitude below 2²² rounds to the nearest integer, as the unit in the last
place is 1 there. The low bits of the sum are the integer; subtracting the constant gives it as a float.
"""
ERF_SCALE = 0.3275911
ERF_COEFFICIENTS = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
"""Abramowitz and Stegun, formula 7.1.26; maximum absolute error 1.5e-7."""


def polynomial(builder: LLVMBuilder, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
    """Evaluate a polynomial by Horner's rule; coefficients from the highest power."""
    value = builder.constant(coefficients[0], x.type)
    for coefficient in coefficients[1:]:
        value = builder.fma(value, x, builder.constant(coefficient, x.type))
    return value


def exp(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """`e^x = 2^n e^r` with an integer n and `|r| ≤ ln 2 / 2`; other types than f32 call the C library."""
    if element_of(x) != f32:
        return builder.intrinsic("exp", x)
    type_ = x.type
    clamped = builder.select(
        builder.fcmp("olt", x, builder.constant(-104.0, type_)), builder.constant(-104.0, type_), x
    )
    clamped = builder.select(
        builder.fcmp("ogt", clamped, builder.constant(89.0, type_)), builder.constant(89.0, type_), clamped
    )
    shifted = builder.fma(clamped, builder.constant(LOG2_E, type_), builder.constant(ROUND_TO_INTEGER, type_))
    n = builder.fsub(shifted, builder.constant(ROUND_TO_INTEGER, type_))
    reduced = builder.fma(n, builder.constant(-LN2_HIGH, type_), clamped)
    reduced = builder.fma(n, builder.constant(-LN2_LOW, type_), reduced)
    tail = builder.fma(
        polynomial(builder, reduced, EXP_COEFFICIENTS), builder.fmul(reduced, reduced), reduced
    )
    value = builder.fadd(tail, builder.constant(1.0, type_))
    # 2^n in two factors: n reaches -150 and 128, outside of the exponent range of f32, while e^x is still
    # representable (as a subnormal, or below the overflow threshold). 0x4B400000 are the bits of
    # `ROUND_TO_INTEGER`.
    integers = vector_of(i32, lanes_of(x))
    power = builder.add(llvm.BitcastOp(shifted, integers))
    power = builder.add(llvm.SubOp(power, builder.constant(0x4B400000, integers)))
    half = builder.add(llvm.AShrOp(power, builder.constant(1, integers)))
    for part in (half, builder.add(llvm.SubOp(power, half))):
        value = builder.fmul(value, _exp2_bits(builder, part))
    return builder.select(
        builder.fcmp("ogt", x, builder.constant(88.7228394, type_)), builder.constant(inf, type_), value
    )


def _exp2_bits(builder: LLVMBuilder, exponent: SSAValue) -> SSAValue:
    biased = builder.add(llvm.AddOp(exponent, builder.constant(127, exponent.type)))
    bits = builder.add(llvm.ShlOp(biased, builder.constant(23, exponent.type)))
    return builder.add(llvm.BitcastOp(bits, vector_of(f32, lanes_of(exponent))))


def fast_exp(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """`e^x`, flushed to 0 where the result is subnormal."""
    if element_of(x) != f32:
        return builder.intrinsic("exp", x)
    type_ = x.type
    shifted = builder.fma(x, builder.constant(LOG2_E, type_), builder.constant(ROUND_TO_INTEGER, type_))
    n = builder.fsub(shifted, builder.constant(ROUND_TO_INTEGER, type_))
    reduced = builder.fma(n, builder.constant(-LN2_HIGH, type_), x)
    reduced = builder.fma(n, builder.constant(-LN2_LOW, type_), reduced)
    power = polynomial(builder, reduced, (*EXP_COEFFICIENTS, 1.0, 1.0))
    # The low bits of `shifted` are n: shifted by the 23 bits of the mantissa, they are added to the exponent
    # of e^r, which is valid as long as the result is normal.
    integers = vector_of(i32, lanes_of(x))
    bits = [builder.add(llvm.BitcastOp(each, integers)) for each in (shifted, power)]
    scaled = builder.iadd(bits[1], builder.add(llvm.ShlOp(bits[0], builder.constant(23, integers))))
    value = builder.add(llvm.BitcastOp(scaled, type_))
    value = builder.select(
        builder.fcmp("olt", x, builder.constant(-87.33, type_)), builder.constant(0.0, type_), value
    )
    return builder.select(
        builder.fcmp("ogt", x, builder.constant(88.7228394, type_)), builder.constant(inf, type_), value
    )


def exp_nonpositive(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """`e^x` for `x ≤ 0`, including subnormal results."""
    if element_of(x) != f32:
        return builder.intrinsic("exp", x)
    type_, integers = x.type, vector_of(i32, lanes_of(x))
    shifted = builder.fma(x, builder.constant(LOG2_E, type_), builder.constant(ROUND_TO_INTEGER, type_))
    n = builder.fsub(shifted, builder.constant(ROUND_TO_INTEGER, type_))
    reduced = builder.fma(n, builder.constant(-LN2_HIGH, type_), x)
    reduced = builder.fma(n, builder.constant(-LN2_LOW, type_), reduced)
    power = polynomial(builder, reduced, (*EXP_COEFFICIENTS, 1.0, 1.0))
    bits = [builder.add(llvm.BitcastOp(each, integers)) for each in (shifted, power)]
    scaled = builder.iadd(bits[1], builder.add(llvm.ShlOp(bits[0], builder.constant(23, integers))))
    # Where the result is subnormal, compute with an exponent larger by 64, then multiply by 2^-64, which
    # rounds correctly.
    is_below = builder.fcmp("olt", x, builder.constant(-87.33, type_))
    raised = builder.iadd(
        scaled, builder.select(is_below, builder.constant(64 << 23, integers), builder.constant(0, integers))
    )
    value = builder.fmul(
        builder.add(llvm.BitcastOp(raised, type_)),
        builder.select(is_below, builder.constant(2.0**-64, type_), builder.constant(1.0, type_)),
    )
    return builder.select(
        builder.fcmp("olt", x, builder.constant(-104.0, type_)), builder.constant(0.0, type_), value
    )


def erf(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """`erf x = sign(x) (1 - t p(t) e^(-x²))` with `t = 1 / (1 + 0.3275911 |x|)`."""
    type_ = x.type
    one = builder.constant(1.0, type_)
    magnitude = builder.intrinsic("fabs", x)
    t = builder.add(llvm.FDivOp(one, builder.fma(magnitude, builder.constant(ERF_SCALE, type_), one)))
    gaussian = fast_exp(builder, builder.fsub(builder.constant(-0.0, type_), builder.fmul(x, x)))
    value = builder.fsub(
        one, builder.fmul(builder.fmul(polynomial(builder, t, ERF_COEFFICIENTS), t), gaussian)
    )
    return builder.intrinsic("copysign", value, x)


def tanh(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """`tanh x = 1 - 2 / (e^2x + 1)`; for `|x| < 0.625`, where this cancels, an odd polynomial."""
    if element_of(x) != f32:
        return builder.intrinsic("tanh", x)
    type_ = x.type
    one, two = builder.constant(1.0, type_), builder.constant(2.0, type_)
    magnitude = builder.intrinsic("fabs", x)
    exp_2x = fast_exp(builder, builder.fmul(magnitude, two))
    large = builder.fsub(one, builder.add(llvm.FDivOp(two, builder.fadd(exp_2x, one))))
    square = builder.fmul(x, x)
    # The polynomial of Cephes `tanhf`.
    series = polynomial(
        builder,
        square,
        (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1),
    )
    small = builder.fma(builder.fmul(series, square), magnitude, magnitude)
    value = builder.select(builder.fcmp("olt", magnitude, builder.constant(0.625, type_)), small, large)
    return builder.intrinsic("copysign", value, x)
