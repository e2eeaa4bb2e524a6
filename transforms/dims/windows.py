"""Symbolic dimensions of RoiAlign, GridSample and Resize."""

from __future__ import annotations

from collections.abc import Sequence

from xonnc.transforms.dims.dim_context import DimContext, DimExprs, Partly, sizes_of
from xonnc.transforms.dims.expressions import DimExpr

MAX_NUMERATOR, MAX_DENOMINATOR = 256, 64
"""Largest terms of scales, as fractions, by which float32 multiplies sizes up to 65,536 without rounding."""


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


@sizes_of("Resize", "ResizeV11", "ResizeV13", "ResizeV18")
def resize(ctx: DimContext) -> Sequence[Partly | None]:
    """The sizes that are given, or those of `_scaled`; others with a policy for the aspect ratio."""
    data, given = ctx.sizes(0), ctx.elements(3)
    if data is None or ctx.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        return []
    axes = [axis % len(data) for axis in ctx.integers("axes") or range(len(data))]
    if given is None or len(given) != len(axes):
        return [_scaled(ctx, data, axes, 2)]
    sizes = list(data)
    for axis, element in zip(axes, given, strict=True):
        sizes[axis] = element.expr
    return [sizes]


@sizes_of("Upsample", "ResizeV10")
def upsample(ctx: DimContext) -> Sequence[Partly | None]:
    """The dimensions of `_scaled`, all axes by the second operand."""
    data = ctx.sizes(0)
    return [] if data is None else [_scaled(ctx, data, range(len(data)), 1)]


def _scaled(ctx: DimContext, data: DimExprs, axes: Sequence[int], operand: int) -> Partly | None:
    """Return floor(size × scale) along axes, for constant scales that multiply sizes exactly."""
    scales = ctx.constant(operand)
    if scales is None or scales.size != len(axes):
        return None
    sizes: list[DimExpr | None] = list(data)
    for axis, scale in zip(axes, scales.reshape(-1).tolist(), strict=True):
        numerator, denominator = float(scale).as_integer_ratio()
        is_exact = 0 < numerator <= MAX_NUMERATOR and denominator <= MAX_DENOMINATOR
        scaled = ctx.symbols.product([data[axis], DimExpr(numerator)]) if is_exact else None
        sizes[axis] = None if scaled is None else ctx.symbols.floor(scaled, denominator)
    return sizes
