"""Generators of instances of rules about QuantizeLinear and DequantizeLinear of constants."""

from __future__ import annotations

import numpy as np

from xonnc.dialects.onnx.types import element_type_of, unranked
from xonnc.fuzzing.rules.draws import Draw, Generator
from xonnc.fuzzing.rules.instances import Example
from xonnc.fuzzing.rules.values import Kind
from xonnc.rewriting.patterns import Array

KINDS: dict[str, tuple[Kind, ...]] = {
    "FuseProductDequantizeLinear": (np.float32,),
    "QuantizeLinearofConst": (np.float32, np.float16),
}


def parameters(draw: Draw, count: int | None, integer: type[np.integer]) -> tuple[Array, Array | None]:
    """Scales that all float types represent, and zero points or none: one of each, or `count`."""
    shape = () if count is None else (count,)
    limits = np.iinfo(integer)
    scale = 2.0 ** draw.random.integers(-3, 2, shape) * draw.random.integers(1, 8, shape)
    zero = draw.random.integers(limits.min // 2, limits.max // 2 + 1, shape)
    return np.asarray(scale), draw.pick(None, np.asarray(zero, integer))


def quantized(draw: Draw) -> Example:
    """With ties, which are rounded to even, and numbers that saturate; per tensor, or along an axis."""
    shape = draw.shape(1)
    axis = draw.axis(len(shape))
    integer = draw.pick(np.int8, np.uint8, np.int16, np.uint16)
    scale, zero = parameters(draw, draw.pick(None, shape[axis]), integer)
    x = np.asarray(np.rint(draw.reals(-600, 600, shape)) / 4)
    return Example(
        {"x": x, "scale": scale, "zero": zero if zero is not None else np.zeros(scale.shape, integer)},
        properties={"QuantizeLinear": {"axis": axis}},
        own=("zero",),
        types=[unranked(element_type_of(np.dtype(integer)))],
    )


def scaled(draw: Draw) -> Example:
    """Factors of either sign for each index of the axis of the scales, for all, or along another axis."""
    shape = draw.shape(1)
    axis = draw.axis(len(shape))
    integer = draw.pick(np.int8, np.uint8, np.int16, np.uint16)
    scale, zero = parameters(draw, draw.pick(None, shape[axis]), integer)
    limits = np.iinfo(integer)
    x = np.asarray(draw.random.integers(limits.min // 4, limits.max // 4, shape), integer)
    along = [shape[axis] if index == axis % len(shape) else 1 for index in range(len(shape))]
    c = np.asarray(2.0 ** draw.random.integers(-2, 3, draw.pick((), (1,), tuple(along))))
    return Example(
        {"x": x, "scale": scale, "zero": zero, "c": np.asarray(c * draw.pick(1, 1, -1))},
        properties={"DequantizeLinear": {"axis": axis}},
        own=("x", "zero"),
    )


GENERATORS: dict[str, Generator] = {
    "FuseProductDequantizeLinear": scaled,
    "QuantizeLinearofConst": quantized,
}
