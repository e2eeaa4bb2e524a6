"""Normalisation across channels against sums computed one by one."""

from __future__ import annotations

import numpy as np
import pytest

from xonnc.runtime.nvdla.cdp_lookup import UNIT
from xonnc.runtime.nvdla.floating_point import single_to_fp17
from xonnc.runtime.nvdla.lookup_table import LookupTable, SingleTable, Slope
from xonnc.runtime.nvdla.lrn import normalise_integers, normalise_singles


def table(size: int, exponential: bool, select: int, entries: np.ndarray) -> SingleTable:
    none = Slope(0, 0)
    return SingleTable(entries.astype(np.int64), exponential, select, 0, 1 << 20, none, none)


INTEGER_LUT = LookupTable(
    table(65, True, 0, np.arange(65) * 100), table(257, False, 8, np.arange(257) * 7 - 300), 1, 0, 1
)
HALF_TYPES = np.linspace(2, 0.25, 257).astype(np.float16).view(np.int16)
SINGLE_LUT = LookupTable(table(65, True, 0, HALF_TYPES[:65]), table(257, False, 0, HALF_TYPES), 1, 0, 1)


@pytest.mark.parametrize("size", [3, 5, 7, 9])
def test_integers(size: int):
    x = np.random.default_rng(0).integers(-128, 128, (2, 3, 11))
    result = normalise_integers(x, INTEGER_LUT, size, keep_sum=False, keep_factor=False)
    for c in range(11):
        window = x[:, :, max(0, c - size // 2) : c + size // 2 + 1]
        factor = UNIT.look_up_integers(INTEGER_LUT, (window**2).sum(axis=2))
        assert result[:, :, c].tolist() == (factor * x[:, :, c]).tolist()


def test_bypasses():
    x = np.random.default_rng(0).integers(-128, 128, (1, 1, 9))
    factors = normalise_integers(x, INTEGER_LUT, 3, keep_sum=True, keep_factor=True)
    assert factors.tolist() == UNIT.look_up_integers(INTEGER_LUT, x).tolist()


@pytest.mark.parametrize("size", [3, 9])
def test_singles_add_neighbours_in_pairs(size: int):
    x = np.random.default_rng(0).standard_normal(20).astype(np.float16).astype(np.float32)
    result = normalise_singles(x.reshape(1, 1, -1), SINGLE_LUT, size, keep_sum=False, keep_factor=False)
    square = x * x
    for c in range(20):

        def at(distance: int, c: int = c) -> np.float32:
            below = square[c - distance] if c - distance >= 0 else np.float32(0)
            above = square[c + distance] if c + distance < 20 else np.float32(0)
            return np.float32(below + above)

        total = np.float32(at(1) + square[c])
        for distance in range(2, size // 2 + 1):
            total = np.float32(total + at(distance))
        factor = UNIT.look_up_singles(SINGLE_LUT, np.array([total], np.float32))
        assert result[0, 0, c] == single_to_fp17(factor * x[c])[0]
