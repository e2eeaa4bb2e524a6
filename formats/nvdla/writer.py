"""
Writer of loadable files.

FlatBuffers are laid out front to back here: tables first, payloads last, so that payloads are streamed into
the file one at a time and never held twice. (A FlatBuffers builder grows one buffer from the back and copies
it at each doubling: three times the weights at the peak.) Equal loadables give equal bytes.
"""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

from xonnc.errors import XonncError
from xonnc.formats.atomic_write import atomic_write
from xonnc.formats.byte_sink import ByteSink
from xonnc.formats.nvdla.loadable import Blob, Loadable
from xonnc.formats.nvdla.schema import LOADABLE, FieldKind, FieldType, Number, Table, Vector

IDENTIFIER = b"NVDA"
_PAYLOAD_ALIGNMENT = 64
_MAX_UINT32 = (1 << 32) - 1


def write_loadable(loadable: Loadable, path: Path) -> int:
    """Write `loadable` atomically to `path`; return the number of bytes."""
    with atomic_write(path) as file:
        return write_to(loadable, file)


def to_bytes(loadable: Loadable) -> bytes:
    """Return the bytes of the file."""
    file = io.BytesIO()
    write_to(loadable, file)
    return file.getvalue()


def write_to(loadable: Loadable, file: ByteSink) -> int:
    """Write the bytes of the file to a stream; return their number."""
    layout = _Layout()
    end = layout.finish(loadable)
    file.write(layout.head)
    position = len(layout.head)
    for start, blob in layout.payloads:
        file.write(b"\0" * (start - position))
        position = start + _write_payload(blob, file)
    return end


def _write_payload(blob: Blob, file: ByteSink) -> int:
    """
    Write the size and bytes of a blob, which are freed before the next blob's are produced; return the size.
    """
    data = blob.data if isinstance(blob.data, bytes | memoryview) else bytes(blob.data)
    if len(data) != len(blob.data):
        raise XonncError(f"{blob.name}: {len(data)} bytes were written, but {len(blob.data)} were declared")
    file.write(struct.pack("<I", len(data)))
    file.write(data)
    return 4 + len(data)


class _Layout:
    """The head of a file, everything but the payloads, and the position of each payload."""

    def __init__(self) -> None:
        self.head = bytearray(8)
        self.head[4:8] = IDENTIFIER
        self.payloads: list[tuple[int, Blob]] = []
        self._pending: list[tuple[int, Blob]] = []
        self._vtables: dict[bytes, int] = {}

    def finish(self, loadable: Loadable) -> int:
        """Lay out the file; return its size."""
        self._point(0, self._table(LOADABLE, loadable))
        position = len(self.head)
        for offset, blob in self._pending:
            # The elements, which follow the 4-byte count, are aligned.
            start = -(-(position + 4) // _PAYLOAD_ALIGNMENT) * _PAYLOAD_ALIGNMENT - 4
            position = start + 4 + len(blob.data)
            if position > _MAX_UINT32:
                raise XonncError(
                    f"{blob.name}: the loadable would be over 4 GiB, more than its format can hold"
                )
            self._point(offset, start)
            self.payloads.append((start, blob))
        return position

    def _point(self, index: int, target: int) -> None:
        struct.pack_into("<I", self.head, index, target - index)

    def _align(self, size: int, ahead: int = 0) -> int:
        """Pad so that the position `ahead` bytes further on is a multiple of `size`; return the position."""
        self.head.extend(b"\0" * (-(len(self.head) + ahead) % size))
        return len(self.head)

    def _table(self, table: Table, record: Any) -> int:
        """Append a table and what it refers to; the largest fields come first, so that all are aligned."""
        values = {name: getattr(record, name) for name, _ in table.fields}
        if isinstance(record, Blob):
            values["size"] = record.byte_size
        present = [
            (slot, name, kind)
            for slot, (name, kind) in enumerate(table.fields)
            if not isinstance(kind, Number) or values[name] != 0
        ]
        present.sort(key=lambda field: -_inline_size(field[2]))
        offsets = [0] * len(table.fields)
        end = 4
        for slot, _, kind in present:
            offsets[slot] = end
            end += _inline_size(kind)
        vtable = self._vtable(struct.pack(f"<{2 + len(offsets)}H", 4 + 2 * len(offsets), end, *offsets))
        position = self._align(8, ahead=4)
        self.head.extend(b"\0" * end)
        struct.pack_into("<i", self.head, position, position - vtable)
        for slot, name, kind in present:
            self._field(kind, position + offsets[slot], values[name], record, name)
        return position

    def _vtable(self, packed: bytes) -> int:
        if packed not in self._vtables:
            self._vtables[packed] = self._align(4)
            self.head.extend(packed)
        return self._vtables[packed]

    def _field(self, kind: FieldType, index: int, value: Any, record: Any, name: str) -> None:
        if isinstance(kind, Number):
            try:
                struct.pack_into("<" + kind.value, self.head, index, value)
            except struct.error:
                raise XonncError(
                    f"{type(record).__name__}.{name} = {value}: does not fit its field"
                ) from None
        elif kind is FieldKind.VERSION:
            self.head[index : index + 3] = bytes(value)
        elif kind is FieldKind.STRING:
            self._point(index, self._string(value))
        elif kind is FieldKind.PAYLOAD:
            self._pending.append((index, record))
        else:
            self._point(index, self._vector(kind, value))

    def _string(self, text: str) -> int:
        raw = text.encode()
        position = self._align(4)
        self.head.extend(struct.pack("<I", len(raw)) + raw + b"\0")
        return position

    def _vector(self, kind: Vector, values: tuple[Any, ...]) -> int:
        if isinstance(kind.of, Number):
            position = self._align(8, ahead=4) if kind.of is Number.U64 else self._align(4)
            self.head.extend(struct.pack(f"<I{len(values)}{kind.of.value}", len(values), *values))
            return position
        position = self._align(4)
        self.head.extend(struct.pack("<I", len(values)) + b"\0" * (4 * len(values)))
        for index, value in enumerate(values):
            target = self._table(kind.of, value) if isinstance(kind.of, Table) else self._string(value)
            self._point(position + 4 + 4 * index, target)
        return position


def _inline_size(kind: FieldType) -> int:
    """Return the bytes of a field in its table."""
    if isinstance(kind, Number):
        return struct.calcsize("<" + kind.value)
    return 3 if kind is FieldKind.VERSION else 4
