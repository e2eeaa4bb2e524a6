"""
Conversions between f32 and the bits of floats of 16 bits and less: bf16, f8, f6, f4, f8E8M0.

The code is the same for all formats of a table. To decode, the bits are moved to their position in an f32,
and one multiplication by a power of two corrects the exponent bias. To encode, the mantissa is rounded in
integer arithmetic; subnormal results are rounded by adding a float whose last place is that of the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    IntegerType,
    bf16,
    f4E2M1FN,
    f6E2M3FN,
    f6E3M2FN,
    f8E4M3FN,
    f8E4M3FNUZ,
    f8E5M2,
    f8E5M2FNUZ,
    f8E8M0FNU,
    f32,
    i32,
)
from xdsl.ir import Attribute, SSAValue

from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder, lanes_of
from xonnc.lowering.krnl_to_llvm.llvm_ops import vector_of

F32_MANTISSA, F32_BIAS = 23, 127
F32_INFINITE = 0x7F800000


@dataclass(frozen=True)
class FloatFormat:
    """A float format: sign bit, exponent, mantissa; `max_finite`, `infinity` and `nan` are bit patterns."""

    width: int
    mantissa: int
    bias: int
    max_finite: int
    infinity: int | None = None
    nan: int | None = None

    @property
    def has_no_negative_zero(self) -> bool:
        """Whether the pattern of -0 is the only NaN (FNUZ formats)."""
        return self.nan == 1 << (self.width - 1)


FORMATS: dict[Attribute, FloatFormat] = {
    bf16: FloatFormat(16, 7, 127, 0x7F7F, 0x7F80, 0x7FC0),
    f8E4M3FN: FloatFormat(8, 3, 7, 0x7E, None, 0x7F),
    f8E4M3FNUZ: FloatFormat(8, 3, 8, 0x7F, None, 0x80),
    f8E5M2: FloatFormat(8, 2, 15, 0x7B, 0x7C, 0x7E),
    f8E5M2FNUZ: FloatFormat(8, 2, 16, 0x7F, None, 0x80),
    f6E2M3FN: FloatFormat(6, 3, 1, 0x1F),
    f6E3M2FN: FloatFormat(6, 2, 3, 0x1F),
    f4E2M1FN: FloatFormat(4, 1, 1, 0x7),
}


@dataclass(frozen=True)
class _Int32Ops:
    """Integer operations on 32-bit lanes."""

    builder: LLVMBuilder
    type_: Attribute

    def constant(self, value: int) -> SSAValue:
        return self.builder.constant(value, self.type_)

    def and_mask(self, a: SSAValue, mask: int) -> SSAValue:
        return self.builder.add(llvm.AndOp(a, self.constant(mask)))

    def shl(self, a: SSAValue, distance: int) -> SSAValue:
        return self.builder.add(llvm.ShlOp(a, self.constant(distance))) if distance else a

    def lshr(self, a: SSAValue, distance: int) -> SSAValue:
        return self.builder.add(llvm.LShrOp(a, self.constant(distance))) if distance else a

    def iadd(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.builder.add(llvm.AddOp(a, b))

    def or_(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.builder.add(llvm.OrOp(a, b))

    def select_if(self, predicate: str, a: SSAValue, bound: int, then: SSAValue, other: SSAValue) -> SSAValue:
        return self.builder.select(self.builder.icmp(predicate, a, self.constant(bound)), then, other)


def _int32_ops(builder: LLVMBuilder, like: SSAValue) -> _Int32Ops:
    return _Int32Ops(builder, vector_of(i32, lanes_of(like)))


def decode(builder: LLVMBuilder, value: SSAValue, format_: Attribute) -> SSAValue:
    """Decode the bits of a float format to f32."""
    ints = _int32_ops(builder, value)
    float_ = vector_of(f32, lanes_of(value))
    bits = builder.add(llvm.ZExtOp(value, ints.type_))
    if format_ == f8E8M0FNU:
        power = ints.select_if("eq", bits, 0, ints.constant(1 << 22), ints.shl(bits, F32_MANTISSA))
        return builder.add(
            llvm.BitcastOp(ints.select_if("eq", bits, 0xFF, ints.constant(0x7FC00000), power), float_)
        )
    fmt = FORMATS[format_]
    top = fmt.width - 1
    size = ints.and_mask(bits, (1 << top) - 1)
    number = builder.add(llvm.BitcastOp(ints.shl(size, F32_MANTISSA - fmt.mantissa), float_))
    if fmt.bias != F32_BIAS:
        number = builder.fmul(number, builder.constant(2.0 ** (F32_BIAS - fmt.bias), float_))
    if fmt.bias != F32_BIAS and fmt.infinity is not None:
        number = ints.select_if("eq", size, fmt.infinity, builder.constant(inf, float_), number)
        number = ints.select_if("ugt", size, fmt.infinity, builder.constant(nan, float_), number)
    elif fmt.has_no_negative_zero:
        number = ints.select_if(
            "eq", ints.and_mask(bits, (1 << fmt.width) - 1), 1 << top, builder.constant(nan, float_), number
        )
    elif fmt.infinity is None and fmt.nan is not None:
        number = ints.select_if("eq", size, fmt.nan, builder.constant(nan, float_), number)
    sign = ints.shl(ints.and_mask(bits, 1 << top), 31 - top)
    return builder.add(
        llvm.BitcastOp(ints.or_(builder.add(llvm.BitcastOp(number, ints.type_)), sign), float_)
    )


def encode(
    builder: LLVMBuilder, value: SSAValue, format_: Attribute, saturate: bool, round_mode: str
) -> SSAValue:
    """Encode f32 in a float format, rounding to nearest even."""
    ints = _int32_ops(builder, value)
    bits = builder.add(llvm.BitcastOp(value, ints.type_))
    size = ints.and_mask(bits, 0x7FFFFFFF)
    if format_ == f8E8M0FNU:
        return _truncate(builder, _encode_exponent(ints, size, saturate, round_mode), 8)
    fmt = FORMATS[format_]
    shift = F32_MANTISSA - fmt.mantissa
    odd = ints.and_mask(ints.lshr(size, shift), 1)
    rounded = ints.lshr(ints.iadd(size, ints.iadd(odd, ints.constant((1 << (shift - 1)) - 1))), shift)
    result = rounded
    if fmt.bias != F32_BIAS:
        result = ints.iadd(rounded, ints.constant(-((F32_BIAS - fmt.bias) << fmt.mantissa)))
        result = _round_subnormal(ints, size, result, fmt)
        beyond = fmt.max_finite if saturate else _overflow_bits(fmt)
        result = ints.select_if("sgt", result, fmt.max_finite, ints.constant(beyond), result)
    nan_bits = fmt.nan or 0
    result = ints.select_if("ugt", size, F32_INFINITE, ints.constant(nan_bits), result)
    sign = ints.shl(ints.lshr(bits, 31), fmt.width - 1)
    if fmt.has_no_negative_zero:
        sign = ints.select_if("eq", ints.and_mask(result, nan_bits - 1), 0, ints.constant(0), sign)
    return _truncate(builder, ints.or_(result, sign), 16 if fmt.width > 8 else 8)


def _overflow_bits(fmt: FloatFormat) -> int:
    """Return the bits for a value out of range without saturation: infinity, else NaN, else the maximum."""
    overflow = fmt.nan if fmt.infinity is None else fmt.infinity
    return fmt.max_finite if overflow is None else overflow


def _round_subnormal(ints: _Int32Ops, size: SSAValue, result: SSAValue, fmt: FloatFormat) -> SSAValue:
    """Round a subnormal result by adding a power of two whose last place is that of the result."""
    float_ = vector_of(f32, lanes_of(size))
    offset = 1 - fmt.bias - fmt.mantissa + F32_MANTISSA
    small = ints.builder.fadd(
        ints.builder.add(llvm.BitcastOp(size, float_)), ints.builder.constant(2.0**offset, float_)
    )
    bits = ints.builder.add(llvm.BitcastOp(small, ints.type_))
    bits = ints.iadd(bits, ints.constant(-((offset + F32_BIAS) << F32_MANTISSA)))
    return ints.select_if("ult", size, (1 - fmt.bias + F32_BIAS) << F32_MANTISSA, bits, result)


def _encode_exponent(ints: _Int32Ops, size: SSAValue, saturate: bool, round_mode: str) -> SSAValue:
    """Encode f8E8M0FNU, an exponent without sign and mantissa; infinity becomes NaN."""
    exponent = ints.lshr(size, F32_MANTISSA)
    if round_mode == "up":
        exponent = ints.lshr(ints.iadd(size, ints.constant((1 << F32_MANTISSA) - 1)), F32_MANTISSA)
    elif round_mode == "nearest":
        # Ties round up, except below the smallest normal number.
        half = ints.select_if(
            "ult", size, 1 << F32_MANTISSA, ints.constant((1 << 22) - 1), ints.constant(1 << 22)
        )
        exponent = ints.lshr(ints.iadd(size, half), F32_MANTISSA)
    if saturate:
        exponent = ints.select_if("ugt", exponent, 0xFE, ints.constant(0xFE), exponent)
    return ints.select_if("uge", size, F32_INFINITE, ints.constant(0xFF), exponent)


def _truncate(builder: LLVMBuilder, bits: SSAValue, width: int) -> SSAValue:
    return builder.add(llvm.TruncOp(bits, vector_of(IntegerType(width), lanes_of(bits))))


def round_to_odd(builder: LLVMBuilder, value: SSAValue) -> SSAValue:
    """
    Round f64 to f32 by round-to-odd: truncate, and set the last bit if the result is inexact.

    Rounding the result again to fewer bits is free of double rounding (Boldo and Melquiond, 2008).
    """
    lanes = lanes_of(value)
    nearest = builder.add(llvm.FPTruncOp(value, vector_of(f32, lanes)))
    back = builder.add(llvm.FPExtOp(nearest, value.type))
    ints = _int32_ops(builder, value)
    bits = builder.add(llvm.BitcastOp(nearest, ints.type_))
    is_above = builder.fcmp("ogt", builder.intrinsic("fabs", back), builder.intrinsic("fabs", value))
    is_lost = builder.fcmp("one", back, value)
    down = builder.add(llvm.SubOp(bits, builder.add(llvm.ZExtOp(is_above, ints.type_))))
    result = ints.or_(down, builder.add(llvm.ZExtOp(is_lost, ints.type_)))
    return builder.add(llvm.BitcastOp(result, nearest.type))
