"""Symbolic dimensions of RoiAlign and GridSample."""

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


@sizes_of("GridSample", "GridSampleV16")
def grid_sample(ctx: DimContext) -> Sequence[Partly | None]:
    """[N, C, the axes of the grid between its first and its last]."""
    data, grid = ctx.sizes(0), ctx.sizes(1)
    if data is None or grid is None:
        return []
    ctx.equal.append((data[0], grid[0]))
    return [(*data[:2], *grid[1:-1])]
