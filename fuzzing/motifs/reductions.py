"""Reductions, arguments of extremes, and running sums."""

from __future__ import annotations

import numpy as np

from xonnc.fuzzing.model_builder import (
    F32,
    F64,
    FLOATS,
    I32,
    I64,
    U8,
    ModelBuilder,
    ModelValue,
    NotApplicable,
)
from xonnc.fuzzing.motifs import versioned_operators

REDUCTIONS = """ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum
ReduceLogSumExp ReduceSumSquare""".split()
TYPES = (*FLOATS, I32, I64)

MOD_SINCE = 10
"""The opset that has Mod."""


def reduced(
    builder: ModelBuilder, op_type: str, x: ModelValue, axes: list[int] | None, keepdims: int | None
) -> ModelValue:
    """A reduction in the form of the opset."""
    if not x.size:
        # For onnxruntime the result has the shape of what is empty, whatever the axes and the operator.
        raise NotApplicable
    if op_type == "ReduceLogSumExp" and not x.is_bounded:
        # Of nothing but minus infinities it is that again, or NaN: ONNX does not say.
        raise NotApplicable
    if op_type in ("ReduceLogSum", "ReduceLogSumExp") and x.dtype.kind in "iu":
        # The logarithm of a negative number is no integer, and ONNX does not say how any is rounded.
        raise NotApplicable
    if op_type in ("ReduceSumSquare", "ReduceL2") and x.dtype.kind in "iu":
        # Where squares of integers overflow, onnxruntime gives something else for each shape.
        if builder.opset < MOD_SINCE:
            raise NotApplicable
        x = builder.node("Mod", x, builder.constant(np.array(100, x.dtype)))
    extra: dict[str, int] = {}
    since = 13 if op_type == "ReduceSum" else 18
    if builder.opset >= since and builder.chance(0.15):
        extra["noop_with_empty_axes"] = 1
    return versioned_operators.with_axes(builder, op_type, x, axes, since, keepdims=keepdims, given=extra)


def reduction(builder: ModelBuilder) -> None:
    """A reduction over some axes, or all."""
    x = builder.take(TYPES)
    axes = None if builder.chance(0.25) or not x.rank else versioned_operators.some_axes(builder, x.rank)
    builder.keep(
        reduced(builder, builder.random.choice(REDUCTIONS), x, axes, builder.random.choice((None, 0, 1)))
    )


def nested_reduction(builder: ModelBuilder) -> None:
    """A reduction of a reduction, of the same kind more often than not."""
    x = builder.take(TYPES, (2, 3, 4))
    kind = builder.random.choice(REDUCTIONS)
    keepdims = builder.random.choice((0, 1))
    inner = reduced(builder, kind, x, [builder.random.randrange(x.rank)], keepdims)
    kind = kind if builder.chance(0.7) else builder.random.choice(REDUCTIONS)
    builder.keep(
        reduced(builder, kind, inner, [builder.random.randrange(inner.rank)], builder.random.choice((0, 1)))
    )


def reduction_unsqueezed(builder: ModelBuilder) -> None:
    """A reduction whose dimensions come back, the same ones or others."""
    x = builder.take(TYPES, (2, 3, 4))
    axes = sorted(versioned_operators.some_axes(builder, x.rank, sign=False))
    inner = reduced(builder, builder.random.choice(REDUCTIONS), x, axes, 0)
    back = axes if builder.chance(0.6) else [0]
    builder.keep(versioned_operators.unsqueeze(builder, inner, back))


def extreme(builder: ModelBuilder) -> None:
    """ArgMax and ArgMin, in part of a function that rises with its argument but saturates."""
    x = builder.take((F32, F64, I32, U8), (1, 2, 3))
    if not x.size or (x.dtype.kind == "f" and not x.is_bounded):
        raise NotApplicable
    if x.dtype.kind == "f" and builder.chance(0.5):
        axis = builder.random.randrange(x.rank)
        op_type = builder.random.choice(("Exp", "Sigmoid", "Softmax", "Relu", "Tanh"))
        x = builder.node(op_type, x, given={"axis": axis} if op_type == "Softmax" else {})
    last = builder.random.choice((None, 0, 1)) if builder.opset >= 12 else None
    builder.keep(
        builder.node(
            builder.random.choice(("ArgMax", "ArgMin")),
            x,
            axis=builder.random.randint(-x.rank, x.rank - 1),
            keepdims=builder.random.choice((None, 0, 1)),
            select_last_index=last,
        )
    )


def running_sum(builder: ModelBuilder) -> None:
    """CumSum in its four variants."""
    x = builder.take((F32, F64, I32, I64), (1, 2, 3))
    axis = builder.constant(np.array(builder.random.randrange(x.rank), np.int64))
    flags = {name: builder.random.choice((None, 0, 1)) for name in ("exclusive", "reverse")}
    builder.keep(builder.node("CumSum", x, axis, given=flags))


def largest(builder: ModelBuilder) -> None:
    """TopK of bounded numbers."""
    x = builder.take((F32, F64, I64, I32), (1, 2, 3), bounded=True)
    axis = builder.random.randint(-x.rank, x.rank - 1)
    count = builder.random.randint(1, max(1, x.shape[axis]))
    if builder.opset < 10:
        builder.keep(*builder.node_with_outputs("TopK", x, count=2, axis=axis, k=count))
        return
    sorting = {} if builder.opset < 11 else {"largest": builder.random.choice((None, 0, 1))}
    builder.keep(
        *builder.node_with_outputs("TopK", x, builder.int64s(count), count=2, axis=axis, given=sorting)
    )


MOTIFS = (reduction, reduction, nested_reduction, reduction_unsqueezed, extreme, running_sum, largest)
