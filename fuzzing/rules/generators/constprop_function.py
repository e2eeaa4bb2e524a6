"""Generators of instances of rules about functions of constants, element by element and over windows."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute

from xonnc.dialects.onnx.types import NONE, element_type_of, unranked
from xonnc.fuzzing.rules.comparison import FOLDED, SAME, Closeness
from xonnc.fuzzing.rules.draws import Draw, Generator
from xonnc.fuzzing.rules.instances import Example
from xonnc.fuzzing.rules.values import KINDS as EVERY_KIND
from xonnc.fuzzing.rules.values import Kind
from xonnc.rewriting.patterns import Literal
from xonnc.transforms.rules import constprop_activations, constprop_windows


def parametric(**limits: tuple[float, float]) -> Generator:
    """A random shape, and attributes in the given ranges."""

    def make(draw: Draw) -> Example:
        given: dict[str, Literal | Attribute | None] = {
            name: round(float(draw.random.uniform(low, high)), 2) for name, (low, high) in limits.items()
        }
        return Example({"c": draw.shape()}, given)

    return make


def within(low: float, high: float) -> Generator:
    """Elements in an interval, including its limits and values slightly outside."""

    def make(draw: Draw) -> Example:
        numbers = np.asarray(draw.reals(low, high, draw.shape()))
        if numbers.size:
            numbers.reshape(-1)[0] = draw.pick(low, high, high + 1, low - 1)
        return Example({"c": numbers})

    return make


def shift(draw: Draw) -> Example:
    """A BitShift by less than the bit width, by more, and by negative amounts."""
    a, b = draw.broadcast(2)
    low = 0 if draw.dtype.kind == "u" else -2
    counts = np.asarray(draw.random.integers(low, draw.dtype.itemsize * 8 + 3, b))
    return Example({"a": a, "b": counts}, {"direction": draw.pick("LEFT", "RIGHT")})


def cast_like(draw: Draw) -> Example:
    """A CastLike to each numeric type."""
    kind = draw.pick(np.float32, np.float16, np.float64, np.int8, np.int32, np.int64, np.uint8, np.bool_)
    low = 0 if np.dtype(kind).kind == "u" else -5
    numbers = np.asarray(np.rint(draw.reals(low, 5, draw.shape())))
    return Example(
        {"c": numbers, "target": np.ones((1,), kind)},
        {"saturate": 1},
        own=("target",),
        types=[unranked(element_type_of(np.dtype(kind)))],
    )


def dropout(draw: Draw) -> Example:
    """Not in training; with a mask, or without one."""
    mask = draw.flag()
    element = element_type_of(draw.dtype)
    return Example(
        {
            "c": draw.shape(),
            "ratio": draw.pick(None, np.array(0.25, np.float32)),
            "training": draw.pick(None, np.array(False)),
        },
        own=("ratio", "training"),
        types=[unranked(element), unranked(i1) if mask else NONE],
    )


def dropout_before(draw: Draw) -> Example:
    """As it was without an operand that says whether the model trains."""
    return Example({"c": draw.shape()}, types=[unranked(element_type_of(draw.dtype)), NONE])


def gelu(draw: Draw) -> Example:
    """Exact, and by tanh."""
    return Example({"c": draw.shape()}, {"approximate": draw.pick("none", "tanh")})


def is_nan(draw: Draw) -> Example:
    """NaN and infinities among numbers."""
    return Example({"c": draw.shape()}, types=[unranked(i1)])


def is_inf(draw: Draw) -> Example:
    """Infinities of both signs, one, or none."""
    return Example(
        {"c": draw.shape()}, {"negative": draw.flag(), "positive": draw.flag()}, types=[unranked(i1)]
    )


def prelu(draw: Draw) -> Example:
    """A slope that broadcasts to the data."""
    shape = draw.shape()
    return Example({"c": shape, "slope": draw.narrower(shape)}, specials=False)


def pool(op: str) -> Generator:
    """One or two axes, strides; the reference has wrong pads."""

    def make(draw: Draw) -> Example:
        axes = draw.number_in(1, 2)
        kernel = [draw.number_in(1, 3) for _ in range(axes)]
        given: dict[str, Literal | Attribute] = {
            "kernel_shape": kernel,
            "strides": [draw.number_in(1, 3) for _ in range(axes)],
        }
        shape = (draw.size(), draw.size(), *(draw.number_in(3, 7) for _ in range(axes)))
        if op == "LpPool":
            given["p"] = draw.number_in(1, 3)
        return Example({"c": shape}, properties={op: given}, specials=False)

    return make


def global_pool(draw: Draw) -> Example:
    """Two axes: the reference takes the maximum over two of them, however many there are."""
    return Example({"c": draw.shape(4, 4, empty=False)}, specials=False)


def mean(draw: Draw) -> Example:
    """What broadcasts to the first: the reference adds to that in place."""
    shape, count = draw.shape(), draw.number_in(1, 3)
    others = {f"constants{index}": draw.narrower(shape) for index in range(1, count)}
    return Example({"constants0": shape, **others}, counts={"constants": count})


def soft_sign(draw: Draw) -> Example:
    """Not of scalars, for which the reference fails."""
    return Example({"c": draw.shape(1)})


def convolution(draw: Draw) -> Example:
    """Groups, strides, pads on either side, dilations, with a bias and without."""
    axes, group = draw.number_in(1, 3), draw.pick(1, 1, 2)
    depth, made = draw.number_in(1, 2), group * draw.number_in(1, 2)
    kernel = [draw.number_in(1, 3) for _ in range(axes)]
    given: dict[str, Literal | Attribute] = {
        "strides": [draw.number_in(1, 2) for _ in range(axes)],
        "dilations": [draw.number_in(1, 2) for _ in range(axes)],
        "group": group,
    }
    if draw.flag():
        given["pads"] = [draw.number_in(0, 2) for _ in range(2 * axes)]
    else:
        given["auto_pad"] = draw.pick("VALID", "SAME_UPPER", "SAME_LOWER")
    sizes = [draw.number_in(5, 7) for _ in range(axes)]
    return Example(
        {
            "c": (draw.number_in(1, 2), group * depth, *sizes),
            "weights": (made, depth, *kernel),
            "bias": draw.pick(None, (made,)),
        },
        properties={"Conv": given},
        specials=False,
    )


def transposed_convolution(draw: Draw) -> Example:
    """Strides, dilations, pads on either side, more at the end; the reference is wrong with groups."""
    axes = draw.number_in(1, 2)
    depth, made = draw.number_in(1, 3), draw.number_in(1, 2)
    strides = [draw.number_in(1, 3) for _ in range(axes)]
    given: dict[str, Literal | Attribute] = {
        "strides": strides,
        "dilations": [draw.number_in(1, 2) for _ in range(axes)],
    }
    sizes = [draw.number_in(3, 5) for _ in range(axes)]
    kernel = [draw.number_in(2, 3) for _ in range(axes)]
    given["pads"] = [draw.number_in(0, 1) for _ in range(2 * axes)]
    given["output_padding"] = [draw.number_in(0, stride - 1) for stride in strides]
    return Example(
        {
            "c": (draw.number_in(1, 2), depth, *sizes),
            "weights": (depth, made, *kernel),
            "bias": draw.pick(None, (made,)),
        },
        properties={"ConvTranspose": given},
        specials=False,
    )


def global_norm(draw: Draw) -> Example:
    """Any root; the reference does not have it."""
    return Example(
        {"c": draw.shape(3, 4, empty=False)}, {"p": draw.number_in(1, 3)}, specials=False, opset=14
    )


GENERATORS: dict[str, Generator] = {
    "AcosofConst": within(-1, 1),
    "AcoshofConst": within(1, 9),
    "AsinofConst": within(-1, 1),
    "AtanhofConst": within(-1, 1),
    "BitShiftofConst": shift,
    "CastLikeofConst": cast_like,
    "CeluofConst": parametric(alpha=(0.5, 3)),
    "DropoutofConst": dropout,
    "DropoutV10ofConst": dropout_before,
    "DropoutV7ofConst": dropout_before,
    "EluofConst": parametric(alpha=(0.1, 3)),
    "GeluofConst": gelu,
    "HardSigmoidofConst": parametric(alpha=(0.1, 1), beta=(0.1, 1)),
    "IsInfofConst": is_inf,
    "IsNaNofConst": is_nan,
    "LeakyReluofConst": parametric(alpha=(0.01, 2)),
    "PReluofConst": prelu,
    "SeluofConst": parametric(alpha=(0.5, 2), gamma=(0.5, 2)),
    "ShrinkofConst": parametric(bias=(0, 2), lambd=(0, 2)),
    "MeanofConst": mean,
    "SoftsignofConst": soft_sign,
    "SwishofConst": parametric(alpha=(0.1, 2)),
    "ThresholdedReluofConst": parametric(alpha=(0.1, 2)),
    "AveragePoolofConst": pool("AveragePool"),
    "ConvTransposeofConst": transposed_convolution,
    "ConvofConst": convolution,
    "GlobalAveragePoolofConst": global_pool,
    "GlobalLpPoolofConst": global_norm,
    "GlobalMaxPoolofConst": global_pool,
    "LpPoolofConst": pool("LpPool"),
    "MaxPoolSingleOutofConst": pool("MaxPoolSingleOut"),
    "MaxPoolofConst": pool("MaxPool"),
}

ROUNDED_ONCE = ("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sinh")

CLOSENESS: dict[str, Closeness] = {
    **dict.fromkeys(constprop_activations.RULES, FOLDED),
    **dict.fromkeys(constprop_windows.RULES, FOLDED),
    **dict.fromkeys(("CastLikeofConst", "DropoutofConst", "DropoutV10ofConst", "DropoutV7ofConst"), SAME),
}

for rule in (
    "AveragePoolofConst",
    "ConvTransposeofConst",
    "ConvofConst",
    "GlobalAveragePoolofConst",
    "GlobalLpPoolofConst",
    "LpPoolofConst",
):
    # The reference sums in another order, and narrow floats as such.
    CLOSENESS[rule] = Closeness(ulps=1, steps=4, narrow=4)
# The reference computes erf to seven digits.
CLOSENESS["GeluofConst"] = Closeness(ulps=1, steps=2, narrow=1, single=True)
# The reference has 1 / 6 in 32 bits; for doubles it is one of 64 here, as in native code.
CLOSENESS["HardSwishofConst"] = Closeness(ulps=1, steps=1, single=True)

# The reference takes functions of numpy for 32 bits; here they are rounded once, from 64.
for rule in (*(f"{name}ofConst" for name in ROUNDED_ONCE), "SoftplusofConst", "MishofConst"):
    CLOSENESS[rule] = Closeness(ulps=4, narrow=4)

FINITE: dict[str, str] = {}

KINDS: dict[str, tuple[Kind, ...]] = {
    "BitShiftofConst": tuple(kind for kind in EVERY_KIND if np.dtype(kind).kind in "iu"),
    "CastLikeofConst": EVERY_KIND[:13],
    "GlobalLpPoolofConst": (np.float32,),
    # The reference makes NaN of pads, which integers have not.
    "MaxPoolSingleOutofConst": (np.float32, np.float16, np.float64),
    "MaxPoolofConst": (np.float32, np.float16, np.float64),
}
