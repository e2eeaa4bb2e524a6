"""
Integer arithmetic of the data path: rounding shifts and saturation (docs/internals/nvdla-hardware.md §4.0).
"""

from __future__ import annotations

import numpy as np

from xonnc.runtime.nvdla.array_types import I64

LARGEST_SHIFT = 63


def saturate(x: I64, bits: int) -> I64:
    """Clamp to a signed integer of `bits` bits; the data path saturates, it never wraps."""
    return np.clip(x, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def shift_right_rounding(x: I64, count: int) -> I64:
    """`x / 2**count`, ties away from zero; `|x| <= 2**62`."""
    if count == 0:
        return x
    if count > LARGEST_SHIFT:
        return np.zeros_like(x)
    # Two steps instead of adding 2**(count - 1): that sum leaves int64 for the largest products.
    if count >= LARGEST_SHIFT - 1:
        return np.sign(x) * (((np.abs(x) >> (count - 1)) + 1) >> 1)
    # `x >> 63` is -1 for a negative x: it changes ties-up into ties away from zero.
    return (x + (1 << (count - 1)) + (x >> 63)) >> count


def shift_left_saturating(x: I64, count: int, bits: int) -> I64:
    """`x * 2**count` clamped to `bits` bits; `|x| < 2**32`, `bits <= 48`."""
    # A shift by more than 31 saturates every non-zero value of up to 32 bits already.
    return saturate(x << min(count, 31), bits) if count < 31 else saturate(np.sign(x) << 62, bits)


def shift_rounding(x: I64, count: int) -> I64:
    """Right by `count` with rounding, or left by `-count`; `|x| < 2**49`."""
    if count >= 0:
        return shift_right_rounding(x, count)
    # Saturated one step early: the callers clamp to 32 bits or fewer.
    return saturate(x, 40) << min(-count, 22)


def convert(x: I64, offset: int, scale: int, truncate: int, bits: int) -> I64:
    """`dla_cvt_param`: `(x - offset) * scale >> truncate`, rounded and clamped to `bits` bits."""
    return saturate(shift_right_rounding((x - offset) * scale, truncate), bits)


def sign_extend(value: int, bits: int) -> int:
    """The two's complement reading of the low `bits` bits."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
