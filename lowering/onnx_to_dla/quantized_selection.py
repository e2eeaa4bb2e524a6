"""Operators that pick elements, on integers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import Converter, OperandMode, Stage, StageFunction
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.formats.nvdla.quantization import Grid
from xonnc.lowering.dla_planning.shapes import Window
from xonnc.lowering.onnx_to_dla.integers import Integers, Stored, lowers
from xonnc.lowering.onnx_to_dla.lowering import Lowering
from xonnc.lowering.onnx_to_dla.reals import Affine, Reals
from xonnc.lowering.onnx_to_dla.selection import (
    FILL,
    SELECTIONS,
    Indices,
    one_hot,
    selected,
    selection_of,
)

ADDED = Stage(StageFunction.ALU, mode=OperandMode.PER_KERNEL)


@dataclass(frozen=True)
class Chosen:
    """Numbers picked from others, and one that pads: rounding first gives the same."""

    source: Reals
    indices: Indices
    fill: float

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the model's tensor."""
        return self.indices.shape

    def rounded(self, grid: Grid, to: Lowering) -> SSAValue:
        """The source on the grid, and what is picked of it."""
        padding = int(grid.stored(np.array(self.fill)))
        return _selected(self.source.rounded(grid, to), self.indices, padding, to)


@lowers(*SELECTIONS)
def select(op: OnnxOp, to: Integers) -> list[Reals | Stored]:
    """
    Elements picked: rows and columns are slices side by side, every n-th ones a pooling of single positions,
    channels a slice or a 1x1 convolution with ones.
    """
    found = to.found(op.operands[0])
    selection = selection_of(op, found.shape, to)
    return [_of_one(found, indices, selection.fill, to) for indices in selection.results]


def _of_one(found: Reals | Stored, indices: Indices, fill: float, to: Integers) -> Reals | Stored:
    if isinstance(found, Stored):
        padding = int(np.clip(fill - found.offset, -128, 127))
        return Stored(_selected(found.value, indices, padding, to), indices.shape, found.offset)
    if not isinstance(found, Affine) or found.stored is None or (fill and FILL in indices):
        return Chosen(found, indices, fill)
    held = found.stored
    value = _selected(held.value, indices, held.grid.zero, to)
    return Affine.of(value, cube_of(value.type), indices.shape, held.grid)


def _selected(source: SSAValue, indices: Indices, padding: int, to: Lowering) -> SSAValue:
    def fill(cube: CubeShape) -> SSAValue:
        return to.requantized(to.constant_cube(np.full((1, *cube), padding, np.int8)), [], Converter())

    def pick(value: SSAValue, places: Indices) -> SSAValue:
        weights = one_hot(places, cube_of(value.type).channels)
        sums = to.conv(value, to.kernels(weights), Window((1, 1)))
        added = np.where(places == FILL, padding, 0).astype(np.int16)
        return to.requantized(sums, [(ADDED, to.per_kernel(added))] if np.any(added) else [], Converter())

    return selected(source, indices, pick, fill, to)
