"""Quantized operators: elementwise, pooling, reduction, Concat, QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from xonnc.contrib.microsoft.common import (
    BYTES,
    Array,
    Samples,
    allowed,
    contrib,
    dequantize,
    integer,
    normal,
    quantize,
    quantized,
    rank_of,
    real,
    scalar,
    sigmoid,
    softmax,
    some_shape,
)
from xonnc.contrib.microsoft.windows import (
    average_pool,
    pool_attributes,
    pooled_type,
    to_channels_first,
    to_channels_last,
)
from xonnc.plugin import (
    Builder,
    TensorType,
    Value,
    attribute,
    broadcast,
    one,
    optional,
    variadic,
)

TYPES = allowed(T=BYTES)
FLOAT = np.float32

BINARY = (
    one("T", name="a"),
    one(FLOAT, name="a_scale"),
    optional("T", name="a_zero"),
    one("T", name="b"),
    one(FLOAT, name="b_scale"),
    optional("T", name="b_zero"),
    one(FLOAT, name="y_scale"),
    optional("T", name="y_zero"),
)
UNARY = (
    one("T", name="x"),
    one(FLOAT, name="x_scale"),
    optional("T", name="x_zero"),
    one(FLOAT, name="y_scale"),
    optional("T", name="y_zero"),
)


def read(op: Any, b: Builder) -> Value:
    """Build the dequantization of a unary operator's operand."""
    return real(b, op.x, op.x_scale, op.x_zero)


def write(op: Any, b: Builder, y: Value) -> Value:
    """Build the quantization of an operator's result."""
    return integer(b, y, op.y_scale, op.y_zero, op.inputs[0].dtype)


def binary_samples(rng: np.random.Generator) -> Samples:
    """Yield sample operands of the same shape, and of shapes that broadcast."""
    for index, dtype in enumerate((*BYTES, *BYTES)):
        shape = some_shape(rng)
        other = shape[1:] if index > 1 else shape
        _, y_scale, y_zero = quantized(rng, (), dtype)
        yield [*quantized(rng, shape, dtype), *quantized(rng, other, dtype), y_scale, y_zero], {}


def unary_samples(rng: np.random.Generator, *shape: int) -> list[Array]:
    """Return a random quantized operand, with the scale and zero point of the result."""
    dtype = BYTES[int(rng.integers(0, 2))]
    _, y_scale, y_zero = quantized(rng, (), dtype)
    return [*quantized(rng, shape or some_shape(rng), dtype), y_scale, y_zero]


class Binary:
    """Base class of quantized binary elementwise operators: dequantize, compute, quantize."""

    compute: Any
    onnx_name: str

    @staticmethod
    def infer(op: Any) -> TensorType:
        return broadcast(op.a, op.b)

    @staticmethod
    def reference(op: Any, *operands: Array) -> Array:
        values = dequantize(*operands[:3]), dequantize(*operands[3:6])
        return quantize(op.compute(*values), operands[6], operands[7], operands[0].dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        values = real(b, op.a, op.a_scale, op.a_zero), real(b, op.b, op.b_scale, op.b_zero)
        return write(op, b, getattr(b, op.onnx_name)(*values))

    samples = staticmethod(binary_samples)


@contrib("QLinearAdd")
class QLinearAdd(Binary):
    """Elementwise sum of two quantized tensors."""

    inputs = BINARY
    outputs = one("T")
    types = TYPES
    compute = staticmethod(np.add)
    onnx_name = "Add"


@contrib("QLinearMul")
class QLinearMul(Binary):
    """Elementwise product of two quantized tensors."""

    inputs = BINARY
    outputs = one("T")
    types = TYPES
    compute = staticmethod(np.multiply)
    onnx_name = "Mul"


@contrib("QLinearSigmoid")
class QLinearSigmoid:
    """Logistic function (sigmoid) of a quantized tensor."""

    inputs = UNARY
    outputs = one("T")
    types = TYPES

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, *operands: Array) -> Array:
        return quantize(sigmoid(dequantize(*operands[:3])), operands[3], operands[4], operands[0].dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return write(op, b, b.Sigmoid(read(op, b)))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for _ in range(3):
            yield [*unary_samples(rng)], {}


@contrib("QLinearLeakyRelu")
class QLinearLeakyRelu:
    """Leaky ReLU of a quantized tensor."""

    inputs = UNARY
    outputs = one("T")
    types = TYPES
    alpha = attribute(float, default=0.01)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, *operands: Array) -> Array:
        x = dequantize(*operands[:3])
        y = np.where(x < 0, x * np.float32(op.alpha), x)
        return quantize(y, operands[3], operands[4], operands[0].dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return write(op, b, b.LeakyRelu(read(op, b), alpha=op.alpha))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        yield [*unary_samples(rng)], {}
        for _ in range(2):
            yield [*unary_samples(rng)], {"alpha": float(np.float32(rng.uniform(0, 0.5)))}


@contrib("QLinearSoftmax")
class QLinearSoftmax:
    """Softmax of a quantized tensor; before opset 13 over all axes from `axis` on, flattened to one."""

    inputs = UNARY
    outputs = one("T")
    types = TYPES
    axis = attribute(int, default=-1)
    opset = attribute(int)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x

    @staticmethod
    def reference(op: Any, *operands: Array) -> Array:
        x = dequantize(*operands[:3])
        if op.opset < 13:
            rows = x.reshape((int(np.prod(x.shape[: op.axis % x.ndim])), -1))
            y = softmax(rows).reshape(x.shape)
        else:
            y = softmax(x, op.axis)
        return quantize(y, operands[3], operands[4], operands[0].dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        x = read(op, b)
        if op.opset >= 13:
            return write(op, b, b.Softmax(x, axis=op.axis))
        axis = op.axis % rank_of(op, op.x)
        return write(op, b, b.Reshape(b.Softmax(b.Flatten(x, axis=axis), axis=-1), b.Shape(op.x)))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for opset, axis in ((13, -1), (13, 1), (12, 1), (12, 2)):
            operands = unary_samples(rng, *some_shape(rng, 3, 3))
            # The result lies between 0 and 1: 256 steps of 1/256 from the least integer cover it.
            operands[3] = np.asarray(1 / 256, np.float32)
            operands[4] = np.asarray(0 if operands[0].dtype == np.uint8 else -128, operands[0].dtype)
            yield [*operands], {"axis": axis, "opset": opset}


@contrib("QLinearAveragePool")
class QLinearAveragePool:
    """Average pooling of a quantized tensor."""

    inputs = UNARY
    outputs = one("T")
    types = TYPES
    auto_pad = attribute(str, default="NOTSET")
    ceil_mode = attribute(int, default=0)
    channels_last = attribute(int, default=0)
    count_include_pad = attribute(int, default=0)
    kernel_shape = attribute(list[int])
    pads = attribute(list[int], default=None)
    strides = attribute(list[int], default=None)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return pooled_type(op, op.x, op.kernel_shape, is_last=bool(op.channels_last))

    @staticmethod
    def reference(op: Any, *operands: Array) -> Array:
        x = dequantize(*operands[:3])
        x = np.moveaxis(x, -1, 1) if op.channels_last else x
        y = average_pool(op, x)
        y = np.moveaxis(y, 1, -1) if op.channels_last else y
        return quantize(y, operands[3], operands[4], operands[0].dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        x = read(op, b)
        rank = rank_of(op, op.x)
        x = to_channels_first(b, x, rank) if op.channels_last else x
        given = {"ceil_mode": op.ceil_mode, "count_include_pad": op.count_include_pad}
        y = b.AveragePool(x, **pool_attributes(op), **given)
        return write(op, b, to_channels_last(b, y, rank) if op.channels_last else y)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for last, padding, counted in ((0, 0, 0), (1, 0, 0), (0, 1, 1), (0, 1, 0), (1, 1, 0)):
            shape = (2, *(int(each) for each in rng.integers(4, 8, 2)))
            shape = (*shape, 3) if last else (2, 3, *shape[1:])
            strides = [int(each) for each in rng.integers(1, 3, 2)]
            given = {"kernel_shape": [3, 2], "strides": strides, "channels_last": last}
            given |= {"pads": [padding, 0, 0, padding], "count_include_pad": counted}
            yield [*unary_samples(rng, *shape)], given
        yield [*unary_samples(rng, 1, 2, 6, 5)], {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER"}


@contrib("QLinearGlobalAveragePool")
class QLinearGlobalAveragePool:
    """Global average pooling of a quantized tensor: the mean of each channel."""

    inputs = UNARY
    outputs = one("T")
    types = TYPES
    channels_last = attribute(int, default=0)

    @staticmethod
    def infer(op: Any) -> TensorType:
        shape = op.x.shape
        if shape is None:
            return op.x
        ones = [1] * (len(shape) - 2)
        last = (shape[0], *ones, shape[-1])
        return op.x.with_shape(last if op.channels_last else (*shape[:2], *ones))

    @staticmethod
    def reference(op: Any, *operands: Array) -> Array:
        x = dequantize(*operands[:3])
        axes = range(1, x.ndim - 1) if op.channels_last else range(2, x.ndim)
        y = x.mean(tuple(axes), dtype=np.float32, keepdims=True)
        return quantize(y, operands[3], operands[4], operands[0].dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        x = read(op, b)
        if not op.channels_last:
            return write(op, b, b.GlobalAveragePool(x))
        axes = list(range(1, rank_of(op, op.x) - 1))
        return write(op, b, b.ReduceMean(x, axes, keepdims=1))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for last in (0, 1, 0, 1):
            yield [*unary_samples(rng, *some_shape(rng, 4, 4))], {"channels_last": last}


@contrib("QLinearReduceMean")
class QLinearReduceMean:
    """The mean of a quantized tensor along axes."""

    inputs = UNARY
    outputs = one("T")
    types = TYPES
    axes = attribute(list[int], default=None)
    keepdims = attribute(int, default=1)

    @staticmethod
    def infer(op: Any) -> TensorType:
        shape = op.x.shape
        if shape is None:
            return op.x
        axes = {each % len(shape) for each in (range(len(shape)) if op.axes is None else op.axes)}
        if op.keepdims:
            return op.x.with_shape([1 if axis in axes else size for axis, size in enumerate(shape)])
        return op.x.with_shape([size for axis, size in enumerate(shape) if axis not in axes])

    @staticmethod
    def reference(op: Any, *operands: Array) -> Array:
        x = dequantize(*operands[:3])
        axes = None if op.axes is None else tuple(op.axes)
        y = np.asarray(x.mean(axes, dtype=np.float32, keepdims=bool(op.keepdims)))
        return quantize(y, operands[3], operands[4], operands[0].dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return write(op, b, b.ReduceMean(read(op, b), op.axes, keepdims=op.keepdims))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for axes, keep in (([1], 1), ([-1, 0], 0), (None, 1)):
            given: dict[str, Any] = {"keepdims": keep} if axes is None else {"axes": axes, "keepdims": keep}
            yield [*unary_samples(rng, *some_shape(rng, 3, 3))], given


@contrib("QLinearConcat")
class QLinearConcat:
    """Concatenation of quantized tensors, each with its own scale and zero point, along an axis."""

    inputs = (one(FLOAT, name="y_scale"), one("T", name="y_zero"), variadic((*BYTES, FLOAT), name="parts"))
    outputs = one("T")
    types = TYPES
    axis = attribute(int)

    @staticmethod
    def infer(op: Any) -> TensorType:
        shapes = [each.shape for each in op.inputs[2::3]]
        if len(op.inputs) % 3 != 2 or not shapes:
            raise op.fail("operands come in threes: a tensor, its scale and its zero point")
        if any(shape is None for shape in shapes):
            return op.inputs[2]
        axis = op.axis % len(shapes[0])
        sizes = list(shapes[0])
        for shape in shapes[1:]:
            sizes[axis] = sizes[axis] + shape[axis]
        return op.inputs[2].with_shape(sizes)

    @staticmethod
    def reference(op: Any, scale: Array, zero: Array, *parts: Array) -> Array:
        values = [dequantize(*parts[index : index + 3]) for index in range(0, len(parts), 3)]
        return quantize(np.concatenate(values, op.axis), scale, zero, parts[0].dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        parts = [real(b, *op.inputs[index : index + 3]) for index in range(2, len(op.inputs), 3)]
        return integer(b, b.Concat(*parts, axis=op.axis), op.y_scale, op.y_zero, op.inputs[2].dtype)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for dtype in (*BYTES, *BYTES):
            shape, axis = some_shape(rng, 2, 4), int(rng.integers(0, 2))
            _, scale, zero = quantized(rng, (), dtype)
            parts: list[Array | None] = []
            for _ in range(int(rng.integers(1, 4))):
                sizes = [int(rng.integers(1, 5)) if at == axis else each for at, each in enumerate(shape)]
                parts += quantized(rng, sizes, dtype)
            yield [scale, zero, *parts], {"axis": axis}


@contrib("QLinearWhere")
class QLinearWhere:
    """Elementwise selection between two quantized tensors by a condition (Where)."""

    inputs = (
        one(np.bool_, name="condition"),
        one("T", name="x"),
        one(FLOAT, name="x_scale"),
        one("T", name="x_zero"),
        one("T", name="y"),
        one(FLOAT, name="y_scale"),
        one("T", name="y_zero"),
        one(FLOAT, name="z_scale"),
        one("T", name="z_zero"),
    )
    outputs = one("T")
    types = TYPES

    @staticmethod
    def infer(op: Any) -> TensorType:
        return broadcast(op.x, op.y, op.condition)

    @staticmethod
    def reference(op: Any, condition: Array, *operands: Array) -> Array:
        chosen = np.where(condition, dequantize(*operands[:3]), dequantize(*operands[3:6]))
        return quantize(chosen, operands[6], operands[7], operands[0].dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        first, second = real(b, op.x, op.x_scale, op.x_zero), real(b, op.y, op.y_scale, op.y_zero)
        return integer(b, b.Where(op.condition, first, second), op.z_scale, op.z_zero, op.x.dtype)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for dtype in (*BYTES, *BYTES):
            shape = some_shape(rng, 2, 3)
            _, scale, zero = quantized(rng, (), dtype)
            condition = rng.integers(0, 2, shape).astype(np.bool_)
            operands = [*quantized(rng, shape, dtype), *quantized(rng, shape[1:], dtype)]
            yield [condition, *operands, scale, zero], {}


REAL = (np.float32, np.float16)
WORDS = (np.uint8, np.int8, np.uint16, np.int16, ml_dtypes.uint4, ml_dtypes.int4)


@contrib("QuantizeLinear")
class QuantizeLinear:
    """Quantization to 4, 8 or 16 bits, per tensor or per channel along an axis."""

    inputs = (one("T1", name="x"), one("T1", name="scale"), optional("T2", name="zero"))
    outputs = one("T2")
    types = allowed(T1=REAL, T2=WORDS)
    axis = attribute(int, default=None)

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x.with_dtype(np.uint8 if op.zero is None else op.zero.dtype)

    @staticmethod
    def reference(op: Any, x: Array, scale: Array, zero: Array | None) -> Array:
        dtype = np.dtype(np.uint8) if zero is None else zero.dtype
        return quantize(x, scale, zero, dtype, 1 if op.axis is None else op.axis)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        axis = 1 if op.axis is None else op.axis
        return b.QuantizeLinear(op.x, scalar(b, op.scale), scalar(b, op.zero), axis=axis)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for dtype in WORDS:
            zero = np.asarray(rng.integers(0, 8), np.int32).astype(dtype)
            yield [normal(rng, *some_shape(rng, 2, 4)), np.asarray(0.05, np.float32), zero], {}
        x = normal(rng, 3, 4, 2)
        for axis, size in enumerate(x.shape):
            scale = np.asarray(rng.uniform(0.01, 0.1, size), FLOAT)
            yield [x, scale, np.arange(size, dtype=np.int8)], {"axis": axis}
        yield [x, rng.uniform(0.01, 0.1, 4).astype(FLOAT), np.arange(4, dtype=np.int8)], {}
        yield [x, np.asarray(0.05, FLOAT), None], {}


@contrib("DequantizeLinear")
class DequantizeLinear:
    """Dequantization of integers of 4, 8, 16 or 32 bits, per tensor or per channel along an axis."""

    inputs = (one("T1", name="x"), one("T2", name="scale"), optional("T1", name="zero"))
    outputs = one("T2")
    types = allowed(T1=(*WORDS, np.int32), T2=REAL)
    axis = attribute(int, default=None)
    folds = False
    """It marks what is quantized: onnxruntime quantizes weights that are float again, with other scales."""

    @staticmethod
    def infer(op: Any) -> TensorType:
        return op.x.with_dtype(op.scale.dtype)

    @staticmethod
    def reference(op: Any, x: Array, scale: Array, zero: Array | None) -> Array:
        return dequantize(x, scale, zero, axis=1 if op.axis is None else op.axis).astype(scale.dtype)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return real(b, op.x, op.scale, op.zero, 1 if op.axis is None else op.axis)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for dtype in WORDS:
            zero = np.asarray(rng.integers(0, 8), np.int32).astype(dtype)
            x = rng.integers(0, 8, some_shape(rng, 2, 4)).astype(np.int32).astype(dtype)
            yield [x, np.asarray(0.05, np.float32), zero], {}
        x = rng.integers(-128, 128, (3, 4, 2)).astype(np.int8)
        for axis, size in enumerate(x.shape):
            scale = np.asarray(rng.uniform(0.01, 0.1, size), FLOAT)
            yield [x, scale, np.arange(size, dtype=np.int8)], {"axis": axis}
        yield [x, rng.uniform(0.01, 0.1, 4).astype(FLOAT), np.arange(4, dtype=np.int8)], {}
        yield [x.astype(np.int32), np.asarray(0.05, FLOAT), None], {}


@contrib("MulInteger")
class MulInteger:
    """Elementwise product of 8-bit integers with zero points subtracted, in int32."""

    inputs = (
        one("T", name="a"),
        optional("T", name="a_zero"),
        one("T", name="b"),
        optional("T", name="b_zero"),
    )
    outputs = one(np.int32)
    types = TYPES

    @staticmethod
    def infer(op: Any) -> TensorType:
        return broadcast(op.a, op.b).with_dtype(np.int32)

    @staticmethod
    def reference(op: Any, a: Array, a_zero: Array | None, b: Array, b_zero: Array | None) -> Array:
        first = a.astype(np.int32) - (0 if a_zero is None else a_zero.astype(np.int32))
        second = b.astype(np.int32) - (0 if b_zero is None else b_zero.astype(np.int32))
        return np.asarray(first * second, np.int32)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        sides: list[Value] = []
        for value, zero in ((op.a, op.a_zero), (op.b, op.b_zero)):
            side = b.Cast(value, to=np.int32)
            sides.append(side if zero is None else b.Sub(side, b.Cast(scalar(b, zero), to=np.int32)))
        return b.Mul(*sides)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for dtype in BYTES:
            shape = some_shape(rng, 2, 3)
            (a, _, a_zero), (b, _, b_zero) = quantized(rng, shape, dtype), quantized(rng, shape[1:], dtype)
            yield [a, a_zero, b, b_zero], {}
            yield [a, None, b, b_zero], {}
