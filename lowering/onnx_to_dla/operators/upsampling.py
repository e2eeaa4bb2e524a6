"""
ConvTranspose as sub-pixel convolutions, and interleaving of output phases.

Every `stride`-th row and column of such a result is an image of its own, a *phase*, that an ordinary
convolution computes. Phases are interleaved in memory: rows by multiplied line strides, columns likewise on a
view with one column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import PoolMode
from xonnc.dialects.dla.storage import ConcatOp, ReshapeOp, SliceOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops.nn import ConvTransposeOp
from xonnc.formats.nvdla.geometry import MAX_DIMENSION
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array, DlaBuilder
from xonnc.lowering.onnx_to_dla.builders.kernels import Kernels, tiled
from xonnc.lowering.onnx_to_dla.builders.operator_builder import OperatorBuilder, TensorT, lowers
from xonnc.lowering.onnx_to_dla.operators.convolution import batch_of
from xonnc.lowering.onnx_to_dla.operators.pooling import pool
from xonnc.targets import limits


@dataclass(frozen=True)
class SubPixelPhase:
    """
    One dimension of a phase: its taps in the order of a convolution, the `size` positions from `first` of the
    source that it reads, and the padding around them. No taps means zeros.
    """

    taps: tuple[int, ...]
    first: int
    size: int
    pads: tuple[int, int]


def sub_pixel_phases(size: int, kernel: int, stride: int, pad: int, out: int) -> list[SubPixelPhase]:
    """
    Return the phases of `y[s i + r - pad] += w[r] x[i]`, each of `ceil(out / stride)` positions.

    Phase `f` has the taps `r = r0 + s t` with `r0 = (f + pad) mod s`, and `y[s q + f]` is the sum of `w[r0 +
    s t] x[q + c - t]` with `c = (f + pad - r0) / s`.
    """
    result: list[SubPixelPhase] = []
    for index in range(stride):
        first = (index + pad) % stride
        taps = tuple(reversed(range(first, kernel, stride)))
        count, shift = max(len(taps), 1), (index + pad - first) // stride
        before = count - 1 - shift
        after = ceil(out / stride) + count - 1 - size - before
        begin, end = max(-before, 0), size + min(after, 0)
        result.append(SubPixelPhase(taps, begin, end - begin, (max(before, 0), max(after, 0))))
    return result


@dataclass(frozen=True)
class TransposedConvolution:
    """A transposed convolution of one image: phases of rows and columns, and the size of the result."""

    rows: list[SubPixelPhase]
    columns: list[SubPixelPhase]
    height: int
    width: int

    def window(self, row: SubPixelPhase, column: SubPixelPhase) -> Window2D:
        """Return the window of the convolution that computes one phase."""
        kernel = max(len(row.taps), 1), max(len(column.taps), 1)
        return Window2D(kernel, pads=(row.pads[0], column.pads[0], row.pads[1], column.pads[1]))

    def source(
        self, image: SSAValue, row: SubPixelPhase, column: SubPixelPhase, builder: DlaBuilder
    ) -> SSAValue:
        """Return the slice of the image that one phase reads."""
        cube = cube_of(image.type)
        part = CubeShape(cube.channels, row.size, column.size)
        return (
            image
            if part == cube
            else builder(SliceOp(image, (0, row.first, column.first), builder.cube_type(part)))
        )


def transposed_convolution(
    op: ConvTransposeOp, kernel: Sequence[int], cube: CubeShape, builder: DlaBuilder
) -> TransposedConvolution:
    """Return the phases of `op`; `kernel` is the size of the dilated kernel."""
    if len(kernel) != 2:
        builder.refuse(f"{len(kernel)} spatial dimensions (transposed convolutions take 2)")
    if op.auto_pad.data not in ("NOTSET", "VALID") or op.output_shape is not None:
        builder.refuse("auto_pad or output_shape; give the pads")
    shape = builder.result_shape(op)
    strides, pads = int_values(op.strides) or (1, 1), int_values(op.pads) or (0,) * 4
    sizes, outs = (cube.height, cube.width), shape[2:]
    # With a single input row (column) results do not overlap, so all is one phase.
    steps = [stride if size > 1 else 1 for stride, size in zip(strides, sizes, strict=True)]
    rows, columns = (sub_pixel_phases(sizes[d], kernel[d], steps[d], pads[d], outs[d]) for d in range(2))
    if any(phase.size < 1 for phase in (*rows, *columns)):
        builder.refuse("pads that leave an output phase without input; make them smaller")
    return TransposedConvolution(rows, columns, outs[0], outs[1])


def dense_transposed_kernels(weights: Array, groups: int, dilations: Sequence[int]) -> Array:
    """
    Return kernels `CxM/gxRxS` of a transposed convolution as `MxCxRxS`, with zeros for groups and dilations.
    """
    inputs, per_group, *kernel = weights.shape
    reach = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=True)]
    dense = np.zeros((groups, per_group, groups, inputs // groups, *reach), weights.dtype)
    split = weights.reshape(groups, inputs // groups, per_group, *kernel).swapaxes(1, 2)
    for group in range(groups):
        dense[group, :, group, :, :: dilations[0], :: dilations[1]] = split[group]
    return dense.reshape(groups * per_group, inputs, *reach)


def taps_of(weights: Array, row: SubPixelPhase, column: SubPixelPhase) -> Array:
    """Return the kernels of one phase."""
    if not row.taps or not column.taps:
        return np.zeros((*weights.shape[:2], max(len(row.taps), 1), max(len(column.taps), 1)), weights.dtype)
    return np.ascontiguousarray(weights[:, :, list(row.taps)][:, :, :, list(column.taps)])


@lowers(ConvTransposeOp)
def conv_transpose(op: ConvTransposeOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower ConvTranspose: one convolution per output phase, whose results are interleaved."""
    source, kernels = builder.spatial_source(op.X), builder.kernels_of(op.W, 1, "the kernels")
    bias, shape = builder.bias(op.B, "the bias"), builder.result_shape(op)
    if kernels.array.ndim != 4:
        builder.refuse(f"{kernels.array.ndim - 2} spatial dimensions (transposed convolutions take 2)")
    if op.group.value.data > 1 and kernels.scales.size > 1:
        builder.refuse("grouped weights with per-channel scales; use one scale")
    batch = batch_of(shape, builder)
    bias = None if bias is None else tiled(bias, batch)
    groups, scales = op.group.value.data * batch, kernels.tiled_scales(batch)
    given = tiled(kernels.array.swapaxes(0, 1), batch)
    weights = dense_transposed_kernels(given, groups, int_values(op.dilations) or (1, 1))
    plan = transposed_convolution(op, weights.shape[2:], source.cube, builder)
    parts = [
        builder.convolution(
            replace(source, value=plan.source(source.value, row, column, builder)),
            Kernels(taps_of(weights, row, column), scales),
            bias,
            plan.window(row, column),
            shape,
        )
        for row in plan.rows
        for column in plan.columns
    ]

    def join(values: list[SSAValue]) -> SSAValue:
        return crop(in_rows(values, len(plan.columns), builder), plan.height, plan.width, builder)

    return builder.joined(parts, shape, join)


def in_rows(values: Sequence[SSAValue], columns: int, builder: DlaBuilder) -> SSAValue:
    """Interleave images that are given row by row."""
    return interleave([values[begin : begin + columns] for begin in range(0, len(values), columns)], builder)


def repeat(image: SSAValue, counts: tuple[int, int], builder: DlaBuilder) -> SSAValue:
    """Repeat each row and column of an image."""
    if cube_of(image.type).positions == 1:
        return _broadcast_position(image, counts, builder)
    if counts == (1, 1):
        return image
    return interleave([[image] * counts[1]] * counts[0], builder)


def _broadcast_position(image: SSAValue, sizes: tuple[int, int], builder: DlaBuilder) -> SSAValue:
    """
    Enlarge an image of one position. The SDP reads single positions without gaps only
    (docs/internals/nvdla-hardware.md §3.5), so max poolings with padding enlarge it.
    """
    cube = cube_of(image.type)
    while (cube.height, cube.width) != sizes:
        below, right = (
            min(size - here, limits.POOL_PAD.most)
            for size, here in zip(sizes, (cube.height, cube.width), strict=True)
        )
        window = Window2D((below + 1, right + 1), pads=(below, right, below, right))
        image = pool(image, PoolMode.MAX, window, builder)
        cube = cube_of(image.type)
    return image


def interleave(parts: Sequence[Sequence[SSAValue]], builder: DlaBuilder) -> SSAValue:
    """Interleave rows and columns of images: `parts[i][j]` becomes row `i`, column `j` of each block."""
    rows, columns = len(parts), len(parts[0])
    cube = cube_of(parts[0][0].type)
    tall = cube._replace(height=rows * cube.height)
    sides = [_interleave_rows([row[index] for row in parts], tall, builder) for index in range(columns)]
    if columns == 1:
        return sides[0]
    most = max(MAX_DIMENSION // cube.width, 1)
    flat: list[SSAValue] = []
    for begin in range(0, tall.height, most):
        count = min(most, tall.height - begin)
        lines = CubeShape(cube.channels, count * cube.width, 1)
        flattened = [_rows_as_column(side, begin, count, builder) for side in sides]
        flat.append(_interleave_rows(flattened, lines._replace(height=columns * lines.height), builder))
    joined = flat[0]
    if len(flat) > 1:
        lines = CubeShape(cube.channels, tall.positions * columns, 1)
        joined = builder(ConcatOp(flat, 2, builder.cube_type(lines)))
    return builder(ReshapeOp(joined, builder.cube_type(tall._replace(width=columns * cube.width))))


def _interleave_rows(values: list[SSAValue], cube: CubeShape, builder: DlaBuilder) -> SSAValue:
    """Interleave the rows of `values`, in memory of its own."""
    return builder(ConcatOp(values, 2, builder.cube_type(cube), is_interleaved=True))


def _rows_as_column(side: SSAValue, begin: int, count: int, builder: DlaBuilder) -> SSAValue:
    """Return rows of an image as one column."""
    cube = cube_of(side.type)
    if count != cube.height:
        side = builder(SliceOp(side, (0, begin, 0), builder.cube_type(cube._replace(height=count))))
    return builder(ReshapeOp(side, builder.cube_type(CubeShape(cube.channels, count * cube.width, 1))))


def crop(image: SSAValue, height: int, width: int, builder: DlaBuilder) -> SSAValue:
    """Return the first rows and columns of an image, as a view."""
    cube = cube_of(image.type)
    if (cube.height, cube.width) == (height, width):
        return image
    return builder(SliceOp(image, (0, 0, 0), builder.cube_type(CubeShape(cube.channels, height, width))))
