"""
Extraction of large tensor payloads from a serialised model before protobuf parses it.

Most of a model file is weights. This walk follows the wire format (varint tags and length-delimited messages,
see protobuf's "Encoding" page) from the model to its tensors and copies the message without their payloads:
each is replaced by a short marker in `raw_data` with its position in the file. The rest is small and parsed
quickly, and the weights are read from the mapped file.

A marker starts with a 16-byte random nonce of this walk, so no file can contain a forged one.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, field
from typing import TypeAlias

from xonnc.errors import XonncError

Buffer: TypeAlias = memoryview
"""The file, one byte an element."""

MIN_PAYLOAD_BYTES = 1024
"""Smaller payloads are left to protobuf: a copy is cheaper than a marker."""

MAX_DEPTH = 100
"""protobuf's limit of nested messages; it reports deeper ones itself."""

RAW_DATA, FLOAT_DATA, DOUBLE_DATA = 9, 4, 10
"""The fields of `TensorProto` that hold their elements as plain little-endian bytes."""

_MODEL, _TRAINING, _GRAPH, _NODE, _ATTRIBUTE, _FUNCTION, _SPARSE, _TENSOR = range(8)

_CHILDREN: tuple[dict[int, int], ...] = (
    {7: _GRAPH, 20: _TRAINING, 25: _FUNCTION},
    {1: _GRAPH, 2: _GRAPH},
    {1: _NODE, 5: _TENSOR, 15: _SPARSE},
    {5: _ATTRIBUTE},
    {5: _TENSOR, 6: _GRAPH, 10: _TENSOR, 11: _GRAPH, 22: _SPARSE, 23: _SPARSE},
    {7: _NODE, 11: _ATTRIBUTE},
    {1: _TENSOR, 2: _TENSOR},
    {},
)
"""For each message type on the path to a tensor: field numbers to follow, and their types (onnx.proto)."""

_MARK = struct.Struct("<16sBQQ")


@dataclass(frozen=True)
class PayloadLocation:
    """The location of a payload in the file: field number, offset and length in bytes."""

    field: int
    offset: int
    length: int


@dataclass
class PayloadMarkers:
    """Writes the markers of one walk and reads them back."""

    # Random for each walk, so that no model can contain a forged marker that points to other bytes.
    nonce: bytes = field(default_factory=lambda: os.urandom(16))

    def write(self, cut: PayloadLocation) -> bytes:
        """Return the marker that replaces a payload in `raw_data`."""
        return _MARK.pack(self.nonce, cut.field, cut.offset, cut.length)

    def read(self, raw_data: bytes) -> PayloadLocation | None:
        """Return the location that a marker denotes, or `None` if `raw_data` is a payload."""
        if len(raw_data) != _MARK.size or not raw_data.startswith(self.nonce):
            return None
        _, number, offset, length = _MARK.unpack(raw_data)
        return PayloadLocation(number, offset, length)


def without_payloads(buffer: Buffer, marks: PayloadMarkers) -> bytes:
    """Return the serialised model with every payload of at least `MIN_PAYLOAD_BYTES` replaced by a marker."""
    pieces = _Walk(buffer, marks).message(0, len(buffer), _MODEL, 0)
    return bytes(buffer) if pieces is None else b"".join(pieces)


@dataclass
class _Walk:
    buffer: Buffer
    marks: PayloadMarkers

    def message(self, start: int, end: int, kind: int, depth: int) -> list[bytes | memoryview] | None:
        """
        Return the message between `start` and `end` in pieces, or `None` if it contains no payload to
        extract.
        """
        if kind == _TENSOR:
            return self.tensor(start, end)
        if depth > MAX_DEPTH:
            return None
        buffer, children = self.buffer, _CHILDREN[kind]
        pieces: list[bytes | memoryview] = []
        copied = position = start
        while position < end:
            tag = buffer[position]
            if tag < 0x80:
                content = position + 1
            else:
                tag, content = _varint(buffer, position, end)
            # Only length-delimited fields (wire type 2) can contain tensors. Everything between two payloads
            # is copied as one slice from `copied` on, unknown fields included.
            if tag & 7 != 2:
                position = _skip(buffer, content, end, tag)
                continue
            length, content = _varint(buffer, content, end)
            following = content + length
            if following > end:
                raise _truncated(content, length, end)
            child = children.get(tag >> 3) if length >= MIN_PAYLOAD_BYTES else None
            if (
                child is not None
                and (inner := self.message(content, following, child, depth + 1)) is not None
            ):
                pieces += (buffer[copied:position], varint(tag), varint(sum(map(len, inner))))
                pieces += inner
                copied = following
            position = following
        if not pieces:
            return None
        pieces.append(buffer[copied:end])
        return pieces

    def tensor(self, start: int, end: int) -> list[bytes | memoryview] | None:
        """Return the tensor without its payload, or `None` if that is small or not contiguous."""
        buffer = self.buffer
        found: list[tuple[int, int, int, int]] = []
        position = start
        while position < end:
            tag, content = _varint(buffer, position, end)
            if tag & 7 != 2:
                if tag & 7 == 0 and content < end and buffer[content] < 0x80:
                    position = content + 1
                    continue
                position = _skip(buffer, content, end, tag)
                if tag >> 3 in (FLOAT_DATA, DOUBLE_DATA):
                    return None
                continue
            length, content = _varint(buffer, content, end)
            following = content + length
            if following > end:
                raise _truncated(content, length, end)
            if tag >> 3 in (RAW_DATA, FLOAT_DATA, DOUBLE_DATA):
                found.append((position, content, following, tag >> 3))
            position = following
        if len(found) != 1 or found[0][2] - found[0][1] < MIN_PAYLOAD_BYTES:
            return None
        tag_at, content, following, number = found[0]
        mark = self.marks.write(PayloadLocation(number, content, following - content))
        return [
            buffer[start:tag_at],
            varint(RAW_DATA << 3 | 2),
            varint(len(mark)),
            mark,
            buffer[following:end],
        ]


def varint(value: int) -> bytes:
    """Encode an unsigned integer as varint: seven bits per byte, lowest first."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _varint(buffer: Buffer, position: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while position < end:
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise XonncError(
                f"byte {position}: a number longer than 64 bits; this is no ONNX file, or it is damaged"
            )
    raise XonncError(
        f"byte {position}: the file ends within a number; it is no ONNX file, or it is cut short"
    )


def _skip(buffer: Buffer, content: int, end: int, tag: int) -> int:
    """Return the position after a field that is not length-delimited."""
    wire_type = tag & 7
    if wire_type == 0:
        return _varint(buffer, content, end)[1]
    if wire_type not in (1, 5) or not tag >> 3:
        raise XonncError(
            f"byte {content}: field {tag >> 3} of kind {wire_type}; this is no ONNX file, or it is damaged"
        )
    following = content + (8 if wire_type == 1 else 4)
    if following > end:
        raise _truncated(content, following - content, end)
    return following


def _truncated(position: int, length: int, end: int) -> XonncError:
    return XonncError(
        f"byte {position}: a field of {length} bytes where {end - position} are left; "
        "this is no ONNX file, or it is cut short"
    )
