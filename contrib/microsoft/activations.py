"""Activation functions, some fused with the addition of a bias."""

from __future__ import annotations

from typing import Any

import numpy as np

from xonnc.contrib.microsoft.common import (
    FLOATS,
    Array,
    Samples,
    allowed,
    contrib,
    erf,
    normal,
    sigmoid,
    softmax,
    some_shape,
    wide,
)
from xonnc.plugin import Builder, TensorType, Value, attribute, broadcast, one, optional


def gelu(x: Array) -> Array:
    """Gaussian error linear unit (GELU): x Φ(x)."""
    return 0.5 * x * (1 + erf(x / np.sqrt(x.dtype.type(2))))


def fast_gelu(x: Array) -> Array:
    """GELU by its tanh approximation: 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³)))."""
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


@contrib("Gelu")
class Gelu:
    """Gaussian error linear unit (GELU)."""

    inputs = one("T", name="x")
    outputs = one("T")
    types = allowed(T=FLOATS)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: Array) -> Array:
        return gelu(wide(x)).astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return b.Gelu(op.x)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for _ in range(3):
            yield [normal(rng, *some_shape(rng))], {}


@contrib("FastGelu")
class FastGelu:
    """GELU by its tanh approximation, after the addition of an optional bias."""

    inputs = (one("T", name="x"), optional("T", name="bias"))
    outputs = one("T")
    types = allowed(T=FLOATS)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: Array, bias: Array | None) -> Array:
        return fast_gelu(wide(x) + (0 if bias is None else wide(bias))).astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        x = op.x if op.bias is None else b.Add(op.x, op.bias)
        return b.Gelu(x, approximate="tanh")

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for has_bias in (False, True, True):
            x = normal(rng, *some_shape(rng))
            yield [x, normal(rng, x.shape[-1]) if has_bias else None], {}


@contrib("BiasGelu")
class BiasGelu:
    """GELU after the addition of a bias along the last axis."""

    inputs = (one("T", name="x"), one("T", name="bias"))
    outputs = one("T")
    types = allowed(T=FLOATS)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return broadcast(op.x, op.bias)

    @staticmethod
    def reference(op: Any, x: Array, bias: Array) -> Array:
        return gelu(wide(x) + wide(bias)).astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return b.Gelu(b.Add(op.x, op.bias))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for _ in range(3):
            x = normal(rng, *some_shape(rng))
            yield [x, normal(rng, x.shape[-1])], {}


@contrib("QuickGelu")
class QuickGelu:
    """Approximation of GELU by the logistic function: x σ(α x)."""

    inputs = one("T", name="x")
    outputs = one("T")
    types = allowed(T=FLOATS)
    alpha = attribute(float, default=1.702)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: Array) -> Array:
        y = wide(x)
        return (y * sigmoid(y * y.dtype.type(op.alpha))).astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return b.Mul(op.x, b.Sigmoid(b.Mul(op.x, op.alpha)))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        yield [normal(rng, *some_shape(rng))], {}
        for _ in range(2):
            yield [normal(rng, *some_shape(rng))], {"alpha": float(np.float32(rng.normal()))}


@contrib("BiasSplitGelu")
class BiasSplitGelu:
    """Gated GELU (GEGLU): after a bias, the first half of the last axis times GELU of the second half."""

    inputs = (one("T", name="x"), one("T", name="bias"))
    outputs = one("T")
    types = allowed(T=(np.float32, np.float16))

    @staticmethod
    def infer(op: Any) -> TensorType:
        shape = op.x.shape
        return op.x if shape is None else op.x.with_shape((*shape[:-1], shape[-1] // 2))

    @staticmethod
    def reference(op: Any, x: Array, bias: Array) -> Array:
        left, right = np.split(wide(x) + wide(bias), 2, axis=-1)
        return (left * gelu(right)).astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        left, right = b.Split(b.Add(op.x, op.bias), None, axis=-1, num_outputs=2, outputs=2)
        return b.Mul(left, b.Gelu(right))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for _ in range(3):
            x = normal(rng, 2, int(rng.integers(1, 5)), 2 * int(rng.integers(1, 5)))
            yield [x, normal(rng, x.shape[-1])], {}


@contrib("BiasAdd")
class BiasAdd:
    """The sum of a tensor, a bias along its last axis and a skip connection."""

    inputs = (one("T", name="x"), one("T", name="bias"), one("T", name="skip"))
    outputs = one("T")
    types = allowed(T=(np.float32, np.float16))

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: Array, bias: Array, skip: Array) -> Array:
        return (wide(x) + wide(bias) + wide(skip)).astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return b.Add(op.x, op.bias, op.skip)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for _ in range(3):
            x = normal(rng, *some_shape(rng, 3, 3))
            yield [x, normal(rng, x.shape[-1]), normal(rng, *x.shape)], {}


@contrib("BiasDropout")
class BiasDropout:
    """Addition of a bias and a residual; dropout is the identity, since training is not supported."""

    inputs = (
        one("T", name="x"),
        one("T", name="bias"),
        optional("T", name="residual"),
        optional("T1", name="ratio"),
        optional("T2", name="training_mode"),
    )
    outputs = (one("T", name="output"), optional("T2", name="mask"))
    types = allowed(T=FLOATS, T1=FLOATS, T2=(np.bool_,))
    seed = attribute(int, default=None)

    @staticmethod
    def infer(op: Any) -> list[TensorType]:
        return [op.x, op.x.with_dtype(np.bool_)]

    @staticmethod
    def reference(
        op: Any, x: Array, bias: Array, residual: Array | None, ratio: Array | None, training: Array | None
    ) -> tuple[Array, Array]:
        if training is not None and bool(training):
            raise op.fail("training_mode is set; dropout is supported for inference")
        y = wide(x) + wide(bias)
        y = y if residual is None else y + wide(residual)
        return y.astype(x.dtype), np.ones(y.shape, np.bool_)

    @staticmethod
    def decompose(op: Any, b: Builder) -> tuple[Value, Value | None]:
        training = op.constant(4)
        if op.training_mode is not None and (training is None or bool(training)):
            raise op.fail("training_mode is not the constant false; dropout is supported for inference")
        y = b.Add(op.x, op.bias)
        y = y if op.residual is None else b.Add(y, op.residual)
        mask = None if op.outputs[1] is None else b.Expand(np.ones((), np.bool_), b.Shape(op.x))
        return y, mask

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for has_residual in (False, True):
            x = normal(rng, *some_shape(rng))
            yield [x, normal(rng, x.shape[-1]), normal(rng, *x.shape) if has_residual else None], {}


@contrib("BiasSoftmax")
class BiasSoftmax:
    """Softmax after the addition of a bias, over all axes from `axis` on, flattened to one."""

    inputs = (one("T", name="x"), one("T", name="bias"))
    outputs = one("T")
    types = allowed(T=(np.float32, np.float16, np.float64))
    axis = attribute(int, default=1)
    is_inner_broadcast = attribute(int, choices=(0, 1))

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: Array, bias: Array) -> Array:
        total = wide(x) + wide(bias)
        rows = total.reshape((int(np.prod(total.shape[: op.axis % x.ndim])), -1))
        return softmax(rows).reshape(x.shape).astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        total = b.Add(op.x, op.bias)
        if op.x.shape is not None and op.axis % len(op.x.shape) == len(op.x.shape) - 1:
            return b.Softmax(total, axis=-1)
        return b.Reshape(b.Softmax(b.Flatten(total, axis=op.axis), axis=-1), b.Shape(op.x))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for axis, inner in ((1, 0), (3, 1), (2, 1), (-1, 0)):
            x = normal(rng, *some_shape(rng, 4, 4))
            shape = (x.shape[0], 1, 1, x.shape[3]) if inner else (1, *x.shape[1:])
            yield [x, normal(rng, *shape)], {"axis": axis, "is_inner_broadcast": inner}
