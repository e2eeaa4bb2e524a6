"""Expand ops that ONNX does not have to ONNX operators, so that the reference can run their instances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import element_type, numpy_dtype, static_shape
from xonnc.rewriting.attribute_conversion import decode
from xonnc.rewriting.onnx import (
    Add,
    Concat,
    ConcatShapeTranspose,
    Gather,
    Identity,
    Im2Col,
    LayoutTransform,
    Reshape,
    RMSLayerNormalization,
    RMSNormalization,
    Shape,
    ShapeTransform,
    Transpose,
    UpsampleAndPad,
)
from xonnc.rewriting.patterns import Array, RewriteResult, absent, attr, rest, value
from xonnc.rewriting.rules import rule, rules
from xonnc.transforms.rules.conditions import is_absent
from xonnc.transforms.shapes.convolution import same_pads


def gathered(x: SSAValue, source_indices: Callable[[Array], Array]) -> RewriteResult:
    """Express a movement of x's elements as a Gather; positions without an element are zero."""
    shape, element = static_shape(x.type), element_type(x.type)
    assert shape is not None
    assert element is not None
    numbers = np.arange(prod(shape), dtype=np.int64).reshape(shape)
    everything = Concat(Reshape(x, np.array([-1], np.int64)), np.zeros(1, numpy_dtype(element)), axis=0)
    return Gather(everything, source_indices(numbers + 1) - 1, axis=0)


def spread(numbers: Array, strides: Sequence[int], pads: Sequence[int]) -> Array:
    """Insert zeros between elements along the last axes, and pad them with zeros."""
    axes = len(strides)
    sizes = [(size - 1) * stride + 1 for size, stride in zip(numbers.shape[-axes:], strides, strict=True)]
    wide = np.zeros((*numbers.shape[:-axes], *sizes), numbers.dtype)
    wide[(..., *(slice(None, None, stride) for stride in strides))] = numbers
    around = [(0, 0)] * (numbers.ndim - axes)
    return np.pad(wide, [*around, *zip(pads[:axes], pads[axes:], strict=True)])


@rule(UpsampleAndPad(value.x, strides=attr.strides, pads=attr.pads))
def upsample_and_pad(x: SSAValue, strides: Sequence[int], pads: Sequence[int]) -> RewriteResult:
    """Insert zeros between elements and pad with zeros"""
    return gathered(x, lambda numbers: spread(numbers, strides, pads))


def columns(numbers: Array, root: Operation) -> Array:
    """Return the windows of a 2-D convolution as columns (im2col)."""
    properties = {name: decode(found) for name, found in root.properties.items()}
    kernel, strides, dilations, pads = (
        np.array(properties.get(name) or default)
        for name, default in (
            ("kernel_shape", ()),
            ("strides", (1, 1)),
            ("dilations", (1, 1)),
            ("pads", (0, 0, 0, 0)),
        )
    )
    spans = (kernel - 1) * dilations + 1
    if str(properties["auto_pad"]).startswith("SAME"):
        upper = properties["auto_pad"] == "SAME_UPPER"
        pads = np.array(same_pads(numbers.shape[2:], spans.tolist(), tuple(strides.tolist()), upper))
    padded = np.pad(numbers, [(0, 0), (0, 0), *zip(pads[:2], pads[2:], strict=True)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, tuple(spans), (2, 3))
    windows = windows[:, :, :: strides[0], :: strides[1], :: dilations[0], :: dilations[1]]
    positions = np.moveaxis(windows, (4, 5), (2, 3))
    return positions.reshape(len(numbers), -1, prod(positions.shape[4:]))


@rule(Im2Col(value.x))
def im2col(root: Operation, x: SSAValue) -> RewriteResult:
    """Windows of a convolution as columns (im2col)"""
    return gathered(x, lambda numbers: columns(numbers, root))


@rule(RMSLayerNormalization(value.x, value.scale, value.b, axis=attr.axis, epsilon=attr.epsilon))
def rms_norm(x: SSAValue, scale: SSAValue, b: SSAValue, axis: int, epsilon: float) -> RewriteResult:
    """RMSNormalization of opset 23, and an addition of the bias"""
    made = RMSNormalization(x, scale, axis=axis, epsilon=epsilon, stash_type=1).typed(x)
    return (made if is_absent(b) else Add(made, b).typed(x)), absent


@rule(ShapeTransform(value.x, index_map=attr.index_map))
def shape_transform(root: Operation, x: SSAValue, index_map: AffineMapAttr) -> RewriteResult:
    """Element i moves to the index that the affine map gives"""
    made = static_shape(root.results[0].type)
    assert made is not None

    def moved(numbers: Array) -> Array:
        result = np.zeros(made, numbers.dtype)
        for index in np.ndindex(*numbers.shape):
            result[tuple(index_map.data.eval(list(index), []))] = numbers[index]
        return result

    return gathered(x, moved)


@rule(ConcatShapeTranspose(rest.parts, axis=attr.axis, start=attr.start, end=attr.end, perm=attr.perm))
def concat_shape_transpose(
    parts: Sequence[SSAValue], axis: int, start: int, end: int | None, perm: tuple[int, ...] | None
) -> RewriteResult:
    """The shape of a concatenation, and its transpose"""
    joined = Concat(*parts, axis=axis)
    shape = Shape(joined, start=start) if end is None else Shape(joined, start=start, end=end)
    return shape, Transpose(joined) if perm is None else Transpose(joined, perm=perm)


EXPANSIONS = rules(
    ConcatShapeTranspose=concat_shape_transpose,
    Im2Col=im2col,
    # The memory layout does not change the values.
    LayoutTransform=rule(LayoutTransform(value.x), Identity(value.x)),
    RMSLayerNormalization=rms_norm,
    ShapeTransform=shape_transform,
    UpsampleAndPad=upsample_and_pad,
)
