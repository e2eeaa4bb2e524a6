"""ReduceMean, ReduceSum, ReduceMax and ReduceMin in int8."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import Converter, PoolMode
from xonnc.dialects.dla.types import cube_of
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.dequantized import Affine, Dequantized
from xonnc.lowering.onnx_to_dla.pooling import cascade
from xonnc.lowering.onnx_to_dla.quantized_builder import QuantizedDlaBuilder, QuantizedKernels, lowers
from xonnc.lowering.onnx_to_dla.quantized_convolution import convolution
from xonnc.lowering.onnx_to_dla.reduction import (
    EXTREMES,
    MEANS,
    SUMS,
    extremes,
    reduction_of,
    summing,
)
from xonnc.lowering.onnx_to_dla.selection import Indices, one_hot

MAX_KERNEL_BYTES = 1 << 16
"""Largest kernel of ones, which adds exactly; beyond it the PDP averages and rounds."""


@lowers(*MEANS, *SUMS)
def total(op: OnnxOp, builder: QuantizedDlaBuilder) -> Dequantized:
    """Lower ReduceMean and ReduceSum: a convolution with ones, or poolings for many rows and columns."""
    source, here = builder.stored_row(op.operands[0])
    shape, cube = builder.result_shape(op), cube_of(source.value.type)
    found = reduction_of(op, here, cube, builder)
    count, window = found.count(cube), found.window(cube)
    factor = 1 / count if isinstance(op, MEANS) else 1.0
    if found.outputs * cube.channels * window[0] * window[1] <= MAX_KERNEL_BYTES and max(window) <= 32:
        kernels = QuantizedKernels(summing(found, cube, np.int8), np.array([factor]))
        return convolution(source, kernels, None, Window2D(window), shape, builder)
    if found.outputs < cube.channels:
        builder.refuse(
            f"{list(here)} to {list(shape)}: a reduction of channels too (the PDP takes rows and columns)"
        )
    pooled, correction = cascade(source.value, PoolMode.AVERAGE, builder, found.rows, found.columns)
    result = builder.mean(source, pooled, np.full((1, 1), correction), shape).times(
        np.array([factor * count])
    )
    assert result is not None, "a mean has no steps"
    return result


@lowers(*EXTREMES)
def extreme(op: OnnxOp, builder: QuantizedDlaBuilder) -> Dequantized:
    """Lower ReduceMax and ReduceMin: poolings for rows and columns, comparisons for channels."""
    source, here = builder.stored_row(op.operands[0])
    found = reduction_of(op, here, cube_of(source.value.type), builder)

    def pick(value: SSAValue, indices: Indices) -> SSAValue:
        sums = builder.conv(
            value, builder.kernels(one_hot(indices, cube_of(value.type).channels)), Window2D((1, 1))
        )
        return builder.requantized(sums, [], Converter())

    value = extremes(source.value, found, EXTREMES[type(op)], pick, builder)
    return Affine.of(value, cube_of(value.type), builder.result_shape(op), source.qparams)
