"""Sizes of surfaces, against the addresses of all their bytes."""

from __future__ import annotations

from itertools import product

import pytest
from xdsl.dialects.builtin import IntAttr, StringAttr, TensorType, i8
from xdsl.ir import Attribute

from xonnc.dialects.dla.types import ImageType, SurfaceType
from xonnc.errors import XonncError
from xonnc.lowering.dla_planning.surface_sizes import (
    SINGLE_PLANE_FORMATS,
    dense_bytes,
    dense_strides,
    descriptor_bytes,
    pixel_bytes,
    span_bytes,
    surface_count,
)
from xonnc.targets import NvdlaTarget, load_target

FULL, SMALL = load_target("nv_full"), load_target("nv_small")


def cube(channels: int, height: int, width: int) -> TensorType[Attribute]:
    return TensorType(i8, [1, channels, height, width])


def image(name: str, channels: int, height: int, width: int) -> ImageType:
    return ImageType(StringAttr(name), cube(channels, height, width))


def surface(type_: TensorType[Attribute] | ImageType, line: int, step: int) -> SurfaceType:
    return SurfaceType(type_, StringAttr("m"), IntAttr(0), IntAttr(line), IntAttr(step))


@pytest.mark.parametrize(("target", "atom"), [(FULL, 32), (SMALL, 8)])
@pytest.mark.parametrize("channels", [1, 8, 9, 32, 33, 70])
def test_a_cube_ends_with_its_last_atom(target: NvdlaTarget, atom: int, channels: int):
    height, width = 5, 3
    type_ = cube(channels, height, width)
    groups = (channels + atom - 1) // atom
    assert surface_count(type_, target) == groups
    assert dense_strides(type_, target) == (width * atom, height * width * atom)
    assert dense_bytes(type_, target) == groups * height * width * atom
    line, step = width * atom + 64, height * (width * atom + 64) + 96
    ends = [
        group * step + row * line + (column + 1) * atom
        for group, row, column in product(range(groups), range(height), range(width))
    ]
    placed = surface(type_, line, step)
    assert span_bytes(placed, target) == max(ends)
    assert descriptor_bytes(placed, target) == groups * step


@pytest.mark.parametrize(("name", "size"), [("A8B8G8R8", 4), ("R8", 1), ("A16B16G16R16", 8)])
def test_an_image_ends_with_its_last_pixel(name: str, size: int):
    type_ = image(name, 4, 6, 5)
    assert pixel_bytes(type_) == size
    line, whole = dense_strides(type_, FULL)
    assert 0 <= line - 5 * size < 32
    assert (line % 32, whole, dense_bytes(type_, FULL)) == (0, 6 * line, 6 * line)
    assert surface_count(type_, FULL) == 1
    ends = [row * 128 + (column + 1) * size for row, column in product(range(6), range(5))]
    placed = surface(type_, 128, 1024)
    assert span_bytes(placed, FULL) == max(ends)
    assert descriptor_bytes(placed, FULL) == 1024


def test_formats_of_two_planes_have_no_one_size():
    assert "A8B8G8R8" in SINGLE_PLANE_FORMATS
    assert not [name for name in SINGLE_PLANE_FORMATS if "___" in name]
    with pytest.raises(XonncError, match=r"A8B8G8R9, …>: no pixel format of one plane; .*A8B8G8R8"):
        pixel_bytes(image("A8B8G8R9", 4, 6, 5))
