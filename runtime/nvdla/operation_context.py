"""The context in which an engine runs an operation: its name, address space and target."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeVar

import numpy.typing as npt

from xonnc.errors import XonncError
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.geometry import ceil_div
from xonnc.formats.nvdla.records import DataCube
from xonnc.runtime.nvdla.array_types import U8, AnyArray
from xonnc.runtime.nvdla.cube import CubeLayout, atoms, locate_cube, pixels_of, write_pixels
from xonnc.runtime.nvdla.memory import AddressSpace
from xonnc.targets import NvdlaTarget

Field = TypeVar("Field", bound=IntEnum)


@dataclass(frozen=True)
class OperationContext:
    """The context of an operation; `exact` selects the MAC's own fp16 summation instead of float32."""

    name: str
    space: AddressSpace
    target: NvdlaTarget
    exact: bool

    def refuse(self, reason: str) -> XonncError:
        """Return the error that this operation cannot run: `raise scope.refuse(…)`."""
        return XonncError(f"{self.name}: {reason}")

    def member(self, kind: type[Field], value: int, field: str) -> Field:
        """Return the enumeration member of a field's value; refuse values without one."""
        found = next((member for member in kind if member.value == value), None)
        if found is None:
            known = ", ".join(f"{member.value} {member.name}" for member in kind)
            raise self.refuse(f"{field} {value}: it is one of {known}")
        return found

    def precision(self, value: int, field: str) -> Precision:
        """Return the precision of a field's value; refuse those that the target lacks."""
        precision = self.member(Precision, value, field)
        if precision.name.lower() not in self.target.precisions:
            raise self.refuse(f"{field} {precision.name}: {self.target.name} has no such data path")
        return precision

    def bytes_at(self, cube: DataCube, size: int, role: str) -> U8:
        """`size` bytes from the start of a cube."""
        return self.space.locate(cube.address, cube.offset, size, f"{self.name} {role}").read(size)

    def read_pixels(
        self, cube: DataCube, layout: CubeLayout, dtype: npt.DTypeLike, role: str, offset: int = 0
    ) -> AnyArray:
        """The cube as a new array `[height, width, lanes of all surfaces]`, `offset` bytes further on."""
        what = f"{self.name} {role}"
        atom = self.target.memory_atom_bytes
        location = locate_cube(self.space, layout, cube.address, cube.offset + offset, atom, what)
        return pixels_of(atoms(location, layout, dtype))

    def write_pixels(
        self, cube: DataCube, layout: CubeLayout, pixels: AnyArray, role: str, offset: int = 0
    ) -> None:
        """Write `[height, width, lanes of all surfaces]` to the cube, `offset` bytes further on."""
        what = f"{self.name} {role}"
        atom = self.target.memory_atom_bytes
        location = locate_cube(self.space, layout, cube.address, cube.offset + offset, atom, what)
        write_pixels(location, layout, pixels)

    def feature_layout(self, cube: DataCube, width: int, height: int, channels: int, size: int) -> CubeLayout:
        """Return the layout of a feature cube of `size`-byte elements, with the cube's own strides."""
        atom = self.target.memory_atom_bytes
        return CubeLayout(
            width, height, ceil_div(channels, atom // size), atom, cube.line_stride, cube.surf_stride
        )
