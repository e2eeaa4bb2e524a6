"""Shapes of attention operators."""

from __future__ import annotations

from xdsl.dialects.builtin import NoneType

from xonnc.transforms.shapes.inference_context import (
    UNKNOWN,
    Dim,
    Dims,
    InferenceContext,
    Types,
    form,
    infers,
    infers_dims,
    typed,
)


@infers_dims("Attention")
def attention(ctx: InferenceContext) -> Types:
    """Y, the present key and value, and the products of queries with all keys, past ones first."""
    heads = _heads(ctx)
    if heads is None:
        return [None] * 4
    queries, keys, values = heads
    batch, query_heads, length, _ = queries
    total = ctx.total((keys[2], _past_length(ctx)))
    result = (batch, query_heads, length, values[3])
    if len(ctx.shape(0) or ()) == 3:
        result = (batch, length, ctx.product((query_heads, values[3])))
    present = [(*keys[:2], total, keys[3]), (*values[:2], total, values[3])]
    found = zip((result, *present, (batch, query_heads, length, total)), (0, 1, 2, 0), strict=True)
    types = [kind for shape, like in found for kind in typed(shape, ctx.element(like))]
    are_absent = [isinstance(result.type, NoneType) for result in ctx.op.results]
    return [None if absent else kind for kind, absent in zip(types, are_absent, strict=True)]


def _heads(ctx: InferenceContext) -> tuple[Dims, Dims, Dims] | None:
    """Return the shapes of Q, K and V as [batch, heads, length, width], or `None` if a rank is unknown."""
    shapes = [ctx.dims(index) for index in range(3)]
    counts = [ctx.integer(name) for name in ("q_num_heads", "kv_num_heads", "kv_num_heads")]
    found = [
        None if shape is None else _split(shape, count) for shape, count in zip(shapes, counts, strict=True)
    ]
    queries, keys, values = found
    return None if queries is None or keys is None or values is None else (queries, keys, values)


def _split(shape: Dims, heads: int) -> Dims | None:
    """Return [batch, heads, length, width] of a shape that may hold the heads in its last axis."""
    if len(shape) == 4:
        return shape
    if len(shape) != 3 or heads < 1:
        return None
    batch, length, width = shape
    if isinstance(width, int):
        return (batch, heads, length, UNKNOWN if width == UNKNOWN else width // heads)
    exact = width.divided_by(form(heads))
    return (batch, heads, length, UNKNOWN if exact is None else exact)


def _past_length(ctx: InferenceContext) -> Dim:
    """Return the number of past keys: 0 without a past."""
    if not ctx.has(4):
        return 0
    past = ctx.dims(4)
    return UNKNOWN if past is None or len(past) != 4 else past[2]


@infers("FlexAttention")
def flex_attention(ctx: InferenceContext) -> Types:
    """[batch, heads, query length, value width]."""
    queries, values = ctx.shape(0), ctx.shape(2)
    if queries is None or values is None or len(queries) != 4 or len(values) != 4:
        return [None]
    return ctx.ranked((*queries[:3], values[3]))


@infers_dims("RotaryEmbedding", "TensorScatter")
def first_operand(ctx: InferenceContext) -> Types:
    """The type of the first operand."""
    shape = ctx.dims(0)
    return [None] if shape is None else ctx.ranked(shape)
