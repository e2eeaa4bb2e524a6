"""Generators of instances of the fusions of elementwise ops and reductions."""

from __future__ import annotations

import numpy as np

from xonnc.dialects.onnx.types import element_type_of, unranked
from xonnc.fuzzing.rules.draws import Draw, Generator
from xonnc.fuzzing.rules.instances import EVERY, FLOATS, INTEGERS, Example, Given, ints
from xonnc.fuzzing.rules.values import Kind
from xonnc.rewriting.onnx import (
    ONNX,
    Clip,
    Log,
    Sigmoid,
    Sin,
    Softmax,
    SoftmaxV11,
    Squeeze,
    SqueezeV11,
    Tanh,
    Unsqueeze,
    UnsqueezeV11,
)
from xonnc.rewriting.patterns import Array, Literal, Node, Template, const, value
from xonnc.transforms.rules.fuse_elementwise import REDUCTIONS, ROUNDING_OPS

SIDES = ("", "Lhs", "Rhs", "LhsRhs")
CLIPS = ("Clip", "ClipV12", "ClipV11")


def limits(draw: Draw) -> tuple[Array, Array]:
    """Two numbers, mostly in order."""
    low, high = sorted(
        int(number) for number in draw.random.integers(-3 if draw.dtype.kind != "u" else 0, 5, 2)
    )
    shapes = draw.pick((), (), (1,)), draw.pick((), (1,))
    least, most = np.full(shapes[0], low), np.full(shapes[1], high)
    return (least, most) if draw.number_in(0, 5) else (most, least)


def interval(inside_is_low: bool) -> Generator:
    """Two bounds, now and then for more axes than there are."""

    def make(draw: Draw) -> Example:
        low, high = limits(draw)
        c, d = (low, high) if inside_is_low else (high, low)
        opset = draw.pick(None, None, 11, 9) if draw.dtype == np.float32 else None
        return Example({"x": draw.shape(draw.flag()), "c": c, "d": d}, opset=opset)

    return make


def bounds(*names: str) -> Generator:
    """Bounds, some of them open."""

    def make(draw: Draw) -> Example:
        values: dict[str, Given] = {"x": draw.shape()}
        for low, high in zip(names[::2], names[1::2], strict=True):
            ends = [each.reshape(()) for each in limits(draw)]
            values |= {low: draw.pick(None, ends[0], ends[0]), high: draw.pick(None, ends[1], ends[1])}
        return Example(values)

    return make


def old_bounds(*names: str) -> Generator:
    """Bounds for properties, some of them open."""

    def make(draw: Draw) -> Example:
        properties: dict[str, Literal] = {}
        for low, high in zip(names[::2], names[1::2], strict=True):
            # onnxruntime refuses bounds of this form that do not meet.
            ends = sorted(float(each.reshape(())) for each in limits(draw))
            properties |= {
                name: end for name, end in zip((low, high), ends, strict=True) if draw.number_in(0, 2)
            }
        return Example({"x": draw.shape(1)}, dict(properties), opset=10)

    return make


def logarithm(old: bool) -> Generator:
    """Numbers that are known to be near each other, or are not."""
    softmax = SoftmaxV11 if old else Softmax

    def make(draw: Draw) -> Example:
        shape = draw.shape(1, 3, empty=False)
        axis = draw.axis(len(shape), negative=not old)
        near = draw.pick(Tanh(value.x), Sigmoid(value.x), Sin(value.x), Clip(value.x, const.low, const.high))
        x = value.x if draw.number_in(0, 5) == 0 else near
        if old and isinstance(x, Node) and x.template.name == "Clip":
            x = Tanh(value.x)
        low, high = np.array(draw.pick(-2, -30)), np.array(2)
        values: dict[str, Given] = {"x": shape, "low": low, "high": high}
        return Example(values, pattern=Log(softmax(x, axis=axis)), opset=11 if old else None)

    return make


def truths(neutral: bool) -> Generator:
    """One value, mostly, in a shape that broadcasts."""

    def make(draw: Draw) -> Example:
        shape = draw.shape()
        c = np.full(draw.narrower(shape), neutral if draw.number_in(0, 4) else not neutral)
        return Example({"x": shape, "c": c}, own=("c",))

    return make


def choice(draw: Draw) -> Example:
    """A condition that is the opposite of another one."""
    p, x, y = draw.broadcast(3)
    condition = draw.random.integers(0, 2, p).astype(np.bool_)
    types = [unranked(element_type_of(draw.dtype))]
    return Example({"p": condition, "x": x, "y": y}, own=("p",), types=types)


def lonely(draw: Draw) -> Example:
    """One operand, now and then two."""
    return Example({"xs": draw.shape()}, counts={"xs": draw.pick(1, 1, 1, 2)})


def reductions(old: bool) -> list[str]:
    """The reductions of one set of opsets."""
    names = sorted(name.removeprefix("onnx.") for name in REDUCTIONS)
    if old:
        return [name for name in names if name.endswith(("V11", "V13")) or name.startswith("Arg")]
    return [name for name in names if not name.endswith("V11")]


def reduced(adds: bool, old: bool) -> Generator:
    """A reduction of some axes, and what adds them again or takes them away; or others."""

    def make(draw: Draw) -> Example:
        # Of integers the reference takes no logarithms and no roots.
        names = [name for name in reductions(old) if draw.is_float or "L" not in name]
        name = names[draw.number % len(names)]
        shape = tuple(draw.number_in(1, 3) for _ in range(draw.number_in(1, 4)))
        single = name.startswith("Arg")
        axes = draw.axes(len(shape), least=1, most=1 if single else None, negative=not old)
        keepdims = 0 if adds else 1
        values: dict[str, Given] = {"x": shape}
        template = Template(ONNX, name)
        if single:
            inner = template(value.x, axis=axes[0], select_last_index=0, keepdims=keepdims)
        elif name.endswith(("V11", "V13")):
            inner = template(value.x, axes=axes, keepdims=keepdims)
        else:
            values["reduced_axes"] = ints(*axes)
            inner = template(value.x, const.reduced_axes, noop_with_empty_axes=0, keepdims=keepdims)
        again = sorted(axis % len(shape) for axis in axes)
        if adds and draw.number_in(0, 4) == 0:
            again = list(range(len(axes)))
        elif adds and draw.number_in(0, 4) == 0:
            # More axes than were reduced, negative ones too: they count in a result of higher rank.
            again = list(draw.axes(len(shape) + 1, least=len(axes) + 1, most=len(axes) + 1, negative=True))
        if old:
            outer = (UnsqueezeV11 if adds else SqueezeV11)(inner, axes=again)
        else:
            values["axes"] = ints(*again)
            outer = (Unsqueeze if adds else Squeeze)(inner, const.axes)
        types = [unranked(element_type_of(np.dtype(np.int64)))] if single else ()
        return Example(values, pattern=outer, own=("reduced_axes",), types=types, specials=False)

    return make


GENERATORS: dict[str, Generator] = {
    **{f"MaxOfMin{side}": interval(False) for side in SIDES},
    **{f"MinOfMax{side}": interval(True) for side in SIDES},
    **{f"MergeRelu{when}{clip}": bounds("low", "high") for clip in CLIPS for when in ("Before", "After")},
    **{f"MergeRelu{when}ClipV6": old_bounds("low", "high") for when in ("Before", "After")},
    **{f"MergeClips{version}": bounds("low", "high", "low2", "high2") for version in ("V12", "V11")},
    "MergeClipsV6": old_bounds("low", "high", "low2", "high2"),
    "SwapWhereOfNot": choice,
    "LogOfSoftmax": logarithm(False),
    "LogOfSoftmaxV11": logarithm(True),
    **{f"RemoveNeutralAnd{side}": truths(True) for side in ("", "Lhs")},
    **{f"RemoveNeutral{op}{side}": truths(False) for op in ("Or", "Xor") for side in ("", "Lhs")},
    **{f"RemoveLonely{op}": lonely for op in ("Sum", "Mean", "Max", "Min")},
    "KeepReducedAxes": reduced(adds=True, old=False),
    "KeepReducedAxesV11": reduced(adds=True, old=True),
    "DropReducedAxes": reduced(adds=False, old=False),
    "DropReducedAxesV11": reduced(adds=False, old=True),
}

ROUNDED = tuple(f"Remove{outer}Of{inner}" for outer in ROUNDING_OPS for inner in ROUNDING_OPS)

KINDS: dict[str, tuple[Kind, ...]] = {
    **{
        name: (*FLOATS, *INTEGERS)
        for name in GENERATORS
        if name.startswith(("MaxOfMin", "MinOfMax", "RemoveLonely"))
    },
    **{f"MergeRelu{when}Clip": (*FLOATS, np.int32, np.int64, np.int8) for when in ("Before", "After")},
    **{f"MergeRelu{when}ClipV12": FLOATS for when in ("Before", "After")},
    **{f"MergeRelu{when}ClipV11": FLOATS for when in ("Before", "After")},
    **{name: (np.float32,) for name in GENERATORS if name.endswith("ClipV6")},
    "MergeClipsV12": FLOATS,
    "MergeClipsV11": FLOATS,
    "MergeClipsV6": (np.float32,),
    **dict.fromkeys(ROUNDED, FLOATS),
    "RemoveRepeatedSign": (*FLOATS, *INTEGERS),
    "RemoveRepeatedAbs": (*FLOATS, *INTEGERS),
    "RemoveNegOfAbs": (*FLOATS, np.int32, np.int64, np.int8),
    "RemoveDoubleNeg": (*FLOATS, np.int32, np.int64, np.int8),
    "SwapWhereOfNot": EVERY,
    "LogOfSoftmax": FLOATS,
    "LogOfSoftmaxV11": (np.float32,),
    **{name: (*FLOATS, np.int32, np.int64) for name in GENERATORS if "Reduced" in name},
}

FINITE: dict[str, str] = {
    **{
        name: "runtimes differ in whether limits keep a NaN"
        for name in GENERATORS
        if name.startswith(("MaxOfMin", "MinOfMax", "Merge"))
    },
    **{
        f"LogOfSoftmax{version}": "NaN and infinities come out of what limits them in various ways"
        for version in ("", "V11")
    },
}
