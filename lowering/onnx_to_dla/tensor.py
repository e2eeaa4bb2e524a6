"""Concat, Reshape, Transpose, Identity, Dropout and Softmax in FP16."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt
from xdsl.ir import SSAValue

from xonnc.dialects.dla.engines import SoftmaxOp as DlaSoftmaxOp
from xonnc.dialects.dla.storage import ConcatOp as DlaConcatOp
from xonnc.dialects.dla.storage import ReshapeOp as DlaReshapeOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops.math import SoftmaxOp, SoftmaxV11Op
from xonnc.dialects.onnx.ops.nn import DropoutOp, DropoutV10Op, FlattenOp
from xonnc.dialects.onnx.ops.tensor import (
    ConcatOp,
    IdentityOp,
    ReshapeOp,
    SqueezeOp,
    SqueezeV11Op,
    TransposeOp,
    UnsqueezeOp,
    UnsqueezeV11Op,
)
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.convolution import channels_of, convolution
from xonnc.lowering.onnx_to_dla.dla_builder import Array, Cube, DlaBuilder, cube_shape, lowers
from xonnc.targets.limits import lacks_emulator


@lowers(ConcatOp)
def concat(op: ConcatOp, builder: DlaBuilder) -> Cube:
    """Lower Concat. Producers write into one surface; nothing is copied if channels fill whole atoms."""
    shape = builder.result_shape(op)
    sources = [builder.cube(value) for value in op.inputs]
    return Cube(side_by_side(sources, op.axis.value.data % len(shape), shape, builder), shape)


MAX_PARTS = 64
"""Most slices of channels in one concatenation."""


def side_by_side(sources: Sequence[Cube], axis: int, shape: tuple[int, ...], builder: DlaBuilder) -> SSAValue:
    """Concatenate tensors to one of `shape` along an axis."""
    for source in sources:
        builder.check_spatial(source)
    if len(sources) == 1:
        return sources[0].value
    cube = cube_shape(shape)
    if cube is None:
        builder.refuse(f"an empty result of shape {list(shape)}")
    values = [source.value for source in sources]
    if is_position(axis, shape):
        return builder(DlaConcatOp(values, 3 if axis == len(shape) - 1 else 2, builder.cube_type(cube)))
    outer = prod(shape[:axis])
    if outer * len(values) > MAX_PARTS:
        builder.refuse(
            f"a concatenation of {outer * len(values)} slices (up to {MAX_PARTS}); use a smaller batch"
        )
    steps = [cube_of(value.type).channels // outer for value in values]
    if outer > 1:
        values = [
            channels_of(value, index * step, (index + 1) * step, builder)
            for index in range(outer)
            for value, step in zip(values, steps, strict=True)
        ]
    return builder(DlaConcatOp(values, 1, builder.cube_type(cube)))


def is_position(axis: int, shape: Sequence[int]) -> bool:
    """Whether an axis of a tensor is the rows or columns of its cube, not part of the channels."""
    return axis >= max(len(shape) - 2, 2)


@lowers(ReshapeOp, SqueezeOp, SqueezeV11Op, UnsqueezeOp, UnsqueezeV11Op)
def reshape(
    op: ReshapeOp | SqueezeOp | SqueezeV11Op | UnsqueezeOp | UnsqueezeV11Op, builder: DlaBuilder
) -> Cube:
    """Lower Reshape, Squeeze and Unsqueeze as views where the cube layout allows it."""
    return reshaped(op.data, builder.result_shape(op), builder)


@lowers(FlattenOp)
def flatten(op: FlattenOp, builder: DlaBuilder) -> Cube:
    """Lower Flatten as a view where the cube layout allows it."""
    return reshaped(op.input, builder.result_shape(op), builder)


@lowers(IdentityOp)
def identity(op: IdentityOp, builder: DlaBuilder) -> Cube:
    """Lower Identity as its operand."""
    return builder.cube(op.input)


@lowers(DropoutOp, DropoutV10Op)
def dropout(op: DropoutOp | DropoutV10Op, builder: DlaBuilder) -> Cube:
    """Lower Dropout, the identity at inference."""
    if op.mask.type != NONE and any(op.mask.uses):
        builder.refuse("the mask output is used; remove its uses")
    if isinstance(op, DropoutOp) and op.training_mode.type != NONE:
        if np.any(builder.weights(op.training_mode, "training_mode")):
            builder.refuse("training_mode 1 (random numbers are not supported); set it to 0")
    return builder.cube(op.data)


@lowers(TransposeOp)
def transpose(op: TransposeOp, builder: DlaBuilder) -> Cube:
    """
    Lower Transpose: nothing if only dimensions of size 1 move, a one-hot 1x1 convolution if only channels do,
    as in a channel shuffle.
    """
    source, shape = builder.cube(op.data), builder.result_shape(op)
    picked = channels_picked(op, source, builder)
    if picked is None:
        return reshaped(op.data, shape, builder)
    return Cube(
        convolution(source.value, picking(picked, np.float16), None, Window2D((1, 1)), builder), shape
    )


def picking(picked: Array, dtype: npt.DTypeLike = np.int8) -> Array:
    """Return one-hot 1x1 kernels that select the channels `picked`."""
    # Zeros take no memory until they are read or converted.
    weights = np.zeros((picked.size, picked.size, 1, 1), dtype)
    weights[np.arange(picked.size), picked] = 1
    return weights


def channels_picked(op: TransposeOp, source: Cube, builder: DlaBuilder) -> Array | None:
    """Return the channels of the result in their new order, `None` if nothing moves in memory."""
    rank = len(source.shape)
    order = int_values(op.perm) or tuple(reversed(range(rank)))
    moved = [dimension for dimension in order if source.shape[dimension] != 1]
    if moved == sorted(moved):
        return None
    channels = source.cube.channels
    leading = max((end for end in range(rank + 1) if prod(source.shape[:end]) == channels), default=0)
    inner, outer = list(order[:leading]), list(order[leading:])
    if sorted(inner) != list(range(leading)) or outer != sorted(outer):
        builder.refuse(
            f"perm {list(order)} of {list(source.shape)} moves rows or columns (the core permutes channels)"
        )
    return np.arange(channels).reshape(source.shape[:leading]).transpose(inner).reshape(-1)


@lowers(SoftmaxOp)
def softmax(op: SoftmaxOp, builder: DlaBuilder) -> Cube:
    """Lower Softmax over the channels of one position, on the CPU emulator."""
    return _softmax(op.input, op.axis.value.data, False, builder)


@lowers(SoftmaxV11Op)
def softmax_11(op: SoftmaxV11Op, builder: DlaBuilder) -> Cube:
    """Lower Softmax of opset 11 and before, over all dimensions from `axis` on."""
    return _softmax(op.input, op.axis.value.data, True, builder)


def reshaped(value: SSAValue, shape: tuple[int, ...], builder: DlaBuilder) -> Cube:
    """
    Return `value` with another shape.

    Height and width may change for free. Any other reshape leaves the cube as stored: operators that depend
    on rows and columns check that they are those of the shape (`DlaBuilder.spatial_cube`).
    """
    source, cube = builder.cube(value).value, cube_shape(shape)
    here = cube_of(source.type)
    if cube is None or cube == here or (cube.channels, cube.positions) != (here.channels, here.positions):
        return Cube(source, shape)
    return Cube(builder(DlaReshapeOp(source, builder.cube_type(cube))), shape)


def _softmax(value: SSAValue, axis: int, flattens: bool, builder: DlaBuilder) -> Cube:
    source = builder.cube(value)
    check_softmax(source, axis, flattens, builder)
    return Cube(builder(DlaSoftmaxOp(source.value, source.value.type)), source.shape)


def check_softmax(source: Cube, axis: int, flattens: bool, builder: DlaBuilder) -> None:
    """
    Refuse a softmax (`flattens`: over all dimensions from `axis` on) that the emulator does not support.
    """
    builder.check(lacks_emulator(builder.target))
    axis %= len(source.shape)
    elements = prod(source.shape[axis:] if flattens else (source.shape[axis],))
    if source.cube != CubeShape(elements, 1, 1):
        builder.refuse(
            f"softmax over {elements} elements of {list(source.shape)} (the emulator takes the channels of a "
            "single position)"
        )
