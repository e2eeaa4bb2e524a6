"""Real numbers as 16-bit operands and shifts."""

from __future__ import annotations

import numpy as np
import pytest

from xonnc.lowering.onnx_to_dla.builders.sdp_operands import fixed_point_addends, fixed_point_factors


@pytest.mark.parametrize("largest", [1e-9, 2.0**-16, 0.003, 0.5, 0.999999, 1.0, 3.7, 32766.9])
def test_factors_are_the_nearest(largest: float):
    factors = np.array([largest, -largest / 3, largest / 1000, 0.0])
    found = fixed_point_factors(factors)
    assert found is not None
    assert found.operands.dtype == np.int16
    assert np.abs(found.operands * 2.0**-found.shift - factors).max() <= 2.0 ** -(found.shift + 1)
    assert found.shift == 31 or np.abs(found.operands.astype(int)).max() >= 2**14


def test_factors_that_do_not_fit():
    assert fixed_point_factors(np.array([32768.0])) is None
    nothing = fixed_point_factors(np.zeros(3))
    assert nothing is not None
    assert not nothing.operands.any()


@pytest.mark.parametrize("largest", [0.2, 7.0, 32767.4, 32768.0, 1e9, 2.0**45])
def test_sums_are_the_nearest(largest: float):
    sums = np.array([largest, -largest, largest / 3])
    found = fixed_point_addends(sums)
    assert found is not None
    assert np.abs(found.operands * 2.0**found.shift - sums).max() <= max(2.0 ** (found.shift - 1), 0.5)
    assert found.shift == 0 or np.abs(found.operands.astype(int)).max() >= 2**13


def test_sums_that_do_not_fit():
    assert fixed_point_addends(np.array([2.0**48])) is None
