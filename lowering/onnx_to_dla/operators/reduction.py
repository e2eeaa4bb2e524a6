"""ReduceMean, ReduceSum, ReduceMax and ReduceMin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import AluFunction, OperandMode, PoolMode, SdpStage, StageFunction
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops import reduction
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array, Cube, DlaBuilder
from xonnc.lowering.onnx_to_dla.builders.kernels import Kernels
from xonnc.lowering.onnx_to_dla.builders.operator_builder import OperatorBuilder, TensorT, lowers
from xonnc.lowering.onnx_to_dla.operators.pooling import cascade
from xonnc.lowering.onnx_to_dla.operators.selection import Indices, chosen_channels

MEANS = (reduction.ReduceMeanOp, reduction.ReduceMeanV13Op)
SUMS = (reduction.ReduceSumOp, reduction.ReduceSumV11Op)
EXTREMES: Mapping[type[OnnxOp], tuple[PoolMode, AluFunction]] = {
    **dict.fromkeys(
        (reduction.ReduceMaxOp, reduction.ReduceMaxV13Op, reduction.ReduceMaxV18Op),
        (PoolMode.MAX, AluFunction.MAX),
    ),
    **dict.fromkeys(
        (reduction.ReduceMinOp, reduction.ReduceMinV13Op, reduction.ReduceMinV18Op),
        (PoolMode.MIN, AluFunction.MIN),
    ),
}
"""The PDP's and SDP's modes of each operator."""

MAX_KERNEL_BYTES = 1 << 16
"""Largest kernel of ones, which adds integers exactly; beyond it the PDP averages and rounds."""

MAX_MATRIX_BYTES = 1 << 20
"""Largest matrix of ones that adds channels alone, for which the PDP has no mode."""


@dataclass(frozen=True)
class CubeReduction:
    """
    A reduction of a cube: the result's channel of each channel, and whether rows and columns are reduced.
    """

    channels: Indices
    rows: bool
    columns: bool

    @property
    def outputs(self) -> int:
        """Channels of the result."""
        return int(self.channels.max()) + 1

    @property
    def members(self) -> Indices:
        """The channels that form each channel of the result, one row each."""
        return np.argsort(self.channels, kind="stable").reshape(self.outputs, -1)

    def count(self, cube: CubeShape) -> int:
        """Return how many elements are reduced to one."""
        rows, columns = self.window(cube)
        return cube.channels // self.outputs * rows * columns

    def window(self, cube: CubeShape) -> tuple[int, int]:
        """Return the rows and columns that are reduced to one."""
        return cube.height if self.rows else 1, cube.width if self.columns else 1


def axes_of(op: OnnxOp, rank: int, builder: DlaBuilder) -> list[int]:
    """Return the axes that `op` reduces."""
    given: Any = op.properties.get("axes")
    axes = None if given is None else list(int_values(given) or ())
    if given is None and len(op.operands) > 1 and op.operands[1].type != NONE:
        axes = [int(axis) for axis in builder.weights(op.operands[1], "axes").reshape(-1)]
    if axes:
        return sorted(axis % rank for axis in axes)
    empty: Any = op.properties.get("noop_with_empty_axes")
    return [] if empty is not None and empty.value.data else list(range(rank))


def reduction_of(op: OnnxOp, shape: tuple[int, ...], cube: CubeShape, builder: DlaBuilder) -> CubeReduction:
    """
    Return how `op` reduces a tensor of `shape` stored as `cube`; refuse if channels mix with rows or columns.
    """
    result_shape = [
        1 if axis in axes_of(op, len(shape), builder) else size for axis, size in enumerate(shape)
    ]
    results = np.arange(prod(result_shape), dtype=np.int64).reshape(result_shape)
    here = np.broadcast_to(results, shape).reshape(cube)
    rows = bool(cube.height > 1 and np.all(here == here[:, :1]))
    columns = bool(cube.width > 1 and np.all(here == here[:, :, :1]))
    positions = (1 if rows else cube.height) * (1 if columns else cube.width)
    result = CubeReduction(here[:, 0, 0] // positions, rows, columns)
    y = np.zeros(cube.height, np.int64) if rows else np.arange(cube.height)
    x = np.zeros(cube.width, np.int64) if columns else np.arange(cube.width)
    indices = y[:, np.newaxis] * (1 if columns else cube.width) + x
    if np.any(here != result.channels[:, np.newaxis, np.newaxis] * positions + indices):
        builder.refuse(
            f"a reduction of {list(shape)} to {result_shape} that mixes channels with rows or columns"
        )
    return result


def summing(found: CubeReduction, cube: CubeShape, dtype: Any) -> Array:
    """Return kernels of ones that add the elements of a reduction."""
    weights = np.zeros((found.outputs, cube.channels, *found.window(cube)), dtype)
    weights[found.channels, np.arange(cube.channels)] = 1
    return weights


@lowers(*MEANS, *SUMS)
def total(op: OnnxOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """
    Lower ReduceMean and ReduceSum: poolings for rows and columns, a 1x1 convolution for channels; integers
    by a convolution with ones, which adds exactly, if it is small.
    """
    source, shape = builder.source(op.operands[0]), builder.result_shape(op)
    found = reduction_of(op, source.shape, source.cube, builder)
    count, window = found.count(source.cube), found.window(source.cube)
    if source.qparams is not None:
        limit = MAX_KERNEL_BYTES if max(window) > 1 else MAX_MATRIX_BYTES
        if found.outputs * source.cube.channels * prod(window) <= limit and max(window) <= 32:
            ones = summing(found, source.cube, np.int8)
            kernels = builder.fractions(ones, count if isinstance(op, MEANS) else 1)
            return builder.convolution(source, kernels, None, Window2D(window), shape)
        if found.outputs < source.cube.channels:
            builder.refuse(
                f"{list(source.shape)} to {list(shape)}: a reduction of channels too (the PDP takes rows and "
                "columns)"
            )
    pooled, correction = source.value, 1.0
    if found.rows or found.columns:
        pooled, correction = cascade(pooled, PoolMode.AVERAGE, builder, found.rows, found.columns)
    # A pooling has made means of rows and columns.
    factor = 1 / count if isinstance(op, MEANS) else 1.0
    if found.outputs == source.cube.channels:
        mean = builder.mean(source, pooled, np.full((1, 1), correction), shape)
        return builder.settled(builder.times(mean, factor * count))
    per_channel = CubeReduction(found.channels, False, False)
    factor *= correction * prod(window)
    weights = summing(per_channel, cube_of(pooled.type), np.float32) * np.float32(factor)
    return builder.convolution(Cube(pooled, source.shape), Kernels(weights), None, Window2D((1, 1)), shape)


@lowers(*EXTREMES)
def extreme(op: OnnxOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower ReduceMax and ReduceMin: poolings for rows and columns, comparisons for channels."""
    source = builder.source(op.operands[0])
    found = reduction_of(op, source.shape, source.cube, builder)
    value = extremes(source.value, found, EXTREMES[type(op)], builder)
    return builder.stored(value, builder.result_shape(op), source.qparams)


def extremes(
    value: SSAValue,
    found: CubeReduction,
    modes: tuple[PoolMode, AluFunction],
    builder: OperatorBuilder[TensorT],
) -> SSAValue:
    """Return the maximum or minimum of a reduction."""
    if found.rows or found.columns:
        value = cascade(value, modes[0], builder, found.rows, found.columns)[0]
    outputs, count = found.members.shape
    order: Indices = found.members.T.reshape(-1)
    value = chosen_channels(value, order, 0.0, builder)
    while count > 1:
        # Of an odd number the one in the middle is compared with itself.
        half = -(-count // 2)
        channels = np.arange(half * outputs, dtype=np.int64)
        first = chosen_channels(value, channels, 0.0, builder)
        second = chosen_channels(value, channels + (count - half) * outputs, 0.0, builder)
        stage = SdpStage(StageFunction.ALU, modes[1], mode=OperandMode.PER_POINT)
        value, count = builder.sdp(first, [(stage, second)]), half
    return value
