"""Verification rules for indices and updates: consistent shapes."""

from __future__ import annotations

from xdsl.ir import Operation

from xonnc.dialects.onnx.checks.values import require_range
from xonnc.dialects.onnx.checks.verifier import (
    DYNAMIC,
    Rule,
    constant_of,
    differ,
    integer_of,
    is_absent,
    refuse,
    refuse_rank,
    refuse_size,
    shape_of,
    value_of,
)


def within(field: str, data: str, axis: str) -> Rule:
    """No dimension is larger than that of `data`, except along `axis`."""

    def rule(op: Operation) -> None:
        indices, x = shape_of(op, field), shape_of(op, data)
        axis_index = integer_of(op, axis)
        if indices is None or x is None or axis_index is None or len(indices) != len(x):
            return
        for number, (count, size) in enumerate(zip(indices, x, strict=True)):
            if number != axis_index % len(x) and DYNAMIC not in (count, size) and count > size:
                refuse(op, f"{field} has {count} elements along axis {number}, {data} has {size}")

    return rule


def gather_nd(op: Operation) -> None:
    """`GatherND`: equal batch dimensions, and index tuples no longer than the remaining axes."""
    x, indices, batches = shape_of(op, "data"), shape_of(op, "indices"), integer_of(op, "batch_dims") or 0
    if indices is None:
        return
    ranks = [len(shape) for shape in (x, indices) if shape is not None]
    require_range(op, "batch_dims", batches, 0, min(ranks) - 1)
    if x is None:
        return
    for axis in range(batches):
        if differ(x[axis], indices[axis]):
            refuse_size(op, value_of(op, "indices"), "indices", axis, indices[axis], str(x[axis]))
    _check_depth(op, indices, len(x) - batches)
    constant = constant_of(op, "indices")
    if constant is None:
        return
    for position, index in enumerate(constant.reshape(-1).tolist()):
        size = x[batches + position % indices[-1]]
        if size != DYNAMIC:
            require_range(op, f"indices[{position}]", index, -size, size - 1)


def scatter_nd(op: Operation) -> None:
    """`ScatterND`: one update per index, of the shape of the slices that are written."""
    x, indices, updates = (shape_of(op, name) for name in ("data", "indices", "updates"))
    if x is None or indices is None or not indices:
        return
    _check_depth(op, indices, len(x))
    if updates is None or indices[-1] == DYNAMIC:
        return
    expected = (*indices[:-1], *x[indices[-1] :])
    value = value_of(op, "updates")
    if len(updates) != len(expected):
        refuse_rank(op, value, "updates", len(updates), str(len(expected)))
    for axis, (size, needed) in enumerate(zip(updates, expected, strict=True)):
        if differ(size, needed):
            refuse_size(op, value, "updates", axis, size, str(needed))


def constant_indices(data: str, field: str, axis: str) -> Rule:
    """Indices along an axis of `data`, if they are constant."""

    def rule(op: Operation) -> None:
        shape, axis_index, constant = shape_of(op, data), integer_of(op, axis), constant_of(op, field)
        if shape is None or axis_index is None or constant is None or shape[axis_index] == DYNAMIC:
            return
        size = shape[axis_index]
        for index in constant.reshape(-1).tolist():
            require_range(op, field, index, -size, size - 1)

    return rule


def _check_depth(op: Operation, indices: tuple[int, ...], axes: int) -> None:
    depth = indices[-1]
    if depth != DYNAMIC and not 1 <= depth <= axes:
        expected = ">= 1" if depth < 1 else f"<= {axes}"
        refuse_size(op, value_of(op, "indices"), "indices", len(indices) - 1, depth, expected)


def tensor_scatter(op: Operation) -> None:
    """`TensorScatter`: updates differ from the cache only along the axis, and are not longer there."""
    cache, update = shape_of(op, "past_cache"), shape_of(op, "update")
    axis = integer_of(op, "axis")
    index_shape = None if is_absent(op, "write_indices") else shape_of(op, "write_indices")
    if cache is None or axis is None:
        return
    rank = len(cache)
    if not -rank <= axis < rank or axis % rank == 0:
        refuse(op, f"axis is {axis}; it is one of {rank} axes, but not the first, of batches")
    if index_shape is not None and differ(index_shape[0], cache[0]):
        refuse(op, f"write_indices has {index_shape[0]} elements for {cache[0]} batches")
    for index, (size, given) in enumerate(zip(cache, update or (), strict=False)):
        is_along = index == axis % rank
        if is_along and DYNAMIC not in (size, given) and given > size:
            refuse(op, f"update has {given} elements along axis {index}, past_cache holds {size}")
        if not is_along and differ(size, given):
            refuse(op, f"update has {given} elements along axis {index}, past_cache has {size}")


def reversed_sequences(op: Operation) -> None:
    """`ReverseSequence`: batch and time are the first two axes; one length per batch entry."""
    x, lengths = shape_of(op, "input"), shape_of(op, "sequence_lens")
    batch, time = integer_of(op, "batch_axis"), integer_of(op, "time_axis")
    if batch is None or time is None or {batch, time} != {0, 1}:
        refuse(op, f"batch_axis is {batch} and time_axis {time}; one is 0, the other 1")
    if x is not None and lengths is not None and len(x) > 1 and differ(lengths[0], x[batch]):
        sizes = f"{lengths[0]} for {x[batch]}"
        refuse(op, f"Length of sequence_lens should match the sizeof  batch axis of the input: {sizes}")


def compress_condition(op: Operation) -> None:
    """
    `Compress`: one condition for each slice; without an axis the condition may have any rank.

    ONNX asks for a list; onnxruntime reads elements in order, and Paddle2ONNX writes masked_select so.
    """
    condition = shape_of(op, "condition")
    if condition is not None and integer_of(op, "axis") is not None:
        require_range(op, "condition", len(condition), 1, 1)


def suppression(op: Operation) -> None:
    """`NonMaxSuppression`: scores `[batch, class, box]` for boxes `[batch, box, 4]`."""
    boxes, scores = shape_of(op, "boxes"), shape_of(op, "scores")
    if boxes is None or scores is None:
        return
    if differ(boxes[0], scores[0]):
        refuse(op, f"boxes has {boxes[0]} batches, scores has {scores[0]}")
    if differ(boxes[1], scores[2]):
        refuse(op, f"boxes has {boxes[1]} boxes, scores has {scores[2]}")
