"""
Real pictures for trained networks: photographs and scanned text that the wheel of scikit-image carries.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt

from bench.conformance.pretrained import archive_of

Array = npt.NDArray[Any]
Kind = Literal["photo", "page", "line"]

ARCHIVE = ("scikit-image", "0.26.0")
FILES: Mapping[Kind, Sequence[str]] = {
    "photo": ("astronaut", "chelsea", "coffee", "motorcycle_left"),
    "page": ("page", "text"),
    "line": ("page",),
}
"""Files by what a network looks for: objects, text on a page, or a line of text."""

CHANNELS = {0: 1, 2: 3, 6: 4}
"""Samples of a pixel by the color type of PNG."""

NEIGHBORS = 16
"""Pixels of a row that are lit alike; they divide the page's width."""

LINE_ROWS = range(8, 40)
"""Heights of a line of text in pixels."""


def picture(seed: int, kind: Kind, height: int, width: int) -> Array:
    """Return part of a picture as [3, height, width], values from 0 to 1; another one for each seed."""
    generator = np.random.default_rng(seed)
    files = FILES[kind]
    full_picture = read_picture(files[seed % len(files)])
    rows, line = int(full_picture.shape[1]), int(full_picture.shape[2])
    if kind == "line":
        lines = text_lines(full_picture)
        top, bottom = lines[seed % len(lines)]
        top = max(top - 2, 0)
        tall = bottom + 2 - top
    else:
        share = generator.uniform(0.5, 0.95)
        tall = round(share * min(rows, line * height / width))
        top = int(generator.integers(0, rows - tall + 1))
    columns = min(round(tall * width / height), line)
    left = int(generator.integers(0, line - columns + 1))
    return resized(full_picture[:, top : top + tall, left : left + columns], height, width)


def text_lines(page: Array) -> list[tuple[int, int]]:
    """Return the first and one past the last row of each line of dark text on a page [3, height, width]."""
    grey = page.mean(axis=0)
    # The paper is not lit evenly: ink is darker than the brightest of its neighbors in the row.
    paper = grey.reshape(len(grey), -1, NEIGHBORS).max(axis=2).repeat(NEIGHBORS, axis=1)
    has_ink = np.concatenate(([False], (grey < 0.7 * paper).mean(axis=1) > 0.06, [False]))
    edges: list[int] = np.flatnonzero(has_ink[1:] != has_ink[:-1]).tolist()
    found = zip(edges[::2], edges[1::2], strict=True)
    return [(first, last) for first, last in found if last - first in LINE_ROWS]


def resized(image: Array, height: int, width: int) -> Array:
    """Return an image [C, H, W] of another size, bilinear between pixel centers."""
    for axis, size in ((1, height), (2, width)):
        old = image.shape[axis]
        at = np.clip((np.arange(size) + 0.5) * old / size - 0.5, 0, old - 1)
        low = np.floor(at).astype(int)
        shape = [1, 1, 1]
        shape[axis] = size
        part = (at - low).reshape(shape)
        high = np.minimum(low + 1, old - 1)
        image = image.take(low, axis) * (1 - part) + image.take(high, axis) * part
    return image


@cache
def read_picture(name: str) -> Array:
    """Return a picture of the wheel as [3, height, width], values from 0 to 1."""
    with ZipFile(archive_of(*ARCHIVE)) as wheel:
        pixels = read_png(wheel.read(f"skimage/data/{name}.png"))
    color = pixels[:, :, :3] if pixels.shape[2] >= 3 else np.repeat(pixels[:, :, :1], 3, axis=2)
    return color.transpose(2, 0, 1) / 255.0


def read_png(data: bytes) -> Array:
    """Return the pixels [height, width, channels] of a PNG of 8 bits a sample that is not interlaced."""
    packed, at = b"", 8
    width = height = bits = color = interlaced = 0
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, bits, color, _, _, interlaced = struct.unpack(">IIBBBBB", body)
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    if bits != 8 or color not in CHANNELS or interlaced:
        raise ValueError(f"a PNG of {bits} bits, color type {color}, interlaced {interlaced}")
    step = CHANNELS[color]
    filtered, size = zlib.decompress(packed), 1 + width * step
    rows: list[bytes] = []
    above = bytes(width * step)
    for begin in range(0, height * size, size):
        above = _unfiltered(filtered[begin], filtered[begin + 1 : begin + size], above, step)
        rows.append(above)
    return np.frombuffer(b"".join(rows), np.uint8).reshape(height, width, step)


def _unfiltered(kind: int, line: bytes, above: bytes, step: int) -> bytes:
    """Return the samples of a row, of which a PNG has the differences from their neighbors."""
    # The left neighbor of the first pixel is 0.
    result, up = bytearray(step) + line, bytes(step) + above
    for at in range(step, len(result)):
        left, high, corner = result[at - step], up[at], up[at - step]
        if kind == 4:
            differences = abs(high - corner), abs(left - corner), abs(left + high - 2 * corner)
            nearest = differences.index(min(differences))
            guess = (left, high, corner)[nearest]
        else:
            guess = (0, left, high, (left + high) // 2)[kind]
        result[at] = (result[at] + guess) & 255
    return bytes(result[step:])
