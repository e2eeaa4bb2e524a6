"""
Vectorised f32 math functions: exp, erf, tanh.

LLVM lowers its intrinsics for these to one call of the C library per lane
(docs/internals/cpu-kernels.md §4.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import llvm
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, SSAValue

from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder, element_of, lanes_of
from xonnc.lowering.krnl_to_llvm.llvm_ops import vector_of

LOG2_E = 1.44269504088896341
LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440e-4
"""
ln 2 in two parts (Cody and Waite): the high one has few significant bits, so that `n * LN2_HIGH` is exact.
"""
EXP_COEFFICIENTS = (1.3814540106e-3, 8.3687451362e-3, 4.1668390787e-2, 1.6666520399e-1, 4.9999993432e-1)
"""
Minimax polynomial for `(e^r - 1 - r) / r²` on `|r| ≤ ln 2 / 2`, highest power first; `e^r` is within 3.1e-9.
"""
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


@dataclass(frozen=True)
class _Reduced:
    """A number x as `n ln 2 + r`, with an integer n and `|r| ≤ ln 2 / 2`."""

    bits: SSAValue
    """Integers whose low nine bits are those of n plus a shift."""
    r: SSAValue


def _reduce(builder: LLVMBuilder, x: SSAValue, shift: int = 0) -> _Reduced:
    type_ = x.type
    rounding = builder.constant(ROUND_TO_INTEGER + shift, type_)
    shifted = builder.fma(x, builder.constant(LOG2_E, type_), rounding)
    n = builder.fsub(shifted, rounding)
    r = builder.fma(n, builder.constant(-LN2_HIGH, type_), x)
    r = builder.fma(n, builder.constant(-LN2_LOW, type_), r)
    return _Reduced(builder.add(llvm.BitcastOp(shifted, _integers(x))), r)


def _integers(x: SSAValue) -> Attribute:
    return vector_of(i32, lanes_of(x))


def _clamp(builder: LLVMBuilder, x: SSAValue, low: float | None, high: float | None) -> SSAValue:
    """Clamp to an interval; a NaN stays. With vectors each side is one instruction on x86."""
    for order, limit in (("olt", low), ("ogt", high)):
        if limit is not None:
            bound = builder.constant(limit, x.type)
            x = builder.select(builder.fcmp(order, x, bound), bound, x)
    return x


def exp(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """`e^x = 2^n e^r`; other types than f32 call the C library."""
    if element_of(x) != f32:
        return builder.intrinsic("exp", x)
    type_, integers = x.type, _integers(x)
    # 2^n in two factors: n reaches -150 and 128, outside of the exponent range of f32, while e^x is still
    # representable (as a subnormal, or below the overflow threshold). Half of the shift, 127, is the bias of
    # the exponents of both.
    reduced = _reduce(builder, _clamp(builder, x, -104.0, 89.0), 2 * 127)
    r = reduced.r
    tail = builder.fma(polynomial(builder, r, EXP_COEFFICIENTS), builder.fmul(r, r), r)
    value = builder.fadd(tail, builder.constant(1.0, type_))
    half = builder.add(llvm.AShrOp(reduced.bits, builder.constant(1, integers)))
    for part in (half, builder.add(llvm.SubOp(reduced.bits, half))):
        power = builder.add(llvm.ShlOp(part, builder.constant(23, integers)))
        value = builder.fmul(value, builder.add(llvm.BitcastOp(power, type_)))
    return value


def _scaled_exp(
    builder: LLVMBuilder, x: SSAValue, low: float | None, high: float | None, shift: int = 0
) -> SSAValue:
    """`2^shift e^x`, which is normal for all x from `low` to `high`; others are clamped to them."""
    reduced = _reduce(builder, _clamp(builder, x, low, high), shift)
    power = polynomial(builder, reduced.r, (*EXP_COEFFICIENTS, 1.0, 1.0))
    # Shifted by the 23 bits of the mantissa, n is added to the exponent of e^r.
    bits = builder.add(llvm.BitcastOp(power, _integers(x)))
    scaled = builder.iadd(
        bits, builder.add(llvm.ShlOp(reduced.bits, builder.constant(23, reduced.bits.type)))
    )
    return builder.add(llvm.BitcastOp(scaled, x.type))


def fast_exp(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """`e^x`, but at least about 2^-125: for sums with numbers next to which that is nothing."""
    if element_of(x) != f32:
        return builder.intrinsic("exp", x)
    # Half of it is normal up to 89, where e^x is infinite.
    half = _scaled_exp(builder, x, -86.6, 89.0, -1)
    return builder.fadd(half, half)


def exp_nonpositive(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """`e^x` for `x ≤ 0`, including subnormal results."""
    if element_of(x) != f32:
        return builder.intrinsic("exp", x)
    # 2^64 e^x is normal as long as e^x does not round to 0; multiplying by 2^-64 rounds once.
    raised = _scaled_exp(builder, x, -104.0, None, 64)
    return builder.fmul(raised, builder.constant(2.0**-64, x.type))


def erf(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """`erf x = sign(x) (1 - t p(t) e^(-x²))` with `t = 1 / (1 + 0.3275911 |x|)`."""
    type_ = x.type
    one = builder.constant(1.0, type_)
    magnitude = builder.intrinsic("fabs", x)
    t = builder.add(llvm.FDivOp(one, builder.fma(magnitude, builder.constant(ERF_SCALE, type_), one)))
    square = builder.fmul(x, x)
    # At most 2^-126 is nothing next to 1.
    gaussian = _scaled_exp(builder, builder.fsub(builder.constant(-0.0, type_), square), -87.3, None)
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
    # 2^127 is as good as infinity.
    exp_2x = _scaled_exp(builder, builder.fmul(magnitude, two), None, 88.3)
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
