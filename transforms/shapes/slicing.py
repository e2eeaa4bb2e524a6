"""Shape functions of the ops that cut a tensor: Split and Slice."""

from __future__ import annotations

from math import ceil

from xonnc.transforms.dims.expressions import ZERO, DimExpr, DimSymbols, number
from xonnc.transforms.shapes.inference_context import (
    UNKNOWN,
    Dim,
    Dims,
    InferenceContext,
    Shape,
    Types,
    axis_slice,
    differ,
    form,
    infers_dims,
    shown,
)

FAR = 2**31 - 1
"""Exporters write bounds from this magnitude on for \"to the end\" and \"to the start\"."""


@infers_dims("Split", "SplitV11", "SplitV13")
def split(ctx: InferenceContext) -> Types:
    """Parts of the given or of equal sizes; a negative axis is normalised."""
    data, parts = ctx.dims(0), len(ctx.op.results)
    if data is None:
        return [None] * parts
    axis = ctx.own_axis(len(data))
    by_operand = ctx.name != "SplitV11"
    sizes = ctx.values(1) if by_operand else ctx.integers("split")
    if sizes is not None:
        total = ctx.total(sizes)
        if len(sizes) != parts or differ(total, data[axis]):
            size, given = shown(data[axis : axis + 1])[1:-1], shown(sizes)
            message = f"axis {axis} of {size} does not split into {given} for {parts} results"
            raise ctx.fail(
                f"{'' if len(sizes) == parts else 'Split size not equal to the number of results: '}{message}"
            )
        ctx.equate(data[axis], total)
    elif by_operand and ctx.has(1):
        sizes = (UNKNOWN,) * parts
    else:
        sizes = _parts(ctx, data[axis], parts)
    ctx.set("axis", axis)
    return [each for size in sizes for each in ctx.ranked((*data[:axis], size, *data[axis + 1 :]))]


def _parts(ctx: InferenceContext, size: Dim, parts: int) -> Dims:
    """Return equal parts; since opset 18 the last is smaller if the size is not divisible."""
    if isinstance(size, int):
        if size == UNKNOWN:
            return (UNKNOWN,) * parts
        if size % parts and ctx.name != "Split":
            message = "The dimension at the split axis is expected to be divisible by the number of results"
            raise ctx.fail(f"{message}: {size} by {parts}")
        return equal_parts(size, parts)
    exact = size.divided_by(number(parts))
    if exact is not None:
        return (exact,) * parts
    if ctx.name != "Split":
        return (ctx.floor(size, parts),) * parts
    assert ctx.symbols is not None
    extent = ctx.symbols.floor(size + number(parts - 1), parts)
    if parts == 2:
        return (extent, size - extent)
    left = [ctx.symbols.maximum(size - extent * number(part), ZERO) for part in range(1, parts)]
    return (extent, *(ctx.symbols.minimum(extent, rest) for rest in left))


def equal_parts(size: int, parts: int) -> Shape:
    """Return the sizes of equal parts; the last is smaller if `size` is not divisible."""
    chunk = ceil(size / parts)
    return tuple(max(0, min(chunk, size - chunk * part)) for part in range(parts))


@infers_dims("Slice")
def slice_(ctx: InferenceContext) -> Types:
    """Dimensions of start, end and step along some axes."""
    data, starts, ends = ctx.dims(0), _bounds(ctx, 1), _bounds(ctx, 2)
    axes, steps = ctx.numbers(3), ctx.numbers(4)
    if data is None:
        return [None]
    if (ctx.has(3) and axes is None) or (axes is None and starts is None):
        return ctx.ranked((UNKNOWN,) * len(data))
    slice_axes = [
        ctx.axis(axis, len(data), "Axes contains an out-of-bound index")
        for axis in (axes if axes is not None else range(len(starts or ())))
    ]
    sizes = list(data)
    for index, axis in enumerate(slice_axes):
        step = steps[index] if steps else (None if ctx.has(4) else 1)
        if step == 0:
            raise ctx.fail("step input parameter cannot be zero")
        if starts is None or ends is None or step is None or index >= min(len(starts), len(ends)):
            sizes[axis] = UNKNOWN
        else:
            is_size = UNKNOWN not in (ctx.known_sizes(2) or ())[index : index + 1]
            sizes[axis] = _sliced(ctx, data[axis], starts[index], ends[index], step, is_size)
    return ctx.ranked(tuple(sizes))


def _bounds(ctx: InferenceContext, index: int) -> Dims | None:
    """Return the starts or ends, `UNKNOWN` where not known."""
    exact = ctx.numbers(index)
    if exact is None:
        return ctx.values(index)
    # The end of a reversal is often the lowest int64, the number of UNKNOWN; the next one slices alike.
    return tuple(max(bound, UNKNOWN + 1) for bound in exact)


def _sliced(ctx: InferenceContext, size: Dim, start: Dim, end: Dim, step: int, is_size: bool) -> Dim:
    """Return the number of elements from `start` to `end`, which is not negative if `is_size`."""
    if UNKNOWN in (size, start, end):
        return UNKNOWN
    extent = form(size).number
    if extent is not None and isinstance(start, int) and isinstance(end, int):
        return len(range(*axis_slice(start, end, step, extent).indices(extent)))
    assert ctx.symbols is not None
    if step == -1 and _is_reversal(start, end):
        return size
    cut = _cut(ctx.symbols, form(size), start, end, is_size) if step > 0 and isinstance(start, int) else None
    if cut is not None:
        return ctx.symbols.floor(cut + number(step - 1), step)
    # One symbol per (dimension, start, end, step): equal slices of equal dimensions are equal.
    return ctx.symbols.symbol(("slice", form(size), form(start), form(end), step))


def _is_reversal(start: Dim, end: Dim) -> bool:
    """Return whether a slice of step -1 goes from the last element to the first, whatever their number."""
    return isinstance(start, int) and isinstance(end, int) and (start == -1 or start >= FAR) and end <= -FAR


def _cut(symbols: DimSymbols, size: DimExpr, first: int, end: Dim, is_size: bool) -> DimExpr | None:
    """
    Return the number of elements from `first` to `end`, clamped to the dimension.

    An end such as H - 4 is assumed not to be negative, if that may be.
    """
    last = end if isinstance(end, int) else None
    goes_on = form(end) == size or (last is not None and last >= FAR)
    if goes_on and first >= 0:
        return symbols.maximum(size - number(first), ZERO) if first else size
    if goes_on:
        return symbols.minimum(size, number(-first))
    if first < 0 or not (is_size or last is not None or symbols.assume_size(form(end))):
        return None
    is_from_end = last is not None and last < 0
    stop = size + form(end) if is_from_end else symbols.minimum(size, form(end))
    return symbols.maximum(stop - number(first), ZERO) if first or is_from_end else stop
