"""DepthToSpace and SpaceToDepth in FP16 and INT8: interleaved copies, and one-hot convolutions."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import Converter
from xonnc.dialects.dla.types import cube_of
from xonnc.dialects.onnx.ops.tensor import DepthToSpaceOp, SpaceToDepthOp
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla import quantized_builder
from xonnc.lowering.onnx_to_dla.convolution import channels_of, convolution
from xonnc.lowering.onnx_to_dla.dequantized import Dequantized
from xonnc.lowering.onnx_to_dla.dla_builder import Array, Cube, DlaBuilder, lowers
from xonnc.lowering.onnx_to_dla.quantized_builder import QuantizedDlaBuilder, StoredIntegers
from xonnc.lowering.onnx_to_dla.selection import one_hot
from xonnc.lowering.onnx_to_dla.upsampling import interleave


@lowers(DepthToSpaceOp)
def depth_to_space(op: DepthToSpaceOp, builder: DlaBuilder) -> Cube:
    """Lower DepthToSpace: interleave blocks of channels as rows and columns."""
    image = ordered(op, builder.spatial_cube(op.input), builder)
    return Cube(squares(image, op.blocksize.value.data, builder), builder.result_shape(op))


@quantized_builder.lowers(DepthToSpaceOp)
def depth_to_space_of_integers(
    op: DepthToSpaceOp, builder: QuantizedDlaBuilder
) -> Dequantized | StoredIntegers:
    """Lower DepthToSpace on int8: interleave blocks of channels as rows and columns."""
    check_one(op, builder)
    return builder.moved(
        op.input,
        builder.result_shape(op),
        lambda value: squares(ordered(op, value, builder), op.blocksize.value.data, builder),
    )


def check_one(op: DepthToSpaceOp | SpaceToDepthOp, builder: DlaBuilder) -> None:
    """Refuse a batch size other than 1: channels of several images would have to be permuted."""
    if (batch := builder.result_shape(op)[:1]) != (1,):
        builder.refuse(f"batch size {batch[0]} (channels of one image are rearranged); use batch size 1")


def ordered(op: DepthToSpaceOp, image: SSAValue, builder: DlaBuilder) -> SSAValue:
    """
    Return the image with the channels of each block position adjacent, which is `mode` DCR; CRD takes a
    permutation.
    """
    check_one(op, builder)
    if op.mode.data == "DCR":
        return image
    channels, size = cube_of(image.type).channels, op.blocksize.value.data
    channel_order = np.arange(channels).reshape(-1, size * size).T.reshape(-1)
    return convolved(image, one_hot(channel_order, channels), Window2D((1, 1)), builder)


def squares(image: SSAValue, size: int, builder: DlaBuilder) -> SSAValue:
    """Interleave blocks of channels as squares of `size` by `size` pixels."""
    step = cube_of(image.type).channels // (size * size)
    made = [
        [
            channels_of(image, (row * size + column) * step, (row * size + column + 1) * step, builder)
            for column in range(size)
        ]
        for row in range(size)
    ]
    return interleave(made, builder)


def convolved(image: SSAValue, weights: Array, window: Window2D, builder: DlaBuilder) -> SSAValue:
    """Apply a convolution with one-hot kernels, which moves elements without changing them."""
    if isinstance(builder, QuantizedDlaBuilder):
        return builder.requantized(builder.conv(image, builder.kernels(weights), window), [], Converter())
    return convolution(image, weights.astype(np.float16), None, window, builder)


@lowers(SpaceToDepthOp)
def space_to_depth(op: SpaceToDepthOp, builder: DlaBuilder) -> Cube:
    """Lower SpaceToDepth as a strided convolution with one-hot kernels."""
    check_one(op, builder)
    return Cube(depths(op, builder.spatial_cube(op.input), builder), builder.result_shape(op))


@quantized_builder.lowers(SpaceToDepthOp)
def space_to_depth_of_integers(
    op: SpaceToDepthOp, builder: QuantizedDlaBuilder
) -> Dequantized | StoredIntegers:
    """Lower SpaceToDepth on int8 as a strided convolution with one-hot kernels."""
    check_one(op, builder)
    return builder.moved(op.input, builder.result_shape(op), lambda value: depths(op, value, builder))


def depths(op: SpaceToDepthOp, image: SSAValue, builder: DlaBuilder) -> SSAValue:
    """Return squares of pixels as blocks of channels, in the order of `mode`."""
    channels, size = cube_of(image.type).channels, op.blocksize.value.data
    weights = np.zeros((size, size, channels, channels, size, size), np.int8)
    for row in range(size):
        for column in range(size):
            weights[row, column, :, :, row, column] = np.eye(channels, dtype=np.int8)
    if op.mode.data == "CRD":
        weights = np.ascontiguousarray(weights.transpose(2, 0, 1, 3, 4, 5))
    kernels = weights.reshape(-1, channels, size, size)
    return convolved(image, kernels, Window2D((size, size), (size, size)), builder)
