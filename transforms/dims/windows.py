"""Symbolic dimensions of RoiAlign."""

from __future__ import annotations

from collections.abc import Sequence

from xonnc.transforms.dims.dim_context import DimContext, Partly, sizes_of
from xonnc.transforms.dims.expressions import DimExpr


@sizes_of("RoiAlign", "RoiAlignV10")
def roi_align(ctx: DimContext) -> Sequence[Partly | None]:
    """[regions, C, output_height, output_width]."""
    data, regions, images = (ctx.sizes(index) for index in range(3))
    if data is None or regions is None or images is None:
        return []
    ctx.equal.append((images[0], regions[0]))
    sizes = (DimExpr(ctx.integer(f"output_{name}", 1)) for name in ("height", "width"))
    return [(regions[0], data[1], *sizes)]
