"""
Slice, Split, Gather, Tile, Expand and Pad.

Each selection is an index array in the shape of its result: the flat index of the source element, `FILL` for
padding. If channels, rows and columns are selected independently, rows and columns become slices that are
concatenated, and channels a slice or a one-hot 1x1 convolution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import PoolMode
from xonnc.dialects.dla.storage import ConcatOp, SliceOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops import tensor
from xonnc.dialects.onnx.ops.math import ExpandOp
from xonnc.dialects.onnx.types import NONE, static_shape
from xonnc.formats.nvdla.geometry import MAX_POOL, channels_per_atom
from xonnc.lowering.dla_planning.feasibility import conv_limits
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import DlaBuilder, cube_shape
from xonnc.lowering.onnx_to_dla.builders.every_nth import part_of, resized
from xonnc.lowering.onnx_to_dla.builders.operator_builder import OperatorBuilder, TensorT, lowers
from xonnc.lowering.onnx_to_dla.operators.pooling import pool
from xonnc.targets.limits import DIMENSION

Indices = npt.NDArray[np.int64]

FILL = -1
"""The index of padding."""

MAX_SLICES = 64
"""Most slices that one dimension of a result may consist of."""

FEW = 8
"""Most rows or columns that are copied one by one if they are too far apart for the PDP."""

MAX_ELEMENTS = 1 << 25
"""Largest tensor whose index array (8 bytes per element) is computed."""


@dataclass(frozen=True)
class Selection:
    """The elements that an operator selects for each result, and the fill value."""

    results: Sequence[Indices]
    fill: float = 0.0


def slice_(op: tensor.SliceOp, source: Indices, builder: DlaBuilder) -> Selection:
    """Slice."""
    starts, ends = _integers(op.starts, "starts", builder), _integers(op.ends, "ends", builder)
    axes = range(len(starts)) if op.axes.type == NONE else _integers(op.axes, "axes", builder)
    steps = [1] * len(starts) if op.steps.type == NONE else _integers(op.steps, "steps", builder)
    cuts = [slice(None)] * source.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        size = source.shape[axis]
        # A backwards slice that ends before element 0 is None in NumPy.
        ends_before = step < 0 and end < -size
        cuts[axis] = slice(start, None if ends_before else end, step)
    return Selection([source[tuple(cuts)]])


def split(op: tensor.SplitOp | tensor.SplitV13Op, source: Indices, builder: DlaBuilder) -> Selection:
    """Split, by the sizes of the results."""
    return _split(op, op.axis.value.data, source, builder)


def split_11(op: tensor.SplitV11Op, source: Indices, builder: DlaBuilder) -> Selection:
    """Split of opset 11, by the sizes of the results."""
    return _split(op, op.axis.value.data, source, builder)


def _split(op: OnnxOp, axis: int, source: Indices, builder: DlaBuilder) -> Selection:
    shapes = [static_shape(result.type) for result in op.results]
    sizes = [shape[axis] for shape in shapes if shape is not None]
    if len(sizes) != len(shapes) or sum(sizes) != source.shape[axis]:
        builder.refuse("results without static shapes; run shape-inference-onnx or fix the input shapes")
    return Selection(np.split(source, np.cumsum(sizes)[:-1], axis))


def gather(op: tensor.GatherOp, source: Indices, builder: DlaBuilder) -> Selection:
    """Gather."""
    indices = builder.weights(op.indices, "indices")
    axis = op.axis.value.data
    size = source.shape[axis]
    if np.any(indices < -size) or np.any(indices >= size):
        builder.refuse(f"an index outside of axis {axis}, which has size {size}")
    return Selection([np.take(source, indices, axis)])


def tile(op: tensor.TileOp, source: Indices, builder: DlaBuilder) -> Selection:
    """Tile."""
    return Selection([np.tile(source, _integers(op.repeats, "repeats", builder))])


def expand(op: ExpandOp, source: Indices, builder: DlaBuilder) -> Selection:
    """Expand."""
    shape = builder.result_shape(op)
    trailing = shape[len(shape) - source.ndim :]
    if len(shape) < source.ndim or any(n not in (1, m) for n, m in zip(source.shape, trailing, strict=True)):
        # Bodies of loops may declare shapes that turn out to be different after inlining.
        builder.refuse(f"a tensor of shape {list(source.shape)} cannot be expanded to {list(shape)}")
    return Selection([np.broadcast_to(source, shape)])


MODES = {"constant": "constant", "reflect": "reflect", "edge": "edge", "wrap": "wrap"}


def pad(
    op: tensor.PadOp | tensor.PadV18Op | tensor.PadV19Op, source: Indices, builder: DlaBuilder
) -> Selection:
    """Pad; negative pads crop."""
    axes = range(source.ndim) if op.axes.type == NONE else _integers(op.axes, "axes", builder)
    return _pad(op, axes, source, builder)


def pad_13(op: tensor.PadV13Op | tensor.PadV11Op, source: Indices, builder: DlaBuilder) -> Selection:
    """Pad of opset 13 and before; negative pads crop."""
    return _pad(op, range(source.ndim), source, builder)


def _pad(op: Any, axes: Sequence[int], source: Indices, builder: DlaBuilder) -> Selection:
    pads = _integers(op.pads, "pads", builder)
    widths = np.zeros((source.ndim, 2), np.int64)
    for index, axis in enumerate(axes):
        widths[axis] = pads[index], pads[index + len(axes)]
    cuts = tuple(
        slice(max(-before, 0), size - max(-after, 0))
        for (before, after), size in zip(widths.tolist(), source.shape, strict=True)
    )
    inner, outer = source[cuts], np.maximum(widths, 0)
    if min(inner.shape) < 1:
        builder.refuse("pads that leave an empty tensor")
    if op.mode.data == "constant":
        value = None if op.constant_value.type == NONE else builder.weights(op.constant_value, "the padding")
        number = 0.0 if value is None else float(value.reshape(()))
        return Selection([np.pad(inner, outer, constant_values=FILL)], number)
    return Selection([np.pad(inner, outer, mode=op.mode.data)])


def _integers(value: SSAValue, what: str, builder: DlaBuilder) -> list[int]:
    return [int(each) for each in builder.weights(value, what).reshape(-1)]


SELECTIONS: Mapping[type[OnnxOp], Callable[[Any, Indices, DlaBuilder], Selection]] = {
    ExpandOp: expand,
    tensor.GatherOp: gather,
    tensor.PadOp: pad,
    tensor.PadV11Op: pad_13,
    tensor.PadV13Op: pad_13,
    tensor.PadV18Op: pad,
    tensor.PadV19Op: pad,
    tensor.SliceOp: slice_,
    tensor.SplitOp: split,
    tensor.SplitV11Op: split_11,
    tensor.SplitV13Op: split,
    tensor.TileOp: tile,
}
"""The selection of each operator from the elements of its first operand."""


def selection_of(op: OnnxOp, shape: tuple[int, ...], builder: DlaBuilder) -> Selection:
    """Return what `op` selects from a tensor of `shape`; refuse empty results."""
    results = [static_shape(result.type) for result in op.results]
    largest = max(map(prod, (shape, *(each for each in results if each is not None))))
    if largest > MAX_ELEMENTS:
        builder.refuse(f"a tensor of {largest} elements (up to {MAX_ELEMENTS}); make it smaller")
    source = np.arange(prod(shape), dtype=np.int64).reshape(shape)
    found = SELECTIONS[type(op)](op, source, builder)
    if any(part.size == 0 for part in found.results):
        builder.refuse("an empty result")
    return found


@dataclass(frozen=True)
class SelectedAxes:
    """Channels, rows and columns of a result as indices into the source; `FILL` for padding."""

    channels: Indices
    rows: Indices
    columns: Indices

    @staticmethod
    def of(indices: Indices, source: CubeShape, builder: DlaBuilder) -> SelectedAxes:
        """
        Separate an index array into its axes; refuse if channels, rows and columns mix.

        Some elements of one position stay channels where their shape would have them at several positions.
        """
        result = cube_shape(indices.shape)
        assert result is not None, "the result has elements"
        cube = indices.reshape(result)
        highest = cube.max(axis=(1, 2), keepdims=True)
        is_part = source.positions == 1 and indices.size <= min(source.channels, DIMENSION.most)
        if is_part and np.any((cube != FILL) & (cube != highest)):
            result = CubeShape(indices.size, 1, 1)
            cube = indices.reshape(result)
        is_fill = cube == FILL
        picked: list[Indices] = []
        for axis, coordinates in enumerate(
            (cube // source.positions, cube // source.width % source.height, cube % source.width)
        ):
            others = tuple(other for other in range(3) if other != axis)
            found = np.where(is_fill, FILL, coordinates).max(axis=others)
            if np.any(~is_fill & (coordinates != np.expand_dims(found, others))):
                builder.refuse(
                    f"a selection of {list(source)} to {list(result)} that mixes channels, rows and columns "
                    "(the engines select along one axis at a time)"
                )
            picked.append(found)
        selected = np.ix_(*(found != FILL for found in picked))
        inside = np.zeros(result, np.bool_)
        inside[selected] = True
        if np.any(inside == is_fill):
            builder.refuse("padding that does not surround the selected elements")
        return SelectedAxes(picked[0], picked[1], picked[2])


def _selected(
    source: SSAValue, indices: Indices, padding: float, builder: OperatorBuilder[TensorT]
) -> SSAValue:
    """Build the cube of a selection, a view if it is a part of the source; `padding` is a stored number."""
    cube = cube_of(source.type)
    picked = SelectedAxes.of(indices, cube, builder)
    value = _along(source, 2, picked.rows, padding, builder)
    value = _along(value, 3, picked.columns, padding, builder)
    return chosen_channels(value, picked.channels, padding, builder)


def _along(
    source: SSAValue, axis: int, indices: Indices, padding: float, builder: OperatorBuilder[TensorT]
) -> SSAValue:
    """Select rows (axis 2) or columns (axis 3) of a cube."""
    cube = cube_of(source.type)
    if np.array_equal(indices, np.arange(cube[axis - 1])):
        return source
    if indices[0] != FILL and np.all(indices == indices[0]):
        one = _piece(source, axis, IndexRun(int(indices[0]), 1), padding, builder)
        return _repeated(one, axis, indices.size, builder)
    pieces = _index_runs(indices)
    if len(pieces) > MAX_SLICES:
        builder.refuse(f"{len(pieces)} slices of {'rows' if axis == 2 else 'columns'} (up to {MAX_SLICES})")
    values = [_piece(source, axis, piece, padding, builder) for piece in pieces]
    if len(values) == 1:
        return values[0]
    return builder(ConcatOp(values, axis, builder.cube_type(resized(cube, axis, indices.size))))


def _repeated(value: SSAValue, axis: int, count: int, builder: OperatorBuilder[TensorT]) -> SSAValue:
    """Repeat a row or column; each step appends a copy of all that there is."""
    cube, size = cube_of(value.type), 1
    while size < count:
        more, copy = min(size, count - size), value
        if more < size:
            copy = builder(SliceOp(value, (0, 0, 0), builder.cube_type(resized(cube, axis, more))))
        size += more
        value = builder(ConcatOp([value, copy], axis, builder.cube_type(resized(cube, axis, size))))
    return value


def _piece(
    source: SSAValue, axis: int, piece: IndexRun, padding: float, builder: OperatorBuilder[TensorT]
) -> SSAValue:
    cube = cube_of(source.type)
    if piece.first == FILL:
        return builder.filled(resized(cube, axis, piece.count), padding)
    size = (piece.count - 1) * piece.step + 1
    begin = (0, piece.first, 0) if axis == 2 else (0, 0, piece.first)
    part = part_of(source, begin, resized(cube, axis, size), builder)
    if piece.step == 1:
        return part
    strides = (piece.step, 1) if axis == 2 else (1, piece.step)
    return pool(part, PoolMode.MAX, Window2D((1, 1), strides), builder)


@dataclass(frozen=True)
class IndexRun:
    """Indices from `first` on with a constant step; `FILL` for padding."""

    first: int
    count: int
    step: int = 1


def _index_runs(indices: Indices) -> list[IndexRun]:
    """Split indices greedily into runs with a constant step."""
    result: list[IndexRun] = []
    wanted: list[int] = indices.tolist()
    at = 0
    while at < len(wanted):
        first = wanted[at]
        step = wanted[at + 1] - first if at + 1 < len(wanted) else 1
        if first == FILL:
            step = 0
        elif step < 1 or wanted[at + 1 : at + 2] == [FILL]:
            step = 1
        count = 1
        while at + count < len(wanted) and wanted[at + count] == first + count * step:
            count += 1
        if (step > 1 and count == 2) or (step > MAX_POOL and count <= FEW):
            step = count = 1
        result.append(IndexRun(first, count, max(step, 1)))
        at += count
    return result


def chosen_channels(
    source: SSAValue, indices: Indices, padding: float, builder: OperatorBuilder[TensorT]
) -> SSAValue:
    """Build a cube of channels selected from another, a view where they are whole atoms."""
    cube = cube_of(source.type)
    if np.array_equal(indices, np.arange(cube.channels)):
        return source
    runs = _index_runs(indices)
    lanes = channels_per_atom(builder.target, builder.precision)
    aligned = all(run.first >= 0 and run.step == 1 and run.first % lanes == 0 for run in runs)
    is_aligned = all(run.count % lanes == 0 for run in runs[:-1])
    if len(runs) > MAX_SLICES or not aligned or not is_aligned:
        return picked_channels(source, indices, padding, builder)
    parts = [builder.channels(source, run.first, run.first + run.count) for run in runs]
    if len(parts) == 1:
        return parts[0]
    return builder(ConcatOp(parts, 1, builder.cube_type(cube._replace(channels=indices.size))))


def one_hot(indices: Indices, channels: int) -> npt.NDArray[np.int8]:
    """Return one-hot 1x1 kernels that select the channels `indices`; zeros for `FILL`."""
    weights = np.zeros((indices.size, channels, 1, 1), np.int8)
    selected = np.flatnonzero(indices != FILL)
    weights[selected, indices[selected]] = 1
    return weights


def picked_channels(
    source: SSAValue, indices: Indices, padding: float, builder: OperatorBuilder[TensorT]
) -> SSAValue:
    """Build a cube of channels selected from another; `FILL` means padding with a stored number."""
    cube, window = cube_of(source.type), Window2D((1, 1))
    # Kernels that no core takes may be larger than memory: boxes picked from 640,000 are 95 GB.
    builder.check(conv_limits(cube, indices.size, window))
    added = np.where(indices == FILL, padding, 0)
    weights = one_hot(indices, cube.channels)
    return builder.one_hot_convolution(source, weights, window, added if np.any(added) else None)


@lowers(*SELECTIONS)
def select(op: OnnxOp, builder: OperatorBuilder[TensorT]) -> list[TensorT]:
    """
    Lower a selection: rows and columns by slices and concatenation, strides by pooling single positions,
    channels by a slice or a one-hot 1x1 convolution.
    """
    source = builder.lowered(op.operands[0])
    selection = selection_of(op, source.shape, builder)
    return [selected(source, indices, selection.fill, builder) for indices in selection.results]


def selected(source: TensorT, indices: Indices, fill: float, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Select elements of a tensor by their indices in row-major order, and `fill` for `FILL`."""

    def chosen(value: SSAValue, padding: float) -> SSAValue:
        return _selected(value, indices, padding, builder)

    return builder.selected(source, indices.shape, chosen, fill if fill and FILL in indices else 0.0)


def expanded(found: TensorT, shape: tuple[int, ...], builder: OperatorBuilder[TensorT]) -> TensorT:
    """Expand a tensor to the sizes of a result that it is broadcast to."""
    if prod(shape) > MAX_ELEMENTS:
        builder.refuse(f"a tensor of {prod(shape)} elements (up to {MAX_ELEMENTS}); make it smaller")
    source = np.arange(prod(found.shape), dtype=np.int64).reshape(found.shape)
    return selected(found, np.broadcast_to(source, shape), 0.0, builder)
