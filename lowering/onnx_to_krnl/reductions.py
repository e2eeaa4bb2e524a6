"""Reductions along axes, softmax and layer normalization."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, nan

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerType, f32, f64, i1, i32, i64
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops import math as onnx
from xonnc.dialects.onnx.ops import nn, reduction
from xonnc.dialects.onnx.ops.constant import constant_elements
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.channel_blocking import blocked
from xonnc.lowering.onnx_to_krnl.element_types import compute_type, is_unsigned_element, storage_type
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.layer_normalization import generic_layer_normalization
from xonnc.lowering.onnx_to_krnl.layout_plan import LayoutPlan
from xonnc.lowering.onnx_to_krnl.loop_chunks import split_into_chunks
from xonnc.lowering.onnx_to_krnl.lowering_builder import (
    SUPPORTS_EMPTY,
    LoweringBuilder,
    lowers,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size, is_static, volume

Map = Callable[[KernelBuilder, SSAValue], SSAValue]


NO_NANS = arith.FastMathFlagsAttr([FastMathFlag.NO_NANS])
"""The result for NaN operands does not matter, or there are none."""

APPROXIMATE = arith.FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])
"""Of exponentials added to 1, so that flushing subnormals does not matter."""

NO_INFS = arith.FastMathFlagsAttr([FastMathFlag.NO_INFS])
"""Of exponentials of arguments that are not above 0."""

Softmax = onnx.SoftmaxOp | onnx.LogSoftmaxOp | onnx.SoftmaxV11Op | onnx.LogSoftmaxV11Op


def _same(kernel: KernelBuilder, x: SSAValue) -> SSAValue:
    return x


def _absolute(kernel: KernelBuilder, x: SSAValue) -> SSAValue:
    """Absolute value of floats and signed integers."""
    if not is_integer(x.type):
        return kernel.add(math.AbsFOp(x))
    return kernel.add(arith.MaxSIOp(x, kernel.add(arith.SubiOp(kernel.constant(0, x.type), x))))


def _square(kernel: KernelBuilder, x: SSAValue) -> SSAValue:
    return kernel.add((arith.MuliOp if is_integer(x.type) else arith.MulfOp)(x, x))


def _root(kernel: KernelBuilder, x: SSAValue) -> SSAValue:
    return kernel.add(math.SqrtOp(x))


def _log(kernel: KernelBuilder, x: SSAValue) -> SSAValue:
    return kernel.add(math.LogOp(x))


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

    def start(self, kernel: KernelBuilder, element: Attribute) -> SSAValue:
        """Return the neutral element."""
        kind = compute_type(element)
        unsigned = is_unsigned_element(element)
        return kernel.constant(self.combine.start(kind if is_integer(kind) else None, unsigned), kind)

    def both(self, kernel: KernelBuilder, element: Attribute, a: SSAValue, b: SSAValue) -> SSAValue:
        """Combine two scalars."""
        made = self.combine.floats
        if a.type == i1:
            made = self.combine.truths
        elif is_integer(a.type):
            made = self.combine.unsigned if is_unsigned_element(element) else self.combine.signed
        return kernel.add(made.create(operands=[a, b], result_types=[a.type]))

    def mean(
        self, kernel: KernelBuilder, element: Attribute, total: SSAValue, sizes: Sequence[Size]
    ) -> SSAValue:
        """Divide the total by the number of elements, if this is a mean; integers are truncated."""
        if not self.is_mean:
            return total
        count = kernel.count(sizes, total.type)
        if not is_integer(total.type):
            return kernel.add(arith.DivfOp(total, count))
        divide = arith.DivUIOp if is_unsigned_element(element) else arith.DivSIOp
        return kernel.add(divide(total, kernel.add(arith.MaxSIOp(count, kernel.constant(1, total.type)))))


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
    ((reduction.ReduceL1Op, reduction.ReduceL1V13Op), ReductionFunction("reducel1", each=_absolute)),
    (
        (reduction.ReduceL2Op, reduction.ReduceL2V13Op),
        ReductionFunction("reducel2", each=_square, finish=_root),
    ),
    (
        (reduction.ReduceSumSquareOp, reduction.ReduceSumSquareV13Op),
        ReductionFunction("reducesumsquare", each=_square),
    ),
    ((reduction.ReduceLogSumOp, reduction.ReduceLogSumV13Op), ReductionFunction("reducelogsum", finish=_log)),
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

    def indices(self, outer: Sequence[SSAValue], inner: Sequence[SSAValue]) -> list[SSAValue]:
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
    channels = shape[1] if len(shape) == 4 else 0
    return tuple(axes) == (2, 3) and is_static(channels) and channels % layouts.lanes == 0


@lowers(*REDUCTIONS)
def reduce_(op: Operation, builder: LoweringBuilder) -> str | None:
    """Reduce along some axes."""
    value = op.operands[0]
    element, kind = builder.element(value), REDUCTIONS[type(op)]
    if is_integer(element) and kind.is_of_floats:
        return "of integers"
    if kind.each is _absolute and is_unsigned_element(element):
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
    result_sizes, made = merged.outer_sizes or [1], [builder.result(op.results[0])]
    types = [buffer_type(result_sizes, element)]
    if is_in_columns and compute_type(element) != storage_type(element):
        # Accumulate in the compute type, in a scratch buffer beside the narrow result.
        types.append(buffer_type(result_sizes, compute_type(element)))
        made.append(builder.allocate(result_sizes, compute_type(element)))
    kernel = KernelBuilder([*types, buffer_type(merged.sizes, element)])
    if is_in_columns:
        _reduce_columns(kernel, kind, merged, element)
    elif kind.combine in (MAXIMUM, MINIMUM) and not is_integer(element):
        _reduce_extremes(kernel, kind, merged, element)
    else:
        _reduce_rows(kernel, kind, merged, element)
    builder.call(kind.name, kernel, made, [builder.buffer(value)])
    return None


def _reduce_rows(
    kernel: KernelBuilder, kind: ReductionFunction, axes: ReductionAxes, element: Attribute
) -> None:
    """Reduce contiguous rows: one result at a time."""
    out, source = kernel.buffers
    with kernel.loops(axes.outer_sizes) as outer:
        with kernel.reducing(axes.reduced, [kind.start(kernel, element)]) as (inner, accumulators, results):
            number = kernel.read(source, axes.indices(outer, inner), element)
            results.append(kind.both(kernel, element, accumulators[0], kind.each(kernel, number)))
        total = kind.mean(kernel, element, kind.finish(kernel, results[0]), axes.reduced)
        kernel.write(total, out, outer, element)


def _reduce_extremes(
    kernel: KernelBuilder, kind: ReductionFunction, axes: ReductionAxes, element: Attribute
) -> None:
    """
    Maximum or minimum of floats by rows; NaN is tracked apart, by its bits.

    A NaN-propagating maximum takes six instructions per vector; a plain one and the integer maximum of the
    magnitude's bits take three.
    """
    out, source = kernel.buffers
    number = compute_type(element)
    bits, infinite, most = (
        (i64, 0x7FF << 52, (1 << 63) - 1) if number == f64 else (i32, 0xFF << 23, (1 << 31) - 1)
    )
    extreme = kind.combine.floats
    with kernel.loops(axes.outer_sizes) as outer:
        starts = [kind.start(kernel, element), kernel.constant(0, bits)]
        with kernel.reducing(axes.reduced, starts) as (inner, accumulators, results):
            x = kernel.read(source, axes.indices(outer, inner), element)
            # x86 maxps returns the second operand if one is NaN: with this order the accumulator is kept.
            properties = {"fastmath": NO_NANS}
            results.append(
                kernel.add(
                    extreme.create(
                        operands=[x, accumulators[0]], result_types=[number], properties=properties
                    )
                )
            )
            size = kernel.add(arith.BitcastOp(x, bits))
            size = kernel.add(arith.AndIOp(size, kernel.constant(most, bits)))
            results.append(kernel.add(arith.MaxSIOp(accumulators[1], size)))
        is_none = kernel.add(arith.CmpiOp(results[1], kernel.constant(infinite, bits), "sgt"))
        total = kernel.add(arith.SelectOp(is_none, kernel.constant(nan, number), results[0]))
        kernel.write(total, out, outer, element)


def _reduce_columns(
    kernel: KernelBuilder, kind: ReductionFunction, axes: ReductionAxes, element: Attribute
) -> None:
    """Reduce columns: accumulate row by row, a chunk of columns at a time that stays in the cache."""
    result, source = kernel.buffers[0], kernel.buffers[-1]
    # If the stored type is narrower than the compute type, accumulate in the scratch buffer.
    out = kernel.buffers[-2]
    *before, width = axes.outer_sizes
    with kernel.loops(before) as outer:
        with kernel.loops([width]) as (column,):
            kernel.store(kind.start(kernel, element), out, [*outer, column])
        with kernel.loops([*axes.reduced, width]) as (*inner, column):
            result_indices = [*outer, column]
            number = kind.each(kernel, kernel.read(source, axes.indices(result_indices, inner), element))
            kernel.store(
                kind.both(kernel, element, kernel.load(out, result_indices), number), out, result_indices
            )
        if kind.is_mean or kind.is_of_floats or out is not result:
            with kernel.loops([width]) as (column,):
                total = kind.finish(kernel, kernel.load(out, [*outer, column]))
                total = kind.mean(kernel, element, total, axes.reduced)
                kernel.write(total, result, [*outer, column], element)


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
    kernel = KernelBuilder(
        [buffer_type(merged.outer_sizes or [1], element), buffer_type(merged.sizes, element)]
    )
    out, source = kernel.buffers
    most = ReductionFunction("largest", MAXIMUM)
    with kernel.loops(merged.outer_sizes) as outer:
        with kernel.reducing(merged.reduced, [most.start(kernel, element)]) as (inner, accumulators, results):
            number = kernel.read(source, merged.indices(outer, inner), element)
            results.append(most.both(kernel, element, accumulators[0], number))
        # An infinite maximum is not subtracted: inf - inf would be NaN.
        size, zero = kernel.add(math.AbsFOp(results[0])), kernel.constant(0, results[0].type)
        is_infinite = kernel.add(arith.CmpfOp(size, kernel.constant(inf, size.type), "oeq"))
        shift = kernel.add(arith.SelectOp(is_infinite, zero, results[0]))
        with kernel.reducing(merged.reduced, [zero]) as (inner, accumulators, results):
            number = kernel.read(source, merged.indices(outer, inner), element)
            power = kernel.add(math.ExpOp(kernel.add(arith.SubfOp(number, shift))))
            results.append(kernel.add(arith.AddfOp(accumulators[0], power)))
        kernel.write(kernel.add(arith.AddfOp(_log(kernel, results[0]), shift)), out, outer, element)
    builder.call("reducelogsumexp", kernel, [builder.result(op.results[0])], [builder.buffer(value)])
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
    sizes = [count, lanes], [count, width, lanes], [count, stored_rows, stored_width, lanes]
    kernel = KernelBuilder([buffer_type(each, f32) for each in sizes])
    out, totals, source = kernel.buffers
    first_row, first = image.start
    with kernel.loops([count]) as (block,):
        _fill(kernel, kind, totals, [block], [width, lanes])
        with kernel.loops([rows, width, lanes]) as (row, column, lane):
            pixel = [block, kernel.affine(row, 1, first_row), kernel.affine(column, 1, first), lane]
            number = kind.each(kernel, kernel.load(source, pixel))
            total = kernel.load(totals, [block, column, lane])
            kernel.store(kind.both(kernel, f32, total, number), totals, [block, column, lane])
        _fill(kernel, kind, out, [block], [lanes])
        with kernel.loops([width, lanes]) as (column, lane):
            number = kernel.load(totals, [block, column, lane])
            total = kernel.load(out, [block, lane])
            kernel.store(kind.both(kernel, f32, total, number), out, [block, lane])
        with kernel.loops([lanes]) as (lane,):
            total = kind.finish(kernel, kernel.load(out, [block, lane]))
            kernel.store(kind.mean(kernel, f32, total, [rows, width]), out, [block, lane])
    scratch = builder.allocate([count, width, lanes], f32)
    builder.call(kind.name, kernel, [builder.result(op.results[0]), scratch], [image.buffer])


def _fill(
    kernel: KernelBuilder,
    kind: ReductionFunction,
    buffer: SSAValue,
    outer: Sequence[SSAValue],
    sizes: Sequence[Size],
) -> None:
    """Store the neutral element."""
    with kernel.loops(sizes) as inner:
        kernel.store(kind.start(kernel, f32), buffer, [*outer, *inner])


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
    kernel = KernelBuilder([buffer_type(sizes, element)] * 2)
    out, source = kernel.buffers
    with kernel.loops([sizes[0], sizes[2]]) as (before, after):
        with kernel.reducing([sizes[1]], [kernel.constant(-inf, number)]) as (inner, accumulators, results):
            x = kernel.read(source, [before, inner[0], after], element)
            # `nnan` is safe: the sum is NaN if an element is, whatever the maximum, and so is the whole row.
            results.append(kernel.add(arith.MaximumfOp(accumulators[0], x, NO_NANS)))
        largest = results[0]
        # The result buffer holds exponentials between passes, unless storing would round them.
        is_kept = number == element
        with kernel.reducing([sizes[1]], [kernel.constant(0.0, number)]) as (inner, accumulators, results):
            indices = [before, inner[0], after]
            x = kernel.add(arith.SubfOp(kernel.read(source, indices, element), largest))
            power = kernel.add(math.ExpOp(x, APPROXIMATE if is_log else NO_INFS))
            if is_kept:
                kernel.store(x if is_log else power, out, indices)
            results.append(kernel.add(arith.AddfOp(accumulators[0], power)))
        total = kernel.add(math.LogOp(results[0])) if is_log else results[0]
        if not is_log:
            total = kernel.add(arith.DivfOp(kernel.constant(1.0, number), total))
        with kernel.loops([sizes[1]]) as (index,):
            indices = [before, index, after]
            if is_kept:
                x = kernel.load(out, indices)
            else:
                x = kernel.add(arith.SubfOp(kernel.read(source, indices, element), largest))
                x = x if is_log else kernel.add(math.ExpOp(x, NO_INFS))
            kernel.write(
                kernel.add((arith.SubfOp if is_log else arith.MulfOp)(x, total)), out, indices, element
            )
    builder.call(
        "logsoftmax" if is_log else "softmax", kernel, [builder.result(op.output)], [builder.buffer(op.input)]
    )
    return None


def _softmax_of_columns(
    op: Softmax, sizes: tuple[Size, Size, int], is_log: bool, builder: LoweringBuilder
) -> None:
    """Softmax along an axis that is not contiguous: row by row, a chunk of columns at a time, vectorized."""
    element = builder.element(op.input)
    count, rows, columns = sizes
    blocks, width = split_into_chunks(columns, MAX_COLUMNS)
    full_shape, of_columns = [count, rows, blocks, width], [count, blocks, width]
    kernel = KernelBuilder(
        [buffer_type(each, element) for each in (full_shape, of_columns, of_columns, full_shape)]
    )
    out, largest, totals, source = kernel.buffers
    with kernel.loops([count, blocks]) as (before, block):
        with kernel.loops([width]) as (column,):
            indices = [before, block, column]
            kernel.store(kernel.constant(-inf, element), largest, indices)
            kernel.store(kernel.constant(0.0, element), totals, indices)
        with kernel.loops([rows, width]) as (row, column):
            indices = [before, block, column]
            x = kernel.load(source, [before, row, block, column])
            most = kernel.add(arith.MaximumfOp(kernel.load(largest, indices), x, NO_NANS))
            kernel.store(most, largest, indices)
        with kernel.loops([rows, width]) as (row, column):
            indices = [before, block, column]
            x = kernel.load(source, [before, row, block, column])
            x = kernel.add(arith.SubfOp(x, kernel.load(largest, indices)))
            power = kernel.add(math.ExpOp(x, APPROXIMATE if is_log else NO_INFS))
            kernel.store(x if is_log else power, out, [before, row, block, column])
            kernel.store(kernel.add(arith.AddfOp(kernel.load(totals, indices), power)), totals, indices)
        with kernel.loops([width]) as (column,):
            indices = [before, block, column]
            total, one = kernel.load(totals, indices), kernel.constant(1.0, element)
            factor = kernel.add(math.LogOp(total) if is_log else arith.DivfOp(one, total))
            kernel.store(factor, totals, indices)
        with kernel.loops([rows, width]) as (row, column):
            indices = [before, row, block, column]
            x, factor = kernel.load(out, indices), kernel.load(totals, [before, block, column])
            made = kernel.add((arith.SubfOp if is_log else arith.MulfOp)(x, factor))
            kernel.store(made, out, indices)
    scratch = [builder.allocate([count, columns], element) for _ in range(2)]
    name = "logsoftmax" if is_log else "softmax"
    builder.call(name, kernel, [builder.result(op.output), *scratch], [builder.buffer(op.input)])


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
    kernel = KernelBuilder(
        [buffer_type([rows, size], element)] * 2 + [buffer_type([size], element)] * len(factors)
    )
    out, source, *held_factors = kernel.buffers
    count, zero = kernel.count([size], element), kernel.constant(0.0, element)
    with kernel.loops([rows]) as (row,):
        with kernel.reducing([size], [zero]) as (inner, accumulators, results):
            results.append(kernel.add(arith.AddfOp(accumulators[0], kernel.load(source, [row, inner[0]]))))
        mean = kernel.add(arith.DivfOp(results[0], count))
        with kernel.reducing([size], [zero]) as (inner, accumulators, results):
            x = kernel.add(arith.SubfOp(kernel.load(source, [row, inner[0]]), mean))
            results.append(kernel.add(arith.AddfOp(accumulators[0], _square(kernel, x))))
        variance = kernel.add(arith.DivfOp(results[0], count))
        raised = kernel.add(arith.AddfOp(variance, kernel.constant(op.epsilon.value.data, element)))
        factor = kernel.add(arith.DivfOp(kernel.constant(1.0, element), _root(kernel, raised)))
        with kernel.loops([size]) as (index,):
            x = kernel.add(arith.SubfOp(kernel.load(source, [row, index]), mean))
            x = kernel.add(arith.MulfOp(x, factor))
            x = kernel.add(arith.MulfOp(x, kernel.load(held_factors[0], [index])))
            if len(held_factors) == 2:
                x = kernel.add(arith.AddfOp(x, kernel.load(held_factors[1], [index])))
            kernel.store(x, out, [row, index])
    buffers = [builder.buffer(value) for value in (op.X, *factors)]
    builder.call("layernormalization", kernel, [builder.result(op.Y)], buffers)
    return None
