"""
The lookup table of the SDP's Y stage, on integers and on singles (docs/internals/nvdla-hardware.md §4.3).
"""

from __future__ import annotations

import numpy as np

from xonnc.runtime.nvdla.array_types import F32, I64
from xonnc.runtime.nvdla.fixed_point import saturate, shift_right_rounding, shift_rounding
from xonnc.runtime.nvdla.floating_point import add, add_fp17, double_to_fp17, half_to_single, single_to_fp17
from xonnc.runtime.nvdla.lookup_table import (
    LookupTable,
    Miss,
    Position,
    SingleTable,
    Slope,
    locate_integer,
    position,
)

FRACTION_BITS = 35
_START_BITS = 32


def look_up_integers(lut: LookupTable, x: I64) -> I64:
    """Int32 inputs to int32 results: interpolated between entries, on a line past the ends."""
    le = locate_integer(lut.le, x, FRACTION_BITS, _START_BITS)
    lo = locate_integer(lut.lo, x, FRACTION_BITS, _START_BITS)
    from_lo = lut.answers_from_lo(le.miss, lo.miss)
    return np.where(from_lo, _integer_value(lut.lo, lo, x), _integer_value(lut.le, le, x))


def _integer_value(table: SingleTable, at: Position, x: I64) -> I64:
    low, high = table.entries[at.index], table.entries[at.index + 1]
    one = 1 << FRACTION_BITS
    hit = shift_right_rounding(low * (one - at.fraction) + high * at.fraction, FRACTION_BITS)
    base = table.integer_start(_START_BITS) + underflow_bias(table)
    under = _integer_line(int(table.entries[0]), x - base, table.underflow)
    over = _integer_line(int(table.entries[-1]), x - table.integer_end(_START_BITS), table.overflow)
    return np.where(at.miss == Miss.HIT, saturate(hit, 32), np.where(at.miss == Miss.UNDERFLOW, under, over))


def underflow_bias(table: SingleTable) -> int:
    """The first entry of an exponential table stands for `start + 2**exp_offset`, not for `start`."""
    return 1 << min(table.select, 40) if table.exponential and table.select >= 0 else 0


def _integer_line(edge: int, distance: I64, slope: Slope) -> I64:
    return saturate(edge + shift_rounding(distance * slope.raw, slope.shift), 32)


def look_up_singles(lut: LookupTable, x: F32) -> F32:
    """fp32 inputs to fp17 results (held as fp32); the tables hold fp16 bits."""
    le = locate_single(lut.le, x, FRACTION_BITS)
    lo = locate_single(lut.lo, x, FRACTION_BITS)
    from_lo = lut.answers_from_lo(le.miss, lo.miss)
    return np.where(from_lo, _single_value(lut.lo, lo, x), _single_value(lut.le, le, x))


def locate_single(table: SingleTable, x: F32, fraction_bits: int) -> Position:
    """Index fp32 inputs; a distance of zero or below, or a NaN, is underflow."""
    distance = add(x, np.full_like(x, -table.single_start()))
    under = ~(distance > 0)
    distance = np.where(under, np.float32(1), distance)
    if table.exponential:
        mantissa, exponent = np.frexp(distance.astype(np.float64))
        index = exponent.astype(np.int64) - 1 - table.select
        under |= index < 0
        part = 2.0 * mantissa - 1.0
    else:
        # The clip keeps far overflows inside int64.
        value = np.minimum(np.ldexp(distance.astype(np.float64), -table.select), 2.0**40)
        integral = np.floor(value)
        index = integral.astype(np.int64)
        part = value - integral
    fraction = np.floor(np.ldexp(part, fraction_bits)).astype(np.int64)
    return position(table, index, fraction, under)


def single_entries(table: SingleTable) -> F32:
    """The fp16 entries of a table as singles."""
    return half_to_single(table.entries.astype(np.int16).view(np.uint16))


def single_slope(slope: Slope) -> np.float32:
    """The fp16 slope of a line past a table's end."""
    return half_to_single(np.array([slope.raw], np.int16).view(np.uint16))[0]


def underflow_base(table: SingleTable) -> np.float32:
    """The start of the underflow line, in fp32."""
    start = table.single_start()
    return np.float32(start + np.float32(2.0**table.select)) if table.exponential else start


def _single_value(table: SingleTable, at: Position, x: F32) -> F32:
    entries = single_entries(table)
    one = 1 << FRACTION_BITS
    keep = double_to_fp17((one - at.fraction) / one)
    take = double_to_fp17(at.fraction / one)
    with np.errstate(invalid="ignore"):
        hit = add_fp17(single_to_fp17(keep * entries[at.index]), single_to_fp17(take * entries[at.index + 1]))
    under = _single_line(entries[0], x, underflow_base(table), table.underflow)
    over = _single_line(entries[-1], x, table.single_end(), table.overflow)
    return np.where(at.miss == Miss.HIT, hit, np.where(at.miss == Miss.UNDERFLOW, under, over))


def _single_line(edge: np.float32, x: F32, base: np.float32, slope: Slope) -> F32:
    distance = add_fp17(x, np.full_like(x, -base))
    return add_fp17(np.full_like(x, edge), single_to_fp17(distance * single_slope(slope)))
