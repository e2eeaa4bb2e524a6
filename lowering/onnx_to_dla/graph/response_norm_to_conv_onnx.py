"""`response-norm-to-conv-onnx`: global response normalization as poolings and convolutions, for NVDLA."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod, sqrt

import numpy as np
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.math import AddOp, DivOp, MulOp, PowOp
from xonnc.dialects.onnx.ops.nn import ConvOp, GlobalAveragePoolOp
from xonnc.dialects.onnx.ops.reduction import (
    ReduceL2Op,
    ReduceL2V13Op,
    ReduceMeanOp,
    ReduceMeanV13Op,
)
from xonnc.dialects.onnx.ops.tensor import TransposeOp
from xonnc.dialects.onnx.types import static_shape
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array
from xonnc.lowering.onnx_to_dla.builders.op_inserter import (
    NormalizationInserter,
    by_channel,
)
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import elements
from xonnc.lowering.onnx_to_dla.graph.layer_norm_to_conv_onnx import columns_before, to_rows
from xonnc.lowering.onnx_to_dla.graph.normalization_pass import NormalizationPass
from xonnc.targets.limits import DIMENSION

MEANS = (ReduceMeanOp, ReduceMeanV13Op)


@dataclass(frozen=True)
class ResponseNormToConv(NormalizationPass):
    """
    Rewrite norms of channels over their mean, as ConvNeXt-v2 normalizes, to poolings and convolutions.

    The norm of a channel is the square root of an average pooling of squares, times a constant that the
    quotient cancels. 1x1 convolutions take the mean of all channels and copy its reciprocal to them. An image
    `x` plus `x` times that quotient times constants becomes a product of `x` and one factor per channel.

    For one image. With `fp16` the squares are those of a quarter of each number, so that numbers up to 1023
    do not overflow.
    """

    name = "response-norm-to-conv-onnx"

    roots = (DivOp,)

    def rewrite_op(self, op: Operation, pool: DisposablePool, squared_part: float) -> bool:
        assert isinstance(op, DivOp)
        found = quotient_at(op)
        if found is not None:
            _rewrite(found, pool, squared_part)
        return found is not None


@dataclass(frozen=True)
class Quotient:
    """
    The norms of channels of an image over their mean, to which `epsilon` is added.

    `source` is what the norms are of: the image, or its transpose with channels last.
    """

    image: SSAValue
    source: SSAValue
    division: DivOp
    epsilon: float

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the image, with channels first."""
        shape = static_shape(self.image.type)
        assert shape is not None, "the quotient was found by it"
        return shape

    @property
    def is_transposed(self) -> bool:
        """Whether channels are last in the source."""
        return self.source is not self.image

    def by_channel(self, constant: Array) -> Array | None:
        """Return the number of a constant factor of the source for each channel."""
        if self.is_transposed:
            rank = len(self.shape)
            aligned = constant.reshape((1,) * (rank - constant.ndim) + constant.shape)
            constant = np.moveaxis(aligned, -1, 1)
        return by_channel(constant, self.shape)


def quotient_at(division: DivOp) -> Quotient | None:
    """Return the quotient that a division computes, `None` if it computes another one."""
    norms, divisor = division.A.owner, division.B.owner
    if not isinstance(norms, ReduceL2Op | ReduceL2V13Op):
        return None
    epsilon = 0.0
    if isinstance(divisor, AddOp):
        given, constant = (divisor.A, divisor.B) if elements(divisor.A) is None else (divisor.B, divisor.A)
        addend = elements(constant)
        if addend is None or addend.size != 1:
            return None
        divisor, epsilon = given.owner, float(addend.reshape(()))
    if not isinstance(divisor, MEANS) or divisor.data is not norms.reduced:
        return None
    return _quotient(division, norms.reduced, norms.data, divisor.reduced, epsilon)


def _quotient(
    division: DivOp, norms: SSAValue, source: SSAValue, mean: SSAValue, epsilon: float
) -> Quotient | None:
    image = source
    shape, reduced = static_shape(source.type), static_shape(norms.type)
    if shape is None or len(shape) not in (3, 4) or shape[0] != 1 or min(shape) < 1:
        return None
    # The sizes tell which axes are reduced.
    ones = (1,) * (len(shape) - 2)
    if reduced == (1, *ones, shape[-1]) and (columns := columns_before(source)) is not None:
        image, depth, positions = columns, shape[-1], prod(shape[1:-1])
    elif reduced == (1, shape[1], *ones):
        depth, positions = shape[1], prod(shape[2:])
    else:
        return None
    if static_shape(mean.type) != (1, 1, *ones) or positions == 1 or DIMENSION.broken(depth) is not None:
        return None
    return Quotient(image, source, division, epsilon)


@dataclass(frozen=True)
class _Scaling:
    """`image * (1 + quotient * scale)`, what the last of some operators computes."""

    scale: Array
    replaced: tuple[OnnxOp, ...]


def _scaling_of(found: Quotient) -> _Scaling | None:
    """Return the sum of the image and its product with the quotient and constants, if only that reads it."""
    scale: Array = np.ones(found.shape[1])
    value, has_image = found.division.C, False
    replaced: list[OnnxOp] = []
    while value.has_one_use():
        user = next(iter(value.uses)).operation
        if not isinstance(user, AddOp | MulOp):
            break
        other = user.B if user.A is value else user.A
        value = user.C
        replaced.append(user)
        if isinstance(user, AddOp):
            is_sum = has_image and other is found.source
            return _Scaling(scale, tuple(replaced)) if is_sum else None
        constant = elements(other)
        factors = None if constant is None else found.by_channel(constant)
        if factors is not None:
            scale = scale * factors
        elif other is found.source and not has_image:
            has_image = True
        else:
            break
    return None


def _rewrite(found: Quotient, pool: DisposablePool, squared_part: float) -> None:
    """Rewrite a quotient with squares of a part of each number, whose norms have the same quotients."""
    image, shape = found.image, found.shape
    scaling = _scaling_of(found)
    replaced = (found.division,) if scaling is None else (found.division, *scaling.replaced)
    last = replaced[-1]
    builder = NormalizationInserter(last, pool)
    dtype = np.dtype(np.float32)
    depth, window = shape[1], (1,) * (len(shape) - 2)
    scale = np.ones(depth) if scaling is None else scaling.scale

    def constant(numbers: Array | float) -> SSAValue:
        return builder.constant(np.asarray(numbers, dtype))

    part = image if squared_part == 1 else builder.op(MulOp, (image, constant(squared_part)), shape)
    squares = builder.op(MulOp, (part, part), shape)
    pooled = builder.op(GlobalAveragePoolOp, (squares,), (1, depth, *window))
    norms = builder.op(PowOp, (pooled, constant(0.5)), (1, depth, *window))
    # Of means of squares, whose roots are smaller than norms.
    epsilon = found.epsilon * squared_part / sqrt(prod(shape[2:]))
    addend = constant(np.full(1, epsilon)) if epsilon else builder.none()
    averaging = constant(np.full((1, depth, *window), 1 / depth))
    mean = builder.op(ConvOp, (norms, averaging, addend), (1, 1, *window))
    reciprocal = builder.op(PowOp, (mean, constant(-1.0)), (1, 1, *window))
    copying = constant(scale.reshape(depth, 1, *window))
    copies = builder.op(ConvOp, (reciprocal, copying, builder.none()), (1, depth, *window))
    result = builder.op(MulOp, (norms, copies), (1, depth, *window))
    if scaling is not None:
        factors = builder.op(AddOp, (result, constant(1.0)), (1, depth, *window))
        result = builder.op(MulOp, (image, factors), shape)
    if found.is_transposed:
        rows = static_shape(last.results[0].type)
        assert rows is not None, "the source has static sizes"
        result = builder.op(TransposeOp, (result,), rows, perm=to_rows(len(shape)))
    builder.replace(result, replaced[:-1])
