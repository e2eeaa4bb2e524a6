"""Normalisation of layers, instances and lengths; the largest of a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from native_nodes import Node, check

RANDOM = np.random.default_rng(15)


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return RANDOM.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("outputs", [1, 3])
def test_layers(axis: int, outputs: int):
    x = floats(3, 4, 5)
    inputs = [x, floats(*x.shape[axis:]), floats(*x.shape[axis:])]
    check(Node("LayerNormalization", inputs, {"axis": axis}, outputs=outputs, rtol=1e-4))


@pytest.mark.parametrize("shape", [(1,), (1, 1), (4, 5)])
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_layers_of_other_types_and_scales(shape: Sequence[int], dtype: type[np.generic]):
    inputs = [floats(3, 4, 5).astype(dtype), floats(*shape).astype(dtype)]
    rtol = 2e-3 if dtype is np.float16 else 1e-5
    check(Node("LayerNormalization", inputs, {"axis": 1, "epsilon": 0.01}, rtol=rtol))


@pytest.mark.parametrize("shape", [(2, 3, 7), (1, 2, 3, 5)])
def test_instances(shape: Sequence[int]):
    check(Node("InstanceNormalization", [floats(*shape), floats(shape[1]), floats(shape[1])], rtol=1e-4))


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_lengths(p: int, axis: int):
    x = floats(3, 4, 5)
    x[:, 1], x[2], x[..., 3] = 0, 0, 0
    length = np.sum(np.abs(x) ** p, axis=axis, keepdims=True) ** (1 / p)
    requested = np.where(length == 0, 0, x / np.where(length == 0, 1, length)).astype(np.float32)
    check(Node("LpNormalization", [x], {"axis": axis, "p": p}, expected=[requested]))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_the_first_of_the_largest(axis: int, dtype: type[np.generic]):
    x = RANDOM.integers(-2, 2, (3, 4, 5)).astype(dtype)
    check(Node("Hardmax", [x], {"axis": axis}))


@pytest.mark.parametrize("shape", [(4, 3, 5), (2, 3, 4, 5), (6, 3)])
@pytest.mark.parametrize("momentum", [0.9, 0.25])
def test_batches_are_normalised_by_their_own_numbers_in_training(shape: tuple[int, ...], momentum: float):
    rows = [np.array(row, np.float32) for row in ([1, 2, 3], [0, 1, -1], [1, 0, 2], [1, 4, 9])]
    inputs = [np.asarray(RANDOM.normal(size=shape), np.float32), *rows]
    check(Node("BatchNormalization", inputs, {"training_mode": 1, "momentum": momentum}, outputs=3))


def test_before_opset_13_all_axes_from_there_on_are_one():
    x = floats(2, 3, 4)
    requested = np.zeros((2, 12), np.float32)
    requested[np.arange(2), x.reshape(2, 12).argmax(axis=1)] = 1
    check(Node("Hardmax", [x], {"axis": 1}, opset=11, expected=[requested.reshape(x.shape)]))
