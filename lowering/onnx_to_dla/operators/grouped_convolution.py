"""Grouped convolutions, several groups merged into each layer (`dla_planning/group_merging.py`)."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from xonnc.dialects.dla.storage import ConcatOp
from xonnc.dialects.dla.types import cube_of
from xonnc.lowering.dla_planning.group_merging import merged_groups
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array, Cube
from xonnc.lowering.onnx_to_dla.builders.kernels import Kernels
from xonnc.lowering.onnx_to_dla.builders.operator_builder import OperatorBuilder, TensorT

MAX_DENSE_WEIGHTS = 1 << 28
"""
Weights of a layer of merged groups at most, zeros between the groups included.

If none fits the buffer, all groups are merged, and the number of weights is quadratic in that of channels.
Files have no weights for windows of pools, which may have any size.
"""


def grouped(
    source: Cube,
    kernels: Kernels,
    bias: Array | None,
    window: Window2D,
    groups: int,
    shape: tuple[int, ...],
    builder: OperatorBuilder[TensorT],
) -> TensorT:
    """Build a grouped convolution with bias."""
    if groups == 1:
        return builder.convolution(source, kernels, bias, window, shape)
    inputs, outputs = source.cube.channels, kernels.array.shape[0]
    if inputs % groups or outputs % groups:
        builder.refuse(f"group {groups} does not divide {inputs} input and {outputs} output channels")
    merged = merged_groups(builder.target, builder.precision, source.cube, outputs, window, groups)
    dense = (merged * inputs // groups) * (merged * outputs // groups) * prod(window.kernel)
    if dense > MAX_DENSE_WEIGHTS:
        rows, columns = window.kernel
        builder.refuse(
            f"{groups} groups with a kernel of {rows}x{columns}, which are {dense} weights with zeros "
            f"between the groups (up to {MAX_DENSE_WEIGHTS}); use a smaller kernel"
        )
    if merged == groups:
        return builder.convolution(source, kernels, bias, window, shape, groups)
    step_in, step_out = merged * inputs // groups, merged * outputs // groups
    parts: list[TensorT] = []
    for index in range(groups // merged):
        rows = slice(index * step_out, (index + 1) * step_out)
        part = builder.channels_of(source, index * step_in, (index + 1) * step_in)
        bias_part = None if bias is None else bias[rows]
        made = builder.convolution(part, kernels.outputs(rows), bias_part, window, shape, merged)
        parts.append(made)

    def join(values: list[SSAValue]) -> SSAValue:
        cube = cube_of(values[0].type)
        return builder(ConcatOp(values, 1, builder.cube_type(cube._replace(channels=outputs))))

    return builder.joined(parts, shape, join, step_out)
