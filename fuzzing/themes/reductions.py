"""Reductions, arguments of extremes, and running sums."""

from __future__ import annotations

import numpy as np

from xonnc.fuzzing.draft import F32, F64, FLOATS, I32, I64, U8, Draft, Unfit, Value
from xonnc.fuzzing.themes import forms

REDUCTIONS = """ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum
ReduceLogSumExp ReduceSumSquare""".split()
TYPES = (*FLOATS, I32, I64)

MOD_SINCE = 10
"""The opset that has Mod."""


def reduced(draft: Draft, op_type: str, x: Value, axes: list[int] | None, keepdims: int | None) -> Value:
    """A reduction in the form of the opset."""
    if not x.size:
        # For onnxruntime the result has the shape of what is empty, whatever the axes and the operator.
        raise Unfit
    if op_type == "ReduceLogSumExp" and not x.is_bounded:
        # Of nothing but minus infinities it is that again, or NaN: ONNX does not say.
        raise Unfit
    if op_type == "ReduceLogSum" and x.dtype.kind in "iu":
        # The logarithm of a negative number is no integer.
        raise Unfit
    if op_type in ("ReduceSumSquare", "ReduceL2") and x.dtype.kind in "iu":
        # Where squares of integers overflow, onnxruntime gives something else for each shape.
        if draft.opset < MOD_SINCE:
            raise Unfit
        x = draft.node("Mod", x, draft.constant(np.array(100, x.dtype)))
    extra: dict[str, int] = {}
    since = 13 if op_type == "ReduceSum" else 18
    if draft.opset >= since and draft.chance(0.15):
        extra["noop_with_empty_axes"] = 1
    return forms.with_axes(draft, op_type, x, axes, since, keepdims=keepdims, given=extra)


def reduction(draft: Draft) -> None:
    """A reduction over some axes, or all."""
    x = draft.take(TYPES)
    axes = None if draft.chance(0.25) or not x.rank else forms.some_axes(draft, x.rank)
    draft.keep(reduced(draft, draft.random.choice(REDUCTIONS), x, axes, draft.random.choice((None, 0, 1))))


def nested_reduction(draft: Draft) -> None:
    """A reduction of a reduction, of the same kind more often than not."""
    x = draft.take(TYPES, (2, 3, 4))
    kind = draft.random.choice(REDUCTIONS)
    keepdims = draft.random.choice((0, 1))
    inner = reduced(draft, kind, x, [draft.random.randrange(x.rank)], keepdims)
    kind = kind if draft.chance(0.7) else draft.random.choice(REDUCTIONS)
    draft.keep(reduced(draft, kind, inner, [draft.random.randrange(inner.rank)], draft.random.choice((0, 1))))


def reduction_unsqueezed(draft: Draft) -> None:
    """A reduction whose dimensions come back, the same ones or others."""
    x = draft.take(TYPES, (2, 3, 4))
    axes = sorted(forms.some_axes(draft, x.rank, sign=False))
    inner = reduced(draft, draft.random.choice(REDUCTIONS), x, axes, 0)
    back = axes if draft.chance(0.6) else [0]
    draft.keep(forms.unsqueeze(draft, inner, back))


def extreme(draft: Draft) -> None:
    """ArgMax and ArgMin, in part of a function that rises with its argument but saturates."""
    x = draft.take((F32, F64, I32, U8), (1, 2, 3))
    if not x.size or (x.dtype.kind == "f" and not x.is_bounded):
        raise Unfit
    if x.dtype.kind == "f" and draft.chance(0.5):
        axis = draft.random.randrange(x.rank)
        op_type = draft.random.choice(("Exp", "Sigmoid", "Softmax", "Relu", "Tanh"))
        x = draft.node(op_type, x, given={"axis": axis} if op_type == "Softmax" else {})
    last = draft.random.choice((None, 0, 1)) if draft.opset >= 12 else None
    draft.keep(
        draft.node(
            draft.random.choice(("ArgMax", "ArgMin")),
            x,
            axis=draft.random.randint(-x.rank, x.rank - 1),
            keepdims=draft.random.choice((None, 0, 1)),
            select_last_index=last,
        )
    )


def running_sum(draft: Draft) -> None:
    """CumSum in its four variants."""
    x = draft.take((F32, F64, I32, I64), (1, 2, 3))
    axis = draft.constant(np.array(draft.random.randrange(x.rank), np.int64))
    flags = {name: draft.random.choice((None, 0, 1)) for name in ("exclusive", "reverse")}
    draft.keep(draft.node("CumSum", x, axis, given=flags))


def largest(draft: Draft) -> None:
    """TopK of bounded numbers."""
    x = draft.take((F32, F64, I64, I32), (1, 2, 3), bounded=True)
    axis = draft.random.randint(-x.rank, x.rank - 1)
    count = draft.random.randint(1, max(1, x.shape[axis]))
    if draft.opset < 10:
        draft.keep(*draft.several("TopK", x, count=2, axis=axis, k=count))
        return
    sorting = {} if draft.opset < 11 else {"largest": draft.random.choice((None, 0, 1))}
    draft.keep(*draft.several("TopK", x, draft.int64s(count), count=2, axis=axis, given=sorting))


MOTIFS = (reduction, reduction, nested_reduction, reduction_unsqueezed, extreme, running_sum, largest)
