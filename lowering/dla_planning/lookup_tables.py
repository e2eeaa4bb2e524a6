"""
Contents of lookup tables (docs/internals/nvdla-hardware.md §3.6).

A LUT has a linear table of 257 entries (LO) and a coarser one of 65 (LE), used here in its linear mode;
values in between are interpolated. Functions search all pairs of steps and starts for the least error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from math import ceil, floor, frexp, log2
from typing import TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

from xonnc.dialects.dla.attributes import Lut, LutTable
from xonnc.formats.nvdla.quantization import INT8_MAX, INT8_MIN, QuantizationParameters
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
    """
    slopes = _asymptote_slope(function, -ASYMPTOTE), _asymptote_slope(function, ASYMPTOTE)
    exact = function(SAMPLES)
    size = np.maximum(np.abs(exact), 1.0)
    counts = np.abs(exact) < COMPARED_UP_TO

    def errors(read: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.where(counts, np.abs(read - exact) / size, 0.0)

    error, far, near = _best_forms(partial(_values, function), slopes, errors, SAMPLES, NEAR_FORMS)
    lut = Lut(
        linear_exp_table=_half_bits(_values(function, 65, *far)),
        linear_only_table=_half_bits(_values(function, 257, *near)),
        underflow_priority=LutTable.LINEAR_EXP,
        **_bounds(far, near, slopes),
    )
    return lut, error


@dataclass(frozen=True)
class SumsLut:
    """A table of a function of integers in units of `2^-unit_bits`; results are in units of `2^-shift`."""

    lut: Lut
    unit_bits: int
    shift: int
    error: float
    """The largest, in units of the results' 8 bits at most."""


UNIT_BITS = range(5, 25)
"""
Sums are looked up in such units `2^-bits`: 32 bits reach as far as every table, and the start of each is a
multiple.
"""

FINER = 7
"""A unit of sums is so many bits finer than one of results."""

SIZES = np.geomspace(2.0**-14, 2.0**18, 1025)
SUMS_SAMPLES = np.sort(np.concatenate([SAMPLES, SIZES, -SIZES]))
"""Values at which tables of sums are compared: small results depend on small sums, large ones on slopes."""

MAX_SLOPE_SHIFT = 15
"""The shift of a slope has 5 bits, one of them a sign."""


def integer_slope(value: float) -> tuple[int, int]:
    """
    Return a slope of integers as a 15-bit factor and a right shift, negative if to the left
    (docs/internals/nvdla-hardware.md §4.3).
    """
    shift = max(min(14 - frexp(value)[1], MAX_SLOPE_SHIFT), -MAX_SLOPE_SHIFT) if value else 0
    return round(value * 2.0**shift), shift


@dataclass(frozen=True)
class _SampledFunction:
    """A function, equal to those with the same results at `SUMS_SAMPLES`."""

    results: bytes
    function: Function = field(compare=False)


def sums_lut(function: Function, qparams: QuantizationParameters, max_bits: int = UNIT_BITS[-1]) -> SumsLut:
    """
    Return the table of a function of sums, whose results become int8 with `qparams`, of least error.

    Its unit is `2^-max_bits` or coarser: sums that are large themselves cannot be multiplied by as much.
    Results whose scales and largest numbers are within the same powers of two have one table: the SDP has to
    be idle to load another (docs/internals/nvdla-hardware.md §9.2).
    """
    with np.errstate(all="ignore"):
        results = function(SUMS_SAMPLES)
    largest = float(np.abs(qparams.dequantize(np.array([INT8_MIN, INT8_MAX]))).max())
    sampled = _SampledFunction(results.tobytes(), function)
    least = floor(log2(qparams.scale))
    bits = max(min(FINER - least, max_bits, UNIT_BITS[-1]), UNIT_BITS[0])
    return _sums_lut(sampled, least, ceil(log2(largest)), bits)


@lru_cache(maxsize=256)
def _sums_lut(sampled: _SampledFunction, least: int, largest: int, bits: int) -> SumsLut:
    """Return the table of results in steps of at least `2^least`, of `2^largest` at most."""
    function = sampled.function
    # What is beyond the largest number saturates, and a segment may begin within and end beyond.
    reach = 2.0 ** (largest + 1)
    shift = min(14 - (largest + 1), MAX_SHIFT)

    def results(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        with np.errstate(all="ignore"):
            return np.clip(np.nan_to_num(function(x), posinf=reach, neginf=-reach), -reach, reach)

    def entries(count: int, start: float, step: int) -> npt.NDArray[np.float64]:
        return np.rint(results(_points(count, start, step)) * 2.0**shift)

    def steps(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.clip(numbers, -(2.0**largest), 2.0**largest) * 2.0**-least

    exact = steps(results(SUMS_SAMPLES))

    def errors(read: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.abs(steps(read * 2.0**-shift) - exact)

    under, over = (
        _as_stored(_asymptote_slope(function, x) * 2.0 ** (shift - bits)) * 2.0**bits
        for x in (-ASYMPTOTE, ASYMPTOTE)
    )
    # Where a step is finer than the unit, the index is shifted to the left (§4.3).
    error, far, near = _best_forms(entries, (under, over), errors, SUMS_SAMPLES, SUMS_NEAR_FORMS)
    lut = Lut(
        linear_exp_table=tuple(int(entry) for entry in entries(65, *far)),
        linear_only_table=tuple(int(entry) for entry in entries(257, *near)),
        is_integer=True,
        underflow_priority=LutTable.LINEAR_EXP,
        **_bounds(far, near, (under, over), bits),
    )
    return SumsLut(lut, bits, shift, error)


def _as_stored(slope: float) -> float:
    scale, shift = integer_slope(slope)
    return scale * 2.0**-shift


_Form: TypeAlias = tuple[float, int]
"""The start of a table and the logarithm of its step."""

NEAR_FORMS: Sequence[_Form] = [(b * 2.0**a, a - 7) for a in range(6) for b in TABLE_STARTS]
"""Candidates of 257 entries: 256 steps cover two units of `2^a`."""

SUMS_NEAR_FORMS: Sequence[_Form] = [(b * 2.0**a, a - 7) for a in range(-4, 6) for b in TABLE_STARTS]
"""Candidates of 257 entries for sums, which may be small."""

FAR_FORMS: Sequence[_Form] = [(b * 2.0**a, a - 5) for a in range(7) for b in TABLE_STARTS]
"""Candidates of 65 entries, like those of 257."""


def _best_forms(
    entries: Callable[[int, float, int], npt.NDArray[np.float64]],
    slopes: tuple[float, float],
    errors: Function,
    samples: npt.NDArray[np.float64],
    near_forms: Sequence[_Form],
) -> tuple[float, _Form, _Form]:
    """
    Return the tables of 65 and 257 entries with the least error at `samples`, the second within the first,
    and that error. Beyond the first the function goes on with the slopes.

    `errors` are those of results that are read at `samples`.
    """
    near = [
        (form, errors(_interpolate(entries(257, *form), form[1], samples - form[0]))) for form in near_forms
    ]
    found: list[tuple[float, _Form, _Form]] = []
    for far in FAR_FORMS:
        begin, end = far[0], far[0] + 2.0 ** (far[1] + 6)
        wide = _interpolate(entries(65, *far), far[1], samples - begin)
        wide = wide + slopes[0] * np.minimum(samples - begin, 0)
        wide = errors(wide + slopes[1] * np.maximum(samples - end, 0))
        for form, narrow in near:
            lo_start, lo_end = form[0], form[0] + 2.0 ** (form[1] + 8)
            if lo_start < begin or lo_end > end:
                continue
            inside = (lo_start < samples) & (samples < lo_end)
            found.append((float(np.max(np.where(inside, narrow, wide))), far, form))
    return min(found, key=lambda one: one[0])


class _Bounds(TypedDict):
    linear_exp_offset: int
    linear_only_offset: int
    le_start: float
    le_end: float
    lo_start: float
    lo_end: float
    le_underflow: float
    le_overflow: float


def _bounds(far: _Form, near: _Form, slopes: tuple[float, float], unit_bits: int = 0) -> _Bounds:
    """Return where tables begin and end, and the slopes outside, of numbers in units of `2^-unit_bits`."""
    (le_start, coarse), (lo_start, step), unit = far, near, 2.0**unit_bits
    return _Bounds(
        linear_exp_offset=coarse + unit_bits,
        linear_only_offset=step + unit_bits,
        le_start=le_start * unit,
        le_end=(le_start + 2.0 ** (coarse + 6)) * unit,
        lo_start=lo_start * unit,
        lo_end=(lo_start + 2.0 ** (step + 8)) * unit,
        le_underflow=slopes[0] / unit,
        le_overflow=slopes[1] / unit,
    )


COMPARED_UP_TO = 62000.0
"""Results above this are not compared: float16 saturates soon after."""


def _asymptote_slope(function: Function, x: float) -> float:
    """Return the slope far from zero; 0 where the function exceeds float16."""
    with np.errstate(all="ignore"):
        ends = function(np.array([x, x + 64]))
    if not np.all(np.isfinite(ends)) or np.any(np.abs(ends) > MAX_FP16):
        return 0.0
    return float(np.float16((ends[1] - ends[0]) / 64))


def _values(function: Function, count: int, start: float, step: int) -> npt.NDArray[np.float64]:
    exact = function(_points(count, start, step))
    return np.clip(exact, -MAX_FP16, MAX_FP16).astype(np.float16).astype(np.float64)


def _points(count: int, start: float, step: int) -> npt.NDArray[np.float64]:
    return start + np.arange(count, dtype=np.float64) * np.float64(2.0) ** step


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
