"""Shapes of ops that sum over axes: reductions and matrix products."""

from __future__ import annotations

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute

from xonnc.transforms.shapes.inference_context import (
    UNKNOWN,
    Shape,
    Site,
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
def reduced(site: Site) -> Types:
    """Some axes become 1 or go; all of them if none is given."""
    data = site.shape(0)
    if data is None:
        return [None]
    by_operand = "axes" not in site.definition.properties
    axes = site.numbers(1) if by_operand else site.integers("axes")
    keep = bool(site.integer("keepdims", 1))
    if axes is None and by_operand and site.has(1):
        places = site.shape(1)
        if keep or (places is not None and UNKNOWN not in places):
            count = 0 if keep or places is None else product(places)
            return site.ranked((UNKNOWN,) * (len(data) - count))
        return [None]
    if not axes and site.integer("noop_with_empty_axes"):
        return site.ranked(data)
    gone = {site.axis(axis, len(data)) for axis in axes} if axes else set(range(len(data)))
    return site.ranked(without(data, gone, keep))


def without(shape: Shape, gone: set[int], keep: bool) -> Shape:
    """The shape after reducing some axes."""
    if keep:
        return tuple(1 if axis in gone else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in gone)


@infers("ArgMax", "ArgMin")
def arg(site: Site) -> Types:
    """One axis becomes 1 or goes; a negative axis is written as a positive one."""
    data = site.shape(0)
    if data is None:
        return [None]
    axis = site.axis(site.integer("axis"), len(data))
    site.set("axis", axis)
    return typed(without(data, {axis}, bool(site.integer("keepdims", 1))), i64)


@infers("TopK")
def top_k(site: Site) -> Types:
    """K values and their indices along one axis."""
    data, count = site.shape(0), site.numbers(1)
    if data is None:
        return [None, None]
    axis = site.axis(site.integer("axis", -1), len(data))
    size = count[0] if count else UNKNOWN
    if UNKNOWN not in (size, data[axis]) and size > data[axis]:
        raise site.fail(f"axis {axis} has {data[axis]} elements, {size} are asked for")
    shape = (*data[:axis], size, *data[axis + 1 :])
    return [*site.ranked(shape), *typed(shape, i64)]


@infers("MatMul")
def matmul(site: Site) -> Types:
    """Rows of the left by columns of the right, the leading axes broadcast."""
    return _matmul(site, 0, 1, site.element())


@infers("MatMulInteger")
def matmul_integer(site: Site) -> Types:
    """As MatMul, in 32 bits."""
    return _matmul(site, 0, 1, i32)


@infers("QLinearMatMul")
def qlinear_matmul(site: Site) -> Types:
    """As MatMul, with the elements of the zero point."""
    return _matmul(site, 0, 3, site.element(7))


def _matmul(site: Site, left: int, right: int, element: Attribute | None) -> Types:
    a, b = site.shape(left), site.shape(right)
    if a is None or b is None:
        return [None]
    if not a or not b:
        raise site.fail("a scalar is no matrix")
    rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
    inner = (a[-1], b[max(-2, -len(b))])
    if UNKNOWN not in inner and inner[0] != inner[1]:
        raise site.fail(
            f"{site.operand(left)} times {site.operand(right)}: {inner[0]} columns meet {inner[1]} rows"
        )
    stacked = broadcast(site, [a[:-2], b[:-2]], lambda: [site.operand(left), site.operand(right)])
    return typed((*stacked, *rows, *columns), element)


@infers("Gemm")
def gemm(site: Site) -> Types:
    """Rows of the left by columns of the right, either transposed if asked."""
    a, b = site.shape(0), site.shape(1)
    if a is None or b is None:
        return [None]
    if len(a) != 2 or len(b) != 2:
        raise site.fail(f"{site.operand(0)} and {site.operand(1)} are not both matrices")
    rows, left = (a[1], a[0]) if site.integer("transA") else (a[0], a[1])
    right, columns = (b[1], b[0]) if site.integer("transB") else (b[0], b[1])
    if UNKNOWN not in (left, right) and left != right:
        raise site.fail(
            f"{site.operand(0)} times {site.operand(1)}: {left} columns meet {right} rows, as they are used"
        )
    product, bias = (rows, columns), site.shape(2) if site.has(2) else None
    return site.ranked(
        broadcast(site, [product, bias or ()], lambda: [f"A B {shown(product)}", site.operand(2)])
    )
