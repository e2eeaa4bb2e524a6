"""Generators of instances of decompositions of old operator versions to new ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.ir import Attribute

from xonnc.fuzzing.rules.comparison import SAME, Closeness
from xonnc.fuzzing.rules.draws import Draw, Generator
from xonnc.fuzzing.rules.generators.canonicalize_arithmetic import REALS
from xonnc.fuzzing.rules.generators.constprop_moving import (
    padding,
    split,
    squeezing_by_property,
    unsqueezing_by_property,
)
from xonnc.fuzzing.rules.instances import Example, ints
from xonnc.fuzzing.rules.values import Kind
from xonnc.rewriting.patterns import Literal

Attributes = dict[str, Literal | Attribute | None]


def renamed(make: Callable[[Draw], Example], name: str = "c") -> Generator:
    """Return a generator of the same instances, with the data renamed to x."""

    def made(draw: Draw) -> Example:
        found = make(draw)
        values = {"x" if key == name else key: given for key, given in found.values.items()}
        return Example(values, found.attributes, found.properties)

    return made


def clip_by_properties(draw: Draw) -> Example:
    """A Clip with bounds as attributes, the limits of float32 among them."""
    low = draw.pick(-3.4028234663852886e38, -1.0, -0.5, 0.0)
    return Example({"x": draw.shape()}, {"low": low, "high": draw.pick(0.0, 0.5, 3.4028234663852886e38)})


def clip(draw: Draw) -> Example:
    """A Clip with bounds that may be absent."""
    low, high = (draw.array(()) if draw.flag() else None for _ in range(2))
    return Example({"x": draw.shape(), "low": low, "high": high})


def fourier(draw: Draw) -> Example:
    """A DFT of real or complex signals, also inverse, one-sided where possible, padded or truncated."""
    parts, inverse = draw.number_in(1, 2), draw.flag()
    shape = (*draw.shape(1, 3, empty=False), parts)
    axis = draw.number_in(0, len(shape) - 2)
    onesided = draw.flag() if parts == 1 and not inverse else 0
    length = np.array(draw.number_in(1, 6), np.int64) if draw.flag() else None
    properties: Attributes = {"axis": axis, "inverse": inverse, "onesided": onesided}
    return Example({"x": shape, "length": length}, properties, own=("length",), specials=False)


def grid_sample(draw: Draw) -> Example:
    """A GridSample inside and outside of images, in all modes."""
    batch, channels = draw.size(), draw.size()
    shape = (batch, channels, draw.number_in(2, 5), draw.number_in(2, 5))
    grid = draw.reals(-1.3, 1.3, (batch, draw.size(), draw.size(), 2))
    properties: Attributes = {
        "align": draw.flag(),
        "mode": draw.pick("bilinear", "nearest", "bicubic"),
        "padding": draw.pick("zeros", "border", "reflection"),
    }
    return Example({"x": shape, "grid": grid}, properties, opset=16, specials=False)


def pad_by_properties(draw: Draw) -> Example:
    """A Pad with pads and value as attributes, in the old modes."""
    shape = draw.shape(1, 3, empty=False)
    mode = draw.pick("constant", "constant", "edge", "reflect")
    pads = [draw.number_in(0, size - 1 if mode == "reflect" else 2) for _ in range(2) for size in shape]
    return Example({"x": shape}, {"mode": mode, "pads": pads, "fill": draw.pick(0.0, 1.5, -2.0)})


def pad(axes: bool) -> Generator:
    """A Pad with pads as an operand, on all axes or, since opset 18, on some."""

    def make(draw: Draw) -> Example:
        found = padding(draw)
        values = dict(found.values)
        values["x"] = values.pop("c")
        mode = found.attributes["mode"]
        assert values["x"] is not None
        if not axes or mode == "wrap":
            shape = values["x"]
            assert isinstance(shape, tuple)
            values["axes"] = None
            mode = draw.pick("constant", "edge")
            values["pads"] = ints(*(draw.number_in(0, 2) for _ in range(2 * len(shape))))
            values["fill"] = draw.array(()) if mode == "constant" and draw.flag() else None
        return Example(values, {"mode": mode})

    return make


def reduction_by_property(axes: bool) -> Generator:
    """A reduction over axes that an attribute gives, or over all."""

    def make(draw: Draw) -> Example:
        shape = draw.shape(1, 4, empty=False)
        chosen = draw.axes(len(shape), 1) if axes else None
        return Example({"x": shape}, {"axes": chosen, "keepdims": draw.flag()}, specials=draw.is_float)

    return make


def extreme(name: str) -> Generator:
    """A ReduceMax or ReduceMin over some axes or all."""

    def make(draw: Draw) -> Example:
        shape = draw.shape(empty=False)
        axes = ints(*draw.axes(len(shape))) if draw.flag() else None
        properties = {"keepdims": draw.flag(), "noop_with_empty_axes": draw.flag()}
        return Example({"x": shape, "axes": axes}, properties={name: properties})

    return make


def magnified(opset: int) -> Generator:
    """An Upsample, with scales below 1 since opset 10, as onnxruntime computes it."""

    def make(draw: Draw) -> Example:
        shape = (1, draw.number_in(1, 2), draw.number_in(2, 4), draw.number_in(2, 4))
        least = 1 if opset < 10 else 0.5
        scales = [1.0, 1.0, *(draw.pick(least, 1.0, 1.5, 2.0, 2.5, 3.0) for _ in range(2))]
        mode = draw.pick("nearest", "linear")
        if opset == 7:
            return Example({"x": shape}, {"mode": mode, "scales": scales}, opset=7, specials=False)
        values = {"x": shape, "scales": np.array(scales, np.float32)}
        return Example(values, {"mode": mode}, opset=opset, specials=False)

    return make


def resize(draw: Draw) -> Example:
    """By scales or to sizes, in all modes."""
    shape = (1, draw.number_in(1, 2), draw.number_in(2, 4), draw.number_in(2, 4))
    by_sizes = draw.flag()
    scales = np.array([1, 1, draw.pick(0.5, 1, 1.5, 2), draw.pick(0.6, 1, 2, 3)], np.float32)
    sizes = ints(*shape[:2], draw.number_in(1, 6), draw.number_in(1, 6))
    properties = {
        "mode": draw.pick("nearest", "linear", "cubic"),
        "nearest_mode": draw.pick("floor", "round_prefer_floor"),
    }
    names = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    return Example(
        {
            "x": shape,
            "roi": np.zeros(8, np.float32),
            "scales": None if by_sizes else scales,
            "sizes": sizes if by_sizes else None,
        },
        {"coordinates": draw.pick(*names)},
        {f"ResizeV{version}": properties for version in (11, 13, 18)},
        specials=False,
    )


def scatter(draw: Draw) -> Example:
    """Distinct indices along an axis, as onnxruntime has it; no negative ones in opset 9."""
    shape = draw.shape(1, 3, empty=False)
    axis = draw.axis(len(shape), negative=False)
    chosen = draw.number_in(1, shape[axis])
    counted = [draw.number_in(1, size) for size in shape]
    counted[axis] = chosen
    order = np.array(draw.perm(shape[axis])[:chosen], np.int64)
    wide = order.reshape([-1 if index == axis else 1 for index in range(len(shape))])
    return Example(
        {
            "x": shape,
            "indices": np.ascontiguousarray(np.broadcast_to(wide, counted)),
            "updates": tuple(counted),
        },
        properties={"Scatter": {"axis": axis}},
        opset=9,
    )


def equal_parts(draw: Draw) -> Example:
    """Two equal parts."""
    shape = list(draw.shape(1))
    axis = draw.axis(len(shape))
    shape[axis] = 2 * draw.size(empty=True)
    return Example({"x": tuple(shape), "sizes": None}, {"axis": axis, "sizes": None})


def parts_by_property(draw: Draw) -> Example:
    """Two parts, told by a property."""
    shape = list(draw.shape(1))
    axis, sizes = draw.axis(len(shape)), [draw.size(), draw.size()]
    shape[axis] = sum(sizes)
    return Example({"x": tuple(shape)}, {"axis": axis, "sizes": sizes})


def squeeze_all(draw: Draw) -> Example:
    """Every axis of length 1."""
    shape = tuple(draw.pick(1, size) for size in draw.shape())
    return Example({"x": shape}, {"axes": None})


def squeeze_some(draw: Draw) -> Example:
    """Some axes, in order and from the front, as old operators have them."""
    found = squeezing_by_property(draw)
    shape = found.values["c"]
    assert isinstance(shape, tuple)
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    return Example({"x": shape}, {"axes": found.attributes["axes"] or ones})


REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "SumSquare")

GENERATORS: dict[str, Generator] = {
    "ClipV6": clip_by_properties,
    "ClipV11": clip,
    "ClipV12": clip,
    "DFTV17": fourier,
    "GridSampleV16": grid_sample,
    "PadV2": pad_by_properties,
    "PadV11": pad(False),
    "PadV13": pad(False),
    "PadV18": pad(True),
    **{f"Reduce{name}V13_1": reduction_by_property(False) for name in REDUCTIONS},
    **{f"Reduce{name}V13_2": reduction_by_property(True) for name in REDUCTIONS},
    "ReduceMaxV18": extreme("ReduceMaxV18"),
    "ReduceMinV18": extreme("ReduceMinV18"),
    "ResizeV10": magnified(10),
    "ResizeV11": resize,
    "ResizeV13": resize,
    "ResizeV18": resize,
    "Scatter": scatter,
    "SplitV11_noattr": equal_parts,
    "SplitV11": parts_by_property,
    "SplitV13": renamed(split),
    "SqueezeV11_noattr": squeeze_all,
    "SqueezeV11": squeeze_some,
    "UnsqueezeV11": renamed(unsqueezing_by_property),
    "Upsample": magnified(9),
    "UpsampleV7": magnified(7),
}

MOVING = (
    "ClipV6",
    "ClipV11",
    "ClipV12",
    "PadV2",
    "PadV11",
    "PadV13",
    "PadV18",
    "Scatter",
    "SplitV11",
    "SplitV13",
)

CLOSENESS: dict[str, Closeness] = dict.fromkeys(MOVING, SAME)

FINITE: dict[str, str] = {
    f"ReduceLogSumExpV13_{axis}": "the reference makes NaN of terms that are not finite" for axis in (1, 2)
}

SINGLE: tuple[Kind, ...] = (np.float32,)
DOUBLE: tuple[Kind, ...] = (np.float32, np.float64)
FLOAT_TYPES: tuple[Kind, ...] = (np.float32, np.float64, np.float16)

KINDS: dict[str, tuple[Kind, ...]] = {
    **{name: SINGLE for name in ("GridSampleV16", "ResizeV10", "ResizeV11", "ResizeV13", "ResizeV18")},
    **{name: SINGLE for name in ("Upsample", "UpsampleV7")},
    "DFTV17": DOUBLE,
    # onnxruntime is the reference for the first version of Scatter.
    "Scatter": (np.float32, np.int64, np.float64, np.int32, np.bool_, np.uint8),
    **{f"Reduce{name}V13_{axis}": FLOAT_TYPES for name in REDUCTIONS[1:4] for axis in (1, 2)},
    # The reference accumulates squares of narrow integers in wide ones.
    **{
        f"Reduce{name}V13_{axis}": (*FLOAT_TYPES, np.int64) for name in ("L1", "SumSquare") for axis in (1, 2)
    },
    "ClipV6": REALS,
}
