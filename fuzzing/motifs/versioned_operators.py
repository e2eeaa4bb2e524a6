"""Operators whose attributes (axes, sizes, limits) became inputs in some opset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from xonnc.fuzzing.model_builder import Attribute, ModelBuilder, ModelValue, NotApplicable


def with_axes(
    builder: ModelBuilder,
    op_type: str,
    x: ModelValue,
    axes: Sequence[int] | None,
    since: int,
    given: Mapping[str, Attribute] | None = None,
    **rest: Attribute,
) -> ModelValue:
    """An operator over axes, which are an operand since opset `since`; `None` leaves them out."""
    attributes = {**(given or {}), **rest}
    if axes is None or builder.opset < since:
        return builder.node(op_type, x, given={"axes": axes, **attributes})
    return builder.node(op_type, x, builder.int64s(*axes), given=attributes)


def squeeze(builder: ModelBuilder, x: ModelValue, axes: Sequence[int] | None) -> ModelValue:
    """Without dimensions of size 1."""
    return with_axes(builder, "Squeeze", x, axes, 13)


def unsqueeze(builder: ModelBuilder, x: ModelValue, axes: Sequence[int]) -> ModelValue:
    """With new dimensions of size 1."""
    return with_axes(builder, "Unsqueeze", x, axes, 13)


def clip(builder: ModelBuilder, x: ModelValue, low: float | None, high: float | None) -> ModelValue:
    """Limited to what is between two numbers, each of which may be missing."""
    if None in (low, high) and not x.is_bounded:
        # For onnxruntime there is always a bound, the largest number; for the reference there is none.
        raise NotApplicable
    if builder.opset < 11:
        if x.dtype.kind != "f":
            raise NotApplicable
        return builder.node("Clip", x, min=low, max=high)
    limits = [None if one is None else builder.constant(np.array(one, x.dtype)) for one in (low, high)]
    return builder.node("Clip", x, *limits)


def slices(
    builder: ModelBuilder,
    x: ModelValue,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int],
    steps: Sequence[int],
) -> ModelValue:
    """A part of a tensor."""
    if builder.opset < 10:
        if any(step != 1 for step in steps):
            raise NotApplicable
        return builder.node("Slice", x, starts=starts, ends=ends, axes=axes)
    operands = [builder.int64s(*starts), builder.int64s(*ends), builder.int64s(*axes)]
    if any(step != 1 for step in steps) or builder.chance(0.5):
        operands.append(builder.int64s(*steps))
    return builder.node("Slice", x, *operands)


def pad(
    builder: ModelBuilder,
    x: ModelValue,
    pads: Sequence[int],
    mode: str = "constant",
    value: float | None = None,
) -> ModelValue:
    """A tensor with a border."""
    if builder.opset < 11:
        return builder.node("Pad", x, pads=pads, mode=mode, value=value)
    filling = None if value is None else builder.constant(np.array(value, x.dtype))
    if builder.opset >= 18 and builder.chance(0.4):
        count = len(pads) // 2
        axes = [axis for axis in range(count) if pads[axis] or pads[axis + count]] or [0]
        chosen = [pads[axis] for axis in axes] + [pads[axis + count] for axis in axes]
        axes = [axis - count if builder.chance(0.3) else axis for axis in axes]
        return builder.node("Pad", x, builder.int64s(*chosen), filling, builder.int64s(*axes), mode=mode)
    return builder.node("Pad", x, builder.int64s(*pads), filling, mode=mode)


def split(builder: ModelBuilder, x: ModelValue, axis: int, sizes: Sequence[int]) -> list[ModelValue]:
    """A tensor in parts of these sizes."""
    if builder.opset < 13:
        return builder.node_with_outputs("Split", x, count=len(sizes), axis=axis, split=sizes)
    return builder.node_with_outputs("Split", x, builder.int64s(*sizes), count=len(sizes), axis=axis)


def dropout(builder: ModelBuilder, x: ModelValue, ratio: float, count: int = 1) -> list[ModelValue]:
    """A dropout, which does nothing outside of training."""
    if builder.opset < 12:
        return builder.node_with_outputs("Dropout", x, count=count, ratio=ratio)
    return builder.node_with_outputs("Dropout", x, builder.constant(np.array(ratio, np.float32)), count=count)


def expand(builder: ModelBuilder, x: ModelValue, *sizes: int) -> ModelValue:
    """Broadcast to these sizes."""
    return builder.node("Expand", x, builder.int64s(*sizes))


def some_axes(builder: ModelBuilder, rank: int, sign: bool = True) -> list[int]:
    """Some of the axes of a tensor, in any order, some of them counted from the end."""
    axes = builder.random.sample(range(rank), builder.random.randint(1, rank)) if rank else []
    return [axis - rank if sign and builder.chance(0.3) else axis for axis in axes]
