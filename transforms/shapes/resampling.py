"""Shapes of resampling operators."""

from __future__ import annotations

from math import floor

from xonnc.transforms.shapes.inference_context import UNKNOWN, InferenceContext, Types, infers


@infers("Upsample", "UpsampleV7")
def upsample(ctx: InferenceContext) -> Types:
    """floor(size × scale) per axis."""
    data = ctx.shape(0)
    if data is None:
        return [None]
    array = ctx.constant(1) if ctx.name == "Upsample" else None
    given = ctx.property("scales") if array is None else tuple(map(float, array.reshape(-1)))
    scales = (
        [float(scale) for scale in given if isinstance(scale, int | float)]
        if isinstance(given, tuple)
        else []
    )
    if not scales:
        return ctx.ranked((UNKNOWN,) * len(data))
    if len(scales) != len(data):
        raise ctx.fail(f"{len(scales)} scales for {len(data)} axes")
    pairs = zip(data, scales, strict=True)
    return ctx.ranked(tuple(UNKNOWN if size == UNKNOWN else floor(size * scale) for size, scale in pairs))
