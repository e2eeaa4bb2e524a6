"""Symbolic dimensions of matrix products, reductions and RNNs, and equalities that they require."""

from __future__ import annotations

from collections.abc import Sequence

from xonnc.transforms.dims.dim_context import DimContext, DimExprs, Partly, sizes_of
from xonnc.transforms.dims.expressions import ONE, DimExpr
from xonnc.transforms.shapes.reduction import OLD_REDUCTIONS, REDUCTIONS


@sizes_of("MatMul", "MatMulInteger")
def matmul(ctx: DimContext) -> Sequence[Partly | None]:
    """[..., rows of A, columns of B]; the inner dimensions must be equal."""
    return _matmul(ctx, 0, 1)


@sizes_of("QLinearMatMul")
def qlinear_matmul(ctx: DimContext) -> Sequence[Partly | None]:
    """As MatMul."""
    return _matmul(ctx, 0, 3)


def _matmul(ctx: DimContext, left: int, right: int) -> Sequence[Partly | None]:
    a, b = ctx.sizes(left), ctx.sizes(right)
    if not a or not b:
        return []
    ctx.equal.append((a[-1], b[max(-2, -len(b))]))
    columns = b[-1:] if len(b) > 1 else ()
    return [(*ctx.broadcast([a[:-2], b[:-2]]), *a[-2:-1], *columns)]


@sizes_of("Gemm")
def gemm(ctx: DimContext) -> Sequence[Partly | None]:
    """[rows of A', columns of B'] after `transA` and `transB`."""
    a, b = ctx.sizes(0), ctx.sizes(1)
    if a is None or b is None or len(a) != 2 or len(b) != 2:
        return []
    rows, inner = reversed(a) if ctx.shape_ctx.integer("transA") else a
    right, columns = reversed(b) if ctx.shape_ctx.integer("transB") else b
    ctx.equal.append((inner, right))
    return [(rows, columns)]


@sizes_of(*(f"Reduce{name}" for name in REDUCTIONS.split()), *OLD_REDUCTIONS.split())
def reduced(ctx: DimContext) -> Sequence[Partly | None]:
    """Reduced axes become 1 or are dropped; without axes all are reduced."""
    data = ctx.sizes(0)
    by_operand = "axes" not in ctx.shape_ctx.definition.properties
    axes = ctx.shape_ctx.numbers(1) if by_operand else ctx.shape_ctx.integers("axes")
    if data is None or (axes is None and by_operand and ctx.shape_ctx.has(1)):
        return []
    if not axes and ctx.shape_ctx.integer("noop_with_empty_axes"):
        return [data]
    gone = {ctx.shape_ctx.axis(axis, len(data)) for axis in axes} if axes else set(range(len(data)))
    return [_without(data, gone, bool(ctx.shape_ctx.integer("keepdims", 1)))]


def _without(data: DimExprs, gone: set[int], keep: bool) -> DimExprs:
    if keep:
        return tuple(ONE if axis in gone else size for axis, size in enumerate(data))
    return tuple(size for axis, size in enumerate(data) if axis not in gone)


@sizes_of("ArgMax", "ArgMin")
def arg(ctx: DimContext) -> Sequence[Partly | None]:
    """One axis becomes 1 or is dropped."""
    data = ctx.sizes(0)
    if data is None:
        return []
    return [_without(data, {ctx.axis(len(data))}, bool(ctx.shape_ctx.integer("keepdims", 1)))]


@sizes_of("TopK")
def top_k(ctx: DimContext) -> Sequence[Partly | None]:
    """K values and K indices along one axis."""
    data, count = ctx.sizes(0), ctx.elements(1)
    if data is None:
        return []
    axis = ctx.axis(len(data), -1)
    size = count[0].expr if count and count[0].is_size else None
    return [(*data[:axis], size, *data[axis + 1 :])] * 2


@sizes_of("GRU", "LSTM", "RNN")
def recurrence(ctx: DimContext) -> Sequence[Partly | None]:
    """
    Outputs of an RNN: [steps, directions, batch, hidden] and final states.

    All operands have the batch of the data, whose last axis is the input size of the weights.
    """
    data, inputs, weights = ctx.sizes(0), ctx.sizes(1), ctx.sizes(2)
    if data is None or len(data) != 3 or weights is None or len(weights) != 3:
        return []
    if inputs is not None and len(inputs) == 3:
        ctx.equal.append((data[2], inputs[2]))
    batch_first = bool(ctx.shape_ctx.integer("layout"))
    steps, batch = (data[1], data[0]) if batch_first else (data[0], data[1])
    for place, axis in (4, 0), (5, 0 if batch_first else 1), (6, 0 if batch_first else 1):
        operand = ctx.sizes(place) if place < len(ctx.op.operands) else None
        if operand is not None and (place < 6 or ctx.shape_ctx.name == "LSTM"):
            ctx.equal.append((operand[axis], batch))
    directions, hidden = weights[0], weights[2]
    return _recurrent(batch_first, steps, directions, batch, hidden)


def _recurrent(
    batch_first: bool, steps: DimExpr, directions: DimExpr, batch: DimExpr, hidden: DimExpr
) -> list[Partly]:
    if batch_first:
        return [(batch, steps, directions, hidden), *[(batch, directions, hidden)] * 2]
    return [(steps, directions, batch, hidden), *[(directions, batch, hidden)] * 2]
