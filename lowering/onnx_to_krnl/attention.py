"""
Scaled dot-product attention over a key-value cache of any length, without a matrix of all scores.

One iteration is a key-value head: for each query position, the queries of its group read each key once, the
softmax is two passes over their rows of scores, and a product with the values sums them up. Keys that a query
does not attend to (after its position, outside of its window, or padding) are not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, MemRefType, f32, i64
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.krnl.dynamic_shapes import ShapedOp
from xonnc.dialects.krnl.memory import shape_of
from xonnc.dialects.krnl.tiles import GemmOp
from xonnc.dialects.onnx.ops.nn import AttentionOp
from xonnc.dialects.onnx.types import NONE, element_type, is_ranked
from xonnc.lowering.onnx_to_krnl.kernel_builder import INDEX, KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder, lowers, supports_dynamic_shapes
from xonnc.lowering.onnx_to_krnl.matmul import gemm_tile
from xonnc.lowering.onnx_to_krnl.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size, is_static, volume

supports_dynamic_shapes(AttentionOp)


def has_attention_kernel(op: Operation) -> bool:
    """
    Return whether there is a kernel for an Attention: one over a key-value cache; others are inlined.

    It computes float32 heads of static number and size, without a state that it would have to concatenate,
    without a mask, and without the scores as a result.
    """
    if not isinstance(op, AttentionOp):
        return False
    absent = (op.past_key, op.past_value, op.present_key, op.present_value, op.qk_matmul_output)
    if any(value.type != NONE for value in absent) or op.softmax_precision is not None:
        return False
    shapes = [_shape(value) for value in (op.Q, op.K, op.V)]
    has_cache = op.nonpad_kv_seqlen.type != NONE and op.attn_mask.type == NONE and is_ranked(op.Y.type)
    return has_cache and all(len(each) == 4 and DYNAMIC_INDEX not in each[1::2] for each in shapes)


def _shape(value: SSAValue) -> Sequence[int]:
    """Return the shape of a ranked float32 tensor, else an empty one."""
    if not is_ranked(value.type) or element_type(value.type) != f32:
        return ()
    return value.type.get_shape()


@dataclass(frozen=True)
class _Attention:
    """The sizes of an attention, and which keys its queries attend to."""

    op: AttentionOp
    batch: Size
    queries: Size
    keys: Size
    key_heads: int
    group: int
    """Query heads of a key-value head."""
    width: int
    """Size of a head of queries and keys."""
    value_width: int

    @property
    def scale(self) -> float:
        """The factor of scores."""
        return self.width**-0.5 if self.op.scale is None else self.op.scale.value.data


def _sizes(op: AttentionOp, builder: LoweringBuilder) -> _Attention:
    batch, heads, queries, width = builder.sizes(op.Q)
    _, key_heads, keys, _ = builder.sizes(op.K)
    value_width = builder.sizes(op.V)[3]
    assert is_static(heads)
    assert is_static(key_heads)
    assert is_static(width)
    assert is_static(value_width)
    return _Attention(op, batch, queries, keys, key_heads, heads // key_heads, width, value_width)


@lowers(AttentionOp)
def attention(op: AttentionOp, builder: LoweringBuilder) -> str | None:
    """`softmax(scale Q Kᵀ) V` for each head, over the keys that a query attends to."""
    if not has_attention_kernel(op):
        return "an attention without a cache, or not of float32 heads of static size"
    it = _sizes(op, builder)
    heads, rows = volume([it.batch, it.key_heads]), volume([it.batch, it.key_heads * it.group, it.queries])
    shapes: list[list[Size]] = [
        [rows, it.value_width],
        [heads, it.group, it.keys],
        [heads, it.group, it.value_width],
        [rows, it.width],
        [volume([heads, it.keys]), it.width],
        [volume([heads, it.keys]), it.value_width],
    ]
    types = [buffer_type(shape, f32) for shape in shapes]
    kernel = KernelBuilder([*types, buffer_type([it.batch], i64)])
    # All sizes come before the range among the arguments.
    for size in (heads, it.queries, it.keys):
        kernel.size(size)
    first, end = (Scalar(kernel, each) for each in kernel.add_range_arguments())
    tile = gemm_tile(builder, f32, (it.group, it.value_width, it.keys))
    with kernel.loops([(end - first).value]) as (number,):
        head = Scalar(kernel, number) + first
        with kernel.loops([it.queries]) as (query,):
            _of_query(kernel, it, head, Scalar(kernel, query), tile)
    scratch = [builder.allocate(shape, f32) for shape in shapes[1:3]]
    read = [builder.buffer(value) for value in (op.Q, op.K, op.V, op.nonpad_kv_seqlen)]
    builder.call("attention", kernel, [builder.result(op.Y), *scratch], read, heads)
    return None


def _of_query(
    kernel: KernelBuilder, it: _Attention, head: Scalar, query: Scalar, tile: tuple[int, int]
) -> None:
    """Compute the results of one query position for the group of a key-value head."""
    out, scores, sums, _, _, values, *_ = kernel.buffers
    first, count = _attended(kernel, it, head, query)
    own_scores = kernel.subview(scores, head.value, (it.group, it.keys))
    own_sums = kernel.subview(sums, head.value, (it.group, it.value_width))
    # A row of scores is as long as there are keys that the query attends to.
    type_ = MemRefType(f32, [it.group, DYNAMIC_INDEX])
    own_scores = kernel.add(ShapedOp(operands=[own_scores, [count.value]], result_types=[type_]))
    start = head * Scalar(kernel, kernel.size(it.keys)) + first
    rows = [
        (head * it.group + member) * Scalar(kernel, kernel.size(it.queries)) + query
        for member in range(it.group)
    ]
    highest = _scores(kernel, it, own_scores, (start, count), rows)
    totals = [_softmax(kernel, own_scores, member, count, most) for member, most in enumerate(highest)]
    matrix = kernel.subview(values, start.value, (it.value_width,))
    _add_product(kernel, (own_sums, own_scores, matrix), count, tile)
    for member, total in enumerate(totals):
        # A query that attends to no key has the result 0.
        factor = total.equals(0.0).select(0.0, 1.0 / total)
        with kernel.loops([it.value_width]) as (index,):
            result = Scalar(kernel, kernel.load(own_sums, [kernel.index(member), index])) * factor
            kernel.store(result.value, out, [rows[member].value, index])


def _attended(kernel: KernelBuilder, it: _Attention, head: Scalar, query: Scalar) -> tuple[Scalar, Scalar]:
    """Return the first key that a query attends to, and their number."""
    op, keys = it.op, Scalar(kernel, kernel.size(it.keys))
    image = head // it.key_heads
    length = Scalar(kernel, kernel.load(kernel.buffers[-1], [image.value])).to(INDEX)
    # A length beyond the keys would read past them.
    end = length.clamp(0, keys)
    position = query + (length - Scalar(kernel, kernel.size(it.queries)))
    if op.is_causal.value.data:
        end = end.minimum(position + 1)
    if op.right_window_size.value.data >= 0:
        end = end.minimum(position + 1 + op.right_window_size.value.data)
    first = end.like(0)
    if op.left_window_size.value.data >= 0:
        first = (position - op.left_window_size.value.data).clamp(0, keys)
    return first, (end - first).maximum(0)


def _scores(
    kernel: KernelBuilder,
    it: _Attention,
    scores: SSAValue,
    keys: tuple[Scalar, Scalar],
    rows: Sequence[Scalar],
) -> list[Scalar]:
    """Store the scores of a group of queries, which read each key together; return the highest of each."""
    queries, matrix, (start, count) = kernel.buffers[3], kernel.buffers[4], keys
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
