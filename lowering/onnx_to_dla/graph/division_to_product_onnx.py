"""`division-to-product-onnx`: divisions by computed norms as products with their reciprocals, for NVDLA."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import inf, prod

import numpy as np
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.math import (
    AbsOp,
    AddOp,
    ClipOp,
    DivOp,
    ExpandOp,
    ExpOp,
    MaxOp,
    MulOp,
    PowOp,
    ReluOp,
    SigmoidOp,
    SoftplusOp,
    SqrtOp,
)
from xonnc.dialects.onnx.ops.nn import GlobalAveragePoolOp
from xonnc.dialects.onnx.ops.reduction import (
    ReduceL1Op,
    ReduceL1V13Op,
    ReduceL2Op,
    ReduceL2V13Op,
    ReduceMaxOp,
    ReduceMaxV13Op,
    ReduceMaxV18Op,
    ReduceMeanOp,
    ReduceMeanV13Op,
    ReduceSumOp,
    ReduceSumSquareOp,
    ReduceSumSquareV13Op,
    ReduceSumV11Op,
)
from xonnc.dialects.onnx.ops.tensor import (
    ReshapeOp,
    SqueezeOp,
    SqueezeV11Op,
    TransposeOp,
    UnsqueezeOp,
    UnsqueezeV11Op,
)
from xonnc.dialects.onnx.types import NONE, element_type, static_shape
from xonnc.lowering.onnx_to_dla.builders.dla_builder import FLOATS, Array
from xonnc.lowering.onnx_to_dla.builders.op_inserter import NormalizationInserter
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import elements
from xonnc.lowering.onnx_to_dla.graph.normalization_pass import NormalizationPass

MEANS: Mapping[type[Operation], type[OnnxOp]] = {
    ReduceL1Op: ReduceMeanOp,
    ReduceL1V13Op: ReduceMeanV13Op,
    ReduceL2Op: ReduceMeanOp,
    ReduceL2V13Op: ReduceMeanV13Op,
    ReduceSumSquareOp: ReduceMeanOp,
    ReduceSumSquareV13Op: ReduceMeanV13Op,
}
"""Norms, and for each the mean that has its axes in the same form."""

L1 = (ReduceL1Op, ReduceL1V13Op)
L2 = (ReduceL2Op, ReduceL2V13Op)

NEVER_NEGATIVE = (AbsOp, ExpOp, ReluOp, SigmoidOp, SoftplusOp, *MEANS)
"""Operators whose results are never negative."""

SUMS = (ReduceSumOp, ReduceSumV11Op)

KEEPING = (
    ExpandOp,
    GlobalAveragePoolOp,
    ReduceMaxOp,
    ReduceMaxV13Op,
    ReduceMaxV18Op,
    ReduceMeanOp,
    ReduceMeanV13Op,
    ReshapeOp,
    SqueezeOp,
    SqueezeV11Op,
    TransposeOp,
    UnsqueezeOp,
    UnsqueezeV11Op,
)
"""Operators whose results are no less than the least element of their first operands."""

FLOOR = 2.0**-14
"""
The least normal number of FP16, and of divisors there: of 0, to which the lower bound of torch's `normalize`
is rounded, the power of -1 would be infinite, and its product with 0 NaN.
"""

MAX_DEPTH = 16
"""Operators before a divisor that are looked at."""


@dataclass(frozen=True)
class DivisionToProduct(NormalizationPass):
    """
    Rewrite divisions by what is never negative to products with its power of -1, and norms to means.

    The engines multiply, and look up functions of one tensor. The power is taken before an Expand, and what
    is computed of a norm one by one, such as its root, a lower bound and the power, becomes one lookup. A
    norm is `n` times the mean of absolute values, or the root of `n` times the mean of squares.

    With `fp16` the squares are those of a quarter of each number, so that numbers up to 1023 do not overflow.
    Else what a single vector is divided by stays: where it is the last of a network, as of one that finds
    faces, the CPU reads the vector anyway.
    """

    name = "division-to-product-onnx"

    roots = (DivOp, *MEANS)

    def rewrite_op(self, op: Operation, pool: DisposablePool, squared_part: float) -> bool:
        shape = static_shape(op.results[0].type)
        source = static_shape(op.operands[0].type)
        if not shape or not source or element_type(op.results[0].type) not in FLOATS:
            return False
        if not self.fp16 and _is_vector(source):
            return False
        if not isinstance(op, DivOp):
            return _rewrite_norm(op, shape, source, pool, squared_part)
        if elements(op.A) is not None or elements(op.B) is not None or not least(op.B) >= 0:
            return False
        builder = NormalizationInserter(op, pool)
        divisor = op.B.owner.input if isinstance(op.B.owner, ExpandOp) else op.B
        sizes = static_shape(divisor.type)
        if sizes is None or np.broadcast_shapes(sizes, source) != shape:
            return False
        if self.fp16 and least(divisor) < FLOOR:
            floor = builder.constant(_number(FLOOR))
            divisor = builder.op(ClipOp, (divisor, floor, builder.none()), sizes)
        exponent = builder.constant(_number(-1.0))
        factor = builder.op(PowOp, (divisor, exponent), sizes)
        builder.replace(builder.op(MulOp, (op.A, factor), shape))
        return True


def _is_vector(shape: tuple[int, ...]) -> bool:
    """Whether a tensor has one position, as the first axes after the batch are its channels."""
    return len(shape) < 3 or prod(shape[2:]) == 1 < shape[1]


def _number(number: float) -> Array:
    return np.array(number, np.float32)


def least(value: SSAValue, depth: int = MAX_DEPTH) -> float:
    """Return a number that no element of a value is less than, as operators show; minus infinity for none."""
    constant = elements(value)
    if constant is not None:
        return float(constant.min()) if constant.size else -inf
    op = value.owner
    if depth == 0 or not isinstance(op, OnnxOp):
        return -inf
    known = partial(least, depth=depth - 1)
    match op:
        case AddOp():
            return known(op.A) + known(op.B)
        case MaxOp():
            return max(map(known, op.data_0))
        case ClipOp():
            return max(known(op.input), -inf if op.min.type == NONE else known(op.min))
        case SqrtOp():
            return max(known(op.X), 0.0) ** 0.5
        case MulOp() if op.A is op.B:
            return 0.0
        case MulOp() | DivOp():
            return 0.0 if min(known(op.A), known(op.B)) >= 0 else -inf
        case PowOp():
            exponent = elements(op.Y)
            is_even = exponent is not None and bool(np.all(exponent % 2 == 0))
            return 0.0 if is_even or known(op.X) >= 0 else -inf
        case _ if isinstance(op, KEEPING):
            return known(op.operands[0])
        case _ if isinstance(op, SUMS):
            return 0.0 if known(op.operands[0]) >= 0 else -inf
        case _:
            return 0.0 if isinstance(op, NEVER_NEGATIVE) else -inf


def _rewrite_norm(
    op: Operation, shape: tuple[int, ...], source: tuple[int, ...], pool: DisposablePool, squared_part: float
) -> bool:
    """Rewrite a norm; squares are those of a part of each number."""
    builder, value, count = NormalizationInserter(op, pool), op.operands[0], prod(source) // prod(shape)
    if isinstance(op, L1):
        terms, factor = builder.op(AbsOp, (value,), source), float(count)
    else:
        if squared_part != 1:
            value = builder.op(MulOp, (value, builder.constant(_number(squared_part))), source)
        terms, factor = builder.op(MulOp, (value, value), source), count / squared_part**2
    mean = builder.op(MEANS[type(op)], (terms, *op.operands[1:]), shape, **op.properties)
    if isinstance(op, L2):
        mean = builder.op(PowOp, (mean, builder.constant(_number(0.5))), shape)
        factor **= 0.5
    builder.replace(builder.op(MulOp, (mean, builder.constant(_number(factor))), shape))
    return True
