"""Operators that are functions of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial, pi, sqrt

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, f64, i1
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.krnl.math import ErfOp as KrnlErfOp
from xonnc.dialects.onnx.ops import logical, tensor
from xonnc.dialects.onnx.ops import math as onnx
from xonnc.dialects.onnx.types import NONE, element_type
from xonnc.lowering.onnx_to_krnl.element_types import largest_finite
from xonnc.lowering.onnx_to_krnl.elementwise_fusion import Point, at_each_point, is_float, is_unsigned
from xonnc.lowering.onnx_to_krnl.error_function import error_function
from xonnc.lowering.onnx_to_krnl.scalars import Scalar

Made = SSAValue | None


def binary(
    floats: type[Operation] | None, integers: type[Operation] | None, at: Point, a: SSAValue, b: SSAValue
) -> Made:
    """One op of two numbers by their kind."""
    kind = floats if is_float(a) else integers
    return (
        None if kind is None or a.type == i1 else at.add(kind.create(operands=[a, b], result_types=[a.type]))
    )


@at_each_point(onnx.AddOp)
def add(op: onnx.AddOp, at: Point) -> Made:
    """`A + B`"""
    return binary(arith.AddfOp, arith.AddiOp, at, at(op.A), at(op.B))


@at_each_point(onnx.SubOp)
def sub(op: onnx.SubOp, at: Point) -> Made:
    """`A - B`"""
    return binary(arith.SubfOp, arith.SubiOp, at, at(op.A), at(op.B))


@at_each_point(onnx.MulOp)
def mul(op: onnx.MulOp, at: Point) -> Made:
    """`A B`"""
    return binary(arith.MulfOp, arith.MuliOp, at, at(op.A), at(op.B))


def unary(kind: type[Operation], at: Point, x: SSAValue) -> Made:
    """One op of a float."""
    return at.add(kind.create(operands=[x], result_types=[x.type])) if is_float(x) else None


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
"""Functions of one float that are an op each."""

IN_DOUBLE = frozenset(
    {
        math.AcosOp,
        math.AsinOp,
        math.AtanOp,
        math.CosOp,
        math.CoshOp,
        math.SinOp,
        math.SinhOp,
        math.TanOp,
    }
)
"""
Functions of the C library, which each has other last bits of in f32: computed in f64 and rounded once.

So code gives the same on each machine, and what constant propagation gives.
"""


def _in_double(becomes: type[Operation], at: Point, x: SSAValue) -> Made:
    if x.type != f32:
        return unary(becomes, at, x)
    made = unary(becomes, at, at.add(arith.ExtFOp(x, f64)))
    return None if made is None else at.add(arith.TruncFOp(made, f32))


def _register_unary(kind: type[Operation], becomes: type[Operation]) -> None:
    def function(op: Operation, at: Point) -> Made:
        x = at(op.operands[0])
        return _in_double(becomes, at, x) if becomes in IN_DOUBLE else unary(becomes, at, x)

    function.__doc__ = f"`{kind.name.removeprefix('onnx.').lower()} X`, of floats."
    at_each_point(kind)(function)


for _kind, _becomes in UNARY:
    _register_unary(_kind, _becomes)


@at_each_point(onnx.ErfOp)
def erf(op: onnx.ErfOp, at: Point) -> Made:
    """
    The error function; of f32 near 0 by its series, since the absolute error of the other form is too large.

    Below 1/2 the first term that is left out is 3e-8 of the result.
    """
    x = at(op.input)
    if x.type == f64:
        return error_function(Scalar(at.kernel, x)).value
    if x.type != f32:
        return None
    large = at.add(KrnlErfOp.create(operands=[x], result_types=[x.type]))
    square = at.add(arith.MulfOp(x, x))
    series = at.number(ERF_SERIES[0], x)
    for term in ERF_SERIES[1:]:
        series = at.add(arith.AddfOp(at.add(arith.MulfOp(series, square)), at.number(term, x)))
    is_small = at.add(arith.CmpfOp(at.add(math.AbsFOp(x)), at.number(0.5, x), "olt"))
    return at.add(arith.SelectOp(is_small, at.add(arith.MulfOp(series, x)), large))


ERF_SERIES = tuple(2 / sqrt(pi) * (-1) ** n / (factorial(n) * (2 * n + 1)) for n in range(5, -1, -1))
"""Maclaurin's coefficients of `erf(x) / x` as a polynomial of `x²`, the highest first."""


@at_each_point(onnx.NegOp)
def neg(op: onnx.NegOp, at: Point) -> Made:
    """`-X`"""
    x = at(op.X)
    return binary(arith.SubfOp, arith.SubiOp, at, at.number(-0.0 if is_float(x) else 0, x), x)


@at_each_point(onnx.ReciprocalOp)
def reciprocal(op: onnx.ReciprocalOp, at: Point) -> Made:
    """`1 / X`"""
    x = at(op.X)
    return binary(arith.DivfOp, None, at, at.number(1, x), x)


def least(at: Point, unsigned: bool, a: SSAValue, b: SSAValue) -> Made:
    """The smaller of two numbers; NaN if one is."""
    return binary(arith.MinimumfOp, arith.MinUIOp if unsigned else arith.MinSIOp, at, a, b)


def greatest(at: Point, unsigned: bool, a: SSAValue, b: SSAValue) -> Made:
    """The larger of two numbers; NaN if one is."""
    return binary(arith.MaximumfOp, arith.MaxUIOp if unsigned else arith.MaxSIOp, at, a, b)


def folded(values: Sequence[SSAValue], combine: Callable[[SSAValue, SSAValue], Made]) -> Made:
    """All numbers brought together in order."""
    total = values[0]
    for value in values[1:]:
        combined = combine(total, value)
        if combined is None:
            return None
        total = combined
    return total


@at_each_point(onnx.MaxOp)
def max_(op: onnx.MaxOp, at: Point) -> Made:
    """The largest of all inputs."""
    unsigned = is_unsigned(op.results[0])
    return folded([at(value) for value in op.operands], lambda a, b: greatest(at, unsigned, a, b))


@at_each_point(onnx.MinOp)
def min_(op: onnx.MinOp, at: Point) -> Made:
    """The smallest of all inputs."""
    unsigned = is_unsigned(op.results[0])
    return folded([at(value) for value in op.operands], lambda a, b: least(at, unsigned, a, b))


@at_each_point(onnx.SumOp)
def sum_(op: onnx.SumOp, at: Point) -> Made:
    """All inputs added up."""
    return folded(
        [at(value) for value in op.operands], lambda a, b: binary(arith.AddfOp, arith.AddiOp, at, a, b)
    )


@at_each_point(onnx.ClipOp, onnx.ClipV11Op, onnx.ClipV12Op)
def clip(op: onnx.ClipOp | onnx.ClipV11Op | onnx.ClipV12Op, at: Point) -> Made:
    """Between `min` and `max`, or the limits of the type; the upper bound has the last word."""
    number, unsigned = at(op.input), is_unsigned(op.input)
    low, high = (None if bound.type == NONE else at(bound) for bound in (op.min, op.max))
    if is_float(number):
        limit = largest_finite(element_type(op.input.type))
        low = at.number(-limit, number) if low is None else low
        high = at.number(limit, number) if high is None else high
    above = number if low is None else greatest(at, unsigned, number, low)
    return above if above is None or high is None else least(at, unsigned, above, high)


@at_each_point(onnx.ReluOp)
def relu(op: onnx.ReluOp, at: Point) -> Made:
    """`max(0, X)`"""
    x = at(op.X)
    return greatest(at, False, x, at.number(0, x))


def where(
    at: Point, predicate: str, x: SSAValue, bound: float, then: SSAValue, otherwise: SSAValue
) -> SSAValue:
    """One of two floats by a comparison with a number."""
    condition = at.add(arith.CmpfOp(x, at.number(bound, x), predicate))
    return at.add(arith.SelectOp(condition, then, otherwise))


@at_each_point(onnx.LeakyReluOp)
def leaky_relu(op: onnx.LeakyReluOp, at: Point) -> Made:
    """`X`, times `alpha` below 0."""
    x = at(op.X)
    scaled = at.add(arith.MulfOp(x, at.number(op.alpha.value.data, x)))
    return where(at, "olt", x, 0.0, scaled, x)


@at_each_point(onnx.SigmoidOp)
def sigmoid(op: onnx.SigmoidOp, at: Point) -> Made:
    """`1 / (1 + e^-X)`"""
    return logistic(at, at(op.X))


def logistic(at: Point, x: SSAValue) -> SSAValue:
    """`1 / (1 + e^-x)`"""
    one = at.number(1, x)
    # Added to 1, powers too small for a normal number do not matter.
    quick = arith.FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])
    power = at.add(math.ExpOp(at.add(arith.SubfOp(at.number(-0.0, x), x)), quick))
    return at.add(arith.DivfOp(one, at.add(arith.AddfOp(one, power))))


@at_each_point(onnx.HardSigmoidOp)
def hard_sigmoid(op: onnx.HardSigmoidOp, at: Point) -> Made:
    """`alpha X + beta` between 0 and 1."""
    x = at(op.X)
    line = at.add(arith.MulfOp(x, at.number(op.alpha.value.data, x)))
    line = at.add(arith.AddfOp(line, at.number(op.beta.value.data, x)))
    above = at.add(arith.MaximumfOp(line, at.number(0, x)))
    return at.add(arith.MinimumfOp(above, at.number(1, x)))


@at_each_point(onnx.EluOp)
def elu(op: onnx.EluOp, at: Point) -> Made:
    """`X`, below 0 `alpha (e^X - 1)`."""
    x = at(op.X)
    below = at.add(arith.SubfOp(at.add(math.ExpOp(x)), at.number(1, x)))
    below = at.add(arith.MulfOp(below, at.number(op.alpha.value.data, x)))
    return where(at, "olt", x, 0.0, below, x)


COMPARISONS: Sequence[tuple[type[Operation], str, str, str]] = (
    (logical.EqualOp, "oeq", "eq", "eq"),
    (logical.GreaterOp, "ogt", "sgt", "ugt"),
    (logical.GreaterOrEqualOp, "oge", "sge", "uge"),
    (logical.LessOp, "olt", "slt", "ult"),
    (logical.LessOrEqualOp, "ole", "sle", "ule"),
)
"""How floats, signed and unsigned integers are compared."""


def _register_comparison(kind: type[Operation], floats: str, signed: str, unsigned: str) -> None:
    def function(op: Operation, at: Point) -> Made:
        a, b = (at(value) for value in op.operands)
        if is_float(a):
            return at.add(arith.CmpfOp(a, b, floats))
        return at.add(arith.CmpiOp(a, b, unsigned if is_unsigned(op.operands[0]) else signed))

    function.__doc__ = "Two numbers compared; NaN is neither equal, less nor greater."
    at_each_point(kind)(function)


for _comparison in COMPARISONS:
    _register_comparison(*_comparison)

LOGIC: Sequence[tuple[type[Operation], type[Operation]]] = (
    (logical.AndOp, arith.AndIOp),
    (logical.OrOp, arith.OrIOp),
    (logical.XorOp, arith.XOrIOp),
    (logical.BitwiseAndOp, arith.AndIOp),
    (logical.BitwiseOrOp, arith.OrIOp),
    (logical.BitwiseXorOp, arith.XOrIOp),
)


def _register_logic(kind: type[Operation], becomes: type[Operation]) -> None:
    def function(op: Operation, at: Point) -> Made:
        a, b = (at(value) for value in op.operands)
        return at.add(becomes.create(operands=[a, b], result_types=[a.type]))

    function.__doc__ = "Truth values, or all bits of integers, brought together one by one."
    at_each_point(kind)(function)


for _kind, _becomes in LOGIC:
    _register_logic(_kind, _becomes)


@at_each_point(logical.NotOp)
def not_(op: logical.NotOp, at: Point) -> Made:
    """The opposite."""
    x = at(op.X)
    return at.add(arith.XOrIOp(x, at.number(1, x)))


@at_each_point(tensor.WhereOp)
def where_(op: tensor.WhereOp, at: Point) -> Made:
    """`X` where the condition holds, else `Y`."""
    return at.add(arith.SelectOp(at(op.condition), at(op.X), at(op.Y)))
