"""Shapes of attention operators."""

from __future__ import annotations

from xonnc.transforms.shapes.inference_context import InferenceContext, Types, infers


@infers("FlexAttention")
def flex_attention(ctx: InferenceContext) -> Types:
    """[batch, heads, query length, value width]."""
    queries, values = ctx.shape(0), ctx.shape(2)
    if queries is None or values is None or len(queries) != 4 or len(values) != 4:
        return [None]
    return ctx.ranked((*queries[:3], values[3]))


@infers("RotaryEmbedding", "TensorScatter")
def first_operand(ctx: InferenceContext) -> Types:
    """The type of the first operand."""
    shape = ctx.shape(0)
    return [None] if shape is None else ctx.ranked(shape)
