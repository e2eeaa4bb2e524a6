"""Shapes of control flow, static and symbolic: body arguments, and results once the bodies are inferred."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.types import (
    OptType,
    SeqType,
    are_compatible,
    element_type,
    is_ranked,
    scalar_as,
    tensor_type,
    unranked,
)
from xonnc.transforms.dims.expressions import DimExpr
from xonnc.transforms.shapes.inference_context import (
    UNKNOWN,
    Dim,
    Dims,
    InferenceContext,
    InferredType,
    SymbolicShape,
    Types,
    constant_array,
    form,
    infers,
    infers_dims,
    same,
    static,
    typed,
)


def ends(op: Operation, region: int) -> Sequence[SSAValue]:
    """Return the values that a body yields."""
    end = op.regions[region].block.last_op
    return () if end is None else end.operands


def yielded(op: Operation, region: int) -> list[Attribute]:
    """Return the types that a body yields."""
    return [value.type for value in ends(op, region)]


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


def stacked(ctx: InferenceContext, value: SSAValue, axis: int, size: Dim) -> InferredType:
    """Return the type of values stacked along `axis`, or `None` if it is unknown or out of range."""
    dims = ctx.dims_of(value)
    rank = 0 if dims is None else len(dims) + 1
    if dims is None or not -rank <= axis < rank:
        return None
    position = axis % rank
    return typed((*dims[:position], size, *dims[position:]), element_type(value.type))[0]


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


@infers_dims("If")
def if_(ctx: InferenceContext) -> Types:
    """Common types of both branches; dimensions that are equal in both."""
    branches = ends(ctx.op, 0), ends(ctx.op, 1)
    if len(branches[0]) != len(branches[1]) or len(branches[0]) != len(ctx.op.results):
        raise ctx.fail(f"the branches give {len(branches[0])} and {len(branches[1])} values")
    taken = ctx.numbers(0)
    pairs = list(zip(*branches, strict=True))
    if taken is not None and len(taken) == 1 and all(are_compatible(a.type, b.type) for a, b in pairs):
        return [_with_symbols(value.type, ctx.dims_of(value)) for value in branches[0 if taken[0] else 1]]
    # ONNX requires both branches to return all results, even if one is never taken.
    return [_either(ctx, left, right) for left, right in pairs]


def _either(ctx: InferenceContext, left: SSAValue, right: SSAValue) -> InferredType:
    """Return the common type of two values."""
    both, first, second = union(left.type, right.type), ctx.dims_of(left), ctx.dims_of(right)
    if first is None or second is None or len(first) != len(second):
        return both
    dims = tuple(a if same(a, b) else UNKNOWN for a, b in zip(first, second, strict=True))
    return _with_symbols(both, dims)


def _with_symbols(type_: Attribute | None, dims: Dims | None) -> InferredType:
    """Return a type, or the dimensions if one is symbolic."""
    is_symbolic = dims is not None and any(isinstance(size, DimExpr) for size in dims)
    return SymbolicShape(dims) if dims is not None and is_symbolic else type_


@infers_dims("Loop")
def loop(ctx: InferenceContext) -> Types:
    """
    Types of carried values, initial ones included if the loop may not run, with the dimensions that no
    iteration changes; scan outputs get a leading axis.
    """
    given = ctx.op.operands[2:]
    carried = ends(ctx.op, 0)[1:]
    if len(carried) != len(ctx.op.results):
        raise ctx.fail(f"the body gives {len(carried)} values for {len(ctx.op.results)} results")
    inside, runs, trip_count = ctx.op.regions[0].block.args[2:], _runs(ctx), _trip_count(ctx)
    finals = [_carried(ctx, *values, runs) for values in zip(given, inside, carried, strict=False)]
    return [*finals, *(stacked(ctx, value, 0, trip_count) for value in carried[len(given) :])]


def _carried(
    ctx: InferenceContext, start: SSAValue, inside: SSAValue, end: SSAValue, runs: bool
) -> InferredType:
    """
    Return the type of a carried value after the last iteration: that of the yielded value if the body `runs`
    at least once, else what it has in common with the initial one.
    """
    type_ = end.type if runs else union(start.type, end.type)
    first, current, last = (ctx.dims_of(value) for value in (start, inside, end))
    if first is None or current is None or last is None or not len(first) == len(current) == len(last):
        return type_
    sizes = zip(first, current, last, strict=True)
    return _with_symbols(type_, tuple(_carried_dim(ctx, *each, runs) for each in sizes))


def _carried_dim(ctx: InferenceContext, first: Dim, current: Dim, last: Dim, runs: bool) -> Dim:
    """Return a dimension of a carried value: the initial one if no iteration changes it."""
    if ctx.symbols is not None and same(current, last) and form(current).symbol is not None:
        ctx.symbols.equate(form(first), form(current))
    if runs and isinstance(last, int) and last != UNKNOWN:
        return last
    return first if same(last, current) or same(last, first) else UNKNOWN


def _runs(ctx: InferenceContext) -> bool:
    """Return whether a Loop has a first iteration, whatever the values that are fed."""
    count = ctx.numbers(0)
    has_iterations = not ctx.has(0) or (count is not None and len(count) == 1 and count[0] > 0)
    return has_iterations and _starts(ctx)


def _starts(ctx: InferenceContext) -> bool:
    return not ctx.has(1) or _holds(ctx, ctx.op.operands[1])


def _trip_count(ctx: InferenceContext) -> Dim:
    """Return the trip count of a Loop if the given count alone ends it, else `UNKNOWN`."""
    block, yields, count = ctx.op.regions[0].block, ends(ctx.op, 0), ctx.known_sizes(0)
    if not yields or not block.args or count is None or len(count) != 1 or not _starts(ctx):
        return UNKNOWN
    given, goes_on = ctx.elements_of(block.args[1]), ctx.elements_of(yields[0])
    is_kept = yields[0] is block.args[1] or (given is not None and given == goes_on and UNKNOWN not in given)
    if not is_kept and not _holds(ctx, yields[0]):
        return UNKNOWN
    size = count[0]
    return max(size, 0) if isinstance(size, int) and size != UNKNOWN else size


def _holds(ctx: InferenceContext, value: SSAValue) -> bool:
    """Return whether a condition is constant true."""
    array = constant_array(value)
    return ctx.elements_of(value) == (1,) if array is None else bool(array.all())


@infers_dims("Scan")
def scan(ctx: InferenceContext) -> Types:
    """Types of carried values; scan outputs get an axis as long as the scan inputs."""
    bodies, values = scan_bodies(ctx), ends(ctx.op, 0)
    if bodies is None or len(values) != len(ctx.op.results):
        raise ctx.fail(f"the body gives {len(values)} values for {len(ctx.op.results)} results")
    length = _length(ctx, bodies)
    states = zip(ctx.op.operands[: bodies.states], ctx.op.regions[0].block.args, values, strict=False)
    finals = [_carried(ctx, start, inside, end, False) for start, inside, end in states]
    scanned = zip(values[bodies.states :], bodies.output_axes, strict=True)
    return [*finals, *(stacked(ctx, value, axis, length) for value, axis in scanned)]


def _length(ctx: InferenceContext, bodies: Bodies) -> Dim:
    """Return the length of the scanned axes, which must be equal."""
    lengths: list[Dim] = []
    for index, axis in enumerate(bodies.input_axes, bodies.states):
        dims = ctx.dims(index)
        if dims is not None:
            lengths.append(dims[ctx.axis(axis, len(dims))])
    fixed = sorted(set(static(lengths)) - {UNKNOWN})
    if len(fixed) > 1:
        listed = " and ".join(map(str, fixed))
        raise ctx.fail(f"the scanned axes have lengths {listed}, which must be equal")
    for other in lengths[1:]:
        ctx.equate(lengths[0], other)
    return fixed[0] if fixed else next((size for size in lengths if size != UNKNOWN), UNKNOWN)


@infers("ScanV8")
def batched_scan(ctx: InferenceContext) -> Types:
    """Scan-8: as Scan, with a batch axis; scanned values have axes [batch, length, …]."""
    values = ends(ctx.op, 0)
    states = len(ctx.op.operands) - 1 - ctx.integer("num_scan_inputs")
    shapes = [ctx.shape(index) for index in range(1, len(ctx.op.operands))]
    batch = next((shape[0] for shape in shapes if shape and shape[0] != UNKNOWN), UNKNOWN)
    lengths = (shape[1] for shape in shapes[states:] if shape is not None and len(shape) > 1)
    length = next((size for size in lengths if size != UNKNOWN), UNKNOWN)
    found: list[InferredType] = []
    for index, value in enumerate(values):
        leading = (batch,) if index < states else (batch, length)
        dims = ctx.dims_of(value)
        found += [None] if dims is None else typed((*leading, *dims), element_type(value.type))
    return found if len(found) == len(ctx.op.results) else [None] * len(ctx.op.results)


@infers("SequenceMap")
def sequence_map(ctx: InferenceContext) -> Types:
    """Sequences of the body's results."""
    types = yielded(ctx.op, 0)
    if len(types) != len(ctx.op.results):
        raise ctx.fail(f"the body gives {len(types)} values for {len(ctx.op.results)} results")
    return [SeqType(type_) for type_ in types]
