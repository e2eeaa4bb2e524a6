"""
The lookup table of the CDP: 16-bit fractions, and its own order of rounding
(docs/internals/nvdla-hardware.md §4.3).
"""

from __future__ import annotations

import numpy as np

from xonnc.runtime.nvdla.array_types import F32, I64
from xonnc.runtime.nvdla.fixed_point import saturate, shift_right_rounding, shift_rounding
from xonnc.runtime.nvdla.floating_point import add_fp17, single_to_fp17
from xonnc.runtime.nvdla.lookup_table import LookupTable, Miss, Position, SingleTable, Slope, locate_integer
from xonnc.runtime.nvdla.sdp_lookup import (
    locate_single,
    single_entries,
    single_slope,
    underflow_base,
    underflow_bias,
)

FRACTION_BITS = 16
_START_BITS = 38


def look_up_integers(lut: LookupTable, x: I64) -> I64:
    """Window sums (up to 38 bits) to 16-bit factors."""
    le = locate_integer(lut.le, x, FRACTION_BITS, _START_BITS)
    lo = locate_integer(lut.lo, x, FRACTION_BITS, _START_BITS)
    from_lo = lut.answers_from_lo(le.miss, lo.miss)
    return np.where(from_lo, _integer_value(lut.lo, lo, x), _integer_value(lut.le, le, x))


def _integer_value(table: SingleTable, at: Position, x: I64) -> I64:
    low, high = table.entries[at.index], table.entries[at.index + 1]
    hit = saturate(low + shift_right_rounding((high - low) * at.fraction, FRACTION_BITS), 16)
    base = table.integer_start(_START_BITS) + underflow_bias(table)
    under = _integer_line(int(table.entries[0]), x - base, table.underflow)
    over = _integer_line(int(table.entries[-1]), x - table.integer_end(_START_BITS), table.overflow)
    return np.where(at.miss == Miss.HIT, hit, np.where(at.miss == Miss.UNDERFLOW, under, over))


def _integer_line(edge: int, distance: I64, slope: Slope) -> I64:
    return saturate(edge + shift_rounding(distance * slope.raw, slope.shift), 16)


def look_up_singles(lut: LookupTable, x: F32) -> F32:
    """fp32 window sums to fp17 factors (held as fp32)."""
    le = locate_single(lut.le, x, FRACTION_BITS)
    lo = locate_single(lut.lo, x, FRACTION_BITS)
    from_lo = lut.answers_from_lo(le.miss, lo.miss)
    return np.where(from_lo, _single_value(lut.lo, lo, x), _single_value(lut.le, le, x))


def _single_value(table: SingleTable, at: Position, x: F32) -> F32:
    entries = single_entries(table)
    low = entries[at.index]
    step = add_fp17(entries[at.index + 1], -low)
    fraction = single_to_fp17((at.fraction / (1 << FRACTION_BITS)).astype(np.float32))
    hit = add_fp17(single_to_fp17(step * fraction), low)
    under = _single_line(entries[0], x, underflow_base(table), table.underflow)
    over = _single_line(entries[-1], x, table.single_end(), table.overflow)
    return np.where(at.miss == Miss.HIT, hit, np.where(at.miss == Miss.UNDERFLOW, under, over))


def _single_line(edge: np.float32, x: F32, base: np.float32, slope: Slope) -> F32:
    distance = add_fp17(x, np.full_like(x, -base))
    return add_fp17(single_to_fp17(distance * single_slope(slope)), np.full_like(x, edge))
