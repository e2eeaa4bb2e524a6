"""Symbolic dimensions of attention operators."""

from __future__ import annotations

from collections.abc import Sequence

from xonnc.transforms.dims.dim_context import DimContext, Partly, sizes_of


@sizes_of("Attention")
def attention(ctx: DimContext) -> Sequence[Partly | None]:
    """[batch, heads, query length, value width], for heads as an axis and without a state."""
    queries, values = ctx.sizes(0), ctx.sizes(2)
    if queries is None or values is None or len(queries) != 4 or len(values) != 4:
        return []
    return [(*queries[:3], values[3])]


@sizes_of("RotaryEmbedding", "TensorScatter")
def first_operand(ctx: DimContext) -> Sequence[Partly | None]:
    """The dimensions of the first operand."""
    return [ctx.sizes(0)]
