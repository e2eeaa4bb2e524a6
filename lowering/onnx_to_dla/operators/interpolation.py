"""
Linear interpolation of images by rational scales, as a strided convolution per output phase.

With the scale `u / d`, every `u`-th result is of one *phase*: each is as far from every `d`-th pixel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, lcm

import numpy as np
import numpy.typing as npt
from xdsl.ir import SSAValue

from xonnc.dialects.dla.storage import ConcatOp, SliceOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import DlaBuilder
from xonnc.targets import limits

HALF_PIXELS = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel")
"""Coordinate transformations that agree where the scale is the ratio of the sizes."""

COORDINATES = ("asymmetric", "align_corners", *HALF_PIXELS)
"""Coordinate transformations that are supported."""


@dataclass(frozen=True)
class LinearPhase:
    """
    One dimension of an output phase: the sum of `weights` times adjacent elements, the first at offset
    `first`.
    """

    first: int
    weights: tuple[Fraction, ...]


@dataclass(frozen=True)
class LinearAxis:
    """
    One dimension of an interpolation: position `q` of each phase reads the source from `q * stride` plus its
    own offset on. The source is extended by copies of its edges as far as that.
    """

    size: int
    total: int
    """Results of all phases."""
    stride: int
    phases: tuple[LinearPhase, ...]

    @property
    def count(self) -> int:
        """Positions of each phase, of which the last ones may be beyond the results."""
        return ceil(self.total / len(self.phases))

    @property
    def denominator(self) -> int:
        """The denominator of all weights."""
        return lcm(*(weight.denominator for line in self.phases for weight in line.weights))

    @property
    def before(self) -> int:
        """Copies of the first element before the source."""
        return max(0, *(-line.first for line in self.phases))

    @property
    def after(self) -> int:
        """Copies of the last element after the source."""
        return max(0, *(line.first + self.seen(line) - self.size for line in self.phases))

    def seen(self, phase: LinearPhase) -> int:
        """Return the number of elements that a phase reads."""
        return (self.count - 1) * self.stride + len(phase.weights)

    def numerators(self, phase: LinearPhase) -> npt.NDArray[np.int64]:
        """Return the weights of a phase in units of the denominator."""
        return np.array([int(weight * self.denominator) for weight in phase.weights])


def linear_axis(before: int, after: int, scale: Fraction, coordinates: str) -> LinearAxis:
    """
    Return how `after` elements are interpolated between `before`, by one of `COORDINATES`.

    A single element has no neighbors.
    """
    if before == 1:
        return LinearAxis(1, after, 1, (LinearPhase(0, (Fraction(1),)),) * after)
    length = scale * before
    if coordinates == "align_corners":
        scale = (length - 1) / (before - 1) if length > 1 else Fraction(1)
    half = Fraction(1, 2) if coordinates in HALF_PIXELS else Fraction(0)
    if coordinates == "pytorch_half_pixel" and length == 1:
        half = Fraction(0)
    # Beyond the engine's strides each result is a phase of its own.
    is_periodic = scale.numerator < after and limits.CONV_STRIDE.broken(scale.denominator) is None
    phases: list[LinearPhase] = []
    for index in range(scale.numerator if is_periodic else after):
        at = (index + half) / scale - half
        first = floor(at)
        beyond = at - first
        phases.append(LinearPhase(first, (1 - beyond, beyond) if beyond else (Fraction(1),)))
    return LinearAxis(before, after, scale.denominator if is_periodic else 1, tuple(phases))


def unchanged(size: int) -> LinearAxis:
    """Return an axis that stays as it is."""
    return LinearAxis(size, size, 1, (LinearPhase(0, (Fraction(1),)),))


@dataclass(frozen=True)
class Interpolation:
    """Linear interpolation: phases of rows and columns, with weights that are multiples of `1 / unit`."""

    rows: LinearAxis
    columns: LinearAxis
    is_separate: bool = False
    """Whether rows are interpolated before columns, and rounded in between."""

    @property
    def unit(self) -> int:
        """The denominator of all weights."""
        return self.rows.denominator * self.columns.denominator

    def kernel(self, row: LinearPhase, column: LinearPhase) -> npt.NDArray[np.int64]:
        """Return the weights of one phase, `1x1xRxS`, as integers."""
        return np.outer(self.rows.numerators(row), self.columns.numerators(column))[np.newaxis, np.newaxis]

    def window(self, row: LinearPhase, column: LinearPhase) -> Window2D:
        """Return the window of the convolution that computes one phase."""
        return Window2D((len(row.weights), len(column.weights)), (self.rows.stride, self.columns.stride))

    def extended(self, image: SSAValue, builder: DlaBuilder) -> SSAValue:
        """Return the image extended by copies of its edges."""
        return _with_edges(_with_edges(image, 2, self.rows, builder), 3, self.columns, builder)

    def source(
        self, extended: SSAValue, row: LinearPhase, column: LinearPhase, builder: DlaBuilder
    ) -> SSAValue:
        """Return the slice of the extended image that one phase reads."""
        cube = cube_of(extended.type)
        part = CubeShape(cube.channels, self.rows.seen(row), self.columns.seen(column))
        begins = [0, self.rows.before + row.first, self.columns.before + column.first]
        return extended if part == cube else builder(SliceOp(extended, begins, builder.cube_type(part)))


def _with_edges(image: SSAValue, axis: int, along: LinearAxis, builder: DlaBuilder) -> SSAValue:
    before, after = along.before, along.after
    if not before and not after:
        return image
    sizes = list(cube_of(image.type))
    last = sizes[axis - 1] - 1
    edge = builder.cube_type(CubeShape(*[*sizes[: axis - 1], 1, *sizes[axis:]]))

    def copies(position: int, count: int) -> Sequence[SSAValue]:
        begin = [position if index == axis - 1 else 0 for index in range(3)]
        return [builder(SliceOp(image, begin, edge)) for _ in range(count)]

    parts = [*copies(0, before), image, *copies(last, after)]
    sizes[axis - 1] += before + after
    return builder(ConcatOp(parts, axis, builder.cube_type(CubeShape(*sizes))))
