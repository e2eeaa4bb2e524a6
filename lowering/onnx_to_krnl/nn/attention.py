"""
Scaled dot-product attention over a key-value cache of any length, without a matrix of all scores.

One iteration is a key-value head: for each query position, the queries of its group read each key once, the
softmax is two passes over their rows of scores, and a product with the values sums them up. Keys that a query
does not attend to (after its position, outside of its window, or padding) are not read.

A cache of narrow elements becomes float32: for one query a block of keys at a time, and of values in the
second pass; for many queries the whole cache of a head, once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, f32, i64
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.dynamic_shapes import ShapedOp
from xonnc.dialects.krnl.memory import shape_of
from xonnc.dialects.krnl.tiles import GemmOp
from xonnc.dialects.krnl.types import buffer_of
from xonnc.dialects.onnx.ops.nn import AttentionOp
from xonnc.lowering.onnx_to_krnl.builders.attention_sizes import (
    AttentionSizes,
    attended_keys,
    attention_sizes,
    has_attention_kernel,
    mask_row,
)
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import BufferType, KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    LoweringBuilder,
    lowers,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.math.matmul import gemm_tile
from xonnc.lowering.onnx_to_krnl.nn.attention_blocks import (
    BlockBuffers,
    attend_query_blocks,
    max_single_queries,
    scratch_shapes,
)
from xonnc.lowering.onnx_to_krnl.nn.cache_rows import CacheRows
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static, volume

supports_dynamic_shapes(AttentionOp)

NARROW_KEYS = 64
"""Keys of a narrow cache that become float32 at a time for one query: they stay in the first cache."""


@lowers(AttentionOp)
def attention(op: AttentionOp, builder: LoweringBuilder) -> str | None:
    """`softmax(scale Q Kᵀ) V` for each head, over the keys that a query attends to."""
    if not has_attention_kernel(op):
        return "an attention without a cache, or not of float32 heads of static size"
    it = attention_sizes(op, builder.sizes)
    slices, narrow = builder.cache_slices.get(op), builder.narrow_caches.get(op)
    heads, rows = volume([it.batch, it.key_heads]), volume([it.batch, it.key_heads, it.rows])
    # Few queries are computed one by one, many by blocks; a dynamic number of them either way.
    few = max_single_queries(it.group)
    has_few = few > 0 if not is_static(it.queries) else it.queries <= few
    has_many = not is_static(it.queries) or it.queries > few
    wide_shapes: list[list[Size]] = []
    if narrow is not None:
        length = it.keys if has_many else NARROW_KEYS
        wide_shapes = [[heads, length, width] for width in (it.width, it.value_width)]
    scratch = [*wide_shapes, *_scratch_of_query(it, heads, narrow is not None)] if has_few else wide_shapes
    scratch = [*scratch, *(scratch_shapes(it, heads) if has_many else [])]
    shapes: list[list[Size]] = [
        [rows, it.value_width],
        *scratch,
        [rows, it.width],
    ]
    types = [buffer_type(shape, f32) for shape in shapes]
    types += _cache_types(it, heads, builder)
    types.append(buffer_type([it.batch], i64))
    if it.mask:
        types.append(buffer_type([volume(it.mask[:3]), it.mask[3]], f32))
    kernel = KernelBuilder(types)
    # All sizes come before the range among the arguments.
    for size in (heads, it.queries, it.rows, it.keys, *it.mask):
        kernel.size(size)
    first, end = (Scalar(kernel, each) for each in kernel.add_range_arguments())
    tile = gemm_tile(builder, f32, (it.group, it.value_width, it.keys))
    out, *memory, queries, keys, values, lengths = kernel.buffers[: len(shapes) + 3]
    mask = kernel.buffers[-1] if it.mask else None
    if slices is not None:
        shape = volume([heads, it.keys]), it.width
        keys, values = (
            kernel.subview(cache, kernel.index(index), shape)
            for cache, index in zip((keys, values), slices.indices, strict=True)
        )
    with kernel.loops([(end - first).value]) as (number,):
        head = Scalar(kernel, number) + first
        queries_count = Scalar(kernel, kernel.size(it.queries))
        is_few = queries_count <= few
        own_memory = list(memory)
        wide = [
            CacheRows(buffer, cache, kernel.subview(own_memory.pop(0), head.value, shape[1:]))
            for buffer, cache, shape in zip((keys, values), narrow or (), wide_shapes, strict=False)
        ]
        if has_few:
            own_memory = own_memory[: 3 if wide else 2]
            own = _Buffers(out, queries, keys, values, lengths, mask, *own_memory, wide=wide)
            count = is_few.select(queries_count, 0)
            with kernel.loops([count.value]) as (query,):
                _of_query(kernel, it, own, head, Scalar(kernel, query), tile)
        if has_many:
            with kernel.when((~is_few).value):
                first_key = None
                if wide:
                    first_key = head.like(0)
                    start = head * Scalar(kernel, kernel.size(it.keys))
                    keys, values = (each(kernel, start.value, kernel.size(it.keys)) for each in wide)
                blocks = BlockBuffers(
                    out, queries, keys, values, lengths, *memory[-5:], mask=mask, first_key=first_key
                )
                attend_query_blocks(kernel, it, blocks, head, builder)
    allocated = [builder.allocate(shape, f32) for shape in scratch]
    inputs = [builder.buffer(value) for value in (op.Q, *_caches(op, builder), op.nonpad_kv_seqlen)]
    inputs += [builder.buffer(op.attn_mask)] if it.mask else []
    builder.call("attention", kernel, [builder.result(op.Y), *allocated], inputs, heads)
    return None


def _scratch_of_query(it: AttentionSizes, heads: Size, is_narrow: bool) -> list[list[Size]]:
    """Return the shapes of the scratch memory for queries one by one: scores, sums, products of a block."""
    products: list[list[Size]] = [[heads, it.group, it.value_width]]
    return [[heads, it.group, it.keys], *products, *(products if is_narrow else [])]


def _cache_types(it: AttentionSizes, heads: Size, builder: LoweringBuilder) -> list[BufferType]:
    """Return the types of the keys and values, or of the caches that have them."""
    slices, narrow = builder.cache_slices.get(it.op), builder.narrow_caches.get(it.op)
    rows = volume([heads, it.keys])
    if narrow is not None:
        return [buffer_type([rows, each.width], builder.element(each.cache)) for each in narrow]
    outer = [] if slices is None else [slices.count]
    return [buffer_type([*outer, rows, width], f32) for width in (it.width, it.value_width)]


def _caches(op: AttentionOp, builder: LoweringBuilder) -> Sequence[SSAValue]:
    """Return the keys and values, or the caches that have them."""
    slices, narrow = builder.cache_slices.get(op), builder.narrow_caches.get(op)
    if narrow is not None:
        return [each.cache for each in narrow]
    return (op.K, op.V) if slices is None else (slices.cache, slices.cache)


@dataclass(frozen=True)
class _Buffers:
    """Buffers of all key-value heads."""

    out: SSAValue
    queries: SSAValue
    keys: SSAValue
    values: SSAValue
    lengths: SSAValue
    mask: SSAValue | None
    scores: SSAValue
    sums: SSAValue
    products: SSAValue | None = None
    """Products of one block of keys, of a narrow cache."""
    wide: Sequence[CacheRows] = ()
    """The keys and values of a narrow cache."""


def _of_query(
    kernel: KernelBuilder,
    it: AttentionSizes,
    buffers: _Buffers,
    head: Scalar,
    query: Scalar,
    tile: tuple[int, int],
) -> None:
    """Compute the results of one query position for the group of a key-value head."""
    first, count = attended_keys(kernel, it, buffers.lengths, head, query)
    own_scores = kernel.subview(buffers.scores, head.value, (it.group, it.keys))
    own_sums = kernel.subview(buffers.sums, head.value, (it.group, it.value_width))
    start = head * Scalar(kernel, kernel.size(it.keys)) + first
    rows = [
        (head * it.group + member) * Scalar(kernel, kernel.size(it.queries)) + query
        for member in range(it.group)
    ]
    biases = _biases(kernel, it, buffers, head, query)
    if buffers.products is None:
        # A row of scores is as long as there are keys that the query attends to.
        scores = _of_keys(kernel, own_scores, it.group, count)
        lowest = [kernel.constant(-inf, f32)] * it.group
        keys = buffers.keys, start, count, first
        highest = _scores(kernel, it, (buffers.queries, scores), keys, rows, biases, lowest)
        totals = [_softmax(kernel, scores, member, count, most) for member, most in enumerate(highest)]
        _add_product(
            kernel, (own_sums, scores, kernel.rows(buffers.values, start.value, count.value)), count, tile
        )
    else:
        own_products = kernel.subview(buffers.products, head.value, (it.group, it.value_width))
        memory = own_scores, own_sums, own_products
        totals = _attend_narrow(kernel, it, buffers, memory, (start, count, first), rows, biases, tile)
    for member, total in enumerate(totals):
        # A query that attends to no key, or whose mask hides all by -inf, has the result 0.
        factor = total.equals(0.0).select(0.0, 1.0 / total)
        with kernel.loops([it.value_width]) as (index,):
            result = Scalar(kernel, kernel.load(own_sums, [kernel.index(member), index])) * factor
            kernel.store(result.value, buffers.out, [rows[member].value, index])


def _of_keys(kernel: KernelBuilder, scores: SSAValue, group: int, count: Scalar) -> SSAValue:
    """Return memory of scores as rows for `count` keys."""
    type_ = buffer_of(f32, (group, DYNAMIC_INDEX))
    return kernel.add(ShapedOp(operands=[scores, [count.value]], result_types=[type_]))


def _attend_narrow(
    kernel: KernelBuilder,
    it: AttentionSizes,
    buffers: _Buffers,
    memory: tuple[SSAValue, SSAValue, SSAValue],
    keys: tuple[Scalar, Scalar, Scalar],
    rows: Sequence[Scalar],
    biases: Sequence[Callable[[Scalar], Scalar]],
    tile: tuple[int, int],
) -> list[Scalar]:
    """
    Store the sums of values of a narrow cache, by blocks of keys; return those of the weights.

    `memory` is that of scores, in which a block has rows of its own, of sums, and of products.
    """
    (scores, sums, products), (start, count, first) = memory, keys
    columns = kernel.add(
        ShapedOp(
            operands=[scores, [kernel.size(it.keys)]],
            result_types=[buffer_of(f32, (DYNAMIC_INDEX, it.group))],
        )
    )
    key_rows, value_rows = buffers.wide
    blocks = (count + (NARROW_KEYS - 1)) // NARROW_KEYS

    def block(number: SSAValue) -> tuple[Scalar, Scalar, SSAValue]:
        """Return the first key of a block, the number of its keys, and their scores."""
        begin = Scalar(kernel, number) * NARROW_KEYS
        length = (count - begin).minimum(NARROW_KEYS)
        own = kernel.rows(columns, begin.value, length.value)
        return begin, length, _of_keys(kernel, own, it.group, length)

    lowest = [kernel.constant(-inf, f32)] * it.group
    with kernel.reducing([blocks.value], lowest) as ((number,), carried, highest):
        begin, length, own_scores = block(number)
        matrix = key_rows(kernel, (start + begin).value, length.value)
        own_keys = matrix, begin.like(0), length, first + begin
        found = _scores(kernel, it, (buffers.queries, own_scores), own_keys, rows, biases, carried)
        highest += [each.value for each in found]
    zero = kernel.constant(0.0, f32)
    with kernel.loops([it.group, it.value_width]) as indices:
        kernel.store(zero, sums, indices)
    with kernel.reducing([blocks.value], [zero] * it.group) as ((number,), carried, totals):
        begin, length, own_scores = block(number)
        for member, (most, total) in enumerate(zip(highest, carried, strict=True)):
            added = _softmax(kernel, own_scores, member, length, Scalar(kernel, most))
            totals.append((Scalar(kernel, total) + added).value)
        matrix = value_rows(kernel, (start + begin).value, length.value)
        _add_product(kernel, (products, own_scores, matrix), length, tile)
        with kernel.loops([it.group, it.value_width]) as indices:
            total, added = (Scalar(kernel, kernel.load(each, indices)) for each in (sums, products))
            kernel.store((total + added).value, sums, indices)
    return [Scalar(kernel, each) for each in totals]


def _biases(
    kernel: KernelBuilder, it: AttentionSizes, buffers: _Buffers, head: Scalar, query: Scalar
) -> list[Callable[[Scalar], Scalar]]:
    """Return what is added to the scores of a key, by its number, for each member of the group."""
    if buffers.mask is None:
        return []
    rows = [mask_row(kernel, it, head, head.like(member), query) for member in range(it.group)]
    return [_Bias(kernel, buffers.mask, row) for row in rows]


@dataclass(frozen=True)
class _Bias:
    """A row of the mask."""

    kernel: KernelBuilder
    mask: SSAValue
    row: Scalar

    def __call__(self, key: Scalar) -> Scalar:
        return Scalar(self.kernel, self.kernel.load(self.mask, [self.row.value, key.value]))


def _scores(
    kernel: KernelBuilder,
    it: AttentionSizes,
    buffers: tuple[SSAValue, SSAValue],
    keys: tuple[SSAValue, Scalar, Scalar, Scalar],
    rows: Sequence[Scalar],
    biases: Sequence[Callable[[Scalar], Scalar]],
    starts: Sequence[SSAValue],
) -> list[Scalar]:
    """
    Store the scores of a group of queries, which read each key together; return the highest of each.

    `buffers` are queries and scores. `keys` are a matrix, the first row of the keys in it, their number, and
    the number of the first in its sequence; `starts` are the highest scores so far.
    """
    (queries, scores), (matrix, start, count, first) = buffers, keys
    with kernel.reducing([count.value], starts) as ((number,), accumulators, highest):
        row = (Scalar(kernel, number) + start).value
        zeros = [kernel.constant(0.0, f32)] * it.group
        with kernel.reducing([it.width], zeros) as ((index,), sums, products):
            key = Scalar(kernel, kernel.load(matrix, [row, index]))
            for query, total in zip(rows, sums, strict=True):
                factor = Scalar(kernel, kernel.load(queries, [query.value, index]))
                products.append((Scalar(kernel, total) + factor * key).value)
        for member, (product, most) in enumerate(zip(products, accumulators, strict=True)):
            score = Scalar(kernel, product) * it.scale
            if cap := it.op.softcap.value.data:
                score = (score / cap).tanh() * cap
            if biases:
                score = score + biases[member](Scalar(kernel, number) + first)
            kernel.store(score.value, scores, [kernel.index(member), number])
            highest.append(Scalar(kernel, most).maximum(score).value)
    return [Scalar(kernel, each) for each in highest]


def _softmax(kernel: KernelBuilder, scores: SSAValue, member: int, count: Scalar, highest: Scalar) -> Scalar:
    """Replace a row of scores by their exponentials, relative to the highest; return the sum."""
    row = kernel.index(member)
    # exp(-inf - -inf) would be NaN.
    highest = highest.equals(-inf).select(0.0, highest)
    with kernel.reducing([count.value], [kernel.constant(0.0, f32)]) as ((number,), (accumulators,), results):
        weight = (Scalar(kernel, kernel.load(scores, [row, number])) - highest).exp()
        kernel.store(weight.value, scores, [row, number])
        results.append((Scalar(kernel, accumulators) + weight).value)
    return Scalar(kernel, results[0])


def _add_product(
    kernel: KernelBuilder, buffers: Sequence[SSAValue], count: Scalar, tile: tuple[int, int]
) -> None:
    """Add the product of a group's weights with the values of `count` keys."""
    sums, weights, values = buffers
    group, width = shape_of(sums)
    sizes = {"m": group, "n": width, "k": DYNAMIC_INDEX}
    product = GemmOp(
        operands=[sums, weights, values, [], [], [count.value]],
        properties={
            **{name: IntegerAttr(size, i64) for name, size in sizes.items()},
            "tile": DenseArrayBase.from_list(i64, list(tile)),
        },
    )
    kernel.block.add_op(product)
