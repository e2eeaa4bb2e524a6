"""Images resized by integer factors: nearest neighbours, and straight lines between pixels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, lcm
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.ir import SSAValue

from xonnc.dialects.dla.storage import ConcatOp, SliceOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.attributes import values_of
from xonnc.dialects.onnx.ops.tensor import ResizeOp, ResizeV13Op, ResizeV18Op
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.dla_planning.shapes import Window
from xonnc.lowering.onnx_to_dla.convolution import grouped
from xonnc.lowering.onnx_to_dla.lowering import Cube, Lowering, cube_shape, lowers
from xonnc.lowering.onnx_to_dla.upsampling import interleaved, repeated

AnyResize: TypeAlias = ResizeOp | ResizeV18Op | ResizeV13Op

NEAREST: Mapping[str, Callable[[float], int]] = {
    "floor": floor,
    "ceil": ceil,
    "round_prefer_floor": lambda x: ceil(x - 0.5),
    "round_prefer_ceil": lambda x: floor(x + 0.5),
}
"""ONNX's `nearest_mode`s."""

HALF_PIXELS = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel")
"""Modes of coordinates that agree where factors are integers."""


@lowers(ResizeOp, ResizeV18Op, ResizeV13Op)
def resize(op: AnyResize, to: Lowering) -> Cube:
    """The nearest neighbours, which are copies that take turns, or lines between pixels."""
    image, shape = to.image(op.X), to.result_shape(op)
    counts = factors(op, cube_of(image.type), to)
    if op.mode.data == "nearest" or cube_of(image.type).positions == 1:
        return Cube(repeated(image, counts, to), shape)
    plan = interpolation(op, cube_of(image.type), counts, to)
    extended = plan.extended(image, to)
    channels = cube_of(image.type).channels
    made = [
        [
            grouped(
                plan.seen(extended, row, column, to),
                np.repeat(plan.kernel(row, column).astype(np.float32) / plan.unit, channels, axis=0),
                None,
                Window((len(row.weights), len(column.weights))),
                channels,
                to,
            )
            for column in plan.columns
        ]
        for row in plan.rows
    ]
    return Cube(interleaved(made, to), shape)


def factors(op: AnyResize, cube: CubeShape, to: Lowering) -> tuple[int, int]:
    """How often each row and column is repeated; gives up on other resampling."""
    after = cube_shape(to.result_shape(op))
    if after is None or after.channels != cube.channels or after.height % cube.height:
        to.refuse("a factor that is no integer (the engines repeat rows and columns)")
    if after.width % cube.width:
        to.refuse("a factor that is no integer (the engines repeat rows and columns)")
    found = after.height // cube.height, after.width // cube.width
    _check_scales(op, found, to)
    coordinates, rounding = op.coordinate_transformation_mode.data, op.nearest_mode.data
    if op.mode.data == "nearest":
        if not all(_repeats(factor, coordinates, rounding) for factor in found):
            to.refuse(f"{coordinates} with {rounding} at factors {found} is no plain repetition")
    elif op.mode.data != "linear":
        to.refuse(f"mode {op.mode.data} (the engines do nearest and linear); use one of these")
    return found


def _check_scales(op: AnyResize, found: tuple[int, int], to: Lowering) -> None:
    """Sizes are rounded down: factors that are given are those by which coordinates go."""
    given = None if op.scales.type == NONE else to.constant(op.scales)
    if given is None or not given.size:
        return
    axes = values_of(op.axes) if isinstance(op, ResizeOp | ResizeV18Op) and op.axes is not None else None
    rank = len(to.result_shape(op))
    scales = [1.0] * rank
    for axis, scale in zip(axes or range(rank), given.reshape(-1).tolist(), strict=True):
        scales[axis] = scale
    rows = scales[-2] if rank > 3 else 1.0
    if (rows, scales[-1]) != found:
        to.refuse(f"factors {rows:g} and {scales[-1]:g} (the engines repeat rows and columns); use integers")


def _repeats(factor: int, coordinates: str, rounding: str) -> bool:
    """Whether `factor` places in a row have one nearest neighbour."""
    if coordinates not in ("asymmetric", *HALF_PIXELS):
        return factor == 1
    shift = 0.0 if coordinates == "asymmetric" else 0.5
    return all(NEAREST[rounding]((place + shift) / factor - shift) == 0 for place in range(factor))


@dataclass(frozen=True)
class Line:
    """
    One dimension of a phase: each of its results is the sum of `weights` times neighbours, the first of them
    `first` further on (-1: before).
    """

    first: int
    weights: tuple[Fraction, ...]


def lines(size: int, factor: int, coordinates: str) -> list[Line]:
    """
    The phases of one dimension: result `factor q + p` lies at `q + c` of the source, between two pixels or on
    one. A single pixel has no neighbours.
    """
    found: list[Line] = []
    half = Fraction(1, 2) if coordinates in HALF_PIXELS else Fraction(0)
    for place in range(factor):
        at = (place + half) / factor - half
        first = floor(at)
        beyond = at - first
        if size == 1:
            found.append(Line(0, (Fraction(1),)))
        else:
            found.append(Line(first, (1 - beyond, beyond) if beyond else (Fraction(1),)))
    return found


@dataclass(frozen=True)
class Interpolation:
    """
    Lines between pixels: the phases of rows and columns, whose weights are integers in parts of `unit`.

    Outside of the image lie copies of its edge, as many as the phases reach.
    """

    rows: Sequence[Line]
    columns: Sequence[Line]

    @property
    def unit(self) -> int:
        """The denominator of all weights."""
        return _denominator(self.rows) * _denominator(self.columns)

    def kernel(self, row: Line, column: Line) -> npt.NDArray[np.int64]:
        """The weights of one phase, `1x1xRxS`, as integers."""
        down, right = (
            np.array([int(weight * _denominator(all_)) for weight in line.weights])
            for line, all_ in ((row, self.rows), (column, self.columns))
        )
        return np.outer(down, right)[np.newaxis, np.newaxis]

    def extended(self, image: SSAValue, to: Lowering) -> SSAValue:
        """The image with its edges, where phases reach beyond them."""
        return _with_edges(_with_edges(image, 2, self.rows, to), 3, self.columns, to)

    def seen(self, extended: SSAValue, row: Line, column: Line, to: Lowering) -> SSAValue:
        """The part of the image with its edges that one phase reads."""
        cube = cube_of(extended.type)
        begins, sizes = [0], [cube.channels]
        for line, all_, size in ((row, self.rows, cube.height), (column, self.columns, cube.width)):
            before, after = _reach(all_)
            begins.append(before + line.first)
            sizes.append(size - before - after + len(line.weights) - 1)
        part = CubeShape(*sizes)
        return extended if part == cube else to(SliceOp(extended, begins, to.cube_type(part)))


def interpolation(op: AnyResize, cube: CubeShape, counts: tuple[int, int], to: Lowering) -> Interpolation:
    """The phases of a linear resize; gives up on coordinates whose steps differ from place to place."""
    coordinates = op.coordinate_transformation_mode.data
    if coordinates not in ("asymmetric", *HALF_PIXELS):
        to.refuse(f"linear with {coordinates} (the engines take half_pixel and asymmetric); use one of these")
    return Interpolation(
        lines(cube.height, counts[0], coordinates), lines(cube.width, counts[1], coordinates)
    )


def _denominator(all_: Sequence[Line]) -> int:
    return lcm(*(weight.denominator for line in all_ for weight in line.weights))


def _reach(all_: Sequence[Line]) -> tuple[int, int]:
    """How many pixels before the first and behind the last are read."""
    return max(-line.first for line in all_), max(line.first + len(line.weights) - 1 for line in all_)


def _with_edges(image: SSAValue, axis: int, all_: Sequence[Line], to: Lowering) -> SSAValue:
    before, after = _reach(all_)
    if not before and not after:
        return image
    sizes = list(cube_of(image.type))
    last = sizes[axis - 1] - 1
    edge = to.cube_type(CubeShape(*[*sizes[: axis - 1], 1, *sizes[axis:]]))

    def copies(place: int, count: int) -> list[SSAValue]:
        begin = [place if index == axis - 1 else 0 for index in range(3)]
        return [to(SliceOp(image, begin, edge)) for _ in range(count)]

    parts = [*copies(0, before), image, *copies(last, after)]
    sizes[axis - 1] += before + after
    return to(ConcatOp(parts, axis, to.cube_type(CubeShape(*sizes))))
