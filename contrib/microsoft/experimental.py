"""Operators of the default domain that ONNX withdrew at opset 10, which onnxruntime has up to opset 9."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from xonnc.contrib.microsoft.common import Array, Samples, allowed, normal, plugin, rank_of, some_shape, wide
from xonnc.contrib.microsoft.movement import ANY, INDICES
from xonnc.plugin import Builder, TensorType, Value, attribute, one, operator, optional

REAL = (np.float32, np.float16, np.float64)
ClassT = TypeVar("ClassT", bound=type)


def experimental(name: str) -> Callable[[ClassT], ClassT]:
    """Declare a class as an operator of the default domain."""
    return operator(plugin, domain="", name=name, until=10)


class Elementwise:
    """Base class of elementwise functions with one operand."""

    compute: Any

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: Array) -> Array:
        return op.compute(op, wide(x)).astype(x.dtype)


def drawn(rng: np.random.Generator, *names: str) -> Samples:
    """Yield random operands with random values of float attributes."""
    for _ in range(3):
        given = {name: float(np.float32(rng.normal())) for name in names}
        yield [normal(rng, *some_shape(rng)) * 3], given
    yield [np.array([0, -0.0, 1e-30, -80, 80], np.float32)], dict.fromkeys(names, 1.0)


@experimental("Affine")
class Affine(Elementwise):
    """Elementwise α x + β."""

    inputs = one("T", name="x")
    outputs = one("T")
    types = allowed(T=REAL)
    alpha = attribute(float, default=1.0)
    beta = attribute(float, default=0.0)

    @staticmethod
    def compute(op: Any, x: Array) -> Array:
        return x * x.dtype.type(op.alpha) + x.dtype.type(op.beta)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return b.Add(b.Mul(op.x, op.alpha), op.beta)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        yield from drawn(rng, "alpha", "beta")


@experimental("Scale")
class Scale(Elementwise):
    """Elementwise product with a constant."""

    inputs = one("T", name="x")
    outputs = one("T")
    types = allowed(T=REAL)
    scale = attribute(float, default=1.0)

    @staticmethod
    def compute(op: Any, x: Array) -> Array:
        return x * x.dtype.type(op.scale)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return b.Mul(op.x, op.scale)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        yield from drawn(rng, "scale")


@experimental("ScaledTanh")
class ScaledTanh(Elementwise):
    """Elementwise α tanh(β x)."""

    inputs = one("T", name="x")
    outputs = one("T")
    types = allowed(T=REAL)
    alpha = attribute(float)
    beta = attribute(float)

    @staticmethod
    def compute(op: Any, x: Array) -> Array:
        return x.dtype.type(op.alpha) * np.tanh(x * x.dtype.type(op.beta))

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return b.Mul(b.Tanh(b.Mul(op.x, op.beta)), op.alpha)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        yield from drawn(rng, "alpha", "beta")


@experimental("ParametricSoftplus")
class ParametricSoftplus(Elementwise):
    """Elementwise α ln(1 + exp(β x))."""

    inputs = one("T", name="x")
    outputs = one("T")
    types = allowed(T=REAL)
    alpha = attribute(float)
    beta = attribute(float)

    @staticmethod
    def compute(op: Any, x: Array) -> Array:
        return x.dtype.type(op.alpha) * np.logaddexp(0, x * x.dtype.type(op.beta), dtype=x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return b.Mul(b.Softplus(b.Mul(op.x, op.beta)), op.alpha)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        yield from drawn(rng, "alpha", "beta")


@experimental("ImageScaler")
class ImageScaler:
    """Scaling of an image and addition of a bias for each channel."""

    inputs = one("T", name="x")
    outputs = one("T")
    types = allowed(T=REAL)
    bias = attribute(list[float])
    scale = attribute(float, default=1.0)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, x: Array) -> Array:
        bias = np.asarray(op.bias, wide(x).dtype).reshape((-1, 1, 1))
        return (wide(x) * bias.dtype.type(op.scale) + bias).astype(x.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        bias = np.asarray(op.bias, np.float32).reshape((-1, 1, 1)).astype(op.x.dtype)
        return b.Add(b.Mul(op.x, op.scale), bias)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for _ in range(3):
            shape = some_shape(rng, 4, 4)
            bias = [float(np.float32(each)) for each in rng.normal(size=shape[1])]
            yield [normal(rng, *shape)], {"bias": bias, "scale": float(np.float32(rng.normal()))}


@experimental("Crop")
class Crop:
    """A rectangle of an image, by its borders or its size."""

    inputs = one("T", name="x")
    outputs = one("T")
    types = allowed(T=REAL)
    border = attribute(list[int])
    scale = attribute(list[int], default=None)

    @staticmethod
    def bounds(op: Any, height: Any, width: Any) -> list[tuple[int, Any]]:
        """Return begin and end of the rectangle along the last two axes."""
        left, top, right, bottom = op.border
        if op.scale:
            return [(top, top + op.scale[0]), (left, left + op.scale[1])]
        return [(top, height - bottom), (left, width - right)]

    @staticmethod
    def infer(op: Any) -> TensorType:
        if len(op.border) != 4:
            raise op.fail(f"border {op.border}; it has four sizes: left, top, right, bottom")
        if op.x.shape is None:
            return op.x
        sizes = [end - begin for begin, end in Crop.bounds(op, *op.x.shape[-2:])]
        return op.x.with_shape([*op.x.shape[:-2], *sizes])

    @staticmethod
    def reference(op: Any, x: Array) -> Array:
        rows, columns = (slice(*each) for each in Crop.bounds(op, *x.shape[-2:]))
        return x[..., rows, columns]

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        begins = [op.border[1], op.border[0]]
        if op.scale:
            ends = [begin + size for begin, size in zip(begins, op.scale, strict=True)]
        else:
            # The end of an axis where nothing is cut off, else counted from the end.
            ends = [-cut if cut else int(np.iinfo(np.int64).max) for cut in (op.border[3], op.border[2])]
        return b.Slice(op.x, begins, ends, [2, 3])

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for has_scale in (0, 1, 0, 1):
            height, width = (int(each) for each in rng.integers(5, 9, 2))
            border = [int(each) for each in rng.integers(0, 3, 4)]
            given: dict[str, Any] = {"border": border}
            given |= {"scale": [int(each) for each in rng.integers(1, 3, 2)]} if has_scale else {}
            yield [normal(rng, 2, int(rng.integers(1, 4)), height, width)], given


@experimental("DynamicSlice")
class DynamicSlice:
    """Slices along axes with bounds given by tensors."""

    inputs = (
        one("T", name="data"),
        one("Tind", name="starts"),
        one("Tind", name="ends"),
        optional("Tind", name="axes"),
    )
    outputs = one("T")
    types = allowed(T=ANY, Tind=INDICES)

    @staticmethod
    def slices(op: Any, rank: int, starts: Array, ends: Array, axes: Array | None) -> dict[int, slice]:
        """Return the slice of each axis that has bounds."""
        chosen = range(len(starts)) if axes is None else [int(each) % rank for each in axes]
        return {axis: slice(int(starts[i]), int(ends[i])) for i, axis in enumerate(chosen)}

    @staticmethod
    def infer(op: Any) -> TensorType:
        starts, ends = op.constant(1), op.constant(2)
        axes = None if op.axes is None else op.constant(3)
        if op.data.shape is None or starts is None or ends is None or (op.axes is not None and axes is None):
            return op.data.with_shape(None)
        sizes = list(op.data.shape)
        for axis, bounds in DynamicSlice.slices(op, len(sizes), starts, ends, axes).items():
            if not isinstance(sizes[axis], int):
                return op.data.with_shape(None)
            sizes[axis] = len(range(*bounds.indices(sizes[axis])))
        return op.data.with_shape(sizes)

    @staticmethod
    def reference(op: Any, data: Array, starts: Array, ends: Array, axes: Array | None) -> Array:
        found = DynamicSlice.slices(op, data.ndim, starts, ends, axes)
        return data[tuple(found.get(axis, slice(None)) for axis in range(data.ndim))]

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        rank_of(op, op.data)
        return b.Slice(op.data, op.starts, op.ends, op.axes)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for dtype, kind, has_axes in (
            (np.float32, np.int64, 0),
            (np.int32, np.int32, 1),
            (np.float64, np.int64, 1),
        ):
            shape = some_shape(rng, 2, 4, 8)
            count = int(rng.integers(1, len(shape) + 1))
            axes = rng.permutation(len(shape))[:count]
            starts, ends = rng.integers(-5, 4, count), rng.integers(-2, 12, count)
            starts[0], ends[0] = 0, np.iinfo(np.int32).max
            operands = [normal(rng, *shape).astype(dtype), starts.astype(kind), ends.astype(kind)]
            yield [*operands, axes.astype(kind) if has_axes else None], {}
