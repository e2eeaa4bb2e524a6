"""Runs programs for any sizes that a model leaves open: each run computes where everything lies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError
from xonnc.formats.native.program import MAX_BYTES, Program, RuntimeValue, SizeExpr, Storage, aligned
from xonnc.runtime.native.instance import (
    Array,
    Executable,
    Instance,
    NewArray,
    accessed_values,
    aligned_empty,
)

MAX_SPARE = 1 << 26
"""Bytes up to which an arena that must be larger becomes twice as large."""

MAX_CACHED_LAYOUTS = 128
"""Sets of sizes whose layouts an instance keeps: the iterations of a loop have the same in each run."""


@dataclass(frozen=True)
class _ShapeLayout:
    """What follows from the sizes of inputs: shapes, where things lie in an arena, and what is allocated."""

    shapes: Mapping[int, tuple[int, ...]]
    cells: npt.NDArray[np.int64]
    """What the table has for each size and each value in the arena."""
    views: Sequence[tuple[int, Array]]
    made: Sequence[NewArray]


class DynamicInstance(Instance):
    """An executable for any sizes; what follows from sizes is computed when they are others than before."""

    def __init__(self, executable: Executable, make: Callable[[Executable], Instance] | None = None) -> None:
        super().__init__(executable, make)
        program = self.program
        numbers = {port.value: number for number, port in enumerate(program.inputs)}
        formulas = [
            (place, value.size_expr)
            for place, value in enumerate(program.values)
            if value.size_expr is not None
        ]
        self._dims = [
            (numbers[formula.operands[0]], formula.operands[1])
            for _, formula in formulas
            if formula.operator == "dim"
        ]
        """The inputs and axes of which sizes are read."""
        self._formulas = formulas
        self._open = [
            (place, value.dynamic_shape)
            for place, value in enumerate(program.values)
            if value.dynamic_shape is not None
        ]
        seen_by_steps = accessed_values(program)
        blocks = {place: number for number, block in enumerate(program.blocks) for place in block}
        self._blocks = [
            [(place, _dtype(program, place).itemsize) for place in block] for block in program.blocks
        ]
        self._parts = [
            (place, blocks[root], program.alias_offset_of(place), place in seen_by_steps)
            for place, root in enumerate(self._roots)
            if root in blocks and program.values[place].dtype is not None
        ]
        """What lies in the arena: the value, its block, where it begins in that, and whether steps see it."""
        sizes = [place for place, value in enumerate(program.values) if value.storage is Storage.SIZE]
        self._size_places = sizes
        self._places = np.array([*sizes, *(part[0] for part in self._parts)], np.intp)
        self._signed = self._table.view(np.int64)
        self._seen: tuple[int, ...] | None = None
        self._shapes: Mapping[int, tuple[int, ...]] = {}
        self._layouts: dict[tuple[int, ...], _ShapeLayout] = {}

    def run(self, fed: Sequence[RuntimeValue]) -> list[RuntimeValue]:
        """The outputs for checked inputs, in their order."""
        self.settle(fed)
        return self.run_again(fed)

    def settle(self, fed: Sequence[RuntimeValue]) -> None:
        """
        Computes what follows from the sizes of checked inputs, for the next run.

        Raises `XonncError` for sizes that do not fit together.
        """
        sizes: list[int] = []
        for number, axis in self._dims:
            held = fed[number]
            assert isinstance(held, np.ndarray)
            sizes.append(held.shape[axis])
        seen = tuple(sizes)
        if seen != self._seen:
            self._seen = None
            self._settle(seen)
            self._seen = seen

    def _settle(self, seen: tuple[int, ...]) -> None:
        """Brings about the layout of these sizes, which is computed if they are new."""
        layout = self._layouts.get(seen)
        if layout is None:
            layout = self._computed(seen)
            if len(self._layouts) >= MAX_CACHED_LAYOUTS:
                self._layouts.clear()
            self._layouts[seen] = layout
        self._shapes, self._made = layout.shapes, layout.made
        self._signed[self._places] = layout.cells
        for place, view in layout.views:
            self._held[place] = view

    def _computed(self, seen: Sequence[int]) -> _ShapeLayout:
        """Computes sizes, and places what lives in the arena."""
        numbers = _evaluate_sizes(self._formulas, seen)
        for constraint in self.program.constraints:
            found, expected = numbers[constraint.actual], numbers[constraint.expected]
            if found != expected:
                raise XonncError(f"{constraint.description}: {found} was fed, the other sizes say {expected}")
        shapes = {place: tuple([numbers[size] for size in sizes]) for place, sizes in self._open}
        if any(min(shape, default=0) < 0 for shape in shapes.values()):
            raise XonncError("inputs of these sizes make a size below 0; feed larger ones")
        if max(numbers.values(), default=0) > MAX_BYTES:
            raise XonncError("inputs of these sizes make larger ones than there is memory; feed smaller ones")
        self._shapes = shapes
        begins = self._begins()
        start = self._arena.ctypes.data
        cells = [numbers[place] for place in self._size_places]
        views: list[tuple[int, Array]] = []
        for place, block, shift, is_seen in self._parts:
            begin = begins[block] + shift
            cells.append(start + begin)
            # Of others only where it begins is read, by native code.
            if is_seen and (place in shapes or self.program.values[place].shape is not None):
                shape, dtype = self.shape_of(place), _dtype(self.program, place)
                part = self._arena[begin : begin + prod(shape) * dtype.itemsize]
                views.append((place, part.view(dtype).reshape(shape)))
        return _ShapeLayout(shapes, np.array(cells, np.int64), views, self._shapes_made())

    def _begins(self) -> list[int]:
        """Where each block begins in the arena, which is made larger where it must be."""
        begins: list[int] = []
        total = 0
        for block in self._blocks:
            begins.append(total)
            total += aligned(max([prod(self.shape_of(place)) * itemsize for place, itemsize in block]))
        if total > MAX_BYTES:
            raise XonncError(f"inputs of these sizes take {total} bytes of memory; feed smaller ones")
        if total > self._arena.size:
            # Other layouts are of the old one. What grows, as tensors of a loop do, will do so again.
            self._layouts.clear()
            self._arena = aligned_empty(max(total, min(2 * self._arena.size, MAX_SPARE)))
        return begins

    def _alias(self, place: int, root: int) -> None:
        super()._alias(place, root)
        held, dtype = self._held[place], self.program.values[place].dtype
        if isinstance(held, np.ndarray) and place in self._shapes:
            # Buffers hold integers without sign, which tensors may have.
            held = held if dtype is None or held.dtype == dtype else held.view(dtype)
            self._held[place] = held.reshape(self._shapes[place])

    def shape_of(self, place: int) -> tuple[int, ...]:
        """The shape of a tensor in this run."""
        return self._shapes[place] if place in self._shapes else super().shape_of(place)


def _dtype(program: Program, place: int) -> np.dtype[np.generic]:
    dtype = program.values[place].dtype
    assert dtype is not None
    return dtype


def _evaluate_sizes(formulas: Sequence[tuple[int, SizeExpr]], seen: Sequence[int]) -> dict[int, int]:
    """All sizes, by place, from those of the inputs in the order of their formulas."""
    given = iter(seen)
    numbers: dict[int, int] = {}
    for place, formula in formulas:
        operator, operands = formula.operator, formula.operands
        if operator == "dim":
            numbers[place] = next(given)
        elif operator == "number":
            numbers[place] = operands[0]
        else:
            first, second = operands
            numbers[place] = OPERATORS[operator](numbers[first], numbers[second])
    return numbers


OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "floordiv": lambda a, b: a // b,
    "max": lambda a, b: max(a, b),
    "min": lambda a, b: min(a, b),
    "mul": lambda a, b: a * b,
}
"""What formulas are made of."""
