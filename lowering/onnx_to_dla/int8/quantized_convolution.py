"""Convolutions of stored integers: sums of the convolution core as expressions of the model's numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.storage import ConcatOp
from xonnc.dialects.dla.types import CubeShape
from xonnc.formats.nvdla.geometry import channels_per_atom, round_up
from xonnc.formats.nvdla.quantization import INT8_MAX, INT8_MIN
from xonnc.lowering.dla_planning.feasibility import conv_limits, kernels_at_once
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array, Cube
from xonnc.lowering.onnx_to_dla.builders.every_nth import padded_slice
from xonnc.lowering.onnx_to_dla.builders.kernels import Kernels
from xonnc.lowering.onnx_to_dla.builders.operator_builder import OperatorBuilder
from xonnc.lowering.onnx_to_dla.builders.wide_strides import in_narrow_strides
from xonnc.lowering.onnx_to_dla.builders.windows import output_size, trim_padding
from xonnc.lowering.onnx_to_dla.int8.dequantized import Affine, viewed
from xonnc.targets import limits


def convolution(
    source: Cube,
    kernels: Kernels,
    bias: Array | None,
    window: Window2D,
    shape: tuple[int, ...],
    builder: OperatorBuilder[Any],
) -> Affine:
    """
    Build a convolution of stored integers.

    With `x = s (q - z)` the sum over q exceeds that over x / s by `z * sum(weights)`, for padding too, whose
    stored value is z. The bias subtracts it.
    """
    qparams = source.qparams
    assert qparams is not None, "integers have a scale"
    cube, weights = source.cube, kernels.array
    if weights.shape[1] != cube.channels:
        builder.refuse(f"weights for {weights.shape[1]} channels, but the input has {cube.channels}")
    if weights.dtype != np.int8:
        source, weights = _in_parts(source, weights, builder)
        cube = source.cube
    rows, columns = output_size(window, cube, builder)
    computed = None
    if (found := in_narrow_strides(source, weights, window, builder)) is not None:
        source, weights, window = found
        cube = source.cube
        computed = CubeShape(len(weights), *window.output_size(cube))
    for dimension in (0, 1):
        if limits.KERNEL.broken(window.kernel[dimension]):
            source, weights, window = _folded(source, weights, window, dimension, builder)
            cube = source.cube
    window = trim_padding(window, cube)
    if (square := shorter_rows(cube, weights.shape[0], window, builder)) is not None:
        source = replace(source, value=viewed(source.value, square, builder))
        cube = computed = square
    check_fits(cube, weights, window, builder)
    zero, scale = qparams.zero_point, qparams.scale * kernels.scales
    shift = scale * (zero * weights.sum(axis=(1, 2, 3), dtype=np.int64))

    def make() -> SSAValue:
        return builder.conv(source.value, builder.kernels(weights), window, zero)

    given = np.zeros(1) if bias is None else bias.astype(np.float64).reshape(-1)
    made = Affine(make, CubeShape(weights.shape[0], rows, columns), shape, scale, given - shift)
    return replace(made, computed=computed)


def check_fits(cube: CubeShape, weights: Array, window: Window2D, builder: OperatorBuilder[Any]) -> None:
    """Refuse a convolution that the registers or the buffer of the core do not take."""
    builder.check(conv_limits(cube, weights.shape[0], window))
    if kernels_at_once(builder.target, builder.precision, cube, weights.shape[0], window) is None:
        builder.refuse(
            f"a {weights.shape[1]}x{weights.shape[2]}x{weights.shape[3]} kernel does not fit the convolution "
            f"buffer of {builder.target.cbuf_bytes} bytes (partial sums would be quantized to int8)"
        )


def shorter_rows(
    cube: CubeShape, kernels: int, window: Window2D, builder: OperatorBuilder[Any]
) -> CubeShape | None:
    """
    Return the rows and columns as which a 1x1 kernel reads a cube whose rows do not fit the buffer.

    Such a kernel reads one position at a time. Rows are dense in memory, so that the same positions may be
    more and shorter rows.
    """
    if window != Window2D((1, 1)):
        return None

    def fits(one: CubeShape) -> bool:
        target, precision = builder.target, builder.precision
        if conv_limits(one, kernels, window) is not None:
            return False
        return kernels_at_once(target, precision, one, kernels, window) is not None

    if fits(cube):
        return None
    counts = (count for count in range(cube.height + 1, cube.positions + 1) if cube.positions % count == 0)
    shapes = (cube._replace(height=count, width=cube.positions // count) for count in counts)
    return next(filter(fits, shapes), None)


def _folded(
    source: Cube, weights: Array, window: Window2D, dimension: int, builder: OperatorBuilder[Any]
) -> tuple[Cube, Array, Window2D]:
    """
    Split a kernel that is too long in a dimension, and put what each part reads beside the others along the
    channels: all products go to the same accumulators. Parts are of one length; where the last one overlaps,
    its weights are zero. Parts read padding from memory.
    """
    cube, axis, taps = source.cube, 2 + dimension, window.kernel[dimension]
    count = -(-taps // limits.KERNEL.most)
    length = -(-taps // count)
    dilation, stride = window.dilations[dimension], window.strides[dimension]
    results = window.output_size(cube)[dimension]
    size = (results - 1) * stride + (length - 1) * dilation + 1
    part = CubeShape(*(size if index == 1 + dimension else one for index, one in enumerate(cube)))
    lanes = channels_per_atom(builder.target, builder.precision)
    step = round_up(cube.channels, lanes)
    shape = [len(weights), step * (count - 1) + cube.channels, *weights.shape[2:]]
    shape[axis] = length
    spread, read = np.zeros(shape, weights.dtype), list[SSAValue]()
    for index in range(count):
        first, begin = min(index * length, taps - length), index * length
        where = first * dilation - window.pads[dimension]
        read.append(padded_slice(source, axis, where, part, builder))
        lane, own = slice(index * step, index * step + cube.channels), range(begin, min(begin + length, taps))
        taken = np.moveaxis(weights, axis, 0)[own.start : own.stop]
        np.moveaxis(spread, axis, 0)[begin - first :, :, lane] = taken
    full = builder.cube_type(part._replace(channels=spread.shape[1]))
    value = builder(ConcatOp(read, 1, full, alignment=lanes))
    kernel = (spread.shape[2], spread.shape[3])
    pads = [0 if index % 2 == dimension else pad for index, pad in enumerate(window.pads)]
    top, left, bottom, right = pads
    folded = replace(window, kernel=kernel, pads=(top, left, bottom, right))
    return replace(source, value=value), spread, folded


def _in_parts(source: Cube, weights: Array, builder: OperatorBuilder[Any]) -> tuple[Cube, Array]:
    """
    Split weights of more than 8 bits into sums of int8 weights along the channels, and repeat the source for
    each: all products go to the same accumulators. Repetitions start at whole atoms; weights of the lanes in
    between are zero.
    """
    cube = source.cube
    parts: list[Array] = []
    while np.any(weights):
        parts.append(np.clip(weights, INT8_MIN, INT8_MAX))
        weights = weights - parts[-1]
    lanes = channels_per_atom(builder.target, builder.precision)
    step = round_up(cube.channels, lanes)
    spread = np.zeros((len(weights), step * (len(parts) - 1) + cube.channels, *weights.shape[2:]), np.int8)
    for index, part in enumerate(parts):
        spread[:, index * step : index * step + cube.channels] = part
    full_type = builder.cube_type(cube._replace(channels=spread.shape[1]))
    value = builder(ConcatOp([source.value] * len(parts), 1, full_type, alignment=lanes))
    return replace(source, value=value), spread
