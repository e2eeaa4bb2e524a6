"""Pictures for benchmarks: PNG files, lines of text, sizes."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bench.pictures import read_png, resized, text_lines


def png(filters: list[int], pixels: npt.NDArray[Any], bits: int = 8) -> bytes:
    """A PNG file in which each row has a filter of its own."""
    height, width, step = pixels.shape
    wide = np.zeros((height + 1, width + 1, step), np.int64)
    wide[1:, 1:] = pixels
    left, up, corner = wide[1:, :-1], wide[:-1, 1:], wide[:-1, :-1]
    estimate = left + up - corner
    near = [np.abs(estimate - each) for each in (left, up, corner)]
    paeth = np.where(
        (near[0] <= near[1]) & (near[0] <= near[2]), left, np.where(near[1] <= near[2], up, corner)
    )
    guesses = (np.zeros_like(left), left, up, (left + up) // 2, paeth)
    rows = b"".join(
        bytes([kind]) + ((pixels[row] - guesses[kind][row]) & 255).astype(np.uint8).tobytes()
        for row, kind in enumerate(filters)
    )
    color = {1: 0, 3: 2, 4: 6}[step]
    chunks = {
        b"IHDR": struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, 0),
        b"IDAT": zlib.compress(rows),
    }
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks.items()
    )


@pytest.mark.parametrize("step", [1, 3, 4])
def test_every_filter_of_png(step: int):
    pixels = np.random.default_rng(step).integers(0, 256, (10, 7, step))
    assert np.array_equal(read_png(png([*range(5), *range(5)], pixels)), pixels)


def test_other_depths_are_refused():
    with pytest.raises(ValueError, match="a PNG of 16 bits, color type 0, interlaced 0"):
        read_png(png([0], np.zeros((1, 2, 1), np.int64), bits=16))


def test_lines_of_text_are_found_on_paper_that_is_not_lit_evenly():
    page = np.broadcast_to(np.linspace(0.6, 1.0, 64), (3, 60, 64)).copy()
    page[:, 10:22, 4:60:3] *= 0.3
    page[:, 40:43, 4:60:3] *= 0.3
    assert text_lines(page) == [(10, 22)]


def test_resized_images_keep_a_gradient():
    image = np.broadcast_to(np.arange(8.0), (1, 4, 8))
    assert np.allclose(resized(image, 2, 4)[0], [0.5, 2.5, 4.5, 6.5])
