"""
Larger images: transposed convolutions, and what takes turns.

Every `stride`-th row and column of such an image is an image of its own, a *phase*. The phases are made by
ordinary operations and take turns in memory: rows by doubled strides, columns likewise on a view that has one
column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import PoolMode
from xonnc.dialects.dla.storage import ConcatOp, ReshapeOp, SliceOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.attributes import values_of
from xonnc.dialects.onnx.ops.nn import ConvTransposeOp
from xonnc.dialects.onnx.types import NONE
from xonnc.formats.nvdla.geometry import LARGEST_DIMENSION
from xonnc.lowering.dla_planning.shapes import Window
from xonnc.lowering.onnx_to_dla.convolution import batch_of, convolution, tiled
from xonnc.lowering.onnx_to_dla.lowering import Array, Cube, Lowering, lowers
from xonnc.lowering.onnx_to_dla.pooling import pool
from xonnc.targets import limits


@dataclass(frozen=True)
class Phase:
    """
    One dimension of a phase: its taps of the kernel in the order of a convolution, the `size` positions from
    `first` of the source that it reads, and the padding around them. No taps: zeros.
    """

    taps: tuple[int, ...]
    first: int
    size: int
    pads: tuple[int, int]


def phases(size: int, kernel: int, stride: int, pad: int, out: int) -> list[Phase]:
    """
    The phases of `y[s i + r - pad] += w[r] x[i]`, each of `ceil(out / stride)` positions.

    Phase `f` has the taps `r = r0 + s t` with `r0 = (f + pad) mod s`, and `y[s q + f]` is the sum of
    `w[r0 + s t] x[q + c - t]` with `c = (f + pad - r0) / s`.
    """
    found: list[Phase] = []
    for place in range(stride):
        first = (place + pad) % stride
        taps = tuple(reversed(range(first, kernel, stride)))
        count, shift = max(len(taps), 1), (place + pad - first) // stride
        before = count - 1 - shift
        after = ceil(out / stride) + count - 1 - size - before
        begin, end = max(-before, 0), size + min(after, 0)
        found.append(Phase(taps, begin, end - begin, (max(before, 0), max(after, 0))))
    return found


@dataclass(frozen=True)
class Transposed:
    """A transposed convolution over one image: phases of rows and of columns, and the sizes that come out."""

    rows: list[Phase]
    columns: list[Phase]
    height: int
    width: int

    def window(self, row: Phase, column: Phase) -> Window:
        """The convolution that makes one phase."""
        kernel = max(len(row.taps), 1), max(len(column.taps), 1)
        return Window(kernel, pads=(row.pads[0], column.pads[0], row.pads[1], column.pads[1]))

    def source(self, image: SSAValue, row: Phase, column: Phase, to: Lowering) -> SSAValue:
        """The part of the image that one phase reads."""
        cube = cube_of(image.type)
        part = CubeShape(cube.channels, row.size, column.size)
        return image if part == cube else to(SliceOp(image, (0, row.first, column.first), to.cube_type(part)))


def transposed(op: ConvTransposeOp, kernel: Sequence[int], cube: CubeShape, to: Lowering) -> Transposed:
    """The phases of `op`, whose kernel has its dilation filled with zeros."""
    if len(kernel) != 2:
        to.refuse(f"a transposed convolution over {len(kernel)} dimensions (images have 2)")
    if op.auto_pad.data not in ("NOTSET", "VALID") or op.output_shape is not None:
        to.refuse("auto_pad or output_shape; give the pads")
    shape = to.result_shape(op)
    strides, pads = values_of(op.strides) or (1, 1), values_of(op.pads) or (0,) * 4
    sizes, outs = (cube.height, cube.width), shape[2:]
    # One row has no other that the stride could take it apart from: then all is one phase.
    steps = [stride if size > 1 else 1 for stride, size in zip(strides, sizes, strict=True)]
    rows, columns = (phases(sizes[d], kernel[d], steps[d], pads[d], outs[d]) for d in range(2))
    if any(phase.size < 1 for phase in (*rows, *columns)):
        to.refuse("pads that leave nothing of the image; make them smaller")
    return Transposed(rows, columns, outs[0], outs[1])


def spread(weights: Array, groups: int, dilations: Sequence[int]) -> Array:
    """Kernels `CxM/gxRxS` of a transposed convolution as `MxCxRxS`, zeros for groups and dilations."""
    inputs, per_group, *kernel = weights.shape
    reach = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=True)]
    dense = np.zeros((groups, per_group, groups, inputs // groups, *reach), weights.dtype)
    split = weights.reshape(groups, inputs // groups, per_group, *kernel).swapaxes(1, 2)
    for group in range(groups):
        dense[group, :, group, :, :: dilations[0], :: dilations[1]] = split[group]
    return dense.reshape(groups * per_group, inputs, *reach)


def taps_of(weights: Array, row: Phase, column: Phase) -> Array:
    """The kernels of one phase."""
    if not row.taps or not column.taps:
        return np.zeros((*weights.shape[:2], max(len(row.taps), 1), max(len(column.taps), 1)), weights.dtype)
    return np.ascontiguousarray(weights[:, :, list(row.taps)][:, :, :, list(column.taps)])


@lowers(ConvTransposeOp)
def conv_transpose(op: ConvTransposeOp, to: Lowering) -> Cube:
    """A convolution for each phase of the result, `stride` in each dimension; the phases take turns."""
    image, weights = to.image(op.X), to.weights(op.W, "the kernels")
    bias = None if op.B.type == NONE else to.weights(op.B, "the bias")
    if weights.ndim != 4:
        to.refuse(f"a transposed convolution over {weights.ndim - 2} dimensions (images have 2)")
    batch = batch_of(to.result_shape(op), to)
    bias = None if bias is None else tiled(bias, batch)
    groups = op.group.value.data * batch
    weights = spread(tiled(weights, batch), groups, values_of(op.dilations) or (1, 1))
    plan = transposed(op, weights.shape[2:], cube_of(image.type), to)
    made = [
        [
            convolution(
                plan.source(image, row, column, to),
                taps_of(weights, row, column),
                bias,
                plan.window(row, column),
                to,
            )
            for column in plan.columns
        ]
        for row in plan.rows
    ]
    return Cube(cropped(interleaved(made, to), plan.height, plan.width, to), to.result_shape(op))


def repeated(image: SSAValue, counts: tuple[int, int], to: Lowering) -> SSAValue:
    """Each row and column of an image several times."""
    if cube_of(image.type).positions == 1:
        return _filled(image, counts, to)
    if counts == (1, 1):
        return image
    return interleaved([[image] * counts[1]] * counts[0], to)


def _filled(image: SSAValue, sizes: tuple[int, int], to: Lowering) -> SSAValue:
    """
    An image of one position, as often as is asked: engines write single positions without gaps
    (spec/nvdla.md §3.5), so the greatest of windows that reach into the padding makes it larger.
    """
    cube = cube_of(image.type)
    while (cube.height, cube.width) != sizes:
        below, right = (
            min(size - here, limits.POOL_PAD.most)
            for size, here in zip(sizes, (cube.height, cube.width), strict=True)
        )
        window = Window((below + 1, right + 1), pads=(below, right, below, right))
        image = pool(image, PoolMode.MAX, window, to)
        cube = cube_of(image.type)
    return image


def interleaved(made: Sequence[Sequence[SSAValue]], to: Lowering) -> SSAValue:
    """Rows and columns of images in turns: `made[i][j]` has the place `i`, `j` of each block."""
    rows, columns = len(made), len(made[0])
    cube = cube_of(made[0][0].type)
    tall = cube._replace(height=rows * cube.height)
    sides = [_in_turns([row[place] for row in made], tall, to) for place in range(columns)]
    if columns == 1:
        return sides[0]
    most = max(LARGEST_DIMENSION // cube.width, 1)
    flat: list[SSAValue] = []
    for begin in range(0, tall.height, most):
        count = min(most, tall.height - begin)
        lines = CubeShape(cube.channels, count * cube.width, 1)
        parts = [_lines(side, begin, count, to) for side in sides]
        flat.append(_in_turns(parts, lines._replace(height=columns * lines.height), to))
    whole = flat[0]
    if len(flat) > 1:
        lines = CubeShape(cube.channels, tall.positions * columns, 1)
        whole = to(ConcatOp(flat, 2, to.cube_type(lines)))
    return to(ReshapeOp(whole, to.cube_type(tall._replace(width=columns * cube.width))))


def _in_turns(values: list[SSAValue], cube: CubeShape, to: Lowering) -> SSAValue:
    """Rows of `values` in turns, in memory of its own."""
    return to(ConcatOp(values, 2, to.cube_type(cube), is_interleaved=True))


def _lines(side: SSAValue, begin: int, count: int, to: Lowering) -> SSAValue:
    """Rows of an image as one column."""
    cube = cube_of(side.type)
    if count != cube.height:
        side = to(SliceOp(side, (0, begin, 0), to.cube_type(cube._replace(height=count))))
    return to(ReshapeOp(side, to.cube_type(CubeShape(cube.channels, count * cube.width, 1))))


def cropped(image: SSAValue, height: int, width: int, to: Lowering) -> SSAValue:
    """The first rows and columns of an image, where they lie."""
    cube = cube_of(image.type)
    if (cube.height, cube.width) == (height, width):
        return image
    return to(SliceOp(image, (0, 0, 0), to.cube_type(CubeShape(cube.channels, height, width))))
