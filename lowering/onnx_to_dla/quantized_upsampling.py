"""ConvTranspose in int8, as sub-pixel convolutions."""

from __future__ import annotations

from xdsl.ir import SSAValue

from xonnc.dialects.dla.types import cube_of
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops.nn import ConvTransposeOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_dla.convolution import batch_of, tiled
from xonnc.lowering.onnx_to_dla.dequantized import Concatenated, Dequantized, QuantizedCube
from xonnc.lowering.onnx_to_dla.quantized_builder import QuantizedDlaBuilder, QuantizedKernels, lowers
from xonnc.lowering.onnx_to_dla.quantized_convolution import convolution
from xonnc.lowering.onnx_to_dla.upsampling import (
    crop,
    dense_transposed_kernels,
    interleave,
    taps_of,
    transposed_convolution,
)


@lowers(ConvTransposeOp)
def conv_transpose(op: ConvTransposeOp, builder: QuantizedDlaBuilder) -> Dequantized:
    """Lower ConvTranspose: one convolution per output phase, whose results are interleaved."""
    source, shape = builder.stored_spatial(op.X), builder.result_shape(op)
    batch = batch_of(shape, builder)
    groups = op.group.value.data * batch
    kernels = builder.integer_kernels(op.W, 1, "the kernels")
    if kernels.array.ndim != 4:
        builder.refuse(f"{kernels.array.ndim - 2} spatial dimensions (transposed convolutions take 2)")
    if op.group.value.data > 1 and kernels.scales.size > 1:
        builder.refuse("grouped weights with per-channel scales; use one scale")
    bias = None if op.B.type == NONE else builder.real_constant(op.B)
    if bias is None and op.B.type != NONE:
        builder.refuse("the bias must be constant, found a computed value")
    bias = None if bias is None else tiled(bias, batch)
    scales = kernels.scales if kernels.scales.size == 1 else tiled(kernels.scales, batch)
    given = tiled(kernels.array.swapaxes(0, 1), batch)
    weights = dense_transposed_kernels(given, groups, int_values(op.dilations) or (1, 1))
    plan = transposed_convolution(op, weights.shape[2:], cube_of(source.value.type), builder)
    parts = [
        convolution(
            QuantizedCube(plan.source(source.value, row, column, builder), source.qparams),
            QuantizedKernels(taps_of(weights, row, column), scales),
            bias,
            plan.window(row, column),
            shape,
            builder,
        )
        for row in plan.rows
        for column in plan.columns
    ]

    def join(values: list[SSAValue]) -> SSAValue:
        count = len(plan.columns)
        by_row = [values[begin : begin + count] for begin in range(0, len(values), count)]
        return crop(interleave(by_row, builder), plan.height, plan.width, builder)

    return Concatenated(tuple(parts), shape, join)
