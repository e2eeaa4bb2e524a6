"""
Scaled dot-product attention over a key-value cache of any length, without a matrix of all scores.

One iteration is a key-value head: for each query position, the queries of its group read each key once, the
softmax is two passes over their rows of scores, and a product with the values sums them up. Keys that a query
does not attend to (after its position, outside of its window, or padding) are not read.
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
from xonnc.lowering.onnx_to_krnl.builders.cache_slices import CacheSlices
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import KernelBuilder, buffer_type
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
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static, volume

supports_dynamic_shapes(AttentionOp)


@lowers(AttentionOp)
def attention(op: AttentionOp, builder: LoweringBuilder) -> str | None:
    """`softmax(scale Q Kᵀ) V` for each head, over the keys that a query attends to."""
    if not has_attention_kernel(op):
        return "an attention without a cache, or not of float32 heads of static size"
    it = attention_sizes(op, builder.sizes)
    slices = builder.cache_slices.get(op)
    heads, rows = volume([it.batch, it.key_heads]), volume([it.batch, it.key_heads, it.rows])
    # Few queries are computed one by one, many by blocks; a dynamic number of them either way.
    few = max_single_queries(it.group)
    has_few = few > 0 if not is_static(it.queries) else it.queries <= few
    has_many = not is_static(it.queries) or it.queries > few
    scratch: list[list[Size]] = []
    if has_few:
        scratch += [[heads, it.group, it.keys], [heads, it.group, it.value_width]]
    if has_many:
        scratch += scratch_shapes(it, heads)
    shapes: list[list[Size]] = [
        [rows, it.value_width],
        *scratch,
        [rows, it.width],
        *(_cache_shape(it, heads, width, slices) for width in (it.width, it.value_width)),
    ]
    types = [buffer_type(shape, f32) for shape in shapes]
    types.append(buffer_type([it.batch], i64))
    if it.mask:
        types.append(buffer_type([volume(it.mask[:3]), it.mask[3]], f32))
    kernel = KernelBuilder(types)
    # All sizes come before the range among the arguments.
    for size in (heads, it.queries, it.rows, it.keys, *it.mask):
        kernel.size(size)
    first, end = (Scalar(kernel, each) for each in kernel.add_range_arguments())
    tile = gemm_tile(builder, f32, (it.group, it.value_width, it.keys))
    out, *memory, queries, keys, values, lengths = kernel.buffers[: len(shapes) + 1]
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
        if has_few:
            own = _Buffers(out, memory[0], memory[1], queries, keys, values, lengths, mask)
            count = is_few.select(queries_count, 0)
            with kernel.loops([count.value]) as (query,):
                _of_query(kernel, it, own, head, Scalar(kernel, query), tile)
        if has_many:
            blocks = BlockBuffers(out, queries, keys, values, lengths, *memory[-5:], mask=mask)
            with kernel.when((~is_few).value):
                attend_query_blocks(kernel, it, blocks, head, builder)
    allocated = [builder.allocate(shape, f32) for shape in scratch]
    caches = (op.K, op.V) if slices is None else (slices.cache, slices.cache)
    read = [builder.buffer(value) for value in (op.Q, *caches, op.nonpad_kv_seqlen)]
    read += [builder.buffer(op.attn_mask)] if it.mask else []
    builder.call("attention", kernel, [builder.result(op.Y), *allocated], read, heads)
    return None


def _cache_shape(it: AttentionSizes, heads: Size, width: int, slices: CacheSlices | None) -> list[Size]:
    """Return the shape of the keys or values, or of the cache that has them as slices."""
    rows = [volume([heads, it.keys]), width]
    return rows if slices is None else [slices.count, *rows]


@dataclass(frozen=True)
class _Buffers:
    """Buffers of all key-value heads."""

    out: SSAValue
    scores: SSAValue
    sums: SSAValue
    queries: SSAValue
    keys: SSAValue
    values: SSAValue
    lengths: SSAValue
    mask: SSAValue | None


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
    # A row of scores is as long as there are keys that the query attends to.
    type_ = buffer_of(f32, (it.group, DYNAMIC_INDEX))
    own_scores = kernel.add(ShapedOp(operands=[own_scores, [count.value]], result_types=[type_]))
    start = head * Scalar(kernel, kernel.size(it.keys)) + first
    rows = [
        (head * it.group + member) * Scalar(kernel, kernel.size(it.queries)) + query
        for member in range(it.group)
    ]
    biases = _biases(kernel, it, buffers, head, query)
    highest = _scores(kernel, it, buffers, own_scores, (start, count, first), rows, biases)
    totals = [_softmax(kernel, own_scores, member, count, most) for member, most in enumerate(highest)]
    matrix = kernel.rows(buffers.values, start.value, count.value)
    _add_product(kernel, (own_sums, own_scores, matrix), count, tile)
    for member, total in enumerate(totals):
        # A query that attends to no key, or whose mask hides all by -inf, has the result 0.
        factor = total.equals(0.0).select(0.0, 1.0 / total)
        with kernel.loops([it.value_width]) as (index,):
            result = Scalar(kernel, kernel.load(own_sums, [kernel.index(member), index])) * factor
            kernel.store(result.value, buffers.out, [rows[member].value, index])


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
    buffers: _Buffers,
    scores: SSAValue,
    keys: tuple[Scalar, Scalar, Scalar],
    rows: Sequence[Scalar],
    biases: Sequence[Callable[[Scalar], Scalar]],
) -> list[Scalar]:
    """
    Store the scores of a group of queries, which read each key together; return the highest of each.

    `keys` are the first row of the keys, their number, and the number of the first in its sequence.
    """
    queries, matrix, (start, count, first) = buffers.queries, buffers.keys, keys
    lowest = [kernel.constant(-inf, f32)] * it.group
    with kernel.reducing([count.value], lowest) as ((number,), accumulators, highest):
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
