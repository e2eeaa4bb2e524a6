"""
Operators of the domain qonnx.custom_op.general: quantization to any number of bits, as Brevitas exports it.

Values stay floats: each operator divides by the scale, adds the zero point, clamps, rounds, and goes back. Up
to 8 bits with a constant scale and no zero point this is QuantizeLinear, Clip and DequantizeLinear, which
integer kernels and NVDLA take. A zero point is added before rounding here, which rounds ties in another way
than ONNX does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from xonnc.plugin import Builder, Plugin, TensorType, Value, attribute, broadcast, one, operator

plugin = Plugin("qonnx", version="1.0")

DOMAIN = "qonnx.custom_op.general"

Array: TypeAlias = npt.NDArray[Any]
Samples: TypeAlias = Iterator[tuple[list[Array | None], dict[str, Any]]]

TYPES: Mapping[str, Sequence[type[np.generic]]] = {"T": (np.float32,)}

ROUNDED: Mapping[str, Callable[[Array], Array]] = {
    "ROUND": np.rint,
    "HALF_EVEN": np.rint,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
    "UP": lambda x: np.sign(x) * np.ceil(np.abs(x)),
    "DOWN": np.trunc,
    "HALF_UP": lambda x: np.sign(x) * np.floor(np.abs(x) + np.float32(0.5)),
    "HALF_DOWN": lambda x: np.sign(x) * np.ceil(np.abs(x) - np.float32(0.5)),
}
"""Rounding by the upper-case name of its mode."""


def single(number: float) -> Array:
    """A number as an operand."""
    return np.array(number, np.float32)


def away_from_zero(b: Builder, x: Value, rounded: Callable[[Value], Value]) -> Value:
    """Round the absolute value."""
    return b.Mul(b.Sign(x), rounded(b.Abs(x)))


BUILT: Mapping[str, Callable[[Builder, Value], Value]] = {
    "ROUND": lambda b, x: b.Round(x),
    "HALF_EVEN": lambda b, x: b.Round(x),
    "CEIL": lambda b, x: b.Ceil(x),
    "FLOOR": lambda b, x: b.Floor(x),
    "UP": lambda b, x: away_from_zero(b, x, b.Ceil),
    "DOWN": lambda b, x: away_from_zero(b, x, b.Floor),
    "HALF_UP": lambda b, x: away_from_zero(b, x, lambda size: b.Floor(b.Add(size, 0.5))),
    "HALF_DOWN": lambda b, x: away_from_zero(b, x, lambda size: b.Ceil(b.Sub(size, 0.5))),
}
"""The same, built of ONNX operators."""


def rounding(op: Any) -> str:
    """Return the rounding mode in upper case; raise `XonncError` if there is none of this name."""
    mode = str(op.rounding_mode).upper()
    if mode not in ROUNDED:
        raise op.fail(f"rounding_mode is {op.rounding_mode}; there are {', '.join(ROUNDED)}")
    return mode


def known(op: Any, index: int, name: str) -> Array:
    """Return a constant operand; raise `XonncError` if it is computed."""
    found = op.constant(index)
    if found is None:
        raise op.fail(f"{name} is computed; it has to be constant")
    return np.asarray(found, np.float64)


def limits(bits: Array, signed: bool, narrow: bool) -> tuple[Array, Array]:
    """Return the least and the largest integer of a number of bits; `narrow` leaves one out."""
    bits = bits.astype(np.float64)
    if signed:
        half = 2 ** (bits - 1)
        return (narrow - half).astype(np.float32), (half - 1).astype(np.float32)
    return np.zeros_like(bits, np.float32), (2**bits - 1 - narrow).astype(np.float32)


def is_bipolar(bits: Array, signed: bool) -> bool:
    """Whether there are two values, -1 and 1."""
    return signed and bool(np.all(bits == 1))


def quantized_axis(shape: Sequence[Any] | None, scale: Array) -> int | None:
    """Return the axis along which the scale differs, 0 if along none; `None` if no axis fits."""
    if shape is None or scale.ndim > len(shape):
        return None
    axes = [axis for axis, size in enumerate(scale.shape, len(shape) - scale.ndim) if size != 1]
    if not axes:
        return 0
    return axes[0] if len(axes) == 1 and shape[axes[0]] == scale.size else None


def as_integers(op: Any, b: Builder, low: Array, high: Array, mode: str) -> Value | None:
    """Build QuantizeLinear, Clip and DequantizeLinear of bytes; `None` where they give something else."""
    scale, zero = op.constant(1), op.constant(2)
    if scale is None or zero is None or np.any(zero != 0) or not np.all(np.isfinite(scale) & (scale > 0)):
        return None
    dtype = np.uint8 if np.all(low == 0) else np.int8
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    axis = quantized_axis(op.x.shape, scale)
    if mode not in ("ROUND", "HALF_EVEN") or low.size != 1 or low.min() < least or high.max() > most:
        return None
    if axis is None or zero.size != 1 or zero.ndim > len(op.x.shape):
        return None
    sizes = [] if scale.size == 1 else [scale.size]
    scales, zeros = scale.reshape(sizes), np.zeros(sizes, dtype)
    y = b.QuantizeLinear(op.x, scales, zeros, axis=axis)
    if low.min() > least or high.max() < most:
        y = b.Clip(y, low.astype(dtype).reshape(()), high.astype(dtype).reshape(()))
    return b.DequantizeLinear(y, scales, zeros, axis=axis)


@operator(plugin, domain=DOMAIN, name="Quant")
@operator(plugin, domain=DOMAIN, name="IntQuant")
class Quant:
    """Quantization to a number of bits, and back to floats."""

    inputs = (
        one("T", name="x"),
        one("T", name="scale"),
        one("T", name="zero"),
        one("T", name="bits"),
    )
    outputs = one("T")
    signed = attribute(int, default=1)
    narrow = attribute(int, default=0)
    rounding_mode = attribute(str, default="ROUND")
    types = TYPES
    folds = False
    """Constant weights stay bytes."""

    @staticmethod
    def infer(op: Any) -> TensorType:
        return broadcast(op.x, op.scale, op.zero)

    @staticmethod
    def reference(op: Any, x: Array, scale: Array, zero: Array, bits: Array) -> Array:
        y = x / scale + zero
        if is_bipolar(bits, bool(op.signed)):
            y = np.where(y >= 0, np.float32(1), np.float32(-1))
        else:
            low, high = limits(bits, bool(op.signed), bool(op.narrow))
            y = ROUNDED[rounding(op)](np.maximum(np.minimum(y, high), low))
        return ((y - zero) * scale).astype(np.float32)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        bits, mode = known(op, 3, "the number of bits"), rounding(op)
        low, high = limits(bits, bool(op.signed), bool(op.narrow))
        if is_bipolar(bits, bool(op.signed)):
            y = b.Where(
                b.GreaterOrEqual(b.Add(b.Div(op.x, op.scale), op.zero), 0.0), np.float32(1), np.float32(-1)
            )
        elif (integers := as_integers(op, b, low, high, mode)) is not None:
            return integers
        else:
            y = b.Add(b.Div(op.x, op.scale), op.zero)
            y = BUILT[mode](b, b.Max(b.Min(y, high), low))
        return b.Mul(b.Sub(y, op.zero), op.scale)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for mode in (*ROUNDED, "ROUND", "ROUND", "ROUND"):
            x = rng.normal(size=(2, 3, 4)).astype(np.float32)
            scale = rng.uniform(0.01, 0.3, (int(rng.choice([1, 3])), 1)).astype(np.float32)
            zero, bits = single(float(rng.choice([0, 0, 3]))), single(float(rng.choice([1, 2, 4, 8, 12])))
            attributes = {
                "signed": int(rng.integers(2)),
                "narrow": int(rng.integers(2)),
                "rounding_mode": mode,
            }
            yield [x, scale, zero, bits], attributes


@operator(plugin, domain=DOMAIN, name="BipolarQuant")
class BipolarQuant:
    """The scale where elements are 0 or more, the negative scale elsewhere."""

    inputs = (one("T", name="x"), one("T", name="scale"))
    outputs = one("T")
    types = TYPES

    @staticmethod
    def infer(op: Any) -> TensorType:
        return broadcast(op.x, op.scale)

    @staticmethod
    def reference(op: Any, x: Array, scale: Array) -> Array:
        return np.where(x >= 0, scale, -scale)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        return b.Where(b.GreaterOrEqual(op.x, 0.0), op.scale, b.Neg(op.scale))

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        yield [rng.normal(size=(2, 3)).astype(np.float32), rng.uniform(0.1, 1, 3).astype(np.float32)], {}


@operator(plugin, domain=DOMAIN, name="Trunc", since=1)
class TruncToBits:
    """Removal of the lowest bits of integers that are scaled; the scale stays."""

    inputs = (
        one("T", name="x"),
        one("T", name="scale"),
        one("T", name="zero"),
        one("T", name="bits"),
        one("T", name="bits_left"),
    )
    outputs = one("T")
    rounding_mode = attribute(str, default="FLOOR")
    types = TYPES

    @staticmethod
    def infer(op: Any) -> TensorType:
        return broadcast(op.x, op.scale, op.zero)

    @staticmethod
    def reference(op: Any, x: Array, scale: Array, zero: Array, bits: Array, bits_left: Array) -> Array:
        y = np.rint(x / scale + zero) / np.float32(2.0) ** (bits - bits_left)
        return ((ROUNDED[rounding(op)](y) - zero) * scale).astype(np.float32)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        removed = 2.0 ** (known(op, 3, "the number of bits") - known(op, 4, "the number of bits left"))
        y = b.Div(b.Round(b.Add(b.Div(op.x, op.scale), op.zero)), removed.astype(np.float32))
        return b.Mul(b.Sub(BUILT[rounding(op)](b, y), op.zero), op.scale)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for mode in ("FLOOR", "ROUND"):
            x = rng.normal(size=(2, 3)).astype(np.float32)
            yield [x, single(0.01), single(2), single(8), single(5)], {"rounding_mode": mode}


@operator(plugin, domain=DOMAIN, name="Trunc", since=2)
class TruncToScale:
    """Requantization of integers that are scaled to a scale that is larger by a power of two."""

    inputs = (
        one("T", name="x"),
        one("T", name="scale"),
        one("T", name="zero"),
        one("T", name="bits"),
        one("T", name="new_scale"),
        one("T", name="new_bits"),
    )
    outputs = one("T")
    signed = attribute(int, default=1)
    narrow = attribute(int, default=0)
    rounding_mode = attribute(str, default="FLOOR")
    types = TYPES

    @staticmethod
    def infer(op: Any) -> TensorType:
        return broadcast(op.x, op.scale, op.zero, op.new_scale)

    @staticmethod
    def reference(
        op: Any, x: Array, scale: Array, zero: Array, bits: Array, new_scale: Array, new_bits: Array
    ) -> Array:
        factor = np.float32(2.0) ** np.rint(np.log2(new_scale / scale))
        low, high = limits(new_bits, bool(op.signed), bool(op.narrow))
        y = np.rint(x / scale + zero) / factor
        y = ROUNDED[rounding(op)](np.maximum(np.minimum(y, high), low))
        return ((y - zero / factor) * new_scale).astype(np.float32)

    @staticmethod
    def decompose(op: Any, b: Builder) -> Value:
        scales = known(op, 4, "the new scale") / known(op, 1, "the scale")
        factor = (2.0 ** np.rint(np.log2(scales))).astype(np.float32)
        low, high = limits(known(op, 5, "the new number of bits"), bool(op.signed), bool(op.narrow))
        y = b.Div(b.Round(b.Add(b.Div(op.x, op.scale), op.zero)), factor)
        y = BUILT[rounding(op)](b, b.Max(b.Min(y, high), low))
        return b.Mul(b.Sub(y, b.Div(op.zero, factor)), op.new_scale)

    @staticmethod
    def samples(rng: np.random.Generator) -> Samples:
        for mode, signed in (("FLOOR", 1), ("ROUND", 0)):
            x = rng.normal(size=(2, 3)).astype(np.float32)
            operands: list[Array | None] = [x, single(0.01), single(4), single(8), single(0.04), single(6)]
            yield operands, {"rounding_mode": mode, "signed": signed}
