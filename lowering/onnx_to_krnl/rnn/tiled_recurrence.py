"""
LSTM, GRU and RNN with constant weights in register tiles.

One matrix product projects the inputs of all steps; each step has one product of the state, or two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects import memref
from xdsl.dialects.arith import SubiOp
from xdsl.dialects.builtin import UnitAttr, f32
from xdsl.ir import SSAValue

from xonnc.dialects.krnl.types import is_buffer
from xonnc.dialects.onnx.ops.rnn import LSTMOp
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.strided_copies import (
    AffineAccess,
    IndexExpr,
    copy,
    dim,
    fill,
    identity_map,
)
from xonnc.lowering.onnx_to_krnl.math.matmul import (
    add_gemm,
    call_gemm,
    gemm_tile,
    prefetched,
    prepacked_panels,
)
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, is_static, volume
from xonnc.lowering.onnx_to_krnl.rnn.recurrent_cells import (
    Cell,
    ElementAccess,
    ElementwiseBody,
    Matrix,
    States,
    StepBuilder,
    cell_of,
    split_biases,
)
from xonnc.lowering.onnx_to_krnl.rnn.recurrent_directions import Direction, Recurrent
from xonnc.rewriting.patterns import Array

MAX_UNROLLED_STEPS = 512
"""Steps that are unrolled into calls at most; more become a loop in one kernel, on one thread."""


def is_tiled(op: Recurrent, builder: LoweringBuilder) -> bool:
    """Whether weights are constant and of f32, steps the first axis, and lengths absent."""
    peephole = [op.P] if isinstance(op, LSTMOp) else []
    known = [value for value in (op.W, op.R, op.B, *peephole) if value.type != NONE]
    return (
        builder.element(op.X) == f32
        and not op.layout.value.data
        and op.sequence_lens.type == NONE
        and all(builder.constant(value) is not None for value in known)
        and is_static(builder.sizes(op.X)[2])
    )


def tiled_recurrence(op: Recurrent, directions: Sequence[Direction], builder: LoweringBuilder) -> None:
    """Emit a network: project all inputs, then for each step multiply the state and update it."""
    recurrence = builder.constant(op.R)
    assert recurrence is not None
    steps, batch, _ = builder.sizes(op.X)
    outputs = (op.Y, op.Y_h, op.Y_c) if isinstance(op, LSTMOp) else (op.Y, op.Y_h)
    results = [None if each.type == NONE else builder.result(each) for each in outputs]
    for direction in directions:
        cell = cell_of(op, direction, recurrence.shape[2])
        layer = _Layer(op, cell, len(directions), results)
        projected, bias = _projected(layer, builder)
        products = _products(cell, recurrence[direction.number], bias, batch, builder)
        if is_static(steps) and is_static(batch) and steps <= MAX_UNROLLED_STEPS:
            _step_by_step(layer, projected, products, (steps, batch), builder)
        else:
            _in_a_loop(layer, projected, products, (steps, batch), builder)


@dataclass(frozen=True)
class _Layer:
    """One direction of a network."""

    op: Recurrent
    cell: Cell
    directions: int
    results: Sequence[SSAValue | None]
    """Buffers of Y, Y_h and perhaps Y_c, None where absent."""

    @property
    def number(self) -> int:
        return self.cell.direction.number

    @property
    def starts(self) -> Sequence[SSAValue]:
        """The initial states: one, or two of an LSTM."""
        first = self.op.initial_h
        return [first, self.op.initial_c] if isinstance(self.op, LSTMOp) else [first]

    def peephole(self, builder: LoweringBuilder) -> Matrix | None:
        """Return the weights of the cell state of an LSTM in its gates; None without."""
        if not isinstance(self.op, LSTMOp) or self.op.P.type == NONE:
            return None
        weights = builder.constant(self.op.P)
        assert weights is not None
        row = weights[self.number : self.number + 1]
        return Matrix(builder.constant_buffer(row), row.shape[1], has_one_row=True)

    def part(self, buffer: SSAValue, sizes: Sequence[Size], exprs: Sequence[IndexExpr]) -> AffineAccess:
        """Return this direction's slice of a tensor of [directions, *sizes]."""
        return AffineAccess(buffer, [self.directions, *sizes], [IndexExpr(offset=self.number), *exprs])

    def store_sequence(self, sizes: tuple[int, int, int], every: SSAValue, builder: LoweringBuilder) -> None:
        """Copy the states of all steps to Y, of [steps, directions, batch, hidden]."""
        if self.results[0] is not None:
            steps, *rest = sizes
            exprs = [dim(0), IndexExpr(offset=self.number), dim(1), dim(2)]
            target = AffineAccess(self.results[0], [steps, self.directions, *rest], exprs)
            copy("state", sizes, target, AffineAccess.whole(every, sizes), builder)

    def store_states(
        self, sizes: tuple[Size, int], last: Sequence[AffineAccess], builder: LoweringBuilder
    ) -> None:
        """Copy the last states to Y_h and Y_c."""
        for result, source in zip(self.results[1:], last, strict=True):
            if result is not None:
                copy("state", sizes, self.part(result, sizes, identity_map(2)), source, builder)


@dataclass(frozen=True)
class _Product:
    """A product of a state with rows of R: the packed weights, perhaps a bias, N, K and the tile."""

    operands: Sequence[SSAValue]
    sizes: tuple[int, int]
    tile: tuple[int, int]


def _projected(layer: _Layer, builder: LoweringBuilder) -> tuple[SSAValue, Array | None]:
    """Multiply the inputs of all steps with W and add biases; return also those of the product of a step."""
    op, number = layer.op, layer.number
    steps, batch, inputs = builder.sizes(op.X)
    weights, bias = builder.constant(op.W), None if op.B.type == NONE else builder.constant(op.B)
    assert weights is not None
    of_inputs, of_state = (None, None) if bias is None else split_biases(layer.cell, bias[number])
    biases = [] if of_inputs is None else [builder.constant_buffer(of_inputs)]
    sizes = steps * batch, weights.shape[1], inputs
    tile = gemm_tile(builder, f32, sizes)
    made = builder.allocate([steps, batch, weights.shape[1]], f32)
    packed = prepacked_panels(weights[number].T, tile[1], builder)
    call_gemm(made, [builder.buffer(op.X), packed, *biases], sizes, tile, builder)
    return made, of_state


def _products(
    cell: Cell, recurrence: Array, bias: Array | None, batch: Size, builder: LoweringBuilder
) -> Sequence[_Product]:
    """Pack the weights of the products of a step."""
    made: list[_Product] = []
    for rows in cell.products:
        sizes = len(rows), cell.hidden
        tile = gemm_tile(builder, f32, (batch, *sizes))
        packed = prepacked_panels(recurrence[rows.start : rows.stop].T, tile[1], builder)
        biases = [builder.constant_buffer(bias)] if bias is not None and not made else []
        made.append(_Product([packed, *biases], sizes, tile))
    return made


@dataclass(frozen=True)
class _StepOfCalls(StepBuilder):
    """Steps of kernel calls, so that each product runs in parallel."""

    batch: int
    hidden: int
    products: Sequence[_Product]
    builder: LoweringBuilder
    cell: object = field(default_factory=object)
    """Stands for the cell whose steps these are: each of its computations has a name of its own."""

    def product(self, result: Matrix, state: Matrix, number: int) -> None:
        found = self.products[number]
        sizes = (self.batch, *found.sizes)
        call_gemm(result.buffer, [state.buffer, *found.operands], sizes, found.tile, self.builder)

    def compute(
        self, name: str, results: Sequence[Matrix], operands: Sequence[Matrix], body: ElementwiseBody
    ) -> None:
        matrices = [*results, *operands]
        shapes = [(1 if each.has_one_row else self.batch, each.columns) for each in matrices]

        def build() -> KernelBuilder:
            kernel = KernelBuilder([buffer_type(shape, f32) for shape in shapes])
            given = zip(matrices, kernel.buffers, strict=True)
            inside = [replace(each, buffer=buffer) for each, buffer in given]
            written, read = inside[: len(results)], inside[len(results) :]
            _emit_elements(kernel, written, read, (self.batch, self.hidden), body)
            return kernel

        outputs, inputs = [each.buffer for each in results], [each.buffer for each in operands]
        self.builder.call_built(name, (self.cell, *shapes), build, outputs, inputs)


@dataclass(frozen=True)
class _StepInKernel(StepBuilder):
    """A step inside of a kernel that loops over the steps."""

    batch: Size
    hidden: int
    products: Sequence[_Product]
    kernel: KernelBuilder
    dynamic_sizes: Sequence[SSAValue]
    builder: LoweringBuilder

    def product(self, result: Matrix, state: Matrix, number: int) -> None:
        found = self.products[number]
        sizes = (self.batch, *found.sizes)
        properties = {"packed": UnitAttr(), **prefetched(self.builder, f32, sizes, found.tile)}
        buffers = (result.buffer, state.buffer, *found.operands)
        add_gemm(self.kernel, buffers, sizes, found.tile, properties, self.dynamic_sizes)

    def compute(
        self, name: str, results: Sequence[Matrix], operands: Sequence[Matrix], body: ElementwiseBody
    ) -> None:
        _emit_elements(self.kernel, results, operands, (self.batch, self.hidden), body)


def _emit_elements(
    kernel: KernelBuilder,
    results: Sequence[Matrix],
    operands: Sequence[Matrix],
    sizes: tuple[Size, int],
    body: ElementwiseBody,
) -> None:
    with kernel.loops(sizes) as (row, column):
        body(ElementAccess(kernel, results, operands, row, column, sizes[1]))


def _step_by_step(
    layer: _Layer,
    projected: SSAValue,
    products: Sequence[_Product],
    counts: tuple[int, int],
    builder: LoweringBuilder,
) -> None:
    """Emit the kernel calls of each step."""
    (steps, batch), hidden = counts, layer.cell.hidden
    every = builder.allocate([steps, batch, hidden], f32)
    scratch = [Matrix(builder.allocate([batch, columns], f32), columns) for columns in layer.cell.scratch]
    state, *cells = (_first(start, layer, (batch, hidden), builder) for start in layer.starts)
    cell = Matrix(cells[0], hidden) if cells else None
    peephole = layer.peephole(builder)
    step = _StepOfCalls(batch, hidden, products, builder)
    gates = layer.cell.columns
    is_reversed = layer.cell.direction.is_reversed
    for index in reversed(range(steps)) if is_reversed else range(steps):
        after = Matrix(_part(every, index, builder), hidden)
        states = States(Matrix(state, hidden), after, cell, peephole)
        layer.cell.emit(step, states, Matrix(_part(projected, index, builder), gates), scratch)
        state = after.buffer
    last = [AffineAccess.whole(buffer, (batch, hidden)) for buffer in (state, *cells)]
    layer.store_sequence((steps, batch, hidden), every, builder)
    layer.store_states((batch, hidden), last, builder)


def _in_a_loop(
    layer: _Layer,
    projected: SSAValue,
    products: Sequence[_Product],
    counts: tuple[Size, Size],
    builder: LoweringBuilder,
) -> None:
    """
    Emit one kernel that loops over the steps, of dynamic or large number.

    Each step writes to its row of Y, and updates the state.
    """
    (steps, batch), hidden, gates = counts, layer.cell.hidden, layer.cell.columns
    is_reversed, rest = layer.cell.direction.is_reversed, (batch, hidden)
    states = [_first(each, layer, rest, builder) for each in layer.starts]
    sequence = layer.results[0]
    after = builder.allocate(rest, f32) if sequence is None else sequence
    scratch = [Matrix(builder.allocate([batch, columns], f32), columns) for columns in layer.cell.scratch]
    written = [after, *states, *(each.buffer for each in scratch)]
    peephole = layer.peephole(builder)
    constants = [operand for product in products for operand in product.operands]
    constants += [] if peephole is None else [peephole.buffer]
    read = [projected, *constants]
    results = rest if sequence is None else (steps * layer.directions, *rest)
    shapes = [results, *(rest for _ in states), *((batch, each.columns) for each in scratch)]
    types = [buffer_type(shape, f32) for shape in (*shapes, (steps, batch, gates))]
    packed = [each.type for each in constants]
    kernel = KernelBuilder([*types, *(each for each in packed if is_buffer(each))])
    argument = dict(zip((*written, *read), kernel.buffers, strict=True))
    inside = [replace(each, operands=[argument[operand] for operand in each.operands]) for each in products]
    spaces = [replace(each, buffer=argument[each.buffer]) for each in scratch]
    state, *cells = (Matrix(argument[each], hidden) for each in states)
    if peephole is not None:
        peephole = replace(peephole, buffer=argument[peephole.buffer])
    dynamic_sizes = [] if is_static(batch) else [kernel.size(batch)]
    step = _StepInKernel(batch, hidden, inside, kernel, dynamic_sizes, builder)
    with kernel.loops([steps]) as (iteration,):
        last = kernel.size(steps - 1)
        index = kernel.add(SubiOp(last, iteration)) if is_reversed else iteration
        target = argument[after]
        if sequence is not None:
            target = kernel.subview(target, kernel.affine(index, layer.directions, layer.number), rest)
        inputs = Matrix(kernel.subview(argument[projected], index, (batch, gates)), gates)
        made = States(state, Matrix(target, hidden), cells[0] if cells else None, peephole)
        layer.cell.emit(step, made, inputs, spaces)
        step.compute("state", [state], [made.after], lambda at: at.store(0, at.operand(0)))
    builder.call(type(layer.op).name.removeprefix("onnx.").lower(), kernel, written, read, 0)
    layer.store_states(rest, [AffineAccess.whole(each, rest) for each in states], builder)


def _first(start: SSAValue, layer: _Layer, sizes: tuple[Size, int], builder: LoweringBuilder) -> SSAValue:
    """Return an initialized state that steps may overwrite: as given, or 0."""
    made = builder.allocate(sizes, f32)
    if start.type == NONE:
        fill(made, volume(sizes), 0.0, builder)
    else:
        given = layer.part(builder.buffer(start), sizes, identity_map(2))
        copy("state", sizes, AffineAccess.whole(made, sizes), given, builder)
    return made


def _part(buffer: SSAValue, step: int, builder: LoweringBuilder) -> SSAValue:
    """Return the view of one step."""
    assert is_buffer(buffer.type)
    _, *rest = buffer.type.get_shape()
    offsets, sizes = [step, *(0 for _ in rest)], [1, *rest]
    return builder.insert(
        memref.SubviewOp.from_static_parameters(buffer, buffer.type, offsets, sizes, [1] * len(sizes))
    )
