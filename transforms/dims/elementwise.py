"""Symbolic dimensions of elementwise operators."""

from __future__ import annotations

from collections.abc import Sequence

from xonnc.transforms.dims.dim_context import DimContext, Partly, sizes_of
from xonnc.transforms.dims.expressions import ONE
from xonnc.transforms.shapes.elementwise import BROADCASTING, COMPARING, SAME_TYPE

BY_CHANNEL = ("BatchNormalization", "BatchNormalizationInferenceMode", "InstanceNormalization")

LIKE_FIRST = (
    "Bernoulli Cast CastLike ClipV6 ClipV11 ClipV12 DequantizeLinear"
    " DynamicQuantizeLinear EyeLike GroupNormalizationV18 HardmaxV11 IsInf IsNaN LogSoftmaxV11"
    " QuantizeLinear RandomNormalLike RandomUniformLike ReverseSequence"
)


@sizes_of(*(set(SAME_TYPE.split()) - set(BY_CHANNEL)), *LIKE_FIRST.split())
def like_first(ctx: DimContext) -> Sequence[Partly | None]:
    """The dimensions of the first operand."""
    return [ctx.sizes(0)]


@sizes_of(*BY_CHANNEL)
def by_channel(ctx: DimContext) -> Sequence[Partly | None]:
    """The dimensions of the first operand; the others have one element per channel."""
    data = ctx.sizes(0)
    if data is not None and len(data) > 1:
        others = [ctx.sizes(place) for place in range(1, len(ctx.op.operands))]
        ctx.equal.extend((data[1], other[0]) for other in others if other is not None and len(other) == 1)
    return [data]


@sizes_of("Dropout", "DropoutV7", "DropoutV10")
def dropout(ctx: DimContext) -> Sequence[Partly | None]:
    """The dimensions of the operand, for the mask too."""
    return [ctx.sizes(0)] * 2


@sizes_of(*BROADCASTING.split(), *COMPARING.split(), "Where")
def together(ctx: DimContext) -> Sequence[Partly | None]:
    """The broadcast of all operands."""
    shapes = ctx.all_sizes()
    return [None if shapes is None else ctx.broadcast(shapes)]


@sizes_of("LayerNormalization", "RMSLayerNormalization", "RMSNormalization")
def layer_normalization(ctx: DimContext) -> Sequence[Partly | None]:
    """The dimensions of the first operand; statistics have 1 from `axis` on."""
    data = ctx.sizes(0)
    if data is None:
        return []
    axis = ctx.axis(len(data), -1)
    return [data, *[(*data[:axis], *(ONE for _ in data[axis:]))] * (len(ctx.op.results) - 1)]
