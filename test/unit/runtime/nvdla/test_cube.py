from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from xonnc.errors import XonncError
from xonnc.runtime.nvdla.cube import CubeLayout, atoms, locate_cube, pixels_of, write_pixels
from xonnc.runtime.nvdla.memory import UNWRITTEN, AddressSpace, MemoryLocation, allocate

LAYOUT = CubeLayout(width=3, height=2, surfaces=2, atom=32, line_stride=128, surf_stride=320)


def test_elements_lie_where_the_spec_says():
    memory = allocate(LAYOUT.extent + 64)
    location = MemoryLocation(memory, 64)
    pixels = np.arange(2 * 3 * 32, dtype=np.int16).reshape(2, 3, 32)
    write_pixels(location, LAYOUT, pixels)
    for y, x, c in ((0, 0, 0), (1, 2, 15), (1, 1, 16), (0, 2, 31)):
        offset = 64 + c // 16 * 320 + y * 128 + x * 32 + c % 16 * 2
        assert memory.data[offset : offset + 2].view(np.int16)[0] == pixels[y, x, c]
    assert np.array_equal(pixels_of(atoms(location, LAYOUT, np.int16)), pixels)


def test_bytes_between_rows_and_surfaces_are_not_written():
    memory = allocate(LAYOUT.extent)
    write_pixels(MemoryLocation(memory, 0), LAYOUT, np.zeros((2, 3, 64), np.int8))
    assert (memory.data[96:128] == UNWRITTEN).all()
    assert (memory.data[224:320] == UNWRITTEN).all()
    assert memory.generation == 1


def test_surfaces_may_be_interleaved():
    layout = CubeLayout(width=3, height=2, surfaces=2, atom=32, line_stride=192, surf_stride=96)
    memory = allocate(layout.extent)
    pixels = np.arange(2 * 3 * 64, dtype=np.uint8).reshape(2, 3, 64)
    layout.check(32, "cube")
    write_pixels(MemoryLocation(memory, 0), layout, pixels)
    assert np.array_equal(pixels_of(atoms(MemoryLocation(memory, 0), layout, np.uint8)), pixels)


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (replace(LAYOUT, width=0), "cube: 0 x 2 pixels in 2 surfaces is an empty cube"),
        (replace(LAYOUT, line_stride=100), "cube: line_stride 100 is not a multiple of the 32-byte atom"),
        (replace(LAYOUT, line_stride=64), "cube: line_stride 64 is below a row of 96 bytes"),
        (replace(LAYOUT, surf_stride=192), "cube: surf_stride 192 is below a surface of 224 bytes"),
        (replace(LAYOUT, surfaces=3), "cube: 864 bytes at offset 0 leave the memory object of 544 bytes"),
    ],
)
def test_bad_layouts_are_refused(layout: CubeLayout, message: str):
    space = AddressSpace([MemoryLocation(allocate(LAYOUT.extent), 0)])
    assert locate_cube(space, LAYOUT, 0, 0, 32, "cube").start == 0
    with pytest.raises(XonncError, match=message):
        locate_cube(space, layout, 0, 0, 32, "cube")


def test_a_cube_off_the_atom_grid_is_refused():
    space = AddressSpace([MemoryLocation(allocate(4096), 8)])
    with pytest.raises(
        XonncError, match="cube: byte 24 of the memory object is not the start of a 32-byte atom"
    ):
        locate_cube(space, LAYOUT, 0, 16, 32, "cube")


@pytest.mark.parametrize("index", [-1, 2])
def test_an_index_outside_the_address_list_is_refused(index: int):
    space = AddressSpace([MemoryLocation(allocate(64), 0), None])
    with pytest.raises(
        XonncError, match=f"cube: address index {index} is not in the task's address list of 2"
    ):
        space.locate(index, 0, 1, "cube")


def test_an_address_without_memory_is_refused():
    space = AddressSpace([None])
    with pytest.raises(XonncError, match="cube: address 0 has no memory"):
        space.locate(0, 0, 1, "cube")


def test_a_negative_offset_is_refused():
    space = AddressSpace([MemoryLocation(allocate(64), 0)])
    with pytest.raises(XonncError, match="cube: 4 bytes at offset -8 leave"):
        space.locate(0, -8, 4, "cube")
