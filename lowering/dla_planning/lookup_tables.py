"""
Contents of lookup tables (docs/internals/nvdla-hardware.md §3.6).

A LUT has a linear table of 257 entries (LO) and a coarser one of 65 (LE), used here in its linear mode;
values in between are interpolated. Functions search all pairs of steps and starts for the least error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, log2
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from xonnc.dialects.dla.attributes import Lut, LutTable
from xonnc.lowering.dla_planning.precision import MAX_FP16

Function: TypeAlias = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]

COARSE_STEPS = 6
"""Each step of the 65-entry table is 2^6 steps of the other, so it covers 16 times the range."""


def normalization_lut(scale: float, bias: float, beta: float) -> Lut:
    """
    Return `(bias + scale s)^-beta` for `s >= 0` in FP16, the factor of LRN.

    The 257 entries cover `scale s` up to about 3 times the bias, where interpolation is exact in FP16. The 65
    entries cover 16 times that, and beyond them the last entry holds.
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


@dataclass(frozen=True)
class ScaledLut:
    """A table of integers, the function times `2^shift`."""

    lut: Lut
    shift: int


MAX_SHIFT = 22
"""The output offset, 128 units shifted left by this, fits 32 bits with one bit to spare."""

SUM_SAMPLES = 4000
"""Number of sums of squares at which tables are compared."""


def integer_normalization_lut(
    scale: float, bias: float, beta: float, factor: float, largest: int
) -> ScaledLut:
    """
    Return `factor (bias + scale s)^-beta` for integers `s` from 0 to `largest`, a sum of up to nine squares.

    Of all pairs of steps the one with the least error of the product `x * table(s)`: `|x|` is at most
    `sqrt(s)`, and at most 255.
    """

    def function(s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return factor * (bias + scale * s) ** -beta

    # The function falls for a positive beta: its value at 0 is the largest and must fit 16 bits.
    shift = max(min(floor(log2(32767 / float(function(np.zeros(1))[0]))), MAX_SHIFT), 0)
    sums = np.unique(np.geomspace(1, max(largest, 2), SUM_SAMPLES).astype(np.int64)).astype(np.float64)
    exact, weight = function(sums), np.minimum(np.sqrt(sums), 255.0)
    least, chosen = np.inf, (0, 0)
    widest = max(ceil(log2(max(largest, 256) / 256)), 0)
    for step in range(widest + 1):
        for coarse in range(step + 1, max(step + 2, widest + 4)):
            near = _interpolate(_integer_entries(function, 257, step, shift), step, sums)
            far = _interpolate(_integer_entries(function, 65, coarse, shift), coarse, sums)
            read = np.where(sums < 256 * 2.0**step, near, far) * 2.0**-shift
            error = float(np.max(np.abs(read - exact) * weight))
            if error < least:
                least, chosen = error, (step, coarse)
    step, coarse = chosen
    lut = Lut(
        linear_exp_table=_integer_entries(function, 65, coarse, shift),
        linear_only_table=_integer_entries(function, 257, step, shift),
        linear_exp_offset=coarse,
        linear_only_offset=step,
        le_end=2.0 ** (coarse + 6),
        lo_end=2.0 ** (step + 8),
        is_integer=True,
    )
    return ScaledLut(lut, shift)


def integer_function_lut(results: npt.NDArray[np.int8]) -> Lut:
    """
    Return a table of any function of int8 values: `results` for -128 to 127, an entry each.

    -128 equals the start, which the hardware treats as an underflow with the first entry as result. The 65
    entries start beyond all values and are never used.
    """
    return Lut(
        linear_exp_table=(0,) * 65,
        linear_only_table=(*(int(result) for result in results), int(results[-1])),
        linear_exp_offset=0,
        linear_only_offset=0,
        le_start=1024.0,
        le_end=1024.0 + 64,
        lo_start=-128.0,
        lo_end=128.0,
        is_integer=True,
        overflow_priority=LutTable.LINEAR_ONLY,
    )


ASYMPTOTE = 2048.0
"""Beyond every table; a function is assumed linear from here on."""

TABLE_STARTS = (-2.0, -1.5, -1.0, -0.5)
"""Candidate starts of tables that cover 2 units, in units."""


SAMPLES = np.concatenate([np.linspace(-32, 32, 4097), np.linspace(-256, 256, 513)])
"""Values at which tables are compared."""


def function_lut(function: Function) -> tuple[Lut, float]:
    """
    Return a table of a smooth, asymptotically linear function in FP16, and its largest error relative to
    `max(|result|, 1)`.

    Searches all starts and steps of the 257 entries within the range of the 65.
    """
    under, over = (_asymptote_slope(function, x) for x in (-ASYMPTOTE, ASYMPTOTE))
    # 256 steps of 2^(a - 7), like 64 steps of 2^(a - 5), cover two units of 2^a.
    exact = function(SAMPLES)
    size = np.maximum(np.abs(exact), 1.0)
    counts = np.abs(exact) < COMPARED_UP_TO
    near = [
        (form, _interpolate(_values(function, 257, *form), form[1], SAMPLES - form[0]))
        for form in ((b * 2.0**a, a - 7) for a in range(6) for b in TABLE_STARTS)
    ]
    far = [(b * 2.0**a, a - 5) for a in range(7) for b in TABLE_STARTS]
    found: list[tuple[float, tuple[float, int], tuple[float, int]]] = []
    for le_start, coarse in far:
        le_end = le_start + 2.0 ** (coarse + 6)
        wide = _interpolate(_values(function, 65, le_start, coarse), coarse, SAMPLES - le_start)
        wide = wide + under * np.minimum(SAMPLES - le_start, 0)
        wide = wide + over * np.maximum(SAMPLES - le_end, 0)
        for (lo_start, step), narrow in near:
            lo_end = lo_start + 2.0 ** (step + 8)
            if lo_start < le_start or lo_end > le_end:
                continue
            inside = (lo_start < SAMPLES) & (SAMPLES < lo_end)
            read = np.where(inside, narrow, wide)
            error = float(np.max((np.abs(read - exact) / size)[counts]))
            found.append((error, (le_start, coarse), (lo_start, step)))
    error, (le_start, coarse), (lo_start, step) = min(found, key=lambda form: form[0])
    lut = Lut(
        linear_exp_table=_half_bits(_values(function, 65, le_start, coarse)),
        linear_only_table=_half_bits(_values(function, 257, lo_start, step)),
        linear_exp_offset=coarse,
        linear_only_offset=step,
        le_start=le_start,
        le_end=le_start + 2.0 ** (coarse + 6),
        lo_start=lo_start,
        lo_end=lo_start + 2.0 ** (step + 8),
        le_underflow=under,
        le_overflow=over,
        underflow_priority=LutTable.LINEAR_EXP,
    )
    return lut, error


COMPARED_UP_TO = 62000.0
"""Results above this are not compared: float16 saturates soon after."""


def _asymptote_slope(function: Function, x: float) -> float:
    """Return the slope far from zero; 0 where the function exceeds float16."""
    ends = function(np.array([x, x + 64]))
    if not np.all(np.isfinite(ends)) or np.any(np.abs(ends) > MAX_FP16):
        return 0.0
    return float(np.float16((ends[1] - ends[0]) / 64))


def _values(function: Function, count: int, start: float, step: int) -> npt.NDArray[np.float64]:
    exact = function(start + np.arange(count, dtype=np.float64) * np.float64(2.0) ** step)
    return np.clip(exact, -MAX_FP16, MAX_FP16).astype(np.float16).astype(np.float64)


def _half_bits(values: npt.NDArray[np.float64]) -> tuple[int, ...]:
    return tuple(int(bits) for bits in values.astype(np.float16).view(np.int16))


def _integer_entries(function: Function, count: int, step: int, shift: int) -> tuple[int, ...]:
    values = function(np.arange(count, dtype=np.float64) * 2.0**step) * 2.0**shift
    return tuple(int(value) for value in np.rint(values))


def _interpolate(
    entries: npt.ArrayLike, step: int, distances: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Interpolate a linear table at distances from its start; the end values hold outside."""
    values = np.asarray(entries, np.float64)
    return np.interp(distances, np.arange(len(values)) * 2.0**step, values)


def _entries(function: Function, count: int, step: int) -> tuple[int, ...]:
    values = function(np.arange(count, dtype=np.float64) * np.float64(2.0) ** step).astype(np.float16)
    return tuple(int(bits) for bits in values.view(np.int16))
