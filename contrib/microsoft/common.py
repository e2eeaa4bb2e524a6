"""Shared helpers of the com.microsoft operators: element types, quantization in NumPy and in ONNX ops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import ml_dtypes
import numpy as np
import numpy.typing as npt

from xonnc.plugin import Builder, Plugin, Value, operator

plugin = Plugin("microsoft", version="1.0")

Array: TypeAlias = npt.NDArray[Any]
Sample: TypeAlias = tuple[list[Array | None], dict[str, Any]]
"""The operands and attributes of a node to test an operator with."""
Samples: TypeAlias = Iterator[Sample]
ClassT = TypeVar("ClassT", bound=type)

FLOATS: Sequence[type[np.generic]] = (np.float32, np.float16, np.float64, ml_dtypes.bfloat16)
BYTES: Sequence[type[np.generic]] = (np.uint8, np.int8)


def contrib(name: str) -> Callable[[ClassT], ClassT]:
    """Declare a class as an operator of com.microsoft."""
    return operator(plugin, domain="com.microsoft", name=name)


def allowed(**variables: Sequence[type[np.generic]]) -> Mapping[str, Sequence[type[np.generic]]]:
    """Declare the element types of type variables."""
    return variables


def wide(x: Array) -> Array:
    """Cast to the precision in which references compute: float32, or float64 for float64."""
    return x if x.dtype == np.float64 else x.astype(np.float32)


def dequantize(x: Array, scale: Array, zero: Array | None = None, *, axis: int | None = None) -> Array:
    """Dequantize integers, per tensor or per channel along `axis`, in float32."""
    scale = scale.reshape(()) if scale.size == 1 else along(scale, axis, x.ndim)
    offset = np.zeros((), np.int32) if zero is None else zero.astype(np.int32)
    offset = offset.reshape(()) if offset.size == 1 else along(offset, axis, x.ndim)
    return ((x.astype(np.int32) - offset).astype(np.float32) * scale.astype(np.float32)).astype(np.float32)


def quantize(x: Array, scale: Array, zero: Array | None, dtype: Any, axis: int | None = None) -> Array:
    """Quantize to integers of `dtype`, rounding half to even and saturating, per tensor or along `axis`."""
    scale = scale.reshape(()) if scale.size == 1 else along(scale, axis, x.ndim)
    offset = np.zeros((), np.int32) if zero is None else zero.astype(np.int32)
    offset = offset.reshape(()) if offset.size == 1 else along(offset, axis, x.ndim)
    info = ml_dtypes.iinfo(dtype)
    rounded = np.rint(x.astype(np.float32) / scale.astype(np.float32)) + offset
    return np.clip(rounded, int(info.min), int(info.max)).astype(np.int32).astype(dtype)


def along(values: Array, axis: int | None, rank: int) -> Array:
    """Reshape a vector so that it broadcasts along `axis` of a tensor of rank `rank`."""
    if axis is None or values.ndim != 1:
        return values
    return values.reshape([-1 if each == axis % rank else 1 for each in range(rank)])


def float_of(b: Builder, x: Value) -> Value:
    """Cast to float32."""
    return x if x.dtype == np.float32 else b.Cast(x, to=np.float32)


def scalar(b: Builder, value: Value | None) -> Value | None:
    """Reshape a scale or zero point of shape [1] to rank 0, so that ONNX takes it as per-tensor."""
    return b.Reshape(value, []) if value is not None and value.shape == (1,) else value


def real(b: Builder, x: Value, scale: Value, zero: Value | None, axis: int = 1) -> Value:
    """Build a DequantizeLinear; `axis` is that of per-channel scales."""
    return b.DequantizeLinear(x, scalar(b, scale), scalar(b, zero), axis=axis)


def integer(b: Builder, x: Value, scale: Value, zero: Value | None, dtype: Any) -> Value:
    """Build a QuantizeLinear to integers of `dtype`."""
    return b.QuantizeLinear(x, scalar(b, scale), zero_or(b, zero, dtype))


def zero_or(b: Builder, zero: Value | None, dtype: Any) -> Value:
    """Return the zero point, or a constant zero of `dtype` if it is absent."""
    found = scalar(b, zero)
    return b.constant(np.zeros((), dtype)) if found is None else found


def sized(b: Builder, x: Value, axis: int) -> Value | list[int]:
    """Return the size of an axis as a list of one integer, or as a 1-D tensor if it is dynamic."""
    size = None if x.shape is None else x.shape[axis]
    if isinstance(size, int):
        return [size]
    end = axis + 1
    return b.Shape(x, start=axis, end=end) if end else b.Shape(x, start=axis)


def shaped(b: Builder, *sizes: Any) -> Any:
    """Build the shape operand of Reshape or Expand from integers and results of `sized`."""
    if all(isinstance(each, int | list) for each in sizes):
        return [each if isinstance(each, int) else each[0] for each in sizes]
    parts = [np.array([each], np.int64) if isinstance(each, int) else each for each in sizes]
    parts = [np.array(each, np.int64) if isinstance(each, list) else each for each in parts]
    return b.Concat(*parts, axis=0)


def rank_of(op: Any, value: Any) -> int:
    """Return the rank of an operand; raise `XonncError` if it is unknown."""
    if value.shape is None:
        raise op.fail("the rank of an operand is not known")
    return len(value.shape)


def range_of(b: Builder, end: Value) -> Value:
    """Build a Range from 0 to `end`, a tensor of shape [1]."""
    return b.Range(np.int64(0), b.Squeeze(end, [0]), np.int64(1))


def normal(rng: np.random.Generator, *shape: int, dtype: Any = np.float32) -> Array:
    """Return samples of the standard normal distribution."""
    return rng.normal(size=shape).astype(dtype)


def some_shape(rng: np.random.Generator, least: int = 1, most: int = 4, size: int = 6) -> tuple[int, ...]:
    """Return a random shape of `least` to `most` axes, each of 1 to `size` - 1 elements."""
    return tuple(int(each) for each in rng.integers(1, size, rng.integers(least, most + 1)))


def quantized(rng: np.random.Generator, shape: Sequence[int], dtype: Any) -> tuple[Array, Array, Array]:
    """Return random 8-bit integers with a random scale and zero point."""
    info = np.iinfo(dtype)
    x = rng.integers(info.min, int(info.max) + 1, tuple(shape)).astype(dtype)
    zero = np.asarray(rng.integers(info.min, int(info.max) + 1), dtype)
    return x, np.asarray(rng.uniform(0.005, 0.1), np.float32), zero


def erf(x: Array) -> Array:
    """The error function."""
    from math import erf as exact

    return np.vectorize(exact, otypes=[x.dtype])(x)


def sigmoid(x: Array) -> Array:
    """The logistic function."""
    return np.asarray(1 / (1 + np.exp(-x)))


def softmax(x: Array, axis: int = -1) -> Array:
    """Softmax along an axis."""
    shifted = np.exp(x - np.max(x, axis, keepdims=True))
    return np.asarray(shifted / np.sum(shifted, axis, keepdims=True))
