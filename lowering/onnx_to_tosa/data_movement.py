"""Operators that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod

import numpy as np
from xdsl.dialects import tosa
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops import nn, tensor
from xonnc.dialects.onnx.ops.math.elementwise import ExpandOp
from xonnc.dialects.onnx.types import NONE, static_shape, tensor_type
from xonnc.dialects.tosa.data_movement import GatherOp, ReverseOp, TileOp
from xonnc.dialects.tosa.types import element_of, shape_of
from xonnc.lowering.onnx_to_tosa.tosa_builder import TosaBuilder, lowers
from xonnc.lowering.onnx_to_tosa.windows import cut, padded


@lowers(
    nn.DropoutOp,
    nn.DropoutV10Op,
    nn.DropoutV7Op,
    nn.FlattenOp,
    tensor.ReshapeOp,
    tensor.SqueezeOp,
    tensor.SqueezeV11Op,
    tensor.UnsqueezeOp,
    tensor.UnsqueezeV11Op,
)
def reshape(op: OnnxOp, builder: TosaBuilder) -> SSAValue:
    """The elements in the shape of the result."""
    if len(op.results) > 1 and op.results[1].first_use is not None:
        builder.refuse("the mask is read (inference has none)")
    return builder.reshape(builder.value(op.operands[0]), builder.result_shape(op))


@lowers(tensor.TransposeOp)
def transpose(op: tensor.TransposeOp, builder: TosaBuilder) -> SSAValue:
    """Dimensions in another order."""
    x = builder.value(op.data)
    return builder.transpose(x, int_values(op.perm) or tuple(reversed(range(len(shape_of(x))))))


@lowers(tensor.ConcatOp)
def concat(op: tensor.ConcatOp, builder: TosaBuilder) -> SSAValue:
    """Tensors one after another."""
    return joined([builder.value(each) for each in op.inputs], op.axis.value.data, builder)


def joined(parts: Sequence[SSAValue], axis: int, builder: TosaBuilder) -> SSAValue:
    """Return TOSA values one after another along an axis; empty ones are left out."""
    parts = [part for part in parts if 0 not in shape_of(part)] or parts[:1]
    shape = list(shape_of(parts[0]))
    axis %= len(shape)
    shape[axis] = sum(shape_of(part)[axis] for part in parts)
    if len(parts) == 1:
        return parts[0]
    type_ = tensor_type(tuple(shape), element_of(parts[0]))
    return builder.emit(tosa.ConcatOp, parts, type_, axis=IntegerAttr(axis, i32))


@lowers(tensor.SplitOp, tensor.SplitV13Op, tensor.SplitV11Op)
def split(op: OnnxOp, builder: TosaBuilder) -> list[SSAValue]:
    """A slice for each part."""
    x = builder.value(op.operands[0])
    axis = _axis(op) % len(shape_of(x))
    sizes = [static_shape(result.type) for result in op.results]
    starts = accumulate((0 if size is None else size[axis] for size in sizes), initial=0)
    made: list[SSAValue] = []
    for size, start in zip(sizes, starts, strict=False):
        if size is None:
            builder.refuse("a part has no static shape; give sizes of inputs")
        made.append(cut(x, [start if each == axis else 0 for each in range(len(size))], size, builder))
    return made


def _axis(op: OnnxOp) -> int:
    axis = op.properties.get("axis")
    return axis.value.data if isinstance(axis, IntegerAttr) else 0


@lowers(tensor.SliceOp)
def slice_(op: tensor.SliceOp, builder: TosaBuilder) -> SSAValue:
    """A part; steps other than 1 by reversing, and by a dimension of the step's size."""
    x = builder.value(op.data)
    shape = shape_of(x)
    starts, ends = (builder.fixed(each, "a bound").reshape(-1) for each in (op.starts, op.ends))
    axes = range(len(starts)) if op.axes.type == NONE else builder.fixed(op.axes, "an axis").reshape(-1)
    steps = [1] * len(starts) if op.steps.type == NONE else builder.fixed(op.steps, "a step").reshape(-1)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        along = int(axis) % len(shape)
        x = _strided(x, along, range(shape[along])[int(start) : int(end) : int(step)], builder)
    return x


def _strided(x: SSAValue, axis: int, positions: range, builder: TosaBuilder) -> SSAValue:
    """Return the elements at the places of a range along an axis."""
    if not positions:
        builder.refuse("the result is empty (TOSA's tensors are not)")
    if positions.step < 0:
        mirrored = builder.emit(ReverseOp, [x], x.type, axis=IntegerAttr(axis, i32))
        last = shape_of(x)[axis] - 1
        return _strided(
            mirrored, axis, range(last - positions[0], last - positions[-1] + 1, -positions.step), builder
        )
    shape, step = shape_of(x), positions.step if len(positions) > 1 else 1
    start, count = positions[0], len(positions)
    needed = start + count * step
    if needed > shape[axis] and step > 1:
        pads = [(0, needed - shape[axis] if each == axis else 0) for each in range(len(shape))]
        x = padded(x, pads, 0, builder)
    sizes = [count * step if each == axis else size for each, size in enumerate(shape)]
    x = cut(x, [start if each == axis else 0 for each in range(len(shape))], sizes, builder)
    if step == 1:
        return x
    # Every step-th element is the first of a row of `step` elements.
    rows = (prod(sizes[:axis]), count, step, prod(sizes[axis + 1 :]))
    firsts = cut(builder.reshape(x, rows), (0, 0, 0, 0), (rows[0], count, 1, rows[3]), builder)
    return builder.reshape(firsts, [*sizes[:axis], count, *sizes[axis + 1 :]])


@lowers(tensor.PadOp, tensor.PadV19Op, tensor.PadV18Op, tensor.PadV13Op)
def pad(op: OnnxOp, builder: TosaBuilder) -> SSAValue:
    """Constant elements around a tensor; negative pads cut elements off."""
    x = builder.value(op.operands[0])
    assert isinstance(op, tensor.PadOp | tensor.PadV19Op | tensor.PadV18Op | tensor.PadV13Op)
    if op.mode.data != "constant":
        builder.refuse(f"mode {op.mode.data} (TOSA pads with a constant)")
    shape = shape_of(x)
    given = [int(each) for each in builder.fixed(op.pads, "pads").reshape(-1)]
    axes = list(range(len(shape)))
    if not isinstance(op, tensor.PadV13Op) and op.axes.type != NONE:
        axes = [int(axis) % len(shape) for axis in builder.fixed(op.axes, "axes").reshape(-1)]
    half = len(given) // 2
    pairs = [(0, 0)] * len(shape)
    for index, axis in enumerate(axes):
        pairs[axis] = (given[index], given[half + index])
    value = 0.0
    if op.constant_value.type != NONE:
        value = builder.fixed(op.constant_value, "the value").reshape(-1)[0]
    cropped = [size + min(low, 0) + min(high, 0) for size, (low, high) in zip(shape, pairs, strict=True)]
    x = cut(x, [max(-low, 0) for low, _ in pairs], cropped, builder)
    return padded(x, [(max(low, 0), max(high, 0)) for low, high in pairs], value, builder)


@lowers(ExpandOp)
def expand(op: ExpandOp, builder: TosaBuilder) -> SSAValue:
    """Dimensions of size 1 repeated."""
    x, out = builder.value(op.input), builder.result_shape(op)
    x = builder.reshape(x, (1,) * (len(out) - len(shape_of(x))) + shape_of(x))
    return _tiled(
        x, [result_size // size for result_size, size in zip(out, shape_of(x), strict=True)], builder
    )


@lowers(tensor.TileOp)
def tile(op: tensor.TileOp, builder: TosaBuilder) -> SSAValue:
    """A tensor repeated along each dimension."""
    repeats = [int(each) for each in builder.fixed(op.repeats, "the number of repeats").reshape(-1)]
    return _tiled(builder.value(op.input), repeats, builder)


def _tiled(x: SSAValue, factors: Sequence[int], builder: TosaBuilder) -> SSAValue:
    if all(factor == 1 for factor in factors):
        return x
    if 0 in factors:
        builder.refuse("the result is empty (TOSA's tensors are not)")
    sizes = tuple(size * factor for size, factor in zip(shape_of(x), factors, strict=True))
    return builder.emit(TileOp, [x, builder.shape(factors)], tensor_type(sizes, element_of(x)))


@lowers(tensor.GatherOp)
def gather(op: tensor.GatherOp, builder: TosaBuilder) -> SSAValue:
    """Elements at constant indices along an axis: a slice for one index, else TOSA's gather."""
    x, indices = builder.value(op.data), builder.fixed(op.indices, "an index")
    shape = shape_of(x)
    axis = op.axis.value.data % len(shape)
    expected = np.where(indices < 0, indices + shape[axis], indices).reshape(-1)
    if expected.size == 1:
        return builder.reshape(
            _strided(x, axis, range(int(expected[0]), int(expected[0]) + 1), builder),
            builder.result_shape(op),
        )
    outer, inner = prod(shape[:axis]), prod(shape[axis + 1 :])
    rows = builder.reshape(x, (outer, shape[axis], inner))
    chosen = builder.const(np.tile(expected.astype(np.int32), (outer, 1)))
    type_ = tensor_type((outer, expected.size, inner), element_of(x))
    return builder.reshape(builder.emit(GatherOp, [rows, chosen], type_), builder.result_shape(op))


@lowers(tensor.DepthToSpaceOp)
def depth_to_space(op: tensor.DepthToSpaceOp, builder: TosaBuilder) -> SSAValue:
    """Channels moved to rows and columns, by a transpose between reshapes."""
    x, size = builder.value(op.input), op.blocksize.value.data
    batch, channels, rows, columns = shape_of(x)
    cropped = channels // size**2
    if op.mode.data == "CRD":
        split_up = builder.reshape(x, (batch, cropped, size, size, rows * columns))
        split_up = builder.reshape(split_up, (batch * cropped, size, size, rows, columns))
        order = (0, 3, 1, 4, 2)
        return builder.reshape(builder.transpose(split_up, order), builder.result_shape(op))
    split_up = builder.reshape(x, (batch, size, size, cropped, rows, columns))
    return builder.reshape(builder.transpose(split_up, (0, 3, 4, 1, 5, 2)), builder.result_shape(op))


@lowers(tensor.SpaceToDepthOp)
def space_to_depth(op: tensor.SpaceToDepthOp, builder: TosaBuilder) -> SSAValue:
    """Rows and columns moved to channels, by a transpose between reshapes."""
    x, size = builder.value(op.input), op.blocksize.value.data
    batch, channels, rows, columns = shape_of(x)
    split_up = builder.reshape(x, (batch, channels, rows // size, size, columns // size, size))
    return builder.reshape(builder.transpose(split_up, (0, 3, 5, 1, 2, 4)), builder.result_shape(op))
