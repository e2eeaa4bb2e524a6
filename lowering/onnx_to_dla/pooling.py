"""Pooling on the PDP, with ONNX's ways of counting the padding."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import prod
from typing import Protocol

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, IntegerType
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import PoolMode
from xonnc.dialects.dla.engines import PdpOp
from xonnc.dialects.dla.storage import SliceOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.attributes import int_values
from xonnc.dialects.onnx.ops.extra import MaxPoolSingleOutOp
from xonnc.dialects.onnx.ops.nn import AveragePoolOp, GlobalAveragePoolOp, GlobalMaxPoolOp
from xonnc.formats.nvdla.geometry import MAX_POOL
from xonnc.lowering.dla_planning.feasibility import pool_limits, pool_split_num
from xonnc.lowering.dla_planning.window import Window
from xonnc.lowering.onnx_to_dla.dla_builder import Array, Cube, DlaBuilder, lowers
from xonnc.lowering.onnx_to_dla.windows import WindowOp, counts, exact, window_of


@lowers(MaxPoolSingleOutOp)
def max_pool(op: MaxPoolSingleOutOp, builder: DlaBuilder) -> Cube:
    """The greatest element of each window; the PDP never lets padding win."""
    source = builder.spatial_cube(op.X)
    _, window = pool_windows(op, cube_of(source.type), builder)
    return Cube(pool(source, PoolMode.MAX, window, builder), builder.result_shape(op))


@lowers(AveragePoolOp)
def average_pool(op: AveragePoolOp, builder: DlaBuilder) -> Cube:
    """
    The mean of each window. The PDP divides by the whole window; where ONNX divides by `n` elements, the SDP
    multiplies by `kernel / n` afterwards, or behind the 1x1 convolution that follows.
    """
    source = builder.spatial_cube(op.X)
    pooled, correction = averages(op, source, builder)
    return Cube(pooled, builder.result_shape(op), None if np.all(correction == 1.0) else correction)


@lowers(GlobalAveragePoolOp)
def global_average_pool(op: GlobalAveragePoolOp, builder: DlaBuilder) -> Cube:
    """The mean of each channel."""
    check_planar(op, builder)
    pooled, factor = cascade(builder.spatial_cube(op.X), PoolMode.AVERAGE, builder)
    return Cube(builder.scaled(pooled, np.full((1, 1), factor, np.float32)), builder.result_shape(op))


@lowers(GlobalMaxPoolOp)
def global_max_pool(op: GlobalMaxPoolOp, builder: DlaBuilder) -> Cube:
    """The greatest element of each channel."""
    check_planar(op, builder)
    return Cube(cascade(builder.spatial_cube(op.X), PoolMode.MAX, builder)[0], builder.result_shape(op))


def check_planar(op: GlobalAveragePoolOp | GlobalMaxPoolOp, builder: DlaBuilder) -> None:
    """Gives up images with more dimensions than rows and columns."""
    rank = len(builder.result_shape(op))
    if rank > 4:
        builder.refuse(f"a pooling over {rank - 2} dimensions (images have 2)")


class PoolOp(WindowOp, Protocol):
    """What poolings have in common."""

    @property
    def kernel_shape(self) -> ArrayAttr[IntegerAttr[IntegerType]]: ...
    @property
    def ceil_mode(self) -> IntegerAttr[IntegerType]: ...


def pool_windows(op: PoolOp, cube: CubeShape, builder: DlaBuilder) -> tuple[Window, Window]:
    """The window as the model has it, and with the pads for a last, partial one."""
    window = window_of(op, int_values(op.kernel_shape) or (), cube, builder)
    if window.dilations != (1, 1):
        builder.refuse(f"dilations {list(window.dilations)} (the PDP takes 1)")
    return window, _stretched(window, cube, op.ceil_mode.value.data == 1)


def averages(op: AveragePoolOp, source: SSAValue, builder: DlaBuilder) -> tuple[SSAValue, Array]:
    """Means over whole windows, zeros around the image; the factors that make ONNX's means of them."""
    cube = cube_of(source.type)
    window, stretched = pool_windows(op, cube, builder)
    if stretched.kernel == cube[1:] and not any(stretched.pads):
        value, factor = cascade(source, PoolMode.AVERAGE, builder)
        return value, np.full((1, 1), factor, np.float32)
    pooled = pool(source, PoolMode.AVERAGE, stretched, builder)
    counts = _counts(window, cube, cube_of(pooled.type), op.count_include_pad.value.data == 1)
    return pooled, np.float32(prod(window.kernel)) / counts


def pool(source: SSAValue, mode: PoolMode, window: Window, builder: DlaBuilder) -> SSAValue:
    """
    One layer of the PDP, its columns in as few pieces as its line buffer takes.

    Its source is only what the windows reach: the PDP does not get rid of rows that are left over, and hangs
    (docs/internals/nvdla-hardware.md §9.2).
    """
    rows, columns = counts(window, cube_of(source.type), builder)
    window = exact(window, cube_of(source.type))
    source = _reached(source, window, (rows, columns), builder)
    cube = cube_of(source.type)
    builder.check(pool_limits(cube, window))
    splits = pool_split_num(builder.target, builder.precision, cube, window)
    if splits is None:
        builder.refuse(f"{columns} columns of pooled output exceed the PDP's line buffer even in pieces")
    result = builder.cube_type(CubeShape(cube.channels, rows, columns))
    return builder(
        PdpOp(
            source,
            result,
            mode=mode,
            kernel=window.kernel,
            strides=window.strides,
            pads=window.pads,
            split_num=splits,
        )
    )


def _reached(source: SSAValue, window: Window, counts: tuple[int, int], builder: DlaBuilder) -> SSAValue:
    """The rows and columns of `source` up to those that the last windows reach."""
    cube = cube_of(source.type)
    sizes = [
        min((count - 1) * stride + kernel - pad, size)
        for count, stride, kernel, pad, size in zip(
            counts, window.strides, window.kernel, window.pads[:2], cube[1:], strict=True
        )
    ]
    part = CubeShape(cube.channels, sizes[0], sizes[1])
    return source if part == cube else builder(SliceOp(source, (0, 0, 0), builder.cube_type(part)))


def cascade(
    source: SSAValue, mode: PoolMode, builder: DlaBuilder, over_rows: bool = True, over_columns: bool = True
) -> tuple[SSAValue, float]:
    """
    Pooling over all rows, all columns or both: each layer takes up to 8x8 positions, zeros fill up the last
    window.

    Averages divide by the whole windows, `prod(kernels)` in all: `prod(kernels) / (H W)` times that are the
    means, which is the factor given.
    """
    cube = cube_of(source.type)
    sizes = cube.height if over_rows else 1, cube.width if over_columns else 1
    rows, columns = kernel_cascades(*sizes)
    value = source
    for height, width in zip(rows, columns, strict=True):
        here = cube_of(value.type)
        pads = (0, 0, -here.height % height, -here.width % width)
        value = pool(value, mode, Window((height, width), (height, width), pads=pads), builder)
    return value, prod(rows) * prod(columns) / prod(sizes) if mode is PoolMode.AVERAGE else 1.0


def kernel_cascades(height: int, width: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Kernels of the fewest poolings that reduce `height` and `width` to one; each dimension padded least."""
    steps = 1
    while MAX_POOL**steps < max(height, width):
        steps += 1
    return _factors(height, steps), _factors(width, steps)


def _factors(size: int, steps: int) -> tuple[int, ...]:
    """`steps` kernels up to 8, largest first, with the least product from `size` on."""
    choices = product(range(MAX_POOL, 0, -1), repeat=steps)
    return min((kernels for kernels in choices if prod(kernels) >= size), key=prod)


def _stretched(window: Window, cube: CubeShape, ceil_mode: bool) -> Window:
    """With `ceil_mode` pads at the end for a last, partial window, unless it would start in the padding."""
    if not ceil_mode:
        return window
    ends = [
        _ceil_pad(size, kernel, stride, begin, end)
        for size, kernel, stride, begin, end in zip(
            cube[1:], window.kernel, window.strides, window.pads[:2], window.pads[2:], strict=True
        )
    ]
    return replace(window, pads=(*window.pads[:2], ends[0], ends[1]))


def _ceil_pad(size: int, kernel: int, stride: int, begin: int, end: int) -> int:
    count = -(-(size + begin + end - kernel) // stride) + 1
    if (count - 1) * stride >= size + begin:
        count -= 1
    return max((count - 1) * stride + kernel - size - begin, 0)


def _counts(window: Window, cube: CubeShape, result: CubeShape, include_pad: bool) -> Array:
    """
    By how many elements ONNX divides at each position: those inside the image, or inside its declared
    padding.
    """
    counts = [
        _counts_along(size, outputs, kernel, stride, begin, end, include_pad)
        for size, outputs, kernel, stride, begin, end in zip(
            cube[1:],
            result[1:],
            window.kernel,
            window.strides,
            window.pads[:2],
            window.pads[2:],
            strict=True,
        )
    ]
    return np.outer(counts[0], counts[1]).astype(np.float32)


def _counts_along(
    size: int, outputs: int, kernel: int, stride: int, begin: int, end: int, include_pad: bool
) -> Array:
    starts = np.arange(outputs) * stride - begin
    low, high = (-begin, size + end) if include_pad else (0, size)
    return np.minimum(starts + kernel, high) - np.maximum(starts, low)
