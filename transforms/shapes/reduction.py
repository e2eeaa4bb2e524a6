"""Shapes of reductions and matrix products."""

from __future__ import annotations

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute

from xonnc.transforms.shapes.inference_context import (
    UNKNOWN,
    InferenceContext,
    Shape,
    Types,
    broadcast,
    infers,
    product,
    shown,
    typed,
)

REDUCTIONS = "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare"
OLD_REDUCTIONS = (
    "ReduceL1V13 ReduceL2V13 ReduceLogSumV13 ReduceLogSumExpV13 ReduceMaxV13 ReduceMaxV18 ReduceMeanV13"
    " ReduceMinV13 ReduceMinV18 ReduceProdV13 ReduceSumV11 ReduceSumSquareV13"
)


@infers(*(f"Reduce{name}" for name in REDUCTIONS.split()), *OLD_REDUCTIONS.split())
def reduced(ctx: InferenceContext) -> Types:
    """Reduced axes become 1 or are dropped; without axes all are reduced."""
    data = ctx.shape(0)
    if data is None:
        return [None]
    by_operand = "axes" not in ctx.definition.properties
    axes = ctx.numbers(1) if by_operand else ctx.integers("axes")
    keep = bool(ctx.integer("keepdims", 1))
    if axes is None and by_operand and ctx.has(1):
        places = ctx.shape(1)
        if keep or (places is not None and UNKNOWN not in places):
            count = 0 if keep or places is None else product(places)
            return ctx.ranked((UNKNOWN,) * (len(data) - count))
        return [None]
    if not axes and ctx.integer("noop_with_empty_axes"):
        return ctx.ranked(data)
    gone = {ctx.axis(axis, len(data)) for axis in axes} if axes else set(range(len(data)))
    return ctx.ranked(without(data, gone, keep))


def without(shape: Shape, gone: set[int], keep: bool) -> Shape:
    """Return the shape after reducing some axes."""
    if keep:
        return tuple(1 if axis in gone else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in gone)


@infers("ArgMax", "ArgMin")
def arg(ctx: InferenceContext) -> Types:
    """One axis becomes 1 or is dropped; a negative axis is normalised."""
    data = ctx.shape(0)
    if data is None:
        return [None]
    axis = ctx.axis(ctx.integer("axis"), len(data))
    ctx.set("axis", axis)
    return typed(without(data, {axis}, bool(ctx.integer("keepdims", 1))), i64)


@infers("TopK")
def top_k(ctx: InferenceContext) -> Types:
    """K values and K indices along one axis."""
    data, count = ctx.shape(0), ctx.numbers(1)
    if data is None:
        return [None, None]
    axis = ctx.axis(ctx.integer("axis", -1), len(data))
    size = count[0] if count else UNKNOWN
    if UNKNOWN not in (size, data[axis]) and size > data[axis]:
        raise ctx.fail(f"axis {axis} has {data[axis]} elements, {size} are asked for")
    shape = (*data[:axis], size, *data[axis + 1 :])
    return [*ctx.ranked(shape), *typed(shape, i64)]


@infers("MatMul")
def matmul(ctx: InferenceContext) -> Types:
    """[..., rows of A, columns of B]; leading axes broadcast."""
    return _matmul(ctx, 0, 1, ctx.element())


@infers("MatMulInteger")
def matmul_integer(ctx: InferenceContext) -> Types:
    """As MatMul, int32."""
    return _matmul(ctx, 0, 1, i32)


@infers("QLinearMatMul")
def qlinear_matmul(ctx: InferenceContext) -> Types:
    """As MatMul, with the element type of the zero point."""
    return _matmul(ctx, 0, 3, ctx.element(7))


def _matmul(ctx: InferenceContext, left: int, right: int, element: Attribute | None) -> Types:
    a, b = ctx.shape(left), ctx.shape(right)
    if a is None or b is None:
        return [None]
    if not a or not b:
        raise ctx.fail("operands must not be scalars")
    rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
    inner = (a[-1], b[max(-2, -len(b))])
    if UNKNOWN not in inner and inner[0] != inner[1]:
        raise ctx.fail(
            f"{ctx.operand(left)} times {ctx.operand(right)}: {inner[0]} columns meet {inner[1]} rows"
        )
    stacked = broadcast(ctx, [a[:-2], b[:-2]], lambda: [ctx.operand(left), ctx.operand(right)])
    return typed((*stacked, *rows, *columns), element)


@infers("Gemm")
def gemm(ctx: InferenceContext) -> Types:
    """[rows of A', columns of B'] after `transA` and `transB`."""
    a, b = ctx.shape(0), ctx.shape(1)
    if a is None or b is None:
        return [None]
    if len(a) != 2 or len(b) != 2:
        raise ctx.fail(f"{ctx.operand(0)} and {ctx.operand(1)} are not both matrices")
    rows, left = (a[1], a[0]) if ctx.integer("transA") else (a[0], a[1])
    right, columns = (b[1], b[0]) if ctx.integer("transB") else (b[0], b[1])
    if UNKNOWN not in (left, right) and left != right:
        raise ctx.fail(
            f"{ctx.operand(0)} times {ctx.operand(1)}: {left} columns meet {right} rows, as they are used"
        )
    product, bias = (rows, columns), ctx.shape(2) if ctx.has(2) else None
    return ctx.ranked(
        broadcast(ctx, [product, bias or ()], lambda: [f"A B {shown(product)}", ctx.operand(2)])
    )
