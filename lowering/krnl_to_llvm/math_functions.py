"""
Vectorised f32 math functions: exp, log, sin, cos, tan, atan, erf, tanh (others: `double_precision.py`).

LLVM lowers its intrinsics for these to one call of the C library per lane
(docs/internals/cpu-kernels.md §4.5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan, pi, sqrt
from typing import NamedTuple

from xdsl.dialects import llvm
from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.lowering.krnl_to_llvm import llvm_ops
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


LOG_COEFFICIENTS = (
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
"""Of Cephes `logf`: `(log(1 + f) - f + f²/2) / f³` for `1 + f` from √½ to √2."""
SQRT_HALF_BITS = 0x3F3504F3
"""Bits of √½ as f32."""
HALF_PI = (1.57079632679489655800, 6.12323399573676603587e-17)
"""π/2 in two parts of f64."""
MAX_REDUCED = 2.0**30
"""Magnitude up to which those suffice."""
SIN_COEFFICIENTS = (
    1.58969099521155010221e-10,
    -2.50507602534068634195e-8,
    2.75573137070700676789e-6,
    -1.98412698298579493134e-4,
    8.33333333332248946124e-3,
    -1.66666666666666324348e-1,
)
"""Of fdlibm: `(sin(r) - r) / r³` for `|r| ≤ π/4`, in powers of r²."""
COS_COEFFICIENTS = (
    -1.13596475577881948265e-11,
    2.08757232129817482790e-9,
    -2.75573143513906633035e-7,
    2.48015872894767294178e-5,
    -1.38888888888741095749e-3,
    4.16666666666666019037e-2,
)
"""Of fdlibm: `(cos(r) - 1 + r²/2) / r⁴`."""
ATAN_COEFFICIENTS = (
    -4.0482418553977835e-2,
    7.1379151831199830e-2,
    -9.0294852618921440e-2,
    1.1107539979478027e-1,
    -1.4285614325393578e-1,
    1.9999998944179687e-1,
    -3.3333333331505560e-1,
)
"""Minimax polynomial for `(atan(t) - t) / t³` up to `tan(π/8)`, in powers of t²: off by at most 4e-12."""


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


def clamp(builder: LLVMBuilder, x: SSAValue, low: float | None, high: float | None) -> SSAValue:
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
    # Without the lower limit a factor may be infinite, and its product with 0 NaN.
    reduced = _reduce(builder, clamp(builder, x, -104.0, 89.0), 2 * 127)
    r = reduced.r
    tail = builder.fma(polynomial(builder, r, EXP_COEFFICIENTS), builder.fmul(r, r), r)
    value = _flushed(builder, x, builder.fadd(tail, builder.constant(1.0, type_)))
    half = builder.add(llvm.AShrOp(reduced.bits, builder.constant(1, integers)))
    for part in (half, builder.add(llvm.SubOp(reduced.bits, half))):
        power = builder.add(llvm.ShlOp(part, builder.constant(23, integers)))
        value = builder.fmul(value, builder.add(llvm.BitcastOp(power, type_)))
    return value


def _scaled_exp(
    builder: LLVMBuilder, x: SSAValue, low: float | None, high: float | None, shift: int = 0
) -> SSAValue:
    """`2^shift e^x`, which is normal for all x from `low` to `high`; others are clamped to them."""
    reduced = _reduce(builder, clamp(builder, x, low, high), shift + 127)
    power = polynomial(builder, reduced.r, (*EXP_COEFFICIENTS, 1.0, 1.0))
    # Adding n to the exponent of e^r instead would make numbers of NaNs whose low bits are not 0.
    scale = builder.add(llvm.ShlOp(reduced.bits, builder.constant(23, reduced.bits.type)))
    return builder.fmul(power, builder.add(llvm.BitcastOp(scale, x.type)))


def _flushed(builder: LLVMBuilder, x: SSAValue, scaled: SSAValue) -> SSAValue:
    """
    Return `scaled`, which is to be multiplied by a power of two, or 0 where `e^x` rounds to 0.

    A product that underflows takes a hundred times as long on x86, and a masked softmax has one wherever the
    mask is -inf.
    """
    type_ = x.type
    return builder.select(
        builder.fcmp("olt", x, builder.constant(-104.0, type_)), builder.constant(0.0, type_), scaled
    )


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
    raised = _flushed(builder, x, _scaled_exp(builder, x, -104.0, None, 64))
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


def log(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """`log x = e ln 2 + log(1 + f)`, where `x = 2^e (1 + f)`; other types than f32 call the C library."""
    if element_of(x) != f32:
        return builder.intrinsic("log", x)
    type_, integers = x.type, _integers(x)

    def constant(number: float) -> SSAValue:
        return builder.constant(number, type_)

    is_subnormal = builder.fcmp("olt", x, constant(2.0**-126))
    normal = builder.select(is_subnormal, builder.fmul(x, constant(2.0**23)), x)
    bits = builder.add(llvm.BitcastOp(normal, integers))
    above = builder.add(llvm.SubOp(bits, builder.constant(SQRT_HALF_BITS, integers)))
    exponent = builder.add(llvm.AShrOp(above, builder.constant(23, integers)))
    mantissa = builder.add(
        llvm.SubOp(bits, builder.add(llvm.ShlOp(exponent, builder.constant(23, integers))))
    )
    f = builder.fsub(builder.add(llvm.BitcastOp(mantissa, type_)), constant(1.0))
    e = builder.add(llvm.SIToFPOp(exponent, type_))
    e = builder.select(is_subnormal, builder.fsub(e, constant(23.0)), e)
    square = builder.fmul(f, f)
    tail = builder.fmul(polynomial(builder, f, LOG_COEFFICIENTS), builder.fmul(square, f))
    tail = builder.fma(e, constant(LN2_LOW), tail)
    tail = builder.fma(square, constant(-0.5), tail)
    value = builder.fma(e, constant(LN2_HIGH), builder.fadd(f, tail))
    # The logarithms of infinity and NaN are they themselves.
    value = builder.select(builder.fcmp("olt", x, constant(inf)), value, x)
    value = builder.select(builder.fcmp("olt", x, constant(0.0)), constant(nan), value)
    return builder.select(builder.fcmp("oeq", x, constant(0.0)), constant(-inf), value)


def sin(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """The sine, of f32 in f64 and rounded once; f64 calls the C library."""
    return in_double(builder, x, "sin", lambda builder, x: _sine(builder, x, "sin", 0))


def cos(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """The cosine, as the sine of the next quadrant."""
    return in_double(builder, x, "cos", lambda builder, x: _sine(builder, x, "cos", 1))


def tan(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """The tangent, of f32 in f64 and rounded once; f64 calls the C library."""
    return in_double(builder, x, "tan", _tangent)


def atan(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """The arcus tangent, of f32 in f64 and rounded once; f64 calls the C library."""

    def made(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
        angle = _angle(builder, builder.intrinsic("fabs", x), builder.constant(1.0, x.type))
        return builder.intrinsic("copysign", angle, x)

    return in_double(builder, x, "atan", made)


def _angle(builder: LLVMBuilder, y: SSAValue, x: SSAValue) -> SSAValue:
    """
    The angle of a point in the first quadrant, one of whose coordinates is finite and above 0.

    It is the arcus tangent of `t = y / x` below `tan(π/8)`; else the point is first turned by π/4 or π/2.
    """
    type_ = x.type
    is_middle, is_high = (
        builder.fcmp("ogt", y, builder.fmul(x, builder.constant(tangent, type_)))
        for tangent in (sqrt(2) - 1, sqrt(2) + 1)
    )
    minus_x = builder.fsub(builder.constant(-0.0, type_), x)
    cases = [
        (y, x, 0.0),
        (builder.fsub(y, x), builder.fadd(y, x), pi / 4),
        (minus_x, y, pi / 2),
    ]
    dividend, divisor, turned = (
        builder.select(is_high, high, builder.select(is_middle, middle, low))
        for low, middle, high in zip(
            *((one, other, builder.constant(angle, type_)) for one, other, angle in cases), strict=True
        )
    )
    t = builder.add(llvm.FDivOp(dividend, divisor))
    square = builder.fmul(t, t)
    rest = builder.fma(builder.fmul(polynomial(builder, square, ATAN_COEFFICIENTS), square), t, t)
    return builder.fadd(turned, rest)


def in_double(
    builder: LLVMBuilder, x: SSAValue, name: str, made: Callable[[LLVMBuilder, SSAValue], SSAValue]
) -> SSAValue:
    """Return a function of an f32, which is computed in f64 and rounded; of f64, what the C library gives."""
    if element_of(x) != f32:
        return builder.intrinsic(name, x)
    return builder.add(llvm_ops.cast(llvm.FPTruncOp, made(builder, wide(builder, x)), x.type))


def wide(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """Return an f32 as f64."""
    return builder.add(llvm_ops.cast(llvm.FPExtOp, x, vector_of(f64, lanes_of(x))))


class _Quadrant(NamedTuple):
    """A number `n π/2 + r`, its sine and cosine being those of r, or of each other, up to their signs."""

    bits: SSAValue
    """Integers whose low bits are those of n."""
    sine: SSAValue
    cosine: SSAValue

    def is_odd(self, builder: LLVMBuilder) -> SSAValue:
        """Whether n is odd: sine and cosine are exchanged."""
        one, zero = (builder.constant(number, self.bits.type) for number in (1, 0))
        return builder.icmp("ne", builder.add(llvm.AndOp(self.bits, one)), zero)


def _quadrant(builder: LLVMBuilder, x: SSAValue) -> _Quadrant:
    type_ = x.type
    rounding = builder.constant(1.5 * 2.0**52, type_)
    shifted = builder.fma(x, builder.constant(2 / pi, type_), rounding)
    n = builder.fsub(shifted, rounding)
    r = x
    for part in HALF_PI:
        r = builder.fma(n, builder.constant(-part, type_), r)
    square = builder.fmul(r, r)
    sine = builder.fma(builder.fmul(polynomial(builder, square, SIN_COEFFICIENTS), square), r, r)
    # That of -0 is -0.
    sine = builder.intrinsic("copysign", sine, r)
    cosine = builder.fma(square, builder.constant(-0.5, type_), builder.constant(1.0, type_))
    fourth = builder.fmul(square, square)
    cosine = builder.fma(polynomial(builder, square, COS_COEFFICIENTS), fourth, cosine)
    bits = builder.add(llvm.BitcastOp(shifted, vector_of(i64, lanes_of(x))))
    return _Quadrant(bits, sine, cosine)


def _sine(builder: LLVMBuilder, x: SSAValue, name: str, first_quadrant: int) -> SSAValue:
    """`sin(n π/2 + r)`, by the last two bits of n and a polynomial of r."""
    found = _quadrant(builder, x)
    integers = found.bits.type
    if first_quadrant:
        found = found._replace(bits=builder.iadd(found.bits, builder.constant(first_quadrant, integers)))
    value = builder.select(found.is_odd(builder), found.cosine, found.sine)
    # Bit 1 of the quadrant becomes the sign.
    second = builder.add(llvm.AndOp(found.bits, builder.constant(2, integers)))
    sign = builder.add(llvm.ShlOp(second, builder.constant(62, integers)))
    bits = builder.add(llvm.XOrOp(builder.add(llvm.BitcastOp(value, integers)), sign))
    return _unless_large(builder, x, builder.add(llvm.BitcastOp(bits, x.type)), name)


def _tangent(builder: LLVMBuilder, x: SSAValue) -> SSAValue:
    """`tan(n π/2 + r)`: the sine of r over its cosine, for an odd n the negative of the inverse."""
    found = _quadrant(builder, x)
    is_odd = found.is_odd(builder)
    minus = builder.fsub(builder.constant(-0.0, x.type), found.cosine)
    dividend = builder.select(is_odd, minus, found.sine)
    quotient = builder.add(llvm.FDivOp(dividend, builder.select(is_odd, found.sine, found.cosine)))
    return _unless_large(builder, x, quotient, "tan")


def _unless_large(builder: LLVMBuilder, x: SSAValue, value: SSAValue, name: str) -> SSAValue:
    """Return a value; where an element of `x` is too large, what the C library gives."""
    is_large = builder.fcmp("ogt", builder.intrinsic("fabs", x), builder.constant(MAX_REDUCED, x.type))
    return unless(builder, is_large, value, lambda: builder.intrinsic(name, x))


def unless(
    builder: LLVMBuilder, is_other: SSAValue, value: SSAValue, other: Callable[[], SSAValue]
) -> SSAValue:
    """Return a value, but `other` where a condition holds: that is computed if it holds for any element."""
    found = is_other
    while (count := lanes_of(found)) > 1:
        half = count // 2
        parts = [builder.shuffle(found, range(start, start + count - half)) for start in (0, half)]
        found = builder.add(llvm.OrOp(parts[0], parts[1]))
    found = builder.lane(found, 0) if lanes_of(found) else found

    def computed(_index: SSAValue, _value: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [builder.select(is_other, other(), value)]

    # A loop of one iteration or none is a branch.
    times = builder.add(llvm.ZExtOp(found, i64))
    return builder.loop(builder.constant(0), times, 1, [value], computed)[0]
