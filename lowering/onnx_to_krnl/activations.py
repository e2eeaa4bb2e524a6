"""Activation functions beyond the simplest."""

from __future__ import annotations

from math import inf, pi, sqrt

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f64, i1
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.ops import logical, nn, tensor
from xonnc.dialects.onnx.ops import math as onnx
from xonnc.lowering.onnx_to_krnl.elementwise import logistic, where
from xonnc.lowering.onnx_to_krnl.elementwise_fusion import Point, at_each_point, is_float
from xonnc.lowering.onnx_to_krnl.error_function import error_function
from xonnc.lowering.onnx_to_krnl.scalars import Scalar

Made = SSAValue | None


def times(at: Point, x: SSAValue, y: SSAValue | float) -> SSAValue:
    """`x y`"""
    return at.add(arith.MulfOp(x, at.number(y, x) if isinstance(y, int | float) else y))


def plus(at: Point, x: SSAValue, y: SSAValue | float) -> SSAValue:
    """`x + y`"""
    return at.add(arith.AddfOp(x, at.number(y, x) if isinstance(y, int | float) else y))


def over(at: Point, x: SSAValue, y: SSAValue) -> SSAValue:
    """`x / y`"""
    return at.add(arith.DivfOp(x, y))


@at_each_point(onnx.PReluOp)
def prelu(op: onnx.PReluOp, at: Point) -> Made:
    """`X`, times the slope below 0."""
    x, slope = at(op.X), at(op.slope)
    return where(at, "olt", x, 0.0, times(at, x, slope), x) if is_float(x) else None


@at_each_point(onnx.ThresholdedReluOp)
def thresholded_relu(op: onnx.ThresholdedReluOp, at: Point) -> Made:
    """`X` above `alpha`, else 0."""
    x = at(op.X)
    return where(at, "ogt", x, op.alpha.value.data, x, at.number(0, x))


@at_each_point(onnx.SwishOp)
def swish(op: onnx.SwishOp, at: Point) -> Made:
    """`X sigmoid(alpha X)`"""
    x = at(op.X)
    return times(at, x, logistic(at, times(at, x, op.alpha.value.data)))


@at_each_point(onnx.HardSwishOp)
def hard_swish(op: onnx.HardSwishOp, at: Point) -> Made:
    """`X` times `X / 6 + 1 / 2` between 0 and 1."""
    x = at(op.X)
    line = plus(at, times(at, x, 1 / 6), 0.5)
    above = at.add(arith.MaximumfOp(line, at.number(0, x)))
    return times(at, x, at.add(arith.MinimumfOp(above, at.number(1, x))))


@at_each_point(onnx.SoftsignOp)
def softsign(op: onnx.SoftsignOp, at: Point) -> Made:
    """`X / (1 + |X|)`"""
    x = at(op.input)
    return over(at, x, plus(at, at.add(math.AbsFOp(x)), 1.0))


@at_each_point(onnx.SoftplusOp)
def softplus(op: onnx.SoftplusOp, at: Point) -> Made:
    """`log(e^X + 1)`"""
    return soft_relu(at, at(op.X))


def soft_relu(at: Point, x: SSAValue) -> SSAValue:
    """`max(x, 0) + log(1 + e^-|x|)`, which does not overflow."""
    size = at.add(math.AbsFOp(x))
    power = at.add(math.ExpOp(times(at, size, -1.0)))
    return plus(at, at.add(arith.MaximumfOp(x, at.number(0, x))), log_of_one_more(at, power))


def log_of_one_more(at: Point, x: SSAValue) -> SSAValue:
    """`log(1 + x)`, exact where x is small: what is lost in the sum is put right by a quotient (Kahan)."""
    raised = plus(at, x, 1.0)
    lost = plus(at, raised, -1.0)
    is_one = at.add(arith.CmpfOp(lost, at.number(0.0, x), "oeq"))
    is_infinite = at.add(arith.CmpfOp(raised, x, "oeq"))
    logarithm = at.add(math.LogOp(raised))
    made = at.add(arith.SelectOp(is_infinite, logarithm, over(at, times(at, logarithm, x), lost)))
    return at.add(arith.SelectOp(is_one, x, made))


@at_each_point(onnx.MishOp)
def mish(op: onnx.MishOp, at: Point) -> Made:
    """`X tanh(softplus(X))`"""
    x = at(op.X)
    return times(at, x, at.add(math.TanhOp(soft_relu(at, x))))


@at_each_point(onnx.SeluOp)
def selu(op: onnx.SeluOp, at: Point) -> Made:
    """`gamma X`, below 0 `gamma alpha (e^X - 1)`."""
    x = at(op.X)
    below = times(at, plus(at, at.add(math.ExpOp(x)), -1.0), op.alpha.value.data)
    return times(at, where(at, "ole", x, 0.0, below, x), op.gamma.value.data)


@at_each_point(onnx.CeluOp)
def celu(op: onnx.CeluOp, at: Point) -> Made:
    """`max(0, X) + min(0, alpha (e^(X / alpha) - 1))`, which with alpha 0 is no number from 0 on."""
    x, alpha = at(op.X), op.alpha.value.data
    power = at.add(math.ExpOp(over(at, x, at.number(alpha, x))))
    zero = at.number(0.0, x)
    below = at.add(arith.MinimumfOp(times(at, plus(at, power, -1.0), alpha), zero))
    return at.add(arith.AddfOp(at.add(arith.MaximumfOp(x, zero)), below))


@at_each_point(onnx.GeluOp)
def gelu(op: onnx.GeluOp, at: Point) -> Made:
    """`X Φ(X)`, by the error function or, `approximate = "tanh"`, by a hyperbolic tangent."""
    x = at(op.X)
    if not is_float(x):
        return None
    if op.approximate.data == "tanh":
        cube = times(at, times(at, x, x), x)
        inner = times(at, plus(at, x, times(at, cube, 0.044715)), sqrt(2 / pi))
        share = at.add(math.TanhOp(inner))
    else:
        scaled = times(at, x, sqrt(0.5))
        number = Scalar(at.kernel, scaled)
        share = (error_function(number) if x.type == f64 else number.erf()).value
    return times(at, times(at, x, 0.5), plus(at, share, 1.0))


@at_each_point(nn.ShrinkOp)
def shrink(op: nn.ShrinkOp, at: Point) -> Made:
    """`X` moved by `bias` towards 0 outside of `±lambd`, 0 inside."""
    x, bias, bound = at(op.input), op.bias.value.data, op.lambd.value.data
    if not is_float(x):
        return None
    inside = where(at, "ogt", x, bound, plus(at, x, -bias), at.number(0, x))
    return where(at, "olt", x, -bound, plus(at, x, bias), inside)


@at_each_point(tensor.IsNaNOp)
def is_nan(op: tensor.IsNaNOp, at: Point) -> Made:
    """Whether `X` is no number."""
    x = at(op.X)
    return at.add(arith.CmpfOp(x, x, "uno"))


@at_each_point(tensor.IsInfOp)
def is_inf(op: tensor.IsInfOp, at: Point) -> Made:
    """Whether `X` is infinite, of a sign that is asked for."""
    x = at(op.X)
    found = at.kernel.number(0, i1)
    for asked, bound in ((op.detect_positive, inf), (op.detect_negative, -inf)):
        if asked.value.data:
            found = at.add(arith.OrIOp(found, at.add(arith.CmpfOp(x, at.number(bound, x), "oeq"))))
    return found


@at_each_point(logical.BitwiseNotOp)
def bitwise_not(op: logical.BitwiseNotOp, at: Point) -> Made:
    """All bits turned over."""
    x = at(op.X)
    return at.add(arith.XOrIOp(x, at.number(-1, x)))


@at_each_point(onnx.MeanOp)
def mean(op: onnx.MeanOp, at: Point) -> Made:
    """The mean of all inputs."""
    numbers = [at(value) for value in op.operands]
    total = numbers[0]
    for number in numbers[1:]:
        total = plus(at, total, number)
    return over(at, total, at.number(len(numbers), total))
