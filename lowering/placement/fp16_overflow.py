"""
Exponentials and squares that overflow float16 although the final result is small.

`log(sum(exp(x)))` is close to the largest `x`, but `exp(x)` exceeds float16 from 11.1 on. The DLA would
saturate to 65504, whose logarithm is a plausible but wrong value. Such nodes run on the CPU unless the graph
proves an upper bound of `x`. Scales bound the variance of quantized numbers and the products of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log, prod

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
from xonnc.dialects.onnx.ops.nn import InstanceNormalizationOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp
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
from xonnc.lowering.onnx_to_dla.builders.op_inserter import SQUARED_PART
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import quantized_bounds

LARGEST_EXPONENT = log(MAX_FP16)

MAXIMA = (ReduceMaxOp, ReduceMaxV13Op, ReduceMaxV18Op)

BOUNDED_BY_ONE = (ErfOp, HardSigmoidOp, SigmoidOp, SoftmaxOp, SoftsignOp, TanhOp)

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
"""Operators whose results are about as large as their operands."""

BRINGING_BACK = (DivOp, LogOp, PowOp, ReciprocalOp, ReduceLogSumOp, ReduceLogSumV13Op, SqrtOp)
"""Operators that map large values to small ones."""


def overflows(nodes: Sequence[Operation]) -> dict[Operation, str]:
    """
    Return why float16 does not suffice for squares, for exponentials, and for nodes that pass their results
    on, although it represents what becomes of them.
    """
    result: dict[Operation, str] = {}
    for op in nodes:
        if (square := _largest_square(op)) > MAX_FP16:
            result[op] = (
                f"intermediate results up to {square:g} (float16 ends at {MAX_FP16:g}); scale the numbers "
                "down"
            )
        if not isinstance(op, ExpOp) or upper_bound(op.input) <= LARGEST_EXPONENT:
            continue
        between, reader = _brought_back(op)
        if reader is not None:
            reason = (
                f"the exponential of numbers that may exceed {LARGEST_EXPONENT:.1f} (float16 ends at "
                f"{MAX_FP16:g}) goes into a {reader.name.removeprefix('onnx.')}; subtract the maximum "
                "first, or clip the numbers"
            )
            result |= dict.fromkeys(between, reason)
    return result


def _largest_square(op: Operation) -> float:
    """Return a bound of the squares or products of quantized numbers that `op` computes, 0 if unknown."""
    match op:
        case InstanceNormalizationOp():
            # A number differs from the mean by at most the width of the range.
            bounds = quantized_bounds(op.input)
            return 0.0 if bounds is None else (SQUARED_PART * (bounds[1] - bounds[0])) ** 2
        case MulOp():
            factors = [quantized_bounds(op.A), quantized_bounds(op.B)]
            return prod(0.0 if each is None else max(map(abs, each)) for each in factors)
        case _:
            return 0.0


def _brought_back(op: Operation) -> tuple[set[Operation], Operation | None]:
    """
    Return `op` and the nodes that pass its result on, and a node after them that maps large values to small
    ones.
    """
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
    """Return an upper bound of `value` that its operators prove, else infinity."""
    constant = _constant(value)
    if constant is not None:
        return constant[1]
    return _of_result(value.op) if isinstance(value, OpResult) else inf


def _of_result(op: Operation) -> float:
    """Return the upper bound of the result of `op`."""
    if isinstance(op, BOUNDED_BY_ONE):
        return 1.0
    if isinstance(op, DequantizeLinearOp) and (bounds := quantized_bounds(op.y)) is not None:
        return bounds[1]
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
    """Return the bound of a difference: from the maximum of the same values, or from nonnegative values."""
    if _is_maximum_of(op.B, op.A):
        return 0.0
    taken = _constant(op.B)
    if taken is not None:
        return upper_bound(op.A) - taken[0]
    return upper_bound(op.A) if isinstance(op.B.owner, NOT_NEGATIVE) else inf


def _of_product(op: MulOp) -> float:
    """Return the bound of a product with a constant factor, which keeps or reverses the order."""
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
    """Whether `maximum` is the maximum of `value`, possibly clipped to be finite."""
    owner = maximum.owner
    if isinstance(owner, ClipOp):
        bounds = _constant(owner.max)
        if bounds is None or bounds[0] < MAX_FP16:
            return False
        owner = owner.input.owner
    return isinstance(owner, MAXIMA) and owner.data == value


def _constant(value: SSAValue) -> tuple[float, float] | None:
    """Return minimum and maximum of a constant."""
    if not isinstance(value, OpResult) or not isinstance(value.op, ConstantOp) or value.op.value is None:
        return None
    array = elements_array(value.op.value)
    if array is None or not array.size or array.dtype.kind not in "fiu":
        return None
    return float(array.min()), float(array.max())
