"""
A compiled program with its machine code and constants as one file.

| bytes | what |
|---|---|
| 0 | `XONNCEXE` |
| 8 | version of the layout, 32 bits |
| 12 | CRC-32 of the constants |
| 16 | bytes of description, of machine code and of constants, 64 bits each |
| 40 | the first 24 bytes of the SHA-256 of bytes 0 to 39, description and code |
| 64 | the description, JSON; the machine code; from the next multiple of 64 on the constants |

What is read is checked before it is used: machine code that is damaged must not run.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from xonnc.errors import XonncError
from xonnc.formats.native.description import constants_of, described, program_of
from xonnc.formats.native.program import Program
from xonnc.formats.native.weights import Weights
from xonnc.formats.replacing import replacing

MAGIC = b"XONNCEXE"
VERSION = 2
HEADER = 64
NUMBERS = struct.Struct("<8sIIQQQ")


@dataclass(frozen=True)
class Stored:
    """A program, the machine code of its steps (empty if it has none), and its steering inputs."""

    program: Program
    code: bytes
    steering: Sequence[str]


def write_stored(path: Path, stored: Stored) -> None:
    """Writes a program that can be stored, through a temporary file."""
    weights = Weights(constants_of(stored.program))
    content = described(stored.program, iter(weights.offsets)) | {"steering": list(stored.steering)}
    description = json.dumps(content, separators=(",", ":")).encode()
    sum_ = 0
    for piece in weights.pieces():
        sum_ = zlib.crc32(piece, sum_)
    numbers = NUMBERS.pack(MAGIC, VERSION, sum_, len(description), len(stored.code), weights.size)
    digest = _digest(numbers, description, stored.code)
    with replacing(path) as file:
        for piece in (numbers, digest, description, stored.code):
            file.write(piece)
        file.write(bytes(-(len(description) + len(stored.code)) % HEADER))
        for piece in weights.pieces():
            file.write(piece)


def read_stored(path: Path) -> Stored:
    """
    Reads what `write_stored` writes; constants stay in the file until they are used.

    Raises `XonncError` for a file that is damaged or of another layout.
    """
    try:
        held = np.memmap(path, np.uint8, mode="r")
    except (OSError, ValueError) as error:
        raise XonncError(f"{path}: cannot be read: {error}") from error
    head = held[:HEADER].tobytes()
    if len(head) < HEADER or head[:8] != MAGIC:
        raise XonncError(f"{path}: no stored program")
    _, version, sum_, description_size, code_size, weight_size = NUMBERS.unpack_from(head)
    behind = HEADER + description_size + code_size
    start = -(-behind // HEADER) * HEADER
    if version != VERSION or len(held) != start + weight_size:
        raise XonncError(f"{path}: a stored program of another version or size")
    description = held[HEADER : HEADER + description_size].tobytes()
    code = held[HEADER + description_size : behind].tobytes()
    weights = held[start:]
    if _digest(head[: NUMBERS.size], description, code) != head[NUMBERS.size :]:
        raise XonncError(f"{path}: the stored program is damaged")
    if zlib.crc32(weights.data) != sum_:
        raise XonncError(f"{path}: the stored constants are damaged")
    found = json.loads(description)
    return Stored(program_of(found, weights), code, found["steering"])


def _digest(*pieces: bytes) -> bytes:
    digest = sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.digest()[: HEADER - NUMBERS.size]
