"""Operators that move elements: Expand, Transpose, Concat, Split, Slice, Tile, DepthToSpace, SpaceToDepth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops import math, tensor
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.channel_blocking import join, split_blocks
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    LoweringBuilder,
    lowers_data_movement,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import (
    AffineAccess,
    IndexExpr,
    copy,
    dim,
    identity_map,
)
from xonnc.lowering.onnx_to_krnl.math.elementwise_fusion import ElementwiseBody, lowers_elementwise
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import (
    Size,
    are_static,
    is_static,
    max_size,
    min_size,
    static_sizes,
)
from xonnc.lowering.onnx_to_krnl.tensor.dynamic_slicing import cut_slice, slice_where_fed
from xonnc.rewriting.patterns import Array
from xonnc.transforms.shapes.slicing import FAR


@lowers_elementwise(math.ExpandOp)
def expand(op: math.ExpandOp, body: ElementwiseBody) -> Scalar:
    """Broadcasting, as for any elementwise operand."""
    return body(op.input)


supports_dynamic_shapes(
    tensor.ConcatOp,
    tensor.SliceOp,
    tensor.SplitOp,
    tensor.SplitV11Op,
    tensor.SplitV13Op,
    tensor.TileOp,
    tensor.TransposeOp,
)


@lowers_data_movement(tensor.TransposeOp)
def transpose(op: tensor.TransposeOp, builder: LoweringBuilder) -> str | None:
    """Permute the axes."""
    shape = builder.sizes(op.data)
    order = int_values(op.perm) or tuple(reversed(range(len(shape))))
    sizes = [shape[axis] for axis in order]
    exprs = [dim(order.index(axis)) for axis in range(len(shape))]
    source = builder.buffer(op.data)
    target = builder.result(op.transposed)
    copy("transpose", sizes, AffineAccess.whole(target, sizes), AffineAccess(source, shape, exprs), builder)
    return None


@lowers_data_movement(tensor.ConcatOp)
def concat(op: tensor.ConcatOp, builder: LoweringBuilder) -> str | None:
    """Concatenate along `axis`; NCHWc operands may have been written in place."""
    if op.concat_result in builder.layouts.blocked:
        join(op.concat_result, op.inputs, builder)
        return None
    shape = builder.sizes(op.concat_result)
    axis = op.axis.value.data % len(shape)
    sources = [builder.buffer(value) for value in op.inputs]
    target = builder.result(op.concat_result)
    start: Size = 0
    for value, source in zip(op.inputs, sources, strict=True):
        sizes = builder.sizes(value)
        exprs = [dim(each, offset=start if each == axis else 0) for each in range(len(shape))]
        copy("concat", sizes, AffineAccess(target, shape, exprs), AffineAccess.whole(source, sizes), builder)
        start = start + sizes[axis]
    return None


@lowers_data_movement(tensor.SplitOp, tensor.SplitV11Op, tensor.SplitV13Op)
def split(op: tensor.SplitOp | tensor.SplitV11Op | tensor.SplitV13Op, builder: LoweringBuilder) -> str | None:
    """Split into parts along `axis`; NCHWc images into whole blocks of channels."""
    if op.outputs[0] in builder.layouts.blocked:
        split_blocks(op.input, op.outputs, builder)
        return None
    shape = builder.sizes(op.input)
    axis = op.axis.value.data % len(shape)
    source = builder.buffer(op.input)
    start: Size = 0
    for result in op.outputs:
        sizes = builder.sizes(result)
        exprs = [dim(each, offset=start if each == axis else 0) for each in range(len(shape))]
        target = AffineAccess.whole(builder.result(result), sizes)
        copy("split", sizes, target, AffineAccess(source, shape, exprs), builder)
        start = start + sizes[axis]
    return None


@lowers_data_movement(tensor.SliceOp)
def slice_(op: tensor.SliceOp, builder: LoweringBuilder) -> str | None:
    """Slice each axis with a start and a step, which may be negative."""
    shape, sizes = builder.sizes(op.data), builder.known_sizes(op.output)
    starts, axes, steps = (
        integers_of(op.starts, builder),
        integers_of(op.axes, builder),
        integers_of(op.steps, builder),
    )
    if (axes is None and op.axes.type != NONE) or (steps is None and op.steps.type != NONE):
        return "axes or steps are not constants"
    (count,) = builder.sizes(op.starts)
    assert is_static(count)
    axes = [axis % len(shape) for axis in (range(count) if axes is None else axes)]
    steps = [1] * count if steps is None else steps
    if sizes is None:
        return cut_slice(op, axes[0], steps[0], builder)
    if starts is None and are_static((*shape, *sizes)):
        return slice_where_fed(op, axes, steps, builder)
    if starts is None:
        return "starts are not constants"
    exprs = identity_map(len(shape))
    for axis, start, step in zip(axes, starts, steps, strict=True):
        size = shape[axis]
        # The highest int64 is no size, which the minimum with one would be.
        first = start + size if start < 0 else min(start, FAR)
        if is_static(first) and is_static(size):
            first = min(max(first, 0), size if step > 0 else size - 1)
        else:
            first = max_size(first, 0) if start < 0 else min_size(first, size if step > 0 else size - 1)
        exprs[axis] = dim(axis, step, first)
    source = builder.buffer(op.data)
    target = builder.result(op.output)
    copy("slice", sizes, AffineAccess.whole(target, sizes), AffineAccess(source, shape, exprs), builder)
    return None


@lowers_data_movement(tensor.TileOp)
def tile(op: tensor.TileOp, builder: LoweringBuilder) -> str | None:
    """Repeat the input along each axis."""
    shape, out = builder.sizes(op.input), builder.sizes(op.output)
    rank = len(shape)
    repeats: Sequence[Size] | None = integers_of(op.repeats, builder)
    if repeats is None:
        if not all(is_static(part) and part for part in shape):
            return "repeats along a dynamic axis are not constants"
        repeats = [total // part for total, part in zip(out, static_sizes(shape), strict=True)]
    exprs = [IndexExpr(((axis, shape[axis]), (rank + axis, 1))) for axis in range(rank)]
    source = builder.buffer(op.input)
    target = builder.result(op.output)
    inner = [dim(rank + axis) for axis in range(rank)]
    copy(
        "tile",
        [*repeats, *shape],
        AffineAccess(target, out, exprs),
        AffineAccess(source, shape, inner),
        builder,
    )
    return None


@lowers_data_movement(tensor.DepthToSpaceOp)
def depth_to_space(op: tensor.DepthToSpaceOp, builder: LoweringBuilder) -> str | None:
    """Rearrange channels into squares of `blocksize²` pixels."""
    n, c, h, w = builder.shape(op.input)
    size = op.blocksize.value.data
    depth = c // size**2
    is_depth_first = op.mode.data == "DCR"
    shape = (n, size, size, depth, h, w) if is_depth_first else (n, depth, size, size, h, w)
    # Loops: image, channel, row, row in the block, column, column in the block.
    order = (0, 3, 5, 1, 2, 4) if is_depth_first else (0, 1, 3, 5, 2, 4)
    sizes = (n, depth, h, size, w, size)
    source = AffineAccess(builder.buffer(op.input), shape, [dim(number) for number in order])
    copy("depthtospace", sizes, AffineAccess.whole(builder.result(op.output), sizes), source, builder)
    return None


@lowers_data_movement(tensor.SpaceToDepthOp)
def space_to_depth(op: tensor.SpaceToDepthOp, builder: LoweringBuilder) -> str | None:
    """Rearrange squares of `blocksize²` pixels into channels."""
    n, c, h, w = builder.shape(op.input)
    size = op.blocksize.value.data
    is_depth_first = op.mode.data == "DCR"
    sizes = (
        (n, size, size, c, h // size, w // size)
        if is_depth_first
        else (n, c, size, size, h // size, w // size)
    )
    shape = (n, c, h // size, size, w // size, size)
    # Loops: image, (channel,) row in the block, column in the block, (channel,) row, column.
    order = (0, 3, 4, 1, 5, 2) if is_depth_first else (0, 1, 4, 2, 5, 3)
    source = AffineAccess(builder.buffer(op.input), shape, [dim(number) for number in order])
    copy("spacetodepth", sizes, AffineAccess.whole(builder.result(op.output), sizes), source, builder)
    return None


def as_stored(value: Array) -> float:
    """Return the one element of a constant as stored: for types numpy lacks, its bits as an integer."""
    first = np.ascontiguousarray(value).reshape(-1)[:1]
    if first.dtype.kind in "fb" and first.dtype.isbuiltin == 1:
        return first.item()
    return first.view(f"i{first.dtype.itemsize}").item()


def integers_of(value: SSAValue, builder: LoweringBuilder) -> list[int] | None:
    """Return the integers of a constant; None if it is absent or not a constant."""
    if value.type == NONE:
        return None
    array = builder.constant(value)
    return None if array is None else [int(number) for number in np.asarray(array, np.int64).reshape(-1)]
