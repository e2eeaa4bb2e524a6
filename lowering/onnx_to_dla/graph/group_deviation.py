"""Standard deviations of groups of channels, as EvoNorm divides by them and exporters write them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops.math import AddOp, ExpandOp, MulOp, SqrtOp, SubOp
from xonnc.dialects.onnx.ops.reduction import ReduceMeanOp, ReduceMeanV13Op
from xonnc.dialects.onnx.ops.tensor import ReshapeOp
from xonnc.dialects.onnx.types import static_shape
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import elements

MEANS = (ReduceMeanOp, ReduceMeanV13Op)


@dataclass(frozen=True)
class GroupDeviation:
    """The square root of the variance of each of `groups` of channels of an image, plus `epsilon`."""

    source: SSAValue
    groups: int
    epsilon: float


def group_deviation(value: SSAValue, shape: tuple[int, ...]) -> GroupDeviation | None:
    """
    Return the deviation that a tensor has at each position, of an image of this shape, `None` if it has none.

    The variance is the mean of squares of a tensor `[1, G, …]` less its mean. That may be the image reshaped,
    and the root may be reshaped and expanded to the image.
    """
    groups = _groups_of_copies(value, shape)
    root = _before_copies(value).owner
    if groups is None or not isinstance(root, SqrtOp):
        return None
    total = _before_copies(root.X).owner
    if not isinstance(total, AddOp):
        return None
    given, constant = (total.A, total.B) if elements(total.A) is None else (total.B, total.A)
    epsilon = elements(constant)
    if epsilon is None or epsilon.size != 1:
        return None
    centered = _squared(_mean_of_groups(_before_copies(given), groups))
    if centered is None or not isinstance(centered.owner, SubOp):
        return None
    rows = centered.owner.A
    if _mean_of_groups(centered.owner.B, groups) is not rows:
        return None
    source = rows.owner.data if isinstance(rows.owner, ReshapeOp) else rows
    if static_shape(source.type) != shape:
        return None
    return GroupDeviation(source, groups, float(epsilon.reshape(())))


def _groups_of_copies(value: SSAValue, shape: tuple[int, ...]) -> int | None:
    """Return the number of groups of channels of which a tensor has one value each, copied; else `None`."""
    if static_shape(value.type) == (1, shape[1], *(1,) * (len(shape) - 2)):
        return shape[1]
    expanded = value.owner.data.owner if isinstance(value.owner, ReshapeOp) else value.owner
    if not isinstance(expanded, ExpandOp) or static_shape(value.type) != shape:
        return None
    few, many = static_shape(expanded.input.type), static_shape(expanded.output.type)
    if few is None or many is None or len(few) < 2 or few[0] != 1 or prod(few) != few[1]:
        return None
    # Each number is copied to positions that follow each other, and is that of whole channels.
    return few[1] if many[:2] == few[:2] and shape[1] % few[1] == 0 else None


def _before_copies(value: SSAValue) -> SSAValue:
    """Return the value before any Reshape and Expand."""
    while isinstance(value.owner, ReshapeOp | ExpandOp):
        value = value.owner.data if isinstance(value.owner, ReshapeOp) else value.owner.input
    return value


def _squared(value: SSAValue | None) -> SSAValue | None:
    """Return the operand of a square; `None` if the value is no product of a tensor with itself."""
    if value is None or not isinstance(value.owner, MulOp) or value.owner.A is not value.owner.B:
        return None
    return value.owner.A


def _mean_of_groups(value: SSAValue, groups: int) -> SSAValue | None:
    """Return the tensor `[1, groups, …]` whose means over all but the first two axes a value has."""
    mean = value.owner
    if not isinstance(mean, MEANS):
        return None
    shape = static_shape(mean.data.type)
    if shape is None or shape[:2] != (1, groups):
        return None
    axes = elements(mean.axes) if isinstance(mean, ReduceMeanOp) else int_values(mean.axes)
    if axes is None or sorted(int(axis) % len(shape) for axis in axes) != [*range(2, len(shape))]:
        return None
    return mean.data
