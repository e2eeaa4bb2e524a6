"""
Exponentials whose results halves do not hold although what is made of them is small.

`log(sum(exp(x)))` is near the largest `x`, but `exp(x)` exceeds the largest half from 11.1 on: the DLA would
go on with 65504, and the logarithm of that is a wrong number of the right size. Such nodes go to the CPU
unless the graph shows that `x` stays below.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log

from xdsl.ir import Operation, OpResult, SSAValue

from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.math import (
    AbsOp,
    AddOp,
    ClipOp,
    DivOp,
    ErfOp,
    ExpOp,
    HardSigmoidOp,
    LogOp,
    MinOp,
    MulOp,
    NegOp,
    PowOp,
    ReciprocalOp,
    ReluOp,
    SigmoidOp,
    SoftmaxOp,
    SoftplusOp,
    SoftsignOp,
    SqrtOp,
    SubOp,
    SumOp,
    TanhOp,
)
from xonnc.dialects.onnx.ops.reduction import (
    ReduceLogSumOp,
    ReduceLogSumV13Op,
    ReduceMaxOp,
    ReduceMaxV13Op,
    ReduceMaxV18Op,
    ReduceMeanOp,
    ReduceMeanV13Op,
    ReduceSumOp,
    ReduceSumV11Op,
)
from xonnc.dialects.onnx.ops.tensor import CastOp, ConcatOp, IdentityOp, ReshapeOp, SqueezeOp, UnsqueezeOp
from xonnc.lowering.dla_planning.precision import MAX_FP16

LARGEST_EXPONENT = log(MAX_FP16)

MAXIMA = (ReduceMaxOp, ReduceMaxV13Op, ReduceMaxV18Op)

AT_MOST_ONE = (ErfOp, HardSigmoidOp, SigmoidOp, SoftmaxOp, SoftsignOp, TanhOp)

NOT_NEGATIVE = (AbsOp, ExpOp, HardSigmoidOp, ReluOp, SigmoidOp, SoftmaxOp, SoftplusOp, SqrtOp)

PASSING = (
    AddOp,
    CastOp,
    ConcatOp,
    IdentityOp,
    MulOp,
    ReduceMeanOp,
    ReduceMeanV13Op,
    ReduceSumOp,
    ReduceSumV11Op,
    ReshapeOp,
    SqueezeOp,
    SumOp,
    UnsqueezeOp,
)
"""Operators whose results are as large as their operands, more or less."""

BRINGING_BACK = (DivOp, LogOp, PowOp, ReciprocalOp, ReduceLogSumOp, ReduceLogSumV13Op, SqrtOp)
"""Operators that make small numbers of large ones."""


def overflows(nodes: Sequence[Operation]) -> dict[Operation, str]:
    """
    Why halves are not enough for nodes although they hold what becomes of their results: exponentials, and
    what passes their results on.
    """
    result: dict[Operation, str] = {}
    for op in nodes:
        if not isinstance(op, ExpOp) or upper_bound(op.input) <= LARGEST_EXPONENT:
            continue
        between, reader = _brought_back(op)
        if reader is not None:
            reason = (
                f"the exponential of numbers that may exceed {LARGEST_EXPONENT:.1f} (halves end at "
                f"{MAX_FP16:g}) goes into a {reader.name.removeprefix('onnx.')}; subtract the maximum "
                "first, or clip the numbers"
            )
            result |= dict.fromkeys(between, reason)
    return result


def _brought_back(op: Operation) -> tuple[set[Operation], Operation | None]:
    """`op` and what passes its results on, and a node behind that makes small numbers of them."""
    seen = {op}
    worklist = [op]
    reader: Operation | None = None
    while worklist:
        for use in [use for result in worklist.pop().results for use in result.uses]:
            if isinstance(use.operation, BRINGING_BACK):
                reader = reader or use.operation
            elif isinstance(use.operation, PASSING) and use.operation not in seen:
                seen.add(use.operation)
                worklist.append(use.operation)
    return seen, reader


def upper_bound(value: SSAValue) -> float:
    """A number that `value` never exceeds, as its operator shows; infinite where it does not."""
    constant = _constant(value)
    if constant is not None:
        return constant[1]
    return _of_result(value.op) if isinstance(value, OpResult) else inf


def _of_result(op: Operation) -> float:
    """The bound of what `op` makes."""
    if isinstance(op, AT_MOST_ONE):
        return 1.0
    if isinstance(op, CastOp | IdentityOp | ReshapeOp):
        return upper_bound(op.operands[0])
    match op:
        case ClipOp():
            most = _constant(op.max)
            return min(upper_bound(op.input), inf if most is None else most[1])
        case MinOp():
            return min(map(upper_bound, op.data_0))
        case NegOp():
            return 0.0 if isinstance(op.X.owner, NOT_NEGATIVE) else inf
        case SubOp():
            return _of_difference(op)
        case AddOp():
            return upper_bound(op.A) + upper_bound(op.B)
        case MulOp():
            return _of_product(op)
        case ReluOp():
            return max(upper_bound(op.X), 0.0)
        case _:
            return inf


def _of_difference(op: SubOp) -> float:
    """The bound of numbers less their maximum, or less numbers from 0 on."""
    if _is_maximum_of(op.B, op.A):
        return 0.0
    taken = _constant(op.B)
    if taken is not None:
        return upper_bound(op.A) - taken[0]
    return upper_bound(op.A) if isinstance(op.B.owner, NOT_NEGATIVE) else inf


def _of_product(op: MulOp) -> float:
    """The bound of numbers times a constant factor, which keeps or turns their order."""
    for factor, other in ((op.A, op.B), (op.B, op.A)):
        found = _constant(factor)
        if found is None:
            continue
        least, most = found
        if most <= 0 and isinstance(other.owner, NOT_NEGATIVE):
            return 0.0
        if least >= 0:
            bound = upper_bound(other)
            return bound * (most if bound > 0 else least) if bound < inf else inf
    return inf


def _is_maximum_of(maximum: SSAValue, value: SSAValue) -> bool:
    """Whether `maximum` is the largest number of `value`, perhaps made finite."""
    owner = maximum.owner
    if isinstance(owner, ClipOp):
        bounds = _constant(owner.max)
        if bounds is None or bounds[0] < MAX_FP16:
            return False
        owner = owner.input.owner
    return isinstance(owner, MAXIMA) and owner.data == value


def _constant(value: SSAValue) -> tuple[float, float] | None:
    """The least and the largest number of a constant."""
    if not isinstance(value, OpResult) or not isinstance(value.op, ConstantOp) or value.op.value is None:
        return None
    array = elements_array(value.op.value)
    if array is None or not array.size or array.dtype.kind not in "fiu":
        return None
    return float(array.min()), float(array.max())
