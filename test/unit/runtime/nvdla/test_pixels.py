from __future__ import annotations

import numpy as np
import pytest

from xonnc.runtime.nvdla.pixels import PIXEL_FORMATS, PixelPacking, pack_plane, unpack_plane


def format_named(name: str) -> PixelPacking:
    return next(f for f in PIXEL_FORMATS if f.name == name)


def delivered(name: str, pixel: list[int]) -> list[int]:
    """Channels of one pixel of a one-plane format, in the order the core gets them."""
    form = format_named(name)
    rows = np.array(pixel, np.uint8).reshape(1, 1, -1)
    values = unpack_plane(rows, form.planes[0], signed=False)
    out = [0] * form.channels
    for component in form.planes[0].components:
        out[form.channel(component)] = int(values[component.letter][0, 0])
    return out


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("A8B8G8R8", [1, 2, 3, 4]),
        ("A8R8G8B8", [3, 2, 1, 4]),
        ("B8G8R8A8", [2, 3, 4, 1]),
        ("R8G8B8A8", [4, 3, 2, 1]),
        ("X8R8G8B8", [3, 2, 1, 4]),
        ("A8Y8U8V8", [3, 2, 1, 4]),
        ("V8U8Y8A8", [2, 3, 4, 1]),
    ],
)
def test_names_list_components_from_the_top_byte(name: str, order: list[int]):
    assert delivered(name, [1, 2, 3, 4]) == order


def test_numbers_are_those_of_the_interface():
    numbers = {0: "R8", 5: "R16F", 8: "A16B16G16R16F", 12: "A8B8G8R8", 20: "A2B10G10R10", 27: "V8U8Y8A8"}
    assert {i: PIXEL_FORMATS[i].name for i in numbers} == numbers
    assert len(PIXEL_FORMATS) == 36


def test_components_of_ten_bits_share_a_word():
    word = 3 << 30 | 1000 << 20 | 512 << 10 | 7
    assert delivered("A2B10G10R10", list(word.to_bytes(4, "little"))) == [7, 512, 1000, 3]


def test_two_plane_formats_keep_the_colour_in_the_second_plane():
    form = format_named("Y8,U8V8")
    assert [plane.size for plane in form.planes] == [1, 2]
    values = unpack_plane(np.array([[[10, 20]]], np.uint8), form.planes[1], signed=False)
    assert {letter: int(v[0, 0]) for letter, v in values.items()} == {"V": 10, "U": 20}


def test_override_reads_components_as_signed():
    values = unpack_plane(np.array([[[0xFE]]], np.uint8), PIXEL_FORMATS[0].planes[0], signed=True)
    assert values["R"].tolist() == [[-2]]


@pytest.mark.parametrize("form", PIXEL_FORMATS, ids=lambda f: f.name)
def test_packing_is_the_inverse_of_unpacking(form: PixelPacking):
    rng = np.random.default_rng(0)
    for plane in form.planes:
        components = {c.letter: rng.integers(0, 1 << c.bits, (3, 5)) for c in plane.components}
        back = unpack_plane(pack_plane(components, plane), plane, signed=False)
        assert {k: v.tolist() for k, v in back.items()} == {k: v.tolist() for k, v in components.items()}
