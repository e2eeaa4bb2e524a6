"""
Operators that the session runs in Python: If, Loop, Scan, sequences and optionals.

Those on strings and maps are in `string_operators.py` and `string_data_movement.py`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from random import Random

import numpy as np

from xonnc.errors import XonncError
from xonnc.formats.native.program import RuntimeValue, SessionStep, TensorSpec
from xonnc.runtime.native import string_data_movement, string_operators
from xonnc.runtime.native.operator_call import (
    Array,
    Implementation,
    OperatorAttributes,
    OperatorCall,
    PrepareImplementation,
)
from xonnc.runtime.native.token_counts import count_tokens

_MAX_ITERATIONS = int(np.iinfo(np.int64).max)
"""The iterations of a loop without a limit."""

_SEEDS = Random()
"""Seeds of random operators; a generator of our own, so that the state of the caller's is not changed."""

if hasattr(os, "register_at_fork"):
    # Otherwise a child process would draw the numbers of its parent.
    os.register_at_fork(after_in_child=_SEEDS.seed)


def draw_seed() -> int:
    """Return a random seed of 32 bits, another one in a child process."""
    return _SEEDS.getrandbits(32)


def prepare_step(step: SessionStep, constants: Mapping[int, Array] | None = None) -> Implementation:
    """
    Return the implementation of a step, some of whose operands are constants.

    Calls of it raise `XonncError` for invalid operands.
    """
    prepare = PREPARED_IMPLEMENTATIONS.get(step.operator)
    if prepare is None:
        return IMPLEMENTATIONS[step.operator]
    settings = OperatorAttributes(step, constants)
    prepared: list[Implementation] = []

    def perform(call: OperatorCall) -> Sequence[RuntimeValue]:
        # Invalid attributes raise at the first call, not here: the step may never run.
        if not prepared:
            prepared.append(prepare(settings))
        return prepared[0](call)

    return perform


def _if(call: OperatorCall) -> Sequence[RuntimeValue]:
    is_true = bool(call.array(0).reshape(-1)[0])
    return call.bodies[0 if is_true else 1]([])


def _loop(call: OperatorCall) -> Sequence[RuntimeValue]:
    max_iterations = call.integer(0, _MAX_ITERATIONS)
    condition_holds = bool(call.array(1).reshape(-1)[0]) if call.has_operand(1) else True
    carried = list(call.operands[2:])
    scanned: list[list[Array]] = [[] for _ in call.step.writes[len(carried) :]]
    # A body may declare iteration number and condition as vectors of one element.
    specs = call.step.bodies[0].program.inputs[:2]
    number_shape, condition_shape = ((1,) * len(spec.shape or ()) for spec in specs)
    iteration, true = 0, np.full(condition_shape, True)
    while condition_holds and iteration < max_iterations:
        iteration_number = np.empty(number_shape, np.int64)
        iteration_number.fill(iteration)
        results = call.bodies[0]([iteration_number, true, *carried])
        condition, carried = results[0], list(results[1 : 1 + len(carried)])
        condition_holds = bool(np.asarray(condition).item(0))
        if scanned:
            _collect(call, scanned, results[1 + len(carried) :])
        iteration += 1
    specs = call.step.bodies[0].program.outputs[1 + len(carried) :]
    inputs = [np.zeros(number_shape, np.int64), true, *carried]
    shapes = [None] * len(specs) if iteration else _shapes_of_none(call, inputs, specs)
    found = zip(scanned, specs, shapes, strict=True)
    return [*carried, *(_stacked(call, each, 0, spec, shape) for each, spec, shape in found)]


def _shapes_of_none(
    call: OperatorCall, inputs: Sequence[RuntimeValue], specs: Sequence[TensorSpec]
) -> list[Sequence[int]]:
    """
    Return the shapes that scan outputs would have in the first iteration, of a loop without iterations.

    If they are not static, the body tells them. Where it fails on these inputs, unknown dimensions are 0.
    """
    shapes = [tuple(size or 0 for size in spec.shape or ()) for spec in specs]
    if all(spec.shape is not None and None not in spec.shape for spec in specs):
        return list(shapes)
    try:
        results = call.bodies[0](inputs)[len(call.step.bodies[0].program.outputs) - len(specs) :]
    except XonncError:
        return list(shapes)
    arrays = zip(results, shapes, strict=True)
    return [result.shape if isinstance(result, np.ndarray) else shape for result, shape in arrays]


def _strip_mined_loop(settings: OperatorAttributes) -> Implementation:
    """Run strips of iterations, each in native code, and join their rows of the scan outputs."""
    step, rows = settings.step, settings.int_attribute("rows")
    count = len(step.reads)
    specs = step.bodies[0].program.outputs[count:]
    # The same arrays for all strips: a body binds inputs only if they are other objects than before.
    first, last = np.zeros((), np.int64), np.zeros((), np.int64)

    def perform(call: OperatorCall) -> Sequence[RuntimeValue]:
        limit = call.integer(0, _MAX_ITERATIONS)
        holds = bool(call.array(1).item(0)) if call.has_operand(1) else True
        carried = call.operands[2:]
        strips: list[list[Array]] = [[] for _ in specs]
        iteration, run = 0, call.bodies[0]
        while holds and iteration < limit:
            end = min(limit, iteration + rows)
            first[...], last[...] = iteration, end
            results = run([first, last, *carried])
            holds, after = (int(result.item()) for result in results[:2] if isinstance(result, np.ndarray))
            carried = results[2:count]
            for found, result in zip(strips, results[count:], strict=True):
                assert isinstance(result, np.ndarray)
                found.append(result[: after - iteration])
            iteration = after
        return [*carried, *map(_joined, strips, specs)]

    return perform


def _joined(strips: Sequence[Array], spec: TensorSpec) -> Array:
    """Concatenate strips; there are no rows without strips."""
    if not strips:
        return np.zeros((0, *(size or 0 for size in (spec.shape or ())[1:])), spec.dtype)
    if len(strips) > 1:
        return np.concatenate(strips)
    (strip,) = strips
    # A copy, so that rows that are not valid take no memory.
    return strip if strip.base is None or strip.size == strip.base.size else strip.copy()


def _collect(call: OperatorCall, scanned: list[list[Array]], results: Sequence[RuntimeValue]) -> None:
    for found, result in zip(scanned, results, strict=True):
        if not isinstance(result, np.ndarray):
            raise call.fail("a scan output is not a tensor")
        if found and found[0].shape != result.shape:
            raise call.fail(f"scan outputs of shapes {list(found[0].shape)} and {list(result.shape)}")
        found.append(result)


def _stacked(
    call: OperatorCall,
    arrays: Sequence[Array],
    axis: int,
    spec: TensorSpec,
    without: Sequence[int] | None,
) -> Array:
    """
    Stack the results of all iterations along a new axis.

    Without iterations it has size 0, and the other axes are those of `without`.
    """
    if arrays:
        before = call.normalize_axis(axis, arrays[0].ndim + 1)
        made = np.empty((len(arrays), *arrays[0].shape), arrays[0].dtype)
        for index, array in enumerate(arrays):
            made[index] = array
        return np.ascontiguousarray(np.moveaxis(made, 0, before)) if before else made
    shape = list(without or ())
    shape.insert(call.normalize_axis(axis, len(shape) + 1), 0)
    return np.zeros(shape, spec.dtype)


def _scan(call: OperatorCall) -> Sequence[RuntimeValue]:
    count = call.int_attribute("num_scan_inputs")
    states = list(call.operands[: len(call.operands) - count])
    inputs = [call.array(len(states) + number) for number in range(count)]
    axes = [
        call.normalize_axis(axis, array.ndim)
        for axis, array in zip(call.int_list_attribute("scan_input_axes", count), inputs, strict=True)
    ]
    directions = call.int_list_attribute("scan_input_directions", count)
    lengths = {array.shape[axis] for array, axis in zip(inputs, axes, strict=True)}
    if len(lengths) != 1:
        raise call.fail(f"scan inputs of lengths {sorted(lengths)}")
    length = lengths.pop()
    scanned: list[list[Array]] = [[] for _ in call.step.writes[len(states) :]]
    for iteration in range(length):
        parts = [
            np.take(array, length - 1 - iteration if back else iteration, axis)
            for array, axis, back in zip(inputs, axes, directions, strict=True)
        ]
        results = call.bodies[0]([*states, *(np.asarray(part) for part in parts)])
        states = list(results[: len(states)])
        _collect(call, scanned, results[len(states) :])
    out_axes = call.int_list_attribute("scan_output_axes", len(scanned))
    out_directions = call.int_list_attribute("scan_output_directions", len(scanned))
    specs = call.step.bodies[0].program.outputs[len(states) :]
    parts = [
        np.zeros(np.delete(array.shape, axis), array.dtype) for array, axis in zip(inputs, axes, strict=True)
    ]
    shapes = [None] * len(specs) if length else _shapes_of_none(call, [*states, *parts], specs)
    made: list[RuntimeValue] = list(states)
    for found, axis, back, spec, shape in zip(scanned, out_axes, out_directions, specs, shapes, strict=True):
        made.append(_stacked(call, found[::-1] if back else found, axis, spec, shape))
    return made


def _construct(call: OperatorCall) -> Sequence[RuntimeValue]:
    return [tuple(call.array(number).copy() for number in range(len(call.operands)))]


def _insert(call: OperatorCall) -> Sequence[RuntimeValue]:
    tensors = list(call.tensors())
    position = call.integer(2, len(tensors))
    index = len(tensors) if position == len(tensors) else call.sequence_index(position, len(tensors))
    tensors.insert(index, call.array(1).copy())
    return [tuple(tensors)]


def _erase(call: OperatorCall) -> Sequence[RuntimeValue]:
    tensors = list(call.tensors())
    del tensors[call.sequence_index(call.integer(1, -1), len(tensors))]
    return [tuple(tensors)]


def _at(call: OperatorCall) -> Sequence[RuntimeValue]:
    tensors = call.tensors()
    return [tensors[call.sequence_index(call.integer(1, 0), len(tensors))]]


def _length(call: OperatorCall) -> Sequence[RuntimeValue]:
    return [np.array(len(call.tensors()), np.int64)]


def _concat(call: OperatorCall) -> Sequence[RuntimeValue]:
    is_new = bool(call.int_attribute("new_axis"))
    tensors = call.tensors()
    if not tensors:
        raise call.fail("an empty sequence cannot be concatenated: its shape is unknown")
    axis = call.axis(tensors[0].ndim + is_new)
    try:
        return [np.stack(tensors, axis) if is_new else np.concatenate(tensors, axis)]
    except ValueError as error:
        raise call.fail(str(error)) from error


def _split(call: OperatorCall) -> Sequence[RuntimeValue]:
    array = call.array(0)
    axis = call.axis(array.ndim)
    size = array.shape[axis]
    sizes = [1] * size
    if call.has_operand(1):
        given = call.array(1)
        step = int(given.reshape(-1)[0]) if given.size else 0
        if given.ndim:
            sizes = [int(each) for each in given.astype(np.int64)]
        elif step > 0:
            sizes = [min(step, size - start) for start in range(0, size, step)]
        if sum(sizes) != size or min(sizes, default=0) < 0 or (not given.ndim and step <= 0):
            raise call.fail(f"split sizes {np.asarray(given).tolist()} do not sum to the axis size {size}")
    parts = np.split(array, np.cumsum(sizes)[:-1], axis) if sizes else []
    drops = not call.has_operand(1) and not call.int_attribute("keepdims", 1)
    return [tuple((np.squeeze(part, axis) if drops else part).copy() for part in parts)]


def _empty(call: OperatorCall) -> Sequence[RuntimeValue]:
    return [()]


def _optional(call: OperatorCall) -> Sequence[RuntimeValue]:
    value = call.operands[0] if call.has_operand(0) else None
    return [value.copy() if isinstance(value, np.ndarray) else value]


def _element(call: OperatorCall) -> Sequence[RuntimeValue]:
    if call.operands[0] is None:
        raise call.fail("the optional value is empty")
    return [call.operands[0]]


def _has_element(call: OperatorCall) -> Sequence[RuntimeValue]:
    return [np.array(call.has_operand(0) and call.operands[0] is not None)]


def _keep(settings: OperatorAttributes) -> Implementation:
    """Slice the result of a kernel to the data-dependent size that it returns as operand 1."""
    outer = (slice(None),) * settings.int_attribute("axis")

    def rows(call: OperatorCall) -> Sequence[RuntimeValue]:
        return [call.array(0)[: call.array(1).item(0)].copy()]

    def perform(call: OperatorCall) -> Sequence[RuntimeValue]:
        return [call.array(0)[(*outer, slice(call.array(1).item(0)))].copy()]

    return perform if outer else rows


def _seed(call: OperatorCall) -> Sequence[RuntimeValue]:
    seed = np.empty(1, np.int64)
    seed[0] = draw_seed()
    return [seed]


IMPLEMENTATIONS: Mapping[str, Implementation] = {
    "ConcatFromSequence": _concat,
    "If": _if,
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
    **string_data_movement.IMPLEMENTATIONS,
    **string_operators.IMPLEMENTATIONS,
}
"""The implementation of each operator."""

PREPARED_IMPLEMENTATIONS: Mapping[str, PrepareImplementation] = {
    "CountTokens": count_tokens,
    "Keep": _keep,
    "StripMinedLoop": _strip_mined_loop,
    **string_data_movement.PREPARED_IMPLEMENTATIONS,
    **string_operators.PREPARED_IMPLEMENTATIONS,
}
"""Operators that are prepared once, for their attributes and constant operands."""
