"""Binary portable grey maps and pixel maps (`.pgm`, `.ppm`), which `nvdla_runtime` reads too."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError

CHANNELS = {b"P5": 1, b"P6": 3}
"""Channels by the magic number of the binary forms."""

_HEADER = re.compile(rb"(P\d)" + rb"(?:\s+|#[^\n]*\n)+(\d+)" * 3 + rb"\s", re.DOTALL)
"""Magic number, width, height, largest value; comments may stand between them."""


def read_portable_map(path: Path) -> npt.NDArray[np.uint8]:
    """
    Return the pixels of a binary `.pgm` or `.ppm` file as `H×W×1` or `H×W×3`.

    `XonncError` for other files and for values of more than 8 bits.
    """
    data = path.read_bytes()
    header = _HEADER.match(data)
    if header is None or header[1] not in CHANNELS:
        raise XonncError(f"{path}: not a binary .pgm (P5) or .ppm (P6) file; convert it")
    width, height, largest = (int(number) for number in header.groups()[1:])
    if largest != 255:
        raise XonncError(f"{path}: values up to {largest} (pixels have 8 bits: 255); convert it")
    size = width * height * CHANNELS[header[1]]
    if not size or len(data) - header.end() < size:
        raise XonncError(
            f"{path}: {len(data) - header.end()} bytes for {width}x{height} pixels; it is cut short"
        )
    pixels = np.frombuffer(data, np.uint8, size, header.end())
    return pixels.reshape(height, width, CHANNELS[header[1]])
