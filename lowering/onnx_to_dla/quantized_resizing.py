"""Images of integers resized by integer factors: nearest neighbours, and straight lines between pixels."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.types import cube_of
from xonnc.dialects.onnx.ops.tensor import ResizeOp, ResizeV13Op, ResizeV18Op
from xonnc.formats.nvdla.quantization import LARGEST
from xonnc.lowering.dla_planning.shapes import Window
from xonnc.lowering.onnx_to_dla.integers import Integers, Kernels, Stored, lowers
from xonnc.lowering.onnx_to_dla.lowering import cube_shape
from xonnc.lowering.onnx_to_dla.quantized_convolution import grouped
from xonnc.lowering.onnx_to_dla.reals import Joined, Reals, Sum
from xonnc.lowering.onnx_to_dla.resizing import AnyResize, factors, interpolation
from xonnc.lowering.onnx_to_dla.upsampling import interleaved, repeated


@lowers(ResizeOp, ResizeV18Op, ResizeV13Op)
def resize(op: AnyResize, to: Integers) -> Reals | Stored:
    """The nearest neighbours, which are copies that take turns, or lines between pixels."""
    cube = cube_shape(to.found(op.X).shape)
    assert cube is not None, "the source has elements"
    factors(op, cube, to)
    if op.mode.data != "nearest" and cube.positions > 1:
        return _interpolated(op, to)

    def move(value: SSAValue) -> SSAValue:
        return repeated(value, factors(op, cube_of(value.type), to), to)

    return to.moved(op.X, to.result_shape(op), move)


def _interpolated(op: AnyResize, to: Integers) -> Reals:
    """Sums of neighbours times integers: each phase is a convolution of every channel, rounded once."""
    source, shape = to.stored_image(op.X), to.result_shape(op)
    cube = cube_of(source.value.type)
    plan = interpolation(op, cube, factors(op, cube, to), to)
    extended = plan.extended(source.value, to)
    parts: list[Reals] = []
    for row in plan.rows:
        for column in plan.columns:
            kernel = plan.kernel(row, column)
            held = kernel.astype(np.int8 if kernel.max() <= LARGEST else np.int16)
            kernels = Kernels(np.repeat(held, cube.channels, axis=0), np.array([1 / plan.unit]))
            seen = Sum(plan.seen(extended, row, column, to), source.grid)
            window = Window((len(row.weights), len(column.weights)))
            parts.append(grouped(seen, kernels, None, window, cube.channels, shape, to))

    def join(values: list[SSAValue]) -> SSAValue:
        count = len(plan.columns)
        return interleaved([values[begin : begin + count] for begin in range(0, len(values), count)], to)

    return Joined(tuple(parts), shape, join)
