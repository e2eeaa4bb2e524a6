"""
The lookup tables (LE, LO) of the SDP and the CDP, and which of the two answers
(docs/internals/nvdla-hardware.md §4.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from xonnc.formats.nvdla.enumerations import LutMethod
from xonnc.formats.nvdla.records import LutParam, LutSlope
from xonnc.runtime.nvdla.array_types import I8, I64, Bool
from xonnc.runtime.nvdla.fixed_point import sign_extend

# With more places than these every non-zero distance is past the last entry (or all fraction).
_LARGEST_LEFT = 20
_LARGEST_RIGHT = 62


class Miss(IntEnum):
    """The position of an input relative to one table: hit, underflow or overflow."""

    HIT = 0
    UNDERFLOW = 1
    OVERFLOW = 2


@dataclass(frozen=True)
class Slope:
    """The line that continues a table past one end; `raw` is the 16-bit scale (integer or fp16 bits)."""

    raw: int
    shift: int


@dataclass(frozen=True)
class SingleTable:
    """One table: `start` and `end` as raw 64-bit fields, `select` an exponent offset or log2 of the step."""

    entries: I64
    exponential: bool
    select: int
    start: int
    end: int
    underflow: Slope
    overflow: Slope

    @property
    def last(self) -> int:
        return len(self.entries) - 1

    def integer_start(self, bits: int) -> int:
        return sign_extend(self.start, bits)

    def integer_end(self, bits: int) -> int:
        return sign_extend(self.end, bits)

    def single_start(self) -> np.float32:
        return np.uint32(self.start & 0xFFFFFFFF).view(np.float32)

    def single_end(self) -> np.float32:
        return np.uint32(self.end & 0xFFFFFFFF).view(np.float32)


@dataclass(frozen=True)
class LookupTable:
    """Both tables and the priorities that settle who answers; a priority of 0 means LE, 1 LO."""

    le: SingleTable
    lo: SingleTable
    hybrid_priority: int
    underflow_priority: int
    overflow_priority: int

    def answers_from_lo(self, le_miss: I8, lo_miss: I8) -> Bool:
        """Return where LO gives the result: the only table that hits does, else the priority decides."""
        both = le_miss == lo_miss
        priority = np.full(le_miss.shape, self.hybrid_priority, np.int64)
        priority[both & (le_miss == Miss.UNDERFLOW)] = self.underflow_priority
        priority[both & (le_miss == Miss.OVERFLOW)] = self.overflow_priority
        only_le = (le_miss == Miss.HIT) & (lo_miss != Miss.HIT)
        only_lo = (lo_miss == Miss.HIT) & (le_miss != Miss.HIT)
        return np.where(only_le, False, np.where(only_lo, True, (priority & 1) == 1))


def lookup_table(record: LutParam) -> LookupTable:
    """The tables of a `dla_lut_param`."""
    le = SingleTable(
        entries=np.array(record.linear_exp_table, np.int64),
        exponential=record.method == LutMethod.EXPONENTIAL,
        select=record.linear_exp_offset,
        start=record.le_start,
        end=record.le_end,
        underflow=_slope(record.le_underflow),
        overflow=_slope(record.le_overflow),
    )
    lo = SingleTable(
        entries=np.array(record.linear_only_table, np.int64),
        exponential=False,
        select=record.linear_only_offset,
        start=record.lo_start,
        end=record.lo_end,
        underflow=_slope(record.lo_underflow),
        overflow=_slope(record.lo_overflow),
    )
    return LookupTable(le, lo, record.hybrid_priority, record.underflow_priority, record.overflow_priority)


def _slope(record: LutSlope) -> Slope:
    return Slope(record.scale, record.shifter)


@dataclass(frozen=True)
class Position:
    """
    The positions of inputs in one table: entry, fraction to the next one in units of 2**-places, and misses.
    """

    index: I64
    fraction: I64
    miss: I8


def locate_integer(table: SingleTable, x: I64, fraction_bits: int, bits: int) -> Position:
    """Index integer inputs; `x <= start` counts as underflow. `bits` is the width of the start field."""
    distance = x - table.integer_start(bits)
    under = distance <= 0
    distance = np.maximum(distance, 1)
    if table.exponential:
        # Distances stay far below 2**53: the float exponent is the exact position of the leading bit.
        leading = (np.frexp(distance.astype(np.float64))[1] - 1).astype(np.int64)
        index = leading - table.select
        under |= index < 0
        rest = distance - (np.int64(1) << leading)
        fraction = (rest << np.maximum(fraction_bits - leading, 0)) >> np.maximum(leading - fraction_bits, 0)
    elif table.select < 0:
        index = distance << min(-table.select, _LARGEST_LEFT)
        fraction = np.zeros_like(distance)
    else:
        select = min(table.select, _LARGEST_RIGHT)
        index = distance >> select
        rest = distance & ((1 << select) - 1)
        fraction = (
            rest << (fraction_bits - select) if select <= fraction_bits else rest >> (select - fraction_bits)
        )
    return position(table, index, fraction, under)


def position(table: SingleTable, index: I64, fraction: I64, under: Bool) -> Position:
    """Mark indexes past the last entry as overflow, and clip all to the table."""
    miss = np.where(under, Miss.UNDERFLOW, np.where(index >= table.last, Miss.OVERFLOW, Miss.HIT)).astype(
        np.int8
    )
    return Position(np.clip(index, 0, table.last - 1), fraction, miss)
