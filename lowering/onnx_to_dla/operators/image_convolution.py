"""
Convolutions over inputs in a pixel format of 1 channel, or of 3 and 4 interleaved ones.

The core reads pixels in direct mode with kernel columns folded into channels
(docs/internals/nvdla-hardware.md §3.3, §3.4).
"""

from __future__ import annotations

from dataclasses import replace

from xonnc.dialects.dla.types import cube_of, image_of
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.lowering.dla_planning.feasibility import conv_limits, kernels_at_once
from xonnc.lowering.dla_planning.surface_sizes import pixel_bytes
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import DlaBuilder, ImageValue
from xonnc.lowering.onnx_to_dla.builders.operator_builder import OperatorBuilder, TensorT
from xonnc.lowering.onnx_to_dla.builders.pixel_convolution import PixelConvolution
from xonnc.lowering.onnx_to_dla.builders.windows import output_size, trim_padding, window_of


def image_convolution(op: ConvOp, image_value: ImageValue, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower a convolution over pixels and its bias."""
    builder.check_pixels(image_value)
    kernels, bias = builder.kernels_of(op.W, 0, "the kernels"), builder.bias(op.B, "the bias")
    window = window_over(op, image_value, kernels.array.shape[2:], builder)
    check_window(image_value, kernels.array.shape[0], window, builder)
    dilations = int_values(op.dilations) or (1, 1)
    found = PixelConvolution(
        image_value,
        kernels,
        builder.numbers(op.W, "the kernels"),
        bias,
        op.group.value.data,
        (dilations[0], dilations[-1]),
        window,
    )
    return builder.pixel_convolution(found, builder.result_shape(op))


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


def check_window(image_value: ImageValue, kernels: int, window: Window2D, builder: DlaBuilder) -> None:
    """Refuse a convolution over pixels that the core does not support."""
    cube = cube_of(image_value.value.type)
    builder.check(conv_limits(cube, kernels, window))
    if kernels_at_once(builder.target, builder.precision, cube, kernels, window) is None:
        builder.refuse(
            f"a {window.kernel[0]}x{window.kernel[1]} kernel over {cube.width} pixels does not fit the "
            f"convolution buffer of {builder.target.cbuf_bytes} bytes; take the input as a feature cube"
        )
