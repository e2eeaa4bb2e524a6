"""Tests draw the same random numbers alone and after others (conftest.py)."""

from __future__ import annotations

import numpy as np
import pytest

RANDOM = np.random.default_rng(8)


@pytest.mark.parametrize("count", [1, 5, 2])
def test_draws_do_not_depend_on_earlier_tests(count: int) -> None:
    expected = np.random.default_rng(8).random(count)
    assert np.array_equal(RANDOM.random(count), expected)
