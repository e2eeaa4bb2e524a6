"""Binary portable maps as arrays, and files that are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from xonnc.errors import XonncError
from xonnc.tools.portable_maps import read_portable_map

PIXELS = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)


@pytest.mark.parametrize(
    ("header", "pixels"),
    [
        (b"P6\n3 2\n255\n", PIXELS),
        (b"P6\n# made by hand\n3 2 # columns, rows\n255\n", PIXELS),
        (b"P5 3 2 255 ", PIXELS[:, :, :1]),
    ],
)
def test_pixels(header: bytes, pixels: np.ndarray, tmp_path: Path):
    path = tmp_path / "x.ppm"
    path.write_bytes(header + pixels.tobytes())
    found = read_portable_map(path)
    assert (found.dtype, found.shape) == (np.uint8, pixels.shape)
    assert np.array_equal(found, pixels)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"P3 1 1 255 0 0 0", "not a binary .pgm"),
        (b"\x89PNG", "not a binary .pgm"),
        (b"P5 1 1 65535 \0\0", "values up to 65535"),
        (b"P6 9000 9000 255 abc", "3 bytes for 9000x9000 pixels; it is cut short"),
        (b"P5 0 4 255 ", "0 bytes for 0x4 pixels"),
    ],
)
def test_files_that_are_none(data: bytes, message: str, tmp_path: Path):
    path = tmp_path / "x.pgm"
    path.write_bytes(data)
    with pytest.raises(XonncError, match=message):
        read_portable_map(path)
