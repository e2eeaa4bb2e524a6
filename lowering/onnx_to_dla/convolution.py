"""
Conv, Gemm and MatMul with constant weights in FP16, on the convolution core.

Batches and rows of a matrix run as groups of one convolution, since the core takes a single image.
Convolutions that exceed the convolution buffer are split along the kernel, their partial sums added in the
SDP.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import OperandMode, SdpStage, StageFunction
from xonnc.dialects.dla.storage import ConcatOp, SliceOp
from xonnc.dialects.dla.types import cube_of
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops.math import GemmOp, MatMulOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.dla_planning.feasibility import conv_limits
from xonnc.lowering.dla_planning.group_merging import merged_groups
from xonnc.lowering.dla_planning.kernel_partition import PartialConvolution, partial_convolutions
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.dla_builder import (
    Array,
    Cube,
    DlaBuilder,
    ImageValue,
    Operand,
    lowers,
)
from xonnc.lowering.onnx_to_dla.image_convolution import check_window, flattened, undilated, window_over
from xonnc.lowering.onnx_to_dla.windows import output_size, trim_padding, window_of

PER_CHANNEL_SUM = SdpStage(type=StageFunction.ALU, mode=OperandMode.PER_KERNEL)
PER_POINT_SUM = SdpStage(type=StageFunction.ALU, mode=OperandMode.PER_POINT)


@lowers(ConvOp)
def conv(op: ConvOp, builder: DlaBuilder) -> Cube:
    """
    Lower Conv and its bias. Groups are merged into layers that fill whole atoms (`group_merging.py`); the
    images of a batch are groups as well.
    """
    weights = builder.weights(op.W, "the kernels")
    bias = None if op.B.type == NONE else builder.weights(op.B, "the bias")
    if (image_value := builder.image_value(op.X)) is not None:
        return image_convolution(op, image_value, weights, bias, builder)
    found = builder.unscaled_cube(op.X)
    if weights.ndim not in (3, 4):
        builder.refuse(f"{weights.ndim - 2} spatial dimensions (the convolution core takes 1 or 2)")
    window = window_of(op, weights.shape[2:], found.cube, builder)
    if weights.ndim == 3:
        weights = weights[:, :, np.newaxis, :]
    shape = builder.result_shape(op)
    batch = batch_of(found.shape, builder)
    groups, weights = op.group.value.data * batch, tiled(weights, batch)
    bias = None if bias is None else tiled(bias, batch)
    if window != Window2D((1, 1)) and not found.has_one_factor:
        found = builder.cube(op.X)
    builder.check_spatial(found)
    return Cube(grouped(found.value, weights, bias, window, groups, builder, found.factors), shape)


def image_convolution(
    op: ConvOp, image_value: ImageValue, weights: Array, bias: Array | None, builder: DlaBuilder
) -> Cube:
    """Lower a convolution over float16 pixels and its bias."""
    window = window_over(op, image_value, weights.shape[2:], builder)
    check_window(image_value, weights.shape[0], window, builder)
    rows, columns = int_values(op.dilations) or (1, 1)
    dense_kernels = undilated(dense(weights, op.group.value.data), (rows, columns))
    kernels = builder.kernels(flattened(dense_kernels, cube_of(image_value.value.type).channels))
    stages: list[Operand] = [] if bias is None else [(PER_CHANNEL_SUM, builder.per_kernel(bias))]
    return Cube(
        builder.sdp(builder.conv(image_value.value, kernels, window), stages), builder.result_shape(op)
    )


@lowers(GemmOp)
def gemm(op: GemmOp, builder: DlaBuilder) -> Cube:
    """
    Lower Gemm, `alpha A B + beta C` with constant B and C, as a convolution whose kernel covers the whole
    cube of A.
    """
    matrix = builder.weights(op.B, "B")
    matrix = matrix if op.transB.value.data else matrix.T
    alpha, beta = op.alpha.value.data, op.beta.value.data
    bias = None if op.C.type == NONE else builder.weights(op.C, "C")
    shape = builder.result_shape(op)
    if bias is not None:
        bias = bias if beta == 1.0 else bias * np.float32(beta)
    matrix = matrix if alpha == 1.0 else matrix * np.float32(alpha)
    if op.transA.value.data:
        found = builder.cube(op.A)
        weights = across_rows(matrix, found, builder)
        bias = bias_of_rows(bias, shape)
        return Cube(convolution(found.value, weights, bias, Window2D((1, 1)), builder), shape)
    return product(op.A, matrix, bias, shape, builder)


@lowers(MatMulOp)
def matmul(op: MatMulOp, builder: DlaBuilder) -> Cube:
    """Lower MatMul with a constant second factor; each row of a matrix is a group of a convolution."""
    matrix = builder.constant(op.B)
    if matrix is None:
        builder.refuse("B is computed at run time (the convolution core takes constant weights)")
    if matrix.ndim > 2:
        builder.refuse(f"B has rank {matrix.ndim} (the convolution core takes a matrix)")
    columns = matrix.reshape(matrix.shape[0], -1)
    return product(op.A, columns.T, None, builder.result_shape(op), builder)


def product(
    factor: SSAValue, matrix: Array, bias: Array | None, shape: tuple[int, ...], builder: DlaBuilder
) -> Cube:
    """
    Multiply rows of K elements by `matrix` (`NxK`) and add `bias`, which is broadcast to the result. The
    elements of a row are its channels, in order.
    """
    found = builder.cube(factor)
    rows = rows_of(found, matrix.shape[1], builder)
    bias = bias_of_rows(bias, shape)
    weights = matrix.reshape(matrix.shape[0], found.cube.channels // rows, *found.cube[1:])
    window = Window2D((found.cube.height, found.cube.width))
    value = grouped(found.value, tiled(weights, rows), bias, window, rows, builder)
    return Cube(value, shape)


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


def across_rows(matrix: Array, found: Cube, builder: DlaBuilder) -> Array:
    """Return kernels that multiply the transpose of the channels of a single position by a matrix (`NxK`)."""
    columns, rest = divmod(found.cube.channels, matrix.shape[1])
    if rest or found.cube.positions != 1 or columns > MAX_GROUPS:
        builder.refuse(
            f"transA = 1 on {list(found.shape)} (the core takes up to {MAX_GROUPS} columns in one spatial "
            "position); transpose A before"
        )
    spread = np.zeros((columns, matrix.shape[0], matrix.shape[1], columns), matrix.dtype)
    spread[np.arange(columns), :, :, np.arange(columns)] = matrix
    return spread.reshape(columns * matrix.shape[0], found.cube.channels, 1, 1)


def tiled(array: Array, times: int) -> Array:
    """Repeat kernels or biases for each image of a batch."""
    return array if times == 1 else np.tile(array, (times, *(1,) * (array.ndim - 1)))


def convolution(
    source: SSAValue,
    weights: Array,
    bias: Array | None,
    window: Window2D,
    builder: DlaBuilder,
    factors: Array | None = None,
) -> SSAValue:
    """
    Build a convolution with bias from `weights` (`KxCxRxS`); `factors` scale each position before the bias,
    or all positions if they are equal.

    If the kernels that run at once exceed the convolution buffer, parts of the kernel run one after another
    and the SDP adds their sums.
    """
    cube = cube_of(source.type)
    if weights.shape[1] != cube.channels:
        builder.refuse(f"weights for {weights.shape[1]} channels, but the input has {cube.channels}")
    output_size(window, cube, builder)
    window = trim_padding(window, cube)
    parts = partial_convolutions(builder.target, builder.precision, cube, weights.shape[0], window)
    if parts is None:
        builder.check(conv_limits(cube, weights.shape[0], window))
        builder.refuse(
            f"a {weights.shape[2]}x{weights.shape[3]} kernel on rows of {cube.width} does not fit the "
            f"convolution buffer even split to {builder.target.atomic_c} channels; use a smaller kernel"
        )
    value: SSAValue | None = None
    for part in parts:
        accumulator = builder.conv(
            region(source, part, builder), builder.kernels(_taps(weights, part)), part.window
        )
        stages: list[Operand] = [] if value is None else [(PER_POINT_SUM, value)]
        if factors is not None and part is parts[-1]:
            stages.append(builder.position_factors(factors, weights.shape[0]))
        if bias is not None and part is parts[-1]:
            stages.append((PER_CHANNEL_SUM, builder.per_kernel(bias)))
        value = builder.sdp(accumulator, stages)
    assert value is not None, "a convolution has parts"
    return value


def region(source: SSAValue, part: PartialConvolution, builder: DlaBuilder) -> SSAValue:
    """Return the slice of a cube that a partial convolution reads."""
    if part.shape == cube_of(source.type):
        return source
    return builder(
        SliceOp(source, (part.begin, part.rows.first, part.columns.first), builder.cube_type(part.shape))
    )


def _taps(weights: Array, part: PartialConvolution) -> Array:
    rows, columns = part.rows, part.columns
    return weights[:, part.begin : part.end, rows.begin : rows.end, columns.begin : columns.end]


def channels_of(source: SSAValue, begin: int, end: int, builder: DlaBuilder) -> SSAValue:
    """Return channels `begin` to `end` of a cube, as a view."""
    cube = cube_of(source.type)
    return builder(SliceOp(source, (begin, 0, 0), builder.cube_type(cube._replace(channels=end - begin))))


def grouped(
    source: SSAValue,
    weights: Array,
    bias: Array | None,
    window: Window2D,
    groups: int,
    builder: DlaBuilder,
    factors: Array | None = None,
) -> SSAValue:
    """
    Build a grouped convolution, several groups merged into each layer; `factors` as in `convolution`.
    """
    if groups == 1:
        return convolution(source, weights, bias, window, builder, factors)
    inputs, outputs = cube_of(source.type).channels, weights.shape[0]
    if inputs % groups or outputs % groups:
        builder.refuse(f"group {groups} does not divide {inputs} input and {outputs} output channels")
    merged = merged_groups(builder.target, builder.precision, cube_of(source.type), outputs, window, groups)
    if merged == groups:
        return convolution(source, dense(weights, groups), bias, window, builder, factors)
    step_in, step_out = merged * inputs // groups, merged * outputs // groups
    parts: list[SSAValue] = []
    for index in range(groups // merged):
        rows = slice(index * step_out, (index + 1) * step_out)
        part = channels_of(source, index * step_in, (index + 1) * step_in, builder)
        bias_part = None if bias is None else bias[rows]
        kernels = dense(weights[rows], merged)
        parts.append(convolution(part, kernels, bias_part, window, builder, factors))
    cube = cube_of(parts[0].type)
    return builder(ConcatOp(parts, 1, builder.cube_type(cube._replace(channels=outputs))))


def dense(weights: Array, groups: int) -> Array:
    """
    Return the kernels of a dense convolution that computes `groups` groups, zeros outside of the diagonal
    blocks.
    """
    if groups == 1:
        return weights
    outputs, inputs, *kernel = weights.shape
    per_group = outputs // groups
    dense = np.zeros((groups, per_group, groups, inputs, *kernel), weights.dtype)
    diagonal = np.arange(groups)
    dense[diagonal, :, diagonal] = weights.reshape(groups, per_group, inputs, *kernel)
    return dense.reshape(outputs, groups * inputs, *kernel)
