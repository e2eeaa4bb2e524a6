"""Inverse matrices, distances, Fourier transforms and complex products."""

from __future__ import annotations

from typing import Any

import numpy as np

from xonnc.contrib.microsoft.common import Array, Samples, allowed, contrib, normal, some_shape, wide
from xonnc.plugin import Builder, TensorType, Value, attribute, broadcast, one

REAL = (np.float32, np.float64, np.float16)

MAX_INVERTED = 32
"""Maximum size of a matrix that is inverted natively: elimination is unrolled, a step for each column."""


@contrib("Inverse")
class Inverse:
    """Inverses of square matrices."""

    inputs = one("T", name="x")
    outputs = one("T")
    types = allowed(T=REAL)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: Array) -> Array:
        return np.linalg.inv(x.astype(np.float64)).astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        size = None if op.x.shape is None else op.x.shape[-1]
        if not isinstance(size, int) or size > MAX_INVERTED:
            shown = size if isinstance(size, int) else "dynamic"
            raise op.fail(
                f"matrices of {shown} columns; native code inverts static sizes up to {MAX_INVERTED}"
            )
        x = b.Cast(op.x, to=np.float32) if op.x.dtype == np.float16 else op.x
        identity = np.eye(size, dtype=x.dtype)
        # Gauss-Jordan elimination with partial pivoting of [X | I], whose right half becomes the inverse.
        right = b.Add(b.Mul(x, b.constant(0, x)), identity)
        work = b.Concat(x, right, axis=-1)
        for column in range(size):
            values = b.Slice(work, [column], [column + 1], [-1])
            below = np.arange(size)[:, None] >= column
            pivot_row = b.ArgMax(b.Where(below, b.Abs(values), b.constant(-1, x)), axis=-2, keepdims=1)
            chosen = b.Equal(pivot_row, np.arange(size, dtype=np.int64)[:, None])
            pivot = b.ReduceSum(b.Where(chosen, work, b.constant(0, x)), [-2], keepdims=1)
            row = b.Slice(work, [column], [column + 1], [-2])
            # Exchange the pivot's row with that of the column, then clear the column elsewhere.
            work = b.Where(chosen, row, work)
            pivot = b.Div(pivot, b.Slice(pivot, [column], [column + 1], [-1]))
            factors = b.Slice(work, [column], [column + 1], [-1])
            cleared = b.Sub(work, b.Mul(factors, pivot))
            work = b.Where(np.arange(size)[:, None] == column, pivot, cleared)
        found = b.Slice(work, [size], [2 * size], [-1])
        return b.CastLike(found, op.x)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for dtype in (np.float32, np.float64, np.float32):
            size = int(rng.integers(1, 7))
            x = normal(rng, *some_shape(rng, 0, 2), size, size, dtype=dtype)
            # Far from singular, with rows in an order that needs pivoting.
            yield [(x + 4 * np.eye(size)[rng.permutation(size)]).astype(dtype)], {}


@contrib("CDist")
class CDist:
    """Distances between all pairs of rows of two matrices."""

    inputs = (one("T", name="a"), one("T", name="b"))
    outputs = one("T")
    types = allowed(T=(np.float32, np.float64))
    metric = attribute(str, default="sqeuclidean", choices=("sqeuclidean", "euclidean"))

    @staticmethod
    def infer(op: Any) -> TensorType:
        if op.a.shape is None or op.b.shape is None:
            return op.a.with_shape(None)
        return op.a.with_shape([op.a.shape[0], op.b.shape[0]])

    @staticmethod
    def reference(op: Any, a: Array, b: Array) -> Array:
        squares = np.square(a[:, None].astype(np.float64) - b[None]).sum(-1)
        return (np.sqrt(squares) if op.metric == "euclidean" else squares).astype(a.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        # |a - b|² = |a|² - 2 a b + |b|²: one matrix product. Rounding may make it less than 0.
        product = b.MatMul(op.a, b.Transpose(op.b, perm=[1, 0]))
        rows, columns = (b.ReduceSumSquare(each, [1], keepdims=1) for each in (op.a, op.b))
        squares = b.Add(b.Sub(rows, b.Mul(product, 2.0)), b.Transpose(columns, perm=[1, 0]))
        squares = b.Max(squares, b.constant(0, op.a))
        return b.Sqrt(squares) if op.metric == "euclidean" else squares

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for metric, dtype in (
            ("sqeuclidean", np.float32),
            ("euclidean", np.float32),
            ("euclidean", np.float64),
        ):
            m, k, n = (int(each) for each in rng.integers(1, 8, 3))
            yield [normal(rng, m, n, dtype=dtype), normal(rng, k, n, dtype=dtype)], {"metric": metric}


@contrib("Rfft")
class Rfft:
    """Discrete Fourier transform of real signals along the last axis: the half that is not redundant."""

    inputs = one("T", name="x")
    outputs = one("T")
    types = allowed(T=REAL)
    normalized = attribute(int, default=0, choices=(0,))
    onesided = attribute(int, default=1, choices=(1,))
    signal_ndim = attribute(int, default=1, choices=(1,))

    @staticmethod
    def infer(op: Any) -> TensorType:
        shape = op.x.shape
        return op.x if shape is None else op.x.with_shape([*shape[:-1], shape[-1] // 2 + 1, 2])

    @staticmethod
    def reference(op: Any, x: Array) -> Array:
        found = np.fft.rfft(x.astype(np.float64))
        return np.stack([found.real, found.imag], -1).astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return b.DFT(b.Unsqueeze(op.x, [-1]), None, np.int64(-2), onesided=1)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for _ in range(3):
            yield [normal(rng, *some_shape(rng, 1, 3, 9))], {}


@contrib("Irfft")
class Irfft:
    """Real signals along the last axis from the half of their discrete Fourier transform."""

    inputs = one("T", name="x")
    outputs = one("T")
    types = allowed(T=REAL)
    normalized = attribute(int, default=0, choices=(0,))
    onesided = attribute(int, default=1, choices=(1,))
    signal_ndim = attribute(int, choices=(1,))

    @staticmethod
    def infer(op: Any) -> TensorType:
        shape = op.x.shape
        return op.x if shape is None else op.x.with_shape([*shape[:-2], (shape[-2] - 1) * 2])

    @staticmethod
    def reference(op: Any, x: Array) -> Array:
        values = x.astype(np.float64)
        return np.fft.irfft(values[..., 0] + 1j * values[..., 1]).astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        # The redundant half is the conjugate of the inner elements, in reverse order.
        inner = b.Slice(op.x, [-2], [0], [-2], [-1])
        conjugate = b.Mul(inner, np.array([1, -1], op.x.dtype))
        spectrum = b.DFT(b.Concat(op.x, conjugate, axis=-2), None, np.int64(-2), inverse=1)
        return b.Squeeze(b.Slice(spectrum, [0], [1], [-1]), [-1])

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for _ in range(3):
            x = np.fft.rfft(rng.normal(size=(*some_shape(rng, 0, 2), 2 * int(rng.integers(1, 6)))))
            yield [np.stack([x.real, x.imag], -1).astype(np.float32)], {"signal_ndim": 1}


class ComplexProduct:
    """Base class of products of complex numbers, stored as pairs along the last axis."""

    sign: int
    """1, or -1 to conjugate the second factor."""

    @staticmethod
    def infer(op: Any) -> TensorType:
        return broadcast(op.a, op.b)

    @staticmethod
    def reference(op: Any, a: Array, b: Array) -> Array:
        first, second = wide(a), wide(b)
        real, imaginary = second[..., 0], second[..., 1] * op.sign
        parts = (
            first[..., 0] * real - first[..., 1] * imaginary,
            first[..., 0] * imaginary + first[..., 1] * real,
        )
        return np.stack(parts, -1).astype(a.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        first = b.Split(op.a, [1, 1], axis=-1, outputs=2)
        second = b.Split(op.b, [1, 1], axis=-1, outputs=2)
        imaginary = second[1] if op.sign == 1 else b.Neg(second[1])
        real = b.Sub(b.Mul(first[0], second[0]), b.Mul(first[1], imaginary))
        return b.Concat(real, b.Add(b.Mul(first[0], imaginary), b.Mul(first[1], second[0])), axis=-1)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for _ in range(2):
            shape = some_shape(rng, 1, 3)
            yield [normal(rng, *shape, 2), normal(rng, *shape[1:], 2)], {}


@contrib("ComplexMul")
class ComplexMul(ComplexProduct):
    """Elementwise product of complex numbers, stored as pairs along the last axis."""

    inputs = (one("T", name="a"), one("T", name="b"))
    outputs = one("T")
    types = allowed(T=REAL)
    sign = 1


@contrib("ComplexMulConj")
class ComplexMulConj(ComplexProduct):
    """Elementwise product of complex numbers with the conjugates of others."""

    inputs = (one("T", name="a"), one("T", name="b"))
    outputs = one("T")
    types = allowed(T=REAL)
    sign = -1
