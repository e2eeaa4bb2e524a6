"""`layer-norm-to-conv-onnx`: layer normalization of channels as convolutions and products, for NVDLA."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.attribute_builders import float_attr, int_array_attr, int_attr
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.ops.extra import BatchNormalizationInferenceModeOp
from xonnc.dialects.onnx.ops.math import AddOp, ExpandOp, GemmOp, MulOp, PowOp
from xonnc.dialects.onnx.ops.nn import ConvOp, LayerNormalizationOp
from xonnc.dialects.onnx.ops.tensor import TransposeOp
from xonnc.dialects.onnx.types import NONE, static_shape
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array
from xonnc.lowering.onnx_to_dla.builders.op_inserter import NormalizationInserter
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import elements
from xonnc.lowering.onnx_to_dla.graph.normalization_pass import NormalizationPass
from xonnc.targets.limits import DIMENSION


@dataclass(frozen=True)
class LayerNormToConv(NormalizationPass):
    """
    Rewrite layer normalization of what was transposed to channels last to convolutions of what comes before.

    The mean of the channels is a convolution with one kernel of `1/C`, and another with `C` kernels of one
    element copies it to all channels; so is the power `(variance + epsilon)^-0.5` of the mean of squares.
    The engines then add, square and multiply images with channels first. Without a Transpose before, the
    normalization stays on the CPU.

    With `fp16` the squares are those of a quarter of each number, so that numbers up to 1023 do not overflow,
    and vectors `[1, C]` are normalized too, by products of matrices. A vector, of a single position too, has
    one variance, and 8 bits do not hold that of every input.
    """

    name = "layer-norm-to-conv-onnx"

    roots = (LayerNormalizationOp,)

    def rewrite_op(self, op: Operation, pool: DisposablePool, squared_part: float) -> bool:
        assert isinstance(op, LayerNormalizationOp)
        shape, scale = static_shape(op.X.type), elements(op.Scale)
        shift = None if op.B.type == NONE else elements(op.B)
        if shape is None or shape[0] != 1 or scale is None or (shift is None and op.B.type != NONE):
            return False
        columns = op.X if len(shape) == 2 else columns_before(op.X)
        is_vector = all(size == 1 for size in shape[:-1])
        is_of_channels = op.axis.value.data in (-1, len(shape) - 1) and DIMENSION.broken(shape[-1]) is None
        has_statistics = any(value.first_use is not None for value in (op.Mean, op.InvStdDev))
        if columns is None or not is_of_channels or has_statistics or (is_vector and not self.fp16):
            return False
        _rewrite(op, columns, scale, shift, pool, squared_part)
        return True


def columns_before(value: SSAValue) -> SSAValue | None:
    """Return the images with channels first of which a Transpose made `value`, with channels last."""
    before, shape = value.owner, static_shape(value.type)
    if shape is None or len(shape) not in (3, 4) or not isinstance(before, TransposeOp):
        return None
    if before.perm != to_rows(len(shape)):
        return None
    return before.data


def to_rows(rank: int) -> Attribute:
    """Return the permutation that moves channels last."""
    return int_array_attr(0, *range(2, rank), 1)


def _rewrite(
    op: LayerNormalizationOp,
    columns: SSAValue,
    scale: Array,
    shift: Array | None,
    pool: DisposablePool,
    squared_part: float,
) -> None:
    """Rewrite a normalization with squares of a part of each number; that part is normalized just as well."""
    shape = static_shape(columns.type)
    assert shape is not None, "the result has the same sizes"
    builder = NormalizationInserter(op, pool)
    depth, positions = shape[1], shape[2:]
    window, dtype = (1,) * len(positions), scale.dtype

    def product(value: SSAValue, number: float, kernels: int, channels: int, bias: float = 0.0) -> SSAValue:
        """Multiply the channels of each position by a matrix of one number."""
        weights = builder.constant(np.full((kernels, channels, *window), number, dtype))
        addend = builder.constant(np.full(kernels, bias, dtype)) if bias else builder.none()
        given, result = (value, weights, addend), (1, kernels, *positions)
        if positions:
            return builder.op(ConvOp, given, result)
        return builder.op(GemmOp, given, result, transB=int_attr(1))

    mean = product(columns, 1 / depth, 1, depth)
    centered = builder.op(AddOp, (columns, product(mean, -1.0, depth, 1)), shape)
    if squared_part != 1:
        part = builder.constant(np.array(squared_part, dtype))
        centered = builder.op(MulOp, (centered, part), shape)
    squares = builder.op(MulOp, (centered, centered), shape)
    variance = product(squares, 1 / depth, 1, depth, op.epsilon.value.data * squared_part**2)
    exponent = builder.constant(np.array(-0.5, dtype))
    factor = builder.op(PowOp, (variance, exponent), (1, 1, *positions))
    sizes = builder.constant(np.array(shape, np.int64))
    factors = builder.op(ExpandOp, (factor, sizes), shape)
    result = builder.op(MulOp, (centered, factors), shape)
    shift = np.zeros(depth, dtype) if shift is None else shift
    if np.any(scale != 1) or np.any(shift != 0):
        zeros, ones = np.zeros(depth, dtype), np.ones(depth, dtype)
        affine = [builder.constant(each.reshape(depth)) for each in (scale, shift, zeros, ones)]
        epsilon = float_attr(0.0)
        result = builder.op(BatchNormalizationInferenceModeOp, (result, *affine), shape, epsilon=epsilon)
    if positions:
        result = builder.op(TransposeOp, (result,), (1, *positions, depth), perm=to_rows(len(shape)))
    builder.replace(result)
