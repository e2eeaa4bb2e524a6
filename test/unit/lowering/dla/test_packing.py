"""Constants in the engines' order, element by element as docs/internals/nvdla-hardware.md states it."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import f16

from oracles.nvdla.winograd import transformed_kernels
from xonnc.dialects.dla.attributes import ConstantLayout
from xonnc.dialects.dla.storage import ConstantOp
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.types import tensor_type
from xonnc.lowering.dla.packing import (
    PackedConstant,
    converted,
    pack_cube,
    pack_kernels,
    pack_winograd,
)
from xonnc.targets import load_target

HALF = np.dtype(np.float16)


def packed_as_the_spec_says(weights: npt.NDArray[np.float32], group: int, block: int) -> list[float]:
    """The loops of docs/internals/nvdla-hardware.md §3.4."""
    kernels, channels, height, width = weights.shape
    return [
        float(weights[k, c, r, s])
        for first in range(0, kernels, group)
        for begin in range(0, channels, block)
        for r, s in product(range(height), range(width))
        for k in range(first, min(first + group, kernels))
        for c in range(begin, min(begin + block, channels))
    ]


@pytest.mark.parametrize("shape", [(5, 3, 2, 3), (16, 64, 1, 1), (33, 130, 3, 2)])
def test_kernels(shape: tuple[int, int, int, int]):
    weights = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) % 1000
    packed = pack_kernels(weights, HALF, 16, 64)
    assert packed.tolist() == packed_as_the_spec_says(weights, 16, 64)


def winograd_as_the_spec_says(weights: npt.NDArray[np.float32], group: int, channels: int) -> list[float]:
    """The loops of docs/internals/nvdla-hardware.md §3.4, over `G g G^T`."""
    factors = np.zeros((len(weights), channels, 4, 4))
    factors[:, : weights.shape[1]] = transformed_kernels(weights.astype(np.float64))
    return [
        float(factors[k, c, r, s])
        for first in range(0, len(weights), group)
        for begin in range(0, channels, 4)
        for k in range(first, min(first + group, len(weights)))
        for r, s in product(range(4), range(4))
        for c in range(begin, begin + 4)
    ]


@pytest.mark.parametrize(("kernels", "channels", "padded"), [(5, 3, 16), (16, 64, 64), (33, 20, 32)])
def test_winograd_kernels(kernels: int, channels: int, padded: int, context: Context):
    weights = np.random.default_rng(4).standard_normal((kernels, channels, 3, 3)).astype(np.float32)
    expected = winograd_as_the_spec_says(weights, 16, padded)
    assert pack_winograd(weights, HALF, 16, padded).tolist() == expected
    op = ConstantOp(
        DisposablePool.of(context).create(weights),
        ConstantLayout.WINOGRAD_KERNELS,
        tensor_type(weights.shape, f16),
    )
    data = bytes(PackedConstant.of(op, load_target("nv_full")))
    assert len(data) == -(-kernels * padded * 32 // 128) * 128
    assert np.frombuffer(data, np.float16)[: len(expected)].tolist() == expected


def test_cubes():
    cube = np.random.default_rng(1).integers(0, 100, (1, 20, 3, 5)).astype(np.float32)
    packed = pack_cube(cube, HALF, 32).reshape(-1)
    for c, y, x in product(range(20), range(3), range(5)):
        offset = c // 16 * (3 * 5 * 32) + y * 5 * 32 + x * 32 + c % 16 * 2
        assert packed[offset // 2] == cube[0, c, y, x]
    assert packed.size == 2 * 16 * 15


def test_numbers_beyond_fp16_become_its_largest():
    assert converted(np.array([1e6, -1e6, 0.5], np.float32), HALF).tolist() == [65504.0, -65504.0, 0.5]


@pytest.mark.parametrize(
    ("layout", "shape", "size"),
    [
        (ConstantLayout.KERNELS, (3, 5, 1, 1), 128),
        (ConstantLayout.PER_KERNEL, (17,), 64),
        (ConstantLayout.PER_KERNEL, (17, 2), 128),
        (ConstantLayout.CUBE, (1, 17, 2, 3), 384),
    ],
)
def test_sizes_are_known_before_the_bytes(
    layout: ConstantLayout, shape: tuple[int, ...], size: int, context: Context
):
    value = DisposablePool.of(context).create(np.ones(shape, np.float32))
    constant = PackedConstant.of(ConstantOp(value, layout, tensor_type(shape, f16)), load_target("nv_full"))
    data = bytes(constant)
    assert len(constant) == len(data) == size
    assert np.count_nonzero(np.frombuffer(data, np.float16)) == np.prod(shape)


def test_alu_and_multiplier_operands_alternate(context: Context):
    value = DisposablePool.of(context).create(np.array([[1, 2], [3, 4], [5, 6]], np.float32))
    op = ConstantOp(value, ConstantLayout.PER_KERNEL, tensor_type((3, 2), f16))
    data = np.frombuffer(bytes(PackedConstant.of(op, load_target("nv_full"))), np.float16)
    assert data[:6].tolist() == [1, 2, 3, 4, 5, 6]
    assert not data[6:].any()
