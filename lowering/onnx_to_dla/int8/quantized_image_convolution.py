"""Int8 convolutions over 8-bit pixels."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.formats.nvdla.quantization import QuantizationParameters
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array, DlaBuilder, ImageValue
from xonnc.lowering.onnx_to_dla.builders.kernels import Kernels, dense, quantize_kernels
from xonnc.lowering.onnx_to_dla.builders.pixel_conversion import (
    PixelConversion,
    exact_conversion,
    nearest_conversion,
)
from xonnc.lowering.onnx_to_dla.builders.pixel_convolution import PixelConvolution
from xonnc.lowering.onnx_to_dla.int8.dequantized import Affine

SAME = 1e-9
"""Relative difference of scales that rounding errors explain."""


def check_pixels(image_value: ImageValue, builder: DlaBuilder) -> QuantizationParameters:
    """Return the scale and zero point of an image; refuse one that the model does not quantize."""
    if image_value.qparams is None or not image_value.is_real:
        builder.refuse(
            "an image input that is not quantized; insert QuantizeLinear and DequantizeLinear after it"
        )
    return image_value.qparams


def convolution_of_pixels(found: PixelConvolution, shape: tuple[int, ...], builder: DlaBuilder) -> Affine:
    """
    Build a convolution over pixels.

    It reads the integers of the model's QuantizeLinear if the input converter can produce them; else finer
    ones, whose scale and offset are folded into kernels and bias.
    """
    image_value, qparams = found.image, check_pixels(found.image, builder)
    if found.kernels.array.dtype != np.int8:
        builder.refuse(
            "weights that exceed 8 bits less their zero point, over pixels; take the input as a feature cube"
        )
    conversion = exact_conversion(image_value.pixels, qparams)
    if conversion is not None:
        kernels = found.kernels.dense(found.groups)
        scale = qparams.scale * kernels.scales
        shift = scale * (qparams.zero_point * kernels.array.sum(axis=(1, 2, 3), dtype=np.int64))
    else:
        conversion = nearest_conversion(image_value.pixels, is_padded=any(found.window.pads))
        if conversion is None:
            builder.refuse(f"mean {list(image_value.pixels.mean)} (means of 8-bit pixels are 0 to 255)")
        kernels = _kernels_of_pixels(found, conversion)
        scale = kernels.scales
        shift = scale * (kernels.array.sum(axis=(2, 3), dtype=np.int64) @ -_beyond(image_value, conversion))
    weights, channels, window = found.folded(kernels.array), found.channels, found.window

    def make() -> SSAValue:
        means = None if conversion.means is None else (*conversion.means, *conversion.means)[:channels]
        folded = builder.kernels(weights)
        return builder.conv(image_value.value, folded, window, conversion.pad, conversion.converter, means)

    bias = np.zeros(1) if found.bias is None else found.bias
    cube = CubeShape(len(weights), *window.output_size(cube_of(image_value.value.type)))
    return Affine(make, cube, shape, scale, bias.astype(np.float64).reshape(-1) - shift)


def _beyond(image_value: ImageValue, conversion: PixelConversion) -> Array:
    """Return how far the integers of each channel lie above those of its mean, with fractions."""
    return (np.array(conversion.offsets) - np.array(image_value.pixels.mean)) * conversion.factor


def _kernels_of_pixels(found: PixelConvolution, conversion: PixelConversion) -> Kernels:
    """Return kernels for the converted pixels, scaled per input channel."""
    steps = 1 / (conversion.factor * np.array(found.image.pixels.std))
    if np.ptp(steps) <= SAME * steps[0]:
        return found.kernels.dense(found.groups).times(steps[0])
    return quantize_kernels(
        dense(found.numbers.astype(np.float64), found.groups) * steps.reshape(1, -1, 1, 1)
    )
