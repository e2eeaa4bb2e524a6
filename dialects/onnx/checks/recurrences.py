"""Verification rules for RNN, GRU and LSTM."""

from __future__ import annotations

from xdsl.ir import Operation

from xonnc.dialects.onnx.checks.verifier import (
    DYNAMIC,
    Rule,
    differ,
    integer_of,
    is_absent,
    length_of,
    real_of,
    refuse,
    shape_of,
    shown,
    text_of,
    texts_of,
)

_ACTIVATIONS = frozenset(
    "affine elu hardsigmoid leakyrelu relu scaledtanh sigmoid softplus softsign tanh thresholdedrelu".split()
)
"""Their names without regard to case, as the text of ONNX has them."""


def recurrence(gates: int, activations: int) -> Rule:
    """
    Operands `X [seq, batch, I]`, `W [D, gates H, I]`, `R [D, gates H, H]` and what follows from these sizes.

    `D` is the number of directions; with `layout` the batch comes first. There are `activations` for each.
    """

    def rule(op: Operation) -> None:
        for field in ("X", "W", "R"):
            shape = shape_of(op, field)
            if shape is not None and len(shape) != 3:
                refuse(op, f"{field} has rank {len(shape)}; it has rank 3")
        directions = 2 if text_of(op, "direction") == "bidirectional" else 1
        hidden = _hidden(op, gates)
        rows = DYNAMIC if hidden == DYNAMIC else gates * hidden
        x, is_batch_first = shape_of(op, "X"), _is_batch_first(op)
        batch, columns = (DYNAMIC, DYNAMIC) if x is None else (x[0 if is_batch_first else 1], x[2])
        state = (batch, directions, hidden) if is_batch_first else (directions, batch, hidden)
        _check(op, "W", (directions, rows, columns))
        _check(op, "R", (directions, rows, hidden))
        _check(op, "B", (directions, DYNAMIC if rows == DYNAMIC else 2 * rows))
        _check(op, "sequence_lens", (batch,))
        _check(op, "initial_h", state)
        if gates == 4:
            _check(op, "initial_c", state)
            _check(op, "P", (directions, DYNAMIC if hidden == DYNAMIC else 3 * hidden))
        _check_activations(op, activations * directions)

    return rule


def _is_batch_first(op: Operation) -> bool:
    return hasattr(op, "layout") and integer_of(op, "layout") == 1


def _hidden(op: Operation, gates: int) -> int:
    """Return the hidden size, from the property or else from the recurrent weights."""
    r, given = shape_of(op, "R"), integer_of(op, "hidden_size")
    if given is not None and given < 1:
        refuse(op, f"hidden_size is {given}; it is at least 1")
    found = DYNAMIC if r is None else r[2]
    if given is not None and differ(given, found):
        refuse(op, f"hidden_size is {given}, R has {found} columns")
    return found if given is None else given


def _check(op: Operation, field: str, expected: tuple[int, ...]) -> None:
    shape = None if is_absent(op, field) else shape_of(op, field)
    if shape is None:
        return
    if len(shape) != len(expected) or any(differ(a, b) for a, b in zip(shape, expected, strict=True)):
        refuse(op, f"{field} has the shape {shown(shape)}; {shown(expected)} is needed")


def _check_activations(op: Operation, count: int) -> None:
    names = texts_of(op, "activations")
    if names is not None:
        # The default of RNN is for both directions, of which there may be one.
        if len(names) < count:
            refuse(op, f"activations has {len(names)} names; {count} are needed")
        for name in names:
            if name.lower() not in _ACTIVATIONS:
                refuse(op, f'activations has "{name}", which is no activation function')
    for field in ("activation_alpha", "activation_beta"):
        length = length_of(op, field)
        if length is not None and length > count:
            refuse(op, f"{field} has {length} numbers for {count} activations")
    clip = real_of(op, "clip")
    if clip is not None and not clip >= 0:
        refuse(op, f"clip is {clip}; it is at least 0")
