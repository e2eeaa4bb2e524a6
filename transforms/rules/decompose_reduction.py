"""
Decompose reductions of norms and log-sums to ReduceSum; numerically stable softmax
(docs/internals/onnx-rules.md §5.2).
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.types import element_type, numpy_dtype, static_shape
from xonnc.rewriting.onnx import (
    Abs,
    Add,
    Clip,
    Div,
    Exp,
    Log,
    LogSoftmax,
    Mul,
    ReduceL1,
    ReduceL2,
    ReduceLogSum,
    ReduceLogSumExp,
    ReduceMax,
    ReduceMaxV13,
    ReduceSum,
    ReduceSumSquare,
    Softmax,
    Sqrt,
    Squeeze,
    Sub,
)
from xonnc.rewriting.patterns import MatchFailure, Node, RewriteResult, Template, absent, attr, value
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.numerics import is_float
from xonnc.transforms.rules.conditions import is_absent, rank

x, axes = value.x, value.axes


def reduction(op: Template) -> Node:
    """Return the pattern of a reduction with its operands and attributes."""
    return op(x, axes, keepdims=attr.keepdims, noop_with_empty_axes=attr.noop)


def holds_floats(x: SSAValue) -> str | None:
    """Elements are floats, as roots, exponentials and logarithms require."""
    element = element_type(x.type)
    return None if element is not None and is_float(numpy_dtype(element)) else "the data are no floats"


def keeps_axes(keepdims: int) -> str | None:
    """Reduced axes are kept with size 1."""
    return None if keepdims else "the axes reduced go"


def drops_axes(keepdims: int) -> str | None:
    """Reduced axes are dropped."""
    return "the axes reduced stay" if keepdims else None


def largest(x: SSAValue, axes: SSAValue | Node, noop: int, keepdims: int = 1) -> Node:
    """Return the maximum, clipped to finite values so that subtracting it cannot give inf - inf."""
    element = element_type(x.type)
    assert element is not None
    dtype = numpy_dtype(element)
    limit = np.nextafter(np.array(np.inf, dtype), np.array(0, dtype))
    bounds = np.asarray(np.negative(limit)), np.asarray(limit)
    return Clip(ReduceMax(x, axes, keepdims=keepdims, noop_with_empty_axes=noop), *bounds)


def log_of_sum(x: SSAValue, axes: SSAValue, keepdims: int, noop: int) -> tuple[Node, Node]:
    """Return the maximum m, and log(sum(exp(x - m)))."""
    m = largest(x, axes, noop)
    e = Exp(Sub(x, m))
    return m, ReduceLogSum(e, axes, keepdims=keepdims, noop_with_empty_axes=noop)


@rule(reduction(ReduceLogSumExp), where=(keeps_axes, holds_floats), bonus=1)
def log_sum_exp_kept(x: SSAValue, axes: SSAValue, keepdims: int, noop: int) -> RewriteResult:
    """
    log(sum(exp(x))) = log(sum(exp(x - m))) + m for m = max(x)

    Unlike in onnx-mlir, m is clipped to finite values: inf - inf would be NaN where the result is infinite.
    """
    m, log = log_of_sum(x, axes, keepdims, noop)
    return Add(log, m)


@rule(reduction(ReduceLogSumExp), where=(drops_axes, holds_floats))
def log_sum_exp(x: SSAValue, axes: SSAValue, keepdims: int, noop: int) -> RewriteResult:
    """
    log(sum(exp(x))) = log(sum(exp(x - m))) + squeeze(m) for m = max(x), finite as above

    With no axes, all are reduced, or none if `noop_with_empty_axes`. Where their number is not known, the
    maximum is reduced again instead of squeezed, which is right for none too.
    """
    count = None if is_absent(axes) else static_shape(axes.type)
    nothing = is_absent(axes) or count == (0,)
    m, log = log_of_sum(x, axes, keepdims, noop)
    if not nothing and count is None:
        return Add(log, largest(x, axes, noop, keepdims=0))
    if nothing and noop:
        return Add(log, m)
    return Add(log, Squeeze(m, absent if nothing else axes))


@rule(LogSoftmax(x, axis=attr.axis))
def log_softmax(x: SSAValue, axis: int) -> RewriteResult:
    """
    log_softmax(x) = z - log(sum(exp(z))) for z = x - max(x)

    onnx-mlir takes the logarithm of the softmax, which is -inf wherever the softmax underflows: in float32,
    for [0, -200].
    """
    axes = np.array([axis], np.int64)
    z = Sub(x, ReduceMax(x, axes, keepdims=1, noop_with_empty_axes=0))
    return Sub(z, ReduceLogSum(Exp(z), axes, keepdims=1, noop_with_empty_axes=0))


@rule(Softmax(x, axis=attr.axis))
def softmax(x: SSAValue, axis: int) -> RewriteResult:
    """softmax(x) = e / sum(e) for e = exp(x - max(x))"""
    if rank(x) is None:
        return MatchFailure("the rank is not known")
    e = Exp(Sub(x, ReduceMaxV13(x, axes=[axis], keepdims=1)))
    axis_array = np.array([axis], np.int64)
    return Div(e, ReduceSum(e, axis_array, keepdims=1, noop_with_empty_axes=0))


def summed(part: Node) -> Node:
    """Return ReduceSum of `part` over the axes of the pattern."""
    return ReduceSum(part, axes, keepdims=attr.keepdims, noop_with_empty_axes=attr.noop)


RULES = rules(
    LogSoftmax=log_softmax,
    # sum(|x|)
    ReduceL1=rule(reduction(ReduceL1), summed(Abs(x))),
    # sqrt(sum(x²))
    ReduceL2=rule(reduction(ReduceL2), Sqrt(reduction(ReduceSumSquare)), where=holds_floats),
    # log(sum(x))
    ReduceLogSum=rule(reduction(ReduceLogSum), Log(reduction(ReduceSum)), where=holds_floats),
    ReduceLogSumExp_1=log_sum_exp_kept,
    ReduceLogSumExp_2=log_sum_exp,
    # sum(x²)
    ReduceSumSquare=rule(reduction(ReduceSumSquare), summed(Mul(x, x))),
)

STABLEHLO = rules(Softmax=softmax)
"""Additional rules for StableHLO."""
