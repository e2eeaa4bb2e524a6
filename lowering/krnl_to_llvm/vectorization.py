"""Legality analysis for the vectorisation of innermost krnl loops: access strides and reductions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import inf
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, AnyFloat, IndexType, IntegerAttr, i1
from xdsl.ir import Block, Operation, SSAValue

from xonnc.dialects.krnl.loops import IterateOp, YieldOp
from xonnc.dialects.krnl.memory import LoadOp, LookUpOp, StoreOp, element_of
from xonnc.dialects.krnl.types import is_buffer, is_integer, size_of
from xonnc.lowering.krnl_to_llvm import scalar_ops

INDEX = IndexType()

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
"""Reduction operations: associative (floats: up to rounding), so that lanes may accumulate separately."""


IndexStride: TypeAlias = int | Fraction
"""Change of an index per iteration; `1/n` if it increases by 1 every n iterations."""

MAX_LOAD_STRIDE = 4
"""Largest stride for which contiguous loads and shuffles are faster than scalar loads."""


def buffer_strides(buffer: SSAValue) -> list[int | None]:
    """Return the row-major strides of a buffer in elements; `None` where they are dynamic."""
    assert is_buffer(buffer.type)
    strides: list[int | None] = []
    step: int | None = 1
    for size in reversed(buffer.type.get_shape()):
        strides.insert(0, step)
        step = None if step is None or size == DYNAMIC_INDEX else step * size
    return strides


def vector_lanes(op: IterateOp, vector_bytes: int) -> int:
    """Return the number of lanes to vectorise the innermost loop with; 0 if it is not legal."""
    body = op.body.block
    index = body.args[len(body.args) - len(op.returned) - 1]
    steps = index_strides(body, index)
    if any(reduction is None for reduction in loop_reductions(op)):
        return 0
    widest, repeats = 0, set[int]()
    for inner in body.ops:
        match inner:
            case LoadOp() | StoreOp():
                step = access_stride(inner.memref, inner.indices, steps)
                if step is None or not _is_vectorizable(inner, step):
                    return 0
                repeats.add(step.denominator)
                widest = max(widest, size_of(element_of(inner.memref)))
            case LookUpOp() if inner.shuffle is not None:
                widest = max(widest, 1)
            case YieldOp():
                pass
            case _ if len(inner.results) == 1 and inner.results[0] in steps:
                pass
            case arith.IndexCastOp() if _has_constant_step(inner.input, body, steps):
                widest = max(widest, size_of(inner.result.type))
            case _ if scalar_ops.is_supported(inner) and not any(
                steps.get(value, 0) for value in inner.operands
            ):
                type_ = inner.results[0].type
                if (isinstance(type_, AnyFloat) or is_integer(type_)) and type_ != i1:
                    widest = max(widest, size_of(type_))
            case _:
                return 0
    lanes = vector_bytes // widest if widest else 0
    return lanes if all(_groups_fit_vectors(repeat, op, lanes) for repeat in repeats) else 0


def _groups_fit_vectors(repeat: int, op: IterateOp, lanes: int) -> bool:
    """Whether vectors of iterations start and end at multiples of `repeat`."""
    _, lower, upper = list(op.input_loops())[-1]
    if repeat == 1:
        return True
    return lower == 0 and isinstance(upper, int) and upper % repeat == 0 and lanes % repeat == 0


def _is_vectorizable(access: LoadOp | StoreOp, step: IndexStride) -> bool:
    """Whether an access with this stride can be vectorised: contiguous stores, loads of small stride."""
    if isinstance(access, StoreOp):
        return step == 1
    if step.denominator > 1:
        return True
    return step in (0, 1) or (2 <= step <= MAX_LOAD_STRIDE and element_of(access.memref) != i1)


def index_strides(body: Block, index: SSAValue) -> dict[SSAValue, IndexStride]:
    """Return the strides of values of type `index` in a loop body that are affine in the loop index."""
    steps: dict[SSAValue, IndexStride] = {index: 1}
    for op in body.ops:
        if len(op.results) != 1 or op.results[0].type != INDEX:
            continue
        strides = [_step(value, body, steps) for value in op.operands]
        known = [step for step in strides if step is not None]
        if len(known) != len(strides):
            continue
        match op:
            case arith.DivSIOp() if op.lhs is index and (divisor := _constant(op.rhs) or 0) > 1:
                steps[op.result] = Fraction(1, divisor)
            case _ if any(step.denominator > 1 for step in known):
                # `i // n + c` with a constant c keeps the stride 1/n; other arithmetic on quotients has no
                # constant stride.
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


def _step(value: SSAValue, body: Block, steps: Mapping[SSAValue, IndexStride]) -> IndexStride | None:
    if value in steps:
        return steps[value]
    owner = value.owner
    inside = owner is body or (isinstance(owner, Operation) and owner.parent is body)
    return None if inside and value not in body.args else 0


def _has_constant_step(value: SSAValue, body: Block, steps: Mapping[SSAValue, IndexStride]) -> bool:
    """Whether a value is an index that grows by a constant integer in each iteration."""
    step = _step(value, body, steps)
    return value.type == INDEX and step is not None and step.denominator == 1


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def access_stride(
    buffer: SSAValue, indices: Sequence[SSAValue], steps: Mapping[SSAValue, IndexStride]
) -> IndexStride | None:
    """Return the stride of an access in elements per iteration; `None` if it is not constant."""
    parts: list[IndexStride] = []
    for value, stride in zip(indices, buffer_strides(buffer), strict=True):
        step = steps.get(value, 0)
        if _has_unknown_stride(value, steps) or (step and stride is None):
            return None
        # A quotient supports only stride 1: `(i // n) * s` jumps by s every n iterations.
        if step.denominator > 1 and stride != 1:
            return None
        if step and stride:
            parts.append(step * stride)
    if len(parts) > 1 and any(part.denominator > 1 for part in parts):
        return None
    return sum(parts)


def _has_unknown_stride(value: SSAValue, steps: Mapping[SSAValue, IndexStride]) -> bool:
    """Whether a value is computed in the loop body with unknown stride."""
    first = next(iter(steps))
    body = first.owner
    return isinstance(value.owner, Operation) and value.owner.parent is body and value not in steps


def loop_reductions(op: IterateOp) -> list[Operation | None]:
    """Return the reduction operation of each loop-carried value; `None` if it is not a reduction."""
    body = op.body.block
    end = body.last_op
    carried = body.args[len(body.args) - len(op.returned) :]
    if not isinstance(end, YieldOp):
        return [None] * len(carried)
    return [_reduction(value, argument) for value, argument in zip(end.arguments, carried, strict=True)]


def _reduction(value: SSAValue, argument: SSAValue) -> Operation | None:
    owner = value.owner
    # Lanes accumulate separately, so that no iteration has the partial result of the scalar loop: nothing
    # but the reduction itself may read it.
    if not isinstance(owner, REDUCTIONS) or len(list(argument.uses)) != 1 or len(list(value.uses)) != 1:
        return None
    return owner if list(owner.operands).count(argument) == 1 else None


def neutral_element(reduction: Operation) -> float | int:
    """Return the neutral element of a reduction; -0.0 for float addition, which keeps a sum of -0.0."""
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
