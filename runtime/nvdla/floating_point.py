"""
Floating-point formats of the data path: fp16 (5/10), fp17 (6/10) and fp32 (docs/internals/nvdla-hardware.md
§4.0).

fp16 is carried as bits (`uint16`), fp17 and fp32 as `float32`, which holds every fp17 value exactly.
Results round to nearest even and are never Inf: an overflow gives the largest finite value of the format.
A NaN passes with its payload. A sum of exactly zero has the sign of its first operand: where both have one
magnitude, the adder takes the sign of the first.
"""

from __future__ import annotations

import numpy as np

from xonnc.runtime.nvdla.array_types import F32, F64, I64, U16

HALF_MAX = np.float32(65504.0)
FP17_MAX = np.float32(2.0**31 * (2 - 2.0**-10))
SINGLE_MAX = np.finfo(np.float32).max
_HALF_EXPONENT = np.uint16(0x7C00)
_HALF_MANTISSA = np.uint16(0x03FF)
# Adding and taking away 1.5 * 2**12 rounds a float64 to a multiple of 2**-40, the fp17 denormal step.
_FP17_DENORMAL_MAGIC = 1.5 * 2.0**12
_FP17_SMALLEST_NORMAL = 2.0**-30


def half_to_single(bits: U16, infinity: np.float32 = SINGLE_MAX) -> F32:
    """Widen fp16 bits exactly; Inf becomes `infinity`, the largest finite value of the wider format."""
    wide = bits.view(np.float16).astype(np.float32)
    special = (bits & _HALF_EXPONENT) == _HALF_EXPONENT
    if not special.any():
        return wide
    mantissa = (bits & _HALF_MANTISSA).astype(np.uint32)
    sign = (bits >> np.uint16(15)).astype(np.uint32) << np.uint32(31)
    nan = (sign | np.uint32(0x7F800000) | (mantissa << np.uint32(13))).view(np.float32)
    finite = np.where(sign != 0, -infinity, infinity)
    return np.where(special, np.where(mantissa != 0, nan, finite), wide)


def single_to_half(x: F32) -> U16:
    """Round to fp16 bits, clamped to ±65504; a NaN keeps the top ten bits of its payload."""
    nan = np.isnan(x)
    if not nan.any():
        return np.clip(x, -HALF_MAX, HALF_MAX).astype(np.float16).view(np.uint16)
    bits = np.ascontiguousarray(x).view(np.uint32)
    payload = ((bits >> np.uint32(16)) & 0x8000) | 0x7C00 | ((bits >> np.uint32(13)) & 0x3FF)
    number = np.clip(np.where(nan, np.float32(0), x), -HALF_MAX, HALF_MAX).astype(np.float16)
    return np.where(nan, payload.astype(np.uint16), number.view(np.uint16))


def single_to_fp17(x: F32) -> F32:
    """
    Round a single to fp17.

    Sums, differences and products of fp17 values may come in as float32: with 24 >= 2 * 11 + 2 bits the
    rounding twice equals rounding once.
    """
    return double_to_fp17(x.astype(np.float64))


def double_to_fp17(x: F64) -> F32:
    """Round to fp17: 11 significant bits, denormals in steps of 2**-40, clamped to ±2**31·(2 - 2**-10)."""
    bits = np.ascontiguousarray(x).view(np.int64)
    half = np.int64((1 << 41) - 1)
    rounded = ((bits + half + ((bits >> 42) & 1)) & np.int64(-1 << 42)).view(np.float64)
    denormal = (x + _FP17_DENORMAL_MAGIC) - _FP17_DENORMAL_MAGIC
    small = np.abs(x) < _FP17_SMALLEST_NORMAL
    result = np.where(small, np.copysign(denormal, x), rounded)
    result = np.clip(result, -FP17_MAX, FP17_MAX).astype(np.float32)
    return np.where(np.isnan(x), x.astype(np.float32), result)


def multiply(a: F32, b: F32) -> F32:
    """fp32 product: never Inf, the first NaN operand passes unchanged."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return _finish(a * b, a, b)


def add(a: F32, b: F32) -> F32:
    """fp32 sum: never Inf, the first NaN operand passes unchanged; `-0 + 0` is -0, and so is `-1 + 1`."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        total = _finish(a + b, a, b)
    return np.where(total == 0, np.copysign(np.float32(0), a), total)


def add_fp17(a: F32, b: F32) -> F32:
    """fp17 sum of fp17 values, likewise."""
    return single_to_fp17(add(a, b))


def quiet_half(bits: U16) -> U16:
    """fp16 bits with the quiet bit of NaNs set."""
    nan = (bits & np.uint16(0x7FFF)) > _HALF_EXPONENT
    return np.where(nan, bits | np.uint16(0x0200), bits)


def _finish(result: F32, a: F32, b: F32) -> F32:
    nan = np.isnan(result)
    if nan.any():
        wide_a, wide_b = np.broadcast_arrays(a, b)
        result = np.where(nan, np.where(np.isnan(wide_a), wide_a, wide_b), result)
    return np.clip(result, -SINGLE_MAX, SINGLE_MAX)


def half_to_int16(bits: U16) -> I64:
    """fp16 to a 16-bit integer: ties away from zero, saturated."""
    x = half_to_single(bits).astype(np.float64)
    rounded = np.copysign(np.floor(np.abs(np.nan_to_num(x)) + 0.5), x)
    return np.clip(rounded, -32768, 32767).astype(np.int64)


def int17_to_half(x: I64) -> U16:
    """A 17-bit integer to fp16, ties to even, clamped."""
    return single_to_half(x.astype(np.float32))


def half_order(bits: U16) -> I64:
    """Integers in the order of the fp16 values; the bits alone order negative numbers the wrong way."""
    signed = bits.view(np.int16).astype(np.int64)
    return np.where(signed < 0, signed ^ 0x7FFF, signed)


def half_from_order(order: I64) -> U16:
    """The inverse of `half_order`."""
    return np.where(order < 0, order ^ 0x7FFF, order).astype(np.int16).view(np.uint16)
