"""What a run without Python computes first where sizes are open: the sizes, and where things lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, auto
from functools import cached_property
from typing import TypeAlias

from xonnc.formats.native.program import Place, Program


class Action(IntEnum):
    """What a row of a plan does, in the order of the enumeration in `native_api.c`."""

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


Row: TypeAlias = tuple[Action, int, int, int]
"""An action, its target, and two operands."""


@dataclass(frozen=True)
class Plan:
    """
    The numbers that a run computes before it begins, in one array.

    Sizes come first, then the places in the arena where its parts begin, the bytes of the arena, and those of
    each output.
    """

    program: Program

    @cached_property
    def slots(self) -> dict[int, int]:
        """Where in the array each size is, by its place among the values."""
        sizes = [place for place, value in enumerate(self.program.values) if value.place is Place.SIZE]
        return {place: slot for slot, place in enumerate(sizes)}

    @cached_property
    def starts(self) -> dict[int, int]:
        """Where in the array the beginning of a value in the arena is, by its place."""
        return {
            place: len(self.slots) + number
            for number, block in enumerate(self.program.blocks)
            for place in block
        }

    @property
    def arena(self) -> int:
        """Where in the array the bytes of the arena are."""
        return len(self.slots) + len(self.program.blocks)

    def output(self, number: int) -> int:
        """Where in the array the bytes of an output are."""
        return self.arena + 1 + number

    @property
    def count(self) -> int:
        """How many numbers there are."""
        return self.output(len(self.program.outputs))

    def first_of_input(self, number: int) -> int:
        """Where the sizes of an input begin, those of all inputs being one behind the other."""
        return sum(len(port.shape or ()) for port in self.program.inputs[:number])

    def rows(self, code_of: Callable[[str], int]) -> list[Row]:
        """What computes the numbers and the sizes of the outputs; `code_of` a requirement says what broke."""
        program = self.program
        made = [self._size(place) for place in self.slots]
        for requirement in program.requirements:
            found, expected = (self.slots[each] for each in (requirement.found, requirement.expected))
            made.append((Action.REQUIRE, code_of(requirement.what), found, expected))
        shapes = {value.open_shape for value in program.values if value.open_shape is not None}
        for slot in sorted({self.slots[size] for shape in shapes for size in shape}):
            made.append((Action.NOT_NEGATIVE, 0, slot, 0))
        for number, block in enumerate(program.blocks):
            made.append((Action.BEGIN, len(self.slots) + number, 0, 0))
            for each in sorted({tuple(self._bytes(place)) for place in block}):
                made += [*each, (Action.MOST, 0, 0, 0)]
            made.append((Action.END, 0, 0, 0))
        made.append((Action.TOTAL, self.arena, 0, 0))
        results = 0
        for number, port in enumerate(program.outputs):
            made += [*self._bytes(port.value), (Action.STORE, self.output(number), 0, 0)]
            for action, size in self._result(port.value):
                made.append((action, results, size, 0))
                results += 1
        return made

    def _result(self, place: int) -> list[tuple[Action, int]]:
        """How each size of an output is computed."""
        value = self.program.values[place]
        if value.open_shape is not None:
            return [(Action.RESULT, self.slots[size]) for size in value.open_shape]
        first = self._first_open_input(place)
        if first is not None:
            port = next(port for port in self.program.inputs if port.value == place)
            return [(Action.RESULT_DIM, first + axis) for axis in range(len(port.shape or ()))]
        return [(Action.RESULT_NUMBER, size) for size in value.shape or ()]

    def _first_open_input(self, place: int) -> int | None:
        """Where the sizes of a value begin that is an input with dynamic sizes."""
        for number, port in enumerate(self.program.inputs):
            if port.value == place and None in (port.shape or ()):
                return self.first_of_input(number)
        return None

    def _size(self, place: int) -> Row:
        formula = self.program.values[place].formula
        assert formula is not None
        target, operands = self.slots[place], formula.operands
        match formula.operator:
            case "dim":
                places = [port.value for port in self.program.inputs]
                return Action.DIM, target, self.first_of_input(places.index(operands[0])) + operands[1], 0
            case "number":
                return Action.NUMBER, target, operands[0], 0
            case operator:
                a, b = (self.slots[each] for each in operands)
                return Action[operator.upper()], target, a, b

    def _bytes(self, place: int) -> list[Row]:
        """What counts the bytes of a value."""
        value = self.program.values[place]
        assert value.dtype is not None
        if value.open_shape is None and self._first_open_input(place) is None:
            return [(Action.COUNT, 0, value.size, 0)]
        factors = {Action.RESULT: Action.TIMES, Action.RESULT_DIM: Action.TIMES_DIM}
        sizes = [(factors[action], 0, size, 0) for action, size in self._result(place)]
        return [(Action.COUNT, 0, value.dtype.itemsize, 0), *sizes]
