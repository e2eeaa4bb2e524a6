"""Elementwise operators: arithmetic, comparisons, logic, and functions of one float."""

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
from xonnc.lowering.onnx_to_krnl.elementwise_fusion import (
    ElementwiseBody,
    is_float,
    is_unsigned,
    lowers_elementwise,
)
from xonnc.lowering.onnx_to_krnl.error_function import error_function
from xonnc.lowering.onnx_to_krnl.scalars import Scalar

MaybeScalar = SSAValue | None


def binary(
    floats: type[Operation] | None,
    integers: type[Operation] | None,
    body: ElementwiseBody,
    a: SSAValue,
    b: SSAValue,
) -> MaybeScalar:
    """Emit a binary op for floats or integers; None for booleans and types without one."""
    kind = floats if is_float(a) else integers
    return (
        None
        if kind is None or a.type == i1
        else body.add(kind.create(operands=[a, b], result_types=[a.type]))
    )


@lowers_elementwise(onnx.AddOp)
def add(op: onnx.AddOp, body: ElementwiseBody) -> MaybeScalar:
    """`A + B`"""
    return binary(arith.AddfOp, arith.AddiOp, body, body(op.A), body(op.B))


@lowers_elementwise(onnx.SubOp)
def sub(op: onnx.SubOp, body: ElementwiseBody) -> MaybeScalar:
    """`A - B`"""
    return binary(arith.SubfOp, arith.SubiOp, body, body(op.A), body(op.B))


@lowers_elementwise(onnx.MulOp)
def mul(op: onnx.MulOp, body: ElementwiseBody) -> MaybeScalar:
    """`A B`"""
    return binary(arith.MulfOp, arith.MuliOp, body, body(op.A), body(op.B))


def unary(kind: type[Operation], body: ElementwiseBody, x: SSAValue) -> MaybeScalar:
    """Emit a unary op of a float; None for other types."""
    return body.add(kind.create(operands=[x], result_types=[x.type])) if is_float(x) else None


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
Functions that C libraries round differently in f32: computed in f64 and rounded once.

So code gives the same result on each machine, and the one that constant propagation gives.
"""


def _in_double(becomes: type[Operation], body: ElementwiseBody, x: SSAValue) -> MaybeScalar:
    if x.type != f32:
        return unary(becomes, body, x)
    made = unary(becomes, body, body.add(arith.ExtFOp(x, f64)))
    return None if made is None else body.add(arith.TruncFOp(made, f32))


def _register_unary(kind: type[Operation], becomes: type[Operation]) -> None:
    def function(op: Operation, body: ElementwiseBody) -> MaybeScalar:
        x = body(op.operands[0])
        return _in_double(becomes, body, x) if becomes in IN_DOUBLE else unary(becomes, body, x)

    function.__doc__ = f"`{kind.name.removeprefix('onnx.').lower()} X`, of floats."
    lowers_elementwise(kind)(function)


for _kind, _becomes in UNARY:
    _register_unary(_kind, _becomes)


@lowers_elementwise(onnx.ErfOp)
def erf(op: onnx.ErfOp, body: ElementwiseBody) -> MaybeScalar:
    """
    Error function. Below 1/2, f32 uses the Maclaurin series, since the absolute error of `krnl.erf` is too
    large there.

    The first term left out is 3e-8 of the result at 1/2.
    """
    x = body(op.input)
    if x.type == f64:
        return error_function(Scalar(body.kernel, x)).value
    if x.type != f32:
        return None
    large = body.add(KrnlErfOp.create(operands=[x], result_types=[x.type]))
    square = body.add(arith.MulfOp(x, x))
    series = body.constant(ERF_SERIES[0], x)
    for term in ERF_SERIES[1:]:
        series = body.add(arith.AddfOp(body.add(arith.MulfOp(series, square)), body.constant(term, x)))
    is_small = body.add(arith.CmpfOp(body.add(math.AbsFOp(x)), body.constant(0.5, x), "olt"))
    return body.add(arith.SelectOp(is_small, body.add(arith.MulfOp(series, x)), large))


ERF_SERIES = tuple(2 / sqrt(pi) * (-1) ** n / (factorial(n) * (2 * n + 1)) for n in range(5, -1, -1))
"""Coefficients of the Maclaurin series of `erf(x) / x` as a polynomial of `x²`, highest first."""


@lowers_elementwise(onnx.NegOp)
def neg(op: onnx.NegOp, body: ElementwiseBody) -> MaybeScalar:
    """`-X`"""
    x = body(op.X)
    return binary(arith.SubfOp, arith.SubiOp, body, body.constant(-0.0 if is_float(x) else 0, x), x)


@lowers_elementwise(onnx.ReciprocalOp)
def reciprocal(op: onnx.ReciprocalOp, body: ElementwiseBody) -> MaybeScalar:
    """`1 / X`"""
    x = body(op.X)
    return binary(arith.DivfOp, None, body, body.constant(1, x), x)


def minimum(body: ElementwiseBody, unsigned: bool, a: SSAValue, b: SSAValue) -> MaybeScalar:
    """The smaller of two elements; NaN if one is NaN."""
    return binary(arith.MinimumfOp, arith.MinUIOp if unsigned else arith.MinSIOp, body, a, b)


def maximum(body: ElementwiseBody, unsigned: bool, a: SSAValue, b: SSAValue) -> MaybeScalar:
    """The larger of two elements; NaN if one is NaN."""
    return binary(arith.MaximumfOp, arith.MaxUIOp if unsigned else arith.MaxSIOp, body, a, b)


def folded(values: Sequence[SSAValue], combine: Callable[[SSAValue, SSAValue], MaybeScalar]) -> MaybeScalar:
    """Left fold of a binary function over elements; None if it is None once."""
    total = values[0]
    for value in values[1:]:
        combined = combine(total, value)
        if combined is None:
            return None
        total = combined
    return total


@lowers_elementwise(onnx.MaxOp)
def max_(op: onnx.MaxOp, body: ElementwiseBody) -> MaybeScalar:
    """Elementwise maximum of all inputs."""
    unsigned = is_unsigned(op.results[0])
    return folded([body(value) for value in op.operands], lambda a, b: maximum(body, unsigned, a, b))


@lowers_elementwise(onnx.MinOp)
def min_(op: onnx.MinOp, body: ElementwiseBody) -> MaybeScalar:
    """Elementwise minimum of all inputs."""
    unsigned = is_unsigned(op.results[0])
    return folded([body(value) for value in op.operands], lambda a, b: minimum(body, unsigned, a, b))


@lowers_elementwise(onnx.SumOp)
def sum_(op: onnx.SumOp, body: ElementwiseBody) -> MaybeScalar:
    """Elementwise sum of all inputs."""
    return folded(
        [body(value) for value in op.operands], lambda a, b: binary(arith.AddfOp, arith.AddiOp, body, a, b)
    )


@lowers_elementwise(onnx.ClipOp, onnx.ClipV11Op, onnx.ClipV12Op)
def clip(op: onnx.ClipOp | onnx.ClipV11Op | onnx.ClipV12Op, body: ElementwiseBody) -> MaybeScalar:
    """
    `min(max(X, min), max)`; a bound that is absent is that of the type.

    ONNX: where min > max, the result is max.
    """
    number, unsigned = body(op.input), is_unsigned(op.input)
    low, high = (None if bound.type == NONE else body(bound) for bound in (op.min, op.max))
    if is_float(number):
        limit = largest_finite(element_type(op.input.type))
        low = body.constant(-limit, number) if low is None else low
        high = body.constant(limit, number) if high is None else high
    above = number if low is None else maximum(body, unsigned, number, low)
    return above if above is None or high is None else minimum(body, unsigned, above, high)


@lowers_elementwise(onnx.ReluOp)
def relu(op: onnx.ReluOp, body: ElementwiseBody) -> MaybeScalar:
    """`max(0, X)`"""
    x = body(op.X)
    return maximum(body, False, x, body.constant(0, x))


def where(
    body: ElementwiseBody, predicate: str, x: SSAValue, bound: float, then: SSAValue, otherwise: SSAValue
) -> SSAValue:
    """Select by comparing a float with a constant."""
    condition = body.add(arith.CmpfOp(x, body.constant(bound, x), predicate))
    return body.add(arith.SelectOp(condition, then, otherwise))


@lowers_elementwise(onnx.LeakyReluOp)
def leaky_relu(op: onnx.LeakyReluOp, body: ElementwiseBody) -> MaybeScalar:
    """`X` where `X >= 0`, else `alpha X`."""
    x = body(op.X)
    scaled = body.add(arith.MulfOp(x, body.constant(op.alpha.value.data, x)))
    return where(body, "olt", x, 0.0, scaled, x)


@lowers_elementwise(onnx.SigmoidOp)
def sigmoid(op: onnx.SigmoidOp, body: ElementwiseBody) -> MaybeScalar:
    """`1 / (1 + e^-X)`"""
    return logistic(body, body(op.X))


def logistic(body: ElementwiseBody, x: SSAValue) -> SSAValue:
    """The logistic function, `1 / (1 + e^-x)`."""
    one = body.constant(1, x)
    # `afn`: an exponential that flushes subnormals suffices, since 1 is added.
    quick = arith.FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])
    power = body.add(math.ExpOp(body.add(arith.SubfOp(body.constant(-0.0, x), x)), quick))
    return body.add(arith.DivfOp(one, body.add(arith.AddfOp(one, power))))


@lowers_elementwise(onnx.HardSigmoidOp)
def hard_sigmoid(op: onnx.HardSigmoidOp, body: ElementwiseBody) -> MaybeScalar:
    """`clamp(alpha X + beta, 0, 1)`."""
    x = body(op.X)
    line = body.add(arith.MulfOp(x, body.constant(op.alpha.value.data, x)))
    line = body.add(arith.AddfOp(line, body.constant(op.beta.value.data, x)))
    above = body.add(arith.MaximumfOp(line, body.constant(0, x)))
    return body.add(arith.MinimumfOp(above, body.constant(1, x)))


@lowers_elementwise(onnx.EluOp)
def elu(op: onnx.EluOp, body: ElementwiseBody) -> MaybeScalar:
    """`X` where `X > 0`, else `alpha (e^X - 1)`."""
    x = body(op.X)
    below = body.add(arith.SubfOp(body.add(math.ExpOp(x)), body.constant(1, x)))
    below = body.add(arith.MulfOp(below, body.constant(op.alpha.value.data, x)))
    return where(body, "olt", x, 0.0, below, x)


COMPARISONS: Sequence[tuple[type[Operation], str, str, str]] = (
    (logical.EqualOp, "oeq", "eq", "eq"),
    (logical.GreaterOp, "ogt", "sgt", "ugt"),
    (logical.GreaterOrEqualOp, "oge", "sge", "uge"),
    (logical.LessOp, "olt", "slt", "ult"),
    (logical.LessOrEqualOp, "ole", "sle", "ule"),
)
"""Predicates for floats, signed and unsigned integers."""


def _register_comparison(kind: type[Operation], floats: str, signed: str, unsigned: str) -> None:
    def function(op: Operation, body: ElementwiseBody) -> MaybeScalar:
        a, b = (body(value) for value in op.operands)
        if is_float(a):
            return body.add(arith.CmpfOp(a, b, floats))
        return body.add(arith.CmpiOp(a, b, unsigned if is_unsigned(op.operands[0]) else signed))

    function.__doc__ = "Comparison; false if an operand is NaN."
    lowers_elementwise(kind)(function)


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
    def function(op: Operation, body: ElementwiseBody) -> MaybeScalar:
        a, b = (body(value) for value in op.operands)
        return body.add(becomes.create(operands=[a, b], result_types=[a.type]))

    function.__doc__ = "Logical operation on booleans, bitwise on integers."
    lowers_elementwise(kind)(function)


for _kind, _becomes in LOGIC:
    _register_logic(_kind, _becomes)


@lowers_elementwise(logical.NotOp)
def not_(op: logical.NotOp, body: ElementwiseBody) -> MaybeScalar:
    """Logical negation."""
    x = body(op.X)
    return body.add(arith.XOrIOp(x, body.constant(1, x)))


@lowers_elementwise(tensor.WhereOp)
def where_(op: tensor.WhereOp, body: ElementwiseBody) -> MaybeScalar:
    """`X` where the condition holds, else `Y`."""
    return body.add(arith.SelectOp(body(op.condition), body(op.X), body(op.Y)))
