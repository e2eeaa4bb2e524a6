"""Activation functions: PRelu, Swish, HardSwish, Softplus, Mish, Selu, Celu, Gelu and others."""

from __future__ import annotations

from math import inf, pi, sqrt

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f64, i1
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.ops import logical, nn, tensor
from xonnc.dialects.onnx.ops import math as onnx
from xonnc.lowering.onnx_to_krnl.elementwise import logistic, where
from xonnc.lowering.onnx_to_krnl.elementwise_fusion import ElementwiseBody, is_float, lowers_elementwise
from xonnc.lowering.onnx_to_krnl.error_function import error_function
from xonnc.lowering.onnx_to_krnl.scalars import Scalar

MaybeScalar = SSAValue | None


def times(body: ElementwiseBody, x: SSAValue, y: SSAValue | float) -> SSAValue:
    """`x y`"""
    return body.add(arith.MulfOp(x, body.constant(y, x) if isinstance(y, int | float) else y))


def plus(body: ElementwiseBody, x: SSAValue, y: SSAValue | float) -> SSAValue:
    """`x + y`"""
    return body.add(arith.AddfOp(x, body.constant(y, x) if isinstance(y, int | float) else y))


def over(body: ElementwiseBody, x: SSAValue, y: SSAValue) -> SSAValue:
    """`x / y`"""
    return body.add(arith.DivfOp(x, y))


@lowers_elementwise(onnx.PReluOp)
def prelu(op: onnx.PReluOp, body: ElementwiseBody) -> MaybeScalar:
    """`X` where `X >= 0`, else `slope X`."""
    x, slope = body(op.X), body(op.slope)
    return where(body, "olt", x, 0.0, times(body, x, slope), x) if is_float(x) else None


@lowers_elementwise(onnx.ThresholdedReluOp)
def thresholded_relu(op: onnx.ThresholdedReluOp, body: ElementwiseBody) -> MaybeScalar:
    """`X` where `X > alpha`, else 0."""
    x = body(op.X)
    return where(body, "ogt", x, op.alpha.value.data, x, body.constant(0, x))


@lowers_elementwise(onnx.SwishOp)
def swish(op: onnx.SwishOp, body: ElementwiseBody) -> MaybeScalar:
    """`X sigmoid(alpha X)`"""
    x = body(op.X)
    return times(body, x, logistic(body, times(body, x, op.alpha.value.data)))


@lowers_elementwise(onnx.HardSwishOp)
def hard_swish(op: onnx.HardSwishOp, body: ElementwiseBody) -> MaybeScalar:
    """`X clamp(X / 6 + 1 / 2, 0, 1)`."""
    x = body(op.X)
    line = plus(body, times(body, x, 1 / 6), 0.5)
    above = body.add(arith.MaximumfOp(line, body.constant(0, x)))
    return times(body, x, body.add(arith.MinimumfOp(above, body.constant(1, x))))


@lowers_elementwise(onnx.SoftsignOp)
def softsign(op: onnx.SoftsignOp, body: ElementwiseBody) -> MaybeScalar:
    """`X / (1 + |X|)`"""
    x = body(op.input)
    return over(body, x, plus(body, body.add(math.AbsFOp(x)), 1.0))


@lowers_elementwise(onnx.SoftplusOp)
def softplus(op: onnx.SoftplusOp, body: ElementwiseBody) -> MaybeScalar:
    """`log(e^X + 1)`"""
    return soft_relu(body, body(op.X))


def soft_relu(body: ElementwiseBody, x: SSAValue) -> SSAValue:
    """Softplus, `max(x, 0) + log(1 + e^-|x|)`, in the form that does not overflow."""
    size = body.add(math.AbsFOp(x))
    power = body.add(math.ExpOp(times(body, size, -1.0)))
    return plus(body, body.add(arith.MaximumfOp(x, body.constant(0, x))), log_of_one_more(body, power))


def log_of_one_more(body: ElementwiseBody, x: SSAValue) -> SSAValue:
    """
    `log1p(x)`, accurate for small `x`: the rounding error of `1 + x` is compensated by a quotient (W. Kahan).
    """
    raised = plus(body, x, 1.0)
    lost = plus(body, raised, -1.0)
    is_one = body.add(arith.CmpfOp(lost, body.constant(0.0, x), "oeq"))
    is_infinite = body.add(arith.CmpfOp(raised, x, "oeq"))
    logarithm = body.add(math.LogOp(raised))
    made = body.add(arith.SelectOp(is_infinite, logarithm, over(body, times(body, logarithm, x), lost)))
    return body.add(arith.SelectOp(is_one, x, made))


@lowers_elementwise(onnx.MishOp)
def mish(op: onnx.MishOp, body: ElementwiseBody) -> MaybeScalar:
    """`X tanh(softplus(X))`"""
    x = body(op.X)
    return times(body, x, body.add(math.TanhOp(soft_relu(body, x))))


@lowers_elementwise(onnx.SeluOp)
def selu(op: onnx.SeluOp, body: ElementwiseBody) -> MaybeScalar:
    """`gamma X` where `X > 0`, else `gamma alpha (e^X - 1)`."""
    x = body(op.X)
    below = times(body, plus(body, body.add(math.ExpOp(x)), -1.0), op.alpha.value.data)
    return times(body, where(body, "ole", x, 0.0, below, x), op.gamma.value.data)


@lowers_elementwise(onnx.CeluOp)
def celu(op: onnx.CeluOp, body: ElementwiseBody) -> MaybeScalar:
    """`max(0, X) + min(0, alpha (e^(X / alpha) - 1))`; with alpha = 0, NaN where `X >= 0`."""
    x, alpha = body(op.X), op.alpha.value.data
    power = body.add(math.ExpOp(over(body, x, body.constant(alpha, x))))
    zero = body.constant(0.0, x)
    below = body.add(arith.MinimumfOp(times(body, plus(body, power, -1.0), alpha), zero))
    return body.add(arith.AddfOp(body.add(arith.MaximumfOp(x, zero)), below))


@lowers_elementwise(onnx.GeluOp)
def gelu(op: onnx.GeluOp, body: ElementwiseBody) -> MaybeScalar:
    """`X Φ(X)`, with the error function or, if `approximate = "tanh"`, the tanh approximation."""
    x = body(op.X)
    if not is_float(x):
        return None
    if op.approximate.data == "tanh":
        cube = times(body, times(body, x, x), x)
        inner = times(body, plus(body, x, times(body, cube, 0.044715)), sqrt(2 / pi))
        share = body.add(math.TanhOp(inner))
    else:
        scaled = times(body, x, sqrt(0.5))
        number = Scalar(body.kernel, scaled)
        share = (error_function(number) if x.type == f64 else number.erf()).value
    return times(body, times(body, x, 0.5), plus(body, share, 1.0))


@lowers_elementwise(nn.ShrinkOp)
def shrink(op: nn.ShrinkOp, body: ElementwiseBody) -> MaybeScalar:
    """`X - bias` where `X > lambd`, `X + bias` where `X < -lambd`, else 0."""
    x, bias, bound = body(op.input), op.bias.value.data, op.lambd.value.data
    if not is_float(x):
        return None
    inside = where(body, "ogt", x, bound, plus(body, x, -bias), body.constant(0, x))
    return where(body, "olt", x, -bound, plus(body, x, bias), inside)


@lowers_elementwise(tensor.IsNaNOp)
def is_nan(op: tensor.IsNaNOp, body: ElementwiseBody) -> MaybeScalar:
    """Whether `X` is NaN."""
    x = body(op.X)
    return body.add(arith.CmpfOp(x, x, "uno"))


@lowers_elementwise(tensor.IsInfOp)
def is_inf(op: tensor.IsInfOp, body: ElementwiseBody) -> MaybeScalar:
    """Whether `X` is infinite with one of the signs that are detected."""
    x = body(op.X)
    found = body.kernel.constant(0, i1)
    for asked, bound in ((op.detect_positive, inf), (op.detect_negative, -inf)):
        if asked.value.data:
            found = body.add(arith.OrIOp(found, body.add(arith.CmpfOp(x, body.constant(bound, x), "oeq"))))
    return found


@lowers_elementwise(logical.BitwiseNotOp)
def bitwise_not(op: logical.BitwiseNotOp, body: ElementwiseBody) -> MaybeScalar:
    """Bitwise complement."""
    x = body(op.X)
    return body.add(arith.XOrIOp(x, body.constant(-1, x)))


@lowers_elementwise(onnx.MeanOp)
def mean(op: onnx.MeanOp, body: ElementwiseBody) -> MaybeScalar:
    """The elementwise mean of all inputs."""
    numbers = [body(value) for value in op.operands]
    total = numbers[0]
    for number in numbers[1:]:
        total = plus(body, total, number)
    return over(body, total, body.constant(len(numbers), total))
