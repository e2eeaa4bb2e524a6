"""
Operators that change shapes (concatenation, reshapes, transpositions), what training leaves, and softmax.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.engines import SoftmaxOp as DlaSoftmaxOp
from xonnc.dialects.dla.storage import ConcatOp as DlaConcatOp
from xonnc.dialects.dla.storage import ReshapeOp as DlaReshapeOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.attributes import int_values
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
from xonnc.lowering.dla_planning.window import Window
from xonnc.lowering.onnx_to_dla.convolution import channels_of, convolution
from xonnc.lowering.onnx_to_dla.dla_builder import Array, Cube, DlaBuilder, cube_shape, lowers
from xonnc.targets.limits import lacks_emulator


@lowers(ConcatOp)
def concat(op: ConcatOp, builder: DlaBuilder) -> Cube:
    """
    Cubes side by side: producers write into one surface, nothing is copied where channels fill whole atoms.
    """
    shape = builder.result_shape(op)
    sources = [builder.cube(value) for value in op.inputs]
    return Cube(side_by_side(sources, op.axis.value.data % len(shape), shape, builder), shape)


MAX_PARTS = 64
"""Parts of channels that one concatenation may have."""


def side_by_side(sources: Sequence[Cube], axis: int, shape: tuple[int, ...], builder: DlaBuilder) -> SSAValue:
    """Tensors joined to one of `shape` along a dimension."""
    for source in sources:
        builder.check_spatial(source)
    if len(sources) == 1:
        return sources[0].value
    cube = cube_shape(shape)
    if cube is None:
        builder.refuse(f"a concatenation of {list(shape)}, which has no elements")
    values = [source.value for source in sources]
    if is_position(axis, shape):
        return builder(DlaConcatOp(values, 3 if axis == len(shape) - 1 else 2, builder.cube_type(cube)))
    outer = prod(shape[:axis])
    if outer * len(values) > MAX_PARTS:
        builder.refuse(f"a concatenation of {outer * len(values)} parts (up to {MAX_PARTS}); cut the batch")
    steps = [cube_of(value.type).channels // outer for value in values]
    if outer > 1:
        values = [
            channels_of(value, index * step, (index + 1) * step, builder)
            for index in range(outer)
            for value, step in zip(values, steps, strict=True)
        ]
    return builder(DlaConcatOp(values, 1, builder.cube_type(cube)))


def is_position(axis: int, shape: Sequence[int]) -> bool:
    """Whether a dimension of a tensor is the rows or columns of its cube; else it is of the channels."""
    return axis >= max(len(shape) - 2, 2)


@lowers(ReshapeOp, SqueezeOp, SqueezeV11Op, UnsqueezeOp, UnsqueezeV11Op)
def reshape(
    op: ReshapeOp | SqueezeOp | SqueezeV11Op | UnsqueezeOp | UnsqueezeV11Op, builder: DlaBuilder
) -> Cube:
    """Another shape for the same elements in the same order."""
    return reshaped(op.data, builder.result_shape(op), builder)


@lowers(FlattenOp)
def flatten(op: FlattenOp, builder: DlaBuilder) -> Cube:
    """Another shape for the same elements in the same order."""
    return reshaped(op.input, builder.result_shape(op), builder)


@lowers(IdentityOp)
def identity(op: IdentityOp, builder: DlaBuilder) -> Cube:
    """Nothing."""
    return builder.cube(op.input)


@lowers(DropoutOp, DropoutV10Op)
def dropout(op: DropoutOp | DropoutV10Op, builder: DlaBuilder) -> Cube:
    """Nothing, at inference."""
    if op.mask.type != NONE and any(op.mask.uses):
        builder.refuse("a mask that somebody reads; drop the second output")
    if isinstance(op, DropoutOp) and op.training_mode.type != NONE:
        if np.any(builder.weights(op.training_mode, "training_mode")):
            builder.refuse("training_mode 1 (the engines draw no random numbers); set it to 0")
    return builder.cube(op.data)


@lowers(TransposeOp)
def transpose(op: TransposeOp, builder: DlaBuilder) -> Cube:
    """
    Another order of dimensions: nothing where only ones move, a 1x1 convolution with ones where only
    channels do.

    A channel shuffle is of that kind: the dimensions that make up the channels change places, rows and
    columns stay.
    """
    source, shape = builder.cube(op.data), builder.result_shape(op)
    picked = channels_picked(op, source, builder)
    if picked is None:
        return reshaped(op.data, shape, builder)
    return Cube(
        convolution(source.value, picking(picked).astype(np.float16), None, Window((1, 1)), builder), shape
    )


def picking(picked: Array) -> Array:
    """Kernels of a 1x1 convolution whose outputs are the channels `picked`."""
    weights = np.zeros((picked.size, picked.size, 1, 1), np.int8)
    weights[np.arange(picked.size), picked] = 1
    return weights


def channels_picked(op: TransposeOp, source: Cube, builder: DlaBuilder) -> Array | None:
    """The channels of the result in their new order; `None` if nothing moves in memory."""
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
    """Softmax over the channels of one position, a task of the CPU emulator."""
    return _softmax(op.input, op.axis.value.data, False, builder)


@lowers(SoftmaxV11Op)
def softmax_11(op: SoftmaxV11Op, builder: DlaBuilder) -> Cube:
    """Softmax over everything from `axis` on, as it was before opset 13."""
    return _softmax(op.input, op.axis.value.data, True, builder)


def reshaped(value: SSAValue, shape: tuple[int, ...], builder: DlaBuilder) -> Cube:
    """
    `value` under another shape.

    Rows and columns alone are counted anew for free. Any other reshape leaves the cube as it is: whoever
    needs its rows and columns checks that they are the shape's (`DlaBuilder.image`).
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
    """Gives up a softmax (`flattens`: of everything from `axis` on) that the emulator does not take."""
    builder.check(lacks_emulator(builder.target))
    axis %= len(source.shape)
    elements = prod(source.shape[axis:] if flattens else (source.shape[axis],))
    if source.cube != CubeShape(elements, 1, 1):
        builder.refuse(
            f"softmax over {elements} elements of {list(source.shape)} (the emulator takes the channels of a "
            "single position)"
        )
