"""Generators of graphs for the recompositions."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import f32

from xonnc.dialects.onnx.types import element_type_of, unranked
from xonnc.fuzzing.rules.comparison import Closeness
from xonnc.fuzzing.rules.draws import Draw, Generator, Shape
from xonnc.fuzzing.rules.instances import Example, ints
from xonnc.fuzzing.rules.values import Kind
from xonnc.rewriting.onnx import (
    Add,
    Concat,
    Conv,
    DequantizeLinear,
    Div,
    Erf,
    MatMul,
    Mul,
    Pow,
    QuantizeLinear,
    Reciprocal,
    ReduceMean,
    ReduceMeanV13,
    Relu,
    Softmax,
    Sqrt,
    Sub,
    Tanh,
    Transpose,
)
from xonnc.rewriting.patterns import Array, Node, Pattern, absent, const, value

Commutative = Callable[[Pattern, Pattern], Node]

NUMBERS = {
    "half": 0.5,
    "one": 1.0,
    "two": 2.0,
    "three": 3.0,
    "root": sqrt(2),
    "inverse_root": sqrt(0.5),
    "small": 0.044715,
    "factor": sqrt(2 / pi),
    "minus_half": -0.5,
}
"""Constants of the formulas."""


def swapped(draw: Draw, template: Callable[..., Node]) -> Commutative:
    """Return a commutative operator with its operands in random order."""
    return lambda a, b: template(b, a) if draw.flag() else template(a, b)


def numbers(draw: Draw, rank: int) -> dict[str, Array]:
    """Return the constants as scalars, or as tensors of one element."""
    shape = (1,) * (draw.flag() if rank else 0)
    return {name: np.full(shape, number) for name, number in NUMBERS.items()}


def halved(draw: Draw, x: Pattern, bracket: Node) -> Node:
    """Return ½ x (…) with the factors in any order."""
    mul = swapped(draw, Mul)
    first, second, third = draw.pick(
        (const.half, x, bracket), (x, bracket, const.half), (bracket, const.half, x)
    )
    return mul(mul(first, second), third)


def erf_argument(draw: Draw, x: Pattern, every: bool) -> Node:
    """Return x / √2, or x times the inverse root."""
    if every and draw.flag():
        return swapped(draw, Mul)(x, const.inverse_root)
    return Div(x, const.root)


def tanh_argument(draw: Draw, x: Pattern, every: bool) -> Node:
    """Return √(2/π) (x + 0.044715 x³), in one of its equivalent forms."""
    mul, add = swapped(draw, Mul), swapped(draw, Add)
    variant = draw.number_in(0, 4) if every else 0
    if variant == 1:
        return mul(const.factor, add(x, mul(const.small, mul(Mul(x, x), x))))
    if variant == 2:
        return mul(mul(const.factor, x), add(const.one, mul(const.small, Pow(x, const.two))))
    if variant == 3:
        return mul(mul(x, add(const.one, mul(Mul(x, x), const.small))), const.factor)
    if variant == 4:
        return mul(x, mul(add(const.one, mul(Mul(x, x), const.small)), const.factor))
    return mul(const.factor, add(x, mul(const.small, Pow(x, const.three))))


def gelu(every: bool) -> Generator:
    """A Gelu, by erf or by tanh."""

    def make(draw: Draw) -> Example:
        shape = draw.shape()
        x = value.x
        curve = Erf(erf_argument(draw, x, every)) if draw.flag() else Tanh(tanh_argument(draw, x, every))
        bracket = swapped(draw, Add)(const.one, curve)
        return Example({"x": shape, **numbers(draw, len(shape))}, pattern=halved(draw, x, bracket))

    return make


def mean(draw: Draw, data: Pattern, axis: int, rank: int, is_new: bool) -> Node:
    """Return the mean over all axes from `axis` on, by ReduceMean of opset 18 or 13."""
    axes = [each - rank if draw.flag() else each for each in range(axis, rank)]
    if is_new:
        return ReduceMean(data, const.axes, keepdims=1)
    return ReduceMeanV13(data, axes=axes, keepdims=1)


def normalization(centered: bool | None, every: bool) -> Generator:
    """Layer normalization, or RMS normalization without subtraction of the mean."""

    def make(draw: Draw) -> Example:
        shape = draw.shape(1, empty=False)
        rank = len(shape)
        axis = draw.number_in(0, rank - 1)
        subtracts = bool(draw.flag()) if centered is None else centered
        x, is_new = value.x, every and bool(draw.flag())
        center = Sub(x, mean(draw, x, axis, rank, is_new)).named("center") if subtracts else x
        square = Pow(center, const.two) if every and draw.flag() else Mul(center, center)
        total = swapped(draw, Add)(mean(draw, square, axis, rank, is_new), const.epsilon)
        scaled = swapped(draw, Mul)(quotient(draw, center, total, every), value.scale)
        scale = shape[axis:] if every else draw.narrower(shape)
        given = {
            "x": shape,
            "scale": scale,
            "epsilon": np.full((1,) * draw.flag(), draw.pick(1e-5, 1e-3, 0.5)),
            "axes": ints(*range(axis, rank)),
        }
        return Example({**numbers(draw, rank), **given}, pattern=scaled)

    return make


def quotient(draw: Draw, d: Pattern, total: Node, every: bool) -> Node:
    """d / √v"""
    mul = swapped(draw, Mul)
    variant = draw.number_in(0, 3 if every else 2)
    if variant == 1:
        return mul(d, Reciprocal(Sqrt(total)))
    if variant == 2:
        return mul(d, Div(const.one, Sqrt(total)))
    if variant == 3:
        return mul(d, Pow(total, const.minus_half))
    return Div(d, Sqrt(total))


def attention(draw: Draw) -> Example:
    """Attention: keys transposed in one of several ways, with or without scale and mask."""
    batch, heads, rows, columns, size, width = (draw.number_in(1, 3) for _ in range(6))
    q, transposes = value.q, draw.number_in(0, 2)
    keys, k = (
        (Transpose(value.k, perm=[0, 1, 3, 2]), (batch, heads, columns, size)),
        (Transpose(value.k, perm=[0, 2, 3, 1]), (batch, columns, heads, size)),
        (value.k, (batch, heads, size, columns)),
    )[transposes]
    scores: Node = MatMul(q, keys)
    variant = draw.number_in(0, 2)
    if variant:
        scores = swapped(draw, Mul)(scores, const.number) if variant == 1 else Div(scores, const.number)
    mask: Shape = (batch, heads, rows, columns)[draw.number_in(0, 2) :]
    if draw.flag():
        scores = swapped(draw, Add)(scores, value.mask)
    given = {
        "q": (batch, heads, rows, size),
        "k": k,
        "v": (batch, heads, columns, width),
        "number": np.array(draw.pick(0.5, 0.125, 2.0)),
        "mask": tuple(
            draw.pick(each, 1) if index < len(mask) - 1 else each for index, each in enumerate(mask)
        ),
    }
    return Example(given, pattern=MatMul(Softmax(scores, axis=draw.pick(-1, 3)), value.v))


def quantized_product(draw: Draw) -> Example:
    """An int8 product whose result is never halfway between two integers, where rounding modes differ."""
    rows, inner, columns = (draw.number_in(1, 4) for _ in range(3))
    kind = element_type_of(draw.dtype)
    real = unranked(f32)
    a = DequantizeLinear(value.a, value.a_scale, value.a_zero).typed(real)
    b = DequantizeLinear(value.b, value.b_scale, value.b_zero).typed(real)
    shape = (1,) * draw.flag()
    scales = {name: np.full(shape, draw.pick(0.25, 0.5, 1.0), np.float32) for name in ("a_scale", "b_scale")}
    return Example(
        {
            "a": (rows, inner),
            "b": (inner, columns),
            "a_zero": np.full(shape, draw.number_in(0, 3)),
            "b_zero": np.full(shape, draw.number_in(0, 3)),
            "y_zero": np.full(shape, draw.pick(0, 2, 4)),
            "y_scale": np.full(shape, draw.pick(0.5, 1.0, 4.0), np.float32),
            **scales,
        },
        pattern=QuantizeLinear(MatMul(a, b).typed(real), value.y_scale, value.y_zero),
        types=[unranked(kind)],
        own=("a_scale", "b_scale", "y_scale"),
    )


def convolutions(draw: Draw) -> Example:
    """Convolutions of one image, concatenated or used separately."""
    channels, filters, count = draw.number_in(1, 3), draw.number_in(1, 3), draw.number_in(2, 3)
    kernel = [draw.number_in(1, 2), draw.number_in(1, 2)]
    strides, pads = draw.pick(([1, 1], [0, 0, 0, 0]), ([2, 1], [0, 1, 1, 0]))
    has_bias = draw.flag()
    parts = [
        Conv(
            value.x,
            getattr(value, f"w{index}"),
            getattr(value, f"b{index}") if has_bias else absent,
            kernel_shape=kernel,
            group=1,
            auto_pad="NOTSET",
            strides=strides,
            pads=pads,
        )
        for index in range(count)
    ]
    if draw.flag():
        parts[0] = Relu(parts[0])
    given: dict[str, Shape] = {"x": (draw.number_in(1, 2), channels, 4, 5)}
    for index in range(count):
        given |= {f"w{index}": (filters, channels, *kernel), f"b{index}": (filters,)}
    return Example(given, pattern=Concat(*parts, axis=1), specials=False)


GENERATORS: dict[str, Generator] = {
    "RecomposeGeluFromMulPattern": gelu(False),
    "RecomposeLayerNormFromMulPattern": normalization(None, False),
    "RecomposeQLinearMatMulFromQuantizeLinearPattern": quantized_product,
    "CombineParallelConv2DPattern": convolutions,
    "RecomposeGelu": gelu(True),
    "RecomposeLayerNormalization": normalization(True, True),
    "RecomposeRMSNormalization": normalization(False, True),
    "RecomposeAttention": attention,
}

NORMALIZATIONS = (
    "RecomposeLayerNormFromMulPattern",
    "RecomposeLayerNormalization",
    "RecomposeRMSNormalization",
)

CLOSENESS: dict[str, Closeness] = {
    # Each op of the original rounds; narrow floats lose more precision in the square of a difference.
    **dict.fromkeys(NORMALIZATIONS, Closeness(steps=84, narrow=32)),
    # Constants of the formula rounded to float32 are replaced by their exact values.
    **dict.fromkeys(
        ("RecomposeGeluFromMulPattern", "RecomposeGelu"), Closeness(steps=84, narrow=8, single=True)
    ),
}

FINITE: dict[str, str] = {
    **dict.fromkeys(
        ("RecomposeGeluFromMulPattern", "RecomposeGelu"),
        "0 times infinity is NaN in the formula, 0 in the op",
    ),
    **dict.fromkeys(NORMALIZATIONS, "the mean of numbers that are not finite is NaN or infinite"),
    "RecomposeAttention": "infinite scores are NaN in the formula, and rows without weight are 0 in the op",
    "RecomposeQLinearMatMulFromQuantizeLinearPattern": "sums of the largest numbers are clipped either way",
}

HALF_OR_SINGLE: tuple[Kind, ...] = (np.float32, np.float16, ml_dtypes.bfloat16)

KINDS: dict[str, tuple[Kind, ...]] = {
    **dict.fromkeys(("RecomposeGeluFromMulPattern", "RecomposeGelu"), (*HALF_OR_SINGLE, np.float64)),
    **dict.fromkeys(NORMALIZATIONS, HALF_OR_SINGLE),
    "RecomposeAttention": HALF_OR_SINGLE,
    "RecomposeQLinearMatMulFromQuantizeLinearPattern": (np.int8, np.uint8),
    "CombineParallelConv2DPattern": (np.float32,),
}
