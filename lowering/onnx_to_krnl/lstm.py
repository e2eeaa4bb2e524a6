"""
LSTM with constant weights in register tiles.

One matrix product projects the inputs of all steps; each step has one product of the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import UnitAttr, f32
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.types import is_buffer
from xonnc.dialects.onnx.ops.rnn import LSTMOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.matmul import add_gemm, call_gemm, gemm_tile, prefetched, prepacked_panels
from xonnc.lowering.onnx_to_krnl.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.strided_copies import AffineAccess, IndexExpr, copy, dim, fill, identity_map
from xonnc.lowering.onnx_to_krnl.symbolic_sizes import Size, is_static, volume
from xonnc.rewriting.patterns import Array

MAX_UNROLLED_STEPS = 512
"""Steps that are unrolled into calls at most; more become a loop in one kernel, on one thread."""

GATES = ("Sigmoid", "Tanh", "Tanh")


def is_tiled(op: LSTMOp, builder: LoweringBuilder) -> bool:
    """Whether an LSTM has constant weights, default activations, and no lengths, clip or peepholes."""
    usual = GATES * _directions(op)
    given = tuple(name.data for name in op.activations) if op.activations is not None else usual
    absent = (op.sequence_lens, op.P)
    known = [value for value in (op.W, op.R, op.B) if value.type != NONE]
    return (
        builder.element(op.X) == f32
        and given == usual
        and op.clip is None
        and not op.input_forget.value.data
        and not op.layout.value.data
        and all(value.type == NONE for value in absent)
        and all(builder.constant(value) is not None for value in known)
        and is_static(builder.sizes(op.X)[2])
    )


def _directions(op: LSTMOp) -> int:
    return 2 if op.direction.data == "bidirectional" else 1


def tiled_lstm(op: LSTMOp, builder: LoweringBuilder) -> None:
    """Emit an LSTM: project all inputs, then for each step multiply the state and update the cell."""
    recurrence = builder.constant(op.R)
    assert recurrence is not None
    steps, batch, _ = builder.sizes(op.X)
    results = [None if each.type == NONE else builder.result(each) for each in (op.Y, op.Y_h, op.Y_c)]
    for number in range(_directions(op)):
        direction = _LstmDirection(op, number, op.direction.data == "reverse" or number == 1, results)
        projected = _projected(direction, builder)
        if is_static(steps) and is_static(batch) and steps <= MAX_UNROLLED_STEPS:
            _step_by_step(direction, projected, recurrence[number], (steps, batch), builder)
        else:
            _in_a_loop(direction, projected, recurrence[number], (steps, batch), builder)


@dataclass(frozen=True)
class _LstmDirection:
    """One direction of an LSTM."""

    op: LSTMOp
    number: int
    is_back: bool
    results: Sequence[SSAValue | None]
    """Buffers of Y, Y_h and Y_c, None where absent."""

    def part(self, buffer: SSAValue, sizes: Sequence[Size], exprs: Sequence[IndexExpr]) -> AffineAccess:
        """Return this direction's slice of a tensor of [directions, *sizes]."""
        return AffineAccess(buffer, [_directions(self.op), *sizes], [IndexExpr(offset=self.number), *exprs])

    def give(
        self,
        steps: Size,
        sizes: tuple[Size, int],
        every: AffineAccess,
        last: AffineAccess,
        cell: AffineAccess,
        builder: LoweringBuilder,
    ) -> None:
        """Copy the states of all steps, and the last ones, to the results."""
        sequence, *states = self.results
        if sequence is not None:
            # Y is [steps, directions, batch, hidden].
            exprs = [dim(0), IndexExpr(offset=self.number), dim(1), dim(2)]
            target = AffineAccess(sequence, [steps, _directions(self.op), *sizes], exprs)
            copy("state", (steps, *sizes), target, every, builder)
        for result, source in zip(states, (last, cell), strict=True):
            if result is not None:
                copy("state", sizes, self.part(result, sizes, identity_map(2)), source, builder)


def _projected(direction: _LstmDirection, builder: LoweringBuilder) -> SSAValue:
    """Multiply the inputs of all steps with W and add both biases."""
    op, number = direction.op, direction.number
    steps, batch, inputs = builder.sizes(op.X)
    weights, bias = builder.constant(op.W), None if op.B.type == NONE else builder.constant(op.B)
    assert weights is not None
    rows = weights.shape[1]
    # W and R biases are added to the same sums, so they can be added to each other.
    numbers = (
        []
        if bias is None
        else [builder.constant_buffer(bias[number].reshape(2, rows).sum(axis=0, dtype=np.float32))]
    )
    sizes = steps * batch, rows, inputs
    tile = gemm_tile(builder, f32, sizes)
    made = builder.allocate([steps, batch, rows], f32)
    packed = prepacked_panels(weights[number].T, tile[1], builder)
    call_gemm(made, [builder.buffer(op.X), packed, *numbers], sizes, tile, builder)
    return made


def _step_by_step(
    direction: _LstmDirection,
    projected: SSAValue,
    recurrence: Array,
    counts: tuple[int, int],
    builder: LoweringBuilder,
) -> None:
    """Emit kernel calls per step, so that each product runs in parallel."""
    (steps, batch), (rows, hidden) = counts, recurrence.shape
    every, sums = builder.allocate([steps, batch, hidden], f32), builder.allocate([batch, rows], f32)
    op = direction.op
    state, cell = (
        _first(start, direction, (batch, hidden), builder) for start in (op.initial_h, op.initial_c)
    )
    sizes = batch, rows, hidden
    tile = gemm_tile(builder, f32, sizes)
    packed = prepacked_panels(recurrence.T, tile[1], builder)
    for step in reversed(range(steps)) if direction.is_back else range(steps):
        call_gemm(sums, [state, packed], sizes, tile, builder)
        state = _part(every, step, builder)
        _cell((state, cell), (_part(projected, step, builder), sums), (batch, hidden), builder)
    last, last_cell = (AffineAccess(buffer, (batch, hidden), identity_map(2)) for buffer in (state, cell))
    sequence = AffineAccess(every, (steps, batch, hidden), identity_map(3))
    direction.give(steps, (batch, hidden), sequence, last, last_cell, builder)


def _in_a_loop(
    direction: _LstmDirection,
    projected: SSAValue,
    recurrence: Array,
    counts: tuple[Size, Size],
    builder: LoweringBuilder,
) -> None:
    """
    Emit one kernel that loops over the steps, of dynamic or large number.

    The initial state is an extra row before those of the steps, or after them in reverse direction.
    """
    (steps, batch), (rows, hidden) = counts, recurrence.shape
    is_back, rest = direction.is_back, (batch, hidden)
    every = builder.allocate([steps + 1, batch, hidden], f32)
    first = AffineAccess(
        every, [steps + 1, *rest], [IndexExpr(offset=steps if is_back else 0), *identity_map(2)]
    )
    _start(direction.op.initial_h, direction, rest, first, builder)
    cell = _first(direction.op.initial_c, direction, rest, builder)
    sums = builder.allocate([batch, rows], f32)
    tile = gemm_tile(builder, f32, (batch, rows, hidden))
    packed = prepacked_panels(recurrence.T, tile[1], builder)
    shapes = [steps + 1, batch, hidden], [batch, hidden], [batch, rows], [steps, batch, rows]
    assert is_buffer(packed.type)
    kernel = KernelBuilder([*(buffer_type(shape, f32) for shape in shapes), packed.type])
    states, cells, own, before, weights = kernel.buffers
    dynamic_sizes = [] if is_static(batch) else [kernel.size(batch)]
    with kernel.loops([steps]) as (iteration,):
        last = kernel.size(steps - 1)
        step = kernel.add(arith.SubiOp(last, iteration)) if is_back else iteration
        previous, made = (kernel.affine(step, 1, ahead) for ahead in ((1, 0) if is_back else (0, 1)))
        state, following = (kernel.subview(states, row, (batch, hidden)) for row in (previous, made))
        held_by = {"packed": UnitAttr(), **prefetched(builder, f32, (batch, rows, hidden), tile)}
        add_gemm(kernel, (own, state, weights), (batch, rows, hidden), tile, held_by, dynamic_sizes)
        given = kernel.subview(before, step, (batch, rows))
        _add_cell(kernel, (following, cells), (given, own), (batch, hidden))
    builder.call("lstm", kernel, [every, cell, sums], [projected, packed], 0)
    sequence = AffineAccess(every, [steps + 1, *rest], [dim(0, offset=0 if is_back else 1), dim(1), dim(2)])
    end = AffineAccess(
        every, [steps + 1, *rest], [IndexExpr(offset=0 if is_back else steps), *identity_map(2)]
    )
    direction.give(steps, rest, sequence, end, AffineAccess(cell, rest, identity_map(2)), builder)


def _start(
    start: SSAValue,
    direction: _LstmDirection,
    sizes: tuple[Size, int],
    target: AffineAccess,
    builder: LoweringBuilder,
) -> None:
    """Initialize a state: as given, or 0."""
    if start.type == NONE:
        zero = builder.constant_buffer(np.zeros(1, np.float32))
        copy("state", sizes, target, AffineAccess(zero, [1], [IndexExpr()]), builder)
    else:
        copy("state", sizes, target, direction.part(builder.buffer(start), sizes, identity_map(2)), builder)


def _first(
    start: SSAValue, direction: _LstmDirection, sizes: tuple[Size, int], builder: LoweringBuilder
) -> SSAValue:
    """Return an initialized state that steps may overwrite."""
    made = builder.allocate(sizes, f32)
    if start.type == NONE:
        fill(made, volume(sizes), 0.0, builder)
    else:
        _start(start, direction, sizes, AffineAccess(made, sizes, identity_map(2)), builder)
    return made


def _part(buffer: SSAValue, step: int, builder: LoweringBuilder) -> SSAValue:
    """Return the view of one step."""
    assert is_buffer(buffer.type)
    _, *rest = buffer.type.get_shape()
    offsets, sizes = [step, *(0 for _ in rest)], [1, *rest]
    return builder.insert(
        memref.SubviewOp.from_static_parameters(buffer, buffer.type, offsets, sizes, [1] * len(sizes))
    )


def _cell(
    states: tuple[SSAValue, SSAValue],
    sums: tuple[SSAValue, SSAValue],
    sizes: tuple[int, int],
    builder: LoweringBuilder,
) -> None:
    """Emit a kernel call that updates cell and state: `c = f c + i g`, `h = o tanh c`."""
    batch, hidden = sizes
    of_gates = buffer_type([batch, 4 * hidden], f32)
    kernel = KernelBuilder([buffer_type(sizes, f32)] * 2 + [of_gates] * 2)
    shown, cells, own, before = kernel.buffers
    _add_cell(kernel, (shown, cells), (own, before), sizes)
    builder.call("lstm_cell", kernel, list(states), list(sums))


def _add_cell(
    kernel: KernelBuilder,
    states: tuple[SSAValue, SSAValue],
    sums: tuple[SSAValue, SSAValue],
    sizes: tuple[Size, int],
) -> None:
    (shown, cells), (own, before), hidden = states, sums, sizes[1]
    with kernel.loops(sizes) as (image, index):

        def gate(number: int) -> Scalar:
            at = [image, kernel.affine(index, 1, number * hidden)]
            return Scalar(kernel, kernel.load(own, at)) + Scalar(kernel, kernel.load(before, at))

        taken, given, forget = (_sigmoid(gate(number)) for number in range(3))
        made = forget * Scalar(kernel, kernel.load(cells, [image, index])) + taken * gate(3).tanh()
        kernel.store(made.value, cells, [image, index])
        kernel.store((given * made.tanh()).value, shown, [image, index])


def _sigmoid(x: Scalar) -> Scalar:
    return 1.0 / ((-x).exp() + 1.0)
