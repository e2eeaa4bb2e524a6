"""
Convolutions with strides beyond the core's, as convolutions that the core takes.

Rows of as many columns as the stride are the same elements in the same order. A kernel of whole such rows,
with zeros after its last tap, then takes steps of one row:

    [C, 1, 8000], kernel 1x80, stride 16    =    [C, 500, 16], kernel 5x16, stride 1

Elsewhere a convolution with one-hot kernels puts squares of pixels in channels first (SpaceToDepth), as for
the patches of vision transformers, whose three channels then fill the atoms of the core better as well:

    [3, 224, 224], kernel 16x16, stride 16    =    [48, 56, 56], kernel 4x4, stride 4
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import inf

import numpy as np

from xonnc.dialects.dla.storage import ReshapeOp, SliceOp
from xonnc.dialects.dla.types import CubeShape
from xonnc.lowering.dla_planning.feasibility import convolution_cycles
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array, Cube, DlaBuilder
from xonnc.lowering.onnx_to_dla.builders.operator_builder import OperatorBuilder, TensorT
from xonnc.lowering.onnx_to_dla.builders.pixel_convolution import undilated
from xonnc.lowering.onnx_to_dla.builders.windows import trim_padding
from xonnc.targets import limits

MAX_ONE_HOT = 1 << 26
"""Most weights of kernels that move elements: they are quadratic in the channels."""


def in_narrow_strides(
    source: Cube, weights: Array, window: Window2D, builder: OperatorBuilder[TensorT]
) -> tuple[Cube, Array, Window2D] | None:
    """
    Return an input, kernels `KxCxRxS` and a window with strides that the core takes.

    Returns: `None` if the core takes the strides as they are, or if they have no factors that it takes. The
        result may have a row for each column of a row.
    """
    if limits.CONV_STRIDE.broken(max(window.strides)) is None:
        return None
    return _in_rows(source, weights, window, builder) or _in_depth(source, weights, window, builder)


def _in_rows(
    source: Cube, weights: Array, window: Window2D, builder: DlaBuilder
) -> tuple[Cube, Array, Window2D] | None:
    """Return a row as rows of one stride each; `None` if the input or its padding are no multiples of it."""
    cube, stride, taps, left = source.cube, window.strides[1], window.kernel[1], window.pads[1]
    is_row = cube.height == window.kernel[0] == 1 and not any(window.pads[::2]) and source.factors is None
    if not is_row or window.dilations[1] > 1:
        return None
    if cube.width % stride or left % stride or limits.KERNEL.broken(stride) is not None:
        return None
    steps = -(-taps // stride)
    top, rows = left // stride, CubeShape(cube.channels, cube.width // stride, stride)
    bottom = window.output_size(cube)[1] - 1 + steps - top - rows.height
    whole = np.zeros((*weights.shape[:3], steps * stride), weights.dtype)
    whole[..., :taps] = weights
    return (
        replace(source, value=builder(ReshapeOp(source.value, builder.cube_type(rows))), shape=(1, *rows)),
        whole.reshape(*weights.shape[:2], steps, stride),
        Window2D((steps, stride), pads=(top, 0, max(bottom, 0), 0)),
    )


@dataclass(frozen=True)
class _Tiles:
    """
    A dimension of an input in tiles of `size` elements, of which windows read the first `taps`.

    The first tile begins `offset` elements before the input, whose first `reach` elements tiles read. A
    window of the tiles has `steps` of them, a stride of `stride` and padding of `before` and `after`.
    """

    size: int
    taps: int
    offset: int
    count: int
    steps: int
    stride: int
    before: int
    after: int

    @staticmethod
    def of(size: int, elements: int, taps: int, stride: int, pad: int, results: int) -> _Tiles | None:
        """Return tiles of `size` elements; `None` if they read none of the input."""
        offset, before = pad % size, pad // size
        steps, step = -(-taps // size), stride // size
        needed = (results - 1) * step + steps - before
        count = min(needed, -(-(elements + offset) // size))
        tiles = _Tiles(size, min(size, taps), offset, count, steps, step, before, needed - count)
        return tiles if count > 0 and tiles.reach > 0 else None

    @property
    def reach(self) -> int:
        """The end of what tiles read."""
        return (self.count - 1) * self.size + self.taps - self.offset


def _in_depth(
    source: Cube, weights: Array, window: Window2D, builder: OperatorBuilder[TensorT]
) -> tuple[Cube, Array, Window2D] | None:
    """Return tiles of pixels as channels, each channel's after another, in those that take least cycles."""
    if not source.has_one_factor:
        return None
    cube = source.cube
    weights = undilated(weights, window.dilations)
    window = trim_padding(replace(window, kernel=window.dilated_kernel, dilations=(1, 1)), cube)

    def cycles(tiles: tuple[_Tiles, _Tiles]) -> float:
        depth, moved = _one_hot_layer(cube, tiles)
        given = builder.target, builder.precision
        return convolution_cycles(*given, _read(cube, tiles), depth.channels, moved) + convolution_cycles(
            *given, depth, len(weights), _window(tiles)
        )

    tiles = min(_choices(cube, window), key=cycles, default=None)
    if tiles is None or cycles(tiles) == inf:
        return None
    depth, moved = _one_hot_layer(cube, tiles)
    read, value = _read(cube, tiles), source.value
    if read != cube:
        value = builder(SliceOp(value, (0, 0, 0), builder.cube_type(read)))
    taps = np.eye(depth.channels, dtype=np.int8).reshape(depth.channels, cube.channels, *moved.kernel)
    value = builder.one_hot_convolution(value, taps, moved, padding=source.zero_point)
    factors = None if source.factors is None else source.factors[:1, :1]
    return Cube(value, (1, *depth), factors, source.qparams), _deep(weights, tiles), _window(tiles)


def _choices(cube: CubeShape, window: Window2D) -> Iterator[tuple[_Tiles, _Tiles]]:
    """Iterate over tiles of rows and columns with strides and channels that the core takes."""
    results, rows_and_columns = window.output_size(cube), list[list[_Tiles]]()
    for axis, stride in enumerate(window.strides):
        given = cube[1 + axis], window.kernel[axis], stride, window.pads[axis], results[axis]
        is_narrow = limits.CONV_STRIDE.broken(stride) is None
        sizes = [1] if is_narrow else [size for size in range(1, stride) if stride % size == 0]
        found = [
            _Tiles.of(size, *given)
            for size in sizes
            if limits.CONV_STRIDE.broken(max(size, stride // size)) is None
        ]
        rows_and_columns.append([tiles for tiles in found if tiles is not None])
    for rows, columns in product(*rows_and_columns):
        channels = cube.channels * rows.taps * columns.taps
        if limits.DIMENSION.broken(channels) is None and channels**2 <= MAX_ONE_HOT:
            yield rows, columns


def _one_hot_layer(cube: CubeShape, tiles: tuple[_Tiles, _Tiles]) -> tuple[CubeShape, Window2D]:
    """Return what the convolution with one-hot kernels computes, and its window."""
    rows, columns = tiles
    depth = CubeShape(cube.channels * rows.taps * columns.taps, rows.count, columns.count)
    ends = [max(each.reach - size, 0) for each, size in zip(tiles, cube[1:], strict=True)]
    pads = rows.offset, columns.offset, ends[0], ends[1]
    return depth, Window2D((rows.taps, columns.taps), (rows.size, columns.size), pads=pads)


def _read(cube: CubeShape, tiles: tuple[_Tiles, _Tiles]) -> CubeShape:
    """Return the part of a cube that tiles read: more of it might make more results."""
    rows, columns = tiles
    return CubeShape(cube.channels, min(cube.height, rows.reach), min(cube.width, columns.reach))


def _window(tiles: tuple[_Tiles, _Tiles]) -> Window2D:
    """Return the window over tiles."""
    rows, columns = tiles
    return Window2D(
        (rows.steps, columns.steps),
        (rows.stride, columns.stride),
        pads=(rows.before, columns.before, rows.after, columns.after),
    )


def _deep(weights: Array, tiles: tuple[_Tiles, _Tiles]) -> Array:
    """Return kernels over tiles, with zeros after their last tap."""
    rows, columns = tiles
    kernels, channels, height, width = weights.shape
    whole = np.zeros((kernels, channels, rows.steps * rows.taps, columns.steps * columns.taps), weights.dtype)
    whole[..., :height, :width] = weights
    split = whole.reshape(kernels, channels, rows.steps, rows.taps, columns.steps, columns.taps)
    deep = split.transpose(0, 1, 3, 5, 2, 4)
    return deep.reshape(kernels, channels * rows.taps * columns.taps, rows.steps, columns.steps)
