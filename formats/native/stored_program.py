"""
Format of a compiled program with its machine code and constants in one file, as the cache stores it.

| bytes | content |
|---|---|
| 0 | `XONNCEXE` |
| 8 | format version, 32 bits |
| 12 | CRC-32 of the constants |
| 16 | sizes of description, machine code and constants in bytes, 64 bits each |
| 40 | the first 24 bytes of the SHA-256 of bytes 0 to 39, description and code |
| 64 | the description (JSON); the machine code; the constants, aligned to 64 bytes |

Large constants may be in separate files that several programs share (`ExternalConstants`).

Reading checks the digests before anything is used: damaged machine code must not run.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError, cannot_read
from xonnc.formats.atomic_write import atomic_write
from xonnc.formats.native.program import Program
from xonnc.formats.native.program_json import (
    LoadOperator,
    constants_in,
    constants_of,
    program_from_json,
    program_to_json,
)
from xonnc.formats.native.weights import WeightFile

MAGIC = b"XONNCEXE"
VERSION = 5
HEADER_BYTES = 64
HEADER_FIELDS = struct.Struct("<8sIIQQQ")


@dataclass(frozen=True)
class StoredProgram:
    """A program, the machine code of its steps (empty if it has none), and its shape-determining inputs."""

    program: Program
    code: bytes
    shape_determining: Sequence[str]


class ExternalConstants(Protocol):
    """Storage of constants in separate files."""

    def write(self, array: npt.NDArray[np.generic]) -> str | None:
        """Write a constant and return the name of its file; `None` to store it inline."""
        ...

    def read(self, name: str, size: int) -> npt.NDArray[np.uint8]:
        """Return the `size` bytes of a file; raise `XonncError` if it is damaged."""
        ...


class NoExternalConstants:
    """Store every constant inline."""

    def write(self, array: npt.NDArray[np.generic]) -> str | None:
        """Store it inline."""
        return None

    def read(self, name: str, size: int) -> npt.NDArray[np.uint8]:
        """Raise `XonncError`: there are no external constants."""
        raise XonncError(f"{name}: no such constants")


def write_stored(path: Path, stored: StoredProgram, external: ExternalConstants | None = None) -> None:
    """Write a serialisable program atomically; `external` may store some constants in separate files."""
    external = external or NoExternalConstants()
    arrays = constants_of(stored.program)
    names = [external.write(array) for array in arrays]
    weights = WeightFile([array for array, name in zip(arrays, names, strict=True) if name is None])
    starts = iter(weights.offsets)
    locations = [next(starts) if name is None else name for name in names]
    content = program_to_json(stored.program, iter(locations)) | {
        "shape_determining": list(stored.shape_determining)
    }
    description = json.dumps(content, separators=(",", ":")).encode()
    checksum = 0
    for piece in weights.pieces():
        checksum = zlib.crc32(piece, checksum)
    header = HEADER_FIELDS.pack(MAGIC, VERSION, checksum, len(description), len(stored.code), weights.size)
    digest = _digest(header, description, stored.code)
    # No fsync: a file that a power loss damages fails its digest and is compiled again. Mode 0600: machine
    # code that other users may write to is not trusted on reading.
    with atomic_write(path, sync=False, mode=0o600) as file:
        for piece in (header, digest, description, stored.code):
            file.write(piece)
        file.write(bytes(-(len(description) + len(stored.code)) % HEADER_BYTES))
        for piece in weights.pieces():
            file.write(piece)


def read_stored(
    path: Path,
    external: ExternalConstants | None = None,
    file: BinaryIO | None = None,
    load_operator: LoadOperator | None = None,
) -> StoredProgram:
    """
    Read what `write_stored` writes, from `file` if it is already open; constants are memory-mapped.

    Raises `XonncError` for a file that is damaged or of another format version.
    """
    try:
        data = np.memmap(file or path, np.uint8, mode="r")
    except (OSError, ValueError) as error:
        raise cannot_read(path, error) from error
    head = data[:HEADER_BYTES].tobytes()
    if len(head) < HEADER_BYTES or head[:8] != MAGIC:
        raise XonncError(f"{path}: not a stored program")
    _, version, checksum, description_size, code_size, weight_size = HEADER_FIELDS.unpack_from(head)
    code_end = HEADER_BYTES + description_size + code_size
    start = -(-code_end // HEADER_BYTES) * HEADER_BYTES
    if version != VERSION or len(data) != start + weight_size:
        raise XonncError(f"{path}: a stored program of another version or size")
    description = data[HEADER_BYTES : HEADER_BYTES + description_size].tobytes()
    code = data[HEADER_BYTES + description_size : code_end].tobytes()
    weights = data[start:]
    if _digest(head[: HEADER_FIELDS.size], description, code) != head[HEADER_FIELDS.size :]:
        raise XonncError(f"{path}: the stored program is damaged")
    if zlib.crc32(weights.data) != checksum:
        raise XonncError(f"{path}: the stored constants are damaged")
    found = json.loads(description)
    inline, others = constants_in(weights), external or NoExternalConstants()

    def read_constant(begin: int | str, size: int) -> npt.NDArray[np.uint8]:
        return inline(begin, size) if isinstance(begin, int) else others.read(begin, size)

    return StoredProgram(
        program_from_json(found, read_constant, load_operator), code, found["shape_determining"]
    )


def _digest(*pieces: bytes) -> bytes:
    digest = sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.digest()[: HEADER_BYTES - HEADER_FIELDS.size]
