"""
The products and elementwise kernels of one step of LSTM, GRU and RNN.

A matrix has one row per sequence of the batch. The sums of inputs that a step takes include the biases,
except one of GRU with `linear_before_reset`, which is inside of a product with the reset gate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.ops import rnn
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import KernelBuilder
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.rnn.recurrent_directions import Direction, Recurrent
from xonnc.rewriting.patterns import Array


@dataclass(frozen=True)
class Matrix:
    """A buffer with one row per sequence, or one for all."""

    buffer: SSAValue
    columns: int
    has_one_row: bool = False


@dataclass(frozen=True)
class States:
    """
    The hidden state before a step and after it, and the cell state of an LSTM, updated in place.

    `peephole` are the weights of the cell state in the gates i o f.
    """

    before: Matrix
    after: Matrix
    cell: Matrix | None
    peephole: Matrix | None = None


@dataclass(frozen=True)
class ElementAccess:
    """Access to one row and column of the matrices of an elementwise kernel."""

    kernel: KernelBuilder
    results: Sequence[Matrix]
    operands: Sequence[Matrix]
    row: SSAValue
    column: SSAValue
    hidden: int

    def gate(self, operand: int, number: int) -> Scalar:
        """Load from the columns of a gate."""
        return self._load(self.operands[operand], number)

    def operand(self, number: int) -> Scalar:
        """Load from an operand."""
        return self.gate(number, 0)

    def result(self, number: int) -> Scalar:
        """Load from a result, before it is stored to."""
        return self._load(self.results[number], 0)

    def store(self, number: int, value: Scalar) -> None:
        """Store to a result."""
        self.kernel.store(value.value, self.results[number].buffer, [self.row, self.column])

    def _load(self, matrix: Matrix, gate: int) -> Scalar:
        row = self.kernel.index(0) if matrix.has_one_row else self.row
        column = self.kernel.affine(self.column, 1, gate * self.hidden) if gate else self.column
        return Scalar(self.kernel, self.kernel.load(matrix.buffer, [row, column]))


ElementwiseBody = Callable[[ElementAccess], None]
"""Adds the computation of one row and column to a kernel."""


class StepBuilder(ABC):
    """Adds the operations of a step, as calls of kernels or inside of one kernel."""

    @abstractmethod
    def product(self, result: Matrix, state: Matrix, number: int) -> None:
        """Multiply a state with the weights of one of the cell's products."""

    @abstractmethod
    def compute(
        self, name: str, results: Sequence[Matrix], operands: Sequence[Matrix], body: ElementwiseBody
    ) -> None:
        """Compute the columns of the first result, and those of the others, from matrices."""


@dataclass(frozen=True)
class Cell(ABC):
    """One step of a direction of a network."""

    direction: Direction
    hidden: int

    @property
    @abstractmethod
    def products(self) -> Sequence[range]:
        """The rows of R that each product of the step takes."""

    @property
    def columns(self) -> int:
        """The columns of the sums of inputs."""
        return sum(map(len, self.products))

    @property
    def scratch(self) -> Sequence[int]:
        """The columns of the matrices that a step needs."""
        return [len(rows) for rows in self.products]

    def state_bias(self, bias: Array) -> Array | None:
        """Return the biases that are added to the first product instead of the sums of inputs."""
        return None

    @abstractmethod
    def emit(self, step: StepBuilder, states: States, inputs: Matrix, scratch: Sequence[Matrix]) -> None:
        """Emit a step, given the sums of its inputs."""


class LstmCell(Cell):
    """`c = f c + i g`, `h = o tanh c`; gates i o f c."""

    is_coupled: ClassVar[bool] = False

    @property
    def products(self) -> Sequence[range]:
        return [range(4 * self.hidden)]

    def emit(self, step: StepBuilder, states: States, inputs: Matrix, scratch: Sequence[Matrix]) -> None:
        (sums,) = scratch
        assert states.cell is not None
        first, second, third = self.direction.functions
        peephole = [] if states.peephole is None else [states.peephole]

        def body(at: ElementAccess) -> None:
            def gate(number: int, cell: Scalar | None = None) -> Scalar:
                total = at.gate(1, number) + at.gate(0, number)
                if peephole and cell is not None:
                    total = total + at.gate(2, number) * cell
                return self.direction.clipped(total)

            before = at.result(1)
            taken = first(gate(0, before))
            forget = 1.0 - taken if self.is_coupled else first(gate(2, before))
            made = forget * before + taken * second(gate(3))
            given = first(gate(1, made))
            at.store(1, made)
            at.store(0, given * third(made))

        step.product(sums, states.before, 0)
        step.compute("lstm_cell", [states.after, states.cell], [inputs, sums, *peephole], body)


class CoupledLstmCell(LstmCell):
    """An LSTM whose forget gate is what the input gate leaves (`input_forget`)."""

    is_coupled: ClassVar[bool] = True


class RnnCell(Cell):
    """`h = f(x + R h)`."""

    @property
    def products(self) -> Sequence[range]:
        return [range(self.hidden)]

    def emit(self, step: StepBuilder, states: States, inputs: Matrix, scratch: Sequence[Matrix]) -> None:
        (sums,) = scratch

        def body(at: ElementAccess) -> None:
            at.store(0, self.direction.functions[0](self.direction.clipped(at.operand(1) + at.operand(0))))

        step.product(sums, states.before, 0)
        step.compute("rnn_cell", [states.after], [inputs, sums], body)


class GruCell(Cell):
    """`n = g(x + R (r h))`, `h = (1 - z) n + z h`; gates z r n."""

    @property
    def products(self) -> Sequence[range]:
        return [range(2 * self.hidden), range(2 * self.hidden, 3 * self.hidden)]

    @property
    def scratch(self) -> Sequence[int]:
        return [2 * self.hidden, self.hidden, self.hidden]

    def emit(self, step: StepBuilder, states: States, inputs: Matrix, scratch: Sequence[Matrix]) -> None:
        sums, reset, last = scratch
        gate = self.gate

        def reset_state(at: ElementAccess) -> None:
            at.store(0, gate(at, 1) * at.operand(2))

        def body(at: ElementAccess) -> None:
            self.store_state(at, at.operand(3))

        step.product(sums, states.before, 0)
        step.compute("gru_reset", [reset], [inputs, sums, states.before], reset_state)
        step.product(last, reset, 1)
        step.compute("gru_cell", [states.after], [inputs, sums, states.before, last], body)

    def gate(self, at: ElementAccess, number: int) -> Scalar:
        """Return the update or reset gate."""
        return self.direction.functions[0](self.direction.clipped(at.gate(0, number) + at.gate(1, number)))

    def store_state(self, at: ElementAccess, product: Scalar) -> None:
        """Store the state, given the product of the new gate."""
        update = self.gate(at, 0)
        new = self.direction.functions[1](self.direction.clipped(at.gate(0, 2) + product))
        at.store(0, (1.0 - update) * new + update * at.operand(2))


class LinearGruCell(GruCell):
    """GRU with `linear_before_reset`: `n = g(x + r (R h + b))`."""

    @property
    def products(self) -> Sequence[range]:
        return [range(3 * self.hidden)]

    @property
    def scratch(self) -> Sequence[int]:
        return [3 * self.hidden]

    def state_bias(self, bias: Array) -> Array:
        kept = bias.copy()
        kept[: 2 * self.hidden] = 0
        return kept

    def emit(self, step: StepBuilder, states: States, inputs: Matrix, scratch: Sequence[Matrix]) -> None:
        (sums,) = scratch

        def body(at: ElementAccess) -> None:
            self.store_state(at, self.gate(at, 1) * at.gate(1, 2))

        step.product(sums, states.before, 0)
        step.compute("gru_cell", [states.after], [inputs, sums, states.before], body)


def cell_of(op: Recurrent, direction: Direction, hidden: int) -> Cell:
    """Return the cell of an operator."""
    match op:
        case rnn.LSTMOp():
            kind = CoupledLstmCell if op.input_forget.value.data else LstmCell
        case rnn.GRUOp():
            kind = LinearGruCell if op.linear_before_reset.value.data else GruCell
        case rnn.RNNOp():
            kind = RnnCell
    return kind(direction, hidden)


def split_biases(cell: Cell, bias: Array) -> tuple[Array, Array | None]:
    """Return the biases of the sums of inputs, and those of the first product of a step."""
    of_inputs, of_state = bias.reshape(2, -1)
    kept = cell.state_bias(of_state)
    total = of_inputs + of_state if kept is None else of_inputs + (of_state - kept)
    return total.astype(np.float32), kept
