"""Activation functions: PRelu, Swish, HardSwish, Softplus, Mish, Selu, Celu, Gelu and others."""

from __future__ import annotations

from math import inf, pi, sqrt

from xdsl.dialects.builtin import f64, i1

from xonnc.dialects.onnx.ops import logical, nn, tensor
from xonnc.dialects.onnx.ops import math as onnx
from xonnc.lowering.onnx_to_krnl.builders.error_function import error_function
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.math.elementwise import logistic
from xonnc.lowering.onnx_to_krnl.math.elementwise_fusion import ElementwiseBody, lowers_elementwise


@lowers_elementwise(onnx.PReluOp)
def prelu(op: onnx.PReluOp, body: ElementwiseBody) -> Scalar | None:
    """`X` where `X >= 0`, else `slope X`."""
    x, slope = body(op.X), body(op.slope)
    if not x.is_float:
        return None
    below = x * slope
    return (x < 0.0).select(below, x)


@lowers_elementwise(onnx.ThresholdedReluOp)
def thresholded_relu(op: onnx.ThresholdedReluOp, body: ElementwiseBody) -> Scalar:
    """`X` where `X > alpha`, else 0."""
    x = body(op.X)
    return (x > op.alpha.value.data).select(x, 0.0)


@lowers_elementwise(onnx.SwishOp)
def swish(op: onnx.SwishOp, body: ElementwiseBody) -> Scalar:
    """`X sigmoid(alpha X)`"""
    x = body(op.X)
    return x * logistic(x * op.alpha.value.data)


@lowers_elementwise(onnx.HardSwishOp)
def hard_swish(op: onnx.HardSwishOp, body: ElementwiseBody) -> Scalar:
    """`X clamp(X / 6 + 1 / 2, 0, 1)`."""
    x = body(op.X)
    return x * (x * (1 / 6) + 0.5).clamp(0.0, 1.0)


@lowers_elementwise(onnx.SoftsignOp)
def softsign(op: onnx.SoftsignOp, body: ElementwiseBody) -> Scalar:
    """`X / (1 + |X|)`"""
    x = body(op.input)
    return x / (x.abs() + 1.0)


@lowers_elementwise(onnx.SoftplusOp)
def softplus(op: onnx.SoftplusOp, body: ElementwiseBody) -> Scalar:
    """`log(e^X + 1)`"""
    return soft_relu(body(op.X))


def soft_relu(x: Scalar) -> Scalar:
    """Softplus, `max(x, 0) + log(1 + e^-|x|)`, in the form that does not overflow."""
    power = (x.abs() * -1.0).exp()
    return x.maximum(0.0) + log_of_one_more(power)


def log_of_one_more(x: Scalar) -> Scalar:
    """
    `log1p(x)`, accurate for small `x`: the rounding error of `1 + x` is compensated by a quotient (W. Kahan).
    """
    raised = x + 1.0
    lost = raised + -1.0
    is_one, is_infinite = lost.equals(0.0), raised.equals(x)
    logarithm = raised.log()
    return is_one.select(x, is_infinite.select(logarithm, logarithm * x / lost))


@lowers_elementwise(onnx.MishOp)
def mish(op: onnx.MishOp, body: ElementwiseBody) -> Scalar:
    """`X tanh(softplus(X))`"""
    x = body(op.X)
    return x * soft_relu(x).tanh()


@lowers_elementwise(onnx.SeluOp)
def selu(op: onnx.SeluOp, body: ElementwiseBody) -> Scalar:
    """`gamma X` where `X > 0`, else `gamma alpha (e^X - 1)`."""
    x = body(op.X)
    below = (x.exp() + -1.0) * op.alpha.value.data
    return (x <= 0.0).select(below, x) * op.gamma.value.data


@lowers_elementwise(onnx.CeluOp)
def celu(op: onnx.CeluOp, body: ElementwiseBody) -> Scalar:
    """`max(0, X) + min(0, alpha (e^(X / alpha) - 1))`; with alpha = 0, NaN where `X >= 0`."""
    x, alpha = body(op.X), op.alpha.value.data
    below = (((x / alpha).exp() + -1.0) * alpha).minimum(0.0)
    return x.maximum(0.0) + below


@lowers_elementwise(onnx.GeluOp)
def gelu(op: onnx.GeluOp, body: ElementwiseBody) -> Scalar | None:
    """`X Φ(X)`, with the error function or, if `approximate = "tanh"`, the tanh approximation."""
    x = body(op.X)
    if not x.is_float:
        return None
    if op.approximate.data == "tanh":
        share = ((x + x * x * x * 0.044715) * sqrt(2 / pi)).tanh()
    else:
        scaled = x * sqrt(0.5)
        share = error_function(scaled) if x.type == f64 else scaled.erf()
    return x * 0.5 * (share + 1.0)


@lowers_elementwise(nn.ShrinkOp)
def shrink(op: nn.ShrinkOp, body: ElementwiseBody) -> Scalar | None:
    """`X - bias` where `X > lambd`, `X + bias` where `X < -lambd`, else 0."""
    x, bias, bound = body(op.input), op.bias.value.data, op.lambd.value.data
    if not x.is_float:
        return None
    above = x + -bias
    inside = (x > bound).select(above, 0.0)
    below = x + bias
    return (x < -bound).select(below, inside)


@lowers_elementwise(tensor.IsNaNOp)
def is_nan(op: tensor.IsNaNOp, body: ElementwiseBody) -> Scalar:
    """Whether `X` is NaN."""
    return body(op.X).is_nan()


@lowers_elementwise(tensor.IsInfOp)
def is_inf(op: tensor.IsInfOp, body: ElementwiseBody) -> Scalar:
    """Whether `X` is infinite with one of the signs that are detected."""
    x = body(op.X)
    found = Scalar(x.kernel, x.kernel.constant(0, i1))
    for asked, bound in ((op.detect_positive, inf), (op.detect_negative, -inf)):
        if asked.value.data:
            found = found | x.equals(bound)
    return found


@lowers_elementwise(logical.BitwiseNotOp)
def bitwise_not(op: logical.BitwiseNotOp, body: ElementwiseBody) -> Scalar:
    """Bitwise complement."""
    return body(op.X) ^ -1


@lowers_elementwise(onnx.MeanOp)
def mean(op: onnx.MeanOp, body: ElementwiseBody) -> Scalar:
    """The elementwise mean of all inputs."""
    total, *others = (body(value) for value in op.operands)
    for number in others:
        total = total + number
    return total / len(op.operands)
