"""Operators that move elements."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.attributes import values_of
from xonnc.dialects.onnx.ops import math, tensor
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.channel_blocking import join
from xonnc.lowering.onnx_to_krnl.dynamic_slicing import slice_where_fed
from xonnc.lowering.onnx_to_krnl.elementwise_fusion import Point, at_each_point
from xonnc.lowering.onnx_to_krnl.lowering_builder import Lowering, moves, takes_open
from xonnc.lowering.onnx_to_krnl.strided_copies import Along, Side, copy, loop, plain
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size, are_known, greatest, is_known, least
from xonnc.rewriting.patterns import Array


@at_each_point(math.ExpandOp)
def expand(op: math.ExpandOp, at: Point) -> SSAValue:
    """Broadcast, as every operand is."""
    return at(op.input)


takes_open(
    tensor.ConcatOp, tensor.SliceOp, tensor.SplitOp, tensor.SplitV11Op, tensor.SplitV13Op, tensor.TransposeOp
)


@moves(tensor.TransposeOp)
def transpose(op: tensor.TransposeOp, to: Lowering) -> str | None:
    """Axes in another order."""
    shape = to.sizes(op.data)
    order = values_of(op.perm) or tuple(reversed(range(len(shape))))
    sizes = [shape[axis] for axis in order]
    places = [loop(order.index(axis)) for axis in range(len(shape))]
    source = to.buffer(op.data)
    target = to.result(op.transposed)
    copy("transpose", sizes, Side(target, sizes, plain(len(shape))), Side(source, shape, places), to)
    return None


@moves(tensor.ConcatOp)
def concat(op: tensor.ConcatOp, to: Lowering) -> str | None:
    """The inputs one after the other along `axis`; images in blocks may lie there already."""
    if op.concat_result in to.layouts.blocked:
        join(op.concat_result, op.inputs, to)
        return None
    shape = to.sizes(op.concat_result)
    axis = op.axis.value.data % len(shape)
    sources = [to.buffer(value) for value in op.inputs]
    target = to.result(op.concat_result)
    start: Size = 0
    for value, source in zip(op.inputs, sources, strict=True):
        sizes = to.sizes(value)
        places = [loop(each, offset=start if each == axis else 0) for each in range(len(shape))]
        copy("concat", sizes, Side(target, shape, places), Side(source, sizes, plain(len(shape))), to)
        start = start + sizes[axis]
    return None


@moves(tensor.SplitOp, tensor.SplitV11Op, tensor.SplitV13Op)
def split(op: tensor.SplitOp | tensor.SplitV11Op | tensor.SplitV13Op, to: Lowering) -> str | None:
    """Parts of the input along `axis`, one behind the other."""
    shape = to.sizes(op.input)
    axis = op.axis.value.data % len(shape)
    source = to.buffer(op.input)
    start: Size = 0
    for result in op.outputs:
        sizes = to.sizes(result)
        places = [loop(each, offset=start if each == axis else 0) for each in range(len(shape))]
        target = Side(to.result(result), sizes, plain(len(shape)))
        copy("split", sizes, target, Side(source, shape, places), to)
        start = start + sizes[axis]
    return None


@moves(tensor.SliceOp)
def slice_(op: tensor.SliceOp, to: Lowering) -> str | None:
    """A part of each axis, in steps that may go backwards."""
    shape, sizes = to.sizes(op.data), to.sizes(op.output)
    starts, axes, steps = integers_of(op.starts, to), integers_of(op.axes, to), integers_of(op.steps, to)
    if (axes is None and op.axes.type != NONE) or (steps is None and op.steps.type != NONE):
        return "axes or steps that are no constants"
    (count,) = to.sizes(op.starts)
    assert is_known(count)
    axes = [axis % len(shape) for axis in (range(count) if axes is None else axes)]
    steps = [1] * count if steps is None else steps
    if starts is None and are_known((*shape, *sizes)):
        return slice_where_fed(op, axes, steps, to)
    if starts is None:
        return "starts that are no constants"
    places = plain(len(shape))
    for axis, start, step in zip(axes, starts, steps, strict=True):
        size = shape[axis]
        first = start + size if start < 0 else start
        if is_known(first) and is_known(size):
            first = min(max(first, 0), size if step > 0 else size - 1)
        elif step < 0:
            return "backwards along an axis whose size only a run tells"
        else:
            first = greatest(first, 0) if start < 0 else least(first, size)
        places[axis] = loop(axis, step, first)
    source = to.buffer(op.data)
    target = to.result(op.output)
    copy("slice", sizes, Side(target, sizes, plain(len(shape))), Side(source, shape, places), to)
    return None


@moves(tensor.TileOp)
def tile(op: tensor.TileOp, to: Lowering) -> str | None:
    """The input repeated along each axis."""
    shape, out = to.shape(op.input), to.shape(op.output)
    rank = len(shape)
    repeats = [whole // part for whole, part in zip(out, shape, strict=True)]
    places = [Along(((axis, shape[axis]), (rank + axis, 1))) for axis in range(rank)]
    source = to.buffer(op.input)
    target = to.result(op.output)
    inner = [loop(rank + axis) for axis in range(rank)]
    copy("tile", [*repeats, *shape], Side(target, out, places), Side(source, shape, inner), to)
    return None


@moves(tensor.DepthToSpaceOp)
def depth_to_space(op: tensor.DepthToSpaceOp, to: Lowering) -> str | None:
    """Blocks of channels become squares of pixels."""
    n, c, h, w = to.shape(op.input)
    size = op.blocksize.value.data
    depth = c // size**2
    is_depth_first = op.mode.data == "DCR"
    shape = (n, size, size, depth, h, w) if is_depth_first else (n, depth, size, size, h, w)
    # Loops: image, channel, row, row in the block, column, column in the block.
    order = (0, 3, 5, 1, 2, 4) if is_depth_first else (0, 1, 3, 5, 2, 4)
    sizes = (n, depth, h, size, w, size)
    source = Side(to.buffer(op.input), shape, [loop(number) for number in order])
    copy("depthtospace", sizes, Side(to.result(op.output), sizes, plain(6)), source, to)
    return None


@moves(tensor.SpaceToDepthOp)
def space_to_depth(op: tensor.SpaceToDepthOp, to: Lowering) -> str | None:
    """Squares of pixels become blocks of channels."""
    n, c, h, w = to.shape(op.input)
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
    source = Side(to.buffer(op.input), shape, [loop(number) for number in order])
    copy("spacetodepth", sizes, Side(to.result(op.output), sizes, plain(6)), source, to)
    return None


def as_stored(value: Array) -> float:
    """The one element of a constant as it lies in a buffer: bits of what numpy does not compute with."""
    first = np.ascontiguousarray(value).reshape(-1)[:1]
    if first.dtype.kind in "fb" and first.dtype.isbuiltin == 1:
        return first.item()
    return first.view(f"i{first.dtype.itemsize}").item()


def integers_of(value: SSAValue, to: Lowering) -> list[int] | None:
    """The numbers of a constant; `None` if it is none, or not there."""
    if value.type == NONE:
        return None
    array = to.constant(value)
    return None if array is None else [int(number) for number in np.asarray(array, np.int64).reshape(-1)]
