"""Elementwise arithmetic of FP16 cubes in passes of the SDP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from xonnc.dialects.dla.attributes import OperandMode, SdpStage
from xonnc.lowering.dla_planning.precision import MAX_FP16
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array, Cube, DlaBuilder, Operand
from xonnc.lowering.onnx_to_dla.builders.sdp_stages import (
    MAXIMUM,
    MINIMUM,
    RELU,
    channel_values,
    is_per_channel,
    scalar_operand,
)


def combine(
    stage: SdpStage,
    parts: Sequence[Cube],
    constants: Sequence[Array],
    shape: tuple[int, ...],
    builder: DlaBuilder,
) -> Cube:
    """Apply `stage` to cubes from the left, then to constants."""
    result = reduce(lambda a, b: combine_cubes(a, b, stage, shape, builder), parts)
    return reduce(lambda cube, array: combine_constant(cube, array, stage, shape, builder), constants, result)


def combine_cubes(a: Cube, b: Cube, stage: SdpStage, shape: tuple[int, ...], builder: DlaBuilder) -> Cube:
    """Apply `stage` to two computed cubes, one of which may be broadcast over the positions."""
    if shape not in (a.shape, b.shape):
        builder.refuse(f"{list(a.shape)} and {list(b.shape)} are both broadcast; expand one of them first")
    if a.shape != shape:
        a, b = b, a
    if a.cube == b.cube and b.shape == shape:
        mode = OperandMode.PER_POINT
    elif is_per_channel(b.shape, b.cube, shape, a.cube):
        mode = OperandMode.PER_KERNEL
    else:
        builder.refuse(
            f"{list(b.shape)} broadcast to {list(shape)} (the SDP broadcasts per-channel tensors only)"
        )
    return Cube(builder.sdp(a.value, [(replace(stage, mode=mode), b.value)]), shape)


def combine_constant(
    a: Cube, array: Array, stage: SdpStage, shape: tuple[int, ...], builder: DlaBuilder
) -> Cube:
    """Apply `stage` with a constant: a scalar, one value per channel, or one per element."""
    if a.shape != shape:
        builder.refuse(f"{list(a.shape)} is broadcast to {list(shape)}; expand it first")
    if array.size == 1:
        operand = scalar_operand(stage, float(array.reshape(())))
    elif (by_channel := channel_values(array, shape, a.cube)) is not None:
        operand = replace(stage, mode=OperandMode.PER_KERNEL), builder.per_kernel(by_channel)
    else:
        spread = np.broadcast_to(array, shape).reshape(1, *a.cube)
        operand = replace(stage, mode=OperandMode.PER_POINT), builder.constant_cube(spread)
    return Cube(builder.sdp(a.value, [operand]), shape)


def bounds(low: float | None, high: float | None) -> list[Operand]:
    """Return stages that clip. Bounds that float16 cannot exceed are left out."""
    stages: list[Operand] = []
    if low is not None and low > -MAX_FP16:
        stages.append(RELU if low == 0.0 else scalar_operand(MAXIMUM, low))
    if high is not None and high < MAX_FP16:
        stages.append(scalar_operand(MINIMUM, high))
    return stages
