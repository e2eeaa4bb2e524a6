"""Larger images of integers: transposed convolutions."""

from __future__ import annotations

from xdsl.ir import SSAValue

from xonnc.dialects.dla.types import cube_of
from xonnc.dialects.onnx.attributes import values_of
from xonnc.dialects.onnx.ops.nn import ConvTransposeOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_dla.convolution import batch_of, tiled
from xonnc.lowering.onnx_to_dla.integers import Integers, Kernels, lowers
from xonnc.lowering.onnx_to_dla.quantized_convolution import convolution
from xonnc.lowering.onnx_to_dla.reals import Joined, Reals, Sum
from xonnc.lowering.onnx_to_dla.upsampling import (
    cropped,
    interleaved,
    spread,
    taps_of,
    transposed,
)


@lowers(ConvTransposeOp)
def conv_transpose(op: ConvTransposeOp, to: Integers) -> Reals:
    """A convolution for each phase of the result, `stride` in each dimension; the phases take turns."""
    source, shape = to.stored_image(op.X), to.result_shape(op)
    batch = batch_of(shape, to)
    groups = op.group.value.data * batch
    kernels = to.kernels_of(op.W, 1, "the kernels")
    if kernels.array.ndim != 4:
        to.refuse(f"a transposed convolution over {kernels.array.ndim - 2} dimensions (images have 2)")
    if op.group.value.data > 1 and kernels.scales.size > 1:
        to.refuse("groups with a scale for each output; use one scale for all")
    bias = None if op.B.type == NONE else to.real_constant(op.B)
    if bias is None and op.B.type != NONE:
        to.refuse("the bias must be constant, found a computed value")
    bias = None if bias is None else tiled(bias, batch)
    scales = kernels.scales if kernels.scales.size == 1 else tiled(kernels.scales, batch)
    given = tiled(kernels.array.swapaxes(0, 1), batch)
    weights = spread(given, groups, values_of(op.dilations) or (1, 1))
    plan = transposed(op, weights.shape[2:], cube_of(source.value.type), to)
    parts = [
        convolution(
            Sum(plan.source(source.value, row, column, to), source.grid),
            Kernels(taps_of(weights, row, column), scales),
            bias,
            plan.window(row, column),
            shape,
            to,
        )
        for row in plan.rows
        for column in plan.columns
    ]

    def join(values: list[SSAValue]) -> SSAValue:
        count = len(plan.columns)
        made = [values[begin : begin + count] for begin in range(0, len(values), count)]
        return cropped(interleaved(made, to), plan.height, plan.width, to)

    return Joined(tuple(parts), shape, join)
