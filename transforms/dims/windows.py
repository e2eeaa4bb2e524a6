"""Symbolic dimensions of convolution, pooling and RoiAlign."""

from __future__ import annotations

from collections.abc import Sequence

from xonnc.transforms.dims.dim_context import DimContext, DimExprs, Partly, sizes_of
from xonnc.transforms.dims.expressions import ONE, DimExpr
from xonnc.transforms.shapes.convolution import steps
from xonnc.transforms.shapes.inference_context import UNKNOWN, Shape


@sizes_of("Conv", "ConvInteger", "QLinearConv")
def conv(ctx: DimContext) -> Sequence[Partly | None]:
    """[N, filters, one dimension per spatial axis]."""
    weight = 3 if ctx.shape_ctx.name == "QLinearConv" else 1
    data, filters = ctx.sizes(0), ctx.sizes(weight)
    if data is None or filters is None or len(data) != len(filters):
        return []
    groups = DimExpr(ctx.shape_ctx.integer("group", 1))
    ctx.equal.append((data[1], ctx.symbols.product([filters[1], groups])))
    kernel = ctx.shape_ctx.integers("kernel_shape") or (ctx.shape_ctx.shape(weight) or ())[2:]
    return [(data[0], filters[0], *_windows(ctx, data[2:], kernel))]


@sizes_of("AveragePool", "LpPool", "MaxPool", "MaxPoolSingleOut")
def pool(ctx: DimContext) -> Sequence[Partly | None]:
    """[N, C, one dimension per spatial axis]."""
    data, kernel = ctx.sizes(0), ctx.shape_ctx.integers("kernel_shape") or ()
    if data is None or len(kernel) != len(data) - 2:
        return []
    return [(*data[:2], *_windows(ctx, data[2:], kernel))] * 2


@sizes_of("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool")
def global_pool(ctx: DimContext) -> Sequence[Partly | None]:
    """[N, C, 1, …]."""
    data = ctx.sizes(0)
    return [] if data is None else [(*data[:2], *(ONE for _ in data[2:]))]


@sizes_of("ConvTranspose")
def conv_transpose(ctx: DimContext) -> Sequence[Partly | None]:
    """[N, filters × groups, stride (size - 1) + window - pads per axis]."""
    data, filters, shape_ctx = ctx.sizes(0), ctx.sizes(1), ctx.shape_ctx
    if data is None or filters is None or len(data) != len(filters):
        return []
    axes = len(data) - 2
    ctx.equal.append((data[1], filters[0]))
    channels = ctx.symbols.product([filters[1], DimExpr(shape_ctx.integer("group", 1))])
    kernel = shape_ctx.integers("kernel_shape") or (shape_ctx.shape(1) or ())[2:]
    auto_pad = shape_ctx.text("auto_pad", "NOTSET")
    if shape_ctx.integers("output_shape") or auto_pad.startswith("SAME"):
        return [(data[0], channels, *(None for _ in data[2:]))]
    strides, dilations = steps(shape_ctx, "strides", axes), steps(shape_ctx, "dilations", axes)
    extra = shape_ctx.integers("output_padding") or (0,) * axes
    pads = (shape_ctx.integers("pads") if auto_pad != "VALID" else None) or (0,) * (2 * axes)
    sizes: list[DimExpr | None] = []
    for axis, size in enumerate(data[2:]):
        window = (kernel[axis] - 1) * dilations[axis] + 1
        rest = extra[axis] + window - pads[axis] - pads[axis + axes] - strides[axis]
        sizes.append(None if kernel[axis] == UNKNOWN else size * DimExpr(strides[axis]) + DimExpr(rest))
    return [(data[0], channels, *sizes)]


@sizes_of("RoiAlign", "RoiAlignV10")
def roi_align(ctx: DimContext) -> Sequence[Partly | None]:
    """[regions, C, output_height, output_width]."""
    data, regions, images = (ctx.sizes(place) for place in range(3))
    if data is None or regions is None or images is None:
        return []
    ctx.equal.append((images[0], regions[0]))
    sizes = (DimExpr(ctx.shape_ctx.integer(f"output_{name}", 1)) for name in ("height", "width"))
    return [(regions[0], data[1], *sizes)]


def _windows(ctx: DimContext, sizes: DimExprs, kernel: Shape) -> list[DimExpr | None]:
    """Return the number of windows per axis: floor((size + pads - span) / stride) + 1 without ceil_mode."""
    shape_ctx, axes = ctx.shape_ctx, len(sizes)
    strides, dilations = steps(shape_ctx, "strides", axes), steps(shape_ctx, "dilations", axes)
    auto_pad = shape_ctx.text("auto_pad", "NOTSET")
    pads = (shape_ctx.integers("pads") if auto_pad in ("NOTSET", "") else None) or (0,) * (2 * axes)
    found: list[DimExpr | None] = []
    for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        free = size + DimExpr(pads[axis] + pads[axis + axes] - (kernel[axis] - 1) * dilations[axis] - 1)
        if auto_pad.startswith("SAME"):
            found.append(ctx.symbols.floor(size + DimExpr(stride - 1), stride))
        elif kernel[axis] == UNKNOWN or (shape_ctx.integer("ceil_mode") and stride > 1):
            found.append(None)
        else:
            found.append(ctx.symbols.floor(free, stride) + ONE)
    return found
