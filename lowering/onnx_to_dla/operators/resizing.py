"""
Resize: nearest as interleaved copies or selected rows and columns, linear as a convolution per output phase.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor, prod
from typing import TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.types import CubeShape
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops.tensor import ResizeOp, ResizeV13Op, ResizeV18Op
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Cube, DlaBuilder, cube_shape
from xonnc.lowering.onnx_to_dla.builders.operator_builder import OperatorBuilder, TensorT, lowers
from xonnc.lowering.onnx_to_dla.operators.grouped_convolution import grouped
from xonnc.lowering.onnx_to_dla.operators.interpolation import (
    COORDINATES,
    Interpolation,
    linear_axis,
    unchanged,
)
from xonnc.lowering.onnx_to_dla.operators.selection import Indices, selected
from xonnc.lowering.onnx_to_dla.operators.upsampling import crop, in_rows, repeat

AnyResize: TypeAlias = ResizeOp | ResizeV18Op | ResizeV13Op

NEAREST: Mapping[str, Callable[[float], int]] = {
    "floor": floor,
    "ceil": ceil,
    "round_prefer_floor": lambda x: ceil(x - 0.5),
    "round_prefer_ceil": lambda x: floor(x + 0.5),
}
"""The `nearest_mode`s of ONNX."""

MAX_PHASES = 1024
"""The most convolutions of a linear Resize."""

MAX_JOINT_PHASES = 256
"""The most phases of rows and columns at once; more are computed of rows, then of columns."""

MAX_DENOMINATOR = 1024
"""Of scales: float32 tells ratios of integers up to this from others."""


@lowers(ResizeOp, ResizeV18Op, ResizeV13Op)
def resize(op: AnyResize, builder: OperatorBuilder[TensorT]) -> TensorT:
    """
    Lower Resize: nearest by repetition or as a selection of rows and columns, linear as one depthwise
    convolution per output phase, strided where the image becomes smaller; of rows, then of columns, if there
    are many phases.
    """
    cube, shape = builder.image_cube(op.X), builder.result_shape(op)
    _check_mode(op, builder)
    if op.mode.data == "nearest" and (picked := picked_positions(op, cube, builder)) is not None:
        source = builder.lowered(op.X)
        indices = np.arange(cube.elements).reshape(source.shape)
        return selected(source, indices.take(picked[1], -1).take(picked[0], -2), 0.0, builder)
    if op.mode.data == "linear" and cube.positions > 1:
        return _interpolated(op, cube, builder)
    counts = factors(op, cube, builder)
    return builder.moved(op.X, shape, lambda value: repeat(value, counts, builder))


def _interpolated(op: AnyResize, cube: CubeShape, builder: OperatorBuilder[TensorT]) -> TensorT:
    source, shape = builder.spatial_source(op.X), builder.result_shape(op)
    plan = interpolation(op, cube, builder)
    if plan.is_separate:
        between = (*source.shape[:-2], plan.rows.total, cube.width)
        by_rows = _phases(source, replace(plan, columns=unchanged(cube.width)), between, builder)
        source = builder.rounded(by_rows, source.qparams)
        plan = replace(plan, rows=unchanged(plan.rows.total))
    return _phases(source, plan, shape, builder)


def _phases(
    source: Cube, plan: Interpolation, shape: tuple[int, ...], builder: OperatorBuilder[TensorT]
) -> TensorT:
    """Compute each output phase by a depthwise convolution, and interleave them."""
    extended, channels = plan.extended(source.value, builder), source.cube.channels
    parts = [
        grouped(
            replace(source, value=plan.source(extended, row, column, builder)),
            builder.fractions(np.repeat(plan.kernel(row, column), channels, axis=0), plan.unit),
            None,
            plan.window(row, column),
            channels,
            shape,
            builder,
        )
        for row in plan.rows.phases
        for column in plan.columns.phases
    ]

    def join(values: list[SSAValue]) -> SSAValue:
        joined = in_rows(values, len(plan.columns.phases), builder)
        return crop(joined, plan.rows.total, plan.columns.total, builder)

    return builder.joined(parts, shape, join)


def factors(op: AnyResize, cube: CubeShape, builder: DlaBuilder) -> tuple[int, int]:
    """Return how often rows and columns are repeated; refuse other resampling."""
    after = cube_shape(builder.result_shape(op))
    if after is None or after.channels != cube.channels or after.height % cube.height:
        builder.refuse("a scale that is not an integer (the engines repeat rows and columns)")
    if after.width % cube.width:
        builder.refuse("a scale that is not an integer (the engines repeat rows and columns)")
    return after.height // cube.height, after.width // cube.width


def _check_mode(op: AnyResize, builder: DlaBuilder) -> None:
    coordinates = op.coordinate_transformation_mode.data
    if op.mode.data not in ("nearest", "linear"):
        builder.refuse(f"mode {op.mode.data} (nearest and linear are supported); use one of these")
    if coordinates not in COORDINATES:
        builder.refuse(f"{coordinates}; use one of {', '.join(COORDINATES)}")


def interpolation(op: AnyResize, cube: CubeShape, builder: DlaBuilder) -> Interpolation:
    """Return the phases of a linear Resize; refuse other scales and coordinates."""
    after, coordinates = cube_shape(builder.result_shape(op)), op.coordinate_transformation_mode.data
    if after is None or after.channels != cube.channels:
        builder.refuse("other channels (the engines interpolate rows and columns)")
    ratios = Fraction(after.height, cube.height), Fraction(after.width, cube.width)
    scales = _rational_scales(op, builder) or ratios
    if not isinstance(op, ResizeV13Op):
        if op.antialias.value.data and min(scales) < 1:
            builder.refuse("antialias (the engines interpolate between neighbors); use antialias 0")
        if op.keep_aspect_ratio_policy.data != "stretch" and ratios[0] != ratios[1]:
            builder.refuse(f"keep_aspect_ratio_policy {op.keep_aspect_ratio_policy.data}; use stretch")
    if coordinates == "half_pixel_symmetric" and scales != ratios:
        builder.refuse("half_pixel_symmetric of a size that is rounded; use half_pixel")
    rows, columns = (
        linear_axis(size, count, scale, coordinates)
        for size, count, scale in zip(cube[1:], after[1:], scales, strict=True)
    )
    counts = len(rows.phases), len(columns.phases)
    is_separate = min(counts) > 1 and prod(counts) > MAX_JOINT_PHASES
    phases = sum(counts) if is_separate else prod(counts)
    if phases > MAX_PHASES:
        builder.refuse(
            f"{phases} different interpolations (up to {MAX_PHASES}); use scales of small numbers, half_pixel"
        )
    return Interpolation(rows, columns, is_separate)


def _rational_scales(op: AnyResize, builder: DlaBuilder) -> tuple[Fraction, Fraction] | None:
    """Return the scales as the ratios that float32 rounded, `None` if the model has sizes instead."""
    given = given_scales(op, builder)
    if given is None:
        return None
    rows, columns = (Fraction(scale).limit_denominator(MAX_DENOMINATOR) for scale in given)
    return rows, columns


def given_scales(op: AnyResize, builder: DlaBuilder) -> tuple[float, float] | None:
    """Return the scales of rows and columns, `None` if the model has sizes instead."""
    given = None if op.scales.type == NONE else builder.constant(op.scales)
    if given is None or not given.size:
        return None
    axes = int_values(op.axes) if isinstance(op, ResizeOp | ResizeV18Op) and op.axes is not None else None
    rank = len(builder.result_shape(op))
    scales = [1.0] * rank
    for axis, scale in zip(axes or range(rank), given.reshape(-1).tolist(), strict=True):
        scales[axis] = scale
    return scales[-2] if rank > 3 else 1.0, scales[-1]


def picked_positions(op: AnyResize, cube: CubeShape, builder: DlaBuilder) -> tuple[Indices, Indices] | None:
    """
    Return the rows and the columns of the source that are nearest to those of the result; `None` if each is
    repeated as often as the others, or if those are no rows and columns of one image.
    """
    after, shape = cube_shape(builder.result_shape(op)), builder.result_shape(op)
    coordinates = op.coordinate_transformation_mode.data
    is_stretched = not isinstance(op, ResizeOp | ResizeV18Op) or op.keep_aspect_ratio_policy.data == "stretch"
    if after is None or after.channels != cube.channels or len(shape) != 4 or not is_stretched:
        return None
    if cube.positions == 1:
        return None
    scales = given_scales(op, builder) or (after.height / cube.height, after.width / cube.width)
    rows, columns = (
        nearest_positions(before, size, scale, coordinates, op.nearest_mode.data)
        for before, size, scale in zip(cube[1:], after[1:], scales, strict=True)
    )
    are_repeated = all(
        size % before == 0 and np.array_equal(found, np.arange(before).repeat(size // before))
        for found, before, size in zip((rows, columns), cube[1:], after[1:], strict=True)
    )
    return None if are_repeated else (rows, columns)


def nearest_positions(before: int, after: int, scale: float, coordinates: str, rounding: str) -> Indices:
    """Return the position of the source that is nearest to each position of the result."""
    index, length = np.arange(after, dtype=np.float64), scale * before
    half = (index + 0.5) / scale - 0.5
    match coordinates:
        case "asymmetric":
            at = index / scale
        case "align_corners":
            at = 0 * index if length == 1 else index * (before - 1) / (length - 1)
        case "pytorch_half_pixel" if length == 1:
            at = 0 * index
        case "half_pixel_symmetric":
            at = before / 2 * (1 - after / length) + half
        case _:
            at = half
    nearest = NEAREST[rounding]
    return np.array([min(max(nearest(each), 0), before - 1) for each in at.tolist()], np.int64)
