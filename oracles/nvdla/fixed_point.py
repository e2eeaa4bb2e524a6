"""
Integers as the NVDLA computes with them, from docs/internals/nvdla-hardware.md §3.5 and §4: shifts that
round, numbers that saturate, and real factors and sums as operands of 16 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]

MAX_OPERAND = 32767
"""The largest operand of 16 bits in magnitude."""

MAX_SHIFT = 31


def rounding_shift(numbers: Integers, shift: int) -> Integers:
    """`numbers / 2^shift`, halves away from zero (docs/internals/nvdla-hardware.md §4.0)."""
    if shift == 0:
        return numbers
    return np.sign(numbers) * ((np.abs(numbers) + (1 << (shift - 1))) >> shift)


def saturate(numbers: Integers, bits: int) -> Integers:
    """Limited to signed integers of `bits`."""
    return np.clip(numbers, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def factor_operands(numbers: Array) -> tuple[Integers, int]:
    """
    Operands and the most bits `n` by which their products can be shifted: `operand * 2^-n` is nearest.
    """
    for shift in range(MAX_SHIFT, -1, -1):
        operands = np.rint(numbers * 2.0**shift)
        if np.abs(operands).max(initial=0) <= MAX_OPERAND:
            return operands.astype(np.int64), 0 if not numbers.any() else shift
    raise OverflowError(f"a factor of {np.abs(numbers).max():g}")


def addend_operands(numbers: Array) -> tuple[Integers, int]:
    """Operands and the fewest bits `n` that they are shifted left: `operand * 2^n` is nearest."""
    for shift in range(MAX_SHIFT + 1):
        operands = np.rint(numbers * 2.0**-shift)
        if np.abs(operands).max(initial=0) <= MAX_OPERAND:
            return operands.astype(np.int64), shift
    raise OverflowError(f"a sum of {np.abs(numbers).max():g}")


def half_ties_away(numbers: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """
    Rounded to half precision, ties away from zero, as the CPU emulator does (docs/internals/nvdla-hardware.md
    §4.0).
    """
    nearest = numbers.astype(np.float16)
    away = np.nextafter(nearest, np.copysign(np.float16(np.inf), nearest))
    exact, low, high = (np.abs(each.astype(np.float64)) for each in (numbers, nearest, away))
    is_tie = (low < exact) & (exact - low == high - exact)
    return np.where(is_tie, away, nearest).astype(np.float32)
