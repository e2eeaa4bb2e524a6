"""Limits of the engines and column ranges of the PDP, against enumeration."""

from __future__ import annotations

from itertools import pairwise, product
from math import ceil, inf

import pytest

from xonnc.dialects.dla.types import CubeShape
from xonnc.formats.nvdla import geometry
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.lowering.dla_planning.feasibility import (
    buffer_demand,
    buffer_of,
    column_splits,
    conv_limits,
    conv_plan,
    convolution_cycles,
    fits_buffer,
    kernels_at_once,
    min_cycles,
    pads_below,
    pool_limits,
    pool_split_num,
)
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.targets import NvdlaTarget, load_target

FULL, SMALL = load_target("nv_full"), load_target("nv_small")
INT8, FP16 = Precision.INT8, Precision.FP16
SOURCE = CubeShape(8, 100, 100)


@pytest.mark.parametrize(
    ("source", "kernels", "window", "what", "most"),
    [
        (SOURCE._replace(channels=8193), 8, Window2D((1, 1)), "size", 8192),
        (SOURCE._replace(height=8193), 8, Window2D((1, 1)), "size", 8192),
        (SOURCE._replace(width=8193), 8, Window2D((1, 1)), "size", 8192),
        (SOURCE, 8193, Window2D((1, 1)), "size", 8192),
        (SOURCE, 8, Window2D((33, 1)), "kernel", 32),
        (SOURCE, 8, Window2D((1, 33)), "kernel", 32),
        (SOURCE, 8, Window2D((1, 1), (9, 1)), "stride", 8),
        (SOURCE, 8, Window2D((1, 1), (1, 9)), "stride", 8),
        (SOURCE, 8, Window2D((1, 1), dilations=(33, 1)), "dilation", 32),
        (SOURCE, 8, Window2D((1, 1), dilations=(1, 33)), "dilation", 32),
        (SOURCE, 8, Window2D((1, 1), pads=(32, 0, 0, 0)), "pad at top or left", 31),
        (SOURCE, 8, Window2D((1, 1), pads=(0, 32, 0, 0)), "pad at top or left", 31),
        (SOURCE, 8, Window2D((1, 1), pads=(0, 0, 64, 0)), "pad at bottom or right", 63),
        (SOURCE, 8, Window2D((1, 1), pads=(0, 0, 0, 64)), "pad at bottom or right", 63),
    ],
)
def test_each_field_of_a_convolution_has_its_limit(
    source: CubeShape, kernels: int, window: Window2D, what: str, most: int
):
    found = conv_limits(source, kernels, window)
    assert found is not None
    assert found.startswith(f"{what} {most + 1} (the core takes up to {most}); ")


def test_a_convolution_at_all_limits_is_taken():
    window = Window2D((32, 32), (8, 8), (32, 32), (31, 31, 63, 63))
    assert conv_limits(CubeShape(8192, 8192, 8192), 8192, window) is None


def test_a_pooling_at_all_limits_is_taken():
    assert pool_limits(CubeShape(8192, 8192, 8192), Window2D((8, 8), (8, 8), pads=(7, 7, 7, 7))) is None


def test_a_pad_is_below_the_kernel_of_its_own_side():
    # Each side alone: the same pad is too large for the short side of the kernel and fits the long one.
    for position, kernel in product(range(4), ((2, 3), (3, 2))):
        pads = tuple(2 if index == position else 0 for index in range(4))
        limit = kernel[position % 2]
        found = pads_below("pad", pads, kernel)
        assert (found is None) == (limit > 2)
        if found is not None:
            assert (
                found == f"pads {list(pads)} (the PDP takes less than the kernel's {kernel[0]}x{kernel[1]})"
            )


@pytest.mark.parametrize("target", [FULL, SMALL])
def test_the_demand_of_a_feature_cube(target: NvdlaTarget):
    source, window = CubeShape(40, 21, 13), Window2D((3, 2), (2, 1), (2, 1), (1, 2, 3, 4))
    demand = buffer_demand(target, INT8, source, 50, window)
    assert (demand.height, demand.kernel_height, demand.stride, demand.pad_top) == (21, 5, 2, 1)
    assert demand.output_height == (21 + 1 + 3 - 5) // 2 + 1
    surfaces = ceil(40 / target.memory_atom_bytes)
    assert demand.row_bytes == surfaces * 13 * target.memory_atom_bytes
    entry = target.cbuf_entry_bytes
    assert demand.weight_bytes == ceil(50 * 40 * 3 * 2 / entry) * entry
    group = min(target.atomic_k, 50)
    assert demand.group_bytes == ceil(group * 40 * 3 * 2 / entry) * entry
    assert demand.entries_per_slice == geometry.feature_entries_per_slice(target, INT8, 13, 40)


def test_the_demand_of_an_image_counts_pads_and_whole_lines():
    window = Window2D((3, 3), pads=(1, 2, 1, 5), pixel_bytes=4)
    demand = buffer_demand(FULL, INT8, CubeShape(4, 8, 57), 16, window)
    assert demand.row_bytes == ceil(57 * 4 / 32) * 32
    assert demand.entries_per_slice == ceil((2 + 57 + 5) * 4 / FULL.cbuf_entry_bytes)


def test_16_bit_weights_take_twice_the_bytes_and_groups_half_the_kernels():
    source, window = CubeShape(64, 8, 8), Window2D((3, 3))
    narrow, wide = (buffer_demand(FULL, each, source, 64, window) for each in (INT8, FP16))
    assert wide.weight_bytes == 2 * narrow.weight_bytes
    assert wide.group_bytes == narrow.group_bytes


def test_the_buffer_is_the_targets():
    buffer = buffer_of(SMALL)
    assert buffer.bank_bytes * buffer.banks == SMALL.cbuf_banks * SMALL.cbuf_entries * SMALL.cbuf_entry_bytes


def test_as_many_kernels_at_once_as_have_a_plan():
    for channels in (512, 1024, 2048, 4096):
        source, window = CubeShape(channels, 7, 7), Window2D((3, 3), pads=(1, 1, 1, 1))
        found = kernels_at_once(FULL, FP16, source, 64, window)
        plans = [
            count
            for count in range(1, geometry.kernel_group(FULL, FP16) + 1)
            if conv_plan(FULL, FP16, source, count, window)
        ]
        assert found == max(plans, default=None)
    assert kernels_at_once(FULL, FP16, CubeShape(8192, 7, 7), 64, Window2D((32, 1))) is None


def test_what_has_no_plan_takes_for_ever():
    source, window = CubeShape(8192, 32, 32), Window2D((32, 32))
    assert conv_plan(FULL, FP16, source, 16, window) is None
    assert convolution_cycles(FULL, FP16, source, 16, window) == inf
    assert 0 < convolution_cycles(FULL, FP16, CubeShape(16, 32, 32), 16, Window2D((3, 3))) < inf


@pytest.mark.parametrize("target", [SMALL, FULL])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("side", [1, 3, 5, 32])
def test_what_fits_has_a_plan_which_takes_its_multiplications(target: NvdlaTarget, stride: int, side: int):
    for channels, size, kernels in product((1, 9, 512, 8192), (side, 57, 1024), (1, 17, 1000)):
        source, window = CubeShape(channels, size, size), Window2D((side, side), (stride, stride))
        cycles = convolution_cycles(target, INT8, source, kernels, window)
        assert fits_buffer(target, INT8, source, kernels, window) == (cycles < inf)
        assert min_cycles(target, INT8, source, kernels, window) < cycles


@pytest.mark.parametrize("kernel", [1, 2, 3, 5])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_column_ranges_read_what_their_windows_need(kernel: int, stride: int):
    """
    Each range reads on from the end of the one before to the end of its last window: there are ranges if
    each has results and reads something, and those before the last leave some of the row.
    """
    sizes = product(range(4, 40, 3), range(kernel), range(kernel), range(2, 7))
    splits: set[bool] = set()
    for width, left, right, pieces in sizes:
        window = Window2D((1, kernel), (1, stride), pads=(0, left, 0, right))
        outputs = window.output_size(CubeShape(1, 1, width))[1]
        most = ceil(outputs / pieces)
        results = [most] * (pieces - 1) + [outputs - most * (pieces - 1)]
        ends = [(sum(results[:count]) - 1) * stride + kernel - left for count in range(1, pieces)]
        last_end = (outputs - 1) * stride + kernel - left - right
        inputs = [end - begin for begin, end in pairwise([0, *ends, last_end])]
        found = column_splits(width, outputs, pieces, window)
        exists = results[-1] >= 1 and min(inputs[0], inputs[-1]) >= 1 and ends[-1] < width
        splits.add(exists)
        assert (found is not None) == exists, (width, left, right, pieces)
        if found is not None:
            middle = (inputs[1], results[1]) if pieces > 2 else (0, 0)
            assert found == (
                (inputs[0], middle[0], inputs[-1]),
                (results[0], middle[1], results[-1]),
            )
    assert splits == {True, False}


def test_no_split_has_no_ranges():
    assert column_splits(9, 9, 1, Window2D((1, 1))) == ((0, 0, 0), (0, 0, 0))


@pytest.mark.parametrize(("target", "precision"), [(FULL, INT8), (FULL, FP16), (SMALL, INT8)])
def test_a_row_is_split_into_the_fewest_ranges_that_the_line_buffer_holds(
    target: NvdlaTarget, precision: Precision
):
    for width, kernel, stride in product((40, 300, 1500, 8000), (2, 3, 8), (1, 2)):
        window = Window2D((kernel, kernel), (stride, stride))
        source = CubeShape(8, 16, width)
        columns = window.output_size(source)[1]
        widest = geometry.pdp_line_width(target, precision, kernel, stride)
        possible = [
            pieces
            for pieces in range(1, 65)
            if ceil(columns / pieces) <= widest
            if column_splits(width, columns, pieces, window) is not None
        ]
        assert pool_split_num(target, precision, source, window) == (possible or [None])[0]


def test_64_ranges_are_the_most():
    # Of one column each, or of as many as the line buffer holds.
    widest = geometry.pdp_line_width(FULL, INT8, 8, 1)
    window = Window2D((8, 8), (1, 1))
    assert pool_split_num(FULL, INT8, CubeShape(8, 16, 64 * widest + 7), window) == 64
    assert pool_split_num(FULL, INT8, CubeShape(8, 16, 65 * widest + 7), window) is None
