"""Arrays for tensors that are bound with other dimensions than the model's."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from xonnc.tools.files import reshape_to_binding


def test_an_array_takes_the_dimensions_of_the_tensor():
    array = np.arange(6, dtype=np.float32)
    bound = reshape_to_binding(array, (1, 2, 3, 1))
    assert isinstance(bound, np.ndarray)
    assert bound.shape == (1, 2, 3, 1)
    assert np.array_equal(bound.reshape(-1), array)


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (np.zeros((2, 3, 1), np.uint8), (1, 1, 2, 3)),
        (np.zeros((2, 3), np.float32), (1, 2, 4)),
        (b"123456", (1, 2, 3)),
    ],
    ids=["pixels", "another-size", "bytes"],
)
def test_what_is_bound_as_it_is(value: npt.NDArray[Any] | bytes, shape: tuple[int, ...]):
    assert reshape_to_binding(value, shape) is value


def test_bytes_of_another_rank_are_an_array():
    bound = reshape_to_binding(np.zeros((2, 3), np.uint8), (1, 2, 3))
    assert isinstance(bound, np.ndarray)
    assert bound.shape == (1, 2, 3)
