"""Generators of instances of the fusions of Pad into pools and integer convolutions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import i32

from xonnc.dialects.onnx.types import unranked
from xonnc.fuzzing.rules.draws import Draw, Generator, Shape
from xonnc.fuzzing.rules.generators.canonicalize_layer import Said, convolution
from xonnc.fuzzing.rules.instances import Example, Given, ints
from xonnc.fuzzing.rules.values import Kind
from xonnc.rewriting.onnx import AveragePool, MaxPoolSingleOut, Relu
from xonnc.rewriting.patterns import Node, value
from xonnc.transforms.rules.fuse_pooling import PADS

OPSETS = {"": 21, "V19": 19, "V18": 18, "V13": 13, "V11": 11, "V2": 9}
"""Opset of each version of Pad, for onnxruntime, since the reference pads pools incorrectly."""


def pool(draw: Draw) -> tuple[Shape, Said, list[int]]:
    """Return a data shape, a pool's attributes, and pads that with its own are less than its window."""
    axes = draw.pick(1, 2, 2)
    kernel = [draw.number_in(2, 4) for _ in range(axes)]
    own = [0] * 2 * axes
    if draw.number_in(0, 2) == 0:
        own = [draw.number_in(0, (size - 1) // 2) for size in (*kernel, *kernel)]
    added = [draw.number_in(0, size - 1 - pad) for size, pad in zip((*kernel, *kernel), own, strict=True)]
    properties: Said = {
        "kernel_shape": kernel,
        "pads": own,
        "strides": [draw.number_in(1, 2) for _ in kernel],
    }
    shape = (draw.number_in(1, 2), draw.size(), *(draw.number_in(4, 6) for _ in kernel))
    return shape, properties, [0, 0, *added[:axes], 0, 0, *added[axes:]]


def padded(
    version: str, fill: float, outer: Node, properties: Said, shape: Shape, pads: list[int]
) -> Example:
    """Return an instance with one version of Pad."""
    name = outer.template.name
    if version == "V2":
        attributes: Said = {"pads": pads, "fill": fill}
        return Example({"x": shape}, attributes, {name: properties}, pattern=outer, opset=9, specials=False)
    values: dict[str, Given] = {"x": shape, "pads": ints(*pads), "fill": np.array(fill)}
    if fill == 0 and pads[2] % 2:
        values["fill"] = None
    return Example(values, {}, {name: properties}, pattern=outer, opset=OPSETS[version], specials=False)


def averaged(version: str) -> Generator:
    """An AveragePool with count_include_pad 1 or 0."""

    def make(draw: Draw) -> Example:
        shape, properties, pads = pool(draw)
        properties["count_include_pad"] = draw.pick(1, 1, 0)
        return padded(version, 0.0, AveragePool(PADS[version]), properties, shape, pads)

    return make


def largest(version: str) -> Generator:
    """A MaxPool of data padded with -∞, or with zeros, where the data may be nonnegative (Relu)."""

    def make(draw: Draw) -> Example:
        shape, properties, pads = pool(draw)
        if draw.number_in(0, 2):
            return padded(version, -np.inf, MaxPoolSingleOut(PADS[version]), properties, shape, pads)
        pad = PADS[version]
        inner = draw.pick(value.x, Relu(value.x), Relu(value.x))
        padding = replace(pad, operands=(inner, *pad.operands[1:]))
        return padded(version, 0.0, MaxPoolSingleOut(padding), properties, shape, pads)

    return make


def integers(version: str) -> Generator:
    """A ConvInteger of data padded with their zero point, or with another value."""

    def make(draw: Draw) -> Example:
        values, properties = convolution(draw, bias=False)
        shape, weights = values["x"], values["w"]
        assert isinstance(shape, tuple)
        assert isinstance(weights, tuple)
        point = draw.number_in(0, 3)
        fill = point if draw.number_in(0, 3) else point + 1
        pads = [0, 0, *(draw.number_in(0, 2) for _ in shape[2:])] * 2
        given: dict[str, Given] = {
            "x": shape,
            "w": weights,
            "pads": ints(*pads),
            "fill": np.array(fill),
            "zero": None if point == 0 and draw.flag() else np.array(point),
            "other": None,
        }
        return Example(given, {}, {"ConvInteger": properties}, types=[unranked(i32)])

    return make


GENERATORS: dict[str, Generator] = {
    **{f"FusePad{version}IntoAveragePool": averaged(version) for version in PADS},
    **{f"FusePad{version}IntoMaxPool": largest(version) for version in PADS},
    **{f"FusePad{version}IntoConvInteger": integers(version) for version in PADS if version != "V2"},
}

KINDS: dict[str, tuple[Kind, ...]] = {
    name: (np.uint8,) if name.endswith("Integer") else (np.float32,) for name in GENERATORS
}
