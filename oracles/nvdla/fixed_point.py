"""
Fixed-point arithmetic of NVDLA: rounding shifts, saturation, and 16-bit operands
(docs/internals/nvdla-hardware.md §3.5, §4).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]

MAX_OPERAND = 32767
"""The largest magnitude of a 16-bit operand."""

MAX_SHIFT = 31


def rounding_shift(numbers: Integers, shift: int) -> Integers:
    """Return `numbers / 2^shift`, rounded half away from zero (docs/internals/nvdla-hardware.md §4.0)."""
    if shift == 0:
        return numbers
    return np.sign(numbers) * ((np.abs(numbers) + (1 << (shift - 1))) >> shift)


def saturate(numbers: Integers, bits: int) -> Integers:
    """Saturate to signed integers of `bits`."""
    return np.clip(numbers, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def factor_operands(numbers: Array) -> tuple[Integers, int]:
    """Return operands and the largest right shift `n` of their products: `operand * 2^-n` is nearest."""
    for shift in range(MAX_SHIFT, -1, -1):
        operands = np.rint(numbers * 2.0**shift)
        if np.abs(operands).max(initial=0) <= MAX_OPERAND:
            return operands.astype(np.int64), 0 if not numbers.any() else shift
    raise OverflowError(f"a factor of {np.abs(numbers).max():g}")


def addend_operands(numbers: Array) -> tuple[Integers, int]:
    """Return operands and the least left shift `n`: `operand * 2^n` is nearest."""
    for shift in range(MAX_SHIFT + 1):
        operands = np.rint(numbers * 2.0**-shift)
        if np.abs(operands).max(initial=0) <= MAX_OPERAND:
            return operands.astype(np.int64), shift
    raise OverflowError(f"a sum of {np.abs(numbers).max():g}")


def half_ties_away(numbers: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """
    Round to float16, ties away from zero, as the CPU emulator does (docs/internals/nvdla-hardware.md §4.0).
    """
    nearest = numbers.astype(np.float16)
    away = np.nextafter(nearest, np.copysign(np.float16(np.inf), nearest))
    exact, low, high = (np.abs(each.astype(np.float64)) for each in (numbers, nearest, away))
    is_tie = (low < exact) & (exact - low == high - exact)
    return np.where(is_tie, away, nearest).astype(np.float32)
