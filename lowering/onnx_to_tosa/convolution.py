"""Convolutions: ordinary, depthwise, grouped and transposed ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import tosa
from xdsl.dialects.builtin import IntegerAttr, f16, f32, i8, i32
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops.nn import ConvOp, ConvTransposeOp
from xonnc.dialects.onnx.types import NONE, tensor_type
from xonnc.dialects.tosa.convolution import Conv2DOp, DepthwiseConv2DOp, TransposeConv2DOp
from xonnc.dialects.tosa.types import element_of, shape_of
from xonnc.lowering.onnx_to_tosa.tosa_builder import NCHW, Array, TosaBuilder, array_attr, lowers
from xonnc.lowering.onnx_to_tosa.windows import Window, cut, image, used_part, window


@dataclass(frozen=True)
class Kernels:
    """
    Weights `OxC/group x KHxKW` as a constant or a value, a bias per kernel, and zero points of integers.
    """

    weights: Array | SSAValue
    bias: SSAValue
    group: int
    input_zero: int = 0
    weight_zero: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the weights."""
        weights = self.weights
        return shape_of(weights) if isinstance(weights, SSAValue) else weights.shape

    def ordered(self, order: Sequence[int], builder: TosaBuilder) -> SSAValue:
        """Return the weights with their dimensions in another order."""
        if isinstance(self.weights, SSAValue):
            return builder.transpose(self.weights, order)
        return builder.const(self.weights.transpose(order))


@lowers(ConvOp)
def conv(op: ConvOp, builder: TosaBuilder) -> SSAValue:
    """A convolution in NHWC, with transposes before and after it."""
    x, out = builder.value(op.X), builder.result_shape(op)
    filters = builder.constant(op.W)
    weights = builder.value(op.W) if filters is None else filters
    made = out[1]
    bias = builder.scalar(0.0, element_of(x)) if op.B.type == NONE else builder.value(op.B)
    if isinstance(weights, SSAValue):
        weights = builder.reshape(weights, as_image(shape_of(weights)))
    else:
        weights = weights.reshape(as_image(weights.shape))
    kernels = Kernels(weights, bias, op.group.value.data)
    assert made == kernels.shape[0]
    result = convolved(op, x, kernels, builder)
    return builder.reshape(builder.transpose(result, NCHW), out)


def as_image(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the weights of a convolution on lines for one on images."""
    return (*shape[:2], 1, shape[2]) if len(shape) == 3 else shape


def convolved(op: ConvOp, x: SSAValue, kernels: Kernels, builder: TosaBuilder) -> SSAValue:
    """Return the NHWC result of a convolution of an NCHW image."""
    shape, out = shape_of(x), builder.result_shape(op)
    source = image(x, builder)
    spatial = len(shape) - 2
    reach = window(op, kernels.shape[4 - spatial :], shape[2:], out[2:])
    source = used_part(source, reach, builder)
    channels = shape[1]
    if kernels.group == 1:
        return _forward(Conv2DOp, source, kernels.ordered((0, 2, 3, 1), builder), kernels, reach, builder)
    if kernels.group == channels:
        return _depthwise(source, kernels, reach, builder)
    return _grouped(source, kernels, reach, builder)


def _depthwise(source: SSAValue, kernels: Kernels, reach: Window, builder: TosaBuilder) -> SSAValue:
    """A convolution with one group for each channel: kernels `KHxKWxCxM`."""
    made, _, rows, columns = kernels.shape
    weights, channels = kernels.weights, shape_of(source)[3]
    split = (channels, made // channels, rows, columns)
    if isinstance(weights, SSAValue):
        ordered = builder.transpose(builder.reshape(weights, split), (2, 3, 0, 1))
    else:
        ordered = builder.const(weights.reshape(split).transpose(2, 3, 0, 1))
    return _forward(DepthwiseConv2DOp, source, ordered, kernels, reach, builder)


def _grouped(source: SSAValue, kernels: Kernels, reach: Window, builder: TosaBuilder) -> SSAValue:
    """A convolution for each group, joined along the channels."""
    shape, group = shape_of(source), kernels.group
    taken, made = shape[3] // group, kernels.shape[0] // group
    weights = kernels.ordered((0, 2, 3, 1), builder)
    parts: list[SSAValue] = []
    for index in range(group):
        part = cut(source, (0, 0, 0, index * taken), (*shape[:3], taken), builder)
        own = cut(weights, (index * made, 0, 0, 0), (made, *shape_of(weights)[1:]), builder)
        bias = kernels.bias
        if shape_of(bias) != (1,):
            bias = cut(bias, (index * made,), (made,), builder)
        of_group = Kernels(own, bias, 1, kernels.input_zero, kernels.weight_zero)
        parts.append(_forward(Conv2DOp, part, own, of_group, reach, builder))
    first = shape_of(parts[0])
    type_ = tensor_type((*first[:3], kernels.shape[0]), element_of(parts[0]))
    return builder.emit(tosa.ConcatOp, parts, type_, axis=IntegerAttr(3, i32))


def _forward(
    kind: type[Conv2DOp | DepthwiseConv2DOp],
    source: SSAValue,
    weights: SSAValue,
    kernels: Kernels,
    reach: Window,
    builder: TosaBuilder,
) -> SSAValue:
    shape = shape_of(source)
    sizes = [
        (size + before + after - (length - 1) * dilation - 1) // stride + 1
        for size, before, after, length, dilation, stride in zip(
            shape[1:3], reach.pads[::2], reach.pads[1::2], reach.kernel, reach.dilations, reach.strides,
            strict=True,
        )
    ]  # fmt: skip
    made = shape_of(weights)[0] if kind is Conv2DOp else kernels.shape[0]
    operands = [source, weights, kernels.bias, *_zero_points(source, weights, kernels, builder)]
    return builder.emit(
        kind,
        operands,
        tensor_type((shape[0], *sizes, made), element_of(kernels.bias)),
        pad=array_attr(*reach.pads),
        stride=array_attr(*reach.strides),
        dilation=array_attr(*reach.dilations),
        acc_type=accumulator(source),
    )


def _zero_points(
    source: SSAValue, weights: SSAValue, kernels: Kernels, builder: TosaBuilder
) -> tuple[SSAValue, SSAValue]:
    return builder.zero_point(source, kernels.input_zero), builder.zero_point(weights, kernels.weight_zero)


def accumulator(value: SSAValue) -> Attribute:
    """Return the type in which products of elements are summed."""
    element = element_of(value)
    if element == i8:
        return i32
    return f16 if element == f16 else f32


@lowers(ConvTransposeOp)
def transposed_conv(op: ConvTransposeOp, builder: TosaBuilder) -> SSAValue:
    """A transposed convolution; pads cut rows and columns of the result off."""
    x, out = builder.value(op.X), builder.result_shape(op)
    spatial = len(out) - 2
    source = image(x, builder)
    if op.group.value.data > 1:
        builder.refuse(f"{op.group.value.data} groups (TOSA's transposed convolution has one)")
    dilations = int_values(op.dilations) or (1,)
    if max(dilations) > 1:
        builder.refuse(f"dilations {list(dilations)} (TOSA's transposed convolution has none)")
    weights = builder.value(op.W)
    shape = as_image(shape_of(weights))
    strides = (1,) * (2 - spatial) + (int_values(op.strides) or (1,) * spatial)
    sizes = (1,) * (2 - spatial) + out[2:]
    pads = _out_pads(op, shape_of(source)[1:3], shape[2:], strides, sizes)
    if min(pads) <= -max(shape[2:]):
        builder.refuse(
            f"out_pad {list(pads)} with a kernel {list(shape[2:])} (TOSA cuts less than a kernel off)"
        )
    filters = builder.constant(op.W)
    if filters is None:
        ordered = builder.transpose(builder.reshape(weights, shape), (1, 2, 3, 0))
    else:
        ordered = builder.const(filters.reshape(shape).transpose(1, 2, 3, 0))
    bias = builder.scalar(0.0, element_of(x)) if op.B.type == NONE else builder.value(op.B)
    result = builder.emit(
        TransposeConv2DOp,
        [source, ordered, bias, builder.zero_point(source), builder.zero_point(ordered)],
        tensor_type((shape_of(source)[0], *sizes, shape[1]), element_of(x)),
        out_pad=array_attr(*pads),
        stride=array_attr(*strides),
        acc_type=accumulator(x),
    )
    return builder.reshape(builder.transpose(result, NCHW), out)


def _out_pads(
    op: ConvTransposeOp,
    rows_and_columns: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    sizes: Sequence[int],
) -> list[int]:
    """Return the rows and columns added around the result of a transposed convolution without pads."""
    given = int_values(op.pads)
    extra = int_values(op.output_padding) or (0,) * len(kernel)
    front = len(kernel) - len(given or kernel) // (2 if given else 1)
    pads: list[int] = []
    for axis, (source, length, stride, made) in enumerate(
        zip(rows_and_columns, kernel, strides, sizes, strict=True)
    ):
        full_size = (source - 1) * stride + length
        if given is not None and op.auto_pad.data == "NOTSET" and op.output_shape is None:
            begin = 0 if axis < front else given[axis - front]
        else:
            # What is cut off, the odd row at the end for SAME_UPPER.
            total = full_size + extra[axis - len(kernel) + len(extra)] - made
            begin = total // 2 if op.auto_pad.data == "SAME_UPPER" else total - total // 2
        pads += [-begin, made - full_size + begin]
    return pads
