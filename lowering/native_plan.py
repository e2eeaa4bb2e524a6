"""What a run without Python computes first where sizes are open: the sizes, and where things lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from xonnc.formats.native.program import ALIGNMENT, Place, Program


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

    def lines(self, prefix: str) -> list[str]:
        """C that computes the numbers, `s`, from the sizes of all inputs, `d`, or says what is wrong."""
        program = self.program
        made = [self._size(place, prefix) for place in self.slots]
        for requirement in program.requirements:
            found, expected = (self.slots[each] for each in (requirement.found, requirement.expected))
            made.append(f'if (s[{found}] != s[{expected}]) return "{_plain(requirement.what)} does not fit";')
        shapes = {value.open_shape for value in program.values if value.open_shape is not None}
        for slot in sorted({self.slots[size] for shape in shapes for size in shape}):
            made.append(f'if (s[{slot}] < 0) return "a size is below 0";')
        made.append("total = 0;")
        for number, block in enumerate(program.blocks):
            made.append(f"s[{len(self.slots) + number}] = total;")
            made.append("most = 0;")
            for each in sorted({self._bytes(place, prefix) for place in block}):
                made.append(f"bytes = {each};")
                made.append("if (bytes > most) most = bytes;")
            made.append(f"total += (most + {ALIGNMENT - 1}) / {ALIGNMENT} * {ALIGNMENT};")
        made.append(f"s[{self.arena}] = total;")
        for number, port in enumerate(program.outputs):
            made.append(f"s[{self.output(number)}] = {self._bytes(port.value, prefix)};")
        return made

    def output_sizes(self) -> list[str]:
        """C of all sizes of the outputs, one behind the other."""
        made: list[str] = []
        for port in self.program.outputs:
            value = self.program.values[port.value]
            made += self._open_sizes(port.value) or [str(size) for size in value.shape or ()]
        return made

    def _open_sizes(self, place: int) -> list[str]:
        """C of the sizes of a value; of one whose sizes are known nothing."""
        open_shape = self.program.values[place].open_shape
        if open_shape is not None:
            return [f"s[{self.slots[size]}]" for size in open_shape]
        for number, port in enumerate(self.program.inputs):
            if port.value == place and None in (port.shape or ()):
                first = self.first_of_input(number)
                return [f"d[{first + axis}]" for axis in range(len(port.shape or ()))]
        return []

    def _size(self, place: int, prefix: str) -> str:
        formula = self.program.values[place].formula
        assert formula is not None
        target, operands = f"s[{self.slots[place]}]", formula.operands
        match formula.operator:
            case "dim":
                places = [port.value for port in self.program.inputs]
                return f"{target} = d[{self.first_of_input(places.index(operands[0])) + operands[1]}];"
            case "number":
                return f"{target} = {operands[0]};"
            case operator:
                a, b = (f"s[{self.slots[each]}]" for each in operands)
                return f"{target} = {prefix}_{operator}({a}, {b}, &large);"

    def _bytes(self, place: int, prefix: str) -> str:
        value = self.program.values[place]
        assert value.dtype is not None
        sizes = self._open_sizes(place)
        if not sizes and value.open_shape is None:
            return str(value.size)
        total = str(value.dtype.itemsize)
        for size in sizes:
            total = f"{prefix}_mul({total}, {size}, &large)"
        return total


def _plain(text: str) -> str:
    return "".join(char if 32 <= ord(char) < 127 and char not in '"\\?' else "_" for char in text)


def shape_numbers(plan: Plan) -> Sequence[int]:
    """All sizes of the inputs, one behind the other; -1 for those that are open."""
    ports = plan.program.inputs
    return [-1 if size is None else size for port in ports for size in port.shape or ()]
