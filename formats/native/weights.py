"""
The constants of a compiled model in a file of their own, `.weight`.

| bytes | what |
|---|---|
| 0 | `XONNCWGT` |
| 8 | version of the layout, 32 bits: 1 |
| 12 | bytes before the constants, 32 bits: 64 |
| 16 | bytes of constants, 64 bits |
| 24 | identity, 64 bits: the first of the SHA-256 of the constants |
| 32 | 0 |
| 64 | the constants, each at a multiple of 64 bytes |

Numbers are little-endian. Code compiled with the file knows size and identity, and takes no other file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError

MAGIC = b"XONNCWGT"
VERSION = 1
HEADER = 64
"""Bytes before the constants; also what each begins at a multiple of."""


@dataclass(frozen=True)
class Weights:
    """Constants one behind the other."""

    arrays: Sequence[npt.NDArray[np.generic]]

    @cached_property
    def offsets(self) -> Sequence[int]:
        """Where each constant begins, and behind them where the last ends; in bytes."""
        offsets = [0]
        for array in self.arrays:
            offsets.append(offsets[-1] + -(-array.nbytes // HEADER) * HEADER)
        return offsets

    @property
    def size(self) -> int:
        """Bytes of constants."""
        return self.offsets[-1]

    @cached_property
    def identity(self) -> int:
        """64 bits that tell these constants from others."""
        digest = sha256()
        for piece in self.pieces():
            digest.update(piece)
        return int.from_bytes(digest.digest()[:8], "little")

    def pieces(self) -> Iterator[bytes | memoryview]:
        """The bytes of all constants, and of the gaps between them."""
        for array in self.arrays:
            yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            yield bytes(-array.nbytes % HEADER)

    def file_pieces(self) -> Iterator[bytes | memoryview]:
        """The content of the file."""
        yield _header(self.size, self.identity)
        yield from self.pieces()


def read_weights(path: Path, size: int, identity: int) -> npt.NDArray[np.uint8]:
    """
    The constants in a file, which stay there until they are used.

    Raises `XonncError` unless there are `size` bytes of them that say that they are those of `identity`.
    """
    try:
        held = np.memmap(path, np.uint8, mode="r")
    except (OSError, ValueError) as error:
        raise XonncError(f"{path}: cannot be read: {error}") from error
    if len(held) < HEADER or held[:HEADER].tobytes() != _header(size, identity):
        raise XonncError(f"{path}: not this program's constants")
    if len(held) != HEADER + size:
        raise XonncError(f"{path}: {len(held) - HEADER} bytes of constants, not {size}")
    return held[HEADER:]


def _header(size: int, identity: int) -> bytes:
    return struct.pack("<8sIIQQ", MAGIC, VERSION, HEADER, size, identity).ljust(HEADER, b"\0")
