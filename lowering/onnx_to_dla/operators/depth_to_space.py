"""DepthToSpace and SpaceToDepth: interleaved copies, and one-hot convolutions."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.types import cube_of
from xonnc.dialects.onnx.ops.tensor import DepthToSpaceOp, SpaceToDepthOp
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import DlaBuilder
from xonnc.lowering.onnx_to_dla.builders.operator_builder import OperatorBuilder, TensorT, lowers
from xonnc.lowering.onnx_to_dla.operators.selection import picked_channels
from xonnc.lowering.onnx_to_dla.operators.upsampling import interleave


@lowers(DepthToSpaceOp)
def depth_to_space(op: DepthToSpaceOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower DepthToSpace: interleave blocks of channels as rows and columns."""
    check_one(op, builder)
    return builder.moved(
        op.input,
        builder.result_shape(op),
        lambda value: squares(ordered(op, value, builder), op.blocksize.value.data, builder),
    )


@lowers(SpaceToDepthOp)
def space_to_depth(op: SpaceToDepthOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower SpaceToDepth as a strided convolution with one-hot kernels."""
    check_one(op, builder)
    return builder.moved(op.input, builder.result_shape(op), lambda value: depths(op, value, builder))


def check_one(op: DepthToSpaceOp | SpaceToDepthOp, builder: DlaBuilder) -> None:
    """Refuse a batch size other than 1: channels of several images would have to be permuted."""
    if (batch := builder.result_shape(op)[:1]) != (1,):
        builder.refuse(f"batch size {batch[0]} (channels of one image are rearranged); use batch size 1")


def ordered(op: DepthToSpaceOp, image: SSAValue, builder: OperatorBuilder[TensorT]) -> SSAValue:
    """
    Return the image with the channels of each block position adjacent, which is `mode` DCR; CRD takes a
    permutation.
    """
    if op.mode.data == "DCR":
        return image
    channels, size = cube_of(image.type).channels, op.blocksize.value.data
    channel_order = np.arange(channels).reshape(-1, size * size).T.reshape(-1)
    return picked_channels(image, channel_order, 0.0, builder)


def squares(image: SSAValue, size: int, builder: DlaBuilder) -> SSAValue:
    """Interleave blocks of channels as squares of `size` by `size` pixels."""
    step = cube_of(image.type).channels // (size * size)
    made = [
        [
            builder.channels(image, (row * size + column) * step, (row * size + column + 1) * step)
            for column in range(size)
        ]
        for row in range(size)
    ]
    return interleave(made, builder)


def depths(op: SpaceToDepthOp, image: SSAValue, builder: OperatorBuilder[TensorT]) -> SSAValue:
    """Return squares of pixels as blocks of channels, in the order of `mode`."""
    channels, size = cube_of(image.type).channels, op.blocksize.value.data
    weights = np.zeros((size, size, channels, channels, size, size), np.int8)
    for row in range(size):
        for column in range(size):
            weights[row, column, :, :, row, column] = np.eye(channels, dtype=np.int8)
    if op.mode.data == "CRD":
        weights = np.ascontiguousarray(weights.transpose(2, 0, 1, 3, 4, 5))
    kernels = weights.reshape(-1, channels, size, size)
    return builder.one_hot_convolution(image, kernels, Window2D((size, size), (size, size)))
