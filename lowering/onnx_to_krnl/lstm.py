"""LSTM with known weights: products in register tiles, one for all inputs and one a step for the state."""

from __future__ import annotations

import numpy as np
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import UnitAttr, f32
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.types import is_buffer
from xonnc.dialects.onnx.ops.rnn import LSTMOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.copies import Along, Side, copy, fill, loop, plain
from xonnc.lowering.onnx_to_krnl.kernel import Kernel, buffer_type
from xonnc.lowering.onnx_to_krnl.linear import add_gemm, call_gemm, gemm_tile, pack_columns
from xonnc.lowering.onnx_to_krnl.lowering import Lowering
from xonnc.lowering.onnx_to_krnl.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.sizes import Size, is_known, volume
from xonnc.rewriting.patterns import Array

MOST_STEPS = 512
"""Steps that are written out one after the other; more are a loop in one kernel, for one thread."""

GATES = ("Sigmoid", "Tanh", "Tanh")


def is_tiled(op: LSTMOp, to: Lowering) -> bool:
    """Whether an LSTM is of the usual kind: one direction, known weights, no lengths, bounds or peepholes."""
    given = tuple(name.data for name in op.activations) if op.activations is not None else GATES
    absent = (op.sequence_lens, op.P)
    known = [value for value in (op.W, op.R, op.B) if value.type != NONE]
    return (
        to.element(op.X) == f32
        and op.direction.data in ("forward", "reverse")
        and given == GATES
        and op.clip is None
        and not op.input_forget.value.data
        and not op.layout.value.data
        and all(value.type == NONE for value in absent)
        and all(to.constant(value) is not None for value in known)
        and is_known(to.sizes(op.X)[2])
    )


def tiled_lstm(op: LSTMOp, to: Lowering) -> None:
    """Sums of the inputs of all steps at once; then for each step those of the state, and the cell."""
    recurrence = to.constant(op.R)
    assert recurrence is not None
    projected = _projected(op, to)
    steps, batch, _ = to.sizes(op.X)
    if is_known(steps) and is_known(batch) and steps <= MOST_STEPS:
        _step_by_step(op, projected, recurrence[0], (steps, batch), to)
    else:
        _in_a_loop(op, projected, recurrence[0], (steps, batch), to)


def _projected(op: LSTMOp, to: Lowering) -> SSAValue:
    """The inputs of all steps times the weights, with both biases."""
    steps, batch, inputs = to.sizes(op.X)
    weights, bias = to.constant(op.W), None if op.B.type == NONE else to.constant(op.B)
    assert weights is not None
    rows = weights.shape[1]
    # Both biases are added to the same sums.
    numbers = [] if bias is None else [to.packed(bias.reshape(2, rows).sum(axis=0, dtype=np.float32))]
    sizes = steps * batch, rows, inputs
    tile = gemm_tile(to, f32, sizes)
    made = to.allocate([steps, batch, rows], f32)
    call_gemm(made, [to.buffer(op.X), pack_columns(weights[0].T, tile[1], to), *numbers], sizes, tile, to)
    return made


def _step_by_step(
    op: LSTMOp, projected: SSAValue, recurrence: Array, counts: tuple[int, int], to: Lowering
) -> None:
    """Calls of kernels for each step, so that threads share out each product."""
    (steps, batch), (rows, hidden) = counts, recurrence.shape
    every, sums = to.allocate([steps, batch, hidden], f32), to.allocate([batch, rows], f32)
    state, cell = (_first(start, (batch, hidden), to) for start in (op.initial_h, op.initial_c))
    sizes = batch, rows, hidden
    tile = gemm_tile(to, f32, sizes)
    packed = pack_columns(recurrence.T, tile[1], to)
    order = range(steps) if op.direction.data == "forward" else reversed(range(steps))
    for step in order:
        call_gemm(sums, [state, packed], sizes, tile, to)
        state = _part(every, step, to)
        _cell((state, cell), (_part(projected, step, to), sums), (batch, hidden), to)
    for result, held, shape in (
        (op.Y, every, (steps, batch, hidden)),
        (op.Y_h, state, (batch, hidden)),
        (op.Y_c, cell, (batch, hidden)),
    ):
        if result.type != NONE:
            places = [loop(axis) for axis in range(len(shape))]
            copy("state", shape, Side(to.result(result), shape, places), Side(held, shape, places), to)


def _in_a_loop(
    op: LSTMOp, projected: SSAValue, recurrence: Array, counts: tuple[Size, Size], to: Lowering
) -> None:
    """
    One kernel for all steps, in a number that only a run tells or that is large.

    The state before the first step is a row of its own, ahead of those of the steps, or behind them where
    they go back.
    """
    (steps, batch), (rows, hidden) = counts, recurrence.shape
    is_back = op.direction.data == "reverse"
    every = to.allocate([steps + 1, batch, hidden], f32)
    _begin(every, steps if is_back else 0, steps + 1, op.initial_h, (batch, hidden), to)
    cell = _first(op.initial_c, (batch, hidden), to)
    sums = to.allocate([batch, rows], f32)
    tile = gemm_tile(to, f32, (batch, rows, hidden))
    packed = pack_columns(recurrence.T, tile[1], to)
    shapes = [steps + 1, batch, hidden], [batch, hidden], [batch, rows], [steps, batch, rows]
    assert is_buffer(packed.type)
    kernel = Kernel([*(buffer_type(shape, f32) for shape in shapes), packed.type])
    states, kept, own, before, weights = kernel.buffers
    open_sizes = [] if is_known(batch) else [kernel.size(batch)]
    with kernel.loops([steps]) as (turn,):
        last = kernel.size(steps - 1)
        step = kernel.add(arith.SubiOp(last, turn)) if is_back else turn
        held, made = (kernel.scaled(step, 1, ahead) for ahead in ((1, 0) if is_back else (0, 1)))
        state, following = (kernel.part(states, row, (batch, hidden)) for row in (held, made))
        held_by = {"packed": UnitAttr()}
        add_gemm(kernel, (own, state, weights), (batch, rows, hidden), tile, held_by, open_sizes)
        given = kernel.part(before, step, (batch, rows))
        _add_cell(kernel, (following, kept), (given, own), (batch, hidden))
    to.call("lstm", kernel, [every, cell, sums], [projected, packed], 0)
    rest = (batch, hidden)
    for result, buffer, shape, first in (
        (op.Y, every, (steps, *rest), 0 if is_back else 1),
        (op.Y_h, every, (1, *rest), 0 if is_back else steps),
        (op.Y_c, cell, (1, *rest), 0),
    ):
        if result.type != NONE:
            whole = (1, *rest) if buffer is cell else (steps + 1, *rest)
            source = Side(buffer, whole, [loop(0, offset=first), loop(1), loop(2)])
            copy("state", shape, Side(to.result(result), shape, plain(3)), source, to)


def _begin(
    every: SSAValue, row: Size, rows: Size, start: SSAValue, sizes: tuple[Size, int], to: Lowering
) -> None:
    """Sets a row of states: as given, or 0."""
    target = Side(every, [rows, *sizes], [Along(offset=row), loop(0), loop(1)])
    if start.type == NONE:
        zero = to.packed(np.zeros(1, np.float32))
        copy("state", sizes, target, Side(zero, [1], [Along()]), to)
    else:
        copy("state", sizes, target, Side(to.buffer(start), sizes, plain(2)), to)


def _first(start: SSAValue, sizes: tuple[Size, int], to: Lowering) -> SSAValue:
    """A state that steps may overwrite: as given, or 0."""
    made = to.allocate(sizes, f32)
    if start.type == NONE:
        fill(made, volume(sizes), 0.0, to)
    else:
        places = [loop(0), loop(1)]
        copy("state", sizes, Side(made, sizes, places), Side(to.buffer(start), sizes, places), to)
    return made


def _part(buffer: SSAValue, step: int, to: Lowering) -> SSAValue:
    """What belongs to one step."""
    assert is_buffer(buffer.type)
    _, *rest = buffer.type.get_shape()
    offsets, sizes = [step, *(0 for _ in rest)], [1, *rest]
    return to.insert(
        memref.SubviewOp.from_static_parameters(buffer, buffer.type, offsets, sizes, [1] * len(sizes))
    )


def _cell(
    states: tuple[SSAValue, SSAValue], sums: tuple[SSAValue, SSAValue], sizes: tuple[int, int], to: Lowering
) -> None:
    """`c = f c + i g`, `h = o tanh c`; the sums of the gates are those of the inputs and of the state."""
    batch, hidden = sizes
    of_gates = buffer_type([batch, 4 * hidden], f32)
    kernel = Kernel([buffer_type(sizes, f32)] * 2 + [of_gates] * 2)
    shown, kept, own, before = kernel.buffers
    _add_cell(kernel, (shown, kept), (own, before), sizes)
    to.call("cell", kernel, list(states), list(sums))


def _add_cell(
    kernel: Kernel,
    states: tuple[SSAValue, SSAValue],
    sums: tuple[SSAValue, SSAValue],
    sizes: tuple[Size, int],
) -> None:
    (shown, kept), (own, before), hidden = states, sums, sizes[1]
    with kernel.loops(sizes) as (image, place):

        def gate(number: int) -> Scalar:
            at = [image, kernel.scaled(place, 1, number * hidden)]
            return Scalar(kernel, kernel.load(own, at)) + Scalar(kernel, kernel.load(before, at))

        taken, given, held = (_sigmoid(gate(number)) for number in range(3))
        made = held * Scalar(kernel, kernel.load(kept, [image, place])) + taken * gate(3).tanh()
        kernel.store(made.value, kept, [image, place])
        kernel.store((given * made.tanh()).value, shown, [image, place])


def _sigmoid(x: Scalar) -> Scalar:
    return 1.0 / ((-x).exp() + 1.0)
