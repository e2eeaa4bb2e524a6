"""Counts of magnitudes: those of `numpy.histogram` in float64, at edges and off them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from xonnc.runtime.magnitude_histogram import BLOCK, MIN_REACH, magnitude_counts

Array = npt.NDArray[Any]
FLOATS = (np.float16, np.float32, np.float64)


def expected(numbers: Array, reach: float, bins: int) -> Array:
    return np.histogram(np.abs(numbers.astype(np.float64)), bins=bins, range=(0.0, reach))[0]


@pytest.mark.covering(2)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("bins", [1, 7, 2048, 5000])
@pytest.mark.parametrize("shape", ["normal", "rectified", "levels", "few", "none"])
def test_the_counts_are_those_of_float64(dtype: type[np.floating[Any]], bins: int, shape: str):
    random = np.random.default_rng(bins)
    for _ in range(20):
        size = {"few": 3, "none": 0}.get(shape, 2 * BLOCK + 1)
        scale = 10.0 ** random.uniform(*((-2, 3) if dtype is np.float16 else (-20, 20)))
        numbers = random.standard_normal(size)
        if shape == "rectified":
            numbers = np.maximum(numbers, 0.0)
        if shape == "levels":
            numbers = np.round(numbers * 8) / 8
        numbers = (numbers * scale).astype(dtype).reshape(1, -1)
        for reach in (float(np.abs(numbers).max(initial=0.0)) or 1.0, scale * random.uniform(0.1, 3)):
            np.testing.assert_array_equal(
                magnitude_counts(numbers, reach, bins), expected(numbers, reach, bins)
            )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reach", [1.0, 3.7, 2048.0, 2 * MIN_REACH, MIN_REACH / 2, 3e38])
def test_numbers_at_the_edges_are_in_the_bin_that_begins_there(dtype: type[np.floating[Any]], reach: float):
    edges = np.linspace(0.0, min(reach, float(np.finfo(dtype).max)), 2049).astype(dtype)
    numbers = np.concatenate([edges, np.nextafter(edges, dtype(0)), np.nextafter(edges[:-1], edges[1:])])
    np.testing.assert_array_equal(magnitude_counts(numbers, reach, 2048), expected(numbers, reach, 2048))


def test_what_is_beyond_the_end_and_nan_are_left_out():
    numbers = np.array([np.nan, np.inf, -np.inf, -0.0, -0.5, 1.0, 1.0000001], np.float32)
    assert magnitude_counts(numbers, 1.0, 2).tolist() == [1, 2]
