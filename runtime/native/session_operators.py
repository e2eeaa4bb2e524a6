"""
What the session does itself: branches, loops and scans over bodies, lists of tensors, optional values.

What it does with strings and maps is in `string_operators.py` and `string_data_movement.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from secrets import randbits

import numpy as np

from xonnc.formats.native.program import Held, Port, SessionStep
from xonnc.runtime.native import string_data_movement, string_operators
from xonnc.runtime.native.operator_call import Array, Call, Perform


def prepare_step(step: SessionStep) -> Perform:
    """What is done for a step. A call of it raises `XonncError` for what does not fit."""
    prepare = string_operators.PREPARED.get(step.operator)
    if prepare is None:
        return STEPS[step.operator]
    prepared: list[Perform] = []

    def perform(call: Call) -> Sequence[Held]:
        # Attributes that do not fit fail the call, which may never be made.
        if not prepared:
            prepared.append(prepare(call))
        return prepared[0](call)

    return perform


def _if(call: Call) -> Sequence[Held]:
    is_true = bool(call.array(0).reshape(-1)[0])
    return call.runners[0 if is_true else 1]([])


def _loop(call: Call) -> Sequence[Held]:
    turns = call.integer(0, np.iinfo(np.int64).max)
    goes_on = bool(call.array(1).reshape(-1)[0]) if call.is_there(1) else True
    carried = list(call.held[2:])
    scanned: list[list[Array]] = [[] for _ in call.step.writes[len(carried) :]]
    # A body may say that it takes vectors of one element.
    ports = call.step.bodies[0].program.inputs[:2]
    number, again = ((1,) * len(port.shape or ()) for port in ports)
    turn, held = 0, np.full(again, True)
    while goes_on and turn < turns:
        place = np.empty(number, np.int64)
        place.fill(turn)
        results = call.runners[0]([place, held, *carried])
        condition, carried = results[0], list(results[1 : 1 + len(carried)])
        goes_on = bool(np.asarray(condition).item(0))
        if scanned:
            _collect(call, scanned, results[1 + len(carried) :])
        turn += 1
    ports = call.step.bodies[0].program.outputs[1 + len(carried) :]
    return [*carried, *(_stacked(call, each, 0, port) for each, port in zip(scanned, ports, strict=True))]


def _collect(call: Call, scanned: list[list[Array]], results: Sequence[Held]) -> None:
    for found, result in zip(scanned, results, strict=True):
        if not isinstance(result, np.ndarray):
            raise call.fail("a scanned result is no tensor")
        if found and found[0].shape != result.shape:
            raise call.fail(f"scanned results of shapes {list(found[0].shape)} and {list(result.shape)}")
        found.append(result)


def _stacked(call: Call, arrays: Sequence[Array], axis: int, port: Port) -> Array:
    """Results of all iterations along a new axis; without iterations one of size 0."""
    if arrays:
        before = call.axis_of(axis, arrays[0].ndim + 1)
        made = np.empty((len(arrays), *arrays[0].shape), arrays[0].dtype)
        for place, array in enumerate(arrays):
            made[place] = array
        return np.ascontiguousarray(np.moveaxis(made, 0, before)) if before else made
    shape = [size or 0 for size in port.shape or ()]
    shape.insert(call.axis_of(axis, len(shape) + 1), 0)
    return np.zeros(shape, port.dtype)


def _scan(call: Call) -> Sequence[Held]:
    count = call.setting("num_scan_inputs")
    states = list(call.held[: len(call.held) - count])
    inputs = [call.array(len(states) + number) for number in range(count)]
    axes = [
        call.axis_of(axis, array.ndim)
        for axis, array in zip(call.settings("scan_input_axes", count), inputs, strict=True)
    ]
    turned = call.settings("scan_input_directions", count)
    lengths = {array.shape[axis] for array, axis in zip(inputs, axes, strict=True)}
    if len(lengths) != 1:
        raise call.fail(f"scanned inputs of lengths {sorted(lengths)}")
    length = lengths.pop()
    scanned: list[list[Array]] = [[] for _ in call.step.writes[len(states) :]]
    for turn in range(length):
        parts = [
            np.take(array, length - 1 - turn if back else turn, axis)
            for array, axis, back in zip(inputs, axes, turned, strict=True)
        ]
        results = call.runners[0]([*states, *(np.asarray(part) for part in parts)])
        states = list(results[: len(states)])
        _collect(call, scanned, results[len(states) :])
    out_axes = call.settings("scan_output_axes", len(scanned))
    out_turned = call.settings("scan_output_directions", len(scanned))
    ports = call.step.bodies[0].program.outputs[len(states) :]
    made: list[Held] = list(states)
    for found, axis, back, port in zip(scanned, out_axes, out_turned, ports, strict=True):
        made.append(_stacked(call, found[::-1] if back else found, axis, port))
    return made


def _construct(call: Call) -> Sequence[Held]:
    return [tuple(call.array(number).copy() for number in range(len(call.held)))]


def _insert(call: Call) -> Sequence[Held]:
    tensors = list(call.tensors())
    position = call.integer(2, len(tensors))
    place = len(tensors) if position == len(tensors) else call.place(position, len(tensors))
    tensors.insert(place, call.array(1).copy())
    return [tuple(tensors)]


def _erase(call: Call) -> Sequence[Held]:
    tensors = list(call.tensors())
    del tensors[call.place(call.integer(1, -1), len(tensors))]
    return [tuple(tensors)]


def _at(call: Call) -> Sequence[Held]:
    tensors = call.tensors()
    return [tensors[call.place(call.integer(1, 0), len(tensors))]]


def _length(call: Call) -> Sequence[Held]:
    return [np.array(len(call.tensors()), np.int64)]


def _concat(call: Call) -> Sequence[Held]:
    is_new = bool(call.setting("new_axis"))
    tensors = call.tensors()
    if not tensors:
        raise call.fail("an empty sequence has no shape to be one tensor")
    axis = call.axis(tensors[0].ndim + is_new)
    try:
        return [np.stack(tensors, axis) if is_new else np.concatenate(tensors, axis)]
    except ValueError as error:
        raise call.fail(str(error)) from error


def _split(call: Call) -> Sequence[Held]:
    array = call.array(0)
    axis = call.axis(array.ndim)
    size = array.shape[axis]
    sizes = [1] * size
    if call.is_there(1):
        given = call.array(1)
        step = int(given.reshape(-1)[0]) if given.size else 0
        if given.ndim:
            sizes = [int(each) for each in given.astype(np.int64)]
        elif step > 0:
            sizes = [min(step, size - start) for start in range(0, size, step)]
        if sum(sizes) != size or min(sizes, default=0) < 0 or (not given.ndim and step <= 0):
            raise call.fail(f"parts {np.asarray(given).tolist()} of an axis of size {size}")
    parts = np.split(array, np.cumsum(sizes)[:-1], axis) if sizes else []
    drops = not call.is_there(1) and not call.setting("keepdims", 1)
    return [tuple(np.squeeze(part, axis) if drops else part.copy() for part in parts)]


def _empty(call: Call) -> Sequence[Held]:
    return [()]


def _optional(call: Call) -> Sequence[Held]:
    held = call.held[0] if call.is_there(0) else None
    return [held.copy() if isinstance(held, np.ndarray) else held]


def _element(call: Call) -> Sequence[Held]:
    if call.held[0] is None:
        raise call.fail("the optional value is empty")
    return [call.held[0]]


def _has_element(call: Call) -> Sequence[Held]:
    return [np.array(call.is_there(0) and call.held[0] is not None)]


def _keep(call: Call) -> Sequence[Held]:
    """What a kernel has found, of the size that it tells behind."""
    found, axis = call.array(0), call.setting("axis")
    part = (slice(None),) * axis + (slice(0, call.integer(1, 0)),)
    return [found[part].copy()]


def _later(call: Call) -> Sequence[Held]:
    """What a function makes of what has been found."""
    return call.runners[0](list(call.held))


def _seed(call: Call) -> Sequence[Held]:
    """A number to draw others from."""
    return [np.array([randbits(32)], np.int64)]


STEPS: Mapping[str, Perform] = {
    "ConcatFromSequence": _concat,
    "If": _if,
    "Keep": _keep,
    "Later": _later,
    "Loop": _loop,
    "Optional": _optional,
    "OptionalGetElement": _element,
    "OptionalHasElement": _has_element,
    "Scan": _scan,
    "Seed": _seed,
    "SequenceAt": _at,
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceErase": _erase,
    "SequenceInsert": _insert,
    "SequenceLength": _length,
    "SplitToSequence": _split,
    **string_data_movement.STEPS,
    **string_operators.STEPS,
}
"""What each operator does."""
