"""The largest or smallest along an axis, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.onnx.ops import math
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.along_axis import Rows, is_before
from xonnc.lowering.onnx_to_krnl.elements import wide
from xonnc.lowering.onnx_to_krnl.kernel import INDEX, Kernel, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering import Lowering, lowers
from xonnc.lowering.onnx_to_krnl.scalars import Scalar

IsBefore: TypeAlias = Callable[[Scalar, Scalar], SSAValue]
"""Writes whether what is at the first of two places, indices, comes before what is at the second."""


def sorted_places(source: SSAValue, rows: Rows, element: Attribute, largest: bool, to: Lowering) -> SSAValue:
    """
    The places along the axis in the order of their elements, of equal ones the lower first.

    A buffer i64[2, before, after, size], whose first half or (the other pass wrote last) second holds them:
    the half is the number of passes modulo 2.
    """
    places = to.allocate([2, rows.before, rows.after, rows.size], i64)
    kernel = Kernel(
        [buffer_type([2, rows.before, rows.after, rows.size], i64), buffer_type(rows.sizes, element)]
    )
    held, read = kernel.buffers
    with kernel.loops([rows.before, rows.after]) as outer:

        def is_sooner(a: Scalar, b: Scalar) -> SSAValue:
            numbers = [kernel.read(read, [outer[0], at.value, outer[1]], element) for at in (a, b)]
            return is_before(kernel, element, largest, *numbers)

        with kernel.loops([rows.size]) as (index,):
            start = kernel.add(arith.IndexCastOp(index, i64))
            kernel.store(start, held, [kernel.index(0), *outer, index])
        sort_places(kernel, held, outer, kernel.index(rows.size), rows.size, is_sooner)
    to.call("sort", kernel, [places], [source])
    return places


def passes(size: int) -> int:
    """How often runs of twice the length are merged."""
    return max(size - 1, 0).bit_length()


def sort_places(
    kernel: Kernel, held: SSAValue, outer: Sequence[SSAValue], size: SSAValue, most: int, is_before: IsBefore
) -> None:
    """
    Sorts the first `size` of i64[2, *outer, most], of which the first half holds places.

    They are in the half `passes(most) % 2` then; what neither comes before the other stays in order.
    """
    zero, one = Scalar(kernel, kernel.number(0, i64)), Scalar(kernel, kernel.number(1, i64))
    count = Scalar(kernel, size).to(i64)
    with kernel.reducing([passes(most)], [one.value]) as ((turn,), carried, grown):
        width = Scalar(kernel, carried[0])
        parity = Scalar(kernel, turn).to(i64) & one
        source, target = parity.to(INDEX).value, (one - parity).to(INDEX).value

        def place_at(number: Scalar) -> Scalar:
            index = number.at_most(count - 1).to(INDEX)
            return Scalar(kernel, kernel.load(held, [source, *outer, index.value]))

        with kernel.reducing([size], [zero.value] * 3) as ((index,), runs, results):
            # `middle` is where the right run of a pair begins; both runs are read on from `left` and `right`.
            left, right, middle = (Scalar(kernel, each) for each in runs)
            place = Scalar(kernel, index).to(i64)
            is_new = (place >= middle + width) | place.equals(0)
            fresh = (place + width).at_most(count)
            left, right = is_new.choose(place, left), is_new.choose(fresh, right)
            middle = is_new.choose(fresh, middle)
            end = (middle + width).at_most(count)
            a, b = place_at(left), place_at(right)
            is_sooner = Scalar(kernel, is_before(b.to(INDEX), a.to(INDEX)))
            is_right = ((right < end) & is_sooner) | (left >= middle)
            kernel.store(is_right.choose(b, a).value, held, [target, *outer, index])
            results.append(is_right.choose(left, left + 1).value)
            results.append(is_right.choose(right + 1, right).value)
            results.append(middle.value)
        grown.append((width + width).value)


MOST_INSERTED = 4
"""Times the size of a row: the square of a K that is worth to be kept in order while the row is read."""


BLOCK = 32
"""Elements that are compared at once with the last of the best."""


def _insert(
    op: math.TopKOp, source: SSAValue, rows: Rows, count: int, element: Attribute, to: Lowering
) -> None:
    """Keeps the best of a row in order while reading it: most elements are compared with the last alone."""
    sizes = [rows.before, rows.after, count]
    best, places = to.allocate(sizes, wide(element)), to.allocate(sizes, i64)
    is_largest = bool(op.largest.value.data)
    kernel = Kernel(
        [buffer_type(sizes, wide(element)), buffer_type(sizes, i64), buffer_type(rows.sizes, element)]
    )
    best_of = _Best(kernel, kernel.buffers, element, is_largest, count)
    whole = rows.size // BLOCK
    with kernel.loops([rows.before, rows.after]) as outer:
        # What is there before does not count: as many as there is room for are taken anyway.
        kernel.store(kernel.number(0, wide(element)), kernel.buffers[0], [*outer, kernel.index(count - 1)])
        with kernel.loops([whole]) as (block,):
            first = Scalar(kernel, kernel.scaled(block, BLOCK))
            with kernel.when(((first < count) | best_of.beats_in(outer, first)).value):
                with kernel.loops([BLOCK]) as (index,):
                    best_of.take(outer, first + Scalar(kernel, index))
        with kernel.loops([rows.size - whole * BLOCK]) as (index,):
            best_of.take(outer, Scalar(kernel, kernel.scaled(index, 1, whole * BLOCK)))
    to.call("best", kernel, [best, places], [source])
    shape = [rows.before, count, rows.after]
    kernel = Kernel(
        [
            buffer_type(shape, element),
            buffer_type(shape, i64),
            buffer_type(sizes, wide(element)),
            buffer_type(sizes, i64),
        ]
    )
    values, indices, numbers, held = kernel.buffers
    with kernel.loops(shape) as (before, index, after):
        at = [before, after, index]
        kernel.write(kernel.load(numbers, at), values, [before, index, after], element)
        kernel.store(kernel.load(held, at), indices, [before, index, after])
    to.call("topk", kernel, _results(op, shape, element, to), [best, places])


@dataclass(frozen=True)
class _Best:
    """The best so far of each row, in order, and where they are; and what rows are read from."""

    kernel: Kernel
    buffers: Sequence[SSAValue]
    element: Attribute
    is_largest: bool
    count: int

    def _beats(self, outer: Sequence[SSAValue], index: Scalar, place: SSAValue) -> tuple[SSAValue, Scalar]:
        """An element, and whether it comes before the one that is at a place of the best."""
        kernel, (numbers, _, read) = self.kernel, self.buffers
        x = kernel.read(read, [outer[0], index.value, outer[1]], self.element)
        other = kernel.load(numbers, [*outer, place])
        return x, Scalar(kernel, is_before(kernel, self.element, self.is_largest, x, other))

    def beats_in(self, outer: Sequence[SSAValue], first: Scalar) -> Scalar:
        """Whether any of a block comes before the last of the best; in vectors."""
        kernel, last = self.kernel, self.kernel.index(self.count - 1)
        with kernel.reducing([BLOCK], [kernel.number(0, i32)]) as ((index,), held, results):
            _, beats = self._beats(outer, first + Scalar(kernel, index), last)
            results.append(kernel.add(arith.MaxSIOp(held[0], beats.to(i32).value)))
        return Scalar(kernel, results[0]).differs(0)

    def take(self, outer: Sequence[SSAValue], place: Scalar) -> None:
        """Puts an element in its place among the best, if it is one."""
        kernel, (numbers, held, _) = self.kernel, self.buffers
        x, beats = self._beats(outer, place, kernel.index(self.count - 1))
        with kernel.when(((place < self.count) | beats).value):
            known = place.at_most(self.count)
            ends = [kernel.index(0), known.value]
            with kernel.reducing([self.count.bit_length()], ends) as (_, carried, results):
                low, high = (Scalar(kernel, each) for each in carried)
                middle = Scalar(kernel, kernel.add(arith.DivUIOp((low + high).value, kernel.index(2))))
                _, is_sooner = self._beats(outer, place, middle.at_most(self.count - 1).value)
                is_open = low < high
                results.append((is_open & ~is_sooner).choose(middle + 1, low).value)
                results.append((is_open & is_sooner).choose(middle, high).value)
            slot, end = Scalar(kernel, results[0]), known.at_most(self.count - 1)
            with kernel.loops([(end - slot).value]) as (turn,):
                target = end - Scalar(kernel, turn)
                for buffer in (numbers, held):
                    moved = kernel.load(buffer, [*outer, (target - 1).value])
                    kernel.store(moved, buffer, [*outer, target.value])
            kernel.store(x, numbers, [*outer, slot.value])
            kernel.store(place.to(i64).value, held, [*outer, slot.value])


def _results(op: math.TopKOp, sizes: Sequence[int], element: Attribute, to: Lowering) -> list[SSAValue]:
    """Buffers of both results, of which either may be left out."""
    return [
        to.allocate(sizes, kind) if result.type == NONE else to.result(result)
        for result, kind in ((op.Values, element), (op.Indices, i64))
    ]


@lowers(math.TopKOp)
def top_k(op: math.TopKOp, to: Lowering) -> str | None:
    """The K largest (or smallest) along `axis`, in order, and where they were."""
    if to.constant(op.K) is None:
        return "a K that is no constant"
    rows, element = Rows.of(to.shape(op.X), op.axis.value.data), to.element(op.X)
    known = op.Indices if op.Values.type == NONE else op.Values
    count = Rows.of(to.shape(known), op.axis.value.data).size
    source, is_largest = to.buffer(op.X), bool(op.largest.value.data)
    sizes = [rows.before, count, rows.after]
    if 0 < count * count <= MOST_INSERTED * rows.size:
        _insert(op, source, rows, count, element, to)
        return None
    places = sorted_places(source, rows, element, is_largest, to)
    kernel = Kernel(
        [
            buffer_type(sizes, element),
            buffer_type(sizes, i64),
            buffer_type(rows.sizes, element),
            buffer_type([2, rows.before, rows.after, rows.size], i64),
        ]
    )
    values, indices, read, held = kernel.buffers
    half = kernel.index(passes(rows.size) % 2)
    with kernel.loops(sizes) as (before, index, after):
        place = kernel.load(held, [half, before, after, index])
        at = kernel.add(arith.IndexCastOp(place, INDEX))
        kernel.store(kernel.load(read, [before, at, after]), values, [before, index, after])
        kernel.store(place, indices, [before, index, after])
    to.call("topk", kernel, _results(op, sizes, element, to), [source, places])
    return None
