"""Conv, Gemm and MatMul with constant weights in int8, on the convolution core."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.storage import ConcatOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.ops.math import GemmOp, MatMulOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.dialects.onnx.types import NONE
from xonnc.formats.nvdla.geometry import channels_per_atom, round_up
from xonnc.formats.nvdla.quantization import INT8_MAX, INT8_MIN
from xonnc.lowering.dla_planning.feasibility import conv_limits, kernels_at_once
from xonnc.lowering.dla_planning.group_merging import merged_groups
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.convolution import (
    across_rows,
    batch_of,
    bias_of_rows,
    channels_of,
    dense,
    rows_of,
    tiled,
)
from xonnc.lowering.onnx_to_dla.dequantized import Affine, Concatenated, Dequantized, QuantizedCube
from xonnc.lowering.onnx_to_dla.dla_builder import Array, Cube
from xonnc.lowering.onnx_to_dla.quantized_builder import QuantizedDlaBuilder, QuantizedKernels, lowers
from xonnc.lowering.onnx_to_dla.quantized_image_convolution import image_convolution
from xonnc.lowering.onnx_to_dla.windows import output_size, trim_padding, window_of


@lowers(ConvOp)
def conv(op: ConvOp, builder: QuantizedDlaBuilder) -> Dequantized:
    """
    Lower Conv and its bias. Groups are merged into layers that fill whole atoms; the images of a batch are
    groups as well.
    """
    if (image_value := builder.image_value(op.X)) is not None:
        return image_convolution(op, image_value, builder)
    source, here = builder.stored_spatial(op.X), builder.stored_row(op.X)[1]
    kernels = builder.integer_kernels(op.W, 0, "the kernels")
    if kernels.array.ndim not in (3, 4):
        builder.refuse(f"{kernels.array.ndim - 2} spatial dimensions (the convolution core takes 1 or 2)")
    window = window_of(op, kernels.array.shape[2:], cube_of(source.value.type), builder)
    if kernels.array.ndim == 3:
        kernels = QuantizedKernels(kernels.array[:, :, np.newaxis, :], kernels.scales)
    bias = None if op.B.type == NONE else builder.real_constant(op.B)
    if bias is None and op.B.type != NONE:
        builder.refuse("the bias must be constant, found a computed value")
    batch = batch_of(here, builder)
    bias = None if bias is None else tiled(bias, batch)
    groups = op.group.value.data * batch
    return grouped(source, _tiled(kernels, batch), bias, window, groups, builder.result_shape(op), builder)


def _tiled(kernels: QuantizedKernels, times: int) -> QuantizedKernels:
    """Repeat kernels for each image of a batch."""
    return QuantizedKernels(tiled(kernels.array, times), _tiled_scales(kernels, times))


def _tiled_scales(kernels: QuantizedKernels, times: int) -> Array:
    return kernels.scales if kernels.scales.size == 1 else tiled(kernels.scales, times)


@lowers(GemmOp)
def gemm(op: GemmOp, builder: QuantizedDlaBuilder) -> Dequantized:
    """
    Lower Gemm, `alpha A B + beta C` with constant B and C, as a convolution whose kernel covers the whole
    cube of A.
    """
    kernels = builder.integer_kernels(op.B, 0 if op.transB.value.data else 1, "B")
    shape = builder.result_shape(op)
    bias = None if op.C.type == NONE else builder.real_constant(op.C)
    if bias is None and op.C.type != NONE:
        builder.refuse("C must be constant, found a computed value")
    if bias is not None:
        bias = bias * np.float32(op.beta.value.data)
    kernels = QuantizedKernels(kernels.array, kernels.scales * op.alpha.value.data)
    if op.transA.value.data:
        source, here = builder.stored_row(op.A)
        weights = across_rows(kernels.array, Cube(source.value, here), builder)
        columns = weights.shape[0] // kernels.array.shape[0]
        return convolution(
            source,
            QuantizedKernels(weights, _tiled_scales(kernels, columns)),
            bias_of_rows(bias, shape),
            Window2D((1, 1)),
            shape,
            builder,
        )
    return product(op.A, kernels, bias, shape, builder)


@lowers(MatMulOp)
def matmul(op: MatMulOp, builder: QuantizedDlaBuilder) -> Dequantized:
    """Lower MatMul with a constant second factor; each row of a matrix is a group of a convolution."""
    factor = builder.real_constant(op.B)
    if factor is None:
        builder.refuse("B is computed at run time (the convolution core takes constant weights)")
    if factor.ndim > 2:
        builder.refuse(f"B has rank {factor.ndim} (the convolution core takes a matrix)")
    is_vector = factor.ndim == 1
    kernels = builder.integer_kernels(op.B, 0 if is_vector else 1, "the second factor")
    return product(
        op.A, _one_output(kernels) if is_vector else kernels, None, builder.result_shape(op), builder
    )


def _one_output(kernels: QuantizedKernels) -> QuantizedKernels:
    """Return a vector as a matrix with one output channel and one scale."""
    if kernels.scales.size == 1:
        return QuantizedKernels(kernels.array[np.newaxis], kernels.scales)
    numbers = kernels.array * kernels.scales
    scale = np.array([np.abs(numbers).max() or 1.0]) / INT8_MAX
    return QuantizedKernels(np.rint(numbers / scale).astype(np.int8)[np.newaxis], scale)


def product(
    factor: SSAValue,
    kernels: QuantizedKernels,
    bias: Array | None,
    shape: tuple[int, ...],
    builder: QuantizedDlaBuilder,
) -> Dequantized:
    """
    Multiply rows of K elements by a matrix (`NxK`) and add `bias`, which is broadcast to the result. The
    elements of a row are its channels, in order.
    """
    source, here = builder.stored_row(factor)
    cube = cube_of(source.value.type)
    rows = rows_of(Cube(source.value, here), kernels.array.shape[1], builder)
    array = kernels.array.reshape(kernels.array.shape[0], cube.channels // rows, *cube[1:])
    weights = _tiled(QuantizedKernels(array, kernels.scales), rows)
    bias = bias_of_rows(bias, shape)
    return grouped(source, weights, bias, Window2D((cube.height, cube.width)), rows, shape, builder)


def convolution(
    source: QuantizedCube,
    kernels: QuantizedKernels,
    bias: Array | None,
    window: Window2D,
    shape: tuple[int, ...],
    builder: QuantizedDlaBuilder,
) -> Affine:
    """
    Build a convolution of stored integers.

    With `x = s (q - z)` the sum over q exceeds that over x / s by `z * sum(weights)`, for padding too, whose
    stored value is z. The bias subtracts it.
    """
    cube, weights = cube_of(source.value.type), kernels.array
    if weights.shape[1] != cube.channels:
        builder.refuse(f"weights for {weights.shape[1]} channels, but the input has {cube.channels}")
    if weights.dtype != np.int8:
        source, weights = _in_parts(source, weights, builder)
        cube = cube_of(source.value.type)
    rows, columns = output_size(window, cube, builder)
    window = trim_padding(window, cube)
    builder.check(conv_limits(cube, weights.shape[0], window))
    if kernels_at_once(builder.target, builder.precision, cube, weights.shape[0], window) is None:
        builder.refuse(
            f"a {weights.shape[1]}x{weights.shape[2]}x{weights.shape[3]} kernel does not fit the convolution "
            f"buffer of {builder.target.cbuf_bytes} bytes (partial sums would be quantized to int8)"
        )
    zero, scale = source.qparams.zero_point, source.qparams.scale * kernels.scales
    shift = scale * (zero * weights.sum(axis=(1, 2, 3), dtype=np.int64))

    def make() -> SSAValue:
        return builder.conv(source.value, builder.kernels(weights), window, zero)

    given = np.zeros(1) if bias is None else bias.astype(np.float64).reshape(-1)
    return Affine(make, CubeShape(weights.shape[0], rows, columns), shape, scale, given - shift)


def _in_parts(
    source: QuantizedCube, weights: Array, builder: QuantizedDlaBuilder
) -> tuple[QuantizedCube, Array]:
    """
    Split weights of more than 8 bits into sums of int8 weights along the channels, and repeat the source for
    each: all products go to the same accumulators. Repetitions start at whole atoms; weights of the lanes in
    between are zero.
    """
    cube = cube_of(source.value.type)
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


def grouped(
    source: QuantizedCube,
    kernels: QuantizedKernels,
    bias: Array | None,
    window: Window2D,
    groups: int,
    shape: tuple[int, ...],
    builder: QuantizedDlaBuilder,
) -> Dequantized:
    """Build a grouped convolution, several groups merged into each layer."""
    if groups == 1:
        return convolution(source, kernels, bias, window, shape, builder)
    weights = kernels.array
    inputs, outputs = cube_of(source.value.type).channels, weights.shape[0]
    if inputs % groups or outputs % groups:
        builder.refuse(f"group {groups} does not divide {inputs} input and {outputs} output channels")
    merged = merged_groups(
        builder.target, builder.precision, cube_of(source.value.type), outputs, window, groups
    )
    if merged == groups:
        dense_kernels = QuantizedKernels(dense(weights, groups), kernels.scales)
        return convolution(source, dense_kernels, bias, window, shape, builder)
    step_in, step_out = merged * inputs // groups, merged * outputs // groups
    parts: list[Dequantized] = []
    for index in range(groups // merged):
        rows = slice(index * step_out, (index + 1) * step_out)
        part = channels_of(source.value, index * step_in, (index + 1) * step_in, builder)
        scales = kernels.scales if kernels.scales.size == 1 else kernels.scales[rows]
        parts.append(
            convolution(
                QuantizedCube(part, source.qparams),
                QuantizedKernels(dense(weights[rows], merged), scales),
                None if bias is None else bias[rows],
                window,
                shape,
                builder,
            )
        )

    def join(values: list[SSAValue]) -> SSAValue:
        cube = cube_of(values[0].type)
        return builder(ConcatOp(values, 1, builder.cube_type(cube._replace(channels=outputs))))

    def beside(added: QuantizedCube) -> tuple[QuantizedCube, ...]:
        ends = range(step_out, outputs + 1, step_out)
        return tuple(
            QuantizedCube(channels_of(added.value, end - step_out, end, builder), added.qparams)
            for end in ends
        )

    return Concatenated(tuple(parts), shape, join, beside)
