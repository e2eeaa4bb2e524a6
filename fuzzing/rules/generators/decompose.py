"""Generators of instances of the patterns of decompositions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, f32, i64
from xdsl.ir import Attribute

from xonnc.dialects.onnx.attribute_builders import float_attr, int_attr, string_attr
from xonnc.dialects.onnx.types import NONE, StringType, element_type_of, tensor_type, unranked
from xonnc.fuzzing.rules.comparison import SAME, Closeness
from xonnc.fuzzing.rules.draws import Draw, Generator, Shape
from xonnc.fuzzing.rules.generators import decompose_version as versions
from xonnc.fuzzing.rules.generators import text
from xonnc.fuzzing.rules.generators.canonicalize_arithmetic import REALS
from xonnc.fuzzing.rules.generators.canonicalize_moving import RANGES, finite
from xonnc.fuzzing.rules.generators.constprop_moving import constant_of_shape
from xonnc.fuzzing.rules.generators.decompose_examples import EINSUMS, SCALINGS
from xonnc.fuzzing.rules.generators.decompose_version import FLOAT_TYPES, SINGLE
from xonnc.fuzzing.rules.instances import Example, Given, ints
from xonnc.fuzzing.rules.values import Kind
from xonnc.rewriting.onnx import Einsum
from xonnc.rewriting.patterns import AnyValue, Literal

Attributes = dict[str, Literal | Attribute | None]


def along(draw: Draw) -> Example:
    """Operators along any axis."""
    shape = draw.shape(1, 4, empty=False)
    return Example({"x": shape}, {"axis": draw.axis(len(shape))}, specials=False)


def reduction(least: int, empty: bool, keep: int | None = None) -> Generator:
    """A reduction over some axes, all, or none."""

    def make(draw: Draw) -> Example:
        shape = draw.shape(least, empty=empty)
        axes = ints(*draw.axes(len(shape))) if draw.flag() else None
        properties: Attributes = {"keepdims": draw.flag() if keep is None else keep, "noop": draw.flag()}
        return Example({"x": shape, "axes": axes}, properties, specials=draw.is_float)

    return make


def cast_like(draw: Draw) -> Example:
    """A CastLike with a target of any shape."""
    kind = draw.pick(*RANGES)
    return Example(
        {"x": finite(draw, draw.shape()), "target": np.zeros(draw.shape(), kind)},
        types=[unranked(element_type_of(np.dtype(kind)))],
    )


def constant(index: int) -> Generator:
    """A Constant of a value attribute; no list is empty, as an empty one has no type in ONNX text syntax."""

    def make(draw: Draw) -> Example:
        count = draw.number_in(1, 4)
        floats = [float(np.float32(number)) for number in draw.random.normal(0, 100, count)]
        integers = [int(number) for number in draw.random.integers(-(2**40), 2**40, count)]
        words = [draw.pick("", "a", "ü", "two words") for _ in range(count)]
        forms: Sequence[tuple[Literal, Attribute]] = (
            (floats[0], tensor_type((), f32)),
            (integers[0], tensor_type((), i64)),
            (words[0], tensor_type((), StringType())),
            (floats, tensor_type((count,), f32)),
            (integers, tensor_type((count,), i64)),
            (words, tensor_type((count,), StringType())),
        )
        given, type_ = forms[index]
        return Example(attributes={"given": given}, types=[type_])

    return make


def value_of_shape(draw: Draw) -> Example:
    """A ConstantOfShape of each supported element type, or without `value`."""
    found = constant_of_shape(draw)
    return Example(found.values, {"elements": found.attributes["value"]}, types=found.types)


def scaler(has_offset: bool, has_scale: bool) -> Generator:
    """A Scaler with one offset and scale for each feature, or one for all."""

    def make(draw: Draw) -> Example:
        shape = (*draw.shape(0, 2), draw.size())
        offset, scale = ([draw.real() for _ in range(draw.pick(1, shape[-1]))] for _ in range(2))
        properties: Attributes = {
            "offset": offset if has_offset else None,
            "scale": scale if has_scale else None,
        }
        return Example({"x": shape}, properties, types=[unranked(f32)], specials=draw.is_float)

    return make


def part_of_split(draw: Draw) -> Example:
    """SequenceAt of SplitToSequence with equal sizes, or with a single part."""
    shape, count, size = list(draw.shape(1, 3, empty=False)), draw.size(), draw.size()
    axis = draw.axis(len(shape))
    shape[axis] = count * size
    single = count == 1 and draw.flag()
    values: dict[str, Given] = {
        "x": tuple(shape),
        "split": np.array([size] if single else size, np.int64),
        "position": np.array(draw.number_in(-count, count - 1), np.int64),
    }
    shape[axis] = size
    type_ = tensor_type(tuple(shape), element_type_of(draw.dtype))
    return Example(values, {"axis": axis, "keepdims": 1}, types=[type_])


def sequence(draw: Draw) -> Example:
    """A SequenceConstruct of equally shaped operands, since the comparison stacks them."""
    return Example({"parts": draw.shape()}, counts={"parts": draw.number_in(1, 4)})


def fused_product(draw: Draw) -> Example:
    """A FusedMatMul with any transA, transB and alpha."""
    m, k, n, ta, tb = draw.size(), draw.size(), draw.size(), draw.flag(), draw.flag()
    batch = draw.broadcast(2, 2, empty=False)
    a, b = ((k, m) if ta else (m, k)), ((n, k) if tb else (k, n))
    return Example(
        {"a": (*batch[0], *a), "b": (*batch[1], *b)},
        {"function": "FusedMatMul"},
        kept={
            "domain_name": string_attr("com.microsoft"),
            "alpha": float_attr(draw.real()),
            "transA": int_attr(ta),
            "transB": int_attr(tb),
        },
        opset=17,
        specials=False,
    )


def loss(draw: Draw) -> Example:
    """All reductions, weighted or not, with labels that do not count, and the logarithms asked for."""
    batch, classes, after = draw.size(), draw.number_in(2, 4), draw.shape(0, 2, empty=False)
    labels = draw.random.integers(0, classes, (batch, *after)).astype(draw.pick(np.int64, np.int32))
    ignored = draw.pick(None, draw.number_in(0, classes - 1))
    labels.reshape(-1)[0] = (0 if ignored is None else ignored + 1) % classes
    weights = draw.reals(0.25, 2, (classes,)) if draw.flag() else None
    properties: Attributes = {"ignored": ignored, "reduction": draw.pick("none", "sum", "mean")}
    element = element_type_of(draw.dtype)
    return Example(
        {"scores": (batch, classes, *after), "labels": labels, "weights": weights},
        properties,
        types=[unranked(element), draw.pick(NONE, unranked(element))],
        specials=False,
    )


def convolution(windows: bool) -> Generator:
    """With windows of one point, or of two axes, padded in all ways."""

    def make(draw: Draw) -> Example:
        axes = 2 if windows else draw.number_in(1, 3)
        kernel = [draw.number_in(1, 3) if windows else 1 for _ in range(axes)]
        shape = (draw.size(), draw.number_in(1, 3), *(draw.number_in(5, 7) for _ in kernel))
        weights = (draw.size(), shape[1], *kernel)
        properties: dict[str, Literal | Attribute] = {}
        pads = (
            draw.pick("", "pads", "VALID", "SAME_UPPER", "SAME_LOWER") if windows else draw.pick("", "VALID")
        )
        if pads.isupper():
            properties["auto_pad"] = pads
        elif pads:
            properties["pads"] = [draw.number_in(0, 2) for _ in range(2 * axes)]
        if windows:
            properties["strides"] = [draw.number_in(1, 3) for _ in kernel]
            if not pads.startswith("SAME"):
                properties["dilations"] = [draw.number_in(1, 2) for _ in kernel]
        return convolved("Conv", shape, weights, weights[0], properties, draw)

    return make


def convolved(
    name: str, x: Shape, w: Shape, channels: int, properties: dict[str, Literal | Attribute], draw: Draw
) -> Example:
    """With or without a bias, with or without shape inference before, as onnxruntime has it."""
    return Example(
        {"x": x, "w": w, "b": (channels,) if draw.flag() else None},
        properties={name: properties},
        inferred=bool(draw.flag()),
        types=[tensor_type((DYNAMIC_INDEX,) * len(x), f32)],
        opset=13,
        specials=False,
    )


def transposed_convolution(draw: Draw) -> Example:
    """Groups, strides, dilations, padding by numbers, by the size of the result and by itself."""
    axes, group = draw.number_in(1, 3), draw.number_in(1, 2)
    kernel = [draw.number_in(1, 3) for _ in range(axes)]
    # By itself onnxruntime pads nothing, so that too little is made, where strides are larger than windows.
    how = draw.pick("", "pads", "VALID", "SAME_UPPER", "SAME_LOWER", "shape")
    strides = [draw.number_in(1, size if how.startswith("SAME") else 3) for size in kernel]
    x = (draw.number_in(1, 2), group * draw.number_in(1, 2), *(draw.number_in(2, 4) for _ in kernel))
    w = (x[1], draw.number_in(1, 2), *kernel)
    properties: dict[str, Literal | Attribute] = {"group": group, "strides": strides}
    if how.isupper():
        properties["auto_pad"] = how
    elif how == "pads":
        properties["pads"] = [draw.number_in(0, (size - 1) // 2) for _ in range(2) for size in kernel]
        properties["output_padding"] = [draw.number_in(0, stride - 1) for stride in strides]
    elif how == "shape":
        full = [
            stride * (size - 1) + window for stride, size, window in zip(strides, x[2:], kernel, strict=True)
        ]
        properties["output_shape"] = [size - draw.number_in(0, min(1, size - 1)) for size in full]
    if how in ("", "pads"):
        properties["dilations"] = [draw.number_in(1, 2) for _ in kernel]
    return convolved("ConvTranspose", x, w, w[1] * group, properties, draw)


def einsum(draw: Draw) -> Example:
    """Every equation of the examples, with other sizes; some axes of length 1 or without elements."""
    equation, *_ = EINSUMS[draw.number % len(EINSUMS)]
    terms = equation.partition("->")[0].replace(" ", "").split(",")
    letters = {letter: draw.size(empty=True) for term in terms for letter in term if letter.isalpha()}
    wide = draw.shape(0, 2, empty=False)
    values: dict[str, Given] = {}
    for name, term in zip("abc", terms, strict=False):
        shape: list[int] = []
        for letter in term.replace("...", "."):
            shape += [draw.pick(size, 1) for size in wide] if letter == "." else [letters[letter]]
        values[name] = tuple(shape)
    pattern = Einsum(*(AnyValue(name) for name in values), equation=equation)
    return Example(values, pattern=pattern, specials=False)


GENERATORS: dict[str, Generator] = {
    **text.DECOMPOSE,
    **versions.GENERATORS,
    "LogSoftmax": along,
    "Softmax": along,
    "ReduceL1": reduction(0, True),
    "ReduceL2": reduction(0, True),
    "ReduceLogSum": reduction(0, True),
    "ReduceLogSumExp_1": reduction(1, False, 1),
    "ReduceLogSumExp_2": reduction(1, False, 0),
    "ReduceSumSquare": reduction(0, True),
    "CastLike": cast_like,
    **{f"ConstantNormalize{index + 1}": constant(index) for index in range(6)},
    "ConstantOfShape": value_of_shape,
    **{
        f"Scaler{name}{cast}": scaler(offset is not None, scale is not None)
        for name, (offset, scale) in SCALINGS.items()
        for cast in ("", "Cast")
    },
    "ReplaceSequenceAt": part_of_split,
    "SequenceConstruct": sequence,
    "CustomFusedMatMul": fused_product,
    "SoftmaxCrossEntropyLoss": loss,
    "ConvTranspose": transposed_convolution,
    "Conv1x1": convolution(False),
    "ConvIm2Col": convolution(True),
    "Einsum": einsum,
}

CLOSENESS: dict[str, Closeness] = {
    **versions.CLOSENESS,
    "CastLike": SAME,
    "ConstantOfShape": SAME,
    "HardSwish": Closeness(steps=84, narrow=8, single=True),
    "ReplaceSequenceAt": SAME,
    "SequenceConstruct": SAME,
    **dict.fromkeys((f"Scaler{name}Cast" for name in SCALINGS), Closeness(steps=84, narrow=8, single=True)),
}

FINITE: dict[str, str] = {
    **versions.FINITE,
    "ReduceLogSumExp_1": "the reference makes NaN of terms none of which is finite",
    "ReduceLogSumExp_2": "the reference makes NaN of terms none of which is finite",
    "ConvTranspose": "zeros stand between the data, which make NaN of weights that are not finite",
}

KINDS: dict[str, tuple[Kind, ...]] = {
    **versions.KINDS,
    # The reference sums squares of narrow integers in wide ones.
    "ReduceSumSquare": (*REALS, np.int64),
    **{f"ConstantNormalize{index}": SINGLE for index in range(1, 7)},
    **{f"Scaler{name}": SINGLE for name in SCALINGS},
    **{f"Scaler{name}Cast": (np.float64, np.int32, np.int64) for name in SCALINGS},
    # onnxruntime is the reference, or has these types alone.
    **dict.fromkeys(("CustomFusedMatMul", "ConvTranspose", "Conv1x1", "ConvIm2Col"), SINGLE),
    "SoftmaxCrossEntropyLoss": FLOAT_TYPES,
    "CastLike": tuple(dict.fromkeys((*RANGES, np.int8, np.uint8, np.int16))),
    "Einsum": (*FLOAT_TYPES, np.int32, np.int64),
}
