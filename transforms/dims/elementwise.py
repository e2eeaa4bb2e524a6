"""Symbolic dimensions of elementwise operators that have no shape function."""

from __future__ import annotations

from collections.abc import Sequence

from xonnc.transforms.dims.dim_context import DimContext, Partly, sizes_of
from xonnc.transforms.shapes.elementwise import equate_channels

LIKE_FIRST = (
    "Bernoulli ClipV6 ClipV11 ClipV12 DynamicQuantizeLinear EyeLike GroupNormalizationV18"
    " HardmaxV11 LogSoftmaxV11 QuantizeLinear RandomNormalLike RandomUniformLike"
)


@sizes_of(*LIKE_FIRST.split())
def like_first(ctx: DimContext) -> Sequence[Partly | None]:
    """The dimensions of the first operand."""
    return [ctx.sizes(0)]


@sizes_of("BatchNormalization")
def by_channel(ctx: DimContext) -> Sequence[Partly | None]:
    """The dimensions of the first operand; the others have one element per channel."""
    equate_channels(ctx)
    return [ctx.sizes(0)]


@sizes_of("ReverseSequence")
def reversed_rows(ctx: DimContext) -> Sequence[Partly | None]:
    """The dimensions of the first operand; there is one length for each batch entry."""
    data, lengths, axis = ctx.dims(0), ctx.dims(1), ctx.integer("batch_axis")
    if data is not None and lengths is not None and len(lengths) == 1 and 0 <= axis < len(data):
        ctx.equate(data[axis], lengths[0])
    return [ctx.sizes(0)]
