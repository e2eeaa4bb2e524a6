"""
Feature cubes in memory, read as and written from `[height, width, lanes]` arrays
(docs/internals/nvdla-hardware.md §3.2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError
from xonnc.runtime.nvdla.array_types import AnyArray
from xonnc.runtime.nvdla.memory import AddressSpace, MemoryLocation


@dataclass(frozen=True)
class CubeLayout:
    """
    The memory layout of a feature cube.

    `atom` bytes hold the lanes of one pixel of one surface; strides in bytes.
    """

    width: int
    height: int
    surfaces: int
    atom: int
    line_stride: int
    surf_stride: int

    @property
    def extent(self) -> int:
        """Bytes from the first to past the last atom."""
        return (
            (self.surfaces - 1) * self.surf_stride
            + (self.height - 1) * self.line_stride
            + self.width * self.atom
        )

    def check(self, alignment: int, what: str) -> None:
        """Refuse empty cubes, strides that are not whole atoms, and rows or surfaces that overlap."""
        if self.width <= 0 or self.height <= 0 or self.surfaces <= 0:
            raise XonncError(
                f"{what}: {self.width} x {self.height} pixels in {self.surfaces} surfaces is an empty cube; "
                "every dimension is at least 1"
            )
        strides: list[tuple[str, int]] = []
        if self.height > 1:
            strides.append(("line_stride", self.line_stride))
        if self.surfaces > 1:
            strides.append(("surf_stride", self.surf_stride))
        for name, stride in strides:
            if stride % alignment:
                raise XonncError(
                    f"{what}: {name} {stride} is not a multiple of the {alignment}-byte atom; round it up"
                )
        row = self.width * self.atom
        surface = (self.height - 1) * self.line_stride + row
        if self.height > 1 and self.line_stride < row:
            raise XonncError(
                f"{what}: line_stride {self.line_stride} is below a row of {row} bytes; enlarge it"
            )
        # Surfaces may also be interleaved by rows: row 0 of all surfaces, then row 1 of all.
        is_interleaved = (
            self.line_stride >= (self.surfaces - 1) * self.surf_stride + row and self.surf_stride >= row
        )
        if self.surfaces > 1 and self.surf_stride < surface and not is_interleaved:
            raise XonncError(
                f"{what}: surf_stride {self.surf_stride} is below a surface of {surface} bytes; enlarge it"
            )


def locate_cube(
    space: AddressSpace, layout: CubeLayout, index: int, offset: int, alignment: int, what: str
) -> MemoryLocation:
    """Check a cube against its memory object and return the place of its first atom."""
    layout.check(alignment, what)
    location = space.locate(index, offset, layout.extent, what)
    if location.start % alignment:
        raise XonncError(
            f"{what}: byte {location.start} of the memory object is not the start of a {alignment}-byte "
            "atom; align the offset"
        )
    return location


def atoms(location: MemoryLocation, layout: CubeLayout, dtype: npt.DTypeLike) -> AnyArray:
    """Return a view `[surfaces, height, width, lanes]` of the cube in memory; writes go to memory."""
    element = np.dtype(dtype)
    return np.ndarray(
        shape=(layout.surfaces, layout.height, layout.width, layout.atom // element.itemsize),
        dtype=element,
        buffer=location.memory.data.data,
        offset=location.start,
        strides=(layout.surf_stride, layout.line_stride, layout.atom, element.itemsize),
    )


def pixels_of(view: AnyArray) -> AnyArray:
    """`[surfaces, height, width, lanes]` as a new array `[height, width, surfaces * lanes]`."""
    surfaces, height, width, lanes = view.shape
    return view.transpose(1, 2, 0, 3).reshape(height, width, surfaces * lanes)


def write_pixels(location: MemoryLocation, layout: CubeLayout, pixels: AnyArray) -> None:
    """Write `[height, width, surfaces * lanes]`; the caller has checked the place with `locate_cube`."""
    view = atoms(location, layout, pixels.dtype)
    surfaces, height, width, lanes = view.shape
    view[...] = pixels.reshape(height, width, surfaces, lanes).transpose(2, 0, 1, 3)
    location.memory.generation += 1
