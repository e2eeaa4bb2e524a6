"""Which loops of krnl can run in vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import inf
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, IndexType, IntegerAttr, i1
from xdsl.ir import Block, Operation, SSAValue

from xonnc.dialects.krnl.loops import IterateOp, YieldOp
from xonnc.dialects.krnl.memory import LoadOp, StoreOp, element_of
from xonnc.dialects.krnl.types import is_buffer, is_integer, size_of
from xonnc.lowering.krnl_to_llvm import scalar_ops

REDUCTIONS: tuple[type[Operation], ...] = (
    arith.AddfOp,
    arith.AddiOp,
    arith.MulfOp,
    arith.MuliOp,
    arith.MaximumfOp,
    arith.MinimumfOp,
    arith.MaxSIOp,
    arith.MinSIOp,
    arith.MaxUIOp,
    arith.MinUIOp,
)
"""Ops whose order does not matter (of floats: up to rounding), so that lanes may do their part each."""


Step: TypeAlias = int | Fraction
"""How far an index moves from one iteration to the next; `1/n` where it moves by 1 every n iterations."""

MOST_APART = 4
"""Elements from one that is read to the next, so that it is worth to load what lies between."""


def strides_of(buffer: SSAValue) -> list[int | None]:
    """How many elements lie between neighbours, by axis; `None` where only a run tells."""
    assert is_buffer(buffer.type)
    strides: list[int | None] = []
    step: int | None = 1
    for size in reversed(buffer.type.get_shape()):
        strides.insert(0, step)
        step = None if step is None or size == DYNAMIC_INDEX else step * size
    return strides


def lanes_for(op: IterateOp, vector_bytes: int) -> int:
    """Elements that the innermost loop of an op may do at a time; 0 if only one after the other."""
    body = op.body.block
    index = body.args[len(body.args) - len(op.returned) - 1]
    steps = index_steps(body, index)
    if any(reduction is None for reduction in reductions_of(op)):
        return 0
    widest, repeats = 0, set[int]()
    for inner in body.ops:
        match inner:
            case LoadOp() | StoreOp():
                step = step_of(inner.memref, inner.indices, steps)
                if step is None or not _is_near(inner, step):
                    return 0
                repeats.add(step.denominator)
                widest = max(widest, size_of(element_of(inner.memref)))
            case YieldOp():
                pass
            case _ if len(inner.results) == 1 and inner.results[0] in steps:
                pass
            case _ if scalar_ops.is_known(inner) and not any(steps.get(value, 0) for value in inner.operands):
                type_ = inner.results[0].type
                if (isinstance(type_, AnyFloat) or is_integer(type_)) and type_ != i1:
                    widest = max(widest, size_of(type_))
            case _:
                return 0
    lanes = vector_bytes // widest if widest else 0
    return lanes if all(_holds_whole(repeat, op, lanes) for repeat in repeats) else 0


def _holds_whole(repeat: int, op: IterateOp, lanes: int) -> bool:
    """Whether each vector of iterations begins and ends with a whole group of `repeat`."""
    _, lower, upper = list(op.input_loops())[-1]
    if repeat == 1:
        return True
    return lower == 0 and isinstance(upper, int) and upper % repeat == 0 and lanes % repeat == 0


def _is_near(access: LoadOp | StoreOp, step: Step) -> bool:
    """Whether iterations read the same element or those a few apart, or write side by side."""
    if isinstance(access, StoreOp):
        return step == 1
    if step.denominator > 1:
        return True
    return step in (0, 1) or (2 <= step <= MOST_APART and element_of(access.memref) != i1)


def index_steps(body: Block, index: SSAValue) -> dict[SSAValue, Step]:
    """How far values of the type `index` move from one iteration to the next, if always as far."""
    steps: dict[SSAValue, Step] = {index: 1}
    for op in body.ops:
        if len(op.results) != 1 or op.results[0].type != IndexType():
            continue
        moved = [_step(value, body, steps) for value in op.operands]
        known = [step for step in moved if step is not None]
        if len(known) != len(moved):
            continue
        match op:
            case arith.DivSIOp() if op.lhs is index and (divisor := _constant(op.rhs) or 0) > 1:
                steps[op.result] = Fraction(1, divisor)
            case _ if any(step.denominator > 1 for step in known):
                # An offset keeps the groups; sums and multiples of quotients are no quotients.
                if isinstance(op, arith.AddiOp) and 0 in known:
                    steps[op.result] = sum(known)
            case arith.AddiOp():
                steps[op.result] = known[0] + known[1]
            case arith.SubiOp():
                steps[op.result] = known[0] - known[1]
            case arith.MuliOp() if any(known):
                factor = _constant(op.rhs if known[0] else op.lhs)
                if factor is not None and 0 in known:
                    steps[op.result] = sum(known) * factor
            case _ if not any(known):
                steps[op.results[0]] = 0
            case _:
                pass
    return steps


def _step(value: SSAValue, body: Block, steps: Mapping[SSAValue, Step]) -> Step | None:
    if value in steps:
        return steps[value]
    owner = value.owner
    inside = owner is body or (isinstance(owner, Operation) and owner.parent is body)
    return None if inside and value not in body.args else 0


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def step_of(buffer: SSAValue, indices: Sequence[SSAValue], steps: Mapping[SSAValue, Step]) -> Step | None:
    """How far an access moves from one iteration to the next; `None` if not always the same."""
    parts: list[Step] = []
    for value, stride in zip(indices, strides_of(buffer), strict=True):
        step = steps.get(value, 0)
        if _is_unknown(value, steps) or (step and stride is None):
            return None
        # Quotients may not add up, nor become whole by being scaled.
        if step.denominator > 1 and stride != 1:
            return None
        if step and stride:
            parts.append(step * stride)
    if len(parts) > 1 and any(part.denominator > 1 for part in parts):
        return None
    return sum(parts)


def _is_unknown(value: SSAValue, steps: Mapping[SSAValue, Step]) -> bool:
    """Whether a value is made in the body, but not by steps that are known."""
    first = next(iter(steps))
    body = first.owner
    return isinstance(value.owner, Operation) and value.owner.parent is body and value not in steps


def reductions_of(op: IterateOp) -> list[Operation | None]:
    """For each value taken over by the next iteration, the op that brings it together with that one's."""
    body = op.body.block
    end = body.last_op
    taken = body.args[len(body.args) - len(op.returned) :]
    if not isinstance(end, YieldOp):
        return [None] * len(taken)
    return [_reduction(value, argument) for value, argument in zip(end.arguments, taken, strict=True)]


def _reduction(value: SSAValue, argument: SSAValue) -> Operation | None:
    owner = value.owner
    if not isinstance(owner, REDUCTIONS) or len(list(argument.uses)) != 1 or len(list(value.uses)) != 1:
        return None
    return owner if list(owner.operands).count(argument) == 1 else None


def neutral(reduction: Operation) -> float | int:
    """What changes nothing under a reduction."""
    type_ = reduction.results[0].type
    bits = type_.width.data if is_integer(type_) else 0
    match reduction:
        case arith.AddfOp():
            return -0.0
        case arith.MulfOp():
            return 1.0
        case arith.MaximumfOp():
            return -inf
        case arith.MinimumfOp():
            return inf
        case arith.MuliOp():
            return 1
        case arith.MaxSIOp():
            return -(1 << (bits - 1))
        case arith.MinSIOp():
            return (1 << (bits - 1)) - 1
        case arith.MinUIOp():
            return -1
        case _:
            return 0
