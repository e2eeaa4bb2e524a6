"""
The tables of the loadable's FlatBuffers schema: slots and types of all fields
(docs/internals/nvdla-hardware.md §1.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from xonnc.formats.nvdla.loadable import (
    AddressEntry,
    Blob,
    EventEntry,
    Loadable,
    MemoryEntry,
    RelocEntry,
    SubmitEntry,
    TaskEntry,
    TensorDesc,
)


class Number(Enum):
    """A scalar by its struct code."""

    U8 = "B"
    U16 = "H"
    S16 = "h"
    U32 = "I"
    S32 = "i"
    U64 = "Q"


class FieldKind(Enum):
    """Field types that are not scalars."""

    STRING = "string"
    VERSION = "version"
    PAYLOAD = "payload"


@dataclass(frozen=True)
class Vector:
    """A vector of scalars, strings or tables."""

    of: Number | FieldKind | Table


@dataclass(frozen=True)
class Table:
    """A table: `fields` in the order of their slots, `type` is the class of its objects."""

    type: type[object]
    fields: tuple[tuple[str, FieldType], ...]
    required: frozenset[str] = frozenset()


FieldType: TypeAlias = Number | FieldKind | Vector

_N = Number

BLOB = Table(
    Blob,
    (
        ("name", FieldKind.STRING),
        ("size", _N.U64),
        ("interface", _N.U32),
        ("sub_interface", _N.U32),
        ("version", FieldKind.VERSION),
        ("data", FieldKind.PAYLOAD),
    ),
    frozenset(("name", "version", "data")),
)

MEMORY = Table(
    MemoryEntry,
    (
        ("id", _N.U16),
        ("domain", _N.U8),
        ("flags", _N.U16),
        ("size", _N.U64),
        ("alignment", _N.U32),
        ("contents", Vector(FieldKind.STRING)),
        ("offsets", Vector(_N.U64)),
        ("bind_id", _N.U16),
        ("tensor_desc_id", _N.U16),
    ),
)

ADDRESS = Table(AddressEntry, (("id", _N.U16), ("mem_id", _N.U16), ("offset", _N.U64), ("size", _N.U64)))

EVENT = Table(
    EventEntry, (("id", _N.U16), ("type", _N.U8), ("target", _N.U16), ("val", _N.U32), ("op", _N.U8))
)

TASK = Table(
    TaskEntry,
    (
        ("id", _N.U16),
        ("interface", _N.U32),
        ("instance", _N.S16),
        ("address_list", Vector(_N.U16)),
        ("pre_actions", Vector(_N.U16)),
        ("post_actions", Vector(_N.U16)),
    ),
)

SUBMIT = Table(SubmitEntry, (("id", _N.U16), ("task_id", Vector(_N.U16))))

TENSOR = Table(
    TensorDesc,
    (
        ("name", FieldKind.STRING),
        ("id", _N.U16),
        ("mem_id", _N.U16),
        ("size", _N.U64),
        ("offset", _N.U64),
        ("data_format", _N.U8),
        ("data_type", _N.U8),
        ("data_category", _N.U8),
        ("pixel_format", _N.U8),
        ("pixel_mapping", _N.U8),
        ("n", _N.S32),
        ("c", _N.S32),
        ("h", _N.S32),
        ("w", _N.S32),
        *((f"stride_{axis}", _N.U32) for axis in range(8)),
    ),
    frozenset(("name",)),
)

RELOC = Table(
    RelocEntry,
    (
        ("address_id", _N.U16),
        ("write_id", _N.U16),
        ("offset", _N.U64),
        ("interface", _N.U32),
        ("sub_interface", _N.U32),
        ("reloc_type", _N.U8),
    ),
)

LOADABLE = Table(
    Loadable,
    (
        ("version", FieldKind.VERSION),
        ("tasks", Vector(TASK)),
        ("memories", Vector(MEMORY)),
        ("addresses", Vector(ADDRESS)),
        ("events", Vector(EVENT)),
        ("blobs", Vector(BLOB)),
        ("tensors", Vector(TENSOR)),
        ("relocs", Vector(RELOC)),
        ("submits", Vector(SUBMIT)),
    ),
    frozenset(
        ("version", "tasks", "memories", "addresses", "events", "blobs", "tensors", "relocs", "submits")
    ),
)
