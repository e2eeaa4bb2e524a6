"""Shapes of control flow: body arguments, and results once the bodies are inferred."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import starmap

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.types import (
    NONE,
    OptType,
    SeqType,
    are_compatible,
    element_type,
    is_ranked,
    scalar_as,
    tensor_type,
    unranked,
)
from xonnc.transforms.shapes.inference_context import UNKNOWN, InferenceContext, Types, constant_array, infers


def yielded(op: Operation, region: int) -> list[Attribute]:
    """Return the types that a body yields."""
    end = op.regions[region].block.last_op
    return [] if end is None else [operand.type for operand in end.operands]


def union(left: Attribute, right: Attribute) -> Attribute | None:
    """Return the most refined common type of two types, or `None`."""
    if left == right:
        return left
    if isinstance(left, SeqType) and isinstance(right, SeqType):
        inner = union(left.element_type, right.element_type)
        return None if inner is None else SeqType(inner)
    if isinstance(left, OptType) and isinstance(right, OptType):
        inner = union(left.element_type, right.element_type)
        return None if inner is None else OptType(inner)
    element = element_type(left)
    if element is None or element != element_type(right):
        return None
    if is_ranked(left) and is_ranked(right) and len(left.get_shape()) == len(right.get_shape()):
        pairs = zip(left.get_shape(), right.get_shape(), strict=True)
        return tensor_type(tuple(a if a == b else UNKNOWN for a, b in pairs), element)
    return unranked(element)


def without_axis(type_: Attribute, axis: int) -> Attribute | None:
    """Return the type of a slice along `axis`, or `None` if it is unknown or out of range."""
    shape = type_.get_shape() if is_ranked(type_) else ()
    element = element_type(type_)
    if element is None or not -len(shape) <= axis < len(shape):
        return None
    position = axis % len(shape)
    return tensor_type((*shape[:position], *shape[position + 1 :]), element)


def with_axis(type_: Attribute, axis: int, size: int) -> Attribute | None:
    """Return the type of slices stacked along `axis`, or `None` if it is unknown or out of range."""
    element = element_type(type_)
    if element is None or not is_ranked(type_):
        return None
    shape = type_.get_shape()
    rank = len(shape) + 1
    if not -rank <= axis < rank:
        return None
    position = axis % rank
    return tensor_type((*shape[:position], size, *shape[position:]), element)


@dataclass(frozen=True)
class Bodies:
    """The mapping of operands and results of a Scan to its body."""

    states: int
    """Number of carried values; the others are scanned."""
    input_axes: Sequence[int]
    output_axes: Sequence[int]


def scan_bodies(ctx: InferenceContext) -> Bodies | None:
    """Return the mapping of a Scan, or `None` if operands and body do not match."""
    inputs = ctx.integer("num_scan_inputs")
    states = len(ctx.op.operands) - inputs
    outputs = len(ctx.op.results) - states
    if inputs < 1 or states < 0 or outputs < 0:
        return None
    input_axes = ctx.integers("scan_input_axes") or (0,) * inputs
    output_axes = ctx.integers("scan_output_axes") or (0,) * outputs
    if len(input_axes) != inputs or len(output_axes) != outputs:
        raise ctx.fail(
            f"{len(input_axes)} and {len(output_axes)} scan axes for {inputs} inputs, {outputs} outputs"
        )
    return Bodies(states, input_axes, output_axes)


def carried_count(ctx: InferenceContext) -> int:
    """Return the number of loop-carried values of a body."""
    match ctx.name:
        case "Loop":
            return len(ctx.op.operands) - 2
        case "Scan":
            bodies = scan_bodies(ctx)
            return 0 if bodies is None else bodies.states
        case _:
            return 0


def argument_types(ctx: InferenceContext) -> list[Attribute | None]:
    """Return the types of body arguments at the first iteration; `None` where unknown."""
    types = [operand.type for operand in ctx.op.operands]
    match ctx.name:
        case "Loop":
            return [*_counters(ctx), *types[2:]]
        case "Scan":
            bodies = scan_bodies(ctx)
            if bodies is None:
                return []
            states, scanned = types[: bodies.states], types[bodies.states :]
            pairs = zip(scanned, bodies.input_axes, strict=True)
            return [*states, *(without_axis(type_, axis) for type_, axis in pairs)]
        case "ScanV8":
            return _batched(ctx, types[1:])
        case "Fused":
            return [*types]
        case "SequenceMap":
            return [type_.element_type if isinstance(type_, SeqType) else type_ for type_ in types]
        case _:
            return []


def _counters(ctx: InferenceContext) -> list[Attribute]:
    """
    Return the types of iteration number and condition: scalars, or one-element vectors if the body declares
    so.

    An undeclared condition has the type of the outer one.
    """
    declared = [argument.type for argument in ctx.op.regions[0].block.args[:2]]
    number, condition = declared if len(declared) == 2 else (None, None)
    if condition is None or not is_ranked(condition):
        condition = ctx.op.operands[1].type
    return [scalar_as(number, i64), scalar_as(condition, i1)]


def _batched(ctx: InferenceContext, types: Sequence[Attribute]) -> list[Attribute | None]:
    """Drop the batch axis, and the scan axis (the second by default) of scanned values."""
    states = len(types) - ctx.integer("num_scan_inputs")
    inner = [without_axis(type_, 0) for type_ in types]
    return [*inner[:states], *(None if each is None else without_axis(each, 0) for each in inner[states:])]


@infers("If")
def if_(ctx: InferenceContext) -> Types:
    """Common types of both branches."""
    branches = yielded(ctx.op, 0), yielded(ctx.op, 1)
    if len(branches[0]) != len(branches[1]) or len(branches[0]) != len(ctx.op.results):
        raise ctx.fail(f"the branches give {len(branches[0])} and {len(branches[1])} values")
    taken = ctx.numbers(0)
    if taken is not None and len(taken) == 1 and all(starmap(are_compatible, zip(*branches, strict=True))):
        return branches[0 if taken[0] else 1]
    # ONNX requires both branches to return all results, even if one is never taken.
    return [union(left, right) for left, right in zip(*branches, strict=True)]


@infers("Loop")
def loop(ctx: InferenceContext) -> Types:
    """
    Types of carried values, initial ones included if the loop may not run; scan outputs get a leading axis.
    """
    given = [operand.type for operand in ctx.op.operands[2:]]
    carried = yielded(ctx.op, 0)[1:]
    if len(carried) != len(ctx.op.results):
        raise ctx.fail(f"the body gives {len(carried)} values for {len(ctx.op.results)} results")
    finals = carried[: len(given)] if _runs(ctx) else map(union, given, carried)
    trip_count = _trip_count(ctx)
    return [*finals, *(with_axis(type_, 0, trip_count) for type_ in carried[len(given) :])]


def _runs(ctx: InferenceContext) -> bool:
    """Return whether a Loop has a first iteration, whatever the values that are fed."""
    count, condition = ctx.numbers(0), ctx.op.operands[1]
    has_iterations = not ctx.has(0) or (count is not None and len(count) == 1 and count[0] > 0)
    return has_iterations and (condition.type == NONE or _holds(condition))


def _trip_count(ctx: InferenceContext) -> int:
    """Return the trip count of a Loop if a constant count alone ends it, else `UNKNOWN`."""
    body = ctx.op.regions[0].block
    end, count = body.last_op, ctx.numbers(0)
    if end is None or count is None or len(count) != 1:
        return UNKNOWN
    condition, goes_on = ctx.op.operands[1], end.operands[0]
    starts = condition.type == NONE or _holds(condition)
    stays = goes_on is body.args[1] or _holds(goes_on)
    return max(count[0], 0) if starts and stays else UNKNOWN


def _holds(value: SSAValue) -> bool:
    """Return whether a condition is constant true."""
    array = constant_array(value)
    return array is not None and bool(array.all())


@infers("Scan")
def scan(ctx: InferenceContext) -> Types:
    """Types of carried values; scan outputs get an axis as long as the scan inputs."""
    bodies, ends = scan_bodies(ctx), yielded(ctx.op, 0)
    if bodies is None or len(ends) != len(ctx.op.results):
        raise ctx.fail(f"the body gives {len(ends)} values for {len(ctx.op.results)} results")
    lengths: set[int] = set()
    for index, axis in enumerate(bodies.input_axes, bodies.states):
        shape = ctx.shape(index)
        if shape is not None:
            lengths.add(shape[ctx.axis(axis, len(shape))])
    lengths.discard(UNKNOWN)
    if len(lengths) > 1:
        listed = " and ".join(map(str, sorted(lengths)))
        raise ctx.fail(f"the scanned axes have lengths {listed}, which must be equal")
    length = lengths.pop() if lengths else UNKNOWN
    states = [operand.type for operand in ctx.op.operands[: bodies.states]]
    finals = [union(start, end) for start, end in zip(states, ends, strict=False)]
    scanned = zip(ends[bodies.states :], bodies.output_axes, strict=True)
    return [*finals, *(with_axis(type_, axis, length) for type_, axis in scanned)]


@infers("ScanV8")
def batched_scan(ctx: InferenceContext) -> Types:
    """Scan-8: as Scan, with a batch axis; scanned values have axes [batch, length, …]."""
    ends = yielded(ctx.op, 0)
    states = len(ctx.op.operands) - 1 - ctx.integer("num_scan_inputs")
    shapes = [ctx.shape(index) for index in range(1, len(ctx.op.operands))]
    batch = next((shape[0] for shape in shapes if shape and shape[0] != UNKNOWN), UNKNOWN)
    lengths = (shape[1] for shape in shapes[states:] if shape is not None and len(shape) > 1)
    length = next((size for size in lengths if size != UNKNOWN), UNKNOWN)
    found: list[Attribute | None] = []
    for index, end in enumerate(ends):
        inner = end if index < states else with_axis(end, 0, length)
        found.append(None if inner is None else with_axis(inner, 0, batch))
    return found if len(found) == len(ctx.op.results) else [None] * len(ctx.op.results)


@infers("SequenceMap")
def sequence_map(ctx: InferenceContext) -> Types:
    """Sequences of the body's results."""
    ends = yielded(ctx.op, 0)
    if len(ends) != len(ctx.op.results):
        raise ctx.fail(f"the body gives {len(ends)} values for {len(ctx.op.results)} results")
    return [SeqType(end) for end in ends]
