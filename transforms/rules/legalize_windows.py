"""
Windows of dynamic images whose number or mean depends on the size of the image, in terms of those that do
not: `ceil_mode`, and means that leave out pads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, f32
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.types import NONE, element_type, is_ranked
from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.onnx import (
    AveragePool,
    Concat,
    Div,
    Expand,
    MaxPool,
    MaxPoolSingleOut,
    Pad,
    Shape,
)
from xonnc.rewriting.patterns import ImperativeRewrite, Literal, MatchFailure, RewriteResult, Template, value
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.rules.decompose_convolution import integers
from xonnc.transforms.rules.op_builder import OpBuilder


@dataclass(frozen=True)
class _Windows:
    """The windows of an op on an image of dynamic size."""

    auto_pad: str
    is_ceil: bool
    spans: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]

    @property
    def is_same(self) -> bool:
        """Whether pads are what `auto_pad` SAME gives."""
        return self.auto_pad.startswith("SAME")

    @property
    def rounds_up(self) -> bool:
        """Whether what exceeds the pads depends on the size of the image."""
        return self.is_ceil and not self.is_same and max(self.strides) > 1

    def is_supported(self) -> bool:
        """Whether each window has an element of the image, and none starts beyond it."""
        ends = self.pads[len(self.spans) :]
        starts = [stride if self.is_ceil else 1 for stride in self.strides]
        return self.is_same or all(
            span >= first + end and span > begin >= 0 <= end
            for span, first, begin, end in zip(self.spans, starts, self.pads, ends, strict=False)
        )

    def given_pads(self) -> dict[str, Attribute | Literal | None]:
        """Return the properties that give an op all pads that windows reach at most."""
        if self.is_same:
            return {"auto_pad": self.auto_pad, "ceil_mode": 0}
        begins, ends = self.pads[: len(self.spans)], self.pads[len(self.spans) :]
        extra = [stride - 1 if self.is_ceil else 0 for stride in self.strides]
        most = *begins, *(end + more for end, more in zip(ends, extra, strict=True))
        return {"auto_pad": "NOTSET", "pads": list(most), "ceil_mode": 0}


def _windows(root: Operation, x: SSAValue) -> _Windows | None:
    """Return the windows of an op; None if the size of the image is known, or its rank is not."""
    kernel = integers(root, "kernel_shape", ())
    if not is_ranked(x.type) or len(x.type.get_shape()) != len(kernel) + 2:
        return None
    if DYNAMIC_INDEX not in x.type.get_shape()[2:]:
        return None
    ones = (1,) * len(kernel)
    dilations = integers(root, "dilations", ones)
    auto_pad = str(decode(root.properties.get("auto_pad")) or "NOTSET")
    return _Windows(
        auto_pad,
        bool(decode(root.properties.get("ceil_mode"))),
        tuple((size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=True)),
        integers(root, "strides", ones),
        integers(root, "pads", (0, 0) * len(kernel)) if auto_pad == "NOTSET" else (0, 0) * len(kernel),
    )


ROUNDS_DOWN = "the number of windows is rounded down"


def max_of_padded(template: Template) -> Rule:
    """A maximum of windows rounded up has as many pads as these reach at most"""

    @rule(template(value.x))
    def pool(root: Operation, x: SSAValue) -> RewriteResult:
        """A maximum of windows rounded up has as many pads as these reach at most"""
        windows = _windows(root, x)
        if windows is None or not windows.rounds_up or not windows.is_supported():
            return MatchFailure(ROUNDS_DOWN)
        if any(result.type != NONE for result in root.results[1:]):
            return MatchFailure("the indices are read")
        given = {**root.properties, **windows.given_pads()}
        return ImperativeRewrite(lambda op: OpBuilder(op).last(template, x, **given))

    return pool


@rule(AveragePool(value.x))
def mean_of_padded(root: Operation, x: SSAValue) -> RewriteResult:
    """A mean that leaves out pads is one that counts them over that of ones"""
    windows = _windows(root, x)
    if windows is None or element_type(x.type) != f32 or not windows.is_supported():
        return MatchFailure(ROUNDS_DOWN)
    axes = len(windows.spans)
    if decode(root.properties.get("count_include_pad")):
        return _mean_of_all_pads(root, x, windows) if windows.rounds_up else MatchFailure(ROUNDS_DOWN)
    if not windows.rounds_up and not any(windows.pads) and not windows.is_same:
        return MatchFailure("there are no pads")
    given = {**root.properties, **windows.given_pads(), "count_include_pad": 1}

    def write(op: Operation) -> Sequence[SSAValue]:
        builder = OpBuilder(op)
        sizes = [builder(Shape, x, start=axis + 2, end=axis + 3) for axis in range(axes)]
        one = builder.constant(np.ones((1,) * (axes + 2), np.float32))
        ones = builder(Expand, one, builder(Concat, builder.ints(1, 1), *sizes, axis=0))
        total, count = (builder(AveragePool, each, types=(), **given) for each in (x, ones))
        return builder.last(Div, total, count)

    return ImperativeRewrite(write)


def _mean_of_all_pads(root: Operation, x: SSAValue, windows: _Windows) -> ImperativeRewrite:
    """Return a mean of the padded image: what windows reach beyond the pads is not counted."""
    axes = len(windows.spans)
    pads = 0, 0, *windows.pads[:axes], 0, 0, *windows.pads[axes:]
    given = {**root.properties, "auto_pad": "NOTSET", "pads": [0, 0] * axes, "count_include_pad": 0}

    def write(op: Operation) -> Sequence[SSAValue]:
        builder = OpBuilder(op)
        zero = builder.constant(np.array(0, np.float32))
        image = builder(Pad, x, builder.ints(*pads), zero, builder.none(), mode="constant")
        return builder.last(AveragePool, image, **given)

    return ImperativeRewrite(write)


RULES = rules(
    AveragePoolOfPadded=mean_of_padded,
    MaxPoolOfPadded=max_of_padded(MaxPool),
    MaxPoolSingleOutOfPadded=max_of_padded(MaxPoolSingleOut),
)
