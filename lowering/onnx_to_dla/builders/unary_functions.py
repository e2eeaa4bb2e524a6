"""Unary functions that a lookup table (LUT) of the CDP holds: FP16 approximations, exact tables for int8."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import erf
from typing import Any

import numpy as np

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.math import (
    AbsOp,
    AcoshOp,
    AcosOp,
    AsinhOp,
    AsinOp,
    AtanhOp,
    AtanOp,
    CeilOp,
    CeluOp,
    CoshOp,
    CosOp,
    EluOp,
    ErfOp,
    ExpOp,
    FloorOp,
    GeluOp,
    HardSigmoidOp,
    HardSwishOp,
    LeakyReluOp,
    LogOp,
    MishOp,
    NegOp,
    ReciprocalOp,
    RoundOp,
    SeluOp,
    SigmoidOp,
    SignOp,
    SinhOp,
    SinOp,
    SoftplusOp,
    SoftsignOp,
    SqrtOp,
    SwishOp,
    TanhOp,
    TanOp,
    ThresholdedReluOp,
)
from xonnc.dialects.onnx.ops.nn import ShrinkOp
from xonnc.lowering.dla_planning.lookup_tables import Function
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array

ERF = np.vectorize(erf, otypes=[np.float64])


def sigmoid(x: Array) -> Array:
    """`1 / (1 + e^-x)`."""
    return 1 / (1 + np.exp(-np.clip(x, -700, 700)))


def softplus(x: Array) -> Array:
    """`log(1 + e^x)`."""
    return np.logaddexp(x, 0.0)


def elu(x: Array, alpha: float = 1.0, width: float = 1.0, gamma: float = 1.0) -> Array:
    """`gamma x` where positive, else `gamma alpha (e^(x / width) - 1)`."""
    return gamma * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0.0) / width))


def gelu(x: Array) -> Array:
    """Exact GELU, `x` times the normal distribution's CDF."""
    return x * 0.5 * (1 + ERF(x / np.sqrt(2)))


def gelu_by_tanh(x: Array) -> Array:
    """GELU in its tanh approximation."""
    return x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def hard_swish(x: Array) -> Array:
    """`x min(max(x / 6 + 1 / 2, 0), 1)`."""
    return x * np.clip(x / 6 + 0.5, 0.0, 1.0)


def mish(x: Array) -> Array:
    """`x tanh(softplus(x))`."""
    return x * np.tanh(softplus(x))


def swish(x: Array, alpha: float) -> Array:
    """`x sigmoid(alpha x)`."""
    return x * sigmoid(alpha * x)


def hard_sigmoid(x: Array, alpha: float, beta: float) -> Array:
    """`min(max(alpha x + beta, 0), 1)`."""
    return np.clip(alpha * x + beta, 0.0, 1.0)


def leaky_relu(x: Array, alpha: float) -> Array:
    """`x` where positive, else `alpha x`."""
    return np.where(x > 0, x, alpha * x)


def softsign(x: Array) -> Array:
    """`x / (1 + |x|)`."""
    return x / (1 + np.abs(x))


def exponential(x: Array) -> Array:
    """`e^x`, finite."""
    return np.exp(np.minimum(x, 700.0))


def reciprocal(x: Array) -> Array:
    """`1 / x`, infinite at 0."""
    return np.divide(1.0, x, out=np.full(x.shape, np.inf), where=x != 0)


def logarithm(x: Array) -> Array:
    """`log(x)`, minus infinity for x <= 0."""
    return np.log(x, out=np.full(x.shape, -np.inf), where=x > 0)


def root(x: Array) -> Array:
    """Square root, 0 for negative x."""
    return np.sqrt(np.maximum(x, 0.0))


def above(x: Array, alpha: float) -> Array:
    """`x` where greater than alpha, else 0 (ThresholdedRelu)."""
    return np.where(x > alpha, x, 0.0)


def partial_function(function: Function) -> Function:
    """Make a function total: 0 instead of NaN, ±1e30 instead of infinities."""

    def total(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.nan_to_num(function(x), posinf=1e30, neginf=-1e30)

    return total


def shrunk(x: Array, bias: float, limit: float) -> Array:
    """Shrink: `x - sign(x) * bias` where `|x| > limit`, else 0."""
    return np.where(np.abs(x) > limit, x - np.sign(x) * bias, 0.0)


FP16_FUNCTIONS: dict[type[OnnxOp], Callable[[Any], Function]] = {
    CeluOp: lambda op: partial(elu, alpha=op.alpha.value.data, width=op.alpha.value.data),
    EluOp: lambda op: partial(elu, alpha=op.alpha.value.data),
    ErfOp: lambda op: ERF,
    ExpOp: lambda op: exponential,
    GeluOp: lambda op: gelu_by_tanh if op.approximate.data == "tanh" else gelu,
    HardSwishOp: lambda op: hard_swish,
    MishOp: lambda op: mish,
    SeluOp: lambda op: partial(elu, alpha=op.alpha.value.data, gamma=op.gamma.value.data),
    SigmoidOp: lambda op: sigmoid,
    SoftplusOp: lambda op: softplus,
    SwishOp: lambda op: partial(swish, alpha=op.alpha.value.data),
    TanhOp: lambda op: np.tanh,
}
"""Functions that are asymptotically linear on both sides, by operator; a LUT extrapolates with slopes."""

INT8_FUNCTIONS: dict[type[OnnxOp], Callable[[Any], Function]] = {
    **FP16_FUNCTIONS,
    AbsOp: lambda op: np.abs,
    AcosOp: lambda op: partial_function(np.arccos),
    AcoshOp: lambda op: partial_function(np.arccosh),
    AsinOp: lambda op: partial_function(np.arcsin),
    AsinhOp: lambda op: np.arcsinh,
    AtanOp: lambda op: np.arctan,
    AtanhOp: lambda op: partial_function(np.arctanh),
    CeilOp: lambda op: np.ceil,
    CosOp: lambda op: np.cos,
    CoshOp: lambda op: partial_function(np.cosh),
    FloorOp: lambda op: np.floor,
    HardSigmoidOp: lambda op: partial(hard_sigmoid, alpha=op.alpha.value.data, beta=op.beta.value.data),
    LeakyReluOp: lambda op: partial(leaky_relu, alpha=op.alpha.value.data),
    LogOp: lambda op: logarithm,
    NegOp: lambda op: np.negative,
    ReciprocalOp: lambda op: reciprocal,
    RoundOp: lambda op: np.rint,
    ShrinkOp: lambda op: partial(shrunk, bias=op.bias.value.data, limit=op.lambd.value.data),
    SignOp: lambda op: np.sign,
    SinOp: lambda op: np.sin,
    SinhOp: lambda op: partial_function(np.sinh),
    SoftsignOp: lambda op: softsign,
    SqrtOp: lambda op: root,
    TanOp: lambda op: np.tan,
    ThresholdedReluOp: lambda op: partial(above, alpha=op.alpha.value.data),
}
"""Functions of int8 values, by operator: a LUT has an entry for each of the 256, so any function is exact."""
