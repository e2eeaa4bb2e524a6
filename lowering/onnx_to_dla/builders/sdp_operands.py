"""
Fixed-point operands of the SDP: real factors and addends as int16 values with a common shift.

The SDP's multipliers take 16-bit operands, whose products are shifted right; its ALU takes 16-bit operands
that are shifted left (docs/internals/nvdla-hardware.md §3.5, §4.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp, isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

MAX_OPERAND = 32767
"""The largest operand in use, so that its negative is one too."""

MAX_SHIFT = 31
"""The accumulator has 32 bits: more shifting leaves nothing."""


@dataclass(frozen=True)
class FixedPoint:
    """
    Values as `operands * 2^-shift` (factors) or `operands * 2^shift` (addends), int16 with a common shift.
    """

    operands: Array
    shift: int


def fixed_point_factors(factors: Array) -> FixedPoint | None:
    """
    Round `factors` to int16 operands whose products are shifted right.

    The shift is the largest that lets the largest factor fit. `None` for a factor of 32768 or more, or NaN.
    """
    largest = float(np.max(np.abs(factors), initial=0.0))
    if not isfinite(largest):
        return None
    if largest == 0.0:
        return FixedPoint(np.zeros(factors.shape, np.int16), 0)
    # largest = m * 2^e with 0.5 <= m < 1, so shifting by 15 - e puts the largest operand in [2^14, 2^15).
    shift = min(15 - frexp(largest)[1], MAX_SHIFT)
    if shift < MAX_SHIFT and round(largest * 2.0**shift) > MAX_OPERAND:
        shift -= 1
    if shift < 0:
        return None
    return FixedPoint(np.rint(factors * 2.0**shift).astype(np.int16), shift)


def fixed_point_addends(sums: Array) -> FixedPoint | None:
    """
    Round `sums`, in units of what they are added to, to int16 operands that are shifted left.

    `None` if an addend takes more than 47 bits, or is NaN.
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
