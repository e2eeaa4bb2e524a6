"""
Conv, Gemm and MatMul with constant weights, on the convolution core.

Batches and rows of a matrix run as groups of one convolution, since the core takes a single image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.types import CubeShape
from xonnc.dialects.onnx.ops.math import GemmOp, MatMulOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.formats.nvdla.quantization import INT8_MAX
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array, Cube, DlaBuilder, cube_shape
from xonnc.lowering.onnx_to_dla.builders.kernels import Kernels, tiled
from xonnc.lowering.onnx_to_dla.builders.operator_builder import OperatorBuilder, TensorT, lowers
from xonnc.lowering.onnx_to_dla.builders.windows import output_size, window_of
from xonnc.lowering.onnx_to_dla.operators.grouped_convolution import grouped
from xonnc.lowering.onnx_to_dla.operators.image_convolution import image_convolution
from xonnc.lowering.onnx_to_dla.operators.wide_dilation import (
    convolved_by_regions,
    inner_taps,
    is_wide,
    only_inner_taps,
)


@lowers(ConvOp)
def conv(op: ConvOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """
    Lower Conv and its bias. Groups are merged into layers that fill whole atoms; the images of a batch are
    groups as well. Taps farther apart than the core's dilation run as 1x1 convolutions of what each reads.
    """
    if (image_value := builder.image_value(op.X)) is not None:
        return image_convolution(op, image_value, builder)
    kernels, bias = builder.kernels_of(op.W, 0, "the kernels"), builder.bias(op.B, "the bias")
    source = builder.unscaled_source(op.X)
    if kernels.array.ndim not in (3, 4):
        builder.refuse(f"{kernels.array.ndim - 2} spatial dimensions (the convolution core takes 1 or 2)")
    window = window_of(op, kernels.array.shape[2:], source.cube, builder)
    if kernels.array.ndim == 3:
        kernels = replace(kernels, array=kernels.array[:, :, np.newaxis, :])
    batch = batch_of(source.shape, builder)
    if window != Window2D((1, 1)) and not source.has_one_factor:
        source = builder.source(op.X)
    if (inner := _in_channels(source, kernels, window)) is not None:
        across = _across_channels(kernels.dense(op.group.value.data), inner, window, builder)
        repeated = None if bias is None else bias.repeat(across.array.shape[0] // bias.size)
        return builder.convolution(source, across, repeated, Window2D((1, 1)), builder.result_shape(op))
    builder.check_spatial(source)
    groups, bias = op.group.value.data * batch, None if bias is None else tiled(bias, batch)
    shape = builder.result_shape(op)
    kernels = kernels.tiled(batch)
    if (inner := inner_taps(source.cube, window)) is not None:
        source, kernels = only_inner_taps(builder.source(op.X), kernels, inner, builder)
        window = Window2D((1, 1), window.strides)
    elif is_wide(source.cube, window):
        dense = kernels.dense(groups)
        return convolved_by_regions(builder.source(op.X), dense, bias, window, shape, builder)
    return grouped(source, kernels, bias, window, groups, shape, builder)


MAX_ACROSS = 1 << 24
"""Most weights of a convolution over elements of one position: they are quadratic in those elements."""


def _in_channels(source: Cube, kernels: Kernels, window: Window2D) -> CubeShape | None:
    """
    Return channels, rows and columns of one image whose elements are all channels of one position in memory.

    ECA blocks convolve the means of channels so.
    """
    cube = cube_shape(source.shape)
    if cube in (None, source.cube) or source.cube.positions > 1 or source.shape[0] != 1:
        return None
    rows, columns = window.output_size(cube)
    results = kernels.array.shape[0] * rows * columns
    return cube if min(rows, columns) > 0 and results * cube.elements <= MAX_ACROSS else None


def _across_channels(kernels: Kernels, inner: CubeShape, window: Window2D, builder: DlaBuilder) -> Kernels:
    """Return 1x1 kernels over the elements of one position that compute a convolution over `inner`."""
    rows, columns = output_size(window, inner, builder)
    outputs, *_ = kernels.array.shape
    matrix = np.zeros((outputs, rows, columns, *inner), kernels.array.dtype)
    for tap in np.ndindex(window.kernel):
        results, read = list[Array](), list[Array]()
        for axis, count in enumerate((rows, columns)):
            at = (
                np.arange(count) * window.strides[axis]
                - window.pads[axis]
                + tap[axis] * window.dilations[axis]
            )
            inside = np.flatnonzero((at >= 0) & (at < inner[1 + axis]))
            results.append(inside)
            read.append(at[inside])
        (down, right), (y, x) = np.ix_(*results), np.ix_(*read)
        # Indices on both sides of a slice come first in the result.
        matrix[:, down, right, :, y, x] = kernels.array[:, :, tap[0], tap[1]]
    scales = kernels.scales if kernels.scales.size == 1 else kernels.scales.repeat(rows * columns)
    return Kernels(matrix.reshape(outputs * rows * columns, inner.elements, 1, 1), scales)


@lowers(GemmOp)
def gemm(op: GemmOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """
    Lower Gemm, `alpha A B + beta C` with constant B and C, as a convolution whose kernel covers the whole
    cube of A.
    """
    kernels = builder.kernels_of(op.B, 0 if op.transB.value.data else 1, "B")
    bias, beta, shape = builder.bias(op.C, "C"), op.beta.value.data, builder.result_shape(op)
    if bias is not None:
        bias = bias if beta == 1.0 else bias * np.float32(beta)
    kernels = kernels.times(op.alpha.value.data)
    if op.transA.value.data:
        source = builder.source(op.A)
        across = across_rows(kernels, source, builder)
        return builder.convolution(source, across, bias_of_rows(bias, shape), Window2D((1, 1)), shape)
    return product(op.A, kernels, bias, shape, builder)


@lowers(MatMulOp)
def matmul(op: MatMulOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """
    Lower MatMul with a constant second factor, each row of a matrix as a group of a convolution; or with two
    computed matrices, of which one becomes weights.
    """
    factor = builder.real_constant(op.B)
    if factor is None:
        return builder.matrix_product(op.A, op.B, builder.result_shape(op))
    if factor.ndim > 2:
        builder.refuse(f"B has rank {factor.ndim} (the convolution core takes a matrix)")
    is_vector = factor.ndim == 1
    kernels = builder.kernels_of(op.B, 0 if is_vector else 1, "the second factor")
    shape = builder.result_shape(op)
    return product(op.A, _one_output(kernels) if is_vector else kernels, None, shape, builder)


def _one_output(kernels: Kernels) -> Kernels:
    """Return a vector as a matrix with one output channel and one scale."""
    if kernels.scales.size == 1:
        return replace(kernels, array=kernels.array[np.newaxis])
    numbers = kernels.numbers
    scale = np.array([np.abs(numbers).max() or 1.0]) / INT8_MAX
    return Kernels(np.rint(numbers / scale).astype(np.int8)[np.newaxis], scale)


def product(
    factor: SSAValue,
    kernels: Kernels,
    bias: Array | None,
    shape: tuple[int, ...],
    builder: OperatorBuilder[TensorT],
) -> TensorT:
    """
    Multiply rows of K elements by a matrix (`NxK`) and add `bias`, which is broadcast to the result. The
    elements of a row are its channels, in order.
    """
    source = builder.source(factor)
    rows = rows_of(source, kernels.array.shape[1], builder)
    bias = bias_of_rows(bias, shape)
    array = kernels.array.reshape(kernels.array.shape[0], source.cube.channels // rows, *source.cube[1:])
    window = Window2D((source.cube.height, source.cube.width))
    return grouped(source, replace(kernels, array=array).tiled(rows), bias, window, rows, shape, builder)


MAX_GROUPS = 32
"""The largest batch size, and the most rows of a matrix: each takes a convolution layer of its own."""


def batch_of(shape: Sequence[int], builder: DlaBuilder) -> int:
    """Return the batch size, whose images become groups of one convolution."""
    if shape[0] > MAX_GROUPS:
        builder.refuse(f"batch size {shape[0]} (up to {MAX_GROUPS}, as groups); use a smaller batch")
    return shape[0]


def rows_of(found: Cube, count: int, builder: DlaBuilder) -> int:
    """Return how many rows of `count` elements a cube holds, each with channels of its own."""
    rows, rest = divmod(found.cube.elements, count)
    if rest or found.cube.channels % rows:
        builder.refuse(
            f"A of shape {list(found.shape)} times a matrix with {count} rows (A is the cube "
            f"{list(found.cube)}, "
            "where each row of A must have channels of its own)"
        )
    if rows > MAX_GROUPS:
        builder.refuse(f"A has {rows} rows (up to {MAX_GROUPS}, as groups); use fewer rows")
    return rows


def bias_of_rows(bias: Array | None, shape: tuple[int, ...]) -> Array | None:
    """
    Return the bias of each kernel of a product whose result has `shape`.

    It is as large as the result, so the number of rows is checked before.
    """
    return None if bias is None else np.broadcast_to(bias, shape).reshape(-1)


def across_rows(kernels: Kernels, found: Cube, builder: DlaBuilder) -> Kernels:
    """Return kernels that multiply the transpose of the channels of a single position by a matrix (`NxK`)."""
    matrix = kernels.array
    columns, rest = divmod(found.cube.channels, matrix.shape[1])
    if rest or found.cube.positions != 1 or columns > MAX_GROUPS:
        builder.refuse(
            f"transA = 1 on {list(found.shape)} (the core takes up to {MAX_GROUPS} columns in one spatial "
            "position); transpose A before"
        )
    spread = np.zeros((columns, matrix.shape[0], matrix.shape[1], columns), matrix.dtype)
    spread[np.arange(columns), :, :, np.arange(columns)] = matrix
    array = spread.reshape(columns * matrix.shape[0], found.cube.channels, 1, 1)
    return Kernels(array, kernels.tiled_scales(columns))
