"""The best K of each row by insertion while scanning, for small K."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.lowering.onnx_to_krnl.builders.kernels import Buffer, Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.math.along_axis import AxisSplit, is_before
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type
from xonnc.lowering.onnx_to_krnl.tensor.sort_keys import has_keys, key_of

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
    kernel = Kernel(builder, "topk_insertion", [best, ordering], [(source, rows.sizes)])
    numbers, order, read = kernel.buffers
    blocks = (rows.size - count) // BLOCK
    with kernel.loops([1, rows.before, rows.after]) as outer:
        best_of = _Best(kernel, numbers, order, read, outer, is_largest, count)
        # Initialize the K-th: it is read before K elements were inserted, without effect on the result.
        numbers[*outer, count - 1] = 0
        with kernel.loops([count]) as (index,):
            best_of.insert(index)
        take = best_of.push if count <= MAX_INSERTION_K else best_of.insert
        with kernel.loops([blocks]) as (block,):
            first = block * BLOCK + count
            with kernel.when(best_of.beats_in(first)), kernel.loops([BLOCK]) as (index,):
                take(first + index)
        start = count + blocks * BLOCK
        with kernel.loops([rows.size - start]) as (index,):
            take(index + kernel.size(start))
    kernel.call()
    return ordering


@dataclass(frozen=True)
class _Best:
    """The best elements of a row so far, sorted, and their indices."""

    kernel: Kernel
    numbers: Buffer
    order: Buffer
    source: Buffer
    outer: Sequence[Scalar]
    is_largest: bool
    count: int

    def _element(self, index: Scalar) -> Scalar:
        """Return an element as it is compared: its key, or itself."""
        _, before, after = self.outer
        number, element = self.source[before, index, after], self.source.element
        return key_of(number, element, self.is_largest) if has_keys(element) else number

    def _is_before(self, a: Scalar, b: Scalar) -> Scalar:
        element = self.source.element
        return a < b if has_keys(element) else is_before(element, self.is_largest, a, b)

    def beats_in(self, first: Scalar) -> Scalar:
        """Whether any element of a block sorts before the K-th best; vectorized."""
        last = self.numbers[*self.outer, self.count - 1]

        def beats(found: Scalar, index: Scalar) -> Scalar:
            return found.maximum(self._is_before(self._element(first + index), last).to(i32))

        return self.kernel.reduce(BLOCK, self.kernel.constant(0, i32), beats).differs(0)

    def push(self, index: Scalar) -> None:
        """Insert an element among K best, if it belongs there: one pass that shifts, without branches."""
        kernel, numbers, order = self.kernel, self.numbers, self.order
        x = self._element(index)
        with kernel.when(self._is_before(x, numbers[*self.outer, self.count - 1])):
            start = [x, index.to(i64), kernel.constant(0, i1)]
            with kernel.reducing([self.count], start) as ((slot,), (number, position, is_shifted), ends):
                at = (*self.outer, slot)
                own, own_position = numbers[at], order[at]
                shifts = self._is_before(number, own) | is_shifted
                numbers[at] = shifts.select(number, own)
                order[at] = shifts.select(position, own_position)
                ends += [shifts.select(own, number), shifts.select(own_position, position), shifts]

    def insert(self, index: Scalar) -> None:
        """Insert an element among the best so far, if it belongs there: binary search, then shift."""
        kernel, outer, numbers, order = self.kernel, self.outer, self.numbers, self.order
        x = self._element(index)
        beats = self._is_before(x, numbers[*outer, self.count - 1])
        with kernel.when((index < self.count) | beats):
            known = index.minimum(self.count)
            start = [kernel.index(0), known]
            with kernel.reducing([self.count.bit_length()], start) as (_, (low, high), results):
                middle = (low + high).divide_unsigned(2)
                is_sooner = self._is_before(x, numbers[*outer, middle.minimum(self.count - 1)])
                is_open = low < high
                results.append((is_open & ~is_sooner).select(middle + 1, low))
                results.append((is_open & is_sooner).select(middle, high))
            slot, end = results[0], known.minimum(self.count - 1)
            with kernel.loops([end - slot]) as (iteration,):
                target = end - iteration
                for buffer in (numbers, order):
                    buffer.copy((*outer, target), buffer, (*outer, target - 1))
            numbers[*outer, slot] = x
            order[*outer, slot] = index
