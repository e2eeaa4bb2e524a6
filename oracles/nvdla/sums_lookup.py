"""
Reference of a function of a convolution's sums: the lookup table of the SDP's Y stage
(docs/internals/nvdla-hardware.md §4.3).

Which table is used is asked from the compiler; how it is read is written again here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, log2

import numpy as np

from oracles.nvdla.fixed_point import Array, Integers, saturate
from oracles.nvdla.requantization import Affine, QuantizationParameters, convert
from xonnc.formats.nvdla.quantization import QuantizationParameters as Parameters
from xonnc.lowering.dla_planning.lookup_tables import sums_lut

SLOPE_BITS = 15
"""Slopes are 15-bit numbers with a shift of at most 15 bits."""


@dataclass(frozen=True)
class SumsLookup:
    """`function` of a convolution's sums and bias."""

    source: Affine
    function: Callable[[Array], Array]

    def requantized(self, qparams: QuantizationParameters, deviations: list[float]) -> Integers:
        """Compute one SDP pass."""
        max_bits = 14 - ceil(log2(float(np.abs(self.source.scale).max())))
        found = sums_lut(self.function, Parameters(qparams.scale, qparams.zero_point), max_bits)
        lut = found.lut
        sums = self.source.in_units(2.0**-found.unit_bits)
        fine = _Table(lut.linear_only_table, int(lut.lo_start), lut.linear_only_offset)
        coarse = _Table(lut.linear_exp_table, int(lut.le_start), lut.linear_exp_offset)
        read = np.where(fine.covers(sums), fine.read(sums), coarse.read(sums))
        below = coarse.entries[0] + _line(sums - coarse.start, lut.le_underflow)
        above = coarse.entries[-1] + _line(sums - coarse.end, lut.le_overflow)
        read = np.where(sums <= coarse.start, below, np.where(sums >= coarse.end, above, read))
        result = saturate(convert(saturate(read, 32), 2.0**-found.shift, qparams), 8)
        exact = np.clip(self.function(self.source.exact()) / qparams.scale + qparams.zero_point, -128, 127)
        deviations.append(float(np.abs(result - exact).max(initial=0.0)))
        return result


@dataclass(frozen=True)
class _Table:
    entries: Sequence[int]
    start: int
    step: int
    """The logarithm of the distance between entries."""

    @property
    def end(self) -> int:
        return self.start + int((len(self.entries) - 1) * 2.0**self.step)

    def covers(self, numbers: Integers) -> Array:
        return (numbers > self.start) & (numbers < self.end)

    def read(self, numbers: Integers) -> Integers:
        """Interpolate; the result is rounded, a half away from zero."""
        distance = np.clip(numbers, self.start, self.end - 1) - self.start
        if self.step < 0:
            return np.array(self.entries, np.int64)[distance << -self.step]
        index, rest = distance >> self.step, distance & ((1 << self.step) - 1)
        entries = np.array(self.entries, np.int64)
        scaled = entries[index] * ((1 << self.step) - rest) + entries[index + 1] * rest
        half = (1 << self.step) >> 1
        return np.sign(scaled) * ((np.abs(scaled) + half) >> self.step)


def _line(distance: Integers, slope: float) -> Integers:
    """Return `slope * distance`, with the slope as the hardware holds it."""
    if not slope:
        return np.zeros_like(distance)
    shift = next(
        bits
        for bits in range(SLOPE_BITS, -SLOPE_BITS - 1, -1)
        if bits == -SLOPE_BITS or abs(slope) * 2.0**bits < 1 << (SLOPE_BITS - 1)
    )
    product = distance * round(slope * 2.0**shift)
    if shift <= 0:
        return product << -shift
    return np.sign(product) * ((np.abs(product) + (1 << (shift - 1))) >> shift)
