"""Activation functions."""

from __future__ import annotations

from math import inf, pi, sqrt

from xdsl.dialects import tosa
from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.math import activation, rectifier, rounding, trigonometry
from xonnc.dialects.onnx.types import NONE
from xonnc.dialects.tosa.elementwise import ErfOp, ExpOp, GreaterOp, LogOp, SigmoidOp, TanhOp
from xonnc.dialects.tosa.types import element_of, shape_of
from xonnc.lowering.onnx_to_tosa.elementwise import product, scaled, select, shifted
from xonnc.lowering.onnx_to_tosa.tosa_builder import TosaBuilder, is_real, lowers


@lowers(rectifier.ReluOp)
def relu(op: rectifier.ReluOp, builder: TosaBuilder) -> SSAValue:
    """`max(x, 0)`."""
    return clamped(builder.value(op.X), 0, inf, builder)


@lowers(rounding.ClipOp, rounding.ClipV12Op, rounding.ClipV11Op, rounding.ClipV6Op)
def clip(op: OnnxOp, builder: TosaBuilder) -> SSAValue:
    """`min(max(x, low), high)`, the bounds constant."""
    return clamped(builder.value(op.operands[0]), *bounds(op, builder), builder)


def bounds(op: OnnxOp, builder: TosaBuilder) -> tuple[float, float]:
    """Return the bounds of Clip."""
    if isinstance(op, rounding.ClipV6Op):
        return op.min.value.data, op.max.value.data
    found = [-inf, inf]
    for index, operand in enumerate(op.operands[1:]):
        if operand.type != NONE:
            found[index] = float(builder.fixed(operand, "a bound").reshape(-1)[0])
    if found[0] > found[1]:
        # ONNX applies the upper bound last.
        found[0] = found[1]
    return found[0], found[1]


def clamped(value: SSAValue, low: float, high: float, builder: TosaBuilder) -> SSAValue:
    """Return a TOSA value within bounds that may be infinite."""
    if is_real(value):
        return builder.clamp(value, low, high)
    element = element_of(value)
    assert isinstance(element, IntegerType)
    top = 2 ** (element.bitwidth - 1) - 1
    return builder.clamp(value, max(low, -top - 1), min(high, top))


@lowers(activation.SigmoidOp)
def sigmoid(op: activation.SigmoidOp, builder: TosaBuilder) -> SSAValue:
    """TOSA's sigmoid."""
    return builder.unary(SigmoidOp, builder.value(op.X))


@lowers(trigonometry.TanhOp)
def tanh(op: trigonometry.TanhOp, builder: TosaBuilder) -> SSAValue:
    """TOSA's tanh."""
    return builder.unary(TanhOp, builder.value(op.operands[0]))


@lowers(rectifier.HardSigmoidOp)
def hard_sigmoid(op: rectifier.HardSigmoidOp, builder: TosaBuilder) -> SSAValue:
    """`alpha x + beta` within 0 and 1."""
    return _hard_sigmoid(builder.value(op.X), op.alpha.value.data, op.beta.value.data, builder)


@lowers(rectifier.HardSwishOp)
def hard_swish(op: rectifier.HardSwishOp, builder: TosaBuilder) -> SSAValue:
    """`x` times its hard sigmoid."""
    x = builder.value(op.X)
    return product([x, _hard_sigmoid(x, 1 / 6, 0.5, builder)], builder)


def _hard_sigmoid(x: SSAValue, alpha: float, beta: float, builder: TosaBuilder) -> SSAValue:
    return builder.clamp(shifted(scaled(x, alpha, builder), beta, builder), 0.0, 1.0)


@lowers(activation.SwishOp)
def swish(op: activation.SwishOp, builder: TosaBuilder) -> SSAValue:
    """`x sigmoid(alpha x)`."""
    x = builder.value(op.X)
    return product([x, builder.unary(SigmoidOp, scaled(x, op.alpha.value.data, builder))], builder)


@lowers(activation.GeluOp)
def gelu(op: activation.GeluOp, builder: TosaBuilder) -> SSAValue:
    """`x / 2 (1 + erf(x / sqrt(2)))`, or by tanh."""
    x = builder.value(op.X)
    if op.approximate.data == "tanh":
        cube = scaled(product([x, x, x], builder), 0.044715, builder)
        inner = scaled(builder.binary(tosa.AddOp, x, cube), sqrt(2 / pi), builder)
        part = builder.unary(TanhOp, inner)
    else:
        part = builder.unary(ErfOp, scaled(x, 1 / sqrt(2), builder))
    return product([scaled(x, 0.5, builder), shifted(part, 1.0, builder)], builder)


@lowers(activation.SoftplusOp)
def softplus(op: activation.SoftplusOp, builder: TosaBuilder) -> SSAValue:
    """`max(x, 0) + log(1 + e^-|x|)`, which does not overflow."""
    x = builder.value(op.X)
    low, high = builder.clamp(x, -inf, 0.0), builder.clamp(x, 0.0, inf)
    # -|x| = min(x, 0) - max(x, 0)
    small = builder.unary(ExpOp, builder.binary(tosa.SubOp, low, high))
    return builder.binary(tosa.AddOp, high, builder.unary(LogOp, shifted(small, 1.0, builder)))


@lowers(activation.EluOp)
def elu(op: activation.EluOp, builder: TosaBuilder) -> SSAValue:
    """`alpha (e^x - 1)` for `x` below 0."""
    x = builder.value(op.X)
    below = shifted(builder.unary(ExpOp, builder.clamp(x, -inf, 0.0)), -1.0, builder)
    return _by_sign(x, x, scaled(below, op.alpha.value.data, builder), builder)


@lowers(rectifier.LeakyReluOp)
def leaky_relu(op: rectifier.LeakyReluOp, builder: TosaBuilder) -> SSAValue:
    """`alpha x` for `x` below 0."""
    x = builder.value(op.X)
    return _by_sign(x, x, scaled(x, op.alpha.value.data, builder), builder)


@lowers(rectifier.PReluOp)
def parametric_relu(op: rectifier.PReluOp, builder: TosaBuilder) -> SSAValue:
    """`slope x` for `x` below 0."""
    x = builder.value(op.X)
    return _by_sign(x, x, builder.binary(tosa.MulOp, x, builder.value(op.slope)), builder)


def _by_sign(x: SSAValue, above: SSAValue, below: SSAValue, builder: TosaBuilder) -> SSAValue:
    """Return `below` where `x` is less than 0, else `above`."""
    zero = builder.scalar(0.0, element_of(x), len(shape_of(x)))
    return select(builder.binary(GreaterOp, zero, x, i1), below, above, builder)
