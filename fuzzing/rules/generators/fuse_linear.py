"""Generators of instances of the fusions of factors and offsets into weights."""

from __future__ import annotations

from math import prod

import numpy as np

from xonnc.fuzzing.rules.draws import Draw, Generator, Shape
from xonnc.fuzzing.rules.generators.canonicalize_layer import Said, channels, convolution, statistics
from xonnc.fuzzing.rules.instances import Example, Given, ints
from xonnc.fuzzing.rules.values import Kind
from xonnc.rewriting.onnx import Add, BatchNormalizationInferenceMode, MatMul, Reshape
from xonnc.rewriting.patterns import Array, const, value

REALS: tuple[Kind, ...] = (np.float32, np.float64, np.float16)

EPSILON = {"epsilon": 1e-3}


def given_shape(values: dict[str, Given], name: str) -> Shape:
    """The shape of a random operand."""
    shape = values[name]
    assert isinstance(shape, tuple)
    return shape


def transposed_convolution(draw: Draw) -> tuple[dict[str, Given], Said]:
    """A convolution whose weights have their axes the other way round; without what onnxruntime refuses."""
    values, properties = convolution(draw)
    inputs, outputs, *kernel = given_shape(values, "w")
    group = properties["group"]
    assert isinstance(group, int)
    count = outputs * group
    shape = (1, inputs, *given_shape(values, "x")[2:])
    values |= {"x": shape, "w": (inputs, outputs, *kernel), "b": (count,) if values["b"] else None}
    return values, {name: properties[name] for name in ("group", "strides")}


def outputs_of(values: dict[str, Given], properties: Said) -> int:
    """How many channels a transposed convolution makes."""
    group = properties["group"]
    assert isinstance(group, int)
    return given_shape(values, "w")[1] * group


def by_channel(draw: Draw, count: int, axes: int) -> Array:
    """Numbers for each channel, or one for all."""
    ones = (1,) * (axes - 2)
    shape = draw.pick((count, *ones), (1, count, *ones), (), (1,), (count, *ones))
    return factors(draw, shape)


def factors(draw: Draw, shape: Shape) -> Array:
    """Numbers that are not near 0: they divide too."""
    return np.asarray(draw.reals(0.5, 2, shape) * draw.pick(-1.0, 1.0))


def normalised(old: bool) -> Generator:
    """A transposed convolution and its normalisation."""

    def make(draw: Draw) -> Example:
        values, properties = transposed_convolution(draw)
        name = "ConvTransposeV1" if old else "ConvTranspose"
        learnt = statistics(draw, outputs_of(values, properties))
        return Example({**values, **learnt}, EPSILON, {name: properties}, opset=10 if old else 14)

    return make


def convolved(old: bool) -> Generator:
    """A transposed convolution and a number for each channel."""

    def make(draw: Draw) -> Example:
        values, properties = transposed_convolution(draw)
        c = by_channel(draw, outputs_of(values, properties), len(given_shape(values, "x")))
        name = "ConvTransposeV1" if old else "ConvTranspose"
        return Example({**values, "c": c}, properties={name: properties}, opset=10 if old else 14)

    return make


def divided_convolution(draw: Draw) -> Example:
    """A convolution and a divisor for each channel."""
    values, properties = convolution(draw)
    c = by_channel(draw, channels(values), len(given_shape(values, "x")))
    return Example({**values, "c": c}, properties={"Conv": properties})


def read_convolution(draw: Draw) -> Example:
    """A number for each channel that a convolution reads."""
    values, properties = convolution(draw)
    shape = given_shape(values, "x")
    return Example({**values, "c": by_channel(draw, shape[1], len(shape))}, properties={"Conv": properties})


def convolved_norm(draw: Draw) -> Example:
    """A convolution of what is normalised, which may be padded."""
    values, properties = convolution(draw)
    if draw.number_in(0, 3):
        properties.pop("pads", None)
    learnt = statistics(draw, given_shape(values, "x")[1])
    if draw.flag():
        count = given_shape(values, "x")[1]
        learnt |= {"bias": np.zeros(count), "mean": np.zeros(count)}
    return Example({**values, **learnt}, EPSILON, {"Conv": properties})


def matrices(draw: Draw) -> tuple[dict[str, Given], Said, int, int]:
    """A Gemm, and how many numbers there are in a row before and after."""
    m, k, n = draw.size(), draw.size(), draw.size()
    across, is_transposed = draw.flag(), draw.pick(0, 0, 1)
    b = draw.pick(None, (n,), (1, n), (1,), (), (m, n))
    values: dict[str, Given] = {
        "x": (k, m) if is_transposed else (m, k),
        "w": (n, k) if across else (k, n),
        "b": b,
    }
    properties: Said = {"alpha": draw.real(), "beta": draw.real(), "transA": is_transposed, "transB": across}
    return values, properties, k, n


def by_column(draw: Draw, count: int) -> Array:
    """Numbers for each column, or one for all."""
    return factors(draw, draw.pick((count,), (1, count), (), (1,), (count,)))


def after_gemm(draw: Draw) -> Example:
    """A Gemm and a number for each column."""
    values, properties, _, columns = matrices(draw)
    return Example({**values, "c": by_column(draw, columns)}, properties={"Gemm": properties})


def before_gemm(draw: Draw) -> Example:
    """A number for each column of what a Gemm reads."""
    values, properties, _, _ = matrices(draw)
    c = by_column(draw, given_shape(values, "x")[-1])
    return Example({**values, "c": c}, properties={"Gemm": properties})


def gemm_and_norm(before: bool) -> Generator:
    """A Gemm and a normalisation of what it makes or reads."""

    def make(draw: Draw) -> Example:
        values, properties, read, made = matrices(draw)
        learnt = statistics(draw, read if before else made)
        attributes = {"alpha": draw.real(), "beta": draw.real(), **EPSILON}
        if before:
            properties = {"transB": properties["transB"], "transA": 0}
            values |= {"x": (draw.size(), read), "b": draw.pick(None, (made,), (1, made), (1,))}
        return Example({**values, **learnt}, attributes, {"Gemm": properties})

    return make


def product(draw: Draw) -> dict[str, Given]:
    """Data of some rank and a matrix, or a matrix for each batch."""
    k, n = draw.size(), draw.size()
    batch = draw.shape(0, 2, empty=False)
    rows = draw.shape(0, 1, empty=False)
    weights = draw.pick((k, n), (k, n), (*batch, k, n))
    return {"x": (*(batch if rows else ()), *rows, k), "w": weights}


def after_product(draw: Draw) -> Example:
    """A product and a number for each column."""
    values = product(draw)
    return Example({**values, "c": by_column(draw, given_shape(values, "w")[-1])})


def before_product(draw: Draw) -> Example:
    """A number for each column of what a product reads."""
    values = product(draw)
    return Example({**values, "c": by_column(draw, given_shape(values, "w")[-2])})


def product_and_norm(draw: Draw) -> Example:
    """A product of matrices and its normalisation."""
    m, k, n = draw.size(), draw.size(), draw.size()
    return Example({"x": (m, k), "w": (k, n), **statistics(draw, n)}, EPSILON)


def product_and_norm_of_rows(reshapes: bool, biased: bool) -> Generator:
    """A product of tensors, and the normalisation of its rows as those of a matrix."""

    def make(draw: Draw) -> Example:
        k, n = draw.size(), draw.size()
        batch = draw.shape(1, 3, empty=False)
        values: dict[str, Given] = {"x": (*batch, k), "w": (k, n), **statistics(draw, n)}
        if biased:
            values["c"] = by_column(draw, n)
        if not reshapes:
            return Example(values, EPSILON, {"Flatten": {"axis": draw.pick(-1, len(batch))}})
        product = MatMul(value.x, const.w)
        matrix = Reshape(Add(product, const.c) if biased else product, const.shape, allowzero=draw.flag())
        learnt = (const.scale, const.bias, const.mean, const.var)
        pattern = BatchNormalizationInferenceMode(matrix, *learnt, epsilon=1e-3)
        return Example({**values, "shape": ints(draw.pick(-1, prod(batch)), n)}, pattern=pattern)

    return make


GENERATORS: dict[str, Generator] = {
    "FoldBatchNormIntoConvTranspose": normalised(False),
    "FoldBatchNormIntoConvTransposeV1": normalised(True),
    "FoldBatchNormIntoGemm": gemm_and_norm(False),
    "FoldBatchNormIntoMatMul": product_and_norm,
    **{
        f"FoldBatchNormOf{name}IntoMatMul{bias}": product_and_norm_of_rows(name == "Reshape", bool(bias))
        for name in ("Flatten", "Reshape")
        for bias in ("", "Add")
    },
    **{f"Fold{name}IntoConvTranspose": convolved(False) for name in ("Mul", "Div", "Add")},
    **{f"Fold{name}IntoConvTransposeV1": convolved(True) for name in ("Mul", "Div", "Add")},
    "FoldDivIntoConv": divided_convolution,
    **{f"Fold{name}IntoGemm": after_gemm for name in ("Mul", "Div", "Add")},
    **{f"Fold{name}IntoMatMul": after_product for name in ("Mul", "Div")},
    **{f"Fold{name}BeforeConv": read_convolution for name in ("Mul", "Div")},
    **{f"Fold{name}BeforeGemm": before_gemm for name in ("Mul", "Div")},
    **{f"Fold{name}BeforeMatMul": before_product for name in ("Mul", "Div")},
    "FoldBatchNormBeforeConv": convolved_norm,
    "FoldBatchNormBeforeGemm": gemm_and_norm(True),
}

FINITE: dict[str, str] = {
    name: "weights and statistics are numbers; sums of infinities are NaN in another order"
    for name in GENERATORS
}

KINDS: dict[str, tuple[Kind, ...]] = {
    # Groups of transposed convolutions only onnxruntime computes right.
    name: (np.float32,) if "ConvTranspose" in name else REALS
    for name in GENERATORS
}
