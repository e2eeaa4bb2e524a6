"""Poolings of windows and of whole images."""

from __future__ import annotations

from math import inf
from typing import TypeAlias

from xdsl.dialects import tosa
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops.extra import MaxPoolSingleOutOp
from xonnc.dialects.onnx.ops.nn import AveragePoolOp, GlobalAveragePoolOp, GlobalMaxPoolOp, MaxPoolOp
from xonnc.dialects.onnx.types import NONE, tensor_type
from xonnc.dialects.tosa.types import element_of, shape_of
from xonnc.lowering.onnx_to_tosa.convolution import accumulator
from xonnc.lowering.onnx_to_tosa.reductions import mean, reduced
from xonnc.lowering.onnx_to_tosa.tosa_builder import NCHW, TosaBuilder, array_attr, is_real, lowers
from xonnc.lowering.onnx_to_tosa.windows import Window, image, padded, used_part, window

AnyMaxPoolOp: TypeAlias = MaxPoolOp | MaxPoolSingleOutOp


@lowers(MaxPoolOp, MaxPoolSingleOutOp)
def max_pool(op: AnyMaxPoolOp, builder: TosaBuilder) -> SSAValue:
    """A maximum pooling in NHWC."""
    if isinstance(op, MaxPoolOp) and op.Indices.type != NONE and op.Indices.first_use is not None:
        builder.refuse("the indices are read (TOSA's pooling gives none)")
    source, reach = _source(op, builder)
    source = used_part(source, reach, builder)
    if max(reach.dilations) > 1:
        builder.refuse(f"dilations {list(reach.dilations)} (TOSA's pooling has none)")
    element = element_of(source)
    lowest = -inf if is_real(source) else -(2 ** (_bits(element) - 1))
    source, reach = _with_small_pads(source, reach, lowest, builder)
    type_ = _type(source, reach)
    pooled = builder.emit(
        tosa.MaxPool2DOp,
        [source],
        type_,
        kernel=array_attr(*reach.kernel),
        stride=array_attr(*reach.strides),
        pad=array_attr(*reach.pads),
    )
    return builder.reshape(builder.transpose(pooled, NCHW), builder.result_shape(op))


@lowers(AveragePoolOp)
def average_pool(op: AveragePoolOp, builder: TosaBuilder) -> SSAValue:
    """An average pooling in NHWC, of real elements."""
    source, reach = _source(op, builder)
    if max(reach.dilations) > 1:
        builder.refuse(f"dilations {list(reach.dilations)} (TOSA's pooling has none)")
    source = used_part(source, reach, builder)
    if op.count_include_pad.value.data:
        source, reach = _with_zeros(op, source, reach, builder)
    elif any(pad >= size for pad, size in zip(reach.pads, _both(reach), strict=True)):
        builder.refuse(f"pads {list(reach.pads)} as large as the kernel (TOSA takes less)")
    pooled = builder.emit(
        tosa.AvgPool2DOp,
        [source, builder.zero_point(source), builder.zero_point(source)],
        _type(source, reach),
        kernel=array_attr(*reach.kernel),
        stride=array_attr(*reach.strides),
        pad=array_attr(*reach.pads),
        acc_type=accumulator(source),
    )
    return builder.reshape(builder.transpose(pooled, NCHW), builder.result_shape(op))


def _with_zeros(
    op: AveragePoolOp, source: SSAValue, reach: Window, builder: TosaBuilder
) -> tuple[SSAValue, Window]:
    """Return an image with its pads as zeros that are counted; those that ceil_mode adds are not."""
    given = int_values(op.pads) or (0,) * (2 * len(op.kernel_shape))
    ends = (0,) * (2 - len(given) // 2) + given[len(given) // 2 :]
    if any(end > known for end, known in zip(reach.ends, ends, strict=True)) and op.auto_pad.data == "NOTSET":
        builder.refuse("ceil_mode with count_include_pad (TOSA counts all or none of the pads)")
    return _padded(source, reach, 0.0, builder)


def _padded(source: SSAValue, reach: Window, value: float, builder: TosaBuilder) -> tuple[SSAValue, Window]:
    """Return an image with its pads made explicit, and the window without them."""
    pads = [(0, 0), (reach.pads[0], reach.pads[1]), (reach.pads[2], reach.pads[3]), (0, 0)]
    none = Window(reach.kernel, reach.strides, reach.dilations, (0, 0), (0, 0))
    return padded(source, pads, value, builder), none


def _source(op: AnyMaxPoolOp | AveragePoolOp, builder: TosaBuilder) -> tuple[SSAValue, Window]:
    x, out = builder.value(op.X), builder.result_shape(op)
    kernel = int_values(op.kernel_shape) or ()
    source = image(x, builder)
    return source, window(op, kernel, shape_of(x)[2:], out[2:])


def _with_small_pads(
    source: SSAValue, reach: Window, value: float, builder: TosaBuilder
) -> tuple[SSAValue, Window]:
    """Return an image with pads that are smaller than the kernel, as TOSA demands; larger ones explicit."""
    if all(pad < size for pad, size in zip(reach.pads, _both(reach), strict=True)):
        return source, reach
    return _padded(source, reach, value, builder)


def _both(reach: Window) -> tuple[int, int, int, int]:
    """Return the size of the kernel at each side."""
    return reach.kernel[0], reach.kernel[0], reach.kernel[1], reach.kernel[1]


def _type(source: SSAValue, reach: Window):
    shape = shape_of(source)
    sizes = [
        (shape[1 + axis] + reach.pads[2 * axis] + reach.pads[2 * axis + 1] - reach.kernel[axis])
        // reach.strides[axis]
        + 1
        for axis in (0, 1)
    ]
    return tensor_type((shape[0], *sizes, shape[3]), element_of(source))


def _bits(element: object) -> int:
    assert isinstance(element, IntegerType)
    return element.bitwidth


@lowers(GlobalAveragePoolOp)
def global_average_pool(op: GlobalAveragePoolOp, builder: TosaBuilder) -> SSAValue:
    """The mean over all spatial dimensions."""
    x = builder.value(op.X)
    return mean(x, range(2, len(shape_of(x))), builder)


@lowers(GlobalMaxPoolOp)
def global_max_pool(op: GlobalMaxPoolOp, builder: TosaBuilder) -> SSAValue:
    """The maximum over all spatial dimensions."""
    x = builder.value(op.X)
    return reduced(tosa.ReduceMaxOp, x, range(2, len(shape_of(x))), builder)
