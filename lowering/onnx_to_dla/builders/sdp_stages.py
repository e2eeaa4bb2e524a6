"""Stages of the SDP for elementwise arithmetic, and constants as their operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from xonnc.dialects.dla.attributes import Activation, AluFunction, OperandMode, SdpStage, StageFunction
from xonnc.dialects.dla.types import CubeShape
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array, Operand, cube_shape

SUM = SdpStage(type=StageFunction.ALU, alu=AluFunction.SUM)
MINIMUM = SdpStage(type=StageFunction.ALU, alu=AluFunction.MIN)
MAXIMUM = SdpStage(type=StageFunction.ALU, alu=AluFunction.MAX)
PRODUCT = SdpStage(type=StageFunction.MUL)
PRELU = replace(PRODUCT, act=Activation.PRELU)
"""Passes positive elements and multiplies the others."""
RELU: Operand = (SdpStage(act=Activation.RELU), None)


def scalar_operand(stage: SdpStage, value: float) -> Operand:
    """Return `stage` with one scalar operand for all elements."""
    field = "mul_operand" if stage.type is StageFunction.MUL else "alu_operand"
    return replace(stage, mode=OperandMode.PER_LAYER, **{field: value}), None


def channel_values(constant: Array, shape: tuple[int, ...], cube: CubeShape) -> Array | None:
    """
    Return one value for each channel of a cube that holds a tensor of `shape`; `None` for a constant that
    differs between positions.
    """
    spread = np.broadcast_to(constant, shape).reshape(cube)
    first = spread[:, :1, :1]
    return None if np.any(spread != first) else first.reshape(-1)


def is_per_channel(
    operand: Sequence[int], operand_cube: CubeShape, shape: Sequence[int], cube: CubeShape
) -> bool:
    """
    Whether a computed operand has one number for each channel of a result.

    Its cube does not tell: a row of 8 numbers, `1x8`, is stored as 8 channels and broadcast to columns.

    Parameters:
        operand: the sizes of the model's tensor.
        operand_cube: those of its cube.
        shape: the sizes of the result.
        cube: those of its cube.
    """
    aligned = (1,) * (len(shape) - len(operand)) + tuple(operand)
    return operand_cube == cube_shape(aligned) == CubeShape(cube.channels, 1, 1)
