"""The best K of each row by insertion while scanning, for small K."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.lowering.onnx_to_krnl.along_axis import AxisSplit, is_before
from xonnc.lowering.onnx_to_krnl.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.sort_keys import has_keys, key_of

MAX_INSERTION_K = 8
"""Largest K for insertion while scanning, if keys could be selected instead."""

MAX_INSERTION_RATIO = 4
"""Insertion while scanning is used for `K² <= ratio · size`: few elements reach the top K."""


BLOCK = 16
"""Elements that are compared with the K-th best at once; those of a block with a better one, one by one."""


def best_by_insertion(
    source: SSAValue,
    rows: AxisSplit,
    count: int,
    element: Attribute,
    is_largest: bool,
    builder: LoweringBuilder,
) -> SSAValue:
    """
    Return the sorted indices of the top K: scan the row and insert, but most elements are only compared.

    Elements are compared by their integer keys if they have such, which takes fewer instructions with NaN.
    """
    sizes = [1, rows.before, rows.after, count]
    ordered = i32 if has_keys(element) else compute_type(element)
    best, ordering = builder.allocate(sizes, ordered), builder.allocate(sizes, i64)
    kernel = KernelBuilder(
        [buffer_type(sizes, ordered), buffer_type(sizes, i64), buffer_type(rows.sizes, element)]
    )
    blocks = (rows.size - count) // BLOCK
    with kernel.loops([1, rows.before, rows.after]) as outer:
        best_of = _Best(kernel, kernel.buffers, outer, element, is_largest, count)
        # Initialize the K-th: it is read before K elements were inserted, without effect on the result.
        kernel.store(kernel.constant(0, ordered), kernel.buffers[0], [*outer, kernel.index(count - 1)])
        with kernel.loops([count]) as (index,):
            best_of.insert(Scalar(kernel, index))
        take = best_of.push if count <= MAX_INSERTION_K else best_of.insert
        with kernel.loops([blocks]) as (block,):
            first = Scalar(kernel, kernel.affine(block, BLOCK, count))
            with kernel.when(best_of.beats_in(first).value):
                with kernel.loops([BLOCK]) as (index,):
                    take(first + Scalar(kernel, index))
        start = count + blocks * BLOCK
        with kernel.loops([rows.size - start]) as (index,):
            take(Scalar(kernel, kernel.affine(index, 1, start)))
    builder.call("topk_insertion", kernel, [best, ordering], [source])
    return ordering


@dataclass(frozen=True)
class _Best:
    """The best elements of a row so far, sorted, and their indices."""

    kernel: KernelBuilder
    buffers: Sequence[SSAValue]
    outer: Sequence[SSAValue]
    element: Attribute
    is_largest: bool
    count: int

    def _element(self, index: Scalar) -> Scalar:
        """Return an element as it is compared: its key, or itself."""
        _, before, after = self.outer
        x = self.kernel.read(self.buffers[2], [before, index.value, after], self.element)
        number = Scalar(self.kernel, x)
        return key_of(number, self.element, self.is_largest) if has_keys(self.element) else number

    def _is_before(self, a: Scalar, b: Scalar) -> Scalar:
        if has_keys(self.element):
            return a < b
        found = is_before(self.kernel, self.element, self.is_largest, a.value, b.value)
        return Scalar(self.kernel, found)

    def _best(self, position: SSAValue) -> Scalar:
        return Scalar(self.kernel, self.kernel.load(self.buffers[0], [*self.outer, position]))

    def beats_in(self, first: Scalar) -> Scalar:
        """Whether any element of a block sorts before the K-th best; vectorized."""
        kernel, last = self.kernel, self._best(self.kernel.index(self.count - 1))
        with kernel.reducing([BLOCK], [kernel.constant(0, i32)]) as ((index,), accumulators, results):
            beats = self._is_before(self._element(first + Scalar(kernel, index)), last)
            results.append(kernel.add(arith.MaxSIOp(accumulators[0], beats.to(i32).value)))
        return Scalar(kernel, results[0]).differs(0)

    def push(self, index: Scalar) -> None:
        """Insert an element among K best, if it belongs there: one pass that shifts, without branches."""
        kernel, (numbers, order, _) = self.kernel, self.buffers
        x = self._element(index)
        beats = self._is_before(x, self._best(kernel.index(self.count - 1)))
        with kernel.when(beats.value):
            start = [x.value, index.to(i64).value, kernel.constant(0, i1)]
            with kernel.reducing([self.count], start) as ((slot,), carried, ends):
                number, coordinate, is_shifted = (Scalar(kernel, each) for each in carried)
                at = [*self.outer, slot]
                own, own_index = self._best(slot), Scalar(kernel, kernel.load(order, at))
                shifts = self._is_before(number, own) | is_shifted
                kernel.store(shifts.select(number, own).value, numbers, at)
                kernel.store(shifts.select(coordinate, own_index).value, order, at)
                moved = shifts.select(own, number), shifts.select(own_index, coordinate), shifts
                ends.extend(each.value for each in moved)

    def insert(self, index: Scalar) -> None:
        """Insert an element among the best so far, if it belongs there: binary search, then shift."""
        kernel, outer, (numbers, order, _) = self.kernel, self.outer, self.buffers
        x = self._element(index)
        beats = self._is_before(x, self._best(kernel.index(self.count - 1)))
        with kernel.when(((index < self.count) | beats).value):
            known = index.minimum(self.count)
            ends = [kernel.index(0), known.value]
            with kernel.reducing([self.count.bit_length()], ends) as (_, carried, results):
                low, high = (Scalar(kernel, each) for each in carried)
                middle = Scalar(kernel, kernel.add(arith.DivUIOp((low + high).value, kernel.index(2))))
                is_sooner = self._is_before(x, self._best(middle.minimum(self.count - 1).value))
                is_open = low < high
                results.append((is_open & ~is_sooner).select(middle + 1, low).value)
                results.append((is_open & is_sooner).select(middle, high).value)
            slot, end = Scalar(kernel, results[0]), known.minimum(self.count - 1)
            with kernel.loops([(end - slot).value]) as (iteration,):
                target = end - Scalar(kernel, iteration)
                for buffer in (numbers, order):
                    moved = kernel.load(buffer, [*outer, (target - 1).value])
                    kernel.store(moved, buffer, [*outer, target.value])
            kernel.store(x.value, numbers, [*outer, slot.value])
            kernel.store(index.to(i64).value, order, [*outer, slot.value])
