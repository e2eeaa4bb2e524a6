"""Both lookup pipelines against scalar readings of docs/internals/nvdla-hardware.md §4.3."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from xonnc.runtime.nvdla import cdp_lookup, sdp_lookup
from xonnc.runtime.nvdla.floating_point import single_to_fp17
from xonnc.runtime.nvdla.lookup_table import LookupTable, Miss, SingleTable, Slope
from xonnc.runtime.nvdla.table_unit import TableUnit


def half_away(x: Fraction) -> int:
    magnitude = (abs(x) + Fraction(1, 2)).__floor__()
    return -magnitude if x < 0 else magnitude


def table(seed: int, size: int, exponential: bool, select: int, start: int, end: int) -> SingleTable:
    rng = np.random.default_rng(seed)
    entries = rng.integers(-32768, 32768, size)
    return SingleTable(entries, exponential, select, start & (2**64 - 1), end, Slope(-300, 4), Slope(77, 2))


def scalar_locate(t: SingleTable, x: int, fraction_bits: int) -> tuple[Miss, int, int]:
    start = t.integer_start(32)
    if x <= start:
        return Miss.UNDERFLOW, 0, 0
    d = x - start
    if t.exponential:
        e = d.bit_length() - 1
        index = e - t.select
        if index < 0:
            return Miss.UNDERFLOW, 0, 0
        part = Fraction(d - 2**e, 2**e)
    else:
        position = Fraction(d) / Fraction(2) ** t.select
        index = math.floor(position)
        part = position - index
    if index >= t.last:
        return Miss.OVERFLOW, 0, 0
    return Miss.HIT, index, math.floor(part * 2**fraction_bits)


def scalar_value(t: SingleTable, x: int, fraction_bits: int, bits: int) -> int:
    miss, index, fraction = scalar_locate(t, x, fraction_bits)
    entries = t.entries.tolist()
    if miss is Miss.HIT:
        low, high = entries[index], entries[index + 1]
        if fraction_bits == 35:
            value = half_away(Fraction(low * (2**35 - fraction) + high * fraction, 2**35))
        else:
            value = low + half_away(Fraction((high - low) * fraction, 2**16))
    elif miss is Miss.UNDERFLOW:
        bias = 2**t.select if t.exponential and t.select >= 0 else 0
        distance = x - t.integer_start(32) - bias
        value = entries[0] + half_away(Fraction(distance * t.underflow.raw, 2**t.underflow.shift))
    else:
        distance = x - t.integer_end(32)
        value = entries[-1] + half_away(Fraction(distance * t.overflow.raw, 2**t.overflow.shift))
    return max(-(2 ** (bits - 1)), min(2 ** (bits - 1) - 1, value))


TABLES = [
    (table(1, 65, True, 0, -5, 2**20), table(2, 257, False, 4, -2000, 2096)),
    (table(1, 65, True, 3, 100, 2**30), table(2, 257, False, -2, -30, 34)),
    (table(1, 65, False, 6, -2048, 2048), table(2, 257, False, 0, 0, 256)),
    (table(1, 65, False, 2, -128, 128), table(2, 257, False, -128, 0, 0)),
]
INPUTS = [
    *(-(2**31), -3000, -2049, -2048, -2047, -130, -31, -30, -6, -5, -4, -1, 0, 1, 7, 33, 34, 127, 128, 255),
    *(256, 257, 2047, 2048, 2095, 2096, 4000, 2**20, 2**31 - 1),
]


def expected_integers(lut: LookupTable, fraction_bits: int, bits: int) -> list[int]:
    values: list[int] = []
    for x in INPUTS:
        le, lo = (scalar_locate(t, x, fraction_bits)[0] for t in (lut.le, lut.lo))
        if le == lo:
            priorities = (lut.hybrid_priority, lut.underflow_priority, lut.overflow_priority)
            from_lo = bool(priorities[le])
        elif Miss.HIT in (le, lo):
            from_lo = lo is Miss.HIT
        else:
            from_lo = bool(lut.hybrid_priority)
        values.append(scalar_value(lut.lo if from_lo else lut.le, x, fraction_bits, bits))
    return values


@pytest.mark.parametrize(("le", "lo"), TABLES)
@pytest.mark.parametrize("priorities", list(itertools.product((0, 1), repeat=3)))
def test_integer_lookups(le: SingleTable, lo: SingleTable, priorities: tuple[int, int, int]):
    lut = LookupTable(le, lo, *priorities)
    x = np.array(INPUTS, np.int64)
    assert sdp_lookup.UNIT.look_up_integers(lut, x).tolist() == expected_integers(lut, 35, 32)
    assert cdp_lookup.UNIT.look_up_integers(lut, x).tolist() == expected_integers(lut, 16, 16)


def single_table(exponential: bool, select: int, start: float, end: float, size: int) -> SingleTable:
    values = np.linspace(-2, 2, size).astype(np.float16)
    raw = [int(np.float32(v).view(np.uint32)) for v in (start, end)]
    slopes = [Slope(int(np.float16(v).view(np.int16)), 0) for v in (0.5, -0.25)]
    return SingleTable(values.view(np.int16).astype(np.int64), exponential, select, raw[0], raw[1], *slopes)


PARKED = single_table(False, -128, 0.0, 0.0, 65)


@pytest.mark.parametrize("unit", [sdp_lookup.UNIT, cdp_lookup.UNIT])
def test_single_lookup_hits_its_entries(unit: TableUnit):
    lo = single_table(False, -3, -16.0, 16.0, 257)
    lut = LookupTable(PARKED, lo, 1, 1, 1)
    x = np.arange(-15.875, 16, 0.125).astype(np.float32)
    expected = np.linspace(-2, 2, 257).astype(np.float16)[1:-1]
    assert unit.look_up_singles(lut, x).tolist() == expected.astype(np.float64).tolist()


def test_single_lookup_between_entries_rounds_to_fp17_at_each_step():
    lo = single_table(False, 0, 0.0, 256.0, 257)
    lut = LookupTable(PARKED, lo, 1, 1, 1)
    entries = np.linspace(-2, 2, 257).astype(np.float16).astype(np.float32)
    x = np.array([3.3, 100.7], np.float32)
    for value, index in zip(x, (3, 100), strict=True):
        f = np.array([value - index], np.float32)
        keep, take = single_to_fp17(1 - f), single_to_fp17(f)
        expected = single_to_fp17(
            single_to_fp17(keep * entries[index]) + single_to_fp17(take * entries[index + 1])
        )
        assert sdp_lookup.UNIT.look_up_singles(lut, np.array([value])).tolist() == expected.tolist()
        step = single_to_fp17(np.array([entries[index + 1] - entries[index]]))
        short = single_to_fp17((np.floor(f * 65536) / 65536).astype(np.float32))
        expected = single_to_fp17(single_to_fp17(step * short) + entries[index])
        assert cdp_lookup.UNIT.look_up_singles(lut, np.array([value])).tolist() == expected.tolist()


@pytest.mark.parametrize("unit", [sdp_lookup.UNIT, cdp_lookup.UNIT])
def test_single_lookup_past_the_ends_follows_the_slopes(unit: TableUnit):
    lo = single_table(False, -3, -16.0, 16.0, 257)
    lut = LookupTable(PARKED, lo, 1, 1, 1)
    x = np.array([-20.0, -16.0, 16.0, 18.0], np.float32)
    assert unit.look_up_singles(lut, x).tolist() == [-2 - 4 * 0.5, -2.0, 2.0, 2 - 2 * 0.25]


def test_exponential_single_table_doubles_its_steps():
    le = single_table(True, -2, 1.0, 100.0, 65)
    lut = LookupTable(le, single_table(False, -128, 0.0, 0.0, 257), 0, 0, 0)
    entries = np.linspace(-2, 2, 65).astype(np.float16).astype(np.float64)
    x = np.array([1 + 0.25, 1 + 0.5, 1 + 1.0, 1 + 8.0], np.float32)
    assert sdp_lookup.UNIT.look_up_singles(lut, x).tolist() == [entries[i] for i in (0, 1, 2, 5)]
