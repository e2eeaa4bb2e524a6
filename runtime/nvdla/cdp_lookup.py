"""
The lookup table of the CDP: 16-bit fractions, and its own order of rounding
(docs/internals/nvdla-hardware.md §4.3).
"""

from __future__ import annotations

import numpy as np

from xonnc.runtime.nvdla.array_types import F32, I64
from xonnc.runtime.nvdla.fixed_point import shift_right_rounding
from xonnc.runtime.nvdla.floating_point import add_fp17, single_to_fp17
from xonnc.runtime.nvdla.table_unit import TableUnit

FRACTION_BITS = 16


def _between_integers(low: I64, high: I64, fraction: I64) -> I64:
    return low + shift_right_rounding((high - low) * fraction, FRACTION_BITS)


def _between_singles(low: F32, high: F32, fraction: I64) -> F32:
    step = add_fp17(high, -low)
    share = single_to_fp17((fraction / (1 << FRACTION_BITS)).astype(np.float32))
    return add_fp17(single_to_fp17(step * share), low)


def _on_line(edge: F32, rise: F32) -> F32:
    return add_fp17(rise, edge)


UNIT = TableUnit(FRACTION_BITS, 38, 16, _between_integers, _between_singles, _on_line)
"""Window sums (up to 38 bits, or fp32) to 16-bit or fp17 factors."""
