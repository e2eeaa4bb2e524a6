"""Shapes of reductions and matrix products."""

from __future__ import annotations

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute

from xonnc.transforms.dims.expressions import DimExpr
from xonnc.transforms.shapes.inference_context import (
    UNKNOWN,
    Dims,
    InferenceContext,
    Types,
    broadcast,
    differ,
    infers_dims,
    product,
    shown,
    static,
    typed,
)

REDUCTIONS = "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare"
OLD_REDUCTIONS = (
    "ReduceL1V13 ReduceL2V13 ReduceLogSumV13 ReduceLogSumExpV13 ReduceMaxV13 ReduceMaxV18 ReduceMeanV13"
    " ReduceMinV13 ReduceMinV18 ReduceProdV13 ReduceSumV11 ReduceSumSquareV13"
)


@infers_dims(*(f"Reduce{name}" for name in REDUCTIONS.split()), *OLD_REDUCTIONS.split())
def reduced(ctx: InferenceContext) -> Types:
    """Reduced axes become 1 or are dropped; without axes all are reduced."""
    data = ctx.dims(0)
    if data is None:
        return [None]
    by_operand = "axes" not in ctx.definition.properties
    axes = ctx.numbers(1) if by_operand else ctx.integers("axes")
    keep = bool(ctx.integer("keepdims", 1))
    if axes is None and by_operand and ctx.has(1):
        axes_shape = ctx.shape(1)
        if keep or (axes_shape is not None and UNKNOWN not in axes_shape):
            count = 0 if keep or axes_shape is None else product(axes_shape)
            return ctx.ranked((UNKNOWN,) * (len(data) - count))
        return [None]
    if not axes and ctx.integer("noop_with_empty_axes"):
        return ctx.ranked(data)
    text = "reduction axis is out of bound"
    removed = {ctx.axis(axis, len(data), text) for axis in axes} if axes else set(range(len(data)))
    return ctx.ranked(without(data, removed, keep))


def without(shape: Dims, removed: set[int], keep: bool) -> Dims:
    """Return the shape after reducing some axes."""
    if keep:
        return tuple(1 if axis in removed else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in removed)


@infers_dims("ArgMax", "ArgMin")
def arg(ctx: InferenceContext) -> Types:
    """One axis becomes 1 or is dropped; a negative axis is normalised."""
    data = ctx.dims(0)
    if data is None:
        return [None]
    axis = ctx.own_axis(len(data))
    ctx.set("axis", axis)
    return typed(without(data, {axis}, bool(ctx.integer("keepdims", 1))), i64)


@infers_dims("TopK")
def top_k(ctx: InferenceContext) -> Types:
    """K values and K indices along one axis."""
    data, count = ctx.dims(0), ctx.known_sizes(1)
    if data is None:
        return [None, None]
    axis = ctx.own_axis(len(data), -1)
    size = count[0] if count else UNKNOWN
    extent = data[axis]
    if isinstance(size, int) and isinstance(extent, int) and extent != UNKNOWN and size > extent:
        raise ctx.fail(f"K value is out of bound: {size}, but axis {axis} has {extent} elements")
    shape = (*data[:axis], size, *data[axis + 1 :])
    return [*ctx.ranked(shape), *typed(shape, i64)]


@infers_dims("MatMul")
def matmul(ctx: InferenceContext) -> Types:
    """[..., rows of A, columns of B]; leading axes broadcast."""
    return _matmul(ctx, 0, 1, ctx.element())


@infers_dims("MatMulInteger")
def matmul_integer(ctx: InferenceContext) -> Types:
    """As MatMul, int32."""
    return _matmul(ctx, 0, 1, i32)


@infers_dims("QLinearMatMul")
def qlinear_matmul(ctx: InferenceContext) -> Types:
    """As MatMul, with the element type of the zero point."""
    return _matmul(ctx, 0, 3, ctx.element(7))


def _matmul(ctx: InferenceContext, left: int, right: int, element: Attribute | None) -> Types:
    a, b = ctx.dims(left), ctx.dims(right)
    if a is None or b is None:
        return [None]
    if not a or not b:
        raise ctx.fail("operands must not be scalars")
    rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
    inner = (a[-1], b[max(-2, -len(b))])
    if differ(*inner):
        raise ctx.fail(
            f"{ctx.operand(left)} times {ctx.operand(right)}: {inner[0]} columns for {inner[1]} rows"
        )
    ctx.equate(*inner)
    stacked = ctx.broadcast([a[:-2], b[:-2]], lambda: [ctx.operand(left), ctx.operand(right)])
    return typed((*stacked, *rows, *columns), element)


@infers_dims("Gemm")
def gemm(ctx: InferenceContext) -> Types:
    """[rows of A', columns of B'] after `transA` and `transB`."""
    a, b = ctx.dims(0), ctx.dims(1)
    if a is None or b is None:
        return [None]
    if len(a) != 2 or len(b) != 2:
        raise ctx.fail(f"{ctx.operand(0)} and {ctx.operand(1)} are not both matrices")
    rows, left = (a[1], a[0]) if ctx.integer("transA") else (a[0], a[1])
    right, columns = (b[1], b[0]) if ctx.integer("transB") else (b[0], b[1])
    if differ(left, right):
        raise ctx.fail(
            f"{ctx.operand(0)} times {ctx.operand(1)}: {left} columns for {right} rows after transposing"
        )
    ctx.equate(left, right)
    result, bias = (rows, columns), ctx.shape(2) if ctx.has(2) else None
    known = broadcast(ctx, [static(result), bias or ()], lambda: [f"A B {shown(result)}", ctx.operand(2)])
    # The bias broadcasts to the product: it tells a dimension that is not known, but adds no symbol.
    pairs = zip(result, known[-2:], strict=True)
    own = [size if isinstance(size, DimExpr) else found for size, found in pairs]
    return ctx.ranked((*known[:-2], *own))
