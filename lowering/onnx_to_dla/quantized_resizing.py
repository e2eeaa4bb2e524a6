"""
Resize by integer scales in int8: nearest as interleaved copies, linear as a convolution per output phase.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.types import cube_of
from xonnc.dialects.onnx.ops.tensor import ResizeOp, ResizeV13Op, ResizeV18Op
from xonnc.formats.nvdla.quantization import INT8_MAX
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.dequantized import Concatenated, Dequantized, QuantizedCube
from xonnc.lowering.onnx_to_dla.dla_builder import cube_shape
from xonnc.lowering.onnx_to_dla.quantized_builder import (
    QuantizedDlaBuilder,
    QuantizedKernels,
    StoredIntegers,
    lowers,
)
from xonnc.lowering.onnx_to_dla.quantized_convolution import grouped
from xonnc.lowering.onnx_to_dla.resizing import AnyResize, factors, interpolation
from xonnc.lowering.onnx_to_dla.upsampling import interleave, repeat


@lowers(ResizeOp, ResizeV18Op, ResizeV13Op)
def resize(op: AnyResize, builder: QuantizedDlaBuilder) -> Dequantized | StoredIntegers:
    """Lower Resize: nearest by repetition, linear as one depthwise convolution per output phase."""
    cube = cube_shape(builder.lowered(op.X).shape)
    assert cube is not None, "the source has elements"
    factors(op, cube, builder)
    if op.mode.data != "nearest" and cube.positions > 1:
        return _interpolated(op, builder)

    def move(value: SSAValue) -> SSAValue:
        return repeat(value, factors(op, cube_of(value.type), builder), builder)

    return builder.moved(op.X, builder.result_shape(op), move)


def _interpolated(op: AnyResize, builder: QuantizedDlaBuilder) -> Dequantized:
    """Interpolate linearly with integer weights: one depthwise convolution per phase, requantized once."""
    source, shape = builder.stored_spatial(op.X), builder.result_shape(op)
    cube = cube_of(source.value.type)
    plan = interpolation(op, cube, factors(op, cube, builder), builder)
    extended = plan.extended(source.value, builder)
    parts: list[Dequantized] = []
    for row in plan.rows:
        for column in plan.columns:
            kernel = plan.kernel(row, column)
            stored = kernel.astype(np.int8 if kernel.max() <= INT8_MAX else np.int16)
            kernels = QuantizedKernels(np.repeat(stored, cube.channels, axis=0), np.array([1 / plan.unit]))
            seen = QuantizedCube(plan.seen(extended, row, column, builder), source.qparams)
            window = Window2D((len(row.weights), len(column.weights)))
            parts.append(grouped(seen, kernels, None, window, cube.channels, shape, builder))

    def join(values: list[SSAValue]) -> SSAValue:
        count = len(plan.columns)
        return interleave([values[begin : begin + count] for begin in range(0, len(values), count)], builder)

    return Concatenated(tuple(parts), shape, join)
