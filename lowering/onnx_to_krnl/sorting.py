"""TopK: merge sort, radix sort, radix selection and insertion, chosen by type and sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.onnx.ops import math
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.along_axis import AxisSplit, is_before
from xonnc.lowering.onnx_to_krnl.kernel_builder import INDEX, KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder, lowers
from xonnc.lowering.onnx_to_krnl.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.sort_keys import KEY_BITS, has_keys, keys_of_rows
from xonnc.lowering.onnx_to_krnl.top_k_insertion import (
    MAX_INSERTION_K,
    MAX_INSERTION_RATIO,
    best_by_insertion,
)

IsBefore: TypeAlias = Callable[[Scalar, Scalar], SSAValue]
"""Emits whether the element at the first index sorts before that at the second."""


def argsort(
    source: SSAValue, rows: AxisSplit, element: Attribute, largest: bool, builder: LoweringBuilder
) -> SSAValue:
    """
    Stable merge sort of the indices along the axis.

    Returns i64[2, before, after, size], the two buffers of the passes; the half `passes % 2` holds the
    result.
    """
    ordering = builder.allocate([2, rows.before, rows.after, rows.size], i64)
    kernel = KernelBuilder(
        [buffer_type([2, rows.before, rows.after, rows.size], i64), buffer_type(rows.sizes, element)]
    )
    order, read = kernel.buffers
    with kernel.loops([rows.before, rows.after]) as outer:

        def is_sooner(a: Scalar, b: Scalar) -> SSAValue:
            numbers = [kernel.read(read, [outer[0], at.value, outer[1]], element) for at in (a, b)]
            return is_before(kernel, element, largest, *numbers)

        with kernel.loops([rows.size]) as (index,):
            start = kernel.add(arith.IndexCastOp(index, i64))
            kernel.store(start, order, [kernel.index(0), *outer, index])
        sort_indices(kernel, order, outer, kernel.index(rows.size), rows.size, is_sooner)
    builder.call("sort", kernel, [ordering], [source])
    return ordering


def passes(size: int) -> int:
    """Return the number of merge passes: the ceiling of log2."""
    return max(size - 1, 0).bit_length()


def sort_indices(
    kernel: KernelBuilder,
    order: SSAValue,
    outer: Sequence[SSAValue],
    size: SSAValue,
    most: int,
    is_before: IsBefore,
) -> None:
    """
    Bottom-up merge sort of the first `size` of i64[2, *outer, most], whose first half holds indices.

    Stable; the result is in the half `passes(most) % 2`. Runs are merged without branches.
    """
    zero, one = Scalar(kernel, kernel.constant(0, i64)), Scalar(kernel, kernel.constant(1, i64))
    count = Scalar(kernel, size).to(i64)
    with kernel.reducing([passes(most)], [one.value]) as ((iteration,), carried, grown):
        width = Scalar(kernel, carried[0])
        parity = Scalar(kernel, iteration).to(i64) & one
        source, target = parity.to(INDEX).value, (one - parity).to(INDEX).value

        def index_at(number: Scalar) -> Scalar:
            index = number.minimum(count - 1).to(INDEX)
            return Scalar(kernel, kernel.load(order, [source, *outer, index.value]))

        with kernel.reducing([size], [zero.value] * 3) as ((index,), runs, results):
            # `left` and `right`: the heads of the runs being merged; `middle`: where the right run begins.
            left, right, middle = (Scalar(kernel, each) for each in runs)
            position = Scalar(kernel, index).to(i64)
            is_new = (position >= middle + width) | position.equals(0)
            fresh = (position + width).minimum(count)
            left, right = is_new.select(position, left), is_new.select(fresh, right)
            middle = is_new.select(fresh, middle)
            end = (middle + width).minimum(count)
            a, b = index_at(left), index_at(right)
            is_sooner = Scalar(kernel, is_before(b.to(INDEX), a.to(INDEX)))
            is_right = ((right < end) & is_sooner) | (left >= middle)
            kernel.store(is_right.select(b, a).value, order, [target, *outer, index])
            results.append(is_right.select(left, left + 1).value)
            results.append(is_right.select(right + 1, right).value)
            results.append(middle.value)
        grown.append((width + width).value)


DIGITS = 256
"""Values of a radix-sort digit of 8 bits, so that the histogram stays in the L1 cache."""
DIGIT_BITS = 8

MIN_RADIX_SORT = 128
"""Elements of a row from which radix sort is faster than merge sort."""


def sort_by_keys(
    kernel: KernelBuilder,
    order: SSAValue,
    keys: SSAValue,
    counts: SSAValue,
    outer: Sequence[SSAValue],
    size: SSAValue,
) -> None:
    """
    LSD radix sort of the first `size` indices in `order`, `i64[2, *outer, most]`, by their `keys`.

    Stable. Indices are in the first half before and (after an even number of passes) afterwards. `counts` is
    scratch for `i64[*outer, DIGITS]`.
    """
    zero = kernel.constant(0, i64)
    for iteration in range(KEY_BITS // DIGIT_BITS):
        source, target = kernel.index(iteration % 2), kernel.index(1 - iteration % 2)

        def indices_and_slot(
            index: SSAValue, iteration: int = iteration, source: SSAValue = source
        ) -> tuple[SSAValue, Sequence[SSAValue]]:
            indices = kernel.load(order, [source, *outer, index])
            key = Scalar(kernel, kernel.load(keys, [*outer, Scalar(kernel, indices).to(INDEX).value]))
            shift = kernel.constant(iteration * DIGIT_BITS, i32)
            digit = Scalar(kernel, kernel.add(arith.ShRUIOp(key.value, shift))) & key.like(DIGITS - 1)
            if iteration == KEY_BITS // DIGIT_BITS - 1:
                # The top digit holds the sign bit: flip it, so that negative keys come first.
                digit = Scalar(kernel, kernel.add(arith.XOrIOp(digit.value, digit.like(DIGITS // 2).value)))
            return indices, [*outer, digit.to(INDEX).value]

        with kernel.loops([DIGITS]) as (digit,):
            kernel.store(zero, counts, [*outer, digit])
        with kernel.loops([size]) as (index,):
            _, slot = indices_and_slot(index)
            kernel.store((Scalar(kernel, kernel.load(counts, slot)) + 1).value, counts, slot)
        with kernel.reducing([DIGITS], [zero]) as ((digit,), held_sum, results):
            count = kernel.load(counts, [*outer, digit])
            kernel.store(held_sum[0], counts, [*outer, digit])
            results.append((Scalar(kernel, held_sum[0]) + Scalar(kernel, count)).value)
        with kernel.loops([size]) as (index,):
            indices, slot = indices_and_slot(index)
            free = Scalar(kernel, kernel.load(counts, slot))
            kernel.store(indices, order, [target, *outer, free.to(INDEX).value])
            kernel.store((free + 1).value, counts, slot)


def _select(
    kernel: KernelBuilder, order: SSAValue, keys: SSAValue, outer: Sequence[SSAValue], sizes: tuple[int, int]
) -> None:
    """
    List the indices of the `count` smallest of `size` keys in the first half of `order`.

    The threshold key is found by binary search over its 32 bits, one counting pass each (radix selection); of
    keys equal to it, the first are taken.
    """
    size, count = sizes
    low = kernel.constant(-(1 << 31), i32)
    half = kernel.constant(-(1 << 31), i32)
    with kernel.reducing([KEY_BITS], [low, half]) as (_, carried, ends):
        least, step = (Scalar(kernel, each) for each in carried)
        middle = least + (step - 1)
        with kernel.reducing([size], [kernel.constant(0, i32)]) as ((index,), below, totals):
            is_below = Scalar(kernel, kernel.load(keys, [*outer, index])) <= middle
            totals.append((Scalar(kernel, below[0]) + is_below.to(i32)).value)
        is_less = Scalar(kernel, totals[0]) < count
        ends.append(is_less.select(middle + 1, least).value)
        ends.append(kernel.add(arith.ShRUIOp(step.value, kernel.constant(1, i32))))
    limit = Scalar(kernel, ends[0])
    with kernel.reducing([size], [kernel.constant(0, i32)]) as ((index,), below, totals):
        is_below = Scalar(kernel, kernel.load(keys, [*outer, index])) < limit
        totals.append((Scalar(kernel, below[0]) + is_below.to(i32)).value)
    limit_count = kernel.constant(count, i32)
    equal = (Scalar(kernel, limit_count) - Scalar(kernel, totals[0])).value
    with kernel.reducing([size], [kernel.constant(0, i64), equal]) as ((index,), carried, ends):
        found, left = (Scalar(kernel, each) for each in carried)
        key = Scalar(kernel, kernel.load(keys, [*outer, index]))
        takes_equal = key.equals(limit) & (left > 0)
        is_taken = (key < limit) | takes_equal
        # Compaction: only what is taken advances the slot.
        slot = found.minimum(count - 1).to(INDEX).value
        with kernel.when(is_taken.value):
            kernel.store(Scalar(kernel, index).to(i64).value, order, [kernel.index(0), *outer, slot])
        ends.append((found + is_taken.to(i64)).value)
        ends.append((left - takes_equal.to(i32)).value)


def _sorted_by_keys(
    source: SSAValue, rows: AxisSplit, count: int, element: Attribute, largest: bool, builder: LoweringBuilder
) -> SSAValue:
    """Return the indices of the first `count` along the axis, sorted, in the first half of the buffer."""
    keys = keys_of_rows(source, rows, element, largest, builder)
    outer_sizes = [rows.before, rows.after]
    ordering, counts = (
        builder.allocate([2, *outer_sizes, count], i64),
        builder.allocate([*outer_sizes, DIGITS], i64),
    )
    kernel = KernelBuilder(
        [
            buffer_type([2, *outer_sizes, count], i64),
            buffer_type([*outer_sizes, DIGITS], i64),
            buffer_type([*outer_sizes, rows.size], i32),
        ]
    )
    order, digits, read = kernel.buffers
    with kernel.loops(outer_sizes) as outer:
        if count < rows.size:
            _select(kernel, order, read, outer, (rows.size, count))
        else:
            with kernel.loops([count]) as (index,):
                kernel.store(Scalar(kernel, index).to(i64).value, order, [kernel.index(0), *outer, index])
        sort_by_keys(kernel, order, read, digits, outer, kernel.index(count))
    builder.call("sort", kernel, [ordering, counts], [keys])
    return ordering


def _results(
    op: math.TopKOp, sizes: Sequence[int], element: Attribute, builder: LoweringBuilder
) -> list[SSAValue]:
    """Return buffers of both results; scratch if one is absent."""
    return [
        builder.allocate(sizes, kind) if result.type == NONE else builder.result(result)
        for result, kind in ((op.Values, element), (op.Indices, i64))
    ]


@lowers(math.TopKOp)
def top_k(op: math.TopKOp, builder: LoweringBuilder) -> str | None:
    """The K largest (or smallest) along `axis`, sorted, and their indices."""
    if builder.constant(op.K) is None:
        return "K is not a constant"
    rows, element = AxisSplit.of(builder.shape(op.X), op.axis.value.data), builder.element(op.X)
    known = op.Indices if op.Values.type == NONE else op.Values
    count = AxisSplit.of(builder.shape(known), op.axis.value.data).size
    source, is_largest = builder.buffer(op.X), bool(op.largest.value.data)
    sizes = [rows.before, count, rows.after]
    by_keys = has_keys(element) and rows.size >= MIN_RADIX_SORT and count > MAX_INSERTION_K
    most, buffers, half_of = count, 2, 0
    if not by_keys and 0 < count * count <= MAX_INSERTION_RATIO * rows.size:
        ordering, buffers = best_by_insertion(source, rows, count, element, is_largest, builder), 1
    elif by_keys:
        ordering = _sorted_by_keys(source, rows, count, element, is_largest, builder)
    else:
        ordering = argsort(source, rows, element, is_largest, builder)
        most, half_of = rows.size, passes(rows.size) % 2
    kernel = KernelBuilder(
        [
            buffer_type(sizes, element),
            buffer_type(sizes, i64),
            buffer_type(rows.sizes, element),
            buffer_type([buffers, rows.before, rows.after, most], i64),
        ]
    )
    values, indices, read, order = kernel.buffers
    half = kernel.index(half_of)
    with kernel.loops(sizes) as (before, index, after):
        coordinates = kernel.load(order, [half, before, after, index])
        at = kernel.add(arith.IndexCastOp(coordinates, INDEX))
        kernel.store(kernel.load(read, [before, at, after]), values, [before, index, after])
        kernel.store(coordinates, indices, [before, index, after])
    builder.call("topk", kernel, _results(op, sizes, element, builder), [source, ordering])
    return None
