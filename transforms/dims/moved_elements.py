"""
Symbolic elements that operators move through tensors of rank 2 or more.

torch computes the pads of `Pad` so: the vector of its own order is reshaped to pairs, which are reversed,
transposed and flattened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import static_shape
from xonnc.transforms.dims.dim_context import DimContext, Elements
from xonnc.transforms.shapes.inference_context import axis_slice

MAX_ELEMENTS = 64
"""Larger tensors are data, not shapes."""

MAX_MOVES = 8
"""Limit of operators between two vectors."""

Arranged: TypeAlias = NDArray[np.object_]
"""The elements of a tensor in its shape, an `Element` each."""


def moved_elements(ctx: DimContext) -> Elements | None:
    """Return the elements of a vector or scalar that an op moves there from a tensor of higher rank."""
    found = _moved(ctx, MAX_MOVES)
    return None if found is None else tuple(found.reshape(-1))


def _moved(ctx: DimContext, moves: int) -> Arranged | None:
    move = _MOVES.get(ctx.name)
    source = None if move is None else _arranged(ctx, ctx.op.operands[0], moves)
    return None if move is None or source is None else move(ctx, source)


def _arranged(ctx: DimContext, value: SSAValue, moves: int) -> Arranged | None:
    """Return the elements of a value, found through at most some number of moves."""
    shape = static_shape(value.type)
    if shape is None or np.prod(shape) > MAX_ELEMENTS:
        return None
    if len(shape) > 1:
        is_followed = isinstance(value.owner, Operation) and moves
        return _moved(replace(ctx, op=value.owner), moves - 1) if is_followed else None
    elements = ctx.facts.elements(value)
    if elements is None:
        return None
    # An array of the elements themselves: numpy would make a column of each field.
    return np.fromiter(elements, np.object_, len(elements)).reshape(shape)


def _reshaped(ctx: DimContext, source: Arranged) -> Arranged | None:
    shape = static_shape(ctx.op.results[0].type)
    return None if shape is None or np.prod(shape) != source.size else source.reshape(shape)


def _transposed(ctx: DimContext, source: Arranged) -> Arranged | None:
    return source.transpose(ctx.integers("perm") or None)


def _sliced(ctx: DimContext, source: Arranged) -> Arranged | None:
    starts, ends = ctx.numbers(1), ctx.numbers(2)
    if starts is None or ends is None:
        return None
    axes = ctx.numbers(3) if ctx.has(3) else tuple(range(len(starts)))
    steps = ctx.numbers(4) if ctx.has(4) else (1,) * len(starts)
    if axes is None or steps is None or 0 in steps:
        return None
    parts = [slice(None)] * source.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        parts[axis] = axis_slice(start, end, step, source.shape[axis])
    return source[tuple(parts)]


def _gathered(ctx: DimContext, source: Arranged) -> Arranged | None:
    axis, shape = ctx.own_axis(source.ndim), static_shape(ctx.op.operands[1].type)
    indices, size = ctx.numbers(1), source.shape[axis]
    if indices is None or shape is None or any(not -size <= index < size for index in indices):
        return None
    return source.take(np.reshape(indices, shape).astype(np.int64), axis)


_MOVES: dict[str, Callable[[DimContext, Arranged], Arranged | None]] = {
    **dict.fromkeys(
        ("Flatten", "Identity", "Reshape", "Squeeze", "SqueezeV11", "Unsqueeze", "UnsqueezeV11"), _reshaped
    ),
    "Gather": _gathered,
    "Slice": _sliced,
    "Transpose": _transposed,
}
"""By op name without the dialect, what its result has of its operand's elements."""
