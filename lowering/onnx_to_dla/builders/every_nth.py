"""
Rows and columns that are any number apart, as views.

Rows are dense in memory: three rows of 20 columns are one row of 60, of which the first 20 are every third
row. Columns are rows of single elements:

    [C, 33, 20], every 11th row       =    the first 20 columns of [C, 3, 220]
    [C, 3, 220], every 11th column    =    the first column of [C, 60, 11]
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from xonnc.dialects.dla.storage import ConcatOp, ReshapeOp, SliceOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Cube, DlaBuilder
from xonnc.lowering.onnx_to_dla.builders.operator_builder import OperatorBuilder
from xonnc.targets import limits


def every_nth(source: SSAValue, axis: int, step: int, count: int, builder: DlaBuilder) -> SSAValue:
    """Return `count` rows (axis 2) or columns (3) of a cube that are `step` apart, from the first on."""
    cube = cube_of(source.type)
    if step == 1 or count == 1:
        return part_of(source, (0, 0, 0), resized(cube, axis, count), builder)
    if axis == 2 and limits.DIMENSION.broken(step * cube.width) is not None:
        rows = [part_of(source, (0, index * step, 0), resized(cube, 2, 1), builder) for index in range(count)]
        return builder(ConcatOp(rows, 2, builder.cube_type(resized(cube, 2, count))))
    tall = limits.DIMENSION.most // max(min(count, cube.width // step), 1)
    if axis == 3 and cube.height > tall:
        # As rows of single elements there are too many.
        parts = [
            part_of(source, (0, row, 0), resized(cube, 2, min(tall, cube.height - row)), builder)
            for row in range(0, cube.height, tall)
        ]
        parts = [every_nth(part, axis, step, count, builder) for part in parts]
        return builder(ConcatOp(parts, 2, builder.cube_type(resized(cube, axis, count))))
    # The last one may have fewer elements after it than the others.
    whole = min(count, cube[axis - 1] // step)
    value = part_of(source, (0, 0, 0), resized(cube, axis, whole * step), builder)
    if axis == 2:
        joined = CubeShape(cube.channels, whole, step * cube.width)
        value = builder(ReshapeOp(value, builder.cube_type(joined)))
        value = part_of(value, (0, 0, 0), resized(cube, axis, whole), builder)
    else:
        column = CubeShape(cube.channels, cube.height * whole, 1)
        value = builder(ReshapeOp(value, builder.cube_type(column._replace(width=step))))
        value = part_of(value, (0, 0, 0), column, builder)
        value = builder(ReshapeOp(value, builder.cube_type(resized(cube, axis, whole))))
    if whole == count:
        return value
    begins = (0, whole * step, 0) if axis == 2 else (0, 0, whole * step)
    last = part_of(source, begins, resized(cube, axis, 1), builder)
    return builder(ConcatOp([value, last], axis, builder.cube_type(resized(cube, axis, count))))


def padded_slice(
    source: Cube,
    axis: int,
    begin: int,
    part: CubeShape,
    builder: OperatorBuilder[Any],
    step: int = 1,
) -> SSAValue:
    """
    Return rows (axis 2) or columns (3) of a cube from `begin` on, `step` apart; there is padding around them.
    """
    here, size = source.cube[axis - 1], part[axis - 1]
    before = min(max(-(begin // step), 0), size)
    end = min(max(-((begin - here) // step), before), size)
    pieces: list[SSAValue] = []
    if before:
        pieces.append(builder.filled(resized(part, axis, before), source.zero_point))
    if (inside := end - before) > 0:
        first = begin + before * step
        begins = (0, first, 0) if axis == 2 else (0, 0, first)
        # What follows the last one makes all of them as long.
        taken = resized(part, axis, min(here - first, inside * step))
        pieces.append(every_nth(part_of(source.value, begins, taken, builder), axis, step, inside, builder))
    if end < size:
        pieces.append(builder.filled(resized(part, axis, size - end), source.zero_point))
    return pieces[0] if len(pieces) == 1 else builder(ConcatOp(pieces, axis, builder.cube_type(part)))


def part_of(source: SSAValue, begins: tuple[int, int, int], part: CubeShape, builder: DlaBuilder) -> SSAValue:
    """Return a part of a cube, itself if that is all of it."""
    return (
        source if cube_of(source.type) == part else builder(SliceOp(source, begins, builder.cube_type(part)))
    )


def resized(cube: CubeShape, axis: int, size: int) -> CubeShape:
    """Return the cube with as many rows (axis 2) or columns (3)."""
    return cube._replace(height=size) if axis == 2 else cube._replace(width=size)
