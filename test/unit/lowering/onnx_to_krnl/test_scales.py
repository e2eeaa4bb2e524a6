"""QuantizeLinear and DequantizeLinear: types, axes, blocks, halves and the ends of the range."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from native_nodes import Node, check

from xonnc.native import compile_native

Array = npt.NDArray[np.generic]

RANDOM = np.random.default_rng(11)
INTEGERS = [np.dtype(each) for each in ("int8", "uint8", "int16", "uint16")]
NIBBLES = [np.dtype(each) for each in (ml_dtypes.int4, ml_dtypes.uint4)]


def numbers(*shape: int) -> npt.NDArray[np.float32]:
    """Of both signs, with zeros and halves."""
    found = RANDOM.normal(size=shape).astype(np.float32) * 40
    found.reshape(-1)[:4] = [0, -0.0, 2.5, -3.5]
    return found


@pytest.mark.parametrize("dtype", [*INTEGERS, *NIBBLES], ids=str)
@pytest.mark.parametrize("real", [np.float32, np.float16])
def test_real_numbers_become_integers(dtype: np.dtype[np.generic], real: type[np.generic]):
    x = np.concatenate([numbers(37), np.array([2e4, -2e4], np.float32)]).astype(real)
    check(Node("QuantizeLinear", [x, np.array(0.5, real), np.array(3).astype(dtype)]))


def test_what_is_no_number_becomes_the_least_and_what_is_beyond_the_ends_an_end():
    node = Node(
        "QuantizeLinear",
        [
            np.array([np.nan, 1.0, np.inf, -np.inf, 1e30], np.float32),
            np.array(0.5, np.float32),
            np.array(7, np.int8),
        ],
        expected=[np.array([-128, 9, 127, -128, 127], np.int8)],
    )
    check(node)


@pytest.mark.parametrize("dtype", [*INTEGERS, *NIBBLES, np.dtype(np.int32)], ids=str)
def test_integers_become_real_numbers(dtype: np.dtype[np.generic]):
    x = RANDOM.integers(0, 8, (3, 5)).astype(dtype)
    check(Node("DequantizeLinear", [x, np.array(0.3, np.float32), np.array(2).astype(dtype)]))


@pytest.mark.parametrize("axis", [0, 1, 2, -2])
def test_scales_of_an_axis(axis: int):
    x = numbers(3, 4, 5)
    size = int(x.shape[axis])
    scales = RANDOM.uniform(0.1, 2, size).astype(np.float32)
    zeros = RANDOM.integers(-9, 9, size).astype(np.int8)
    check(Node("QuantizeLinear", [x, scales, zeros], {"axis": axis}))
    check(Node("DequantizeLinear", [x.astype(np.int8), scales, zeros], {"axis": axis}))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_scales_of_blocks(axis: int):
    x = numbers(4, 6, 8)
    shape = list(x.shape)
    shape[axis] //= 2
    scales = RANDOM.uniform(0.1, 2, shape).astype(np.float32)
    zeros = RANDOM.integers(0, 9, shape).astype(np.uint8)
    attributes = {"axis": axis, "block_size": 2}
    check(Node("QuantizeLinear", [x, scales, zeros], attributes))
    check(Node("DequantizeLinear", [x.astype(np.int8).view(np.uint8), scales, zeros], attributes))


def test_blocks_that_do_not_divide_the_axis_are_left_to_the_host():
    node = Node(
        "DequantizeLinear",
        [np.ones((5,), np.int8), np.ones((3,), np.float32)],
        {"axis": 0, "block_size": 2},
        expected=[np.ones((5,), np.float32)],
    )
    session = compile_native(node.model())
    assert session.host_calls() == ["DequantizeLinear"]
    assert session.report()[0].reason == "blocks that do not divide the axis"


@pytest.mark.parametrize("small", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
@pytest.mark.parametrize("saturate", [0, 1])
def test_small_floats(small: type[np.generic], saturate: int):
    x = np.array([0, 1.5, -2.75, 1e4, -1e6, 0.001], np.float32)
    inputs = [x, np.array(2, np.float32), np.zeros((), small)]
    check(Node("QuantizeLinear", inputs, {"saturate": saturate}))
    check(Node("DequantizeLinear", [x.astype(small), np.array(2, np.float32)]))


def test_integers_are_divided_too():
    x = np.array([7, -9, 100000, 2**31 - 1], np.int32)
    check(Node("QuantizeLinear", [x, np.array(2, np.float32), np.array(1, np.int16)]))


def test_the_scale_is_fit_to_the_range():
    check(Node("DynamicQuantizeLinear", [numbers(5, 7)], outputs=3))
