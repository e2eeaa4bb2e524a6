"""LSTM with known weights: products in register tiles, one for all inputs and one a step for the state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.types import is_buffer
from xonnc.dialects.onnx.ops.rnn import LSTMOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.copies import Side, copy, fill, loop
from xonnc.lowering.onnx_to_krnl.kernel import Kernel, buffer_type
from xonnc.lowering.onnx_to_krnl.linear import call_gemm, gemm_tile, pack_columns
from xonnc.lowering.onnx_to_krnl.lowering import Lowering
from xonnc.lowering.onnx_to_krnl.scalars import Scalar

MOST_STEPS = 512
"""Steps that are written out one after the other."""

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
        and to.shape(op.X)[0] <= MOST_STEPS
    )


def tiled_lstm(op: LSTMOp, to: Lowering) -> None:
    """Sums of the inputs of all steps at once; then for each step those of the state, and the cell."""
    steps, batch, inputs = to.shape(op.X)
    weights, recurrence = to.constant(op.W), to.constant(op.R)
    assert weights is not None
    assert recurrence is not None
    rows, hidden = recurrence.shape[1:]
    bias = None if op.B.type == NONE else to.constant(op.B)
    # Both biases are added to the same sums.
    numbers = [] if bias is None else [to.packed(bias.reshape(2, rows).sum(axis=0, dtype=np.float32))]
    sizes = steps * batch, rows, inputs
    tile = gemm_tile(to, f32, sizes)
    projected = to.allocate([steps, batch, rows], f32)
    packed = pack_columns(weights[0].T, tile[1], to)
    call_gemm(projected, [to.buffer(op.X), packed, *numbers], sizes, tile, to)
    every, sums = to.allocate([steps, batch, hidden], f32), to.allocate([batch, rows], f32)
    state, cell = (_first(start, (batch, hidden), to) for start in (op.initial_h, op.initial_c))
    sizes = batch, rows, hidden
    tile = gemm_tile(to, f32, sizes)
    packed = pack_columns(recurrence[0].T, tile[1], to)
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


def _first(start: SSAValue, sizes: tuple[int, int], to: Lowering) -> SSAValue:
    """A state that steps may overwrite: as given, or 0."""
    made = to.allocate(sizes, f32)
    if start.type == NONE:
        fill(made, sizes[0] * sizes[1], 0.0, to)
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
    states: tuple[SSAValue, SSAValue], sums: Sequence[SSAValue], sizes: tuple[int, int], to: Lowering
) -> None:
    """`c = f c + i g`, `h = o tanh c`; the sums of the gates are those of the inputs and of the state."""
    batch, hidden = sizes
    of_gates = buffer_type([batch, 4 * hidden], f32)
    kernel = Kernel([buffer_type(sizes, f32)] * 2 + [of_gates] * 2)
    shown, kept, own, before = kernel.buffers
    with kernel.loops(sizes) as (image, place):

        def gate(number: int) -> Scalar:
            at = [image, kernel.scaled(place, 1, number * hidden)]
            return Scalar(kernel, kernel.load(own, at)) + Scalar(kernel, kernel.load(before, at))

        taken, given, held = (_sigmoid(gate(number)) for number in range(3))
        made = held * Scalar(kernel, kernel.load(kept, [image, place])) + taken * gate(3).tanh()
        kernel.store(made.value, kept, [image, place])
        kernel.store((given * made.tanh()).value, shown, [image, place])
    to.call("cell", kernel, list(states), list(sums))


def _sigmoid(x: Scalar) -> Scalar:
    return 1.0 / ((-x).exp() + 1.0)
