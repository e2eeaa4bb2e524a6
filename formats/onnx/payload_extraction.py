"""
Cuts big tensor payloads out of a serialised model before protobuf sees it.

A model file is mostly weights. The walk below follows the wire format (varint tags, length-delimited
messages: protobuf's "Encoding" page) from the model down to its tensors and writes the same message again
without their payloads: each is replaced by a short mark in `raw_data` that says where in the file the bytes
are. What is left is small, protobuf parses it in no time, and the weights stay where they are: in the map.

A mark starts with sixteen random bytes made for this one walk, so no file can contain one.
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
"""Payloads below this many bytes stay with protobuf: a copy is cheaper than a mark."""

MAX_DEPTH = 100
"""Messages nested deeper than this are protobuf's own limit; it says so itself."""

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
"""For each message on the way to a tensor: the field numbers that lead further, and to what (onnx.proto)."""

_MARK = struct.Struct("<16sBQQ")


@dataclass(frozen=True)
class PayloadLocation:
    """Where a payload lies in the file: the field it was in, its first byte, its length in bytes."""

    field: int
    offset: int
    length: int


@dataclass
class PayloadMarkers:
    """Makes the marks of one walk and reads them back."""

    nonce: bytes = field(default_factory=lambda: os.urandom(16))

    def write(self, cut: PayloadLocation) -> bytes:
        """The bytes that stand in `raw_data` for a payload that was cut out."""
        return _MARK.pack(self.nonce, cut.field, cut.offset, cut.length)

    def read(self, raw_data: bytes) -> PayloadLocation | None:
        """The cut that `raw_data` stands for, or `None` if it is a payload itself."""
        if len(raw_data) != _MARK.size or not raw_data.startswith(self.nonce):
            return None
        _, number, offset, length = _MARK.unpack(raw_data)
        return PayloadLocation(number, offset, length)


def without_payloads(buffer: Buffer, marks: PayloadMarkers) -> bytes:
    """The serialised model in `buffer` with every payload of 1 KiB and more replaced by a mark."""
    pieces = _Walk(buffer, marks).message(0, len(buffer), _MODEL, 0)
    return bytes(buffer) if pieces is None else b"".join(pieces)


@dataclass
class _Walk:
    buffer: Buffer
    marks: PayloadMarkers

    def message(self, start: int, end: int, kind: int, depth: int) -> list[bytes | memoryview] | None:
        """The message between `start` and `end` in pieces, or `None` if it has nothing to cut."""
        if kind == _TENSOR:
            return self.tensor(start, end)
        if depth > MAX_DEPTH:
            return None
        buffer, children = self.buffer, _CHILDREN[kind]
        pieces: list[bytes | memoryview] = []
        kept = position = start
        while position < end:
            tag = buffer[position]
            if tag < 0x80:
                content = position + 1
            else:
                tag, content = _varint(buffer, position, end)
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
                pieces += (buffer[kept:position], varint(tag), varint(sum(map(len, inner))))
                pieces += inner
                kept = following
            position = following
        if not pieces:
            return None
        pieces.append(buffer[kept:end])
        return pieces

    def tensor(self, start: int, end: int) -> list[bytes | memoryview] | None:
        """The tensor without its payload; `None` if that is small, or not one run of bytes."""
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
    """`value` in protobuf's variable-length encoding: seven bits a byte, lowest first."""
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
    """The position after a field that is not length-delimited."""
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
