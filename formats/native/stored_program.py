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

Constants may be in files of their own, which many programs have in common (`Apart`).

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
from typing import BinaryIO, Protocol

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError
from xonnc.formats.atomic_write import atomic_write
from xonnc.formats.native.program import Program
from xonnc.formats.native.program_json import MakeRun, constants_of, described, program_of, weights_in
from xonnc.formats.native.weights import Weights

MAGIC = b"XONNCEXE"
VERSION = 4
HEADER = 64
NUMBERS = struct.Struct("<8sIIQQQ")


@dataclass(frozen=True)
class Stored:
    """A program, the machine code of its steps (empty if it has none), and its steering inputs."""

    program: Program
    code: bytes
    steering: Sequence[str]


class Apart(Protocol):
    """Constants in files of their own."""

    def write(self, array: npt.NDArray[np.generic]) -> str | None:
        """Writes a constant, if it is to be apart; the name of its file."""
        ...

    def read(self, name: str, size: int) -> npt.NDArray[np.uint8]:
        """The bytes of a file, of which there have to be `size`; raises `XonncError` if it is damaged."""
        ...


class Nothing:
    """No constant is apart."""

    def write(self, array: npt.NDArray[np.generic]) -> str | None:
        """None is."""
        return None

    def read(self, name: str, size: int) -> npt.NDArray[np.uint8]:
        """None is there."""
        raise XonncError(f"{name}: no such constants")


def write_stored(path: Path, stored: Stored, apart: Apart | None = None) -> None:
    """Writes a program that can be stored, through a temporary file; some constants may be `apart`."""
    apart = apart or Nothing()
    arrays = constants_of(stored.program)
    names = [apart.write(array) for array in arrays]
    weights = Weights([array for array, name in zip(arrays, names, strict=True) if name is None])
    starts = iter(weights.offsets)
    places = [next(starts) if name is None else name for name in names]
    content = described(stored.program, iter(places)) | {"steering": list(stored.steering)}
    description = json.dumps(content, separators=(",", ":")).encode()
    sum_ = 0
    for piece in weights.pieces():
        sum_ = zlib.crc32(piece, sum_)
    numbers = NUMBERS.pack(MAGIC, VERSION, sum_, len(description), len(stored.code), weights.size)
    digest = _digest(numbers, description, stored.code)
    # Nothing is lost with a program that a loss of power damages: it is compiled again. Machine code that
    # others may write to would not be run.
    with atomic_write(path, sync=False, mode=0o600) as file:
        for piece in (numbers, digest, description, stored.code):
            file.write(piece)
        file.write(bytes(-(len(description) + len(stored.code)) % HEADER))
        for piece in weights.pieces():
            file.write(piece)


def read_stored(
    path: Path, apart: Apart | None = None, file: BinaryIO | None = None, make_run: MakeRun | None = None
) -> Stored:
    """
    Reads what `write_stored` writes, from `file` if it is open; constants stay there until they are used.

    Raises `XonncError` for a file that is damaged or of another layout.
    """
    try:
        held = np.memmap(file or path, np.uint8, mode="r")
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
    inside, others = weights_in(weights), apart or Nothing()

    def weigh(begin: int | str, size: int) -> npt.NDArray[np.uint8]:
        return inside(begin, size) if isinstance(begin, int) else others.read(begin, size)

    return Stored(program_of(found, weigh, make_run), code, found["steering"])


def _digest(*pieces: bytes) -> bytes:
    digest = sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.digest()[: HEADER - NUMBERS.size]
