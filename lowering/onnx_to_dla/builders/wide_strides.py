"""
Convolutions with strides beyond the core's, as convolutions that the core takes.

Rows of as many columns as the stride are the same elements in the same order. A kernel of whole such rows,
with zeros after its last tap, then takes steps of one row:

    [C, 1, 8000], kernel 1x80, stride 16    =    [C, 500, 16], kernel 5x16, stride 1

Elsewhere a convolution with one-hot kernels puts squares of pixels in channels first (SpaceToDepth), as for
the patches of vision transformers, whose three channels then fill the atoms of the core better as well:

    [3, 224, 224], kernel 16x16, stride 16    =    [48, 56, 56], kernel 4x4, stride 4

Strides without such factors are taken out of the input: what each row of a kernel reads, rows that are the
stride apart, is put beside the others along the channels, and columns become rows of one stride each:

    [8, 220, 220], kernel 11x11, stride 11    =    [88, 400, 11], kernel 1x11, stride 1
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import inf

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.storage import ConcatOp, ReshapeOp, SliceOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.formats.nvdla.geometry import channels_per_atom, round_up
from xonnc.lowering.dla_planning.feasibility import convolution_cycles
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array, Cube, DlaBuilder
from xonnc.lowering.onnx_to_dla.builders.every_nth import padded_slice, part_of
from xonnc.lowering.onnx_to_dla.builders.kernels import dense
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

    Returns: `None` if the core takes the strides as they are, or if the result is too large. It may have a
        row for each column of a row.
    """
    if limits.CONV_STRIDE.broken(max(window.strides)) is None:
        return None
    ways = (_in_rows, _in_depth, _beside_each_other)
    return next((found for way in ways if (found := way(source, weights, window, builder)) is not None), None)


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


def _beside_each_other(
    source: Cube, weights: Array, window: Window2D, builder: OperatorBuilder[TensorT]
) -> tuple[Cube, Array, Window2D] | None:
    """
    Return what rows of kernels read beside each other along the channels, each from a whole atom on.

    Columns with a wide stride are rows of one stride each, of which wider kernels read several, beside each
    other as well.
    """
    if not source.has_one_factor:
        return None
    cube, (rows, columns) = source.cube, window.output_size(source.cube)
    (down, across), (top, left) = window.strides, window.pads[:2]
    weights = dense(weights, cube.channels // weights.shape[1])
    blocks, width = [0], cube.width
    are_rows = limits.CONV_STRIDE.broken(across) is not None
    taken = Window2D(
        (1, window.kernel[1]), (1, across), (1, window.dilations[1]), (0, left, 0, window.pads[3])
    )
    if are_rows:
        weights = undilated(weights, (1, window.dilations[1]))
        taps = weights.shape[3]
        blocks, width = [*range(0, taps, across)], columns * across
        # What a layer writes has to be read: zero taps read a column of the padding that ends the last row.
        padding = cube.width + left - (columns - 1) * across
        most = max(taps, padding + 1 if padding < across else 1)
        taken = Window2D((1, min(most, across)))
        spare = len(blocks) * taken.kernel[1] - taps
        weights = np.pad(weights, ((0, 0), (0, 0), (0, 0), (0, spare)))
    lanes = channels_per_atom(builder.target, builder.precision)
    step = round_up(cube.channels, lanes)
    parts = list(product(range(window.kernel[0]), blocks))
    deep = CubeShape(step * (len(parts) - 1) + cube.channels, rows, width)
    tall = deep._replace(height=rows * columns, width=across) if are_rows else deep
    if any(limits.DIMENSION.broken(size) is not None for size in (*deep, *tall)):
        return None
    read = list[SSAValue]()
    kernels = np.zeros((len(weights), deep.channels, 1, taken.kernel[1]), weights.dtype)
    for index, (row, column) in enumerate(parts):
        lines = cube._replace(height=rows)
        value = padded_slice(source, 2, row * window.dilations[0] - top, lines, builder, down)
        if are_rows:
            part = replace(source, value=value)
            value = padded_slice(part, 3, column - left, lines._replace(width=width), builder)
        read.append(value)
        lane = slice(index * step, index * step + cube.channels)
        kernels[:, lane, 0] = weights[:, :, row, column : column + taken.kernel[1]]
    value = read[0]
    if len(read) > 1:
        value = builder(ConcatOp(read, 1, builder.cube_type(deep), alignment=lanes))
    if are_rows:
        value = builder(ReshapeOp(value, builder.cube_type(tall)))
        value = part_of(value, (0, 0, 0), tall._replace(width=taken.kernel[1]), builder)
    factors = None if source.factors is None else source.factors[:1, :1]
    return replace(source, value=value, shape=(1, *cube_of(value.type)), factors=factors), kernels, taken


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
