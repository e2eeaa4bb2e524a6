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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError
from xonnc.formats.native.program import Check, NativeStep, Place, Port, Program, Value
from xonnc.formats.native.weights import Weights
from xonnc.formats.replacing import replacing

MAGIC = b"XONNCEXE"
VERSION = 1
HEADER = 64
NUMBERS = struct.Struct("<8sIIQQQ")


@dataclass(frozen=True)
class Stored:
    """A program, the machine code of its steps (empty if it has none), and its steering inputs."""

    program: Program
    code: bytes
    steering: Sequence[str]


def can_store(program: Program) -> bool:
    """Whether a program is numbers alone: host calls and strings are Python's."""
    dtypes = [value.dtype for value in program.values] + [
        port.dtype for port in (*program.inputs, *program.outputs)
    ]
    is_native = all(isinstance(step, NativeStep) for step in program.steps)
    is_held = any(value.place is Place.HELD for value in program.values)
    return is_native and not is_held and all(dtype is not None and not dtype.hasobject for dtype in dtypes)


def write_stored(path: Path, stored: Stored) -> None:
    """Writes a program that can be stored, through a temporary file."""
    arrays = [value.constant for value in stored.program.values if value.constant is not None]
    weights = Weights(arrays)
    description = json.dumps(_described(stored, weights), separators=(",", ":")).encode()
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
    return _read(json.loads(description), code, weights)


def _digest(*pieces: bytes) -> bytes:
    digest = sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.digest()[: HEADER - NUMBERS.size]


def _described(stored: Stored, weights: Weights) -> dict[str, object]:
    program = stored.program
    starts = iter(weights.offsets)
    return {
        "arena": program.arena,
        "values": [
            [
                value.place.value,
                value.shape,
                str(value.dtype),
                value.offset,
                value.same_as,
                value.shift,
                None
                if value.constant is None
                else [next(starts), value.constant.shape, str(value.constant.dtype)],
            ]
            for value in program.values
        ],
        "steps": [
            [
                step.function,
                list(step.kernels),
                [[check.value, check.least, check.most, check.message] for check in step.checks],
                step.node,
            ]
            for step in program.steps
            if isinstance(step, NativeStep)
        ],
        "inputs": [_port(port) for port in program.inputs],
        "outputs": [_port(port) for port in program.outputs],
        "steering": list(stored.steering),
    }


def _port(port: Port) -> list[object]:
    return [port.name, port.value, port.shape, str(port.dtype)]


def _read(found: Mapping[str, Any], code: bytes, weights: npt.NDArray[np.uint8]) -> Stored:
    """The program of a description that is not damaged."""
    program = Program(arena=found["arena"])
    for place, shape, dtype, offset, same_as, shift, constant in found["values"]:
        value = Value(Place(place), _shape(shape), _dtype(dtype), offset, None, same_as, shift)
        if constant is not None:
            begin, sizes, name = constant
            end = begin + int(np.prod(sizes, dtype=np.int64)) * _dtype(name).itemsize
            value.constant = np.asarray(weights[begin:end]).view(_dtype(name)).reshape(sizes)
        program.values.append(value)
    for function, kernels, checks, node in found["steps"]:
        program.steps.append(NativeStep(function, kernels, [Check(*check) for check in checks], node))
    for ports, written in ((program.inputs, found["inputs"]), (program.outputs, found["outputs"])):
        for name, value, shape, dtype in written:
            ports.append(Port(name, value, _shape(shape), _dtype(dtype)))
    return Stored(program, code, found["steering"])


def _shape(sizes: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if sizes is None else tuple(sizes)


def _dtype(name: str) -> np.dtype[np.generic]:
    """A type by its name, those of `ml_dtypes` too."""
    return np.dtype(getattr(ml_dtypes, name, name))
