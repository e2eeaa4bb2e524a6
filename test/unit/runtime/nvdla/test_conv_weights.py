"""Prepacked weights against the loops of docs/internals/nvdla-hardware.md §3.4, element by element."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from xonnc.errors import XonncError
from xonnc.runtime.nvdla.conv_weights import (
    WeightShape,
    decompress,
    unpack_direct,
    unpack_post_extended,
    unpack_winograd,
)

Index = tuple[int, int, int, int]


def groups(shape: WeightShape) -> Iterator[range]:
    for first in range(0, shape.kernels, shape.kernel_group):
        yield range(first, min(first + shape.kernel_group, shape.kernels))


def direct_order(shape: WeightShape) -> Iterator[Index]:
    for kernels in groups(shape):
        for first in range(0, shape.channels, shape.channel_block):
            for r in range(shape.rows):
                for s in range(shape.columns):
                    for k in kernels:
                        for c in range(first, min(first + shape.channel_block, shape.channels)):
                            yield k, r, s, c


def post_extended_order(shape: WeightShape, rows: int) -> Iterator[Index]:
    for kernels in groups(shape):
        for first in range(0, shape.rows, rows):
            for k in kernels:
                for r in range(first, min(first + rows, shape.rows)):
                    for c in range(shape.channels):
                        yield k, r, 0, c


def winograd_order(shape: WeightShape) -> Iterator[Index]:
    for kernels in groups(shape):
        for first in range(0, shape.channels, 4):
            for k in kernels:
                for r in range(4):
                    for s in range(4):
                        for c in range(first, first + 4):
                            yield k, r, s, c


def packed(weights: np.ndarray[tuple[int, ...], np.dtype[np.int16]], order: Iterator[Index]):
    return np.array([weights[index] for index in order], np.int16)


def numbered(shape: WeightShape) -> np.ndarray[tuple[int, ...], np.dtype[np.int16]]:
    sizes = (shape.kernels, shape.rows, shape.columns, shape.channels)
    return np.arange(shape.elements, dtype=np.int16).reshape(sizes)


@pytest.mark.parametrize("kernels", [3, 8, 19])
@pytest.mark.parametrize("channels", [5, 16, 37])
def test_direct(kernels: int, channels: int):
    shape = WeightShape(kernels, 2, 3, channels, kernel_group=8, channel_block=16)
    weights = numbered(shape)
    stream = packed(weights, direct_order(shape))
    assert np.array_equal(unpack_direct(stream, shape, np.int16), weights)


@pytest.mark.parametrize("rows_at_once", [2, 4])
def test_post_extended(rows_at_once: int):
    shape = WeightShape(11, 5, 1, 12, kernel_group=4, channel_block=64)
    weights = numbered(shape)
    stream = packed(weights, post_extended_order(shape, rows_at_once))
    assert np.array_equal(unpack_post_extended(stream, shape, rows_at_once, np.int16), weights)


def test_winograd():
    shape = WeightShape(11, 4, 4, 16, kernel_group=4, channel_block=64)
    weights = numbered(shape)
    stream = packed(weights, winograd_order(shape))
    assert np.array_equal(unpack_winograd(stream, shape, np.int16), weights)


def test_compressed_weights_come_back():
    rng = np.random.default_rng(1)
    weights = (rng.integers(-5, 6, 203) * (rng.random(203) < 0.4)).astype(np.int16)
    mask = np.packbits(weights != 0, bitorder="little")
    kept = weights[weights != 0]
    stored = np.concatenate([kept.view(np.uint8), np.zeros(13, np.uint8)])
    sizes = np.array([2 * 10, kept.nbytes - 2 * 10], np.uint32).view(np.uint8)
    assert np.array_equal(decompress(stored, mask, sizes, 203, np.int16, "op"), weights)


def test_group_sizes_that_contradict_the_mask_are_refused():
    mask = np.array([0b111], np.uint8)
    sizes = np.array([4], np.uint32).view(np.uint8)
    with pytest.raises(
        XonncError, match="op: the kernel groups add up to 4 bytes but the mask has 3 nonzero"
    ):
        decompress(np.zeros(8, np.uint8), mask, sizes, 8, np.int8, "op")


def test_a_mask_that_keeps_more_than_is_stored_is_refused():
    mask = np.array([0b111], np.uint8)
    sizes = np.array([3], np.uint32).view(np.uint8)
    with pytest.raises(XonncError, match="op: the mask has 3 nonzero bytes of the 2 stored"):
        decompress(np.zeros(2, np.uint8), mask, sizes, 8, np.int8, "op")
