"""
If, Loop and Scan whose bodies are kernels, lowered to `scf.if` and `scf.while` around kernel calls.

Loop-carried values live in buffers that are allocated before the loop:

```mlir
scf.while : () -> () {
  %c = memref.load %go[] : memref<i1>
  scf.condition(%c)
} do {
  "krnl.call"(%next, %carried) {funcName = "relu_0", …}
  "krnl.call"(%carried, %next) {funcName = "copy_1", …}
  "krnl.call"(%turn, %go, %count) {funcName = "loop_counter_2", …}
}
```

A Loop whose number of iterations is unknown becomes a `krnl.strip_mined_loop`: the body runs up to `rows`
iterations in native code, and the runtime joins the scan outputs of all strips.

The runtime runs the op itself if its body has an op without a kernel, or dynamic shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith, cf, memref, scf, ub
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    TensorType,
    UnrealizedConversionCastOp,
    i1,
    i64,
)
from xdsl.ir import Block, Operation, Region, SSAValue

from xonnc.dialects.krnl import loops
from xonnc.dialects.krnl.dynamic_shapes import ShapedOp
from xonnc.dialects.krnl.memory import CallOp, GlobalOp, shape_of
from xonnc.dialects.krnl.packing import PackOp
from xonnc.dialects.krnl.strip_mining import StripMinedLoopOp
from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops.builtin import NoValueOp, YieldOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.controlflow import IfOp, LoopOp, ScanOp
from xonnc.dialects.onnx.types import NONE, element_type, numpy_dtype, static_shape
from xonnc.lowering.onnx_to_krnl.builders.checks import CHECK, failure_check
from xonnc.lowering.onnx_to_krnl.builders.kernels import Kernel
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder, lowers_data_movement
from xonnc.lowering.onnx_to_krnl.builders.scalars import INDEX
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import fill
from xonnc.lowering.onnx_to_krnl.planning.element_types import is_storable
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import are_static

INSIDE = (
    CallOp,
    ConstantOp,
    GlobalOp,
    NoValueOp,
    PackOp,
    ShapedOp,
    UnrealizedConversionCastOp,
    YieldOp,
    memref.AllocOp,
    memref.LoadOp,
    memref.SubviewOp,
    scf.IfOp,
    scf.WhileOp,
)
"""Ops that the body of natively compiled control flow may contain."""

STRIP_BYTES = 1 << 18
"""Size to which the scan outputs of a strip of iterations are limited."""

MAX_ROWS = 256
"""The most iterations of a strip; so many take far longer than the call of a strip."""

BY_SESSION = "the session runs it"
"""Return why a control-flow op is not lowered: its body is not native, or it has dynamic shapes."""


@lowers_data_movement(IfOp)
def if_(op: IfOp, builder: LoweringBuilder) -> str | None:
    """Run the branch that the condition selects; native if both branches are."""
    then, otherwise = map(_yielded, op.regions)
    if not _is_native(op, op.results, builder) or not _are_alike(then, otherwise, op.results, op.results):
        return BY_SESSION
    condition = _loaded(builder.buffer(op.cond), builder)
    results = [builder.result(result) for result in op.results]
    regions: list[Region] = []
    for region in list(op.regions):
        checks = _take_checks(region.block, op, builder)
        end = region.block.last_op
        assert end is not None
        builder.set_insertion_point(end)
        for source, result in zip(_yielded(region), results, strict=True):
            _copy(result, builder.buffer(source), builder)
        _merge(checks, builder)
        builder.set_insertion_point(op)
        regions.append(Region(_moved(region.block)))
    _put(scf.IfOp(condition, [], regions[0], regions[1]), op)
    return None


@lowers_data_movement(LoopOp)
def loop(op: LoopOp, builder: LoweringBuilder) -> str | None:
    """Run the body until the trip count or the condition ends the loop; native if the body is."""
    body = op.body.block
    carried = len(op.v_initial)
    on, *given = _yielded(op.body)
    finals = op.results[:carried]
    if not _is_native(op, finals, builder) or not _are_alike(op.v_initial, body.args[2:], given, finals):
        return BY_SESSION
    is_endless = _is_true(on, body.args[1], builder) and (
        op.cond.type == NONE or _is_true(op.cond, None, builder)
    )
    targets = [_ScanSlice(value, 0, False) for value in op.results[carried:]]
    count = _trip_count(op, builder)
    # Scan outputs have a static size only if nothing but a constant trip count ends the loop.
    if targets and not (is_endless and count and _are_static(op.results[carried:], builder)):
        _strip_mine(op, not is_endless, count, builder)
        return None
    if not all(_fit(each, part, count, builder) for each, part in zip(targets, given[carried:], strict=True)):
        return BY_SESSION
    holds = builder.allocate([], i1)
    if op.cond.type == NONE:
        fill(holds, 1, 1, builder)
    else:
        _copy(holds, builder.buffer(op.cond), builder)
    limit = None if op.M.type == NONE else builder.buffer(op.M)
    state = _LoopState(builder.allocate([], i64), holds, limit, not is_endless)
    _hold(body.args[0], state.turn, op)
    _hold(body.args[1], state.holds, op)
    _repeat(op, body.args[2:], op.v_initial, given, (state, [], targets), builder)
    return None


def _strip_mine(op: LoopOp, is_asked: bool, count: int | None, builder: LoweringBuilder) -> None:
    """Replace a loop with scan outputs by strips of iterations, which end where the loop ends."""
    carried = len(op.v_initial)
    parts = _yielded(op.body)[1 + carried :]
    row_bytes = sum(prod(builder.shape(part)) * numpy_dtype(builder.element(part)).itemsize for part in parts)
    rows = max(1, min(MAX_ROWS, STRIP_BYTES // row_bytes, count or MAX_ROWS))
    finals = [initial.type for initial in op.v_initial]
    stacked = [TensorType(builder.element(part), (rows, *builder.shape(part))) for part in parts]
    scalar = TensorType(i64, [])
    block = Block(arg_types=[scalar, scalar, *finals])
    first, limit, *initial = block.args
    region = op.detach_region(op.body)
    strip = LoopOp.create(
        operands=[op.M, op.cond, *initial], result_types=[*finals, *stacked], regions=[region]
    )
    strip.location = op.location
    block.add_op(strip)
    mined = StripMinedLoopOp(op.operands, rows, [result.type for result in op.results], Region(block))
    _put(mined, op)
    with builder.nested_scope():
        builder.set_insertion_point(strip)
        turn, holds, row = builder.allocate([], i64), builder.allocate([], i1), builder.allocate([], i64)
        fill(holds, 1, 1, builder)
        body = region.block
        state = _LoopState(turn, holds, builder.buffer(limit), is_asked, builder.buffer(first), row)
        _hold(body.args[0], turn, strip)
        _hold(body.args[1], holds, strip)
        targets = [_ScanSlice(value, 0, False) for value in strip.results[carried:]]
        _repeat(strip, body.args[2:], initial, _yielded(region)[1:], (state, [], targets), builder)
        yielded = [
            builder.insert(UnrealizedConversionCastOp.get([buffer], [type_]))
            for buffer, type_ in (
                (holds, TensorType(i1, [])),
                (turn, scalar),
                *((builder.buffer(result), result.type) for result in strip.results),
            )
        ]
    builder.set_insertion_point(op)
    strip.detach()
    strip.erase()
    block.add_op(loops.YieldOp.create(operands=yielded))
    builder.resized.update(zip(op.results, mined.results, strict=True))


def _trip_count(op: LoopOp, builder: LoweringBuilder) -> int | None:
    """Return the constant trip count of a Loop, or None."""
    count = None if op.M.type == NONE else builder.constant(op.M)
    return None if count is None else int(count.reshape(-1)[0])


@lowers_data_movement(ScanOp)
def scan(op: ScanOp, builder: LoweringBuilder) -> str | None:
    """Run the body on each slice of the scan inputs; native if the body is."""
    body = op.body.block
    count = len(op.operands) - op.num_scan_inputs.value.data
    given = _yielded(op.body)
    if not _is_native(op, op.results, builder) or not _are_alike(
        op.operands[:count], body.args, given, op.results
    ):
        return BY_SESSION
    sources = _parts(op.operands[count:], op.scan_input_axes, op.scan_input_directions)
    targets = _parts(op.results[count:], op.scan_output_axes, op.scan_output_directions)
    lengths = {builder.shape(each.scanned)[each.axis] for each in sources}
    iterations = lengths.pop()
    pairs = zip((*sources, *targets), (*body.args[count:], *given[count:]), strict=True)
    if lengths or not all(_fit(each, part, iterations, builder) for each, part in pairs):
        return BY_SESSION
    holds, limit = builder.allocate([], i1), builder.allocate([], i64)
    fill(holds, 1, 1, builder)
    fill(limit, 1, iterations, builder)
    state = _LoopState(builder.allocate([], i64), holds, limit, False)
    _repeat(op, body.args[:count], op.operands[:count], given, (state, sources, targets), builder)
    return None


@dataclass(frozen=True)
class _LoopState:
    """Buffers that control a loop: the iteration, whether the condition holds, the trip count."""

    turn: SSAValue
    holds: SSAValue
    limit: SSAValue | None
    is_asked: bool
    """Whether the body computes the loop condition, as its first result."""
    first: SSAValue | None = None
    """The first iteration, unless that is 0."""
    row: SSAValue | None = None
    """The row of scan outputs, unless that is the iteration."""


@dataclass(frozen=True)
class _ScanSlice:
    """A tensor of which each iteration reads or writes a slice along an axis."""

    scanned: SSAValue
    axis: int
    is_backwards: bool


def _parts(
    values: Sequence[SSAValue],
    axes: ArrayAttr[IntegerAttr[IntegerType]] | None,
    directions: ArrayAttr[IntegerAttr[IntegerType]] | None,
) -> list[_ScanSlice]:
    scan_axes = int_values(axes) or (0,) * len(values)
    backwards = int_values(directions) or (0,) * len(values)
    made: list[_ScanSlice] = []
    for value, axis, back in zip(values, scan_axes, backwards, strict=True):
        made.append(_ScanSlice(value, axis % len(static_shape(value.type) or (1,)), bool(back)))
    return made


def _fit(parts: _ScanSlice, part: SSAValue, iterations: int | None, builder: LoweringBuilder) -> bool:
    """Whether the slices of all iterations make up the tensor."""
    shape, axis = builder.shape(parts.scanned), parts.axis
    return shape[axis] == iterations and (*shape[:axis], *shape[axis + 1 :]) == builder.shape(part)


def _yielded(region: Region) -> Sequence[SSAValue]:
    end = region.block.last_op
    return () if end is None else end.operands


def _is_native(op: Operation, results: Sequence[SSAValue], builder: LoweringBuilder) -> bool:
    """Whether bodies contain only native ops, on non-empty tensors of static shape, like `results`."""
    blocks = [region.block for region in op.regions]
    if not all(isinstance(inner, INSIDE) for block in blocks for inner in block.ops):
        return False
    given = [value for region in op.regions for value in _yielded(region)]
    arguments = [value for block in blocks for value in block.args]
    return _are_static(
        [value for value in (*op.operands, *results, *given, *arguments) if value.type != NONE], builder
    )


def _are_static(values: Sequence[SSAValue], builder: LoweringBuilder) -> bool:
    """Whether values are non-empty tensors of static shape, of types that kernels can move."""
    return all(
        builder.is_movable(value) and are_static(builder.sizes(value)) and 0 not in builder.sizes(value)
        for value in values
    )


def _are_alike(
    initial: Sequence[SSAValue],
    carried: Sequence[SSAValue],
    given: Sequence[SSAValue],
    finals: Sequence[SSAValue],
) -> bool:
    """Whether each loop-carried value keeps its shape from the initial to the final value."""
    rows = zip(initial, carried, given, finals, strict=False)
    return all(len({static_shape(each.type) for each in row}) == 1 for row in rows)


def _is_true(value: SSAValue, condition: SSAValue | None, builder: LoweringBuilder) -> bool:
    """Whether a condition is a constant true, or the incoming condition passed on unchanged."""
    constant = builder.constant(value)
    if constant is not None:
        return bool(constant.all())
    return condition is not None and _origin(value) is condition


def _origin(value: SSAValue) -> SSAValue:
    """Follow views to the tensor or buffer that they are of."""
    while isinstance(value.owner, UnrealizedConversionCastOp | ShapedOp | memref.SubviewOp):
        value = value.owner.operands[0]
    return value


def _hold(argument: SSAValue, buffer: SSAValue, op: Operation) -> None:
    """Replace a block argument by a buffer."""
    cast = UnrealizedConversionCastOp.get([buffer], [argument.type])
    assert op.parent is not None
    op.parent.insert_op_before(cast, op)
    argument.replace_all_uses_with(cast.results[0])


def _repeat(
    op: LoopOp | ScanOp,
    carried: Sequence[SSAValue],
    initial: Sequence[SSAValue],
    given: Sequence[SSAValue],
    parts: tuple[_LoopState, Sequence[_ScanSlice], Sequence[_ScanSlice]],
    builder: LoweringBuilder,
) -> None:
    """
    Emit the loop: slice the inputs, run the body, store the scan outputs, update carried values.

    Carried values live in the buffers of the final results.
    """
    state, sources, targets = parts
    body = op.regions[0].block
    _start(state, builder)
    buffers = [builder.result(final) for final in op.results[: len(initial)]]
    for buffer, start in zip(buffers, initial, strict=True):
        _copy(buffer, builder.buffer(start), builder)
    is_invariant = [_origin(value) is argument for value, argument in zip(given, carried, strict=False)]
    moved = [_origin(value) in carried for value in given[: len(carried)]]
    for argument, buffer in zip(carried, buffers, strict=True):
        _hold(argument, buffer, op)
    wholes = [builder.buffer(each.scanned) for each in sources]
    results = [builder.result(each.scanned) for each in targets]
    condition = builder.allocate([], i1)
    _settle(condition, state, builder)
    checks = _take_checks(body, op, builder)
    arguments = body.args[len(body.args) - len(sources) :] if sources else ()
    slices = [builder.allocate(builder.shape(argument), builder.element(argument)) for argument in arguments]
    for argument, buffer in zip(arguments, slices, strict=True):
        _hold(argument, buffer, op)
    first = body.first_op
    assert first is not None
    builder.set_insertion_point(first)
    for each, scanned, part in zip(sources, wholes, slices, strict=True):
        _copy_slice(each, scanned, part, state.turn, builder, reads=True)
    end = body.last_op
    assert end is not None
    builder.set_insertion_point(end)
    # Yielded values may be block arguments, which buffers have replaced.
    given = end.operands[len(end.operands) - len(given) :]
    for each, scanned, part in zip(targets, results, given[len(carried) :], strict=True):
        _copy_slice(each, scanned, builder.buffer(part), state.row or state.turn, builder, reads=False)
    pairs: list[tuple[SSAValue, SSAValue]] = []
    for buffer, value, is_kept, is_moved in zip(buffers, given, is_invariant, moved, strict=False):
        source = builder.buffer(value)
        if is_moved and not is_kept:
            # It is another carried value, whose buffer may be overwritten before it is copied: save it first.
            saved = builder.allocate(builder.shape(value), builder.element(value))
            _copy(saved, source, builder)
            source = saved
        if not is_kept:
            pairs.append((buffer, source))
    # All sources are saved or disjoint from the targets by now, so the order of copies does not matter.
    for buffer, source in pairs:
        _copy(buffer, source, builder)
    if state.is_asked:
        _copy(state.holds, builder.buffer(end.operands[0]), builder)
    _advance(state, builder)
    _settle(condition, state, builder)
    _merge(checks, builder)
    builder.set_insertion_point(op)
    before = Block()
    load = memref.LoadOp.get(condition, [])
    before.add_ops([load, scf.ConditionOp(load.res)])
    _put(scf.WhileOp([], [], Region(before), Region(_moved(body))), op)


def lower_assertions(block: Block, builder: LoweringBuilder) -> None:
    """Lower `cf.assert` to a run that fails, and `ub.poison` to zeros."""
    for op in list(block.ops):
        match op:
            case cf.AssertOp():
                builder.set_insertion_point(op)
                fill(failure_check(op.msg.data, builder), 2, 1, builder)
            case ub.PoisonOp() if is_storable(element_type(op.result.type)):
                builder.set_insertion_point(op)
                fill(builder.result(op.result), prod(builder.shape(op.result)), 0, builder)
                cast = builder.insert(
                    UnrealizedConversionCastOp.get([builder.buffer(op.result)], [op.result.type])
                )
                op.result.replace_all_uses_with(cast)
            case _:
                continue
        made = op.operands[0].owner if op.operands else None
        op.detach()
        op.erase()
        if isinstance(made, arith.ConstantOp) and not made.result.uses.get_length():
            made.detach()
            made.erase()


def _loaded(buffer: SSAValue, builder: LoweringBuilder) -> SSAValue:
    """Load the boolean in a buffer of one element."""
    if prod(shape_of(buffer)) != 1 or shape_of(buffer):
        buffer = builder.insert(UnrealizedConversionCastOp.get([buffer], [MemRefType(i1, [])]))
    return builder.insert(memref.LoadOp.get(buffer, []))


def _put(made: Operation, op: Operation) -> None:
    """Insert an op before another, with its location."""
    made.location = op.location
    assert op.parent is not None
    op.parent.insert_op_before(made, op)


def _moved(block: Block) -> Block:
    """Move the ops of a body into a new block that ends with `scf.yield`."""
    made = Block()
    end = block.last_op
    for inner in list(block.ops):
        inner.detach()
        if inner is end:
            inner.erase()
        else:
            made.add_op(inner)
    made.add_op(scf.YieldOp())
    return made


def _copy(target: SSAValue, source: SSAValue, builder: LoweringBuilder) -> None:
    """Copy all elements of a buffer."""
    count = [prod(shape_of(target))]
    kernel = Kernel(builder, "copy", [(target, count)], [(source, count)])
    out, given = kernel.buffers
    with kernel.loops(count) as (index,):
        out.copy(index, given, index)
    kernel.call()


def _copy_slice(
    parts: _ScanSlice,
    scanned: SSAValue,
    part: SSAValue,
    step: SSAValue,
    builder: LoweringBuilder,
    reads: bool,
) -> None:
    """Copy the slice of a tensor that an iteration reads, or the one that it writes."""
    shape = shape_of(scanned)
    outer, iterations, inner = prod(shape[: parts.axis]), shape[parts.axis], prod(shape[parts.axis + 1 :])
    whole, slice_ = (scanned, [outer, iterations, inner]), (part, [outer, inner])
    target, source = (slice_, whole) if reads else (whole, slice_)
    kernel = Kernel(builder, "scan_slice", [target], [source, (step, [1])])
    out, given, counter = kernel.buffers
    number = counter.load(0)
    at = (iterations - 1 - number if parts.is_backwards else number).to(INDEX)
    with kernel.loops([outer, inner]) as (first, last):
        inside, here = (first, at, last), (first, last)
        if reads:
            out.copy(here, given, inside)
        else:
            out.copy(inside, given, here)
    kernel.call()


def _start(state: _LoopState, builder: LoweringBuilder) -> None:
    """Set the counters of iterations and rows to the first ones."""
    if state.first is None:
        fill(state.turn, 1, 0, builder)
    else:
        _copy(state.turn, state.first, builder)
    if state.row is not None:
        fill(state.row, 1, 0, builder)


def _advance(state: _LoopState, builder: LoweringBuilder) -> None:
    """Increment the counters of iterations and rows."""
    counters = [state.turn] if state.row is None else [state.turn, state.row]
    for counter in counters:
        kernel = Kernel(builder, "loop_counter", [(counter, [1])], [])
        (number,) = kernel.buffers
        number.store(number.load(0) + 1, 0)
        kernel.call()


def _settle(condition: SSAValue, state: _LoopState, builder: LoweringBuilder) -> None:
    """Compute whether there is another iteration."""
    inputs = [state.holds] if state.limit is None else [state.holds, state.turn, state.limit]
    kernel = Kernel(builder, "loop_condition", [(condition, [1])], [(each, [1]) for each in inputs])
    out, holds, *counters = kernel.buffers
    result = holds.load(0)
    if counters:
        iteration, limit = (each.load(0) for each in counters)
        result = result & (iteration < limit)
    out.store(result, 0)
    kernel.call()


def _take_checks(block: Block, op: Operation, builder: LoweringBuilder) -> list[tuple[SSAValue, SSAValue]]:
    """
    Move the run-time checks of a body out of the loop or branch; return pairs of inner and outer buffers.

    A buffer in a body may never be written, or once per iteration. The outer one is initialized with values
    in range, and accumulates the extrema over all iterations.
    """
    made: list[tuple[SSAValue, SSAValue]] = []
    for inner in block.ops:
        attribute = inner.attributes.get(CHECK)
        if not isinstance(inner, memref.AllocOp) or not isinstance(attribute, DictionaryAttr):
            continue
        del inner.attributes[CHECK]
        cell = builder.allocate([2], i64)
        assert isinstance(cell.owner, Operation)
        cell.owner.attributes[CHECK] = attribute
        kernel = Kernel(builder, "init_bounds", [cell], [])
        for index, name in enumerate(("least", "most")):
            bound = attribute.data[name]
            assert isinstance(bound, IntegerAttr)
            kernel.buffers[0].store(kernel.constant(bound.value.data, i64), index)
        kernel.call()
        made.append((inner.memref, cell))
    return made


def _merge(checks: Sequence[tuple[SSAValue, SSAValue]], builder: LoweringBuilder) -> None:
    """Accumulate the extrema that a body computed."""
    for inner, cell in checks:
        kernel = Kernel(builder, "merge_bounds", [cell], [inner])
        total, found = kernel.buffers
        for index in (0, 1):
            before, now = total.load(index), found.load(index)
            total.store(before.maximum(now) if index else before.minimum(now), index)
        kernel.call()
