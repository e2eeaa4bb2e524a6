"""Recurrent operators, sequences, optionals and random operators."""

from __future__ import annotations

import numpy as np

from xonnc.fuzzing.model_builder import (
    BOOL,
    F32,
    FLOATS,
    I32,
    I64,
    NUMBERS,
    ModelBuilder,
    ModelValue,
    NotApplicable,
)
from xonnc.fuzzing.motifs import versioned_operators

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrence(builder: ModelBuilder) -> None:
    """LSTM, GRU and RNN in all directions, with and without biases, lengths and first states."""
    op_type = builder.random.choice(list(GATES))
    hidden, inputs, steps, batch = 2, 3, builder.random.choice((1, 2, 3)), builder.random.choice((1, 2))
    direction = builder.random.choice((None, "forward", "reverse", "bidirectional"))
    count = 2 if direction == "bidirectional" else 1
    rows = GATES[op_type] * hidden
    batch_first = builder.opset >= 14 and builder.chance(0.2)
    x = builder.input(F32, (batch, steps, inputs) if batch_first else (steps, batch, inputs), -2, 2)
    operands: list[ModelValue | None] = [
        x,
        builder.weights(F32, count, rows, inputs),
        builder.weights(F32, count, rows, hidden),
    ]
    operands.append(builder.weights(F32, count, 2 * rows) if builder.chance(0.5) else None)
    lengths = builder.numpy.integers(1, steps + 1, batch).astype(np.int32)
    operands.append(builder.constant(lengths) if builder.chance(0.3) else None)
    first = (batch, count, hidden) if batch_first else (count, batch, hidden)
    operands.append(builder.weights(F32, *first) if builder.chance(0.4) else None)
    made = builder.node_with_outputs(
        op_type,
        *operands,
        count=builder.random.choice((1, 2)),
        hidden_size=hidden,
        direction=direction,
        layout=1 if batch_first else None,
        linear_before_reset=builder.random.choice((None, 0, 1)) if op_type == "GRU" else None,
    )
    value = made[0]
    if not batch_first and count == 1 and builder.chance(0.5):
        value = versioned_operators.squeeze(builder, value, [1])
    builder.keep(value, *made[1:])


def sequence_of(x: ModelValue) -> ModelValue:
    """The type of a sequence of such tensors."""
    return ModelValue("", x.dtype, x.shape, is_sequence=True)


def sequence(builder: ModelBuilder) -> None:
    """A sequence of values, changed, and read at a position or concatenated."""
    x = builder.take(NUMBERS, (1, 2))
    if builder.opset < 11:
        raise NotApplicable
    others = [builder.like(x, *x.shape) for _ in range(builder.random.randint(1, 2))]
    value = builder.node("SequenceConstruct", x, *others, results=[sequence_of(x)])
    count = 1 + len(others)
    if builder.chance(0.4):
        position = builder.constant(np.array(0, np.int64)) if builder.chance(0.5) else None
        value = builder.node(
            "SequenceInsert", value, builder.like(x, *x.shape), position, results=[sequence_of(x)]
        )
        count += 1
    if builder.chance(0.3):
        value = builder.node(
            "SequenceErase", value, builder.constant(np.array(-1, np.int64)), results=[sequence_of(x)]
        )
        count -= 1
    kind = builder.random.randrange(3)
    if kind == 0:
        position = builder.random.randint(-count, count - 1)
        at = builder.constant(np.array(position, builder.random.choice((np.int32, np.int64))))
        builder.keep(
            builder.node(
                "SequenceAt", value, at, results=[ModelValue("", x.dtype, x.shape, is_bounded=x.is_bounded)]
            )
        )
    elif kind == 1:
        new = builder.random.choice((None, 0, 1))
        shape = (count, *x.shape) if new else (count * x.shape[0], *x.shape[1:])
        result = ModelValue("", x.dtype, shape, is_bounded=x.is_bounded)
        builder.keep(builder.node("ConcatFromSequence", value, results=[result], axis=0, new_axis=new))
    else:
        builder.keep(
            builder.node("SequenceLength", value, results=[ModelValue("", I64, (), is_bounded=True)])
        )


def split_sequence(builder: ModelBuilder) -> None:
    """A tensor as a sequence of its rows, one of which is read."""
    x = builder.take(FLOATS, (1, 2, 3))
    if builder.opset < 11 or not x.shape[0]:
        raise NotApplicable
    keep = builder.random.choice((None, 0, 1))
    value = builder.node("SplitToSequence", x, results=[sequence_of(x)], axis=0, keepdims=keep)
    shape = x.shape[1:] if keep == 0 else (1, *x.shape[1:])
    at = builder.constant(np.array(builder.random.randint(-x.shape[0], x.shape[0] - 1), np.int64))
    builder.keep(
        builder.node(
            "SequenceAt", value, at, results=[ModelValue("", x.dtype, shape, is_bounded=x.is_bounded)]
        )
    )


def optional(builder: ModelBuilder) -> None:
    """An optional that holds a tensor, asked whether it does."""
    x = builder.take((F32,), (1, 2))
    if builder.opset < 18:
        raise NotApplicable
    builder.keep(builder.node("OptionalHasElement", x, results=[ModelValue("", BOOL, ())]))
    builder.keep(builder.node("OptionalGetElement", x, results=[ModelValue("", x.dtype, x.shape)]))


def two_random_nodes(builder: ModelBuilder) -> None:
    """Two equal random nodes, which CSE must not merge."""
    op_type = builder.random.choice(("RandomUniform", "RandomNormal"))
    draws = [builder.node(op_type, shape=[16]) for _ in range(2)]
    difference = builder.node("Sub", *draws)
    sum_ = versioned_operators.with_axes(
        builder, "ReduceSum", builder.node("Abs", difference), [0], 13, keepdims=0
    )
    builder.keep(builder.node("Greater", sum_, builder.constant(np.array(0, np.float32))))


def reversed_sequence(builder: ModelBuilder) -> None:
    """ReverseSequence by lengths."""
    x = builder.take((F32, I32, I64), (2, 3))
    if builder.opset < 10 or not x.size:
        raise NotApplicable
    lengths = builder.numpy.integers(1, x.shape[0] + 1, x.shape[1])
    builder.keep(builder.node("ReverseSequence", x, builder.constant(lengths), time_axis=0, batch_axis=1))


MOTIFS = (
    recurrence,
    recurrence,
    sequence,
    sequence,
    split_sequence,
    optional,
    two_random_nodes,
    reversed_sequence,
)
