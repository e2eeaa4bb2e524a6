"""
Shape computation of standalone code: a small program that each run interprets first (`native_api.c`).

It computes dynamic dimensions, checks constraints, and lays out the arena for these shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, auto
from functools import cached_property
from typing import TypeAlias

from xonnc.formats.native.program import Program, Storage


class Opcode(IntEnum):
    """Opcodes, in the order of the enumeration in `native_api.c`."""

    DIM = 0
    NUMBER = auto()
    ADD = auto()
    MUL = auto()
    FLOORDIV = auto()
    MIN = auto()
    MAX = auto()
    REQUIRE = auto()
    NOT_NEGATIVE = auto()
    BEGIN = auto()
    COUNT = auto()
    TIMES = auto()
    TIMES_DIM = auto()
    MOST = auto()
    END = auto()
    TOTAL = auto()
    STORE = auto()
    RESULT = auto()
    RESULT_DIM = auto()
    RESULT_NUMBER = auto()


Instruction: TypeAlias = tuple[Opcode, int, int, int]
"""Opcode, target slot, and two operands."""


@dataclass(frozen=True)
class ShapePlan:
    """
    The integers that a run computes before it starts, as slots of one array.

    The slots are: dynamic dimensions, offsets of the blocks in the arena, size of the arena in bytes, and
    size of each output in bytes.
    """

    program: Program

    @cached_property
    def slots(self) -> dict[int, int]:
        """The slot of each dynamic dimension, by index of its value."""
        sizes = [index for index, value in enumerate(self.program.values) if value.storage is Storage.SIZE]
        return {index: slot for slot, index in enumerate(sizes)}

    @cached_property
    def starts(self) -> dict[int, int]:
        """The slot with the arena offset of each value in a block, by index of the value."""
        return {
            index: len(self.slots) + number
            for number, block in enumerate(self.program.blocks)
            for index in block
        }

    @property
    def arena(self) -> int:
        """The slot with the size of the arena."""
        return len(self.slots) + len(self.program.blocks)

    def output(self, number: int) -> int:
        """The slot with the size of an output."""
        return self.arena + 1 + number

    @property
    def count(self) -> int:
        """The number of slots."""
        return self.output(len(self.program.outputs))

    def first_of_input(self, number: int) -> int:
        """Index of the first dimension of an input in the concatenated shapes of all inputs."""
        return sum(len(port.shape or ()) for port in self.program.inputs[:number])

    def instructions(self, code_of: Callable[[str], int]) -> list[Instruction]:
        """Return the instructions; `code_of` returns the error code for the description of a constraint."""
        program = self.program
        code = [self._size(index) for index in self.slots]
        for constraint in program.constraints:
            found, expected = (self.slots[each] for each in (constraint.actual, constraint.expected))
            code.append((Opcode.REQUIRE, code_of(constraint.description), found, expected))
        shapes = {value.dynamic_shape for value in program.values if value.dynamic_shape is not None}
        for slot in sorted({self.slots[size] for shape in shapes for size in shape}):
            code.append((Opcode.NOT_NEGATIVE, 0, slot, 0))
        for number, block in enumerate(program.blocks):
            code.append((Opcode.BEGIN, len(self.slots) + number, 0, 0))
            for each in sorted({tuple(self._bytes(index)) for index in block}):
                code += [*each, (Opcode.MOST, 0, 0, 0)]
            code.append((Opcode.END, 0, 0, 0))
        code.append((Opcode.TOTAL, self.arena, 0, 0))
        results = 0
        for number, port in enumerate(program.outputs):
            code += [*self._bytes(port.value), (Opcode.STORE, self.output(number), 0, 0)]
            for action, size in self._dimensions(port.value):
                code.append((action, results, size, 0))
                results += 1
        return code

    def _dimensions(self, index: int) -> list[tuple[Opcode, int]]:
        """Return opcode and operand for each dimension of a value."""
        value = self.program.values[index]
        if value.dynamic_shape is not None:
            return [(Opcode.RESULT, self.slots[size]) for size in value.dynamic_shape]
        first = self._first_dynamic_input(index)
        if first is not None:
            port = next(port for port in self.program.inputs if port.value == index)
            return [(Opcode.RESULT_DIM, first + axis) for axis in range(len(port.shape or ()))]
        return [(Opcode.RESULT_NUMBER, size) for size in value.shape or ()]

    def _first_dynamic_input(self, index: int) -> int | None:
        """Index of the first dimension of a value that is an input of dynamic shape; else `None`."""
        for number, port in enumerate(self.program.inputs):
            if port.value == index and None in (port.shape or ()):
                return self.first_of_input(number)
        return None

    def _size(self, index: int) -> Instruction:
        expr = self.program.values[index].size_expr
        assert expr is not None
        target, operands = self.slots[index], expr.operands
        match expr.operator:
            case "dim":
                values = [port.value for port in self.program.inputs]
                return Opcode.DIM, target, self.first_of_input(values.index(operands[0])) + operands[1], 0
            case "number":
                return Opcode.NUMBER, target, operands[0], 0
            case operator:
                a, b = (self.slots[each] for each in operands)
                return Opcode[operator.upper()], target, a, b

    def _bytes(self, index: int) -> list[Instruction]:
        """Return the instructions that compute the size of a value in bytes."""
        value = self.program.values[index]
        assert value.dtype is not None
        if value.dynamic_shape is None and self._first_dynamic_input(index) is None:
            return [(Opcode.COUNT, 0, value.size, 0)]
        factors = {Opcode.RESULT: Opcode.TIMES, Opcode.RESULT_DIM: Opcode.TIMES_DIM}
        sizes = [(factors[action], 0, size, 0) for action, size in self._dimensions(index)]
        return [(Opcode.COUNT, 0, value.dtype.itemsize, 0), *sizes]
