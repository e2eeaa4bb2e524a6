"""
Windows of dynamic images whose pads depend on the image, in terms of those that do not: `auto_pad` SAME with
strides, `ceil_mode`, and means that leave out pads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, f32
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.ops.constant import constant_elements
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp
from xonnc.dialects.onnx.types import NONE, element_type, is_ranked, numpy_dtype, static_shape
from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.onnx import (
    Add,
    AveragePool,
    Concat,
    Conv,
    Div,
    Expand,
    MaxPool,
    MaxPoolSingleOut,
    Mul,
    Pad,
    QLinearConv,
    Shape,
    Sub,
)
from xonnc.rewriting.patterns import ImperativeRewrite, Literal, MatchFailure, RewriteResult, Template, value
from xonnc.rewriting.rules import Rule, rule, rules
from xonnc.transforms.rules.constprop_reduction import lowest
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
    def depends_on_size(self) -> bool:
        """Whether pads at the ends, or what exceeds them, depend on the size of the image."""
        is_strided = max(self.strides) > 1
        return is_strided and (self.is_ceil or self.auto_pad.startswith("SAME"))

    @property
    def has_constant_pads(self) -> bool:
        """Whether pads that are the same for all sizes reach what windows do."""
        return max(self.strides) == 1 or not self.auto_pad.startswith("SAME")

    def is_supported(self) -> bool:
        """Whether each window has an element of the image, and none starts beyond it."""
        ends = self.pads[len(self.spans) :]
        if self.auto_pad.startswith("SAME"):
            return all(
                span >= stride or span == 1 for span, stride in zip(self.spans, self.strides, strict=True)
            )
        starts = [stride if self.is_ceil else 1 for stride in self.strides]
        return all(
            span >= first + end and span > begin >= 0 <= end
            for span, first, begin, end in zip(self.spans, starts, self.pads, ends, strict=False)
        )

    def padded(self, builder: OpBuilder, x: SSAValue, neutral: float) -> SSAValue:
        """Return an image with all pads that windows reach, so that these need none."""
        element = element_type(x.type)
        assert element is not None
        zero = [builder.ints(0)]
        pairs = [self._pads(builder, x, axis) for axis in range(len(self.spans))]
        pads = [*zero, *zero, *(begin for begin, _ in pairs), *zero, *zero, *(end for _, end in pairs)]
        number = builder.constant(np.array(neutral, numpy_dtype(element)))
        return builder(Pad, x, builder(Concat, *pads, axis=0), number, builder.none(), mode="constant")

    def constant_pads(self) -> tuple[int, ...]:
        """Return the pads of an op without `auto_pad`, with what `ceil_mode` adds at most."""
        begins, ends = self.pads[: len(self.spans)], self.pads[len(self.spans) :]
        extra = [stride - 1 if self.is_ceil else 0 for stride in self.strides]
        return *begins, *(end + more for end, more in zip(ends, extra, strict=True))

    def _pads(self, builder: OpBuilder, x: SSAValue, axis: int) -> tuple[SSAValue, SSAValue]:
        """Return the pads before and after an axis."""
        span, stride, rank = self.spans[axis], self.strides[axis], len(self.spans)
        if not self.auto_pad.startswith("SAME"):
            pads = self.constant_pads()
            return builder.ints(pads[axis]), builder.ints(pads[axis + rank])
        if span == 1:
            return builder.ints(0), builder.ints(0)
        # ⌈size / stride⌉ windows need (⌈size / stride⌉ - 1) stride + span elements.
        size = builder(Shape, x, start=axis + 2, end=axis + 3)
        count = builder(Div, builder(Add, size, builder.ints(stride - 1)), builder.ints(stride))
        needed = builder(Add, builder(Mul, count, builder.ints(stride)), builder.ints(span - stride))
        total = builder(Sub, needed, size)
        is_upper = self.auto_pad == "SAME_UPPER"
        rounded = total if is_upper else builder(Add, total, builder.ints(1))
        begin = builder(Div, rounded, builder.ints(2))
        return begin, builder(Sub, total, begin)


def _windows(root: Operation, x: SSAValue, kernel: Sequence[int]) -> _Windows | None:
    """Return the windows of an op; None if the size of the image is known, or its rank is not."""
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


def _replaced(
    template: Template,
    root: Operation,
    windows: _Windows,
    x: SSAValue,
    neutral: float,
    given: Mapping[str, Attribute | Literal | None] | None = None,
) -> ImperativeRewrite:
    """Return a rewrite of an op on an image as the same op, perhaps as `given`, on the padded image."""

    def write(op: Operation) -> Sequence[SSAValue]:
        builder = OpBuilder(op)
        operands = [windows.padded(builder, x, neutral), *op.operands[1:]]
        return builder.last(template, *operands, **(given or _unpadded(root, windows)))

    return ImperativeRewrite(write)


def _unpadded(root: Operation, windows: _Windows) -> dict[str, Attribute | Literal | None]:
    """Return the properties of an op without pads."""
    kept: dict[str, Attribute | Literal | None] = {**root.properties}
    kept |= {"auto_pad": "NOTSET", "pads": [0, 0] * len(windows.spans)}
    return kept | ({"ceil_mode": 0} if "ceil_mode" in kept else {})


def _with_constant_pads(root: Operation, windows: _Windows) -> dict[str, Attribute | Literal | None]:
    """Return the properties of an op with all pads that windows reach, the same for all sizes."""
    if windows.auto_pad.startswith("SAME"):
        return {**root.properties}
    return {**_unpadded(root, windows), "pads": list(windows.constant_pads())}


DEPENDS_NOT = "pads do not depend on the size of the image"


@rule(Conv(value.x, value.w, value.b))
def conv_of_padded(root: Operation, x: SSAValue, w: SSAValue, b: SSAValue) -> RewriteResult:
    """A convolution with pads that depend on the size of the image is one of the padded image"""
    shape = static_shape(w.type)
    windows = None if shape is None else _windows(root, x, shape[2:])
    if windows is None or not windows.depends_on_size or not windows.is_supported():
        return MatchFailure(DEPENDS_NOT)
    dequantize = x.owner
    if not isinstance(dequantize, DequantizeLinearOp):
        return _replaced(Conv, root, windows, x, 0.0)
    neutral = _zero_point(dequantize.x_zero_point)
    if neutral is None:
        return MatchFailure("the zero point of the image is not one constant")

    def write(op: Operation) -> Sequence[SSAValue]:
        builder, (scale, zero) = OpBuilder(op), dequantize.operands[1:]
        operands = [windows.padded(builder, dequantize.x, neutral), scale, zero]
        image = builder.op(DequantizeLinearOp, operands, dequantize.properties, 1, 1).results[0]
        return builder.last(Conv, image, w, b, **_unpadded(root, windows))

    return ImperativeRewrite(write)


SCALES = value.x_scale, value.x_zero, value.w, value.w_scale, value.w_zero, value.y_scale, value.y_zero


@rule(QLinearConv(value.x, *SCALES, value.b))
def rescaled_conv_of_padded(root: Operation, x: SSAValue, x_zero: SSAValue, w: SSAValue) -> RewriteResult:
    """A convolution of integers with pads that depend on the size of the image is one of the padded image"""
    shape, neutral = static_shape(w.type), _zero_point(x_zero)
    windows = None if shape is None else _windows(root, x, shape[2:])
    if windows is None or not windows.depends_on_size or not windows.is_supported() or neutral is None:
        return MatchFailure(DEPENDS_NOT)
    return _replaced(QLinearConv, root, windows, x, neutral)


def _zero_point(value: SSAValue) -> float | None:
    """Return a constant zero point, 0 if there is none; None if it is no constant, or several."""
    if value.type == NONE:
        return 0.0
    array = constant_elements(value)
    return None if array is None or array.size != 1 else float(array.reshape(-1)[0])


def max_of_padded(template: Template) -> Rule:
    """A maximum with pads that depend on the size of the image is one of the padded image"""

    @rule(template(value.x))
    def pool(root: Operation, x: SSAValue) -> RewriteResult:
        """A maximum with pads that depend on the size of the image is one of the padded image"""
        windows = _windows(root, x, integers(root, "kernel_shape", ()))
        if windows is None or not windows.depends_on_size or not windows.is_supported():
            return MatchFailure(DEPENDS_NOT)
        element = element_type(x.type)
        if element is None or any(result.type != NONE for result in root.results[1:]):
            return MatchFailure("the indices are read")
        if windows.has_constant_pads:
            given = _with_constant_pads(root, windows)
            return ImperativeRewrite(lambda op: OpBuilder(op).last(template, x, **given))
        return _replaced(template, root, windows, x, lowest(numpy_dtype(element)).item())

    return pool


@rule(AveragePool(value.x))
def mean_of_padded(root: Operation, x: SSAValue) -> RewriteResult:
    """A mean that leaves out pads is one that counts them over that of ones"""
    windows = _windows(root, x, integers(root, "kernel_shape", ()))
    if windows is None or element_type(x.type) != f32 or not windows.is_supported():
        return MatchFailure(DEPENDS_NOT)
    if decode(root.properties.get("count_include_pad")):
        if not windows.depends_on_size:
            return MatchFailure("windows count all pads")
        if not windows.is_ceil:
            return _replaced(AveragePool, root, windows, x, 0.0)
        # Elements beyond the pads are not counted: those of the padded image are.
        given = {**_unpadded(root, windows), "count_include_pad": 0, "ceil_mode": 1}
        return _replaced(AveragePool, root, replace(windows, is_ceil=False), x, 0.0, given)
    if not windows.depends_on_size and not any(windows.pads) and not windows.auto_pad.startswith("SAME"):
        return MatchFailure(DEPENDS_NOT)
    is_padded = windows.has_constant_pads
    kept = _with_constant_pads(root, windows) if is_padded else _unpadded(root, windows)
    given = {**kept, "count_include_pad": 1}

    def write(op: Operation) -> Sequence[SSAValue]:
        builder = OpBuilder(op)
        sizes = [builder(Shape, x, start=axis + 2, end=axis + 3) for axis in range(len(windows.spans))]
        one = builder.constant(np.ones((1,) * (len(sizes) + 2), np.float32))
        ones = builder(Expand, one, builder(Concat, builder.ints(1, 1), *sizes, axis=0))
        images = (each if is_padded else windows.padded(builder, each, 0.0) for each in (x, ones))
        total, count = (builder(AveragePool, each, types=(), **given) for each in images)
        return builder.last(Div, total, count)

    return ImperativeRewrite(write)


RULES = rules(
    AveragePoolOfPadded=mean_of_padded,
    ConvOfPadded=conv_of_padded,
    QLinearConvOfPadded=rescaled_conv_of_padded,
    MaxPoolOfPadded=max_of_padded(MaxPool),
    MaxPoolSingleOutOfPadded=max_of_padded(MaxPoolSingleOut),
)
