"""Elementwise operators: arithmetic, comparisons, logic, and functions of one float."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from math import factorial, pi, sqrt

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, f64, i1
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation

from xonnc.dialects.onnx.ops import logical, tensor
from xonnc.dialects.onnx.ops import math as onnx
from xonnc.dialects.onnx.types import NONE, element_type
from xonnc.lowering.onnx_to_krnl.builders.error_function import error_function
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.math.elementwise_fusion import (
    ElementwiseBody,
    is_unsigned,
    lowers_elementwise,
)
from xonnc.lowering.onnx_to_krnl.planning.element_types import largest_finite
from xonnc.lowering.onnx_to_krnl.planning.qdq_pairs import CLIPS_NAN


def numeric(x: Scalar, made: Callable[[Scalar, Scalar], Scalar], other: Scalar) -> Scalar | None:
    """Apply a function of two numbers; None for booleans."""
    return None if x.type == i1 else made(x, other)


@lowers_elementwise(onnx.AddOp)
def add(op: onnx.AddOp, body: ElementwiseBody) -> Scalar | None:
    """`A + B`"""
    return numeric(body(op.A), operator.add, body(op.B))


@lowers_elementwise(onnx.SubOp)
def sub(op: onnx.SubOp, body: ElementwiseBody) -> Scalar | None:
    """`A - B`"""
    return numeric(body(op.A), operator.sub, body(op.B))


@lowers_elementwise(onnx.MulOp)
def mul(op: onnx.MulOp, body: ElementwiseBody) -> Scalar | None:
    """`A B`"""
    return numeric(body(op.A), operator.mul, body(op.B))


UNARY: Sequence[tuple[type[Operation], type[Operation]]] = (
    (onnx.AcosOp, math.AcosOp),
    (onnx.AsinOp, math.AsinOp),
    (onnx.AtanOp, math.AtanOp),
    (onnx.CeilOp, math.CeilOp),
    (onnx.CosOp, math.CosOp),
    (onnx.CoshOp, math.CoshOp),
    (onnx.ExpOp, math.ExpOp),
    (onnx.FloorOp, math.FloorOp),
    (onnx.LogOp, math.LogOp),
    (onnx.RoundOp, math.RoundEvenOp),
    (onnx.SinOp, math.SinOp),
    (onnx.SinhOp, math.SinhOp),
    (onnx.SqrtOp, math.SqrtOp),
    (onnx.TanOp, math.TanOp),
    (onnx.TanhOp, math.TanhOp),
)
"""Functions of one float that are one op of the math dialect."""


def _register_unary(kind: type[Operation], becomes: type[Operation]) -> None:
    def function(op: Operation, body: ElementwiseBody) -> Scalar | None:
        x = body(op.operands[0])
        return x.function(becomes) if x.is_float else None

    function.__doc__ = f"`{kind.name.removeprefix('onnx.').lower()} X`, of floats."
    lowers_elementwise(kind)(function)


for _kind, _becomes in UNARY:
    _register_unary(_kind, _becomes)


@lowers_elementwise(onnx.ErfOp)
def erf(op: onnx.ErfOp, body: ElementwiseBody) -> Scalar | None:
    """
    Error function. Below 1/2, f32 uses the Maclaurin series, since the absolute error of `krnl.erf` is too
    large there.

    The first term left out is 3e-8 of the result at 1/2.
    """
    x = body(op.input)
    if x.type == f64:
        return error_function(x)
    if x.type != f32:
        return None
    large, square = x.erf(), x * x
    series = x.like(ERF_SERIES[0])
    for term in ERF_SERIES[1:]:
        series = series * square + term
    return (x.abs() < 0.5).select(series * x, large)


ERF_SERIES = tuple(2 / sqrt(pi) * (-1) ** n / (factorial(n) * (2 * n + 1)) for n in range(5, -1, -1))
"""Coefficients of the Maclaurin series of `erf(x) / x` as a polynomial of `x²`, highest first."""


@lowers_elementwise(onnx.NegOp)
def neg(op: onnx.NegOp, body: ElementwiseBody) -> Scalar | None:
    """`-X`"""
    x = body(op.X)
    return None if x.type == i1 else -x


@lowers_elementwise(onnx.ReciprocalOp)
def reciprocal(op: onnx.ReciprocalOp, body: ElementwiseBody) -> Scalar | None:
    """`1 / X`"""
    x = body(op.X)
    return 1.0 / x if x.is_float else None


def minimum(unsigned: bool, a: Scalar, b: Scalar) -> Scalar:
    """The smaller of two elements; NaN if one is NaN."""
    return a.made(arith.MinUIOp(a.value, b.value)) if unsigned else a.minimum(b)


def maximum(unsigned: bool, a: Scalar, b: Scalar) -> Scalar:
    """The larger of two elements; NaN if one is NaN."""
    return a.made(arith.MaxUIOp(a.value, b.value)) if unsigned else a.maximum(b)


def folded(
    op: Operation, body: ElementwiseBody, combine: Callable[[Scalar, Scalar], Scalar]
) -> Scalar | None:
    """Left fold of a binary function over the elements of all inputs; None for booleans."""
    first, *others = (body(value) for value in op.operands)
    return None if others and first.type == i1 else reduce(combine, others, first)


@lowers_elementwise(onnx.MaxOp)
def max_(op: onnx.MaxOp, body: ElementwiseBody) -> Scalar | None:
    """Elementwise maximum of all inputs."""
    return folded(op, body, partial(maximum, is_unsigned(op.results[0])))


@lowers_elementwise(onnx.MinOp)
def min_(op: onnx.MinOp, body: ElementwiseBody) -> Scalar | None:
    """Elementwise minimum of all inputs."""
    return folded(op, body, partial(minimum, is_unsigned(op.results[0])))


@lowers_elementwise(onnx.SumOp)
def sum_(op: onnx.SumOp, body: ElementwiseBody) -> Scalar | None:
    """Elementwise sum of all inputs."""
    return folded(op, body, operator.add)


@lowers_elementwise(onnx.ClipOp, onnx.ClipV11Op, onnx.ClipV12Op)
def clip(op: onnx.ClipOp | onnx.ClipV11Op | onnx.ClipV12Op, body: ElementwiseBody) -> Scalar | None:
    """
    `min(max(X, min), max)`; a bound that is absent is that of the type.

    ONNX: where min > max, the result is max. NaN stays, but in QDQ pairs.
    """
    number, unsigned = body(op.input), is_unsigned(op.input)
    if number.type == i1:
        return None
    low, high = (None if bound.type == NONE else body(bound) for bound in (op.min, op.max))
    if number.is_float:
        limit = largest_finite(element_type(op.input.type))
        low = number.like(-limit) if low is None else low
        high = number.like(limit) if high is None else high
    if CLIPS_NAN in op.attributes and low is not None and high is not None:
        above = (number > low).select(number, low)
        # This is a number, for which a selection is one instruction and a minimum that keeps NaN several.
        return (above < high).select(above, high)
    above = number if low is None else maximum(unsigned, number, low)
    return above if high is None else minimum(unsigned, above, high)


@lowers_elementwise(onnx.ReluOp)
def relu(op: onnx.ReluOp, body: ElementwiseBody) -> Scalar | None:
    """`max(0, X)`"""
    x = body(op.X)
    return None if x.type == i1 else x.maximum(0)


@lowers_elementwise(onnx.LeakyReluOp)
def leaky_relu(op: onnx.LeakyReluOp, body: ElementwiseBody) -> Scalar:
    """`X` where `X >= 0`, else `alpha X`."""
    x = body(op.X)
    scaled = x * op.alpha.value.data
    return (x < 0.0).select(scaled, x)


@lowers_elementwise(onnx.SigmoidOp)
def sigmoid(op: onnx.SigmoidOp, body: ElementwiseBody) -> Scalar:
    """`1 / (1 + e^-X)`"""
    return logistic(body(op.X))


def logistic(x: Scalar) -> Scalar:
    """The logistic function, `1 / (1 + e^-x)`."""
    one = x.like(1)
    # `afn`: an exponential that is never less than 2^-125 suffices, since 1 is added.
    quick = arith.FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])
    return one / (one + (-x).exp(quick))


@lowers_elementwise(onnx.HardSigmoidOp)
def hard_sigmoid(op: onnx.HardSigmoidOp, body: ElementwiseBody) -> Scalar:
    """`clamp(alpha X + beta, 0, 1)`."""
    return (body(op.X) * op.alpha.value.data + op.beta.value.data).clamp(0.0, 1.0)


@lowers_elementwise(onnx.EluOp)
def elu(op: onnx.EluOp, body: ElementwiseBody) -> Scalar:
    """`X` where `X > 0`, else `alpha (e^X - 1)`."""
    x = body(op.X)
    below = (x.exp() - 1.0) * op.alpha.value.data
    return (x < 0.0).select(below, x)


COMPARISONS: Mapping[type[Operation], str] = {
    logical.EqualOp: "eq",
    logical.GreaterOp: "gt",
    logical.GreaterOrEqualOp: "ge",
    logical.LessOp: "lt",
    logical.LessOrEqualOp: "le",
}
"""Predicates."""


def _register_comparison(kind: type[Operation], predicate: str) -> None:
    def function(op: Operation, body: ElementwiseBody) -> Scalar:
        a, b = (body(value) for value in op.operands)
        is_of_unsigned = predicate != "eq" and is_unsigned(op.operands[0])
        return a.compare_unsigned(b, predicate) if is_of_unsigned else a.compare(b, predicate)

    function.__doc__ = "Comparison; false if an operand is NaN."
    lowers_elementwise(kind)(function)


for _kind, _predicate in COMPARISONS.items():
    _register_comparison(_kind, _predicate)

LOGIC: Mapping[type[Operation], Callable[[Scalar, Scalar], Scalar]] = {
    logical.AndOp: Scalar.__and__,
    logical.OrOp: Scalar.__or__,
    logical.XorOp: Scalar.__xor__,
    logical.BitwiseAndOp: Scalar.__and__,
    logical.BitwiseOrOp: Scalar.__or__,
    logical.BitwiseXorOp: Scalar.__xor__,
}


def _register_logic(kind: type[Operation], combine: Callable[[Scalar, Scalar], Scalar]) -> None:
    def function(op: Operation, body: ElementwiseBody) -> Scalar:
        return combine(*(body(value) for value in op.operands))

    function.__doc__ = "Logical operation on booleans, bitwise on integers."
    lowers_elementwise(kind)(function)


for _kind, _combine in LOGIC.items():
    _register_logic(_kind, _combine)


@lowers_elementwise(logical.NotOp)
def not_(op: logical.NotOp, body: ElementwiseBody) -> Scalar:
    """Logical negation."""
    return ~body(op.X)


@lowers_elementwise(tensor.WhereOp)
def where(op: tensor.WhereOp, body: ElementwiseBody) -> Scalar:
    """`X` where the condition holds, else `Y`."""
    return body(op.condition).select(body(op.X), body(op.Y))
