"""Verification rules for indices and updates: consistent shapes."""

from __future__ import annotations

from xdsl.ir import Operation

from xonnc.dialects.onnx.checks.values import require_range
from xonnc.dialects.onnx.checks.verifier import (
    DYNAMIC,
    Rule,
    differ,
    integer_of,
    is_absent,
    refuse,
    shape_of,
    shown,
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
            refuse(op, f"data has {x[axis]} batches along axis {axis}, indices has {indices[axis]}")
    _check_depth(op, indices[-1], len(x) - batches)


def scatter_nd(op: Operation) -> None:
    """`ScatterND`: one update per index, of the shape of the slices that are written."""
    x, indices, updates = (shape_of(op, name) for name in ("data", "indices", "updates"))
    if x is None or indices is None or not indices:
        return
    _check_depth(op, indices[-1], len(x))
    if updates is None or indices[-1] == DYNAMIC:
        return
    expected = (*indices[:-1], *x[indices[-1] :])
    if len(updates) != len(expected) or any(differ(a, b) for a, b in zip(updates, expected, strict=True)):
        refuse(op, f"updates has the shape {shown(updates)}; indices and data ask for {shown(expected)}")


def _check_depth(op: Operation, depth: int, axes: int) -> None:
    if depth != DYNAMIC and not 1 <= depth <= axes:
        refuse(op, f"indices end in {depth} numbers; they name 1 to {axes} axes")


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


def suppression(op: Operation) -> None:
    """`NonMaxSuppression`: scores `[batch, class, box]` for boxes `[batch, box, 4]`."""
    boxes, scores = shape_of(op, "boxes"), shape_of(op, "scores")
    if boxes is None or scores is None:
        return
    if differ(boxes[0], scores[0]):
        refuse(op, f"boxes has {boxes[0]} batches, scores has {scores[0]}")
    if differ(boxes[1], scores[2]):
        refuse(op, f"boxes has {boxes[1]} boxes, scores has {scores[2]}")
