"""
Format of the file of constants of a compiled model, `.weight`.

| bytes | content |
|---|---|
| 0 | `XONNCWGT` |
| 8 | format version, 32 bits: 1 |
| 12 | header size in bytes, 32 bits: 64 |
| 16 | size of the constants in bytes, 64 bits |
| 24 | identity: the first 64 bits of the SHA-256 of the constants |
| 32 | 0 |
| 64 | the constants, each aligned to 64 bytes |

Integers are little-endian. Compiled code contains size and identity, and refuses any other file.
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

from xonnc.errors import XonncError, cannot_read

MAGIC = b"XONNCWGT"
VERSION = 1
HEADER_BYTES = 64
"""Size of the header, and alignment of each constant, in bytes."""


@dataclass(frozen=True)
class WeightFile:
    """Constants, concatenated with padding for alignment."""

    arrays: Sequence[npt.NDArray[np.generic]]

    @cached_property
    def offsets(self) -> Sequence[int]:
        """The offset of each constant in bytes, and the end of the last one."""
        offsets = [0]
        for array in self.arrays:
            offsets.append(offsets[-1] + -(-array.nbytes // HEADER_BYTES) * HEADER_BYTES)
        return offsets

    @property
    def size(self) -> int:
        """Size of the constants in bytes."""
        return self.offsets[-1]

    @cached_property
    def identity(self) -> int:
        """The first 64 bits of the SHA-256 of the constants."""
        digest = sha256()
        for piece in self.pieces():
            digest.update(piece)
        return int.from_bytes(digest.digest()[:8], "little")

    def pieces(self) -> Iterator[bytes | memoryview]:
        """Iterate over the bytes of all constants and of the padding between them."""
        for array in self.arrays:
            yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            yield bytes(-array.nbytes % HEADER_BYTES)

    def file_pieces(self) -> Iterator[bytes | memoryview]:
        """Iterate over the content of the file: header, then constants."""
        yield _header(self.size, self.identity)
        yield from self.pieces()


def read_weights(path: Path, size: int, identity: int) -> npt.NDArray[np.uint8]:
    """
    Memory-map the constants in a file.

    Raises `XonncError` if the header or the size of the file differs from `size` and `identity`.
    """
    try:
        data = np.memmap(path, np.uint8, mode="r")
    except (OSError, ValueError) as error:
        raise cannot_read(path, error) from error
    if len(data) < HEADER_BYTES or data[:HEADER_BYTES].tobytes() != _header(size, identity):
        raise XonncError(f"{path}: not the constants of this program")
    if len(data) != HEADER_BYTES + size:
        raise XonncError(f"{path}: {len(data) - HEADER_BYTES} bytes of constants, not {size}")
    return data[HEADER_BYTES:]


def _header(size: int, identity: int) -> bytes:
    return struct.pack("<8sIIQQ", MAGIC, VERSION, HEADER_BYTES, size, identity).ljust(HEADER_BYTES, b"\0")
