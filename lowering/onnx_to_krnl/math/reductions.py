"""Reductions along axes, softmax and layer normalization."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, nan

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, f32, f64, i1, i32, i64
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops import math as onnx
from xonnc.dialects.onnx.ops import nn, reduction
from xonnc.dialects.onnx.ops.constant import constant_elements
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.channel_blocking import blocked
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel, Operand
from xonnc.lowering.onnx_to_krnl.builders.loop_chunks import split_into_chunks
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    SUPPORTS_EMPTY,
    LoweringBuilder,
    lowers,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.math.layer_normalization import generic_layer_normalization
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type, is_unsigned_element, storage_type
from xonnc.lowering.onnx_to_krnl.planning.layout_plan import LayoutPlan
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static, volume

Map = Callable[[Scalar], Scalar]


NO_NANS = arith.FastMathFlagsAttr([FastMathFlag.NO_NANS])
"""The result for NaN operands does not matter, or there are none."""

APPROXIMATE = arith.FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])
"""Of exponentials added to 1, so that flushing subnormals does not matter."""

NO_INFS = arith.FastMathFlagsAttr([FastMathFlag.NO_INFS])
"""Of exponentials of arguments that are not above 0."""

Softmax = onnx.SoftmaxOp | onnx.LogSoftmaxOp | onnx.SoftmaxV11Op | onnx.LogSoftmaxV11Op


def _same(x: Scalar) -> Scalar:
    return x


def _square(x: Scalar) -> Scalar:
    return x * x


@dataclass(frozen=True)
class Combiner:
    """An associative binary operator by type, with its neutral element."""

    floats: type[Operation]
    signed: type[Operation]
    unsigned: type[Operation]
    truths: type[Operation]
    start: Callable[[IntegerType | None, bool], float]
    """Of floats (None), or of integers that are unsigned or signed."""


SUM = Combiner(arith.AddfOp, arith.AddiOp, arith.AddiOp, arith.OrIOp, lambda kind, unsigned: 0)
PRODUCT = Combiner(arith.MulfOp, arith.MuliOp, arith.MuliOp, arith.AndIOp, lambda kind, unsigned: 1)
MAXIMUM = Combiner(
    arith.MaximumfOp,
    arith.MaxSIOp,
    arith.MaxUIOp,
    arith.OrIOp,
    lambda kind, unsigned: (
        -inf if kind is None else 0 if unsigned or kind == i1 else -(1 << (kind.width.data - 1))
    ),
)
MINIMUM = Combiner(
    arith.MinimumfOp,
    arith.MinSIOp,
    arith.MinUIOp,
    arith.AndIOp,
    lambda kind, unsigned: (
        inf if kind is None else 1 if kind == i1 else -1 if unsigned else (1 << (kind.width.data - 1)) - 1
    ),
)


@dataclass(frozen=True)
class ReductionFunction:
    """A reduction: map each element, combine, then map the total."""

    name: str
    combine: Combiner = SUM
    each: Map = _same
    finish: Map = _same
    is_mean: bool = False

    @property
    def is_of_floats(self) -> bool:
        """Whether the final map is defined for floats only."""
        return self.finish is not _same

    def start(self, kernel: Kernel, element: Attribute) -> Scalar:
        """Return the neutral element."""
        kind = compute_type(element)
        unsigned = is_unsigned_element(element)
        return kernel.constant(self.combine.start(kind if is_integer(kind) else None, unsigned), kind)

    def both(self, element: Attribute, a: Scalar, b: Scalar) -> Scalar:
        """Combine two scalars."""
        made = self.combine.floats
        if a.type == i1:
            made = self.combine.truths
        elif is_integer(a.type):
            made = self.combine.unsigned if is_unsigned_element(element) else self.combine.signed
        return a.made(made.create(operands=[a.value, b.value], result_types=[a.type]))

    def mean(self, kernel: Kernel, element: Attribute, total: Scalar, sizes: Sequence[Size]) -> Scalar:
        """Divide the total by the number of elements, if this is a mean; integers are truncated."""
        if not self.is_mean:
            return total
        count = kernel.count(sizes, total.type)
        if not is_integer(total.type):
            return total / count
        count = count.maximum(1)
        return total.divide_unsigned(count) if is_unsigned_element(element) else total // count


REDUCTIONS: dict[type[Operation], ReductionFunction] = {}
for _kinds, _reduction in (
    ((reduction.ReduceSumOp, reduction.ReduceSumV11Op), ReductionFunction("reducesum")),
    ((reduction.ReduceMeanOp, reduction.ReduceMeanV13Op), ReductionFunction("reducemean", is_mean=True)),
    ((reduction.ReduceProdOp, reduction.ReduceProdV13Op), ReductionFunction("reduceprod", PRODUCT)),
    (
        (reduction.ReduceMaxOp, reduction.ReduceMaxV13Op, reduction.ReduceMaxV18Op),
        ReductionFunction("reducemax", MAXIMUM),
    ),
    (
        (reduction.ReduceMinOp, reduction.ReduceMinV13Op, reduction.ReduceMinV18Op),
        ReductionFunction("reducemin", MINIMUM),
    ),
    ((reduction.ReduceL1Op, reduction.ReduceL1V13Op), ReductionFunction("reducel1", each=Scalar.abs)),
    (
        (reduction.ReduceL2Op, reduction.ReduceL2V13Op),
        ReductionFunction("reducel2", each=_square, finish=Scalar.sqrt),
    ),
    (
        (reduction.ReduceSumSquareOp, reduction.ReduceSumSquareV13Op),
        ReductionFunction("reducesumsquare", each=_square),
    ),
    (
        (reduction.ReduceLogSumOp, reduction.ReduceLogSumV13Op),
        ReductionFunction("reducelogsum", finish=Scalar.log),
    ),
    ((nn.GlobalAveragePoolOp,), ReductionFunction("globalaveragepool", is_mean=True)),
    ((nn.GlobalMaxPoolOp,), ReductionFunction("globalmaxpool", MAXIMUM)),
):
    REDUCTIONS.update(dict.fromkeys(_kinds, _reduction))

SUPPORTS_EMPTY.update(REDUCTIONS)
supports_dynamic_shapes(*REDUCTIONS)
supports_dynamic_shapes(reduction.ReduceLogSumExpOp, reduction.ReduceLogSumExpV13Op, nn.LayerNormalizationOp)
supports_dynamic_shapes(onnx.SoftmaxOp, onnx.LogSoftmaxOp, onnx.SoftmaxV11Op, onnx.LogSoftmaxV11Op)


MIN_COLUMNS, MAX_COLUMNS = 16, 256
"""Results that are accumulated side by side where the contiguous axis is not reduced."""


@dataclass(frozen=True)
class ReductionAxes:
    """A shape with neighboring axes merged that are all reduced or all kept."""

    groups: Sequence[tuple[list[int], bool]]
    sizes: Sequence[Size]

    @property
    def outer_sizes(self) -> list[Size]:
        """Sizes of the axes that are kept."""
        return [size for size, (_, is_reduced) in zip(self.sizes, self.groups, strict=True) if not is_reduced]

    @property
    def reduced(self) -> list[Size]:
        """Sizes of the axes that are reduced."""
        return [size for size, (_, is_reduced) in zip(self.sizes, self.groups, strict=True) if is_reduced]

    @property
    def is_in_columns(self) -> bool:
        """Whether contiguous elements belong to different results, enough of them to vectorize."""
        columns = self.columns
        return columns is not None and columns >= MIN_COLUMNS and volume(self.reduced) != 1

    @property
    def columns(self) -> int | None:
        """Static size of the contiguous axis if it is kept."""
        last = self.sizes[-1] if self.groups and not self.groups[-1][1] else None
        return last if last is not None and is_static(last) else None

    def with_column_chunks(self) -> ReductionAxes:
        """Split the columns in chunks whose accumulators stay in the cache."""
        columns = self.columns
        assert columns is not None
        last = self.groups[-1]
        return ReductionAxes(
            [*self.groups, last], [*self.sizes[:-1], *split_into_chunks(columns, MAX_COLUMNS)]
        )

    def indices(self, outer: Sequence[Scalar], inner: Sequence[Scalar]) -> Sequence[Scalar]:
        """Return indices into the tensor."""
        outer_indices, inner_indices = iter(outer), iter(inner)
        return [next(inner_indices) if is_reduced else next(outer_indices) for _, is_reduced in self.groups]


def reduced_along(shape: Sequence[Size], axes: Sequence[int]) -> ReductionAxes:
    """Return a shape whose `axes` are reduced."""
    groups = _groups(shape, axes)
    return ReductionAxes(groups, [volume(shape[axis] for axis in group) for group, _ in groups])


def keeps_blocks(op: Operation, layouts: LayoutPlan) -> bool:
    """Whether an op is a reduction that reads NCHWc images directly."""
    if type(op) not in REDUCTIONS:
        return False
    shape = layouts.sizes_of(op.operands[0])
    axes = None if shape is None else _axes(op, len(shape))
    return shape is not None and axes is not None and _is_of_planes(shape, axes, layouts)


def _is_of_planes(shape: Sequence[Size], axes: Sequence[int], layouts: LayoutPlan) -> bool:
    """Whether the spatial axes are reduced, of channels that fill their blocks."""
    channels = shape[1] if len(shape) in (3, 4) else 0
    is_of_pixels = tuple(axes) == tuple(range(2, len(shape)))
    return is_of_pixels and is_static(channels) and channels % layouts.lanes == 0 and channels > 0


@lowers(*REDUCTIONS)
def reduce_(op: Operation, builder: LoweringBuilder) -> str | None:
    """Reduce along some axes."""
    value = op.operands[0]
    element, kind = builder.element(value), REDUCTIONS[type(op)]
    if is_integer(element) and kind.is_of_floats:
        return "of integers"
    if kind.each is Scalar.abs and is_unsigned_element(element):
        kind = replace(kind, each=_same)
    shape = builder.sizes(value)
    axes = _axes(op, len(shape))
    if axes is None:
        return "axes are not constants"
    if not axes and shape and kind.each is _same and kind.finish is _same:
        # `noop_with_empty_axes`: a copy; adding 0 would lose the sign of -0.
        builder.alias(op.results[0], value)
        return None
    if value in builder.written and _is_of_planes(shape, axes, builder.layouts):
        _reduce_blocks(op, kind, builder)
        return None
    merged = reduced_along(shape, axes)
    is_in_columns = merged.is_in_columns and element != i1
    merged = merged.with_column_chunks() if is_in_columns else merged
    result_sizes = merged.outer_sizes or [1]
    results: list[Operand] = [(builder.result(op.results[0]), result_sizes)]
    if is_in_columns and compute_type(element) != storage_type(element):
        # Accumulate in the compute type, in a scratch buffer beside the narrow result.
        results.append(builder.allocate(result_sizes, compute_type(element)))
    kernel = Kernel(builder, kind.name, results, [(value, merged.sizes)])
    if is_in_columns:
        _reduce_columns(kernel, kind, merged)
    elif kind.combine in (MAXIMUM, MINIMUM) and not is_integer(element):
        _reduce_extremes(kernel, kind, merged)
    else:
        _reduce_rows(kernel, kind, merged)
    kernel.call()
    return None


def _reduce_rows(kernel: Kernel, kind: ReductionFunction, axes: ReductionAxes) -> None:
    """Reduce contiguous rows: one result at a time."""
    out, source = kernel.buffers
    element = source.element
    with kernel.loops(axes.outer_sizes) as outer:
        with kernel.reducing(axes.reduced, [kind.start(kernel, element)]) as (inner, (total,), results):
            results.append(kind.both(element, total, kind.each(source[*axes.indices(outer, inner)])))
        out[*outer] = kind.mean(kernel, element, kind.finish(results[0]), axes.reduced)


def _reduce_extremes(kernel: Kernel, kind: ReductionFunction, axes: ReductionAxes) -> None:
    """Maximum or minimum of floats by rows."""
    out, source = kernel.buffers
    with kernel.loops(axes.outer_sizes) as outer:
        out[*outer] = extreme_of_floats(
            kernel,
            kind.combine,
            axes.reduced,
            lambda inner, outer=outer: source[*axes.indices(outer, inner)],
            compute_type(source.element),
        )


def extreme_of_floats(
    kernel: Kernel,
    combine: Combiner,
    sizes: Sequence[Size],
    read: Callable[[Sequence[Scalar]], Scalar],
    number: Attribute,
) -> Scalar:
    """
    Return the maximum or minimum of the floats that `read` gives; NaN, if there is one, tracked by its bits.

    A NaN-propagating maximum takes six instructions per vector; a plain one and the integer maximum of the
    magnitude's bits take three.
    """
    bits, infinite, most = (
        (i64, 0x7FF << 52, (1 << 63) - 1) if number == f64 else (i32, 0xFF << 23, (1 << 31) - 1)
    )
    extreme = Scalar.maximum if combine is MAXIMUM else Scalar.minimum
    starts = [kernel.constant(combine.start(None, False), number), kernel.constant(0, bits)]
    with kernel.reducing(sizes, starts) as (inner, (best, size), results):
        x = read(inner)
        # x86 maxps returns the second operand if one is NaN: with this order the accumulator is kept.
        results.append(extreme(x, best, NO_NANS))
        results.append(size.maximum(x.bitcast(bits) & size.like(most)))
    return (results[1] > infinite).select(nan, results[0])


def _reduce_columns(kernel: Kernel, kind: ReductionFunction, axes: ReductionAxes) -> None:
    """Reduce columns: accumulate row by row, a chunk of columns at a time that stays in the cache."""
    # If the stored type is narrower than the compute type, accumulate in the scratch buffer.
    result, out, source = kernel.buffers[0], kernel.buffers[-2], kernel.buffers[-1]
    element = source.element
    *before, width = axes.outer_sizes
    with kernel.loops(before) as outer:
        with kernel.loops([width]) as (column,):
            out[*outer, column] = kind.start(kernel, element)
        with kernel.loops([*axes.reduced, width]) as (*inner, column):
            number = kind.each(source[*axes.indices([*outer, column], inner)])
            out[*outer, column] = kind.both(element, out[*outer, column], number)
        if kind.is_mean or kind.is_of_floats or out is not result:
            with kernel.loops([width]) as (column,):
                total = kind.finish(out[*outer, column])
                result[*outer, column] = kind.mean(kernel, element, total, axes.reduced)


@lowers(reduction.ReduceLogSumExpOp, reduction.ReduceLogSumExpV13Op)
def reduce_log_sum_exp(
    op: reduction.ReduceLogSumExpOp | reduction.ReduceLogSumExpV13Op, builder: LoweringBuilder
) -> str | None:
    """`log Σ e^(x - max) + max`, which does not overflow."""
    value, shape = op.operands[0], builder.sizes(op.operands[0])
    element, axes = builder.element(value), _axes(op, len(shape))
    if is_integer(element) or axes is None:
        return "integers, or axes that are not constants"
    merged = reduced_along(shape, axes)
    result = op.results[0], merged.outer_sizes or [1]
    kernel = Kernel(builder, "reducelogsumexp", [result], [(value, merged.sizes)])
    out, source = kernel.buffers
    most = ReductionFunction("largest", MAXIMUM)
    with kernel.loops(merged.outer_sizes) as outer:
        start = most.start(kernel, element)
        with kernel.reducing(merged.reduced, [start]) as (inner, (largest,), results):
            results.append(most.both(element, largest, source[*merged.indices(outer, inner)]))
        largest = results[0]
        # An infinite maximum is not subtracted: inf - inf would be NaN.
        shift = largest.abs().equals(inf).select(0, largest)
        with kernel.reducing(merged.reduced, [largest.like(0)]) as (inner, (total,), results):
            results.append(total + (source[*merged.indices(outer, inner)] - shift).exp())
        out[*outer] = results[0].log() + shift
    kernel.call()
    return None


SUPPORTS_EMPTY.update((reduction.ReduceLogSumExpOp, reduction.ReduceLogSumExpV13Op))


def _reduce_blocks(op: Operation, kind: ReductionFunction, builder: LoweringBuilder) -> None:
    """
    Reduce the pixels of each channel of NCHWc images: the rows of pixels first, and then the pixels of a row.

    So the innermost loop is one over contiguous numbers, without a total that the next iteration needs.
    """
    image = blocked(op.operands[0], builder)
    images, blocks, stored_rows, stored_width, lanes = image.blocks
    count, (rows, width) = images * blocks, image.sizes[2:]
    scratch = builder.allocate([count, width, lanes], f32)
    source_shape = [count, stored_rows, stored_width, lanes]
    results = [(op.results[0], [count, lanes]), scratch]
    kernel = Kernel(builder, kind.name, results, [(image.buffer, source_shape)])
    out, totals, source = kernel.buffers
    first_row, first = image.start
    with kernel.loops([count]) as (block,):
        with kernel.loops([width, lanes]) as (column, lane):
            totals[block, column, lane] = kind.start(kernel, f32)
        with kernel.loops([rows, width, lanes]) as (row, column, lane):
            number = kind.each(source[block, row.offset_by(first_row), column.offset_by(first), lane])
            totals[block, column, lane] = kind.both(f32, totals[block, column, lane], number)
        with kernel.loops([lanes]) as (lane,):
            out[block, lane] = kind.start(kernel, f32)
        with kernel.loops([width, lanes]) as (column, lane):
            number = totals[block, column, lane]
            out[block, lane] = kind.both(f32, out[block, lane], number)
        with kernel.loops([lanes]) as (lane,):
            total = kind.finish(out[block, lane])
            out[block, lane] = kind.mean(kernel, f32, total, [rows, width])
    kernel.call()


def _axes(op: Operation, rank: int) -> list[int] | None:
    """Return the axes that an op reduces, or None if they are not constants."""
    if isinstance(op, nn.GlobalAveragePoolOp | nn.GlobalMaxPoolOp):
        return list(range(2, rank))
    if len(op.operands) == 1:
        given = int_values(getattr(op, "axes", None))
    elif op.operands[1].type == NONE:
        given = None
    else:
        array = constant_elements(op.operands[1])
        if array is None:
            return None
        given = tuple(int(axis) for axis in np.asarray(array, np.int64).reshape(-1))
    if given:
        return [axis % rank for axis in given]
    noop = op.properties.get("noop_with_empty_axes")
    return [] if noop is not None and str(noop).startswith("1") else list(range(rank))


def _groups(shape: Sequence[Size], axes: Sequence[int]) -> list[tuple[list[int], bool]]:
    """Merge neighboring axes that are all reduced or all kept; axes of size 1 are dropped."""
    groups: list[tuple[list[int], bool]] = []
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        is_reduced = axis in axes
        if groups and groups[-1][1] == is_reduced:
            groups[-1][0].append(axis)
        else:
            groups.append(([axis], is_reduced))
    return groups


@lowers(onnx.SoftmaxOp, onnx.LogSoftmaxOp, onnx.SoftmaxV11Op, onnx.LogSoftmaxV11Op)
def softmax(op: Softmax, builder: LoweringBuilder) -> str | None:
    """
    `e^(x - max) / Σ e^(x - max)` along `axis`, or its logarithm. Before opset 13, all axes from `axis` on are
    one.
    """
    element = builder.element(op.input)
    number = compute_type(element)
    shape = builder.sizes(op.input)
    if not shape:
        return "the input is a scalar"
    axis = op.axis.value.data % len(shape)
    is_flat = isinstance(op, onnx.SoftmaxV11Op | onnx.LogSoftmaxV11Op)
    # Before opset 13 all axes from `axis` on are one.
    sizes = [volume(shape[:axis]), shape[axis], volume(shape[axis + 1 :])]
    sizes = [sizes[0], sizes[1] * sizes[2], 1] if is_flat else sizes
    is_log = isinstance(op, onnx.LogSoftmaxOp | onnx.LogSoftmaxV11Op)
    columns = sizes[2]
    if number == element and sizes[1] != 1 and is_static(columns) and columns >= MIN_COLUMNS:
        _softmax_of_columns(op, (sizes[0], sizes[1], columns), is_log, builder)
        return None
    name = "logsoftmax" if is_log else "softmax"
    kernel = Kernel(builder, name, [(op.output, sizes)], [(op.input, sizes)])
    out, source = kernel.buffers
    with kernel.loops([sizes[0], sizes[2]]) as (before, after):
        # `nnan` is safe: the sum is NaN if an element is, whatever the maximum, and so is the whole row.
        largest = kernel.reduce(
            sizes[1],
            kernel.constant(-inf, number),
            lambda most, index: most.maximum(source[before, index, after], NO_NANS),
        )
        # The result buffer holds exponentials between passes, unless storing would round them.
        is_kept = number == element
        with kernel.reducing([sizes[1]], [kernel.constant(0.0, number)]) as ((index,), (sum_,), results):
            x = source[before, index, after] - largest
            power = x.exp(APPROXIMATE if is_log else NO_INFS)
            if is_kept:
                out[before, index, after] = x if is_log else power
            results.append(sum_ + power)
        total = results[0].log() if is_log else 1.0 / results[0]
        with kernel.loops([sizes[1]]) as (index,):
            if is_kept:
                x = out[before, index, after]
            else:
                x = source[before, index, after] - largest
                x = x if is_log else x.exp(NO_INFS)
            out[before, index, after] = x - total if is_log else x * total
    kernel.call()
    return None


def _softmax_of_columns(
    op: Softmax, sizes: tuple[Size, Size, int], is_log: bool, builder: LoweringBuilder
) -> None:
    """Softmax along an axis that is not contiguous: row by row, a chunk of columns at a time, vectorized."""
    element = builder.element(op.input)
    count, rows, columns = sizes
    blocks, width = split_into_chunks(columns, MAX_COLUMNS)
    full_shape, of_columns = [count, rows, blocks, width], [count, blocks, width]
    scratch = [(builder.allocate([count, columns], element), of_columns) for _ in range(2)]
    name = "logsoftmax" if is_log else "softmax"
    kernel = Kernel(builder, name, [(op.output, full_shape), *scratch], [(op.input, full_shape)])
    out, largest, totals, source = kernel.buffers
    with kernel.loops([count, blocks]) as (before, block):
        with kernel.loops([width]) as (column,):
            largest[before, block, column] = -inf
            totals[before, block, column] = 0.0
        with kernel.loops([rows, width]) as (row, column):
            x = source[before, row, block, column]
            largest[before, block, column] = largest[before, block, column].maximum(x, NO_NANS)
        with kernel.loops([rows, width]) as (row, column):
            x = source[before, row, block, column] - largest[before, block, column]
            power = x.exp(APPROXIMATE if is_log else NO_INFS)
            out[before, row, block, column] = x if is_log else power
            totals[before, block, column] = totals[before, block, column] + power
        with kernel.loops([width]) as (column,):
            total = totals[before, block, column]
            totals[before, block, column] = total.log() if is_log else 1.0 / total
        with kernel.loops([rows, width]) as (row, column):
            x, factor = out[before, row, block, column], totals[before, block, column]
            out[before, row, block, column] = x - factor if is_log else x * factor
    kernel.call()


@lowers(nn.LayerNormalizationOp)
def layer_normalization(op: nn.LayerNormalizationOp, builder: LoweringBuilder) -> str | None:
    """`(x - mean) / sqrt(variance + epsilon) Scale + B` over the axes from `axis` on."""
    if op.Mean.type != NONE or op.InvStdDev.type != NONE:
        return generic_layer_normalization(op, builder)
    element, shape = builder.element(op.X), builder.sizes(op.X)
    axis = op.axis.value.data % len(shape)
    rows, size = volume(shape[:axis]), volume(shape[axis:])
    factors = [value for value in (op.Scale, op.B) if value.type != NONE]
    if element != f32 or any(volume(builder.sizes(value)) != size for value in factors):
        return generic_layer_normalization(op, builder)
    kernel = Kernel(
        builder,
        "layernormalization",
        [(op.Y, [rows, size])],
        [(op.X, [rows, size]), *((value, [size]) for value in factors)],
    )
    out, source, scale, *bias = kernel.buffers
    count, zero = kernel.count([size], element), kernel.constant(0.0, element)
    with kernel.loops([rows]) as (row,):
        mean = kernel.reduce(size, zero, lambda total, at: total + source[row, at]) / count
        squares = kernel.reduce(size, zero, lambda total, at: total + _square(source[row, at] - mean))
        factor = 1.0 / (squares / count + op.epsilon.value.data).sqrt()
        with kernel.loops([size]) as (index,):
            x = (source[row, index] - mean) * factor * scale[index]
            out[row, index] = x + bias[0][index] if bias else x
    kernel.call()
    return None
