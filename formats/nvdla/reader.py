"""
Reader of loadable files: bounds-checked FlatBuffers access over a mapped file.

The vendor's runtime verifies nothing and crashes on malformed files. Here every offset and length is checked
before use; payloads are views of the file.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xonnc.argument_types import checks_arguments
from xonnc.errors import XonncError, cannot_read
from xonnc.formats.file_types import NVDLA_LOADABLE, identify_bytes
from xonnc.formats.input_files import record_input
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.schema import LOADABLE, FieldKind, FieldType, Number, Table, Vector

_MIN_FILE_BYTES = 8
_OBJECT_ALLOWANCE = 10_000


@checks_arguments
def read_loadable(path: str | Path) -> Loadable:
    """
    Read a loadable; its payloads are views of the mapped file.

    Parameters:
        path: the loadable (.nvdla).

    Returns: the loadable, not yet checked against a target.

    Raises: `XonncError` for a missing or malformed file.

    Example:
        >>> loadable = xonnc.read_loadable(Path("model.nvdla"))
    """
    path = Path(path)
    if not path.is_file():
        raise XonncError(f"{path}: no such file")
    try:
        record_input(path)
        with path.open("rb") as file:
            if path.stat().st_size == 0:
                raise XonncError(f"{path}: the file is empty; it should be an NVDLA loadable")
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise cannot_read(path, error) from None
    return parse_loadable(data, str(path))


def parse_loadable(data: bytes | memoryview, name: str = "loadable") -> Loadable:
    """Parse the loadable in `data`; `name` is used in errors."""
    view = memoryview(data)
    return _Reader(view, name, len(view) + _OBJECT_ALLOWANCE).loadable()


@dataclass
class _Reader:
    data: memoryview
    name: str
    budget: int
    """
    Objects that may still be read. Without this limit a small file whose offsets share parts expands to an
    exponential number of objects.
    """

    def loadable(self) -> Loadable:
        if len(self.data) < _MIN_FILE_BYTES:
            raise self.malformed(f"{len(self.data)} bytes: not an NVDLA loadable")
        return self.table(LOADABLE, self.number(Number.U32, 0), "Loadable")

    def malformed(self, reason: str) -> XonncError:
        if (meaning := identify_bytes(self.data)) not in (None, NVDLA_LOADABLE):
            return XonncError(f"{self.name}: no NVDLA loadable: this is {meaning}")
        return XonncError(f"{self.name}: {reason}; the file is damaged or no NVDLA loadable")

    def span(self, position: int, size: int, what: str) -> memoryview:
        if position < 0 or position + size > len(self.data):
            raise self.malformed(
                f"{what} reaches from {position} to {position + size} of {len(self.data)} bytes"
            )
        return self.data[position : position + size]

    def spend(self, parts: int, what: str) -> None:
        self.budget -= parts
        if self.budget < 0:
            raise self.malformed(f"{what} has more parts than the file has bytes")

    def number(self, kind: Number, position: int, what: str = "an offset") -> int:
        size = struct.calcsize("<" + kind.value)
        return struct.unpack("<" + kind.value, self.span(position, size, what))[0]

    def table(self, table: Table, position: int, what: str) -> Any:
        self.spend(1, what)
        vtable = position - self.number(Number.S32, position, what)
        slots = (self.number(Number.U16, vtable, what) - 4) // 2
        values: dict[str, Any] = {}
        for slot, (field, kind) in enumerate(table.fields):
            offset = self.number(Number.U16, vtable + 4 + 2 * slot, what) if slot < slots else 0
            if offset:
                values[field] = self.field(kind, position + offset, f"{what}.{field}")
            elif field in table.required:
                raise self.malformed(f"{what} has no {field}")
            elif isinstance(kind, Number):
                values[field] = 0
        return table.type(**values)

    def field(self, kind: FieldType, position: int, what: str) -> Any:
        if isinstance(kind, Number):
            return self.number(kind, position, what)
        if kind is FieldKind.VERSION:
            return tuple(self.span(position, 3, what))
        target = position + self.number(Number.U32, position, what)
        if kind is FieldKind.STRING:
            return self.string(target, what)
        if kind is FieldKind.PAYLOAD:
            return self.span(target + 4, self.number(Number.U32, target, what), what)
        return self.vector(kind, target, what)

    def string(self, position: int, what: str) -> str:
        raw = self.span(position + 4, self.number(Number.U32, position, what), what)
        self.spend(len(raw), what)
        try:
            return str(raw, "utf-8")
        except UnicodeDecodeError:
            raise self.malformed(f"{what} is no UTF-8 text") from None

    def vector(self, kind: Vector, position: int, what: str) -> tuple[Any, ...]:
        count = self.number(Number.U32, position, what)
        begin = position + 4
        if isinstance(kind.of, Number):
            step = struct.calcsize("<" + kind.of.value)
            self.spend(count, what)
            return struct.unpack(f"<{count}{kind.of.value}", self.span(begin, count * step, what))
        self.span(begin, 4 * count, what)
        self.spend(count, what)
        items: list[Any] = []
        for index in range(count):
            offset = begin + 4 * index
            target = offset + self.number(Number.U32, offset, what)
            item = f"{what}[{index}]"
            items.append(
                self.table(kind.of, target, item) if isinstance(kind.of, Table) else self.string(target, item)
            )
        return tuple(items)
