"""
Real factors and sums as the SDP's integers: 16-bit operands, common shifts (docs/internals/nvdla-hardware.md
§3.5, §4.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp, isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

MAX_OPERAND = 32767
"""The largest operand of 16 bits that is used: its negative is one too."""

MAX_SHIFT = 31
"""Shifts beyond the 31 bits of a number leave nothing."""


@dataclass(frozen=True)
class FixedPoint:
    """Numbers as `operands * 2^-shift` (factors) or `operands * 2^shift` (sums): 16 bits each, one shift."""

    operands: Array
    shift: int


def fixed_point_factors(factors: Array) -> FixedPoint | None:
    """
    `factors` as 16-bit operands whose products are shifted right, each to the nearest.

    The shift is the largest at which the largest factor fits. `None` if a factor is 32768 or more, or NaN.
    """
    largest = float(np.max(np.abs(factors), initial=0.0))
    if not isfinite(largest):
        return None
    if largest == 0.0:
        return FixedPoint(np.zeros(factors.shape, np.int16), 0)
    shift = min(15 - frexp(largest)[1], MAX_SHIFT)
    if shift < MAX_SHIFT and round(largest * 2.0**shift) > MAX_OPERAND:
        shift -= 1
    if shift < 0:
        return None
    return FixedPoint(np.rint(factors * 2.0**shift).astype(np.int16), shift)


def fixed_point_addends(sums: Array) -> FixedPoint | None:
    """
    `sums`, in units of what they are added to, as 16-bit operands that are shifted left, each to the nearest.

    `None` if one needs more than 47 bits, or is NaN.
    """
    largest = float(np.max(np.abs(sums), initial=0.0))
    if not isfinite(largest):
        return None
    shift = max(frexp(largest)[1] - 15, 0)
    if round(largest * 2.0**-shift) > MAX_OPERAND:
        shift += 1
    if shift > MAX_SHIFT:
        return None
    return FixedPoint(np.rint(sums * 2.0**-shift).astype(np.int16), shift)
