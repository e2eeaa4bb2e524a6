"""Runs programs for any sizes that a model leaves open: each run computes where everything lies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np

from xonnc.errors import XonncError
from xonnc.formats.native.program import MOST_BYTES, Held, Place, Program, aligned
from xonnc.runtime.native.instance import Executable, Instance, aligned_empty, seen_places


class OpenInstance(Instance):
    """An executable for any sizes; what follows from sizes is computed when they are others than before."""

    def __init__(self, executable: Executable, make: Callable[[Executable], Instance] | None = None) -> None:
        super().__init__(executable, make)
        program = self.program
        self._sizes = [place for place, value in enumerate(program.values) if value.place is Place.SIZE]
        numbers = {port.value: number for number, port in enumerate(program.inputs)}
        self._dims = [
            (numbers[value.formula.operands[0]], value.formula.operands[1])
            for value in program.values
            if value.formula is not None and value.formula.operator == "dim"
        ]
        """The inputs and axes of which sizes are read."""
        self._seen_places = seen_places(program)
        self._seen: list[int] | None = None
        self._shapes: dict[int, tuple[int, ...]] = {}

    def run(self, fed: Sequence[Held]) -> list[Held]:
        """The outputs for checked inputs, in their order."""
        self.settle(fed)
        return self.run_again(fed)

    def settle(self, fed: Sequence[Held]) -> None:
        """
        Computes what follows from the sizes of checked inputs, for the next run.

        Raises `XonncError` for sizes that do not fit together.
        """
        seen: list[int] = []
        for number, axis in self._dims:
            held = fed[number]
            assert isinstance(held, np.ndarray)
            seen.append(held.shape[axis])
        if seen != self._seen:
            self._seen = None
            self._settle(seen)
            self._seen = seen

    def _settle(self, seen: Sequence[int]) -> None:
        """Computes sizes, and places what lives in the arena."""
        program = self.program
        numbers = _computed(program, seen)
        for requirement in program.requirements:
            found, expected = numbers[requirement.found], numbers[requirement.expected]
            if found != expected:
                raise XonncError(f"{requirement.what}: {found} was fed, the other sizes say {expected}")
        self._shapes = {
            place: tuple(numbers[size] for size in value.open_shape)
            for place, value in enumerate(program.values)
            if value.open_shape is not None
        }
        if any(min(shape, default=0) < 0 for shape in self._shapes.values()):
            raise XonncError("inputs of these sizes make a size below 0; feed larger ones")
        if max(numbers.values(), default=0) > MOST_BYTES:
            raise XonncError("inputs of these sizes make larger ones than there is memory; feed smaller ones")
        self._place_blocks()
        for place in self._sizes:
            self._table.view(np.int64)[place] = numbers[place]
        self._made = self._shapes_made()

    def _place_blocks(self) -> None:
        starts: list[int] = []
        total = 0
        for block in self.program.blocks:
            starts.append(total)
            total += aligned(max(map(self._bytes, block)))
        if total > MOST_BYTES:
            raise XonncError(f"inputs of these sizes take {total} bytes of memory; feed smaller ones")
        if total > self._arena.size:
            self._arena = aligned_empty(total)
        begins = {
            place: start for start, block in zip(starts, self.program.blocks, strict=True) for place in block
        }
        start = self._arena.ctypes.data
        for place, root in enumerate(self._roots):
            value = self.program.values[place]
            if root not in begins or value.dtype is None:
                continue
            begin = begins[root] + self.program.shift_of(place)
            if place in self._seen_places and (place in self._shapes or value.shape is not None):
                part = self._arena[begin : begin + self._bytes(place)]
                self._set(place, part.view(value.dtype).reshape(self.shape_of(place)))
            else:
                # Only where it begins is read of it, by native code.
                self._cells[place] = start + begin

    def _alias(self, place: int, root: int) -> None:
        super()._alias(place, root)
        held, dtype = self._held[place], self.program.values[place].dtype
        if isinstance(held, np.ndarray) and place in self._shapes:
            # Buffers hold integers without sign, which tensors may have.
            held = held if dtype is None or held.dtype == dtype else held.view(dtype)
            self._held[place] = held.reshape(self._shapes[place])

    def _bytes(self, place: int) -> int:
        dtype = self.program.values[place].dtype
        assert dtype is not None
        return prod(self.shape_of(place)) * dtype.itemsize

    def shape_of(self, place: int) -> tuple[int, ...]:
        """The shape of a tensor in this run."""
        return self._shapes[place] if place in self._shapes else super().shape_of(place)


def _computed(program: Program, seen: Sequence[int]) -> dict[int, int]:
    """All sizes, by place, from those of the inputs in the order of their formulas."""
    given = iter(seen)
    numbers: dict[int, int] = {}
    for place, value in enumerate(program.values):
        if value.formula is None:
            continue
        operator, operands = value.formula.operator, value.formula.operands
        if operator == "dim":
            numbers[place] = next(given)
        elif operator == "number":
            numbers[place] = operands[0]
        else:
            numbers[place] = OPERATORS[operator](*(numbers[operand] for operand in operands))
    return numbers


OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "floordiv": lambda a, b: a // b,
    "max": lambda a, b: max(a, b),
    "min": lambda a, b: min(a, b),
    "mul": lambda a, b: a * b,
}
"""What formulas are made of."""
