"""
Convolution by im2col and MatMul, transposed convolution as convolution (docs/internals/onnx-rules.md §5.4,
§5.6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import element_type, is_ranked, static_shape, tensor_type
from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.matcher import constant_of
from xonnc.rewriting.onnx import (
    ONNX,
    Add,
    Concat,
    Conv,
    ConvTranspose,
    Dim,
    Div,
    Im2Col,
    MatMul,
    Reshape,
    Shape,
    Slice,
    Transpose,
    Unsqueeze,
    UpsampleAndPad,
)
from xonnc.rewriting.patterns import ImperativeRewrite, MatchFailure, RewriteResult, value
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.numerics import is_float
from xonnc.transforms.rules.conditions import is_absent, rank
from xonnc.transforms.rules.op_builder import OpBuilder
from xonnc.transforms.shapes.convolution import transposed_pads

x, w, b = value.x, value.w, value.b

FIRST, LAST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def integers(root: Operation, name: str, default: Sequence[int]) -> tuple[int, ...]:
    """Return an INTS property."""
    found = decode(root.properties.get(name))
    return (
        tuple(each for each in found if isinstance(each, int)) if isinstance(found, tuple) else tuple(default)
    )


def known_size(data: SSAValue, axis: int) -> int | None:
    """Return a static dimension of a value, or `None`."""
    assert is_ranked(data.type)
    size = data.type.get_shape()[axis]
    return None if size == DYNAMIC_INDEX else size


def flattened(builder: OpBuilder, data: SSAValue, axes: int, leading: bool) -> SSAValue:
    """Reshape `data` to `axes` axes, merging leading or trailing ones."""
    assert is_ranked(data.type)
    sizes = data.type.get_shape()
    if len(sizes) == axes:
        return data
    start, end = (len(sizes) - axes + 1, len(sizes)) if leading else (0, axes - 1)
    shape, rest = builder(Shape, data), builder.ints(-1)
    zero, first, last, one = (builder.ints(each) for each in (0, start, end, 1))
    sliced = builder(Slice, shape, first, last, zero, one)
    joined = sizes[:start] if leading else sizes[end:]
    if DYNAMIC_INDEX not in joined:
        rest = builder.ints(prod(joined))
    flat_shape = builder(Concat, *((rest, sliced) if leading else (sliced, rest)), axis=0)
    return builder(Reshape, data, flat_shape)


def biased(builder: OpBuilder, product: SSAValue, bias: SSAValue) -> SSAValue:
    """Add a bias per row to a matrix product."""
    return product if is_absent(bias) else builder(Add, product, builder(Unsqueeze, bias, builder.ints(-1)))


def both_known(x: SSAValue, w: SSAValue, b: SSAValue) -> str | None:
    """Ranks are known and equal, and no dimension is 0, which as a Reshape target would mean copy."""
    if not is_ranked(x.type) or not is_ranked(w.type) or not (is_absent(b) or is_ranked(b.type)):
        return "a rank is not known"
    if rank(x) != rank(w) or len(x.type.get_shape()) < 3:
        return "there are no axes to convolve along"
    return "the data are empty" if 0 in (*x.type.get_shape(), *w.type.get_shape()) else None


def one_group(root: Operation) -> str | None:
    """There is one group."""
    return None if decode(root.properties.get("group")) == 1 else "there are several groups"


def single_points(root: Operation, w: SSAValue) -> str | None:
    """Pointwise convolution: kernel 1×1, stride 1, no padding."""
    assert is_ranked(w.type)
    axes = len(w.type.get_shape()) - 2
    if any(size != 1 for size in w.type.get_shape()[2:]):
        return "the windows are larger than one point"
    ones = (1,) * axes
    if integers(root, "dilations", ones) != ones or integers(root, "strides", ones) != ones:
        return "there are strides or dilations"
    auto_pad = decode(root.properties.get("auto_pad"))
    if auto_pad == "VALID" or (auto_pad == "NOTSET" and not any(integers(root, "pads", ()))):
        return None
    return "there is padding"


@rule(Conv(x, w, b), where=(both_known, one_group, single_points), bonus=1)
def points_to_matmul(root: Operation, x: SSAValue, w: SSAValue, b: SSAValue) -> RewriteResult:
    """1×1 convolution: conv(x, w) = reshape(w' x'), one column of x' per pixel"""

    def write(op: Operation) -> Sequence[SSAValue]:
        builder = OpBuilder(op)
        columns = flattened(builder, x, 3, leading=False)
        if known_size(x, 0) == 1:
            columns = flattened(builder, columns, 2, leading=True)
        product = builder(MatMul, flattened(builder, w, 2, leading=False), columns)
        product = biased(builder, product, b)
        assert is_ranked(x.type)
        spatial_axes = range(2, len(x.type.get_shape()))
        sizes = [
            builder(Dim, x, axis=0),
            builder(Dim, w, axis=0),
            *(builder(Dim, x, axis=axis) for axis in spatial_axes),
        ]
        return builder.last(Reshape, product, builder(Concat, *sizes, axis=0))

    return ImperativeRewrite(write)


@dataclass(frozen=True)
class _Windows:
    """Sliding windows of a 2-D convolution."""

    auto_pad: str
    kernel: tuple[int, ...]
    dilations: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]

    def counts(self, builder: OpBuilder, x: SSAValue) -> list[SSAValue]:
        """Return the number of windows per axis: (size + offset) / stride."""
        sizes = [builder(Dim, x, axis=axis) for axis in (2, 3)]
        # ⌊(size + pads - span) / stride⌋ + 1 windows, or ⌈size / stride⌉ for SAME: both as one division of a
        # sum, because the size may be dynamic.
        spans = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True)]
        if self.auto_pad.startswith("SAME"):
            offsets = [stride - 1 for stride in self.strides]
        else:
            pads = (0,) * 4 if self.auto_pad == "VALID" else self.pads
            offsets = [
                pads[axis] + pads[axis + 2] - spans[axis] + stride for axis, stride in enumerate(self.strides)
            ]
        added, strides = (
            [builder.ints(each) for each in offsets],
            [builder.ints(each) for each in self.strides],
        )
        return [
            builder(Div, builder(Add, size, offset), stride)
            for size, offset, stride in zip(sizes, added, strides, strict=True)
        ]


def windows_of(root: Operation, w: SSAValue) -> _Windows:
    """Return the sliding windows of a 2-D convolution, with defaults for absent properties."""
    shape = static_shape(w.type)
    assert shape is not None
    return _Windows(
        str(decode(root.properties.get("auto_pad"))),
        integers(root, "kernel_shape", shape[2:]),
        integers(root, "dilations", (1, 1)),
        integers(root, "strides", (1, 1)),
        integers(root, "pads", (0, 0, 0, 0)),
    )


def images(w: SSAValue) -> str | None:
    """The weights are static and 2-D."""
    shape = static_shape(w.type)
    return None if shape is not None and len(shape) == 4 else "the weights are not of a known size and rank 4"


@rule(Conv(x, w, b), where=(both_known, one_group, images))
def windows_to_matmul(root: Operation, x: SSAValue, w: SSAValue, b: SSAValue) -> RewriteResult:
    """im2col: conv(x, w) = reshape(w' columns(x)), one column per window"""
    windows, shape = windows_of(root, w), static_shape(w.type)
    element, batch = element_type(x.type), known_size(x, 0)
    if shape is None or element is None:
        return MatchFailure("the weights are not of a known size")
    given = {
        name: root.properties[name] for name in ("dilations", "pads", "strides") if name in root.properties
    }

    def write(op: Operation) -> Sequence[SSAValue]:
        builder = OpBuilder(op)
        sizes = (DYNAMIC_INDEX if batch is None else batch, prod(shape[1:]), DYNAMIC_INDEX)
        columns = builder(
            Im2Col,
            x,
            types=[tensor_type(sizes, element)],
            auto_pad=windows.auto_pad,
            kernel_shape=windows.kernel,
            **given,
        )
        if batch == 1:
            columns = flattened(builder, columns, 2, leading=True)
        matrix = builder(Reshape, w, builder.ints(shape[0], prod(shape[1:])))
        product = biased(builder, builder(MatMul, matrix, columns), b)
        outer = [builder(Dim, x, axis=0), builder(Dim, w, axis=0)]
        return builder.last(Reshape, product, builder(Concat, *outer, *windows.counts(builder, x), axis=0))

    return ImperativeRewrite(write)


@dataclass(frozen=True)
class _TransposedAxis:
    """One spatial axis of a transposed convolution."""

    size: int
    kernel: int
    stride: int
    dilation: int
    extra: int

    @property
    def span(self) -> int:
        """Return the size of the dilated kernel."""
        return (self.kernel - 1) * self.dilation + 1

    def trimmed(self, output: int) -> int:
        """Return the total cropping for an output dimension."""
        return self.stride * (self.size - 1) + self.extra + self.span - output


def cut_off(root: Operation, axes: Sequence[_TransposedAxis]) -> list[tuple[int, int]]:
    """
    Return the pads that a transposed convolution crops before and after each axis.

    An odd total is cropped more at the end for SAME_UPPER only, as ONNX defines; onnx-mlir does so without
    `auto_pad` too. For strides larger than the kernel nothing is cropped, and zeros are appended (a negative
    value).
    """
    auto_pad = str(decode(root.properties.get("auto_pad")))
    outputs = integers(root, "output_shape", ())[-len(axes) :]
    if not outputs and not auto_pad.startswith("SAME"):
        pads = (0,) * (2 * len(axes)) if auto_pad == "VALID" else integers(root, "pads", (0,) * 2 * len(axes))
        return list(zip(pads[: len(axes)], pads[len(axes) :], strict=True))
    output_sizes = outputs or [axis.size * axis.stride for axis in axes]
    totals = [axis.trimmed(output) for axis, output in zip(axes, output_sizes, strict=True)]
    return [transposed_pads(total, auto_pad == "SAME_UPPER") for total in totals]


def finite(w: SSAValue) -> str | None:
    """Weights, if constant, are finite: inf · 0 of the inserted zeros would be NaN."""
    known = constant_of(ONNX, w)
    if known is None or not is_float(known.array.dtype) or bool(np.all(np.isfinite(known.array))):
        return None
    return "the weights are not finite"


@rule(ConvTranspose(x, w, b), where=(both_known, finite))
def transposed_to_plain(root: Operation, x: SSAValue, w: SSAValue, b: SSAValue) -> RewriteResult:
    """conv_transpose(x, w) = conv(x', w'), x' dilated and padded with zeros, w' flipped; w is finite"""
    assert is_ranked(x.type)
    filters, element, (batch, channels, *sizes) = (
        static_shape(w.type),
        element_type(x.type),
        x.type.get_shape(),
    )
    group = decode(root.properties.get("group"))
    if filters is None or element is None or DYNAMIC_INDEX in sizes or not is_ranked(root.results[0].type):
        return MatchFailure("a size is not known")
    if not isinstance(group, int) or filters[0] % group:
        return MatchFailure("the groups do not divide the channels")
    count, kernel = len(sizes), filters[2:]
    ones, zeros = (1,) * count, (0,) * count
    strides, dilations = integers(root, "strides", ones), integers(root, "dilations", ones)
    spans = zip(sizes, kernel, strides, dilations, integers(root, "output_padding", zeros), strict=True)
    axes = [_TransposedAxis(*numbers) for numbers in spans]
    cuts = cut_off(root, axes)
    # A full correlation pads span - 1 zeros at both ends, less what the transposed convolution crops.
    before = [axis.span - 1 - cut for axis, (cut, _) in zip(axes, cuts, strict=True)]
    after = [axis.span - 1 - cut + axis.extra for axis, (_, cut) in zip(axes, cuts, strict=True)]
    if min(*before, *after) < 0:
        return MatchFailure("more is cropped than the kernel size")
    wide = [
        (axis.size - 1) * axis.stride + 1 + first + last
        for axis, first, last in zip(axes, before, after, strict=True)
    ]
    split = (group, filters[0] // group, filters[1], *kernel)

    def write(op: Operation) -> Sequence[SSAValue]:
        builder = OpBuilder(op)
        spread = tensor_type((batch, channels, *wide), element)
        data = builder(UpsampleAndPad, x, types=[spread], strides=strides, pads=(*before, *after))
        groups = builder(Reshape, w, builder.ints(*split))
        # Flip the kernel: for step -1, Slice clamps the start to the last index, the end before the first.
        starts, ends = builder.ints(*(LAST,) * count), builder.ints(*(FIRST,) * count)
        spatial_axes, steps = builder.ints(*range(3, count + 3)), builder.ints(*(-1,) * count)
        flipped = builder(Slice, groups, starts, ends, spatial_axes, steps)
        transposed = builder(Transpose, flipped, perm=[0, 2, 1, *range(3, count + 3)])
        weights = builder(Reshape, transposed, builder.ints(group * filters[1], filters[0] // group, *kernel))
        return builder.last(
            Conv,
            data,
            weights,
            b,
            auto_pad="VALID",
            dilations=dilations,
            group=group,
            kernel_shape=kernel,
            pads=(*zeros, *zeros),
            strides=ones,
        )

    return ImperativeRewrite(write)


RULES = rules(ConvTranspose=transposed_to_plain)

TO_MATMUL = rules(Conv1x1=points_to_matmul, ConvIm2Col=windows_to_matmul)
"""Rules for convolutions as matrix products, which are applied on request only."""
