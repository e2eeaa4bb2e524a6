from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from xonnc.runtime.nvdla.fixed_point import (
    convert,
    saturate,
    shift_left_saturating,
    shift_right_rounding,
    shift_rounding,
    sign_extend,
)


def half_away(x: Fraction) -> int:
    """Rounds to the nearest integer, ties away from zero."""
    floor = abs(x).__floor__()
    magnitude = floor + (abs(x) - floor >= Fraction(1, 2))
    return -magnitude if x < 0 else magnitude


VALUES = [0, 1, -1, 2, -2, 3, -3, 5, -5, 6, -6, 7, -7, 1000, -1000, 2**31 - 1, -(2**31), 2**62, -(2**62)]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 31, 32, 48, 60, 61, 62, 63])
def test_shift_right_rounds_ties_away_from_zero(count: int):
    expected = [half_away(Fraction(v, 2**count)) for v in VALUES]
    assert shift_right_rounding(np.array(VALUES, np.int64), count).tolist() == expected


def test_shift_right_past_the_word_gives_zero():
    assert shift_right_rounding(np.array([2**62, -5], np.int64), 64).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("bits", "low", "high"), [(8, -128, 127), (17, -65536, 65535), (32, -(2**31), 2**31 - 1)]
)
def test_saturate(bits: int, low: int, high: int):
    x = np.array([low - 1, low, 0, high, high + 1], np.int64)
    assert saturate(x, bits).tolist() == [low, low, 0, high, high]


@pytest.mark.parametrize("count", [0, 1, 8, 15, 30, 31, 63])
def test_shift_left_saturates(count: int):
    values = [0, 1, -1, 300, -300, 32767, -32768]
    expected = [max(-(2**31), min(2**31 - 1, v << count)) for v in values]
    assert shift_left_saturating(np.array(values, np.int64), count, 32).tolist() == expected


@pytest.mark.parametrize("count", [-16, -3, 0, 4])
def test_shift_in_both_directions(count: int):
    values = [0, 5, -5, 24, -24, 100_000]
    expected = [half_away(Fraction(v) / Fraction(2) ** count) for v in values]
    assert shift_rounding(np.array(values, np.int64), count).tolist() == expected


def test_converter_takes_the_offset_first():
    # (10 - 3) * 5 = 35, 35 / 4 = 8.75 -> 9; (-10 - 3) * 5 = -65, -16.25 -> -16; 1000: 1246.25 clamped.
    assert convert(np.array([10, -10, 1000], np.int64), 3, 5, 2, 8).tolist() == [9, -16, 127]


def test_sign_extend():
    assert [sign_extend(v, 16) for v in (0, 0x7FFF, 0x8000, 0x1FFFF)] == [0, 32767, -32768, -1]
