"""
Products of two computed matrices: one of them is written to memory as weights of the convolution core.

The cube of a tensor `[1, C, P]` has C channels and P positions. The product of `[1, M, K]` and `[1, K, N]` is
a 1x1 convolution of the second, K channels at N positions, by M kernels of K channels. Weights are in memory
group of kernels by group; within a group block of channels by block; within a block kernel by kernel. Where a
group has as many kernels as a block and an atom have channels, as on nv_small, that is a cube with a row of
positions for each group and surfaces that follow each other within a row (`dla.kernels`). So the weights are
the transpose of the first factor.

The transpose of a tensor is its product with a matrix of ones and zeros, with the tensor as weights.

Weights are whole groups of kernels and blocks of channels: a concatenation with zeros adds positions, and a
one-hot convolution channels that are zero, to the second factor too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import Converter
from xonnc.dialects.dla.storage import ConcatOp, KernelsOp, ReshapeOp
from xonnc.dialects.dla.types import CubeShape, cube_of
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops.math import MatMulOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.ops.tensor import TransposeOp
from xonnc.dialects.onnx.types import tensor_type
from xonnc.formats.nvdla.geometry import round_up
from xonnc.lowering.dla_planning.feasibility import conv_limits, fits_buffer
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Cube
from xonnc.lowering.onnx_to_dla.builders.operator_builder import OperatorBuilder
from xonnc.lowering.onnx_to_dla.int8.dequantized import Affine, Moved, viewed
from xonnc.lowering.onnx_to_dla.int8.quantized_convolution import shorter_rows
from xonnc.targets import NvdlaTarget

EXCHANGED = (0, 2, 1)
"""The permutation of a tensor `[1, C, P]` that exchanges channels and positions."""

POINT = Window2D((1, 1))


def matrix_product(
    first: SSAValue, second: SSAValue, shape: tuple[int, ...], builder: OperatorBuilder[Any]
) -> Affine | Moved:
    """Return the product of two computed matrices of stored integers."""
    left, right = builder.source(first), builder.source(second)
    require_matrices(left, right, builder)
    scale = np.array([_symmetric(left, "A", builder) * _symmetric(right, "B", builder)])
    transposed = _before_transposition(first, left, builder)
    if transposed is None:
        transposed = _transposed(left.value, builder)
    kernels = with_whole_groups(with_whole_atoms(transposed, builder), builder)
    data = with_whole_atoms(right.value, builder)
    rows, columns = cube_of(kernels.type).positions, shape[2]
    read = rows_that_fit(cube_of(data.type), rows, builder)

    def make() -> SSAValue:
        return builder.conv(viewed(data, read, builder), kernels_of(kernels, builder), POINT)

    computed = read._replace(channels=rows)
    made = Affine(make, CubeShape(rows, 1, columns), (1, rows, columns), scale, np.zeros(1))
    made = replace(made, computed=computed)
    if rows == shape[1]:
        return made
    return Moved(made, shape, lambda cube: builder.channels(cube, 0, shape[1]))


def exchanged(
    source: Cube, perm: tuple[int, ...], shape: tuple[int, ...], builder: OperatorBuilder[Any]
) -> Affine | None:
    """Return the transpose of `[1, C, P]`, `None` for other tensors and targets."""
    if perm != EXCHANGED or shape[0] != 1 or source.cube != CubeShape(shape[2], 1, shape[1]):
        return None
    if not writes_weights(builder.target):
        return None
    made = _transposed(source.value, builder)
    if cube_of(made.type).channels > shape[1]:
        made = builder.channels(made, 0, shape[1])
    return builder.stored(made, shape, source.qparams)


def writes_weights(target: NvdlaTarget) -> bool:
    """Whether the SDP can write what the convolution core reads as weights."""
    return target.atomic_k == target.atomic_c == target.memory_atom_bytes


def require_matrices(left: Cube, right: Cube, builder: OperatorBuilder[Any]) -> None:
    """Refuse factors that are no matrices of which one can become weights."""
    if not writes_weights(builder.target):
        builder.refuse(
            f"B is computed at run time ({builder.target.name} reads weights by "
            f"{builder.target.atomic_c} channels, and engines write {builder.target.memory_atom_bytes})"
        )
    for name, one in (("A", left), ("B", right)):
        if len(one.shape) != 3 or one.shape[0] != 1 or one.cube != CubeShape(one.shape[1], 1, one.shape[2]):
            builder.refuse(
                f"{name} of shape {list(one.shape)} is computed (the core takes [1, rows, columns])"
            )


def rows_that_fit(cube: CubeShape, kernels: int, builder: OperatorBuilder[Any]) -> CubeShape:
    """Return the rows as which the core reads a cube; refuse what its registers or buffer do not take."""
    cube = shorter_rows(cube, kernels, POINT, builder) or cube
    builder.check(conv_limits(cube, kernels, POINT))
    if not fits_buffer(builder.target, builder.precision, cube, kernels, POINT):
        builder.refuse(
            f"{cube.channels} channels at {cube.positions} positions and a group of kernels do not fit the "
            f"convolution buffer of {builder.target.cbuf_bytes} bytes"
        )
    return cube


def with_whole_atoms(value: SSAValue, builder: OperatorBuilder[Any]) -> SSAValue:
    """Return a cube with as many channels as its atoms hold, those added zero."""
    cube = cube_of(value.type)
    channels = round_up(cube.channels, builder.target.memory_atom_bytes)
    if channels == cube.channels:
        return value
    kernels = np.eye(channels, cube.channels, dtype=np.int8).reshape(channels, -1, 1, 1)
    read = rows_that_fit(cube, channels, builder)
    made = builder.one_hot_convolution(viewed(value, read, builder), kernels, POINT)
    return viewed(made, cube, builder)


def with_whole_groups(value: SSAValue, builder: OperatorBuilder[Any]) -> SSAValue:
    """Return a cube with as many positions as groups of kernels have, those added zero."""
    cube = cube_of(value.type)
    positions = round_up(cube.positions, builder.target.atomic_k)
    if positions == cube.positions:
        return value
    zeros = builder.filled(cube._replace(width=positions - cube.positions), 0)
    return builder(ConcatOp([value, zeros], 3, builder.cube_type(cube._replace(width=positions))))


def kernels_of(value: SSAValue, builder: OperatorBuilder[Any]) -> SSAValue:
    """Return a cube of C channels at P positions as P kernels of C channels: a pass writes it anew."""
    cube, group = cube_of(value.type), builder.target.atomic_k
    rows = CubeShape(cube.channels, cube.positions // group, group)
    groups = builder(ReshapeOp(value, builder.cube_type(rows)))
    written = builder.requantized(groups, [], Converter())
    element = builder.cube_type(rows).element_type
    return builder(KernelsOp(written, tensor_type((cube.positions, cube.channels, 1, 1), element)))


def feeds_products(value: SSAValue) -> bool:
    """Whether products with another computed matrix alone read a value, quantized or not."""
    readers = [use.operation for use in value.uses]
    return bool(readers) and all(
        isinstance(op, MatMulOp)
        or (isinstance(op, QuantizeLinearOp | DequantizeLinearOp) and feeds_products(op.results[0]))
        for op in readers
    )


def _transposed(value: SSAValue, builder: OperatorBuilder[Any]) -> SSAValue:
    """
    Return a cube of C channels at P positions as P channels at C positions, the same integers; and channels
    that are zero up to a whole atom.
    """
    columns = cube_of(value.type).channels
    whole = with_whole_groups(with_whole_atoms(value, builder), builder)
    cube = cube_of(whole.type)
    read = rows_that_fit(CubeShape(cube.channels, 1, columns), cube.positions, builder)
    ones = builder.constant_cube(np.eye(cube.channels, columns, dtype=np.int8).reshape(1, *read))
    made = builder.requantized(builder.conv(ones, kernels_of(whole, builder), POINT), [], Converter())
    return viewed(made, CubeShape(cube.positions, 1, columns), builder)


def _before_transposition(value: SSAValue, found: Cube, builder: OperatorBuilder[Any]) -> SSAValue | None:
    """Return the cube that a transposed one is the transpose of; `None` if it is quantized otherwise."""
    op = value.owner
    while isinstance(op, QuantizeLinearOp | DequantizeLinearOp):
        op = op.x.owner
    if not isinstance(op, TransposeOp) or int_values(op.perm) != EXCHANGED:
        return None
    source = builder.source(op.data)
    return source.value if source.qparams == found.qparams else None


def _symmetric(found: Cube, name: str, builder: OperatorBuilder[Any]) -> float:
    """Return the scale of integers without a zero point: the sums of computed weights are not known."""
    assert found.qparams is not None, "integers have a scale"
    if found.qparams.zero_point:
        builder.refuse(
            f"{name} is computed and has zero point {found.qparams.zero_point}; use a symmetric one"
        )
    return found.qparams.scale
