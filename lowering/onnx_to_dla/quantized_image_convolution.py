"""Int8 convolutions over 8-bit pixels."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.types import cube_of
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_dla.convolution import dense
from xonnc.lowering.onnx_to_dla.dequantized import Affine
from xonnc.lowering.onnx_to_dla.dla_builder import Array, ImageValue
from xonnc.lowering.onnx_to_dla.image_convolution import check_window, flattened, undilated, window_over
from xonnc.lowering.onnx_to_dla.pixel_conversion import PixelConversion, exact_conversion, nearest_conversion
from xonnc.lowering.onnx_to_dla.quantized_builder import (
    QuantizedDlaBuilder,
    QuantizedKernels,
    quantize_kernels,
)

SAME = 1e-9
"""Relative difference of scales that rounding errors explain."""


def image_convolution(op: ConvOp, image_value: ImageValue, builder: QuantizedDlaBuilder) -> Affine:
    """
    Lower a convolution over pixels and its bias.

    It reads the integers of the model's QuantizeLinear if the input converter can produce them; else finer
    ones, whose scale and offset are folded into kernels and bias.
    """
    if image_value.qparams is None or not image_value.is_real:
        builder.refuse(
            "an image input that is not quantized; insert QuantizeLinear and DequantizeLinear after it"
        )
    given = builder.integer_kernels(op.W, 0, "the kernels")
    if given.array.dtype != np.int8:
        builder.refuse(
            "weights that exceed 8 bits less their zero point, over pixels; take the input as a feature cube"
        )
    groups = op.group.value.data
    dilations = _pair(int_values(op.dilations) or (1, 1))
    window = window_over(op, image_value, given.array.shape[2:], builder)
    cube = check_window(image_value, given.array.shape[0], window, builder)
    bias = np.zeros(1) if op.B.type == NONE else builder.real_constant(op.B)
    if bias is None:
        builder.refuse("the bias must be constant, found a computed value")
    conversion = exact_conversion(image_value.pixels, image_value.qparams)
    if conversion is not None:
        kernels = QuantizedKernels(dense(given.array, groups), given.scales)
        scale = image_value.qparams.scale * kernels.scales
        shift = scale * (image_value.qparams.zero_point * kernels.array.sum(axis=(1, 2, 3), dtype=np.int64))
    else:
        conversion = nearest_conversion(image_value.pixels, is_padded=any(window.pads))
        if conversion is None:
            builder.refuse(f"mean {list(image_value.pixels.mean)} (means of 8-bit pixels are 0 to 255)")
        kernels = _kernels_of_pixels(op, given, groups, image_value, conversion, builder)
        scale = kernels.scales
        shift = scale * (kernels.array.sum(axis=(2, 3), dtype=np.int64) @ -_beyond(image_value, conversion))
    channels = cube_of(image_value.value.type).channels
    weights = flattened(undilated(kernels.array, dilations), channels)

    def make() -> SSAValue:
        means = None if conversion.means is None else (*conversion.means, *conversion.means)[:channels]
        kernels = builder.kernels(weights)
        return builder.conv(image_value.value, kernels, window, conversion.pad, conversion.converter, means)

    numbers = bias.astype(np.float64).reshape(-1) - shift
    return Affine(make, cube, builder.result_shape(op), scale, numbers)


def _pair(values: tuple[int, ...]) -> tuple[int, int]:
    return values[0], values[-1]


def _beyond(image_value: ImageValue, conversion: PixelConversion) -> Array:
    """Return how far the integers of each channel lie above those of its mean, with fractions."""
    return (np.array(conversion.offsets) - np.array(image_value.pixels.mean)) * conversion.factor


def _kernels_of_pixels(
    op: ConvOp,
    given: QuantizedKernels,
    groups: int,
    image_value: ImageValue,
    conversion: PixelConversion,
    builder: QuantizedDlaBuilder,
) -> QuantizedKernels:
    """Return kernels for the converted pixels, scaled per input channel."""
    steps = 1 / (conversion.factor * np.array(image_value.pixels.std))
    if np.ptp(steps) <= SAME * steps[0]:
        return QuantizedKernels(dense(given.array, groups), given.scales * steps[0])
    numbers = builder.real_constant(op.W)
    assert numbers is not None, "kernels_of found constants"
    return quantize_kernels(dense(numbers.astype(np.float64), groups) * steps.reshape(1, -1, 1, 1))
