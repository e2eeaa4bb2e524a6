"""
Units with lookup tables, on integers and on singles (docs/internals/nvdla-hardware.md §4.3).

The SDP's Y stage and the CDP differ in widths, in how they interpolate, and in their order of rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from xonnc.runtime.nvdla.array_types import F32, I64
from xonnc.runtime.nvdla.fixed_point import saturate, shift_rounding
from xonnc.runtime.nvdla.floating_point import add, add_fp17, half_to_single, single_to_fp17
from xonnc.runtime.nvdla.lookup_table import (
    LookupTable,
    Miss,
    Position,
    SingleTable,
    Slope,
    locate_integer,
    position,
)


@dataclass(frozen=True)
class TableUnit:
    """A unit with a lookup table: interpolated between entries, on a line past the ends."""

    fraction_bits: int
    start_bits: int
    result_bits: int
    between_integers: Callable[[I64, I64, I64], I64]
    """Interpolate between two entries at a fraction."""
    between_singles: Callable[[F32, F32, I64], F32]
    on_line: Callable[[F32, F32], F32]
    """Add the edge of a table and the rise past it; the first of two NaNs is the result."""

    def look_up_integers(self, lut: LookupTable, x: I64) -> I64:
        """Look integers up."""
        le = locate_integer(lut.le, x, self.fraction_bits, self.start_bits)
        lo = locate_integer(lut.lo, x, self.fraction_bits, self.start_bits)
        from_lo = lut.answers_from_lo(le.miss, lo.miss)
        return np.where(from_lo, self._integer_value(lut.lo, lo, x), self._integer_value(lut.le, le, x))

    def _integer_value(self, table: SingleTable, at: Position, x: I64) -> I64:
        hit = self.between_integers(table.entries[at.index], table.entries[at.index + 1], at.fraction)
        base = table.integer_start(self.start_bits) + _underflow_bias(table)
        under = self._integer_line(int(table.entries[0]), x - base, table.underflow)
        end = table.integer_end(self.start_bits)
        over = self._integer_line(int(table.entries[-1]), x - end, table.overflow)
        past = np.where(at.miss == Miss.UNDERFLOW, under, over)
        return np.where(at.miss == Miss.HIT, saturate(hit, self.result_bits), past)

    def _integer_line(self, edge: int, distance: I64, slope: Slope) -> I64:
        return saturate(edge + shift_rounding(distance * slope.raw, slope.shift), self.result_bits)

    def look_up_singles(self, lut: LookupTable, x: F32) -> F32:
        """Look singles up, to fp17 results (held as fp32); the tables hold fp16 bits."""
        le = _locate_single(lut.le, x, self.fraction_bits)
        lo = _locate_single(lut.lo, x, self.fraction_bits)
        from_lo = lut.answers_from_lo(le.miss, lo.miss)
        return np.where(from_lo, self._single_value(lut.lo, lo, x), self._single_value(lut.le, le, x))

    def _single_value(self, table: SingleTable, at: Position, x: F32) -> F32:
        entries = half_to_single(table.entries.astype(np.int16).view(np.uint16))
        hit = self.between_singles(entries[at.index], entries[at.index + 1], at.fraction)
        under = self._single_line(entries[0], x, _underflow_base(table), table.underflow)
        over = self._single_line(entries[-1], x, table.single_end(), table.overflow)
        return np.where(at.miss == Miss.HIT, hit, np.where(at.miss == Miss.UNDERFLOW, under, over))

    def _single_line(self, edge: np.float32, x: F32, base: np.float32, slope: Slope) -> F32:
        distance = add_fp17(x, np.full_like(x, -base))
        factor = half_to_single(np.array([slope.raw], np.int16).view(np.uint16))[0]
        return self.on_line(np.full_like(x, edge), single_to_fp17(distance * factor))


def _underflow_bias(table: SingleTable) -> int:
    """The first entry of an exponential table stands for `start + 2**exp_offset`, not for `start`."""
    return 1 << min(table.select, 40) if table.exponential and table.select >= 0 else 0


def _underflow_base(table: SingleTable) -> np.float32:
    """The start of the underflow line, in fp32."""
    start = table.single_start()
    return np.float32(start + np.float32(2.0**table.select)) if table.exponential else start


def _locate_single(table: SingleTable, x: F32, fraction_bits: int) -> Position:
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
