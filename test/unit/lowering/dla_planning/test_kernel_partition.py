"""Partial convolutions: their sum is the convolution, in NumPy."""

from __future__ import annotations

import random

import numpy as np
import pytest

from xonnc.dialects.dla.types import CubeShape
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.lowering.dla_planning.feasibility import conv_limits, conv_plan
from xonnc.lowering.dla_planning.kernel_partition import partial_convolutions, tap_ranges
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.targets import load_target

FULL = load_target("nv_full")
FP16 = Precision.FP16


def convolved(x: np.ndarray, weights: np.ndarray, window: Window2D) -> np.ndarray:
    """The convolution of a CxHxW array by its definition."""
    top, left, bottom, right = window.pads
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right)))
    rows, columns = window.output_size(CubeShape(*x.shape))
    result = np.zeros((len(weights), rows, columns), np.int64)
    for row in range(rows):
        for column in range(columns):
            y, z = row * window.strides[0], column * window.strides[1]
            patch = padded[
                :,
                y : y + window.dilated_kernel[0] : window.dilations[0],
                z : z + window.dilated_kernel[1] : window.dilations[1],
            ]
            result[:, row, column] = np.tensordot(weights, patch, 3)
    return result


@pytest.mark.parametrize("seed", range(40))
def test_ranges_of_taps_sum_to_the_convolution(seed: int):
    generator, numbers = random.Random(seed), np.random.default_rng(seed)
    kernel = generator.randint(1, 7), generator.randint(1, 7)
    top, left, bottom, right = (generator.randint(0, 9) for _ in range(4))
    window = Window2D(
        kernel,
        (generator.randint(1, 3), generator.randint(1, 3)),
        (generator.randint(1, 2), generator.randint(1, 2)),
        (top, left, bottom, right),
    )
    source = CubeShape(2, generator.randint(13, 17), generator.randint(13, 17))
    x = numbers.integers(-9, 10, source)
    weights = numbers.integers(-9, 10, (3, 2, *kernel))
    total = np.zeros_like(convolved(x, weights, window))
    for row in tap_ranges(source, window, 0, generator.randint(1, kernel[0])):
        for column in tap_ranges(source, window, 1, generator.randint(1, kernel[1])):
            read = x[:, row.first : row.first + row.size, column.first : column.first + column.size]
            assert read.shape == (2, row.size, column.size)
            pads = (row.pad_before, column.pad_before, row.pad_after, column.pad_after)
            taps = weights[:, :, row.begin : row.end, column.begin : column.end]
            size = row.end - row.begin, column.end - column.begin
            part = Window2D(size, window.strides, window.dilations, pads)
            total += convolved(read, taps, part)
    np.testing.assert_array_equal(total, convolved(x, weights, window))


def test_taps_that_read_only_padding_are_dropped():
    window = Window2D((9, 1), pads=(8, 0, 8, 0))
    found = tap_ranges(CubeShape(1, 1, 4), window, 0, 9)
    assert [(each.begin, each.first, each.size) for each in found] == [(tap, 0, 1) for tap in range(9)]
    window = Window2D((3, 1), dilations=(4, 1), pads=(4, 0, 4, 0))
    (found,) = tap_ranges(CubeShape(1, 1, 4), window, 0, 3)
    assert (found.begin, found.end, found.first, found.size) == (1, 2, 0, 1)
    assert (found.pad_before, found.pad_after) == (0, 0)


@pytest.mark.parametrize(
    ("source", "kernel"),
    [
        (CubeShape(64, 40, 40), (33, 3)),
        (CubeShape(16, 40, 40), (3, 40)),
        (CubeShape(8192, 8, 8), (3, 3)),
        (CubeShape(1000, 40, 40), (7, 7)),
        (CubeShape(8192, 32, 32), (20, 5)),
    ],
)
def test_parts_fit_and_are_all_of_the_kernel(source: CubeShape, kernel: tuple[int, int]):
    window, kernels = Window2D(kernel), 16
    parts = partial_convolutions(FULL, FP16, source, kernels, window)
    assert parts is not None
    taken = np.zeros((source.channels, *kernel), int)
    for part in parts:
        assert conv_limits(part.shape, kernels, part.window) is None
        assert conv_plan(FULL, FP16, part.shape, kernels, part.window) is not None
        assert part.begin % FULL.atomic_c == 0
        taken[
            part.begin : part.end, part.rows.begin : part.rows.end, part.columns.begin : part.columns.end
        ] += 1
    assert (taken == 1).all()


def test_what_fits_is_one_part():
    parts = partial_convolutions(FULL, FP16, CubeShape(64, 8, 8), 16, Window2D((3, 3))) or ()
    assert [part.shape for part in parts] == [CubeShape(64, 8, 8)]


def test_the_fewest_channel_parts_are_taken():
    source, window = CubeShape(8192, 8, 8), Window2D((3, 3))
    parts = partial_convolutions(FULL, FP16, source, 16, window) or ()
    assert len(parts) > 1
    widest = -(-source.channels // FULL.atomic_c // (len(parts) - 1)) * FULL.atomic_c
    assert conv_plan(FULL, FP16, source._replace(channels=widest), 16, window) is None


def test_a_stride_beyond_the_core_has_no_parts():
    assert partial_convolutions(FULL, FP16, CubeShape(8, 40, 40), 16, Window2D((3, 3), (9, 1))) is None
