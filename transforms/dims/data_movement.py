"""Symbolic dimensions of data-movement operators that have no shape function."""

from __future__ import annotations

from collections.abc import Sequence

from xonnc.transforms.dims.dim_context import DimContext, DimExprs, Elements, Partly, sizes_of


@sizes_of("MaxUnpool")
def max_unpool(ctx: DimContext) -> Sequence[Partly | None]:
    """The last operand, if present."""
    return [_as_sizes(ctx.elements(2)) if len(ctx.op.operands) > 2 else None]


def _as_sizes(target: Elements | None) -> DimExprs | None:
    return None if target is None else tuple(expr for expr, _ in target)


@sizes_of("CenterCropPad")
def center_crop_pad(ctx: DimContext) -> Sequence[Partly | None]:
    """Some axes have the dimensions of the shape operand."""
    data, target = ctx.sizes(0), ctx.elements(1)
    if data is None or target is None:
        return []
    axes = ctx.integers("axes") or tuple(range(len(data)))
    if len(axes) != len(target):
        return []
    sizes = list(data)
    for axis, element in zip(axes, target, strict=True):
        sizes[ctx.axis(axis, len(data))] = element.expr
    return [sizes]


@sizes_of("GatherND")
def gather_nd(ctx: DimContext) -> Sequence[Partly | None]:
    """The leading axes of the indices, then the remaining axes of the data."""
    data, indices = ctx.sizes(0), ctx.sizes(1)
    depth = indices[-1].number if indices else None
    if data is None or indices is None or depth is None:
        return []
    return [(*indices[:-1], *data[ctx.integer("batch_dims") + depth :])]


@sizes_of("OneHot")
def one_hot(ctx: DimContext) -> Sequence[Partly | None]:
    """The dimensions of the indices, with the depth as a new axis."""
    indices, depth = ctx.sizes(0), ctx.elements(1)
    if indices is None:
        return []
    axis = ctx.own_axis(len(indices) + 1, -1)
    size = depth[0].expr if depth else None
    return [(*indices[:axis], size, *indices[axis:])]
