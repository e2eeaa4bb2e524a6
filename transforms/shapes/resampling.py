"""Shapes of ops that sample anew."""

from __future__ import annotations

from math import floor

from xonnc.transforms.shapes.inference_context import UNKNOWN, Site, Types, infers


@infers("Upsample", "UpsampleV7")
def upsample(site: Site) -> Types:
    """floor(size scale) for every axis."""
    data = site.shape(0)
    if data is None:
        return [None]
    array = site.constant(1) if site.name == "Upsample" else None
    given = site.property("scales") if array is None else tuple(map(float, array.reshape(-1)))
    scales = (
        [float(scale) for scale in given if isinstance(scale, int | float)]
        if isinstance(given, tuple)
        else []
    )
    if not scales:
        return site.ranked((UNKNOWN,) * len(data))
    if len(scales) != len(data):
        raise site.fail(f"{len(scales)} scales for {len(data)} axes")
    pairs = zip(data, scales, strict=True)
    return site.ranked(tuple(UNKNOWN if size == UNKNOWN else floor(size * scale) for size, scale in pairs))
