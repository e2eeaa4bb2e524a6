"""TopK: merge sort, radix sort, radix selection and insertion, chosen by type and sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.ops import math
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    LoweringBuilder,
    lowers,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.math.along_axis import AxisSplit, is_before
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static
from xonnc.lowering.onnx_to_krnl.tensor.sort_keys import KEY_BITS, has_keys, keys_of_rows
from xonnc.lowering.onnx_to_krnl.tensor.top_k_insertion import (
    MAX_INSERTION_K,
    MAX_INSERTION_RATIO,
    best_by_insertion,
)

IsBefore: TypeAlias = Callable[[Scalar, Scalar], Scalar]
"""Emits whether the element at the first index sorts before that at the second."""


def argsort(
    source: SSAValue, rows: AxisSplit, element: Attribute, largest: bool, builder: LoweringBuilder
) -> SSAValue:
    """
    Stable merge sort of the indices along the axis.

    Returns i64[2, before, after, size], the two buffers of the passes; `sorted_half` tells which one holds
    the result.
    """
    ordering = builder.allocate([2, rows.before, rows.after, rows.size], i64)
    kernel = Kernel(builder, "sort", [ordering], [(source, rows.sizes)])
    order, read = kernel.buffers
    with kernel.loops([rows.before, rows.after]) as (before, after):

        def is_sooner(a: Scalar, b: Scalar) -> Scalar:
            return is_before(element, largest, read[before, a, after], read[before, b, after])

        with kernel.loops([rows.size]) as (index,):
            order[0, before, after, index] = index
        sort_indices(kernel, order, [before, after], kernel.size(rows.size), rows.size, is_sooner)
    kernel.call()
    return ordering


def sorted_half(size: Size) -> int:
    """Return which of the two buffers of a merge sort holds its result."""
    return passes(size) % 2 if is_static(size) else 0


def passes(size: int) -> int:
    """Return the number of merge passes: the ceiling of log2."""
    return max(size - 1, 0).bit_length()


def _passes(kernel: Kernel, most: Size) -> int | Scalar:
    """Return the number of merge passes; an even one if the size is dynamic (see `sorted_half`)."""
    if is_static(most):
        return passes(most)
    one, size = kernel.constant(1, i64), kernel.count([most])
    pairs = kernel.reduce(
        MAX_PAIRS,
        kernel.constant(0, i64),
        lambda pairs, index: pairs + (one.shift_left(index.to(i64) * 2) < size).to(i64),
    )
    return pairs * 2


MAX_PAIRS = 31
"""Pairs of merge passes that sort every size of 64 bits."""


def sort_indices(
    kernel: Kernel, order: Buffer, outer: Sequence[Scalar], size: Scalar, most: Size, is_before: IsBefore
) -> None:
    """
    Bottom-up merge sort of the first `size` of i64[2, *outer, most], whose first half holds indices.

    Stable; the result is in the half `sorted_half(most)`. Runs are merged without branches.
    """
    zero, one = kernel.constant(0, i64), kernel.constant(1, i64)
    count = size.to(i64)
    with kernel.reducing([_passes(kernel, most)], [one]) as ((iteration,), (width,), grown):
        parity = iteration.to(i64) & one
        source, target = parity.to(INDEX), (one - parity).to(INDEX)
        with kernel.reducing([size], [zero] * 3) as ((index,), (left, right, middle), results):
            # `left` and `right`: the heads of the runs being merged; `middle`: where the right run begins.
            position = index.to(i64)
            is_new = (position >= middle + width) | position.equals(0)
            fresh = (position + width).minimum(count)
            left, right = is_new.select(position, left), is_new.select(fresh, right)
            middle = is_new.select(fresh, middle)
            end = (middle + width).minimum(count)
            a, b = (order[source, *outer, each.minimum(count - 1)] for each in (left, right))
            is_sooner = is_before(b.to(INDEX), a.to(INDEX))
            is_right = ((right < end) & is_sooner) | (left >= middle)
            order[target, *outer, index] = is_right.select(b, a)
            results += [is_right.select(left, left + 1), is_right.select(right + 1, right), middle]
        grown.append(width + width)


DIGITS = 256
"""Values of a radix-sort digit of 8 bits, so that the histogram stays in the L1 cache."""
DIGIT_BITS = 8

MIN_RADIX_SORT = 20
"""Elements of a row from which radix sort by keys of 32 bits is faster than merge sort."""


def sort_by_keys(
    kernel: Kernel, order: Buffer, keys: Buffer, counts: Buffer, outer: Sequence[Scalar], size: Scalar | Size
) -> None:
    """
    LSD radix sort of the first `size` indices in `order`, `i64[2, *outer, most]`, by their `keys`.

    Stable. Indices are in the first half before and (after an even number of passes) afterwards. `counts` is
    scratch for `i64[*outer, DIGITS]`.
    """
    assert is_integer(keys.element), "keys are integers"
    zero, bits = kernel.constant(0, i64), keys.element.width.data
    for iteration in range(bits // DIGIT_BITS):
        source, target = iteration % 2, 1 - iteration % 2

        def index_and_digit(
            index: Scalar, iteration: int = iteration, source: int = source
        ) -> tuple[Scalar, Scalar]:
            number = order[source, *outer, index]
            key = keys[*outer, number]
            digit = key.shift_right(iteration * DIGIT_BITS) & key.like(DIGITS - 1)
            if iteration == bits // DIGIT_BITS - 1:
                # The top digit holds the sign bit: flip it, so that negative keys come first.
                digit = digit ^ (DIGITS // 2)
            return number, digit.to(INDEX)

        with kernel.loops([DIGITS]) as (digit,):
            counts[*outer, digit] = zero
        with kernel.loops([size]) as (index,):
            _, digit = index_and_digit(index)
            counts[*outer, digit] = counts[*outer, digit] + 1
        with kernel.reducing([DIGITS], [zero]) as ((digit,), (total,), results):
            count = counts[*outer, digit]
            counts[*outer, digit] = total
            results.append(total + count)
        with kernel.loops([size]) as (index,):
            number, digit = index_and_digit(index)
            free = counts[*outer, digit]
            order[target, *outer, free] = number
            counts[*outer, digit] = free + 1


@dataclass(frozen=True)
class _Candidates:
    """Scratch of a selection: bounds of the keys of groups, keys that may be selected, and their indices."""

    bounds: Buffer
    keys: Buffer
    indices: Buffer
    count: Buffer

    @staticmethod
    def allocate(outer: Sequence[Size], size: int, count: int, builder: LoweringBuilder) -> list[SSAValue]:
        """Return the buffers, none if a row is too short to have far fewer candidates than keys."""
        if size < MIN_KEYS_OF_BEST * count:
            return []
        lengths = (size // GROUP, i32), (size + 1, i32), (size + 1, i64), (1, i64)
        return [builder.allocate([*outer, length], kind) for length, kind in lengths]


GROUP = 16
"""Keys of a group, of which one is compared to find candidates."""

MIN_KEYS_OF_BEST = 2 * GROUP
"""Keys of a row at least for each that is selected, for a search among candidates."""


def _list_candidates(
    kernel: Kernel, made: _Candidates, keys: Buffer, outer: Sequence[Scalar], sizes: tuple[int, int]
) -> None:
    """
    List the keys of a row that may be among the `count` smallest.

    As many groups have a key up to a bound, the `count`-th smallest of the least keys of all groups: others
    are not selected. Groups are strided, so that their least keys are found in vectors; blocks of neighbors
    without a candidate are skipped.
    """
    size, count = sizes
    groups = size // GROUP
    with kernel.loops([groups]) as (group,):
        least = keys[*outer, group]
        for number in range(1, GROUP):
            least = least.minimum(keys[*outer, group.offset_by(number * groups)])
        made.bounds[*outer, group] = least
    bound = _nth(kernel, made.bounds, outer, groups, count)
    made.count[*outer, 0] = kernel.constant(0, i64)

    def take(index: Scalar) -> None:
        # Without a branch: what is no candidate is overwritten by the next one.
        key, slot = keys[*outer, index], made.count[*outer, 0]
        made.keys[*outer, slot], made.indices[*outer, slot] = key, index
        made.count[*outer, 0] = slot + (key <= bound).to(i64)

    with kernel.loops([groups]) as (block,):
        first = block * GROUP
        found = kernel.reduce(
            GROUP,
            kernel.constant(0, i32),
            lambda found, at: found.maximum((keys[*outer, first + at] <= bound).to(i32)),
        )
        with kernel.when(found.differs(0)), kernel.loops([GROUP]) as (index,):
            take(first + index)
    with kernel.loops([size % GROUP]) as (index,):
        take(index.offset_by(groups * GROUP))


def _nth(kernel: Kernel, keys: Buffer, outer: Sequence[Scalar], size: Size | Scalar, count: int) -> Scalar:
    """Return the `count`-th smallest key, by binary search over its 32 bits: one counting pass each."""
    low, half = kernel.constant(-(1 << 31), i32), kernel.constant(-(1 << 31), i32)
    zero = kernel.constant(0, i32)
    with kernel.reducing([KEY_BITS], [low, half]) as (_, (least, step), ends):
        middle = least + (step - 1)
        below = kernel.reduce(size, zero, lambda sum_, at: sum_ + (keys[*outer, at] <= middle).to(i32))
        ends += [(below < count).select(middle + 1, least), step.shift_right(1)]
    return ends[0]


def _select(
    kernel: Kernel,
    order: Buffer,
    keys: Buffer,
    outer: Sequence[Scalar],
    sizes: tuple[Size | Scalar, int],
    indices: Buffer | None = None,
) -> None:
    """
    List the indices of the `count` smallest of `size` keys in the first half of `order`.

    Of keys equal to the last one, the first are taken. `indices` are those of the keys, unless in order.
    """
    size, count = sizes
    limit, zero = _nth(kernel, keys, outer, size, count), kernel.constant(0, i32)
    below = kernel.reduce(size, zero, lambda sum_, at: sum_ + (keys[*outer, at] < limit).to(i32))
    start = [kernel.constant(0, i64), kernel.constant(count, i32) - below]
    with kernel.reducing([size], start) as ((index,), (found, left), ends):
        key = keys[*outer, index]
        takes_equal = key.equals(limit) & (left > 0)
        is_taken = (key < limit) | takes_equal
        # Compaction: only what is taken advances the slot.
        slot = found.minimum(count - 1).to(INDEX)
        with kernel.when(is_taken):
            order[0, *outer, slot] = index if indices is None else indices[*outer, index]
        ends += [found + is_taken.to(i64), left - takes_equal.to(i32)]


def _sorted_by_keys(
    source: SSAValue,
    rows: AxisSplit,
    count: Size,
    element: Attribute,
    largest: bool,
    builder: LoweringBuilder,
) -> SSAValue:
    """
    Return the indices of the first `count` along the axis, sorted, in the first half of the buffer.

    Of dynamic sizes, all indices are sorted.
    """
    keys = keys_of_rows(source, rows, element, largest, builder)
    outer_sizes = [rows.before, rows.after]
    selected = count if is_static(count) and is_static(rows.size) and count < rows.size else None
    count = rows.size if selected is None else selected
    ordering, counts = (
        builder.allocate([2, *outer_sizes, count], i64),
        builder.allocate([*outer_sizes, DIGITS], i64),
    )
    scratch: list[SSAValue] = []
    if selected is not None and is_static(rows.size):
        scratch = _Candidates.allocate(outer_sizes, rows.size, selected, builder)
    kernel = Kernel(builder, "sort", [ordering, counts, *scratch], [keys])
    order, digits, *buffers, read = kernel.buffers
    with kernel.loops(outer_sizes) as outer:
        if buffers and selected is not None and is_static(rows.size):
            made = _Candidates(*buffers)
            _list_candidates(kernel, made, read, outer, (rows.size, selected))
            _select(kernel, order, made.keys, outer, (made.count[*outer, 0], selected), made.indices)
        elif selected is not None:
            _select(kernel, order, read, outer, (rows.size, selected))
        else:
            with kernel.loops([count]) as (index,):
                order[0, *outer, index] = index
        sort_by_keys(kernel, order, read, digits, outer, count)
    kernel.call()
    return ordering


def _results(
    op: math.TopKOp, sizes: Sequence[Size], element: Attribute, builder: LoweringBuilder
) -> list[SSAValue]:
    """Return buffers of both results; scratch if one is absent."""
    return [
        builder.allocate(sizes, kind) if result.type == NONE else builder.result(result)
        for result, kind in ((op.Values, element), (op.Indices, i64))
    ]


def _is_inserted(count: int, size: Size, element: Attribute) -> bool:
    """Whether the best are found by insertion: they are few, or few elements reach them."""
    if not is_static(size):
        return 0 < count <= MAX_INSERTION_K
    by_keys = has_keys(element) and not is_short(size) and count > MAX_INSERTION_K
    return not by_keys and 0 < count * count <= MAX_INSERTION_RATIO * size


def is_short(size: Size, key_bits: int = KEY_BITS) -> bool:
    """Whether merge sort is faster than radix sort for a row; longer keys take more passes of the latter."""
    return is_static(size) and size < MIN_RADIX_SORT * key_bits // KEY_BITS


@lowers(math.TopKOp)
def top_k(op: math.TopKOp, builder: LoweringBuilder) -> str | None:
    """The K largest (or smallest) along `axis`, sorted, and their indices."""
    rows, element = AxisSplit.of(builder.sizes(op.X), op.axis.value.data), builder.element(op.X)
    known = op.Indices if op.Values.type == NONE else op.Values
    count = AxisSplit.of(builder.sizes(known), op.axis.value.data).size
    # A dynamic size follows from how K is computed; a static one is only declared.
    if builder.constant(op.K) is None and is_static(count):
        return "K is not a constant"
    builder.require_at_most(count, rows.size, f"{describe(op)}: K is more than the axis has elements")
    source, is_largest = builder.buffer(op.X), bool(op.largest.value.data)
    sizes = [rows.before, count, rows.after]
    half_of = 0
    if is_static(count) and _is_inserted(count, rows.size, element):
        ordering = best_by_insertion(source, rows, count, element, is_largest, builder)
    elif has_keys(element) and not is_short(rows.size):
        ordering = _sorted_by_keys(source, rows, count, element, is_largest, builder)
    else:
        ordering = argsort(source, rows, element, is_largest, builder)
        half_of = sorted_half(rows.size)
    results = [(buffer, sizes) for buffer in _results(op, sizes, element, builder)]
    kernel = Kernel(builder, "topk", results, [(op.X, rows.sizes), ordering])
    values, indices, read, order = kernel.buffers
    with kernel.loops(sizes) as (before, index, after):
        found = order[half_of, before, after, index]
        values.copy((before, index, after), read, (before, found, after))
        indices[before, index, after] = found
    kernel.call()
    return None


supports_dynamic_shapes(math.TopKOp)
