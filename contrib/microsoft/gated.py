"""Gated additions and normalizations of recent language models."""

from __future__ import annotations

from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from xonnc.contrib.microsoft.common import (
    Array,
    Samples,
    allowed,
    contrib,
    float_of,
    normal,
    rank_of,
    sigmoid,
    some_shape,
    wide,
)
from xonnc.plugin import Builder, TensorType, Value, attribute, one, optional

REAL = (np.float32, np.float16, ml_dtypes.bfloat16)


def rms(x: Array, epsilon: float) -> Array:
    """Divide by the root mean square over the last axis."""
    return np.asarray(x / np.sqrt(np.square(x).mean(-1, keepdims=True) + np.float32(epsilon)))


def rms_of(b: Builder, x: Value, scale: Value | Array, epsilon: float) -> Value:
    """Build the RMS normalization of float32 over the last axis."""
    return b.RMSNormalization(x, scale, axis=-1, epsilon=epsilon)


@contrib("ScaledSiLU")
class ScaledSiLU:
    """Sigmoid linear unit (SiLU) of the scaled operand: z σ(z) with z = α x."""

    inputs = (one("T", name="x"), optional("M", name="scale"))
    outputs = one("T")
    types = allowed(T=REAL, M=REAL)
    alpha = attribute(float, default=1.0)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: Array, scale: Array | None) -> Array:
        factor = np.float32(op.alpha) if scale is None else wide(scale).reshape(())
        z = (wide(x) * factor).astype(x.dtype)
        return (wide(z) * wide(sigmoid(wide(z)).astype(x.dtype))).astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        factor: Any = op.alpha if op.scale is None else float_of(b, b.Reshape(op.scale, []))
        z = b.CastLike(b.Mul(float_of(b, op.x), factor), op.x)
        return b.Mul(z, b.CastLike(b.Sigmoid(float_of(b, z)), op.x))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for has_scale in (0, 1, 0):
            scale = np.asarray(rng.uniform(0.2, 3), np.float32)
            yield [normal(rng, *some_shape(rng)), scale if has_scale else None], {"alpha": float(scale)}


@contrib("GatedAdd")
class GatedAdd:
    """Sum of a tensor and another that is scaled by a gate for each row."""

    inputs = (one("T", name="x"), one("T", name="y"), one("T", name="gate"), optional("T", name="weight"))
    outputs = one("T")
    types = allowed(T=REAL)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: Array, y: Array, gate: Array, weight: Array | None) -> Array:
        if weight is not None:
            raise op.fail("a projected gate (gate_weight) is not supported")
        return (wide(x) + wide((wide(y) * wide(gate)).astype(x.dtype))).astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        if op.weight is not None:
            raise op.fail("a projected gate (gate_weight) is not supported")
        return b.Add(op.x, b.Mul(op.y, op.gate))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for _ in range(3):
            shape = some_shape(rng, 1, 4)
            yield [normal(rng, *shape), normal(rng, *shape), normal(rng, *shape[:-1], 1)], {}


@contrib("GatedRMSNorm")
class GatedRMSNorm:
    """RMS normalization over groups of the last axis, times an activation of a gate."""

    inputs = (one("T", name="x"), one("T", name="scale"), one("T", name="gate"))
    outputs = one("T")
    types = allowed(T=REAL)
    activation = attribute(str, default="silu", choices=("silu", "swish", "sigmoid"))
    epsilon = attribute(float, default=1e-5)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: Array, scale: Array, gate: Array) -> Array:
        groups = wide(x).reshape((*x.shape[:-1], -1, scale.shape[0]))
        y = (rms(groups, op.epsilon) * wide(scale)).reshape(x.shape)
        z = wide(gate)
        return (y * sigmoid(z) * (1 if op.activation == "sigmoid" else z)).astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        size = None if op.scale.shape is None else op.scale.shape[0]
        if not isinstance(size, int):
            raise op.fail("the size of scale is not known")
        x, z = float_of(b, op.x), float_of(b, op.gate)
        is_whole = op.x.shape is not None and op.x.shape[-1] == size
        rank = rank_of(op, op.x)
        x = x if is_whole else b.Reshape(x, [*[0] * (rank - 1), -1, size])
        y = rms_of(b, x, float_of(b, op.scale), op.epsilon)
        y = y if is_whole else b.Reshape(y, [*[0] * (rank - 1), -1])
        gate = b.Sigmoid(z)
        gate = gate if op.activation == "sigmoid" else b.Mul(z, gate)
        return b.CastLike(b.Mul(y, gate), op.x)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for activation, groups in (("silu", 1), ("sigmoid", 2), ("swish", 3)):
            size = int(rng.integers(1, 9))
            shape = (*some_shape(rng, 1, 3), groups * size)
            operands: list[Array | None] = [normal(rng, *shape), normal(rng, size), normal(rng, *shape)]
            yield operands, {"activation": activation, "epsilon": 1e-3}


@contrib("LinearAttentionGate")
class LinearAttentionGate:
    """Gates of linear attention: the scaled softplus of one projection, and the sigmoid of another."""

    inputs = (
        one("T", name="a"),
        one("TF", name="bias"),
        one("TF", name="scale"),
        optional("T", name="b"),
    )
    outputs = (one("T", name="decay"), optional("T", name="beta"))
    types = allowed(T=REAL, TF=(np.float32,))

    @staticmethod
    def infer(op: Any) -> list[TensorType | None]:
        if op.outputs[1] is not None and op.b is None:
            raise op.fail("beta is read, but it has no operand (b)")
        heads = op.a.shape[-1] if op.a.shape else None
        for name, each in (("dt_bias", op.bias), ("decay_scale", op.scale)):
            sizes = [size for size in each.shape or () if isinstance(size, int)]
            is_known = each.shape is not None and len(sizes) == len(each.shape)
            if is_known and isinstance(heads, int) and prod(sizes) != heads:
                raise op.fail(f"{name} has {prod(sizes)} elements where there are {heads} heads")
        if op.b is not None and op.b.contradicts(op.a):
            raise op.fail(f"b is {op.b}, but a is {op.a}: they need one shape")
        return [op.a, op.b]

    @staticmethod
    def reference(op: Any, a: Array, bias: Array, scale: Array, b: Array | None) -> list[Array | None]:
        decay = scale.reshape(-1) * np.logaddexp(np.float32(0), wide(a) + bias.reshape(-1))
        return [decay.astype(a.dtype), None if b is None else sigmoid(wide(b)).astype(a.dtype)]

    @staticmethod
    def decompose(op: Any, b: Builder) -> list[Value | None]:
        bias, scale = (b.Reshape(each, [-1]) for each in (op.bias, op.scale))
        decay = b.Mul(b.Softplus(b.Add(float_of(b, op.a), bias)), scale)
        beta = None if op.b is None else b.CastLike(b.Sigmoid(float_of(b, op.b)), op.b)
        return [b.CastLike(decay, op.a), beta]

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for _ in range(3):
            shape = some_shape(rng, 1, 4)
            vectors = [normal(rng, shape[-1]) for _ in range(2)]
            yield [4 * normal(rng, *shape), *vectors, normal(rng, *shape)], {}


@contrib("BranchwiseRMSNorm")
class BranchwiseRMSNorm:
    """RMS normalization of each branch, a group of the last axis."""

    inputs = (one("T", name="x"), optional("M", name="scale"))
    outputs = one("T")
    types = allowed(T=REAL, M=REAL)
    epsilon = attribute(float, default=1e-5)
    num_branches = attribute(int, default=0)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: Array, scale: Array | None) -> Array:
        branches = op.num_branches or x.shape[-2]
        shape: Any = (*x.shape[:-1], branches, -1) if op.num_branches else x.shape
        y: Array = rms(wide(x).reshape(shape), op.epsilon)
        if scale is not None:
            weights = wide(scale)
            y = y * (weights.reshape((branches, -1)) if scale.size > y.shape[-1] else weights.reshape(-1))
        return y.reshape(x.shape).astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        rank = rank_of(op, op.x)
        branches = op.num_branches or op.x.shape[-2]
        if not isinstance(branches, int):
            raise op.fail("the number of branches is not known")
        x = float_of(b, op.x)
        x = b.Reshape(x, [*[0] * (rank - 1), branches, -1]) if op.num_branches else x
        size = x.shape[-1] if x.shape is not None else None
        size = op.x.shape[-1] // branches if op.num_branches and op.x.shape is not None else size
        if not isinstance(size, int):
            raise op.fail("the size of the branches is not known")
        y = rms_of(b, x, np.ones(size, np.float32), op.epsilon)
        if op.scale is not None:
            shape = op.scale.shape
            if not shape or not all(isinstance(each, int) for each in shape):
                raise op.fail("the shape of scale is not known")
            is_own = len(shape) > 1 or shape[0] != size
            weights = float_of(b, op.scale)
            y = b.Mul(y, b.Reshape(weights, [branches, size] if is_own else [size]))
        y = b.Reshape(y, [*[0] * (rank - 1), -1]) if op.num_branches else y
        return b.CastLike(y, op.x)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for is_flat, kind in ((0, 0), (1, 1), (0, 2), (1, 3), (0, 3)):
            branches, size = int(rng.integers(2, 5)), int(rng.integers(1, 7))
            leading = some_shape(rng, 1, 2)
            shape: Any = (branches * size,) if is_flat else (branches, size)
            x = normal(rng, *leading, *shape)
            shapes = ((), (branches * size,), (branches, size), (size,))
            scale = normal(rng, *shapes[kind]) if kind else None
            yield [x, scale], {"num_branches": branches if is_flat else 0, "epsilon": 1e-3}
