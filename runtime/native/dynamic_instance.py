"""Run programs with dynamic shapes: each run evaluates the shapes and lays out the arena for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from xonnc.aligned_arrays import aligned_empty
from xonnc.errors import XonncError
from xonnc.formats.native.program import MAX_BYTES, Program, RuntimeValue, SizeExpr, Storage, aligned
from xonnc.runtime.native.instance import (
    Array,
    Executable,
    Instance,
    NewArray,
    accessed_values,
)

MAX_SPARE = 1 << 26
"""Limit in bytes up to which a growing arena at least doubles, so that growth is amortised."""

MAX_CACHED_LAYOUTS = 1024
"""Layouts that an instance caches: the iterations of a loop repeat the same shapes in each run."""


@dataclass(frozen=True)
class _ShapeLayout:
    """The state that depends on the input shapes: all shapes, arena locations, arrays to allocate."""

    shapes: Mapping[int, tuple[int, ...]]
    cells: npt.NDArray[np.int64]
    """The table entries of dimensions (values) and of arena values (addresses)."""
    views: Sequence[tuple[int, Array]]
    made: Sequence[NewArray]


class DynamicInstance(Instance):
    """An executable with dynamic shapes; layouts are recomputed when input shapes change."""

    def __init__(self, executable: Executable, make: Callable[[Executable], Instance] | None = None) -> None:
        super().__init__(executable, make)
        program = self.program
        sizes = {port.value: number for number, port in enumerate(program.inputs)}
        size_exprs = [
            (index, value.size_expr)
            for index, value in enumerate(program.values)
            if value.size_expr is not None
        ]
        self._dims = [
            (sizes[expr.operands[0]], expr.operands[1]) for _, expr in size_exprs if expr.operator == "dim"
        ]
        """Input and axis of each dimension that the program reads."""
        self._size_exprs = size_exprs
        self._dynamic_shapes = [
            (index, value.dynamic_shape)
            for index, value in enumerate(program.values)
            if value.dynamic_shape is not None
        ]
        accessed = accessed_values(program)
        blocks = {index: number for number, block in enumerate(program.blocks) for index in block}
        self._blocks = [
            [(index, _dtype(program, index).itemsize) for index in block] for block in program.blocks
        ]
        self._parts = [
            (index, blocks[root], program.alias_offset_of(index), index in accessed)
            for index, root in enumerate(self._roots)
            if root in blocks and program.values[index].dtype is not None
        ]
        """Values in the arena: index, block, offset in the block, and whether the session accesses it."""
        sizes = [index for index, value in enumerate(program.values) if value.storage is Storage.SIZE]
        self._size_indices = sizes
        self._indices = np.array([*sizes, *(part[0] for part in self._parts)], np.intp)
        self._signed = self._table.view(np.int64)
        self._dimensions: tuple[int, ...] | None = None
        self._shapes: Mapping[int, tuple[int, ...]] = {}
        self._layouts: dict[tuple[int, ...], _ShapeLayout] = {}

    def run(self, fed: Sequence[RuntimeValue]) -> list[RuntimeValue]:
        """Run on checked inputs; return the outputs in order."""
        self.set_shapes(fed)
        return self.run_again(fed)

    def set_shapes(self, fed: Sequence[RuntimeValue]) -> None:
        """
        Evaluate the shapes for checked inputs, and prepare the arena for the next run.

        Raises `XonncError` for shapes that violate a constraint of the model.
        """
        sizes: list[int] = []
        for number, axis in self._dims:
            value = fed[number]
            assert isinstance(value, np.ndarray)
            sizes.append(value.shape[axis])
        dimensions = tuple(sizes)
        if dimensions != self._dimensions:
            self._dimensions = None
            self._activate_layout(dimensions)
            self._dimensions = dimensions

    def _activate_layout(self, dimensions: tuple[int, ...]) -> None:
        """Activate the layout for these dimensions, computing it if it is not cached."""
        layout = self._layouts.get(dimensions)
        if layout is None:
            layout = self._compute_layout(dimensions)
            if len(self._layouts) >= MAX_CACHED_LAYOUTS:
                self._layouts.clear()
            self._layouts[dimensions] = layout
        self._shapes, self._new_per_run = layout.shapes, layout.made
        self._signed[self._indices] = layout.cells
        for index, view in layout.views:
            self._values[index] = view

    def _compute_layout(self, dimensions: Sequence[int]) -> _ShapeLayout:
        """Evaluate all dimensions, check constraints, and lay out the arena."""
        sizes = _evaluate_sizes(self._size_exprs, dimensions)
        for constraint in self.program.constraints:
            found, expected = sizes[constraint.actual], sizes[constraint.expected]
            if found != expected:
                raise XonncError(f"{constraint.description}: {found} was fed, the other sizes say {expected}")
        shapes = {index: tuple([sizes[size] for size in dims]) for index, dims in self._dynamic_shapes}
        if any(min(shape, default=0) < 0 for shape in shapes.values()):
            raise XonncError("inputs of these shapes make a dimension below 0; feed larger ones")
        if max(sizes.values(), default=0) > MAX_BYTES:
            raise XonncError(
                "inputs of these shapes make tensors larger than the address space; feed smaller ones"
            )
        self._shapes = shapes
        offsets = self._block_offsets()
        start = self._arena.ctypes.data
        cells = [sizes[index] for index in self._size_indices]
        views: list[tuple[int, Array]] = []
        for index, block, shift, is_accessed in self._parts:
            offset = offsets[block] + shift
            cells.append(start + offset)
            # Values that only native code accesses need an address, but no array.
            if is_accessed and (index in shapes or self.program.values[index].shape is not None):
                shape, dtype = self.shape_of(index), _dtype(self.program, index)
                part = self._arena[offset : offset + prod(shape) * dtype.itemsize]
                views.append((index, part.view(dtype).reshape(shape)))
        return _ShapeLayout(shapes, np.array(cells, np.int64), views, self._new_array_specs())

    def _block_offsets(self) -> list[int]:
        """Return the offset of each block; grow the arena if needed."""
        offsets: list[int] = []
        total = 0
        for block in self._blocks:
            offsets.append(total)
            total += aligned(max([prod(self.shape_of(index)) * itemsize for index, itemsize in block]))
        if total > MAX_BYTES:
            raise XonncError(f"inputs of these shapes take {total} bytes of memory; feed smaller ones")
        if total > self._arena.size:
            # Cached layouts contain addresses in the old arena. Double the size: tensors that grow in a loop
            # will grow again.
            self._layouts.clear()
            self._arena = aligned_empty(max(total, min(2 * self._arena.size, MAX_SPARE)))
        return offsets

    def _alias(self, index: int, root: int) -> None:
        super()._alias(index, root)
        value, dtype = self._values[index], self.program.values[index].dtype
        if isinstance(value, np.ndarray) and index in self._shapes:
            # Buffers have signless integer types; tensors may be signed.
            value = value if dtype is None or value.dtype == dtype else value.view(dtype)
            self._values[index] = value.reshape(self._shapes[index])

    def shape_of(self, index: int) -> tuple[int, ...]:
        """Return the shape of a tensor in this run."""
        return self._shapes[index] if index in self._shapes else super().shape_of(index)


def _dtype(program: Program, index: int) -> np.dtype[np.generic]:
    dtype = program.values[index].dtype
    assert dtype is not None
    return dtype


def _evaluate_sizes(size_exprs: Sequence[tuple[int, SizeExpr]], dimensions: Sequence[int]) -> dict[int, int]:
    """Evaluate all size expressions, given the input dimensions in the order of the `dim` expressions."""
    given = iter(dimensions)
    sizes: dict[int, int] = {}
    for index, expr in size_exprs:
        operator, operands = expr.operator, expr.operands
        if operator == "dim":
            sizes[index] = next(given)
        elif operator == "number":
            sizes[index] = operands[0]
        else:
            first, second = operands
            sizes[index] = OPERATORS[operator](sizes[first], sizes[second])
    return sizes


OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "floordiv": lambda a, b: a // b,
    "max": lambda a, b: max(a, b),
    "min": lambda a, b: min(a, b),
    "mul": lambda a, b: a * b,
}
"""The operators of size expressions."""
