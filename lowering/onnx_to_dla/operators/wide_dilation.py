"""
Convolutions whose taps are farther apart than the core's dilation allows, as 1x1 convolutions.

Far from each other, few taps of a kernel read the input at the same time: at the edges the others read
padding. Positions of the result whose taps inside the input are the same form a region. What these taps read
is put beside each other along the channels, so that one 1x1 convolution adds all products, exactly in INT8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby, product

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.storage import ConcatOp, SliceOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.formats.nvdla.geometry import channels_per_atom, round_up
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array, Cube, DlaBuilder
from xonnc.lowering.onnx_to_dla.builders.kernels import Kernels
from xonnc.lowering.onnx_to_dla.builders.operator_builder import OperatorBuilder, TensorT
from xonnc.targets import limits


@dataclass(frozen=True)
class _Region:
    """Results `begin` to `end` in a dimension, and where the taps inside the input begin to read it."""

    begin: int
    end: int
    firsts: dict[int, int]
    """The first position that is read, by tap."""
    stride: int

    @property
    def size(self) -> int:
        """The number of results."""
        return self.end - self.begin

    @property
    def positions(self) -> int:
        """The positions that a tap spans."""
        return (self.size - 1) * self.stride + 1


Regions = tuple[_Region, _Region]
"""A region of rows and one of columns."""


def is_wide(source: CubeShape, window: Window2D) -> bool:
    """
    Whether the taps of a window are too far apart for the core, or its padding is too wide and few enough
    taps read the input at the same time.
    """
    dilation = max(window.dilations)
    if limits.DILATION.broken(dilation) is not None:
        return True
    if dilation == 1 or limits.CONV_PAD_BEFORE.broken(max(window.pads[:2])) is None:
        return False
    rows, columns = (
        max((len(region.firsts) for region in _regions(source, window, dimension)), default=0)
        for dimension in (0, 1)
    )
    return limits.DIMENSION.broken(rows * columns * source.channels) is None


def inner_taps(source: CubeShape, window: Window2D) -> Regions | None:
    """
    Return the region of all results if one tap of a kernel reads the input, at all of them, else `None`.
    """
    if max(window.kernel) == 1 or min(window.output_size(source)) < 1:
        return None
    rows, columns = (list(_regions(source, window, dimension)) for dimension in (0, 1))
    if any(len(regions) > 1 or len(regions[0].firsts) != 1 for regions in (rows, columns)):
        return None
    return rows[0], columns[0]


def only_inner_taps(
    source: Cube, kernels: Kernels, region: Regions, builder: DlaBuilder
) -> tuple[Cube, Kernels]:
    """Return what the only tap of a region reads, and the kernels of that tap."""
    ((row, column),) = _taps(region)
    return _read(source, region, (row, column), builder), replace(
        kernels, array=kernels.array[:, :, row : row + 1, column : column + 1]
    )


def convolved_by_regions(
    source: Cube,
    kernels: Kernels,
    bias: Array | None,
    window: Window2D,
    shape: tuple[int, ...],
    builder: OperatorBuilder[TensorT],
) -> TensorT:
    """Build a convolution of one group, region by region."""
    rows, columns = (list(_regions(source.cube, window, dimension)) for dimension in (0, 1))
    if not all(region.firsts for region in (*rows, *columns)):
        builder.refuse(
            f"dilations {list(window.dilations)} (the core takes up to {limits.DILATION.most}), with results "
            "that read padding alone; use fewer pads"
        )
    parts = [
        _convolved(source, kernels, bias, (row, column), builder) for row, column in product(rows, columns)
    ]

    def join(values: list[SSAValue]) -> SSAValue:
        count = len(columns)
        lines = [_joined(values[at : at + count], 3, builder) for at in range(0, len(values), count)]
        return _joined(lines, 2, builder)

    return parts[0] if len(parts) == 1 else builder.joined(parts, shape, join)


def _regions(source: CubeShape, window: Window2D, dimension: int) -> Iterator[_Region]:
    size, stride = source[1 + dimension], window.strides[dimension]
    dilation, pad, taps = window.dilations[dimension], window.pads[dimension], window.kernel[dimension]

    def firsts(result: int) -> dict[int, int]:
        found = {tap: result * stride + tap * dilation - pad for tap in range(taps)}
        return {tap: first for tap, first in found.items() if 0 <= first < size}

    for _, group in groupby(range(window.output_size(source)[dimension]), lambda one: [*firsts(one)]):
        results = list(group)
        yield _Region(results[0], results[-1] + 1, firsts(results[0]), stride)


def _taps(region: Regions) -> list[tuple[int, int]]:
    """Return the taps of a region, by row and column."""
    return list(product(region[0].firsts, region[1].firsts))


def _read(source: Cube, region: Regions, tap: tuple[int, int], builder: DlaBuilder) -> Cube:
    """Return what a tap reads of the input for the results of a region."""
    (row, column), channels = region, source.cube.channels
    cube = CubeShape(channels, row.positions, column.positions)
    if cube == source.cube:
        return source
    begins = 0, row.firsts[tap[0]], column.firsts[tap[1]]
    value = builder(SliceOp(source.value, begins, builder.cube_type(cube)))
    return replace(source, value=value, shape=(1, *cube))


def _convolved(
    source: Cube, kernels: Kernels, bias: Array | None, region: Regions, builder: OperatorBuilder[TensorT]
) -> TensorT:
    """Build the part of the result in a region of rows and columns."""
    channels, taps = source.cube.channels, _taps(region)
    # Each tap begins at a whole atom; weights of the channels in between are zero.
    lanes = channels_per_atom(builder.target, builder.precision)
    step = round_up(channels, lanes)
    spread = np.zeros((len(kernels.array), step * (len(taps) - 1) + channels, 1, 1), kernels.array.dtype)
    for index, (row, column) in enumerate(taps):
        spread[:, index * step : index * step + channels, 0, 0] = kernels.array[:, :, row, column]
    read = [_read(source, region, tap, builder) for tap in taps]
    part = read[0]
    if len(read) > 1:
        cube = part.cube._replace(channels=spread.shape[1])
        beside = ConcatOp([each.value for each in read], 1, builder.cube_type(cube), alignment=lanes)
        part = replace(part, value=builder(beside), shape=(1, *cube))
    window = Window2D((1, 1), (region[0].stride, region[1].stride))
    shape = (1, len(spread), region[0].size, region[1].size)
    return builder.convolution(part, replace(kernels, array=spread), bias, window, shape)


def _joined(values: list[SSAValue], axis: int, builder: OperatorBuilder[TensorT]) -> SSAValue:
    """Join cubes along rows (2) or columns (3)."""
    if len(values) == 1:
        return values[0]
    cubes = [cube_of(value.type) for value in values]
    total = sum(cube[axis - 1] for cube in cubes)
    full = CubeShape(*(total if index == axis - 1 else size for index, size in enumerate(cubes[0])))
    return builder(ConcatOp(values, axis, builder.cube_type(full)))
