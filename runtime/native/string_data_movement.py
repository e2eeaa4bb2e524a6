"""Data movement operators on string tensors, computed with NumPy; on numeric tensors they are native."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from xonnc.formats.native.program import RuntimeValue
from xonnc.runtime.native.operator_call import (
    Array,
    Implementation,
    OperatorAttributes,
    OperatorCall,
    PrepareImplementation,
)

Integers = npt.NDArray[np.int64]


def _identity(call: OperatorCall) -> Sequence[RuntimeValue]:
    return [call.array(0).copy()]


def _reshape(settings: OperatorAttributes) -> Implementation:
    keeps = not settings.int_attribute("allowzero")
    constant: list[int] | None = None
    if 1 in settings.constants:
        constant = settings.constants[1].astype(np.int64).ravel().tolist()

    def perform(call: OperatorCall) -> Sequence[RuntimeValue]:
        x, requested = call.array(0), call.integers(1) if constant is None else constant
        shape = requested or []
        if keeps and 0 in shape:
            shape = [size or x.shape[axis] for axis, size in enumerate(shape)]
        return [_shaped(call, x, shape)]

    return perform


def _shaped(call: OperatorCall, x: Array, shape: Sequence[int]) -> Array:
    try:
        return x.reshape(tuple(shape)).copy()
    except ValueError as error:
        raise call.fail(str(error)) from error


def _flatten(call: OperatorCall) -> Sequence[RuntimeValue]:
    x = call.array(0)
    # The axis may equal the rank: all axes are then flattened into the first dimension.
    axis = call.axis(x.ndim + 1, 1) if call.int_attribute("axis", 1) >= 0 else call.axis(x.ndim)
    return [_shaped(call, x, [prod(x.shape[:axis]), prod(x.shape[axis:])])]


def _axes(call: OperatorCall) -> list[int] | None:
    """Return axes from an attribute (older opsets) or an operand."""
    found = call.list_attribute("axes")
    return call.integers(1) if found is None else [int(each) for each in found]


def _squeeze(call: OperatorCall) -> Sequence[RuntimeValue]:
    axes = _axes(call)
    try:
        return [np.squeeze(call.array(0), None if axes is None else tuple(axes)).copy()]
    except ValueError as error:
        raise call.fail(str(error)) from error


def _unsqueeze(call: OperatorCall) -> Sequence[RuntimeValue]:
    try:
        return [np.expand_dims(call.array(0), tuple(_axes(call) or ())).copy()]
    except ValueError as error:
        raise call.fail(str(error)) from error


def _transpose(call: OperatorCall) -> Sequence[RuntimeValue]:
    perm = call.list_attribute("perm")
    return [np.transpose(call.array(0), None if perm is None else [int(each) for each in perm]).copy()]


def _concat(call: OperatorCall) -> Sequence[RuntimeValue]:
    arrays = call.arrays()
    axis = call.axis(arrays[0].ndim)
    try:
        return [np.concatenate(arrays, axis)]
    except ValueError as error:
        raise call.fail(str(error)) from error


def _indices(call: OperatorCall, number: int, sizes: Sequence[int]) -> Integers:
    """Check and normalise indices into axes of these sizes; for several, index tuples along the last axis."""
    found = call.array(number).astype(np.int64)
    if len(sizes) == 1 and found.size and found.min() >= 0 and found.max() < sizes[0]:
        return found
    most = np.broadcast_to(np.array(sizes if len(sizes) > 1 else sum(sizes), np.int64), found.shape)
    wrong = found[(found < -most) | (found >= most)]
    if wrong.size:
        raise call.fail(f"index {int(wrong[0])} is out of range of axes of {list(sizes)} elements")
    return np.where(found < 0, found + most, found)


IndicesOf = Callable[[OperatorCall, int], Integers]
"""Return the checked indices of a call into an axis of some size."""


def _indices_of(settings: OperatorAttributes) -> IndicesOf:
    """Return a function that checks operand 1, indices into one axis; constants are checked once a size."""
    if 1 not in settings.constants:
        return lambda call, size: _indices(call, 1, [size])
    checked: dict[int, Integers] = {}

    def of_constant(call: OperatorCall, size: int) -> Integers:
        found = checked.get(size)
        if found is None:
            # The latest size alone: models with dynamic shapes may have any number of them.
            checked.clear()
            found = checked[size] = _indices(call, 1, [size])
        return found

    return of_constant


def _gather(settings: OperatorAttributes) -> Implementation:
    indices = _indices_of(settings)

    def perform(call: OperatorCall) -> Sequence[RuntimeValue]:
        x = call.array(0)
        axis = call.axis(x.ndim)
        return [x.take(indices(call, x.shape[axis]), axis)]

    return perform


def _gather_elements(call: OperatorCall) -> Sequence[RuntimeValue]:
    x = call.array(0)
    axis = call.axis(x.ndim)
    return [np.take_along_axis(x, _indices(call, 1, [x.shape[axis]]), axis)]


def _gather_nd(call: OperatorCall) -> Sequence[RuntimeValue]:
    x, batch = call.array(0), call.int_attribute("batch_dims")
    depth = call.array(1).shape[-1]
    indices = _indices(call, 1, x.shape[batch : batch + depth])
    lead = x.shape[:batch]
    count = prod(lead)
    rows, positions = x.reshape(count, *x.shape[batch:]), indices.reshape(count, -1, depth)
    found = [row[tuple(index.T)] for row, index in zip(rows, positions, strict=True)]
    shape = (*indices.shape[:-1], *x.shape[batch + depth :])
    return [np.array(found, np.object_).reshape(shape)]


def _extract_features(settings: OperatorAttributes) -> Implementation:
    indices = _indices_of(settings)

    def perform(call: OperatorCall) -> Sequence[RuntimeValue]:
        x = call.array(0)
        rows = x.reshape(1, -1) if x.ndim < 2 else x
        return [rows.take(indices(call, rows.shape[-1]).ravel(), -1)]

    return perform


def _scatter(call: OperatorCall) -> Sequence[RuntimeValue]:
    result = call.array(0).copy()
    axis = call.axis(result.ndim)
    np.put_along_axis(result, _indices(call, 1, [result.shape[axis]]), call.array(2), axis)
    return [result]


def _scatter_nd(call: OperatorCall) -> Sequence[RuntimeValue]:
    result = call.array(0).copy()
    depth = call.array(1).shape[-1]
    indices = _indices(call, 1, result.shape[:depth])
    try:
        result[tuple(np.moveaxis(indices, -1, 0))] = call.array(2)
    except ValueError as error:
        raise call.fail(str(error)) from error
    return [result]


def _slice(call: OperatorCall) -> Sequence[RuntimeValue]:
    x = call.array(0)
    starts, ends = (call.integers(number) or [] for number in (1, 2))
    axes = call.integers(3) or list(range(len(starts)))
    steps = call.integers(4) or [1] * len(starts)
    parts = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        size = x.shape[axis]
        # With a negative step, an end before the first element is inclusive of it: None in Python.
        last = None if step < 0 and end < -size else end
        parts[axis] = slice(start, last, step)
    return [x[tuple(parts)].copy()]


def _split(call: OperatorCall) -> Sequence[RuntimeValue]:
    x = call.array(0)
    axis = call.axis(x.ndim)
    sizes = call.integers(1)
    count = len(call.step.writes)
    if sizes is None:
        step = -(-x.shape[axis] // count)
        sizes = [step] * (count - 1) + [x.shape[axis] - step * (count - 1)]
    if sum(sizes) != x.shape[axis] or min(sizes, default=0) < 0 or len(sizes) != count:
        raise call.fail(f"split sizes {sizes} do not sum to the axis size {x.shape[axis]}")
    return [part.copy() for part in np.split(x, np.cumsum(sizes)[:-1], axis)]


def _expand(call: OperatorCall) -> Sequence[RuntimeValue]:
    x, shape = call.array(0), call.integers(1) or []
    try:
        return [np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(shape))).copy()]
    except ValueError as error:
        raise call.fail(str(error)) from error


def _tile(call: OperatorCall) -> Sequence[RuntimeValue]:
    return [np.tile(call.array(0), call.integers(1) or [])]


def _where(call: OperatorCall) -> Sequence[RuntimeValue]:
    try:
        return [np.where(call.array(0).astype(np.bool_), call.array(1), call.array(2))]
    except ValueError as error:
        raise call.fail(str(error)) from error


def _equal(call: OperatorCall) -> Sequence[RuntimeValue]:
    try:
        x, y = np.broadcast_arrays(call.string_array(0), call.string_array(1))
    except ValueError as error:
        raise call.fail(str(error)) from error
    same = [a == b for a, b in zip(x.reshape(-1), y.reshape(-1), strict=True)]
    return [np.array(same, np.bool_).reshape(x.shape)]


def _compress(call: OperatorCall) -> Sequence[RuntimeValue]:
    x, condition = call.array(0), call.array(1).astype(np.bool_).reshape(-1)
    axis = call.optional_axis(x.ndim)
    if len(condition) > (x.size if axis is None else x.shape[axis]):
        raise call.fail(f"a condition of {len(condition)} elements is longer than the axis")
    return [np.compress(condition, x, axis)]


def _pad(call: OperatorCall) -> Sequence[RuntimeValue]:
    x, pads = call.array(0), call.integers(1) or []
    axes = call.integers(3) or list(range(x.ndim))
    before, after = pads[: len(axes)], pads[len(axes) :]
    value = call.array(2).reshape(-1)[0] if call.has_operand(2) else ""
    widths = [(0, 0)] * x.ndim
    for axis, low, high in zip(axes, before, after, strict=True):
        widths[axis] = (max(low, 0), max(high, 0))
    mode = call.string_attribute("mode", "constant")
    match mode:
        case "constant":
            result = np.pad(x, widths, constant_values=value)
        case "edge":
            result = np.pad(x, widths, "edge")
        case "reflect":
            result = np.pad(x, widths, "reflect")
        case _:
            result = np.pad(x, widths, "wrap")
    for axis, low, high in zip(axes, before, after, strict=True):
        result = np.take(result, range(max(-low, 0), result.shape[axis] - max(-high, 0)), axis)
    return [result]


def _reverse_sequence(call: OperatorCall) -> Sequence[RuntimeValue]:
    x, lengths = call.array(0), call.integers(1) or []
    batch, time = call.int_attribute("batch_axis", 1), call.int_attribute("time_axis")
    result = np.moveaxis(x, (batch, time), (0, 1)).copy()
    for row, length in zip(result, lengths, strict=True):
        if not 0 <= length <= len(row):
            raise call.fail(f"sequence length {length} exceeds the axis size {len(row)}")
        row[:length] = row[:length][::-1]
    return [np.moveaxis(result, (0, 1), (batch, time))]


def _unique(call: OperatorCall) -> Sequence[RuntimeValue]:
    """Unique strings, or unique slices along an axis; with first indices, inverse indices and counts."""
    x = call.string_array(0)
    axis = call.optional_axis(x.ndim)
    parts = (
        list(x.reshape(-1)) if axis is None else [tuple(part.reshape(-1)) for part in np.moveaxis(x, axis, 0)]
    )
    first: dict[object, int] = {}
    for index, part in enumerate(parts):
        first.setdefault(part, index)
    order = list(first.values())
    if call.int_attribute("sorted", 1):
        order.sort(key=lambda index: parts[index])
    numbers = {parts[index]: number for number, index in enumerate(order)}
    which = np.array([numbers[part] for part in parts], np.int64)
    found = np.take(x.reshape(-1) if axis is None else x, order, 0 if axis is None else axis)
    counts = np.bincount(which, minlength=len(order)).astype(np.int64)
    return [found, np.array(order, np.int64), which, counts]


def _shape(call: OperatorCall) -> Sequence[RuntimeValue]:
    x = call.array(0)
    end = call.step.attributes.get("end")
    return [np.array(x.shape[call.int_attribute("start") : end if isinstance(end, int) else None], np.int64)]


def _size(call: OperatorCall) -> Sequence[RuntimeValue]:
    return [np.array(call.array(0).size, np.int64)]


IMPLEMENTATIONS: Mapping[str, Callable[[OperatorCall], Sequence[RuntimeValue]]] = {
    "Compress": _compress,
    "Concat": _concat,
    "Equal": _equal,
    "Expand": _expand,
    "Flatten": _flatten,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "Identity": _identity,
    "Pad": _pad,
    "ReverseSequence": _reverse_sequence,
    "ScatterElements": _scatter,
    "ScatterND": _scatter_nd,
    "Shape": _shape,
    "Size": _size,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unique": _unique,
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}
"""The implementation of each operator."""

PREPARED_IMPLEMENTATIONS: Mapping[str, PrepareImplementation] = {
    "ArrayFeatureExtractor": _extract_features,
    "Gather": _gather,
    "Reshape": _reshape,
}
"""Operators whose constant operands are checked once."""
