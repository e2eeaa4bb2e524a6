"""Matrix products: fused with transposes, scales, biases and activations, and quantized ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from xonnc.contrib.microsoft.activations import fast_gelu
from xonnc.contrib.microsoft.common import (
    BYTES,
    FLOATS,
    Array,
    Samples,
    allowed,
    contrib,
    integer,
    normal,
    quantize,
    quantized,
    rank_of,
    real,
    scalar,
    sigmoid,
    wide,
)
from xonnc.plugin import Builder, TensorType, Value, attribute, broadcast, one, optional


def product_type(op: Any, a: TensorType, b: TensorType) -> TensorType:
    """Return the type of a matrix product, by the rules of NumPy's `matmul`."""
    if a.shape is None or b.shape is None:
        return a.with_shape(None)
    left, right = a.shape, b.shape
    if not left or not right:
        raise op.fail("a matrix product of a scalar")
    batch = broadcast(a.with_shape(left[:-2]), b.with_shape(right[:-2])).shape or ()
    rows, columns = left[-2:-1], right[-1:] if len(right) > 1 else ()
    return a.with_shape([*batch, *rows, *columns])


def permutation(rank: int, swaps: int, moves_batch: int) -> list[int]:
    """
    Return the permutation that transposes an operand of a matrix product.

    `swaps` exchanges the last two axes; `moves_batch` (`transBatchA`) first moves the leading axis before the
    last one.
    """
    axes = list(range(rank))
    if moves_batch and rank > 2:
        axes = [*axes[1:-1], axes[0], axes[-1]]
    if swaps and rank > 1:
        axes[-1], axes[-2] = axes[-2], axes[-1]
    return axes


def transposed(shape: Any, perm: list[int]) -> list[Any]:
    """Return a shape with its axes permuted."""
    return [shape[axis] for axis in perm]


def activated(x: Array, name: str, alpha: float | None, beta: float | None) -> Array:
    """Compute the activation that a fused operator names."""
    match name:
        case "" | "Identity":
            return x
        case "Relu":
            return np.maximum(x, 0)
        case "LeakyRelu":
            return np.where(x < 0, x * x.dtype.type(0.01 if alpha is None else alpha), x)
        case "Sigmoid":
            return sigmoid(x)
        case "Tanh":
            return np.tanh(x)
        case "HardSigmoid":
            slope, offset = 0.2 if alpha is None else alpha, 0.5 if beta is None else beta
            return np.clip(x * x.dtype.type(slope) + x.dtype.type(offset), 0, 1)
        case "Clip":
            return np.clip(x, alpha, beta)
        case _:
            raise ValueError(f"no activation '{name}'")


def activate(b: Builder, x: Value, name: str, alpha: float | None, beta: float | None) -> Value:
    """Build the activation that a fused operator names, as an ONNX operator."""
    match name:
        case "" | "Identity":
            return x
        case "Relu" | "Sigmoid" | "Tanh":
            return getattr(b, name)(x)
        case "LeakyRelu":
            return b.LeakyRelu(x, alpha=0.01 if alpha is None else alpha)
        case "HardSigmoid":
            slope, offset = 0.2 if alpha is None else alpha, 0.5 if beta is None else beta
            return b.HardSigmoid(x, alpha=slope, beta=offset)
        case "Clip":
            least = None if alpha is None else b.constant(alpha, x)
            most = None if beta is None else b.constant(beta, x)
            return b.Clip(x, least, most)
        case _:
            raise ValueError(f"no activation '{name}'")


class Product:
    """Matrix product with optionally transposed operands and a scale (`alpha`)."""

    @staticmethod
    def perms(op: Any, a: int, b: int) -> tuple[list[int], list[int]]:
        """Return the permutations of both operands, of rank `a` and `b`."""
        moves = getattr(op, "trans_batch_a", 0), getattr(op, "trans_batch_b", 0)
        return permutation(a, op.trans_a, moves[0]), permutation(b, op.trans_b, moves[1])

    @staticmethod
    def infer(op: Any) -> TensorType:
        if op.a.shape is None or op.b.shape is None:
            return op.a.with_shape(None)
        first, second = Product.perms(op, len(op.a.shape), len(op.b.shape))
        a = op.a.with_shape(transposed(op.a.shape, first))
        return product_type(op, a, op.b.with_shape(transposed(op.b.shape, second)))

    @staticmethod
    def reference(op: Any, a: Array, b: Array) -> Array:
        first, second = Product.perms(op, a.ndim, b.ndim)
        y = np.asarray(np.matmul(wide(a).transpose(first), wide(b).transpose(second)))
        y = y * y.dtype.type(op.alpha)
        return activated(y, getattr(op, "activation", ""), *Product.parameters(op)).astype(a.dtype)

    @staticmethod
    def parameters(op: Any) -> tuple[float | None, float | None]:
        """Return the attributes alpha and beta of a fused activation; `None` where absent."""
        return getattr(op, "activation_alpha", None), getattr(op, "activation_beta", None)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        sides: list[Value] = []
        ranks = rank_of(op, op.a), rank_of(op, op.b)
        for value, perm in zip((op.a, op.b), Product.perms(op, *ranks), strict=True):
            sides.append(value if perm == sorted(perm) else b.Transpose(value, perm=perm))
        y = b.MatMul(*sides)
        y = y if op.alpha == 1 else b.Mul(y, op.alpha)
        return activate(b, y, getattr(op, "activation", ""), *Product.parameters(op))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for trans_a, trans_b, rank in ((0, 0, 2), (1, 0, 2), (0, 1, 3), (1, 1, 4), (0, 1, 2)):
            m, k, n = (int(each) for each in rng.integers(1, 6, 3))
            batch = tuple(int(each) for each in rng.integers(1, 4, rank - 2))
            a = normal(rng, *batch, *((k, m) if trans_a else (m, k)))
            b = normal(rng, *batch, *((n, k) if trans_b else (k, n)))
            alpha = float(np.float32(rng.uniform(0.1, 2)))
            yield [a, b], {"transA": trans_a, "transB": trans_b, "alpha": alpha}


@contrib("FusedMatMul")
class FusedMatMul(Product):
    """Matrix product with optionally transposed operands and a scale (`alpha`)."""

    inputs = (one("T", name="a"), one("T", name="b"))
    outputs = one("T")
    types = allowed(T=FLOATS)
    alpha = attribute(float, default=1.0)
    trans_a = attribute(int, default=0, source="transA")
    trans_b = attribute(int, default=0, source="transB")
    trans_batch_a = attribute(int, default=0, source="transBatchA")
    trans_batch_b = attribute(int, default=0, source="transBatchB")

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        yield from Product.samples(rng)
        x, y, m, k, n = (int(each) for each in rng.integers(1, 5, 5))
        a, b = normal(rng, m, x, y, k), normal(rng, x, y, k, n)
        yield [a, b], {"transBatchA": 1}
        yield [normal(rng, x, y, m, k), normal(rng, k, x, y, n)], {"transBatchB": 1}


@contrib("TransposeMatMul")
class TransposeMatMul(Product):
    """The former name of FusedMatMul: a matrix product with transposed operands and a scale."""

    inputs = (one("T", name="a"), one("T", name="b"))
    outputs = one("T")
    types = allowed(T=FLOATS)
    alpha = attribute(float, default=1.0)
    trans_a = attribute(int, default=0, source="transA")
    trans_b = attribute(int, default=0, source="transB")


@contrib("FusedMatMulActivation")
class FusedMatMulActivation(Product):
    """Matrix product with transposed operands and a scale, followed by an activation."""

    inputs = (one("T", name="a"), one("T", name="b"))
    outputs = one("T")
    types = allowed(T=FLOATS)
    alpha = attribute(float, default=1.0)
    trans_a = attribute(int, default=0, source="transA")
    trans_b = attribute(int, default=0, source="transB")
    trans_batch_a = attribute(int, default=0, source="transBatchA")
    trans_batch_b = attribute(int, default=0, source="transBatchB")
    activation = attribute(str)
    activation_alpha = attribute(float, default=None)
    activation_axis = attribute(int, default=None)
    activation_beta = attribute(float, default=None)
    activation_gamma = attribute(float, default=None)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for name, (operands, given) in zip(("Relu", "Tanh", "Sigmoid"), Product.samples(rng), strict=False):
            yield operands, {**given, "activation": name}


@contrib("FusedGemm")
class FusedGemm:
    """General matrix multiplication (GEMM) α A B + β C, followed by an activation."""

    inputs = (one("T", name="a"), one("T", name="b"), optional("T", name="c"))
    outputs = one("T")
    types = allowed(T=(np.float32, np.float16, np.float64))
    activation = attribute(str, default="")
    activation_alpha = attribute(float, default=None)
    activation_beta = attribute(float, default=None)
    activation_gamma = attribute(float, default=None)
    alpha = attribute(float, default=1.0)
    beta = attribute(float, default=1.0)
    trans_a = attribute(int, default=0, source="transA")
    trans_b = attribute(int, default=0, source="transB")

    @staticmethod
    def infer(op: Any) -> TensorType:
        return Product.infer(op)

    @staticmethod
    def reference(op: Any, a: Array, b: Array, c: Array | None) -> Array:
        left, right = wide(a.T if op.trans_a else a), wide(b.T if op.trans_b else b)
        y = left @ right * left.dtype.type(op.alpha)
        y = y if c is None else y + wide(c) * left.dtype.type(op.beta)
        return activated(y, op.activation, op.activation_alpha, op.activation_beta).astype(a.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        given = {"alpha": op.alpha, "beta": op.beta, "transA": op.trans_a, "transB": op.trans_b}
        y = b.Gemm(op.a, op.b, op.c, **given)
        return activate(b, y, op.activation, op.activation_alpha, op.activation_beta)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for activation, alpha in (("Relu", None), ("LeakyRelu", 0.125), ("Tanh", None), ("Sigmoid", None)):
            m, k, n, at, bt = (int(each) for each in rng.integers(1, 6, 5))
            a, b = normal(rng, *((k, m) if at % 2 else (m, k))), normal(rng, *((n, k) if bt % 2 else (k, n)))
            given: dict[str, Any] = {
                "transA": at % 2,
                "transB": bt % 2,
                "activation": activation,
                "beta": 0.5,
            }
            yield [a, b, normal(rng, n)], given if alpha is None else {**given, "activation_alpha": alpha}


@contrib("GemmFastGelu")
class GemmFastGelu:
    """Matrix product and bias, followed by GELU in its tanh approximation."""

    inputs = (one("T", name="x"), one("T", name="w"), optional("T", name="bias"))
    outputs = one("T")
    types = allowed(T=FLOATS)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return product_type(op, op.x, op.w)

    @staticmethod
    def reference(op: Any, x: Array, w: Array, bias: Array | None) -> Array:
        return fast_gelu(wide(x) @ wide(w) + (0 if bias is None else wide(bias))).astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        y = b.MatMul(op.x, op.w)
        return b.Gelu(y if op.bias is None else b.Add(y, op.bias), approximate="tanh")

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for has_bias in (False, True):
            m, k, n = (int(each) for each in rng.integers(1, 6, 3))
            yield [normal(rng, 2, m, k), normal(rng, k, n), normal(rng, n) if has_bias else None], {}


WEIGHTS = ((np.uint8, 0, 0), (np.int8, 0, 1), (np.int8, 1, 1), (np.uint8, 1, 0))
"""Sample weights: element type, whether scales are per column, and whether there is a bias."""


def integer_product(op: Any, b: Builder, a: Any, w: Any, a_zero: Any, w_zero: Any) -> Value:
    """Build an integer matrix product with zero points subtracted, cast to float32."""
    return b.Cast(b.MatMulInteger(a, w, scalar(b, a_zero), scalar(b, w_zero)), to=np.float32)


def exact_product(a: Array, w: Array, a_zero: Array | None, w_zero: Array | None) -> Array:
    """Compute an integer matrix product with zero points subtracted, in int32."""
    left = a.astype(np.int32) - (0 if a_zero is None else a_zero.astype(np.int32))
    right = w.astype(np.int32) - (0 if w_zero is None else w_zero.astype(np.int32))
    return np.asarray(left @ right)


@contrib("DynamicQuantizeMatMul")
class DynamicQuantizeMatMul:
    """Quantized GEMM whose left operand is quantized dynamically to uint8."""

    inputs = (
        one("T1", name="a"),
        one("T2", name="b"),
        one("T1", name="b_scale"),
        optional("T2", name="b_zero"),
        optional("T1", name="bias"),
    )
    outputs = one("T1")
    types = allowed(T1=(np.float32,), T2=BYTES)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return product_type(op, op.a, op.b)

    @staticmethod
    def reference(
        op: Any, a: Array, b: Array, b_scale: Array, b_zero: Array | None, bias: Array | None
    ) -> Array:
        least, most = min(0.0, float(a.min())), max(0.0, float(a.max()))
        scale = np.float32((np.float32(most) - np.float32(least)) / np.float32(255))
        scale = scale if scale else np.float32(1)
        zero = np.asarray(np.clip(np.rint(-np.float32(least) / scale), 0, 255), np.uint8)
        quantized = quantize(a, np.asarray(scale), zero, np.uint8)
        y = exact_product(quantized, b, zero, b_zero).astype(np.float32) * (scale * b_scale)
        return np.asarray(y if bias is None else y + bias, np.float32)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        quantized, scale, zero = b.DynamicQuantizeLinear(op.a)
        y = b.Mul(integer_product(op, b, quantized, op.b, zero, op.b_zero), b.Mul(scale, op.b_scale))
        return y if op.bias is None else b.Add(y, op.bias)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for dtype, per_column, has_bias in WEIGHTS:
            m, k, n = (int(each) for each in rng.integers(1, 9, 3))
            w, scale, zero = quantized(rng, (k, n), dtype)
            if per_column:
                scale, zero = rng.uniform(0.01, 0.1, n).astype(np.float32), np.full(n, zero)
            yield [normal(rng, 2, m, k), w, scale, zero, normal(rng, n) if has_bias else None], {}


@contrib("MatMulIntegerToFloat")
class MatMulIntegerToFloat:
    """Quantized GEMM with a dequantized floating-point result."""

    inputs = (
        one("T1", name="a"),
        one("T2", name="b"),
        one("T3", name="a_scale"),
        one("T3", name="b_scale"),
        optional("T1", name="a_zero"),
        optional("T2", name="b_zero"),
        optional("T3", name="bias"),
    )
    outputs = one("T3")
    types = allowed(T1=BYTES, T2=BYTES, T3=(np.float32, np.float16))

    @staticmethod
    def infer(op: Any) -> TensorType:
        return product_type(op, op.a, op.b).with_dtype(op.a_scale.dtype)

    @staticmethod
    def reference(
        op: Any, a: Array, b: Array, a_scale: Array, b_scale: Array, *others: Array | None
    ) -> Array:
        a_zero, b_zero, bias = others
        y = exact_product(a, b, a_zero, b_zero).astype(np.float32) * (wide(a_scale) * wide(b_scale))
        return np.asarray(y if bias is None else y + wide(bias)).astype(a_scale.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        y = integer_product(op, b, op.a, op.b, op.a_zero, op.b_zero)
        scale = b.Cast(b.Mul(scalar(b, op.a_scale), op.b_scale), to=np.float32)
        y = b.CastLike(b.Mul(y, scale), op.a_scale)
        return y if op.bias is None else b.Add(y, op.bias)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for dtype, per_column, has_bias in WEIGHTS:
            m, k, n = (int(each) for each in rng.integers(1, 9, 3))
            a, a_scale, a_zero = quantized(rng, (2, m, k), np.uint8)
            w, scale, zero = quantized(rng, (k, n), dtype)
            if per_column:
                scale, zero = rng.uniform(0.01, 0.1, n).astype(np.float32), np.full(n, zero)
            yield [a, w, a_scale, scale, a_zero, zero, normal(rng, n) if has_bias else None], {}


@contrib("QGemm")
class QGemm:
    """Quantized GEMM with an int32 bias at the product's scale; dequantized if there is no `y_scale`."""

    inputs = (
        one("TA", name="a"),
        one("T", name="a_scale"),
        one("TA", name="a_zero"),
        one("TB", name="b"),
        one("T", name="b_scale"),
        one("TB", name="b_zero"),
        optional(np.int32, name="c"),
        optional("T", name="y_scale"),
        optional("TYZ", name="y_zero"),
    )
    outputs = one("TY")
    types = allowed(T=(np.float32,), TA=BYTES, TB=BYTES, TYZ=BYTES, TY=(np.float32, *BYTES))
    alpha = attribute(float, default=1.0)
    trans_a = attribute(int, default=0, source="transA")
    trans_b = attribute(int, default=0, source="transB")

    @staticmethod
    def infer(op: Any) -> TensorType:
        return Product.infer(op).with_dtype(np.float32 if op.y_zero is None else op.y_zero.dtype)

    @staticmethod
    def reference(op: Any, *operands: Array) -> Array:
        a, a_scale, a_zero, b, b_scale, b_zero, c, y_scale, y_zero = operands
        left, right = (a.T if op.trans_a else a), (b.T if op.trans_b else b)
        total = exact_product(left, right, a_zero, b_zero)
        absent: Any = None
        total = total if c is absent else total + c
        y = total.astype(np.float32) * (np.float32(op.alpha) * a_scale * b_scale)
        return np.asarray(y, np.float32) if y_zero is absent else quantize(y, y_scale, y_zero, y_zero.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        given = {"alpha": op.alpha, "transA": op.trans_a, "transB": op.trans_b}
        axis = 0 if op.trans_b else 1
        bias = op.c
        if bias is not None:
            scale = b.Mul(b.Mul(scalar(b, op.a_scale), scalar(b, op.b_scale)), op.alpha)
            bias = b.Mul(b.Cast(bias, to=np.float32), scale)
        a = real(b, op.a, op.a_scale, op.a_zero)
        y = b.Gemm(a, real(b, op.b, op.b_scale, op.b_zero, axis), bias, **given)
        return y if op.y_scale is None else integer(b, y, op.y_scale, op.y_zero, np.uint8)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for dtype, per_column, has_bias, is_real in (
            (np.uint8, 0, 0, 0),
            (np.int8, 0, 1, 0),
            (np.int8, 1, 1, 1),
            (np.uint8, 1, 1, 0),
        ):
            m, k, n, at, bt = (int(each) for each in rng.integers(1, 9, 5))
            a = quantized(rng, (k, m) if at % 2 else (m, k), np.uint8)
            w, scale, zero = quantized(rng, (n, k) if bt % 2 else (k, n), dtype)
            if per_column:
                scale, zero = rng.uniform(0.01, 0.1, n).astype(np.float32), np.full(n, zero)
            bias = rng.integers(-1000, 1000, n).astype(np.int32) if has_bias else None
            result = [np.asarray(0.5, np.float32), np.asarray(100, np.uint8)]
            given = {"transA": at % 2, "transB": bt % 2, "alpha": 0.5 if has_bias else 1.0}
            yield [*a, w, scale, zero, bias, *([] if is_real else result)], given


@contrib("MatMulInteger16")
class MatMulInteger16:
    """Matrix product of 16-bit integers, accumulated in 32 bits."""

    inputs = (one("T1", name="a"), one("T2", name="b"))
    outputs = one("T3")
    types = allowed(T1=(np.int16, np.uint16), T2=(np.int16, np.uint16), T3=(np.int32, np.uint32))

    @staticmethod
    def infer(op: Any) -> TensorType:
        unsigned = op.a.dtype == np.uint16 and op.b.dtype == np.uint16
        return product_type(op, op.a, op.b).with_dtype(np.uint32 if unsigned else np.int32)

    @staticmethod
    def reference(op: Any, a: Array, b: Array) -> Array:
        unsigned = a.dtype == np.uint16 and b.dtype == np.uint16
        dtype = np.uint32 if unsigned else np.int32
        return np.matmul(a.astype(dtype), b.astype(dtype))

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        unsigned = op.a.dtype == np.uint16 and op.b.dtype == np.uint16
        dtype = np.uint32 if unsigned else np.int32
        return b.MatMul(b.Cast(op.a, to=dtype), b.Cast(op.b, to=dtype))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for _ in range(2):
            m, k, n = (int(each) for each in rng.integers(1, 9, 3))
            a, b = rng.integers(-99, 99, (2, m, k)), rng.integers(-99, 99, (k, n))
            yield [a.astype(np.int16), b.astype(np.int16)], {}
