"""
Convolutions that read pixels: one channel, or three and four in a row (docs/internals/nvdla-hardware.md §3.3,
§3.4).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from xonnc.dialects.dla.types import CubeShape, cube_of, image_of
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.lowering.dla_planning.feasibility import conv_limits, kernels_at_once
from xonnc.lowering.dla_planning.surface_sizes import pixel_bytes
from xonnc.lowering.dla_planning.window import Window
from xonnc.lowering.onnx_to_dla.dla_builder import Array, DlaBuilder, ImageValue
from xonnc.lowering.onnx_to_dla.windows import counts, exact, window_of


def window_over(op: ConvOp, image_value: ImageValue, kernel: tuple[int, ...], builder: DlaBuilder) -> Window:
    """The window of a convolution over pixels; instead of dilations `undilated` kernels have zeros."""
    shape = cube_of(image_value.value.type)
    found = window_of(op, kernel, shape, builder)
    counts(found, shape, builder)
    image = image_of(image_value.value.type)
    assert image is not None, "pictures are images"
    found = replace(found, kernel=found.dilated_kernel, dilations=(1, 1), pixel_bytes=pixel_bytes(image))
    return exact(found, shape)


def undilated(weights: Array, dilations: tuple[int, int]) -> Array:
    """Kernels `KxCxRxS` with zeros where a dilated one skips pixels."""
    if dilations == (1, 1):
        return weights
    rows, columns = ((size - 1) * step + 1 for size, step in zip(weights.shape[2:], dilations, strict=True))
    spread = np.zeros((*weights.shape[:2], rows, columns), weights.dtype)
    spread[:, :, :: dilations[0], :: dilations[1]] = weights
    return spread


def flattened(weights: Array, channels: int) -> Array:
    """
    Kernels `KxCxRxS` as the core takes them for pixels of `channels`: `K x S channels x R x 1`, those of the
    first column first. A channel that the format has and the model has not counts nothing.
    """
    kernels, inputs, rows, columns = weights.shape
    padded = np.zeros((kernels, channels, rows, columns), weights.dtype)
    padded[:, :inputs] = weights
    return padded.transpose(0, 3, 1, 2).reshape(kernels, columns * channels, rows, 1)


def check_window(image_value: ImageValue, kernels: int, window: Window, builder: DlaBuilder) -> CubeShape:
    """What comes out of a convolution over pixels; gives up if the core cannot do it."""
    cube = cube_of(image_value.value.type)
    builder.check(conv_limits(cube, kernels, window))
    if kernels_at_once(builder.target, builder.precision, cube, kernels, window) is None:
        builder.refuse(
            f"a {window.kernel[0]}x{window.kernel[1]} kernel over {cube.width} pixels does not fit the "
            f"convolution buffer of {builder.target.cbuf_bytes} bytes; take the input as a feature cube"
        )
    return CubeShape(kernels, *window.output_size(cube))
