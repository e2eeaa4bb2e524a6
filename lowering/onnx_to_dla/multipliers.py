"""Real factors and sums as the SDP's integers: 16-bit operands, common shifts (spec/nvdla.md §3.5, §4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp, isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

LARGEST = 32767
"""The largest operand of 16 bits that is used: its negative is one too."""

MOST_SHIFT = 31
"""Shifts beyond the 31 bits of a number leave nothing."""


@dataclass(frozen=True)
class Scaled:
    """Numbers as `operands * 2^-shift` (factors) or `operands * 2^shift` (sums): 16 bits each, one shift."""

    operands: Array
    shift: int


def nearest_factors(factors: Array) -> Scaled | None:
    """
    `factors` as 16-bit operands whose products are shifted right, each to the nearest.

    The shift is the largest at which the largest factor fits. `None` if a factor is 32768 or more, or NaN.
    """
    largest = float(np.max(np.abs(factors), initial=0.0))
    if not isfinite(largest):
        return None
    if largest == 0.0:
        return Scaled(np.zeros(factors.shape, np.int16), 0)
    shift = min(15 - frexp(largest)[1], MOST_SHIFT)
    if shift < MOST_SHIFT and round(largest * 2.0**shift) > LARGEST:
        shift -= 1
    if shift < 0:
        return None
    return Scaled(np.rint(factors * 2.0**shift).astype(np.int16), shift)


def nearest_sums(sums: Array) -> Scaled | None:
    """
    `sums`, in units of what they are added to, as 16-bit operands that are shifted left, each to the nearest.

    `None` if one needs more than 47 bits, or is NaN.
    """
    largest = float(np.max(np.abs(sums), initial=0.0))
    if not isfinite(largest):
        return None
    shift = max(frexp(largest)[1] - 15, 0)
    if round(largest * 2.0**-shift) > LARGEST:
        shift += 1
    if shift > MOST_SHIFT:
        return None
    return Scaled(np.rint(sums * 2.0**-shift).astype(np.int16), shift)
