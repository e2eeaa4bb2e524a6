"""What counts as the same output, and what does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from xonnc.runtime.verification.tolerance import differing, disagreement

INF, NAN = np.inf, np.nan


def f32(*numbers: float) -> npt.NDArray[np.float32]:
    return np.array(numbers, np.float32)


@pytest.mark.parametrize(
    ("expected", "found", "indices"),
    [
        (f32(1, 2), f32(1, 2 + 1e-6), []),
        (f32(1, 2), f32(1, 2.01), [1]),
        (f32(1000, 0), f32(1000, 1e-4), []),
        (f32(NAN, INF, -INF), f32(NAN, INF, -INF), []),
        (f32(NAN, INF, 1), f32(0, -INF, NAN), [0, 1, 2]),
        (f32(0), f32(-0.0), []),
        (f32(INF, 1), f32(3e38, 1), [0]),
        (f32(1, 2).astype(np.float64), f32(1, 2 + 1e-6).astype(np.float64), []),
        (np.array([1, 2.1]), np.array([1, 2.1 + 1e-6]), [1]),
        (np.array([2**62], np.int64), np.array([2**62 + 1], np.int64), [0]),
        (np.array([True]), np.array([False]), [0]),
        (f32(), f32(), []),
    ],
)
def test_elements(expected: npt.NDArray[Any], found: npt.NDArray[Any], indices: list[int]):
    assert [int(index) for index in np.flatnonzero(differing(expected, found))] == indices


def test_a_difference_names_its_place():
    text = disagreement({"y": f32(1, 2)}, {"y": f32(1, 3)}, list)
    assert text == "y[1] is 3.0, not 2.0; 1 of 2 elements differ"


def test_other_types_and_shapes_are_differences():
    assert disagreement({"y": f32(1)}, {"y": np.array([1])}, list) == (
        "y: int64[1], but the original gives float32[1]"
    )
    assert disagreement({"y": f32(1)}, {"y": f32(1, 1)}, list)


def test_effects_of_perturbed_inputs_are_no_difference():
    near = [{"y": np.array([4, 1])}]
    assert not disagreement({"y": np.array([3, 1])}, {"y": np.array([4, 1])}, lambda: near)
    assert disagreement({"y": np.array([3, 1])}, {"y": np.array([3, 2])}, lambda: near)
    floats = [{"y": f32(1.001, 1)}]
    assert not disagreement({"y": f32(1, 1)}, {"y": f32(1.002, 1)}, lambda: floats)
    assert disagreement({"y": f32(1, 1)}, {"y": f32(1, 1.002)}, lambda: floats)
