"""`group-norm-to-conv-onnx`: normalization of groups of channels as poolings and convolutions, for NVDLA."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np
from xdsl.ir import Operation, OpResult, SSAValue

from xonnc.dialects.onnx.attribute_builders import int_attr
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.math import AddOp, DivOp, MulOp, PowOp
from xonnc.dialects.onnx.ops.nn import (
    ConvOp,
    GlobalAveragePoolOp,
    GroupNormalizationOp,
    GroupNormalizationV18Op,
    InstanceNormalizationOp,
)
from xonnc.dialects.onnx.ops.tensor import ReshapeOp
from xonnc.dialects.onnx.types import static_shape
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array
from xonnc.lowering.onnx_to_dla.builders.op_inserter import (
    NormalizationInserter,
    by_channel,
)
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import elements
from xonnc.lowering.onnx_to_dla.graph.group_deviation import group_deviation
from xonnc.lowering.onnx_to_dla.graph.normalization_pass import NormalizationPass
from xonnc.targets.limits import DIMENSION

NORMALIZATIONS = (InstanceNormalizationOp, GroupNormalizationOp, GroupNormalizationV18Op)
ROOTS = (*NORMALIZATIONS, DivOp)


@dataclass(frozen=True)
class GroupNormToConv(NormalizationPass):
    """
    Rewrite normalization of groups of channels, and of single ones, to pooling, convolutions and products.

    The mean of each channel is an average pooling. 1x1 convolutions take the mean of each group's channels
    and copy it to them, as they do the power `(variance + epsilon)^-0.5`, times the scale of each channel.
    Operators after it that scale and shift channels, as torch writes them, become part of it.

    For one image. With `fp16` the squares are those of a quarter of each number, so that numbers up to 1023
    do not overflow; normalization of single channels stays, which has a lowering of its own.
    """

    name = "group-norm-to-conv-onnx"

    roots = ROOTS

    def rewrite_op(self, op: Operation, pool: DisposablePool, squared_part: float) -> bool:
        found = normalization_at(op)
        if found is None or (self.fp16 and found.has_own_lowering):
            return False
        _rewrite(with_affine(found), pool, squared_part)
        return True


@dataclass(frozen=True)
class Normalization:
    """
    A normalization of `groups` of channels, then a factor and an addend of each channel.

    `result` is that of the last operator, in whose shape the source is normalized; `replaced` are the
    operators, the last one last. `divided` is what
    the standard deviation divides instead of the source less its mean, if anything.
    """

    source: SSAValue
    result: OpResult
    groups: int
    scale: Array
    shift: Array
    epsilon: float
    replaced: tuple[OnnxOp, ...]
    divided: SSAValue | None = None

    @property
    def has_own_lowering(self) -> bool:
        """Whether FP16 has a lowering of it, as InstanceNormalization."""
        return self.groups == self.scale.size and self.divided is None


def normalization_at(op: Operation) -> Normalization | None:
    """Return the normalization that an operator computes of an image, `None` if it computes none."""
    match op:
        case InstanceNormalizationOp():
            return _instances(op)
        case GroupNormalizationOp() | GroupNormalizationV18Op():
            return _normalization(op, op.X, op.Y, op.num_groups.value.data, op.scale, op.bias)
        case DivOp():
            return _quotient(op)
        case _:
            return None


def _quotient(op: DivOp) -> Normalization | None:
    """Return the division of an image by the standard deviation of groups of channels of another."""
    shape = static_shape(op.A.type)
    if shape is None or not _is_image(shape) or static_shape(op.C.type) != shape:
        return None
    found = group_deviation(op.B, shape)
    if found is None:
        return None
    ones = np.ones(shape[1], np.float32)
    return Normalization(found.source, op.C, found.groups, ones, 0 * ones, found.epsilon, (op,), divided=op.A)


def _is_image(shape: tuple[int, ...]) -> bool:
    """Whether a tensor is one image of several positions."""
    if len(shape) not in (3, 4) or shape[0] != 1 or DIMENSION.broken(shape[1]) is not None:
        return False
    return min(shape) > 0 and prod(shape[2:]) > 1


def _instances(op: InstanceNormalizationOp) -> Normalization | None:
    """Return the normalization of channels, or of groups of them that are reshaped to channels and back."""
    shape = static_shape(op.input.type)
    if shape is None or len(shape) < 3:
        return None
    before, (use, *others) = op.input.owner, [*op.output.uses, None]
    after = None if use is None else use.operation
    if isinstance(before, ReshapeOp) and isinstance(after, ReshapeOp) and others == [None]:
        whole = static_shape(after.reshaped.type)
        # The source has another shape where reshapes one after the other became one.
        if whole is not None and shape[0] == 1:
            replaced = (before, op, after) if before.reshaped.has_one_use() else (op, after)
            found = _normalization(op, before.data, after.reshaped, shape[1], op.scale, op.B)
            if found is not None:
                return replace(found, replaced=replaced)
    return _normalization(op, op.input, op.output, shape[1], op.scale, op.B)


def _normalization(
    op: InstanceNormalizationOp | GroupNormalizationOp | GroupNormalizationV18Op,
    source: SSAValue,
    result: SSAValue,
    groups: int,
    scale: SSAValue,
    shift: SSAValue,
) -> Normalization | None:
    shape, numbers = static_shape(result.type), [elements(scale), elements(shift)]
    if shape is None or not _is_image(shape) or shape[1] % groups:
        return None
    if any(each is None for each in numbers):
        return None
    # Scale and shift of each channel, or of each group of channels.
    factors, addends = (each.repeat(shape[1] // each.size) for each in numbers if each is not None)
    assert isinstance(result, OpResult), "an operator computes it"
    return Normalization(source, result, groups, factors, addends, op.epsilon.value.data, (op,))


def with_affine(found: Normalization) -> Normalization:
    """Return the normalization with the operators after it that multiply and add constants by channel."""
    while (step := _affine_step(found)) is not None:
        found = step
    return found


def _affine_step(found: Normalization) -> Normalization | None:
    shape = static_shape(found.result.type)
    if shape is None or not found.result.has_one_use():
        return None
    user = next(iter(found.result.uses)).operation
    if not isinstance(user, AddOp | MulOp) or static_shape(user.C.type) != shape:
        return None
    constant = elements(user.B if user.A is found.result else user.A)
    if constant is None or (numbers := by_channel(constant, shape)) is None:
        return None
    assert isinstance(user.C, OpResult)
    extended = replace(found, result=user.C, replaced=(*found.replaced, user))
    if isinstance(user, AddOp):
        return replace(extended, shift=found.shift + numbers)
    return replace(extended, scale=found.scale * numbers, shift=found.shift * numbers)


def _rewrite(found: Normalization, pool: DisposablePool, squared_part: float) -> None:
    """Rewrite a normalization with squares of a part of each number; that part is normalized just as well."""
    last = found.replaced[-1]
    shape, dtype = static_shape(found.result.type), found.scale.dtype
    assert shape is not None, "the normalization was found by it"
    builder, source = NormalizationInserter(last, pool), found.source
    if static_shape(source.type) != shape:
        sizes = builder.constant(np.array(shape, np.int64))
        source = builder.op(ReshapeOp, (source, sizes), shape, allowzero=int_attr(0))
    depth, groups = shape[1], found.groups
    window = (1,) * (len(shape) - 2)
    per_group = depth // groups

    def convolved(value: SSAValue, weights: Array, bias: float = 0.0) -> SSAValue:
        """Multiply the channels of each group by its rows of a matrix."""
        kernels = len(weights)
        addend = builder.constant(np.full(kernels, bias, dtype)) if bias else builder.none()
        given = value, builder.constant(weights.reshape(*weights.shape, *window).astype(dtype)), addend
        return builder.op(ConvOp, given, (1, kernels, *window), group=int_attr(groups))

    def means(value: SSAValue, bias: float = 0.0) -> SSAValue:
        """The mean of each group's channels, and `bias`."""
        pooled = builder.op(GlobalAveragePoolOp, (value,), (1, depth, *window))
        if per_group > 1:
            return convolved(pooled, np.full((groups, per_group), 1 / per_group), bias)
        if not bias:
            return pooled
        return builder.op(AddOp, (pooled, builder.constant(np.array(bias, dtype))), (1, depth, *window))

    def copied(value: SSAValue, factors: Array) -> SSAValue:
        """Each channel's factor times the value of its group."""
        if per_group == 1:
            factor = builder.constant(factors.reshape(1, depth, *window).astype(dtype))
            return builder.op(MulOp, (value, factor), (1, depth, *window))
        return convolved(value, factors[:, np.newaxis])

    centered = builder.op(AddOp, (source, copied(means(source), -np.ones(depth))), shape)
    if squared_part != 1:
        part = builder.constant(np.array(squared_part, dtype))
        centered = builder.op(MulOp, (centered, part), shape)
    squares = builder.op(MulOp, (centered, centered), shape)
    variances = means(squares, found.epsilon * squared_part**2)
    exponent = builder.constant(np.array(-0.5, dtype))
    power = builder.op(PowOp, (variances, exponent), (1, groups, *window))
    if found.divided is None:
        result = builder.op(MulOp, (centered, copied(power, found.scale)), shape)
    else:
        # The power is that of the part's variance.
        result = builder.op(MulOp, (found.divided, copied(power, squared_part * found.scale)), shape)
    if np.any(found.shift != 0):
        shift = builder.constant(found.shift.reshape(1, depth, *window).astype(dtype))
        result = builder.op(AddOp, (result, shift), shape)
    builder.replace(result, found.replaced[:-1])
