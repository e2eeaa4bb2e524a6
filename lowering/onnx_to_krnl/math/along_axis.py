"""Operators that scan one axis in order: ArgMax, ArgMin, Hardmax, CumSum, CumProd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32, f64, i1, i32, i64
from xdsl.ir import Attribute

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.ops import math as onnx
from xonnc.dialects.onnx.ops import reduction
from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Kernel
from xonnc.lowering.onnx_to_krnl.builders.loop_chunks import split_into_chunks
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    LoweringBuilder,
    lowers,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.math.reductions import (
    MAX_COLUMNS,
    MAXIMUM,
    MIN_COLUMNS,
    MINIMUM,
    PRODUCT,
    SUM,
    ReductionFunction,
    extreme_of_floats,
)
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type, is_unsigned_element
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static, volume


def split_at_axis(shape: Sequence[Size], axis: int) -> list[Size]:
    """
    Return a shape as [outer, axis, inner]: products of the sizes before and after an axis.

    A scalar has an axis of size 1.
    """
    axis = axis % len(shape) if shape else 0
    return [volume(shape[:axis]), shape[axis] if shape else 1, volume(shape[axis + 1 :])]


@dataclass(frozen=True)
class AxisSplit:
    """A shape as the product of sizes before an axis, its size, and the product of those after it."""

    before: Size
    size: Size
    after: Size

    @classmethod
    def of(cls, shape: Sequence[Size], axis: int) -> AxisSplit:
        """Split `shape` at `axis`."""
        return cls(*split_at_axis(shape, axis))

    @property
    def sizes(self) -> list[Size]:
        """The three sizes, as a shape."""
        return [self.before, self.size, self.after]


def is_before(element: Attribute, largest: bool, a: Scalar, b: Scalar) -> Scalar:
    """Whether `a` sorts before `b`: it is larger (or smaller), or it is NaN and `b` is not."""
    if not is_integer(a.type):
        return (a > b if largest else a < b) | (a.is_nan() & b.is_number())
    if is_unsigned_element(element) or a.type == i1:
        return a.compare_unsigned(b, "gt" if largest else "lt")
    return a > b if largest else a < b


def _best(kernel: Kernel, source: Buffer, outer: Sequence[Scalar], size: Size, how: str) -> Scalar:
    """
    Return the index of the largest or smallest element along the axis.

    Ties go to the first index, or to the last if `how` contains "last". NaN counts as an extreme.
    """
    before, after = outer
    if source.shape[2] == 1 and is_static(size) and size <= MAX_INDEX and source.element != i1:
        return _best_of_row(kernel, source, before, size, how)
    start = [source[before, 0, after], kernel.constant(0, i64)]
    with kernel.reducing([size], start) as ((index,), (best, position), results):
        x = source[before, index, after]
        found = _is_better(source.element, how, x, best)
        results += [found.select(x, best), found.select(index.to(i64), position)]
    return results[1]


MAX_INDEX = (1 << 31) - 1
"""Vectors of indices have 32 bits, as many as floats."""


def _is_better(element: Attribute, how: str, x: Scalar, best: Scalar) -> Scalar:
    """Whether an element replaces the best of those before it."""
    largest = "largest" in how
    return ~is_before(element, largest, best, x) if "last" in how else is_before(element, largest, x, best)


def _best_of_row(kernel: Kernel, source: Buffer, row: Scalar, size: int, how: str) -> Scalar:
    """
    Do what `_best` does, along contiguous elements, by two loops that are vectorized.

    The first finds the extreme, which is NaN if there is one, the second the first or last index of it.
    """
    element = source.element
    kind = compute_type(element)
    extreme = ReductionFunction("extreme", MAXIMUM if "largest" in how else MINIMUM)
    if is_integer(kind):
        value = kernel.reduce(
            size,
            extreme.start(kernel, element),
            lambda best, index: extreme.both(element, best, source[row, index, 0]),
        )
    else:
        value = extreme_of_floats(
            kernel, extreme.combine, [size], lambda inner: source[row, inner[0], 0], kind
        )
    is_last = "last" in how
    none = kernel.constant(-1 if is_last else MAX_INDEX, i32)
    with kernel.reducing([size], [none]) as ((index,), (position,), results):
        x = source[row, index, 0]
        # There is a NaN only if the extreme is one, which equals no other element.
        found = x.equals(value) if is_integer(kind) else x.equals(value) | x.is_nan()
        own = found.select(index.to(i32), none)
        results.append(position.maximum(own) if is_last else position.minimum(own))
    return results[0].to(i64)


def _best_of_columns(
    op: reduction.ArgMaxOp | reduction.ArgMinOp, name: str, how: str, builder: LoweringBuilder
) -> None:
    """Do what `_best` does along an axis that is not contiguous: row by row, a chunk of columns at a time."""
    before, size, columns = split_at_axis(builder.sizes(op.data), op.axis.value.data)
    assert is_static(columns)
    blocks, width = split_into_chunks(columns, MAX_COLUMNS)
    element, of_columns = builder.element(op.data), [before, blocks, width]
    scratch = [
        (builder.allocate([before, columns], kind), of_columns) for kind in (compute_type(element), i32)
    ]
    kernel = Kernel(
        builder, name, [(op.reduced, of_columns), *scratch], [(op.data, [before, size, blocks, width])]
    )
    out, best, position, source = kernel.buffers
    with kernel.loops([before, blocks]) as outer:
        number, block = outer
        with kernel.loops([width]) as (column,):
            best[*outer, column] = source[number, 0, block, column]
            position[*outer, column] = 0
        with kernel.loops([size, width]) as (index, column):
            x, most = source[number, index, block, column], best[*outer, column]
            found = _is_better(element, how, x, most)
            best[*outer, column] = found.select(x, most)
            position[*outer, column] = found.select(index.to(i32), position[*outer, column])
        with kernel.loops([width]) as (column,):
            out[*outer, column] = position[*outer, column].to(i64)
    kernel.call()


supports_dynamic_shapes(reduction.ArgMaxOp, reduction.ArgMinOp, onnx.CumSumOp, onnx.CumProdOp)


@lowers(reduction.ArgMaxOp, reduction.ArgMinOp)
def arg_extreme(op: reduction.ArgMaxOp | reduction.ArgMinOp, builder: LoweringBuilder) -> str | None:
    """Index of the largest or smallest element along `axis`."""
    sizes = split_at_axis(builder.sizes(op.data), op.axis.value.data)
    name = "argmax" if isinstance(op, reduction.ArgMaxOp) else "argmin"
    how = "largest" if isinstance(op, reduction.ArgMaxOp) else "smallest"
    if op.select_last_index.value.data:
        how = f"last {how}"
    if is_static(sizes[1]) and sizes[1] <= MAX_INDEX and is_static(sizes[2]) and sizes[2] >= MIN_COLUMNS:
        _best_of_columns(op, name, how, builder)
        return None
    kernel = Kernel(builder, name, [(op.reduced, sizes[::2])], [(op.data, sizes)])
    out, source = kernel.buffers
    with kernel.loops(sizes[::2]) as outer:
        out[*outer] = _best(kernel, source, outer, sizes[1], how)
    kernel.call()
    return None


@lowers(onnx.HardmaxOp, onnx.HardmaxV11Op)
def hardmax(op: onnx.HardmaxOp | onnx.HardmaxV11Op, builder: LoweringBuilder) -> str | None:
    """
    1 at the first maximum along an axis, else 0. Before opset 13, all axes from `axis` on are one.

    NaN counts as the maximum, as in ArgMax.
    """
    element, shape = builder.element(op.input), builder.shape(op.input)
    kind = compute_type(element)
    if kind not in (f32, f64) or not shape:
        return "the input is a scalar or not of floats"
    sizes = split_at_axis(shape, op.axis.value.data)
    if isinstance(op, onnx.HardmaxV11Op):
        sizes = [sizes[0], sizes[1] * sizes[2], 1]
    kernel = Kernel(builder, "hardmax", [(op.output, sizes)], [(op.input, sizes)])
    out, source = kernel.buffers
    with kernel.loops(sizes[::2]) as (before, after):
        found = _best(kernel, source, [before, after], sizes[1], "largest")
        with kernel.loops([sizes[1]]) as (index,):
            out[before, index, after] = index.to(i64).equals(found)
    kernel.call()
    return None


@lowers(onnx.CumSumOp, onnx.CumProdOp)
def running(op: onnx.CumSumOp | onnx.CumProdOp, builder: LoweringBuilder) -> str | None:
    """
    Cumulative sum or product along `axis`; `exclusive` leaves out the element itself, `reverse` scans
    backwards.
    """
    axis = builder.constant(op.axis)
    if axis is None:
        return "the axis is not a constant"
    sizes = split_at_axis(builder.sizes(op.x), int(np.asarray(axis, np.int64).reshape(-1)[0]))
    name = "cumsum" if isinstance(op, onnx.CumSumOp) else "cumprod"
    how = ReductionFunction(name, SUM if isinstance(op, onnx.CumSumOp) else PRODUCT)
    if is_static(sizes[2]) and sizes[2] >= MIN_COLUMNS and builder.element(op.x) != i1:
        _running_columns(op, how, builder, sizes)
        return None
    kernel = Kernel(builder, name, [(op.y, sizes)], [(op.x, sizes)])
    out, source = kernel.buffers
    start = how.start(kernel, source.element)
    with kernel.loops(sizes[::2]) as (before, after):
        with kernel.reducing([sizes[1]], [start]) as ((index,), (before_it,), results):
            if op.reverse.value.data:
                index = kernel.size(sizes[1] - 1) - index
            total = how.both(source.element, before_it, source[before, index, after])
            out[before, index, after] = before_it if op.exclusive.value.data else total
            results.append(total)
    kernel.call()
    return None


def _running_columns(
    op: onnx.CumSumOp | onnx.CumProdOp,
    how: ReductionFunction,
    builder: LoweringBuilder,
    sizes: Sequence[Size],
) -> None:
    """Scan an axis that is not contiguous: row by row, a chunk of columns at a time, vectorized."""
    before, size, columns = sizes
    assert is_static(columns)
    blocks, width = split_into_chunks(columns, MAX_COLUMNS)
    full_shape, of_columns = [before, size, blocks, width], [before, blocks, width]
    totals = builder.allocate([before, columns], compute_type(builder.element(op.x)))
    kernel = Kernel(builder, how.name, [(op.y, full_shape), (totals, of_columns)], [(op.x, full_shape)])
    out, total, source = kernel.buffers
    with kernel.loops([before, blocks]) as outer:
        number, block = outer
        with kernel.loops([width]) as (column,):
            total[*outer, column] = how.start(kernel, source.element)
        with kernel.loops([size, width]) as (index, column):
            if op.reverse.value.data:
                index = kernel.size(size - 1) - index
            before_it = total[*outer, column]
            both = how.both(source.element, before_it, source[number, index, block, column])
            out[number, index, block, column] = before_it if op.exclusive.value.data else both
            total[*outer, column] = both
    kernel.call()
