"""
LSTM, GRU and RNN in general form, as loops over time; `tiled_recurrence` has the usual one.

The inputs of all steps are multiplied with the weights first; each step then has a product of the state and
elementwise functions. Gates are rows of the weights in ONNX's order: i o f c of LSTM, z r h of GRU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.onnx.ops import rnn
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.checks import check_numbers
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    NO_DYNAMIC_KERNEL,
    LoweringBuilder,
    lowers,
    supports_dynamic_shapes,
)
from xonnc.lowering.onnx_to_krnl.builders.scalars import INDEX, Scalar
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import AffineAccess, copy, dim, fill
from xonnc.lowering.onnx_to_krnl.math.matmul_accumulation import MatrixOperand, accumulate_matmul
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import are_static
from xonnc.lowering.onnx_to_krnl.rnn.recurrent_directions import Direction, Recurrent, directions_of
from xonnc.lowering.onnx_to_krnl.rnn.tiled_recurrence import is_tiled, tiled_recurrence


@dataclass(frozen=True)
class _Sizes:
    """
    Steps, batch, input size, hidden size, gates; and whether the batch is the first axis (`layout = 1`).
    """

    steps: int
    batch: int
    inputs: int
    hidden: int
    gates: int
    is_batch_first: bool


supports_dynamic_shapes(rnn.LSTMOp, rnn.GRUOp, rnn.RNNOp)


@lowers(rnn.LSTMOp, rnn.GRUOp, rnn.RNNOp)
def recurrent(op: Recurrent, builder: LoweringBuilder) -> str | None:
    """Recurrent network: one kernel per direction."""
    element = builder.element(op.X)
    if element not in (f32, f64):
        return "not of f32 or f64"
    if builder.threads > 1 and not are_static(builder.sizes(op.X)[:2]):
        return "a dynamic number of steps, which cannot be divided among threads"
    known = directions_of(op)
    if known is None:
        return "an activation that ONNX does not define"
    if is_tiled(op, builder):
        tiled_recurrence(op, known, builder)
        return None
    if not are_static((*builder.sizes(op.X), *builder.sizes(op.R))):
        return NO_DYNAMIC_KERNEL
    shape = builder.shape(op.X)
    is_batch_first = bool(op.layout.value.data)
    steps, batch = (shape[1], shape[0]) if is_batch_first else shape[:2]
    directions, rows, hidden = builder.shape(op.R)
    sizes = _Sizes(steps, batch, shape[2], hidden, rows // hidden, is_batch_first)
    if op.sequence_lens.type != NONE:
        check_numbers(op, op.sequence_lens, 0, steps, "sequence_lens has", builder)
    cell = isinstance(op, rnn.LSTMOp)
    states = 2 if cell else 1
    every = builder.allocate([directions, steps, batch, hidden], element)
    state_buffers = [builder.allocate([directions, batch, hidden], element) for _ in range(states)]
    starts = [op.initial_h, op.initial_c] if isinstance(op, rnn.LSTMOp) else [op.initial_h]
    for state, start in zip(state_buffers, starts, strict=True):
        _begin(state, start, (directions, sizes), element, builder)
    projected = _project(op, sizes, directions, element, builder)
    for each in known:
        _run(op, each, sizes, (projected, every, state_buffers), element, builder)
    _give(op, every, state_buffers, sizes, directions, builder)
    return None


def _begin(
    state: SSAValue, start: SSAValue, sizes: tuple[int, _Sizes], element: Attribute, builder: LoweringBuilder
) -> None:
    """Initialize a state: as given, or 0."""
    directions, size = sizes
    shape = [directions, size.batch, size.hidden]
    if start.type == NONE:
        fill(state, prod(shape), 0, builder)
        return
    order = [1, 0, 2] if size.is_batch_first else [0, 1, 2]
    source = AffineAccess(
        builder.buffer(start), [shape[axis] for axis in order], [dim(axis) for axis in order]
    )
    copy("state", shape, AffineAccess.whole(state, shape), source, builder)


def _project(
    op: Recurrent, sizes: _Sizes, directions: int, element: Attribute, builder: LoweringBuilder
) -> SSAValue:
    """Multiply the inputs of all steps with W: [directions, steps · batch, gates · hidden]."""
    rows, positions = sizes.gates * sizes.hidden, sizes.steps * sizes.batch
    made = builder.allocate([directions, positions, rows], element)
    fill(made, directions * positions * rows, 0, builder)
    a = MatrixOperand(builder.buffer(op.X), [1, positions, sizes.inputs])
    b = MatrixOperand(builder.buffer(op.W), [directions, sizes.inputs, rows], is_transposed=True)
    transposed = builder.allocate([directions, sizes.inputs, rows], element)
    # Transpose W so that gates are contiguous and the accumulation vectorizes.
    source = AffineAccess(b.buffer, b.stored_shape, [dim(0), dim(2), dim(1)])
    copy("weights", b.shape, AffineAccess.whole(transposed, b.shape), source, builder)
    accumulate_matmul(
        made,
        [directions],
        (positions, rows, sizes.inputs),
        (a, MatrixOperand(transposed, b.shape)),
        element,
        builder,
    )
    return made


def _run(
    op: Recurrent,
    direction: Direction,
    sizes: _Sizes,
    buffers: tuple[SSAValue, SSAValue, Sequence[SSAValue]],
    element: Attribute,
    builder: LoweringBuilder,
) -> None:
    """Emit the kernel of one direction."""
    projected, every, states = buffers
    directions, rows, _ = builder.shape(op.R)
    hidden, batch = sizes.hidden, sizes.batch
    gates = builder.allocate([2, rows], element)
    state = [directions, batch, hidden]
    written = [(every, [directions, sizes.steps, batch, hidden]), *((each, state) for each in states)]
    written.append((gates, [2, rows]))
    outer = [batch, sizes.steps] if sizes.is_batch_first else [sizes.steps, batch]
    read = [(projected, [directions, *outer, rows]), (builder.buffer(op.R), [directions, rows, hidden])]
    optional: list[tuple[SSAValue, Sequence[int]]] = [(op.B, [directions, 2, rows])]
    if isinstance(op, rnn.LSTMOp):
        optional.append((op.P, [directions, 3, hidden]))
    read += [(builder.buffer(value), list(shape)) for value, shape in optional if value.type != NONE]
    types = [buffer_type(shape, element) for _, shape in (*written, *read)]
    has_lengths = op.sequence_lens.type != NONE
    if has_lengths:
        types.append(buffer_type([batch], i32))
        read.append((builder.buffer(op.sequence_lens), [batch]))
    kernel = KernelBuilder(types)
    accumulators = list(kernel.buffers)
    step = _RecurrentStep(kernel, op, direction, sizes, accumulators, len(states), element)
    with kernel.loops([batch, sizes.steps]) as (image, time):
        if not has_lengths:
            iteration = (
                kernel.plus(kernel.index(sizes.steps - 1), _minus(kernel, time))
                if direction.is_reversed
                else time
            )
            step.emit(image, iteration, None)
        else:
            length = Scalar(kernel, kernel.load(accumulators[-1], [image])).to(INDEX).clamp(0, sizes.steps)
            now = Scalar(kernel, time)
            is_inside = now < length
            index = is_inside.select(length - 1 - now, now) if direction.is_reversed else now
            step.emit(image, index.value, is_inside)
    name = type(op).name.removeprefix("onnx.").lower()
    builder.call(name, kernel, [buffer for buffer, _ in written], [buffer for buffer, _ in read])


def _minus(kernel: KernelBuilder, index: SSAValue) -> SSAValue:
    return (-Scalar(kernel, index)).value


class _RecurrentStep:
    """One step of one sequence; past the end of the sequence the state is kept and the output is 0."""

    def __init__(
        self,
        kernel: KernelBuilder,
        op: Recurrent,
        direction: Direction,
        sizes: _Sizes,
        buffers: Sequence[SSAValue],
        states: int,
        element: Attribute,
    ) -> None:
        self.kernel, self.op, self.direction, self.sizes, self.element = kernel, op, direction, sizes, element
        self.every, self.hidden = buffers[0], buffers[1]
        self.cell = buffers[2] if states == 2 else None
        self.gates = buffers[1 + states]
        self.projected, self.weights = buffers[2 + states], buffers[3 + states]
        rest = list(buffers[4 + states :])
        self.bias = rest.pop(0) if op.B.type != NONE else None
        self.peephole = rest.pop(0) if isinstance(op, rnn.LSTMOp) and op.P.type != NONE else None
        self.number = kernel.index(direction.number)

    def load(self, buffer: SSAValue, *indices: SSAValue) -> Scalar:
        """Load a scalar."""
        return Scalar(self.kernel, self.kernel.load(buffer, indices))

    def emit(self, image: SSAValue, time: SSAValue, is_inside: Scalar | None) -> None:
        """Emit the sums of all gates, then the update of the state."""
        at = [image, time] if self.sizes.is_batch_first else [time, image]
        rows = self.sizes.gates * self.sizes.hidden
        self._sum(at, image, 0, rows)
        if isinstance(self.op, rnn.GRUOp) and not self.op.linear_before_reset.value.data:
            self._reset(at, image)
        with self.kernel.loops([self.sizes.hidden]) as (unit,):
            before = self.load(self.hidden, self.number, image, unit)
            made = self._state(image, unit, before)
            if is_inside is not None:
                made = is_inside.select(made, before)
            self.kernel.store(made.value, self.hidden, [self.number, image, unit])
            shown = made if is_inside is None else is_inside.select(made, 0.0)
            self.kernel.store(shown.value, self.every, [self.number, time, image, unit])
            if self.cell is not None:
                self._keep_cell(image, unit, is_inside)

    def _sum(self, at: Sequence[SSAValue], image: SSAValue, first: int, count: int) -> None:
        """Compute gate sums: row 0 of the inputs with their bias, row 1 of the state with its bias."""
        kernel, index = self.kernel, self.kernel.index
        with kernel.loops([count]) as (gate,):
            row = kernel.affine(gate, 1, first)
            start = kernel.constant(0.0, self.element)
            with kernel.reducing([self.sizes.hidden], [start]) as (inner, accumulators, results):
                state = self.load(self.hidden, self.number, image, inner[0])
                weight = self.load(self.weights, self.number, row, inner[0])
                results.append((Scalar(kernel, accumulators[0]) + state * weight).value)
            own, part = self.load(self.projected, self.number, *at, row), Scalar(kernel, results[0])
            if self.bias is not None:
                own = own + self.load(self.bias, self.number, index(0), row)
                part = part + self.load(self.bias, self.number, index(1), row)
            kernel.store(own.value, self.gates, [index(0), row])
            kernel.store(part.value, self.gates, [index(1), row])

    def _reset(self, at: Sequence[SSAValue], image: SSAValue) -> None:
        """GRU with `linear_before_reset = 0`: recompute the hidden gate's product of `r ⊙ h`."""
        kernel, index, hidden = self.kernel, self.kernel.index, self.sizes.hidden
        with kernel.loops([hidden]) as (gate,):
            row = kernel.affine(gate, 1, hidden)
            reset = self.direction.functions[0](self.direction.clipped(self.gate(0, row) + self.gate(1, row)))
            kernel.store(reset.value, self.gates, [index(0), row])
        with kernel.loops([hidden]) as (gate,):
            row = kernel.affine(gate, 1, 2 * hidden)
            start = kernel.constant(0.0, self.element)
            with kernel.reducing([hidden], [start]) as (inner, accumulators, results):
                state = self.load(self.hidden, self.number, image, inner[0])
                reset = self.gate(0, kernel.affine(inner[0], 1, hidden))
                weight = self.load(self.weights, self.number, row, inner[0])
                results.append((Scalar(kernel, accumulators[0]) + state * reset * weight).value)
            part = Scalar(kernel, results[0])
            if self.bias is not None:
                part = part + self.load(self.bias, self.number, index(1), row)
            kernel.store(part.value, self.gates, [index(1), row])

    def gate(self, part: int, row: SSAValue) -> Scalar:
        """Load a gate sum of the inputs (0) or the state (1)."""
        return self.load(self.gates, self.kernel.index(part), row)

    def _both(self, number: int, unit: SSAValue) -> Scalar:
        row = self.kernel.affine(unit, 1, number * self.sizes.hidden)
        return self.gate(0, row) + self.gate(1, row)

    def _state(self, image: SSAValue, unit: SSAValue, before: Scalar) -> Scalar:
        functions = self.direction.functions
        if isinstance(self.op, rnn.RNNOp):
            return functions[0](self.direction.clipped(self._both(0, unit)))
        if isinstance(self.op, rnn.GRUOp):
            return self._gated(unit, before)
        cell = self._cell(image, unit)
        out = self._both(1, unit)
        if self.peephole is not None:
            out = out + self.load(self.peephole, self.number, self.kernel.index(1), unit) * cell
        row = self.kernel.affine(unit, 1, 3 * self.sizes.hidden)
        # Keep the new cell in the row of its gate until `_keep_cell` stores it.
        self.kernel.store(cell.value, self.gates, [self.kernel.index(0), row])
        return functions[0](self.direction.clipped(out)) * functions[2](cell)

    def _gated(self, unit: SSAValue, before: Scalar) -> Scalar:
        assert isinstance(self.op, rnn.GRUOp)
        functions, hidden = self.direction.functions, self.sizes.hidden
        update = functions[0](self.direction.clipped(self._both(0, unit)))
        row = self.kernel.affine(unit, 1, 2 * hidden)
        part = self.gate(1, row)
        if self.op.linear_before_reset.value.data:
            part = functions[0](self.direction.clipped(self._both(1, unit))) * part
        new = functions[1](self.direction.clipped(self.gate(0, row) + part))
        return (1.0 - update) * new + update * before

    def _cell(self, image: SSAValue, unit: SSAValue) -> Scalar:
        assert isinstance(self.op, rnn.LSTMOp)
        assert self.cell is not None
        functions = self.direction.functions
        before = self.load(self.cell, self.number, image, unit)
        gates = [self._both(number, unit) for number in (0, 2, 3)]
        if self.peephole is not None:
            for gate, number in ((0, 0), (1, 2)):
                weight = self.load(self.peephole, self.number, self.kernel.index(number), unit)
                gates[gate] = gates[gate] + weight * before
        into = functions[0](self.direction.clipped(gates[0]))
        is_coupled = bool(self.op.input_forget.value.data)
        forget = 1.0 - into if is_coupled else functions[0](self.direction.clipped(gates[1]))
        return forget * before + into * functions[1](self.direction.clipped(gates[2]))

    def _keep_cell(self, image: SSAValue, unit: SSAValue, is_inside: Scalar | None) -> None:
        assert self.cell is not None
        made = self.gate(0, self.kernel.affine(unit, 1, 3 * self.sizes.hidden))
        if is_inside is not None:
            made = is_inside.select(made, self.load(self.cell, self.number, image, unit))
        self.kernel.store(made.value, self.cell, [self.number, image, unit])


def _give(
    op: Recurrent,
    every: SSAValue,
    states: Sequence[SSAValue],
    sizes: _Sizes,
    directions: int,
    builder: LoweringBuilder,
) -> None:
    """Write the results, with axes as `layout` says."""
    shape = [directions, sizes.steps, sizes.batch, sizes.hidden]
    if op.Y.type != NONE:
        order = [2, 1, 0, 3] if sizes.is_batch_first else [1, 0, 2, 3]
        _transpose_into(op.Y, every, shape, order, builder)
    results = [op.Y_h, op.Y_c] if isinstance(op, rnn.LSTMOp) else [op.Y_h]
    for result, state in zip(results, states, strict=True):
        if result.type != NONE:
            order = [1, 0, 2] if sizes.is_batch_first else [0, 1, 2]
            _transpose_into(result, state, [directions, sizes.batch, sizes.hidden], order, builder)


def _transpose_into(
    result: SSAValue, source: SSAValue, shape: Sequence[int], order: Sequence[int], builder: LoweringBuilder
) -> None:
    sizes = [shape[axis] for axis in order]
    target = AffineAccess(builder.result(result), sizes, [dim(axis) for axis in order])
    copy("result", shape, target, AffineAccess.whole(source, shape), builder)
