"""Operators whose axes, sizes and limits were attributes before some opset and are operands since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from xonnc.fuzzing.draft import Attribute, Draft, Unfit, Value


def with_axes(
    draft: Draft,
    op_type: str,
    x: Value,
    axes: Sequence[int] | None,
    since: int,
    given: Mapping[str, Attribute] | None = None,
    **rest: Attribute,
) -> Value:
    """An operator over axes, which are an operand since opset `since`; `None` leaves them out."""
    attributes = {**(given or {}), **rest}
    if axes is None or draft.opset < since:
        return draft.node(op_type, x, given={"axes": axes, **attributes})
    return draft.node(op_type, x, draft.int64s(*axes), given=attributes)


def squeeze(draft: Draft, x: Value, axes: Sequence[int] | None) -> Value:
    """Without dimensions of size 1."""
    return with_axes(draft, "Squeeze", x, axes, 13)


def unsqueeze(draft: Draft, x: Value, axes: Sequence[int]) -> Value:
    """With new dimensions of size 1."""
    return with_axes(draft, "Unsqueeze", x, axes, 13)


def clip(draft: Draft, x: Value, low: float | None, high: float | None) -> Value:
    """Limited to what is between two numbers, each of which may be missing."""
    if None in (low, high) and not x.is_bounded:
        # For onnxruntime there is always a bound, the largest number; for the reference there is none.
        raise Unfit
    if draft.opset < 11:
        if x.dtype.kind != "f":
            raise Unfit
        return draft.node("Clip", x, min=low, max=high)
    limits = [None if one is None else draft.constant(np.array(one, x.dtype)) for one in (low, high)]
    return draft.node("Clip", x, *limits)


def slices(
    draft: Draft,
    x: Value,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int],
    steps: Sequence[int],
) -> Value:
    """A part of a tensor."""
    if draft.opset < 10:
        if any(step != 1 for step in steps):
            raise Unfit
        return draft.node("Slice", x, starts=starts, ends=ends, axes=axes)
    operands = [draft.int64s(*starts), draft.int64s(*ends), draft.int64s(*axes)]
    if any(step != 1 for step in steps) or draft.chance(0.5):
        operands.append(draft.int64s(*steps))
    return draft.node("Slice", x, *operands)


def pad(
    draft: Draft, x: Value, pads: Sequence[int], mode: str = "constant", value: float | None = None
) -> Value:
    """A tensor with a border."""
    if draft.opset < 11:
        return draft.node("Pad", x, pads=pads, mode=mode, value=value)
    filling = None if value is None else draft.constant(np.array(value, x.dtype))
    if draft.opset >= 18 and draft.chance(0.4):
        count = len(pads) // 2
        axes = [axis for axis in range(count) if pads[axis] or pads[axis + count]] or [0]
        chosen = [pads[axis] for axis in axes] + [pads[axis + count] for axis in axes]
        axes = [axis - count if draft.chance(0.3) else axis for axis in axes]
        return draft.node("Pad", x, draft.int64s(*chosen), filling, draft.int64s(*axes), mode=mode)
    return draft.node("Pad", x, draft.int64s(*pads), filling, mode=mode)


def split(draft: Draft, x: Value, axis: int, sizes: Sequence[int]) -> list[Value]:
    """A tensor in parts of these sizes."""
    if draft.opset < 13:
        return draft.several("Split", x, count=len(sizes), axis=axis, split=sizes)
    return draft.several("Split", x, draft.int64s(*sizes), count=len(sizes), axis=axis)


def dropout(draft: Draft, x: Value, ratio: float, count: int = 1) -> list[Value]:
    """A dropout, which does nothing outside of training."""
    if draft.opset < 12:
        return draft.several("Dropout", x, count=count, ratio=ratio)
    return draft.several("Dropout", x, draft.constant(np.array(ratio, np.float32)), count=count)


def expand(draft: Draft, x: Value, *sizes: int) -> Value:
    """Broadcast to these sizes."""
    return draft.node("Expand", x, draft.int64s(*sizes))


def some_axes(draft: Draft, rank: int, sign: bool = True) -> list[int]:
    """Some of the axes of a tensor, in any order, some of them counted from the end."""
    axes = draft.random.sample(range(rank), draft.random.randint(1, rank)) if rank else []
    return [axis - rank if sign and draft.chance(0.3) else axis for axis in axes]
