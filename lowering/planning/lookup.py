"""Contents of lookup tables (spec/nvdla.md §3.6)."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from xonnc.dialects.dla.attributes import Lut

Function: TypeAlias = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]

COARSE_STEPS = 6
"""A step of the 65-entry table is `2^6` of the 257-entry one's: it reaches 16 times as far."""


def normalization_lut(scale: float, bias: float, beta: float) -> Lut:
    """
    `(bias + scale s)^-beta` for `s` from 0 on, in FP16.

    The 257 entries reach to where `scale s` is about three times the bias: between two of them the function
    bends by less than FP16 shows. From there on the 65 entries, 16 times as far, and beyond that the last of
    them.
    """
    step = ceil(log2(3 * bias / (scale * 256)))

    def function(s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return (bias + scale * s) ** -beta

    coarse = step + COARSE_STEPS
    return Lut(
        linear_exp_table=_entries(function, 65, coarse),
        linear_only_table=_entries(function, 257, step),
        linear_exp_offset=coarse,
        linear_only_offset=step,
        le_end=2.0 ** (coarse + 6),
        lo_end=2.0 ** (step + 8),
    )


def _entries(function: Function, count: int, step: int) -> tuple[int, ...]:
    values = function(np.arange(count, dtype=np.float64) * np.float64(2.0) ** step).astype(np.float16)
    return tuple(int(bits) for bits in values.view(np.int16))
