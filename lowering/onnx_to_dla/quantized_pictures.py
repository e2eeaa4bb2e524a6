"""Convolutions in integers that read pixels of 8 bits."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.types import cube_of
from xonnc.dialects.onnx.attributes import values_of
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_dla.convolution import dense
from xonnc.lowering.onnx_to_dla.integers import Integers, Kernels, nearest_kernels
from xonnc.lowering.onnx_to_dla.lowering import Array, Picture
from xonnc.lowering.onnx_to_dla.pictures import check_window, flattened, undilated, window_over
from xonnc.lowering.onnx_to_dla.pixel_readings import Reading, exact_reading, nearest_reading
from xonnc.lowering.onnx_to_dla.reals import Affine

SAME = 1e-9
"""Relative differences of steps that are rounding's."""


def pictured(op: ConvOp, picture: Picture, to: Integers) -> Affine:
    """
    A convolution over pixels and its bias.

    It reads the integers that the model rounds its input to, where the converter can make them; else finer
    ones of its own: kernels and bias are then those of the pixels.
    """
    if picture.grid is None or not picture.is_real:
        to.refuse("an image that no pair of Quantize- and DequantizeLinear rounds; put one behind the input")
    given = to.kernels_of(op.W, 0, "the kernels")
    if given.array.dtype != np.int8:
        to.refuse(
            "kernels whose zero point takes them beyond 8 bits, over pixels; take the input as a feature cube"
        )
    groups = op.group.value.data
    dilations = _pair(values_of(op.dilations) or (1, 1))
    window = window_over(op, picture, given.array.shape[2:], to)
    cube = check_window(picture, given.array.shape[0], window, to)
    bias = np.zeros(1) if op.B.type == NONE else to.real_constant(op.B)
    if bias is None:
        to.refuse("the bias must be constant, found a computed value")
    reading = exact_reading(picture.pixels, picture.grid)
    if reading is not None:
        kernels = Kernels(dense(given.array, groups), given.scales)
        scale = picture.grid.scale * kernels.scales
        shift = scale * (picture.grid.zero * kernels.array.sum(axis=(1, 2, 3), dtype=np.int64))
    else:
        reading = nearest_reading(picture.pixels, is_padded=any(window.pads))
        if reading is None:
            to.refuse(f"pixels of mean {list(picture.pixels.mean)} (means lie among the pixels, 0 to 255)")
        kernels = _kernels_of_pixels(op, given, groups, picture, reading, to)
        scale = kernels.scales
        shift = scale * (kernels.array.sum(axis=(2, 3), dtype=np.int64) @ -_beyond(picture, reading))
    channels = cube_of(picture.value.type).channels
    weights = flattened(undilated(kernels.array, dilations), channels)

    def make() -> SSAValue:
        means = None if reading.means is None else (*reading.means, *reading.means)[:channels]
        held = to.kernels(weights)
        return to.conv(picture.value, held, window, reading.pad, reading.converter, means)

    numbers = bias.astype(np.float64).reshape(-1) - shift
    return Affine(make, cube, to.result_shape(op), scale, numbers)


def _pair(values: tuple[int, ...]) -> tuple[int, int]:
    return values[0], values[-1]


def _beyond(picture: Picture, reading: Reading) -> Array:
    """What the integers of each channel lie above those of its mean, in parts of one too."""
    return (np.array(reading.offsets) - np.array(picture.pixels.mean)) * reading.factor


def _kernels_of_pixels(
    op: ConvOp, given: Kernels, groups: int, picture: Picture, reading: Reading, to: Integers
) -> Kernels:
    """Kernels that multiply the integers of pixels: each channel's are as large as its steps."""
    steps = 1 / (reading.factor * np.array(picture.pixels.std))
    if np.ptp(steps) <= SAME * steps[0]:
        return Kernels(dense(given.array, groups), given.scales * steps[0])
    numbers = to.real_constant(op.W)
    assert numbers is not None, "kernels_of found constants"
    return nearest_kernels(dense(numbers.astype(np.float64), groups) * steps.reshape(1, -1, 1, 1))
