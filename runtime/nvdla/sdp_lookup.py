"""The lookup table of the SDP's Y stage (docs/internals/nvdla-hardware.md §4.3)."""

from __future__ import annotations

import numpy as np

from xonnc.runtime.nvdla.array_types import F32, I64
from xonnc.runtime.nvdla.fixed_point import shift_right_rounding
from xonnc.runtime.nvdla.floating_point import add_fp17, double_to_fp17, single_to_fp17
from xonnc.runtime.nvdla.table_unit import TableUnit

FRACTION_BITS = 35
_ONE = 1 << FRACTION_BITS


def _between_integers(low: I64, high: I64, fraction: I64) -> I64:
    return shift_right_rounding(low * (_ONE - fraction) + high * fraction, FRACTION_BITS)


def _between_singles(low: F32, high: F32, fraction: I64) -> F32:
    keep, take = double_to_fp17((_ONE - fraction) / _ONE), double_to_fp17(fraction / _ONE)
    with np.errstate(invalid="ignore"):
        return add_fp17(single_to_fp17(keep * low), single_to_fp17(take * high))


UNIT = TableUnit(FRACTION_BITS, 32, 32, _between_integers, _between_singles, add_fp17)
"""Int32 inputs to int32 results, fp32 inputs to fp17 ones."""
