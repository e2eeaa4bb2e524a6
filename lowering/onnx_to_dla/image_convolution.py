"""
Convolutions over inputs in a pixel format of 1 channel, or of 3 and 4 interleaved ones.

The core reads pixels in direct mode with kernel columns folded into channels
(docs/internals/nvdla-hardware.md §3.3, §3.4).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from xonnc.dialects.dla.types import CubeShape, cube_of, image_of
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.lowering.dla_planning.feasibility import conv_limits, kernels_at_once
from xonnc.lowering.dla_planning.surface_sizes import pixel_bytes
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.dla_builder import Array, DlaBuilder, ImageValue
from xonnc.lowering.onnx_to_dla.windows import output_size, trim_padding, window_of


def window_over(
    op: ConvOp, image_value: ImageValue, kernel: tuple[int, ...], builder: DlaBuilder
) -> Window2D:
    """Return the window of a convolution over pixels. Dilation is expressed by zeros in the kernels."""
    shape = cube_of(image_value.value.type)
    found = window_of(op, kernel, shape, builder)
    output_size(found, shape, builder)
    image = image_of(image_value.value.type)
    assert image is not None, "pictures are images"
    found = replace(found, kernel=found.dilated_kernel, dilations=(1, 1), pixel_bytes=pixel_bytes(image))
    return trim_padding(found, shape)


def undilated(weights: Array, dilations: tuple[int, int]) -> Array:
    """Return kernels `KxCxRxS` with zeros between the taps of a dilated kernel."""
    if dilations == (1, 1):
        return weights
    rows, columns = ((size - 1) * step + 1 for size, step in zip(weights.shape[2:], dilations, strict=True))
    spread = np.zeros((*weights.shape[:2], rows, columns), weights.dtype)
    spread[:, :, :: dilations[0], :: dilations[1]] = weights
    return spread


def flattened(weights: Array, channels: int) -> Array:
    """
    Fold kernels `KxCxRxS` to `K x S channels x R x 1`, the channels of the first column first. Weights of a
    channel that only the pixel format has are zero.
    """
    kernels, inputs, rows, columns = weights.shape
    padded = np.zeros((kernels, channels, rows, columns), weights.dtype)
    padded[:, :inputs] = weights
    return padded.transpose(0, 3, 1, 2).reshape(kernels, columns * channels, rows, 1)


def check_window(image_value: ImageValue, kernels: int, window: Window2D, builder: DlaBuilder) -> CubeShape:
    """Return the result cube of a convolution over pixels; refuse what the core does not support."""
    cube = cube_of(image_value.value.type)
    builder.check(conv_limits(cube, kernels, window))
    if kernels_at_once(builder.target, builder.precision, cube, kernels, window) is None:
        builder.refuse(
            f"a {window.kernel[0]}x{window.kernel[1]} kernel over {cube.width} pixels does not fit the "
            f"convolution buffer of {builder.target.cbuf_bytes} bytes; take the input as a feature cube"
        )
    return CubeShape(kernels, *window.output_size(cube))
