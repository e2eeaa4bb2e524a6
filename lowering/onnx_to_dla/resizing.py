"""
Resize: nearest as interleaved copies or selected rows and columns, linear by integer scales as a convolution
per output phase.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, lcm
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.ir import SSAValue

from xonnc.dialects.dla.storage import ConcatOp, SliceOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops.tensor import ResizeOp, ResizeV13Op, ResizeV18Op
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.dla_builder import DlaBuilder, cube_shape
from xonnc.lowering.onnx_to_dla.grouped_convolution import grouped
from xonnc.lowering.onnx_to_dla.operator_builder import OperatorBuilder, TensorT, lowers
from xonnc.lowering.onnx_to_dla.selection import Indices, selected
from xonnc.lowering.onnx_to_dla.upsampling import in_rows, repeat

AnyResize: TypeAlias = ResizeOp | ResizeV18Op | ResizeV13Op

NEAREST: Mapping[str, Callable[[float], int]] = {
    "floor": floor,
    "ceil": ceil,
    "round_prefer_floor": lambda x: ceil(x - 0.5),
    "round_prefer_ceil": lambda x: floor(x + 0.5),
}
"""The `nearest_mode`s of ONNX."""

HALF_PIXELS = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel")
"""Coordinate transformations that agree for integer scales."""

NEAREST_COORDINATES = ("asymmetric", "align_corners", *HALF_PIXELS)
"""Coordinate transformations of the nearest neighbor."""


@lowers(ResizeOp, ResizeV18Op, ResizeV13Op)
def resize(op: AnyResize, builder: OperatorBuilder[TensorT]) -> TensorT:
    """
    Lower Resize: nearest by repetition or as a selection of rows and columns, linear as one depthwise
    convolution per output phase.
    """
    cube, shape = builder.image_cube(op.X), builder.result_shape(op)
    if op.mode.data == "nearest" and (picked := picked_positions(op, cube, builder)) is not None:
        source = builder.lowered(op.X)
        indices = np.arange(cube.elements).reshape(source.shape)
        return selected(source, indices.take(picked[1], -1).take(picked[0], -2), 0.0, builder)
    counts = factors(op, cube, builder)
    if op.mode.data == "nearest" or cube.positions == 1:
        return builder.moved(op.X, shape, lambda value: repeat(value, counts, builder))
    source = builder.spatial_source(op.X)
    plan = interpolation(op, cube, counts, builder)
    extended = plan.extended(source.value, builder)
    parts = [
        grouped(
            replace(source, value=plan.seen(extended, row, column, builder)),
            builder.fractions(np.repeat(plan.kernel(row, column), cube.channels, axis=0), plan.unit),
            None,
            Window2D((len(row.weights), len(column.weights))),
            cube.channels,
            shape,
            builder,
        )
        for row in plan.rows
        for column in plan.columns
    ]
    return builder.joined(parts, shape, lambda values: in_rows(values, len(plan.columns), builder))


def factors(op: AnyResize, cube: CubeShape, builder: DlaBuilder) -> tuple[int, int]:
    """Return the integer scales of rows and columns; refuse other resampling."""
    after = cube_shape(builder.result_shape(op))
    if after is None or after.channels != cube.channels or after.height % cube.height:
        builder.refuse("a scale that is not an integer (the engines repeat rows and columns)")
    if after.width % cube.width:
        builder.refuse("a scale that is not an integer (the engines repeat rows and columns)")
    result = after.height // cube.height, after.width // cube.width
    _check_scales(op, result, builder)
    coordinates = op.coordinate_transformation_mode.data
    if op.mode.data == "nearest" and coordinates not in NEAREST_COORDINATES:
        builder.refuse(f"{coordinates}; use one of {', '.join(NEAREST_COORDINATES)}")
    if op.mode.data not in ("nearest", "linear"):
        builder.refuse(f"mode {op.mode.data} (nearest and linear are supported); use one of these")
    return result


def _check_scales(op: AnyResize, found: tuple[int, int], builder: DlaBuilder) -> None:
    """
    Refuse `scales` that differ from the ratio of sizes: sizes are rounded down, coordinates use the scales.
    """
    given = given_scales(op, builder)
    if given is not None and given != found:
        builder.refuse(
            f"scales {given[0]:g} and {given[1]:g} (the engines repeat rows and columns); use integers"
        )


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
    repeated as often as the others, or if the DLA takes no such coordinates.
    """
    after, shape = cube_shape(builder.result_shape(op)), builder.result_shape(op)
    coordinates = op.coordinate_transformation_mode.data
    is_stretched = not isinstance(op, ResizeOp | ResizeV18Op) or op.keep_aspect_ratio_policy.data == "stretch"
    if after is None or after.channels != cube.channels or len(shape) != 4 or not is_stretched:
        return None
    if coordinates not in NEAREST_COORDINATES or cube.positions == 1:
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


@dataclass(frozen=True)
class LinearPhase:
    """
    One dimension of an output phase: the sum of `weights` times adjacent elements, the first at offset
    `first`.
    """

    first: int
    weights: tuple[Fraction, ...]


def linear_phases(size: int, factor: int, coordinates: str) -> list[LinearPhase]:
    """
    Return the phases of one dimension: result `factor q + p` lies at `q + c` of the source, between two
    pixels or on one. A single pixel has no neighbors.
    """
    result: list[LinearPhase] = []
    half = Fraction(1, 2) if coordinates in HALF_PIXELS else Fraction(0)
    for index in range(factor):
        at = (index + half) / factor - half
        first = floor(at)
        beyond = at - first
        if size == 1:
            result.append(LinearPhase(0, (Fraction(1),)))
        else:
            result.append(LinearPhase(first, (1 - beyond, beyond) if beyond else (Fraction(1),)))
    return result


@dataclass(frozen=True)
class Interpolation:
    """
    Linear interpolation: phases of rows and columns, with weights that are multiples of `1 / unit`.

    The image is extended by copies of its edge as far as the phases read.
    """

    rows: Sequence[LinearPhase]
    columns: Sequence[LinearPhase]

    @property
    def unit(self) -> int:
        """The denominator of all weights."""
        return _denominator(self.rows) * _denominator(self.columns)

    def kernel(self, row: LinearPhase, column: LinearPhase) -> npt.NDArray[np.int64]:
        """Return the weights of one phase, `1x1xRxS`, as integers."""
        down, right = (
            np.array([int(weight * _denominator(phases)) for weight in line.weights])
            for line, phases in ((row, self.rows), (column, self.columns))
        )
        return np.outer(down, right)[np.newaxis, np.newaxis]

    def extended(self, image: SSAValue, builder: DlaBuilder) -> SSAValue:
        """Return the image extended by copies of its edges."""
        return _with_edges(_with_edges(image, 2, self.rows, builder), 3, self.columns, builder)

    def seen(
        self, extended: SSAValue, row: LinearPhase, column: LinearPhase, builder: DlaBuilder
    ) -> SSAValue:
        """Return the slice of the extended image that one phase reads."""
        cube = cube_of(extended.type)
        begins, sizes = [0], [cube.channels]
        for line, phases, size in ((row, self.rows, cube.height), (column, self.columns, cube.width)):
            before, after = _reach(phases)
            begins.append(before + line.first)
            sizes.append(size - before - after + len(line.weights) - 1)
        part = CubeShape(*sizes)
        return extended if part == cube else builder(SliceOp(extended, begins, builder.cube_type(part)))


def interpolation(
    op: AnyResize, cube: CubeShape, counts: tuple[int, int], builder: DlaBuilder
) -> Interpolation:
    """Return the phases of a linear Resize; refuse coordinates whose phases vary with the position."""
    coordinates = op.coordinate_transformation_mode.data
    if coordinates not in ("asymmetric", *HALF_PIXELS):
        builder.refuse(
            f"linear with {coordinates} (half_pixel and asymmetric are supported); use one of these"
        )
    return Interpolation(
        linear_phases(cube.height, counts[0], coordinates), linear_phases(cube.width, counts[1], coordinates)
    )


def _denominator(phases: Sequence[LinearPhase]) -> int:
    return lcm(*(weight.denominator for line in phases for weight in line.weights))


def _reach(phases: Sequence[LinearPhase]) -> tuple[int, int]:
    """Return how many pixels before the first and after the last are read."""
    return max(-line.first for line in phases), max(line.first + len(line.weights) - 1 for line in phases)


def _with_edges(image: SSAValue, axis: int, phases: Sequence[LinearPhase], builder: DlaBuilder) -> SSAValue:
    before, after = _reach(phases)
    if not before and not after:
        return image
    sizes = list(cube_of(image.type))
    last = sizes[axis - 1] - 1
    edge = builder.cube_type(CubeShape(*[*sizes[: axis - 1], 1, *sizes[axis:]]))

    def copies(position: int, count: int) -> list[SSAValue]:
        begin = [position if index == axis - 1 else 0 for index in range(3)]
        return [builder(SliceOp(image, begin, edge)) for _ in range(count)]

    parts = [*copies(0, before), image, *copies(last, after)]
    sizes[axis - 1] += before + after
    return builder(ConcatOp(parts, axis, builder.cube_type(CubeShape(*sizes))))
