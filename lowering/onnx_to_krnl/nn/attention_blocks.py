"""
Attention of blocks of query rows: products of matrices, with the softmax of one block of keys at a time.

The rows of a block are lanes: scores are `[keys, rows]`, so that the product with the keys needs no
transposed copy of them, and maxima and sums of the softmax are vertical. The softmax is that of
FlashAttention: results are relative to the highest score so far, and rescaled where a later block of keys has
a higher one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, UnitAttr, f32, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.dynamic_shapes import ShapedOp
from xonnc.dialects.krnl.memory import element_of, shape_of
from xonnc.dialects.krnl.tiles import GemmOp
from xonnc.dialects.krnl.types import buffer_of
from xonnc.lowering.onnx_to_krnl.builders.attention_sizes import (
    AttentionSizes,
    attended_keys,
    mask_row,
)
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import KernelBuilder
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.math.matmul import gemm_tile
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size

ROWS = (32, 16, 8)
"""Rows of a block, in decreasing order: smaller ones are for the rest."""

KEYS = 256
"""Keys of a block: its scores and values stay in the caches of a core."""

GROUP = 4
"""Keys whose scores are read in one iteration, so that numbers of rows are read and written once for all."""

MAX_SINGLE_ROWS = 3
"""Up to so many query rows of a key-value head are faster on their own than in a block."""

MAX_GROUP = 8
"""Up to so many query heads of a key-value head, one token is faster on its own, as a group of rows."""

STATISTICS = ("highest", "previous", "offset", "total", "first", "end")
"""
Numbers of each row: the highest score so far, that before the last block, what is subtracted from scores, the
sum of the exponentials, and the range of keys that it attends to.
"""


@dataclass(frozen=True)
class BlockBuffers:
    """Buffers of all key-value heads: results, operands and scratch."""

    out: SSAValue
    """Results, `[rows, size of a value]`, as the queries."""
    queries: SSAValue
    keys: SSAValue
    values: SSAValue
    lengths: SSAValue
    transposed: SSAValue
    """Queries of a block, `[heads, size of a head, rows]`, scaled."""
    scores: SSAValue
    """`[heads, keys, rows]`"""
    products: SSAValue
    """Products of one block of keys, `[heads, rows, size of a value]`."""
    sums: SSAValue
    """Sums of the products of the blocks so far."""
    statistics: SSAValue
    """`[heads, statistics, rows]`"""
    mask: SSAValue | None
    """What is added to the scores."""
    first_key: Scalar | None = None
    """The row of the first key of the head among the keys and values, if those are of this head alone."""


def max_single_queries(group: int) -> int:
    """Return up to how many queries are computed one by one, if a key-value head has `group` query heads."""
    return 0 if group > MAX_GROUP else max(1, MAX_SINGLE_ROWS // group)


def scratch_shapes(it: AttentionSizes, heads: Size) -> list[list[Size]]:
    """Return the shapes of the scratch buffers, in the order of `BlockBuffers`."""
    rows = ROWS[0]
    return [
        [heads, it.width, rows],
        [heads, KEYS, rows],
        [heads, rows, it.value_width],
        [heads, rows, it.value_width],
        [heads, len(STATISTICS), rows],
    ]


def attend_query_blocks(
    kernel: KernelBuilder, it: AttentionSizes, buffers: BlockBuffers, head: Scalar, builder: LoweringBuilder
) -> None:
    """Compute the results of all query rows of a key-value head, a block at a time."""
    total, start = Scalar(kernel, kernel.size(it.rows)), Scalar(kernel, kernel.index(0))
    for size in ROWS:
        # If fewer rows than the smallest block are missing, a block is filled with copies of the last row.
        count = (total - start + (ROWS[-1] - 1)).maximum(0) // size
        with kernel.loops([count.value]) as (number,):
            first = start + Scalar(kernel, number) * size
            _Block(kernel, it, buffers, head, first, size, builder).emit()
        start = start + count * size


class _Block:
    """A block of query rows of one key-value head; `start` is its first row among those of the head."""

    def __init__(
        self,
        kernel: KernelBuilder,
        it: AttentionSizes,
        buffers: BlockBuffers,
        head: Scalar,
        start: Scalar,
        rows: int,
        builder: LoweringBuilder,
    ) -> None:
        self.kernel, self.it, self.builder, self.rows = kernel, it, builder, rows
        self.buffers, self.head, self.start = buffers, head, start
        self.transposed = self._scratch(buffers.transposed, it.width, rows)
        self.scores = self._scratch(buffers.scores, KEYS, rows)
        self.products = self._scratch(buffers.products, rows, it.value_width)
        self.sums = self._scratch(buffers.sums, rows, it.value_width)
        self.statistics = self._scratch(buffers.statistics, len(STATISTICS), rows)
        total = Scalar(kernel, kernel.size(it.rows))
        self.base = head * total
        """The first row of the head."""
        self.count = (total - start).minimum(rows)
        """Rows that there are: others repeat the last one."""
        self.last = total - 1

    def _scratch(self, buffer: SSAValue, *shape: int) -> SSAValue:
        """Return the scratch memory of the head, in the shape of this block."""
        *_, first, second = shape_of(buffer)
        own = self.kernel.subview(buffer, self.head.value, (first, second))
        if (first, second) == shape:
            return own
        type_ = buffer_of(element_of(buffer), shape)
        return self.kernel.add(ShapedOp(operands=[own, []], result_types=[type_]))

    def _statistic(self, name: str, row: SSAValue) -> Scalar:
        index = self.kernel.index(STATISTICS.index(name))
        return Scalar(self.kernel, self.kernel.load(self.statistics, [index, row]))

    def _set(self, name: str, row: SSAValue, value: Scalar) -> None:
        index = self.kernel.index(STATISTICS.index(name))
        self.kernel.store(value.value, self.statistics, [index, row])

    def emit(self) -> None:
        """Compute the results of the rows."""
        kernel, it = self.kernel, self.it
        self._transpose_queries()
        first, end = self._ranges()
        zero, lowest = (Scalar(kernel, kernel.constant(value, f32)) for value in (0.0, -inf))
        with kernel.loops([self.rows]) as (row,):
            self._set("highest", row, lowest)
            self._set("total", row, zero)
        with kernel.loops([self.rows, it.value_width]) as indices:
            kernel.store(zero.value, self.sums, indices)
        blocks = (end - first + (KEYS - 1)).maximum(0) // KEYS
        with kernel.loops([blocks.value]) as (number,):
            key = first + Scalar(kernel, number) * KEYS
            self._add_keys(key, (end - key).minimum(KEYS))
        self._store()

    def _row(self, row: SSAValue) -> Scalar:
        """Return the index of a row among those of the head."""
        return (Scalar(self.kernel, row) + self.start).minimum(self.last)

    def _transpose_queries(self) -> None:
        kernel = self.kernel
        with kernel.loops([self.rows]) as (row,):
            source = (self.base + self._row(row)).value
            with kernel.loops([self.it.width]) as (index,):
                query = Scalar(kernel, kernel.load(self.buffers.queries, [source, index]))
                kernel.store((query * self.it.scale).value, self.transposed, [index, row])

    def _ranges(self) -> tuple[Scalar, Scalar]:
        """Return the range of the keys that any row attends to; store those of rows, if they differ."""
        kernel, it, lengths = self.kernel, self.it, self.buffers.lengths
        queries = Scalar(kernel, kernel.size(it.queries))
        if not it.is_masked:
            first, count = attended_keys(kernel, it, lengths, self.head, queries.like(0))
            return first, first + count
        starts = [kernel.size(it.keys), kernel.index(0)]
        with kernel.reducing([self.rows], starts) as ((row,), carried, results):
            query = self._row(row) % queries
            first, count = attended_keys(kernel, it, lengths, self.head, query)
            end = first + count
            self._set("first", row, first.to(f32))
            self._set("end", row, end.to(f32))
            least, most = (Scalar(kernel, each) for each in carried)
            results += [least.minimum(first).value, most.maximum(end).value]
        least, most = (Scalar(kernel, each) for each in results)
        return least, most

    def _add_keys(self, key: Scalar, count: Scalar) -> None:
        """Add the products of a block of keys, and rescale the sums so far."""
        kernel, it = self.kernel, self.it
        first_key = self.buffers.first_key
        if first_key is None:
            first_key = self.head * Scalar(kernel, kernel.size(it.keys))
        start = (first_key + key).value
        keys = kernel.rows(self.buffers.keys, start, count.value)
        self._product(self.scores, keys, self.transposed, (count, self.rows, it.width))
        if it.mask_varies:
            self._add_mask(key, count)
        groups = self._pad_scores(count)
        with kernel.loops([self.rows]) as (row,):
            self._set("previous", row, self._statistic("highest", row))
        with kernel.loops([groups.value]) as (group,):
            numbers = self._of_group(group)
            positions = [Scalar(kernel, number) + key for number in numbers]
            floats = [position.to(f32) for position in positions]
            is_common = bool(it.mask) and not it.mask_varies
            # Padding is after the last key, and so may be the columns of the mask.
            columns = [position.minimum(key + count - 1) for position in positions] if is_common else []
            biases = [self._bias(column) for column in columns]
            with kernel.loops([self.rows]) as (row,):
                highest = self._statistic("highest", row)
                for index, (number, position) in enumerate(zip(numbers, floats, strict=True)):
                    bias = biases[index] if biases else None
                    highest = highest.maximum(self._masked_score(number, row, position, bias))
                self._set("highest", row, highest)
        with kernel.loops([self.rows]) as (row,):
            highest = self._statistic("highest", row)
            # exp(-inf - -inf) would be NaN.
            offset = highest.equals(-inf).select(0.0, highest)
            factor = (self._statistic("previous", row) - offset).exp()
            self._set("offset", row, offset)
            self._set("previous", row, factor)
            self._set("total", row, self._statistic("total", row) * factor)
        with kernel.loops([groups.value]) as (group,):
            numbers = self._of_group(group)
            with kernel.loops([self.rows]) as (row,):
                offset, total = (self._statistic(name, row) for name in ("offset", "total"))
                for number in numbers:
                    score = Scalar(kernel, kernel.load(self.scores, [number, row]))
                    weight = (score - offset).exp()
                    kernel.store(weight.value, self.scores, [number, row])
                    total = total + weight
                self._set("total", row, total)
        values = kernel.rows(self.buffers.values, start, count.value)
        self._product(self.products, self.scores, values, (self.rows, it.value_width, count))
        with kernel.loops([self.rows]) as (row,):
            factor = self._statistic("previous", row)
            with kernel.loops([it.value_width]) as (index,):
                added, total = (
                    Scalar(kernel, kernel.load(each, [row, index])) for each in (self.products, self.sums)
                )
                kernel.store((total * factor + added).value, self.sums, [row, index])

    def _pad_scores(self, count: Scalar) -> Scalar:
        """Add scores of -inf so that the last group is full; return the number of groups."""
        kernel = self.kernel
        groups = (count + (GROUP - 1)) // GROUP
        lowest = kernel.constant(-inf, f32)
        with kernel.loops([(groups * GROUP - count).value, self.rows]) as (number, row):
            kernel.store(lowest, self.scores, [kernel.plus(number, count.value), row])
        return groups

    def _of_group(self, group: SSAValue) -> list[SSAValue]:
        """Return the numbers of the keys of a group."""
        first = self.kernel.affine(group, GROUP)
        return [self.kernel.affine(first, 1, number) for number in range(GROUP)]

    def _bias(self, column: Scalar) -> Scalar:
        """Return what is added to the score of a key, the same for all rows of the block."""
        kernel, mask = self.kernel, self.buffers.mask
        assert mask is not None
        index = mask_row(kernel, self.it, self.head, self.head.like(0), self.head.like(0))
        return Scalar(kernel, kernel.load(mask, [index.value, column.value]))

    def _add_mask(self, key: Scalar, count: Scalar) -> None:
        """Add the mask, whose rows are contiguous, to scores, whose columns are: each row is found once."""
        kernel, mask = self.kernel, self.buffers.mask
        assert mask is not None
        queries = Scalar(kernel, kernel.size(self.it.queries))
        with kernel.loops([self.rows]) as (row,):
            member, query = self._row(row) // queries, self._row(row) % queries
            index = mask_row(kernel, self.it, self.head, member, query)
            with kernel.loops([count.value]) as (number,):
                column = key + Scalar(kernel, number)
                bias = Scalar(kernel, kernel.load(mask, [index.value, column.value]))
                score = Scalar(kernel, kernel.load(self.scores, [number, row]))
                kernel.store((score + bias).value, self.scores, [number, row])

    def _masked_score(self, number: SSAValue, row: SSAValue, position: Scalar, bias: Scalar | None) -> Scalar:
        """Return a score after the cap, -inf for a key without attention; store it if it may have changed."""
        kernel, op = self.kernel, self.it.op
        score = Scalar(kernel, kernel.load(self.scores, [number, row]))
        if cap := op.softcap.value.data:
            score = (score / cap).tanh() * cap
        if bias is not None:
            score = score + bias
        if self.it.is_masked:
            score = (position < self._statistic("end", row)).select(score, -inf)
        if op.left_window_size.value.data >= 0:
            score = (position >= self._statistic("first", row)).select(score, -inf)
        if cap or self.it.is_masked or bias is not None:
            kernel.store(score.value, self.scores, [number, row])
        return score

    def _store(self) -> None:
        """Store the results of the rows that there are."""
        kernel = self.kernel
        with kernel.loops([self.count.value]) as (row,):
            total = self._statistic("total", row)
            # A query that attends to no key, or whose mask hides all by -inf, has the result 0.
            factor = total.equals(0.0).select(0.0, 1.0 / total)
            target = (self.base + self.start + Scalar(kernel, row)).value
            with kernel.loops([self.it.value_width]) as (index,):
                result = Scalar(kernel, kernel.load(self.sums, [row, index])) * factor
                kernel.store(result.value, self.buffers.out, [target, index])

    def _product(
        self, c: SSAValue, a: SSAValue, b: SSAValue, sizes: tuple[int | Scalar, int | Scalar, int | Scalar]
    ) -> None:
        """Add a product of M, N and K; A is transposed if K is the dynamic number of keys."""
        static = [KEYS if isinstance(size, Scalar) else size for size in sizes]
        m, n, k = static
        tile = gemm_tile(self.builder, f32, (m, n, k))
        properties: dict[str, Attribute] = {
            name: IntegerAttr(DYNAMIC_INDEX if isinstance(size, Scalar) else size, i64)
            for name, size in zip("mnk", sizes, strict=True)
        }
        properties["tile"] = DenseArrayBase.from_list(i64, list(tile))
        if isinstance(sizes[2], Scalar):
            properties["transposed_a"] = UnitAttr()
        dynamic = [size.value for size in sizes if isinstance(size, Scalar)]
        self.kernel.block.add_op(GemmOp(operands=[c, a, b, [], [], dynamic], properties=properties))
