"""Recurrent networks, sequences of tensors, and draws of random numbers."""

from __future__ import annotations

import numpy as np

from xonnc.fuzzing.draft import BOOL, F32, FLOATS, I32, I64, NUMBERS, Draft, Unfit, Value
from xonnc.fuzzing.themes import forms

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrence(draft: Draft) -> None:
    """LSTM, GRU and RNN in all directions, with and without biases, lengths and first states."""
    op_type = draft.random.choice(list(GATES))
    hidden, inputs, steps, batch = 2, 3, draft.random.choice((1, 2, 3)), draft.random.choice((1, 2))
    direction = draft.random.choice((None, "forward", "reverse", "bidirectional"))
    count = 2 if direction == "bidirectional" else 1
    rows = GATES[op_type] * hidden
    batch_first = draft.opset >= 14 and draft.chance(0.2)
    x = draft.input(F32, (batch, steps, inputs) if batch_first else (steps, batch, inputs), -2, 2)
    operands: list[Value | None] = [
        x,
        draft.weights(F32, count, rows, inputs),
        draft.weights(F32, count, rows, hidden),
    ]
    operands.append(draft.weights(F32, count, 2 * rows) if draft.chance(0.5) else None)
    lengths = draft.numpy.integers(1, steps + 1, batch).astype(np.int32)
    operands.append(draft.constant(lengths) if draft.chance(0.3) else None)
    first = (batch, count, hidden) if batch_first else (count, batch, hidden)
    operands.append(draft.weights(F32, *first) if draft.chance(0.4) else None)
    made = draft.several(
        op_type,
        *operands,
        count=draft.random.choice((1, 2)),
        hidden_size=hidden,
        direction=direction,
        layout=1 if batch_first else None,
        linear_before_reset=draft.random.choice((None, 0, 1)) if op_type == "GRU" else None,
    )
    value = made[0]
    if not batch_first and count == 1 and draft.chance(0.5):
        value = forms.squeeze(draft, value, [1])
    draft.keep(value, *made[1:])


def sequence_of(x: Value) -> Value:
    """The type of a sequence of such tensors."""
    return Value("", x.dtype, x.shape, is_sequence=True)


def sequence(draft: Draft) -> None:
    """A sequence made of values, changed, and read at a place or put together."""
    x = draft.take(NUMBERS, (1, 2))
    if draft.opset < 11:
        raise Unfit
    others = [draft.like(x, *x.shape) for _ in range(draft.random.randint(1, 2))]
    value = draft.node("SequenceConstruct", x, *others, results=[sequence_of(x)])
    count = 1 + len(others)
    if draft.chance(0.4):
        place = draft.constant(np.array(0, np.int64)) if draft.chance(0.5) else None
        value = draft.node("SequenceInsert", value, draft.like(x, *x.shape), place, results=[sequence_of(x)])
        count += 1
    if draft.chance(0.3):
        value = draft.node(
            "SequenceErase", value, draft.constant(np.array(-1, np.int64)), results=[sequence_of(x)]
        )
        count -= 1
    kind = draft.random.randrange(3)
    if kind == 0:
        place = draft.random.randint(-count, count - 1)
        at = draft.constant(np.array(place, draft.random.choice((np.int32, np.int64))))
        draft.keep(
            draft.node(
                "SequenceAt", value, at, results=[Value("", x.dtype, x.shape, is_bounded=x.is_bounded)]
            )
        )
    elif kind == 1:
        new = draft.random.choice((None, 0, 1))
        shape = (count, *x.shape) if new else (count * x.shape[0], *x.shape[1:])
        result = Value("", x.dtype, shape, is_bounded=x.is_bounded)
        draft.keep(draft.node("ConcatFromSequence", value, results=[result], axis=0, new_axis=new))
    else:
        draft.keep(draft.node("SequenceLength", value, results=[Value("", I64, (), is_bounded=True)]))


def split_sequence(draft: Draft) -> None:
    """A tensor as a sequence of its rows, one of which is read."""
    x = draft.take(FLOATS, (1, 2, 3))
    if draft.opset < 11 or not x.shape[0]:
        raise Unfit
    keep = draft.random.choice((None, 0, 1))
    value = draft.node("SplitToSequence", x, results=[sequence_of(x)], axis=0, keepdims=keep)
    shape = x.shape[1:] if keep == 0 else (1, *x.shape[1:])
    at = draft.constant(np.array(draft.random.randint(-x.shape[0], x.shape[0] - 1), np.int64))
    draft.keep(
        draft.node("SequenceAt", value, at, results=[Value("", x.dtype, shape, is_bounded=x.is_bounded)])
    )


def optional(draft: Draft) -> None:
    """An optional that holds a tensor, asked whether it does."""
    x = draft.take((F32,), (1, 2))
    if draft.opset < 18:
        raise Unfit
    draft.keep(draft.node("OptionalHasElement", x, results=[Value("", BOOL, ())]))
    draft.keep(draft.node("OptionalGetElement", x, results=[Value("", x.dtype, x.shape)]))


def two_draws(draft: Draft) -> None:
    """Two draws of random numbers, which are equal only if one was taken for the other."""
    op_type = draft.random.choice(("RandomUniform", "RandomNormal"))
    draws = [draft.node(op_type, shape=[16]) for _ in range(2)]
    difference = draft.node("Sub", *draws)
    sum_ = forms.with_axes(draft, "ReduceSum", draft.node("Abs", difference), [0], 13, keepdims=0)
    draft.keep(draft.node("Greater", sum_, draft.constant(np.array(0, np.float32))))


def reversed_sequence(draft: Draft) -> None:
    """ReverseSequence by lengths."""
    x = draft.take((F32, I32, I64), (2, 3))
    if draft.opset < 10 or not x.size:
        raise Unfit
    lengths = draft.numpy.integers(1, x.shape[0] + 1, x.shape[1])
    draft.keep(draft.node("ReverseSequence", x, draft.constant(lengths), time_axis=0, batch_axis=1))


MOTIFS = (recurrence, recurrence, sequence, sequence, split_sequence, optional, two_draws, reversed_sequence)
