"""Writing: as another reader sees it, in streams, always the same bytes, all or nothing."""

from __future__ import annotations

import importlib
import os
import struct
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from xonnc.errors import XonncError
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
from xonnc.formats.nvdla.reader import parse_loadable, read_loadable
from xonnc.formats.nvdla.writer import to_bytes, write_loadable

LARGEST_16, LARGEST_32, LARGEST_64 = (1 << 16) - 1, (1 << 32) - 1, (1 << 64) - 1

FULL = Loadable(
    version=(1, 2, 3),
    tasks=[
        TaskEntry(
            id=LARGEST_16, interface=LARGEST_32, instance=-1, address_list=(1, LARGEST_16), pre_actions=(7,)
        ),
        TaskEntry(id=1, instance=0, post_actions=(1, 2, 3)),
    ],
    memories=[
        MemoryEntry(
            id=3,
            domain=255,
            flags=LARGEST_16,
            size=LARGEST_64,
            alignment=LARGEST_32,
            contents=("a", "", "ünïcode"),
            offsets=(0, 1, LARGEST_64),
            bind_id=4,
            tensor_desc_id=5,
        ),
        MemoryEntry(id=0, alignment=0),
    ],
    addresses=[AddressEntry(id=1, mem_id=2, offset=LARGEST_64, size=3), AddressEntry(id=0)],
    events=[EventEntry(id=1, type=2, target=3, val=LARGEST_32, op=1)],
    blobs=[
        Blob(name="a", data=b"\1\2\3", interface=1, sub_interface=LARGEST_32, version=(4, 5, 255)),
        Blob(name="", data=b""),
        Blob(name="ünïcode", data=bytes(100), size=7),
    ],
    tensors=[
        TensorDesc(
            name="t",
            id=1,
            mem_id=2,
            size=3,
            offset=4,
            data_format=5,
            data_type=6,
            data_category=7,
            pixel_format=8,
            pixel_mapping=9,
            n=-(1 << 31),
            c=(1 << 31) - 1,
            h=0,
            w=-1,
            **{f"stride_{axis}": LARGEST_32 - axis for axis in range(8)},
        )
    ],
    relocs=[RelocEntry(address_id=1, write_id=2, offset=3, interface=4, sub_interface=5, reloc_type=6)],
    submits=[SubmitEntry(id=1, task_id=(0, 1)), SubmitEntry(id=0)],
)


@dataclass
class Lazy:
    """Bytes that are made when asked for; `made` counts."""

    size: int
    byte: int = 1
    made: int = 0

    def __len__(self) -> int:
        return self.size

    def __bytes__(self) -> bytes:
        self.made += 1
        return bytes([self.byte]) * self.size


def normal(loadable: Loadable) -> Loadable:
    """The loadable as it is read: lists as tuples, the size of every blob spelled out."""
    return Loadable(
        version=loadable.version,
        tasks=tuple(loadable.tasks),
        memories=tuple(loadable.memories),
        addresses=tuple(loadable.addresses),
        events=tuple(loadable.events),
        blobs=tuple(replace(blob, size=blob.byte_size) for blob in loadable.blobs),
        tensors=tuple(loadable.tensors),
        relocs=tuple(loadable.relocs),
        submits=tuple(loadable.submits),
    )


@pytest.mark.parametrize("loadable", [FULL, Loadable()], ids=["full", "empty"])
def test_what_is_written_is_read(loadable: Loadable):
    assert parse_loadable(to_bytes(loadable)) == normal(loadable)


def test_the_same_loadable_gives_the_same_bytes(tmp_path: Path):
    path = tmp_path / "a.nvdla"
    assert write_loadable(FULL, path) == path.stat().st_size
    assert path.read_bytes() == to_bytes(FULL) == to_bytes(replace(FULL))
    assert path.read_bytes()[4:8] == b"NVDA"


def test_a_file_that_is_read_and_written_is_the_same(tmp_path: Path):
    first, second = tmp_path / "1", tmp_path / "2"
    write_loadable(FULL, first)
    write_loadable(read_loadable(first), second)
    assert first.read_bytes() == second.read_bytes()


# The schema once more, by slots and numbers of docs/internals/nvdla-hardware.md §1.1, for the oracle.
SCALARS = {"u8": "Uint8", "u16": "Uint16", "s16": "Int16", "u32": "Uint32", "s32": "Int32", "u64": "Uint64"}
TABLES: dict[str, tuple[type[Any], dict[str, str]]] = {
    "tasks": (
        TaskEntry,
        {
            "id": "u16",
            "interface": "u32",
            "instance": "s16",
            "address_list": "[u16]",
            "pre_actions": "[u16]",
            "post_actions": "[u16]",
        },
    ),
    "memories": (
        MemoryEntry,
        {
            "id": "u16",
            "domain": "u8",
            "flags": "u16",
            "size": "u64",
            "alignment": "u32",
            "contents": "[string]",
            "offsets": "[u64]",
            "bind_id": "u16",
            "tensor_desc_id": "u16",
        },
    ),
    "addresses": (AddressEntry, {"id": "u16", "mem_id": "u16", "offset": "u64", "size": "u64"}),
    "events": (EventEntry, {"id": "u16", "type": "u8", "target": "u16", "val": "u32", "op": "u8"}),
    "blobs": (
        Blob,
        {
            "name": "string",
            "size": "u64",
            "interface": "u32",
            "sub_interface": "u32",
            "version": "version",
            "data": "bytes",
        },
    ),
    "tensors": (
        TensorDesc,
        {
            "name": "string",
            "id": "u16",
            "mem_id": "u16",
            "size": "u64",
            "offset": "u64",
            "data_format": "u8",
            "data_type": "u8",
            "data_category": "u8",
            "pixel_format": "u8",
            "pixel_mapping": "u8",
            "n": "s32",
            "c": "s32",
            "h": "s32",
            "w": "s32",
        }
        | {f"stride_{axis}": "u32" for axis in range(8)},
    ),
    "relocs": (
        RelocEntry,
        {
            "address_id": "u16",
            "write_id": "u16",
            "offset": "u64",
            "interface": "u32",
            "sub_interface": "u32",
            "reloc_type": "u8",
        },
    ),
    "submits": (SubmitEntry, {"id": "u16", "task_id": "[u16]"}),
}


class Oracle:
    """Reads a loadable with the `flatbuffers` package."""

    def __init__(self, data: bytes):
        flatbuffers: Any = importlib.import_module("flatbuffers")
        self.numbers: Any = importlib.import_module("flatbuffers.number_types")
        self.table_type: Any = importlib.import_module("flatbuffers.table").Table
        self.data = data
        assert flatbuffers.util.BufferHasIdentifier(data, 0, b"NVDA")
        self.root: Any = self.table_type(
            data, flatbuffers.encode.Get(self.numbers.UOffsetTFlags.packer_type, data, 0)
        )

    def scalar(self, table: Any, kind: str, position: int) -> int:
        return table.Get(getattr(self.numbers, f"{SCALARS[kind]}Flags"), position)

    def field(self, table: Any, number: int, kind: str) -> Any:
        offset: int = table.Offset(4 + 2 * number)
        if kind in SCALARS:
            return self.scalar(table, kind, table.Pos + offset) if offset else 0
        assert offset, f"slot {number} is empty"
        if kind == "version":
            return tuple(self.scalar(table, "u8", table.Pos + offset + part) for part in range(3))
        if kind == "string":
            return table.String(table.Pos + offset).decode()
        count: int = table.VectorLen(offset)
        begin: int = table.Vector(offset)
        if kind == "bytes":
            return bytes(self.data[begin : begin + count])
        of = kind.strip("[]")
        if of == "string":
            return tuple(table.String(begin + 4 * index).decode() for index in range(count))
        width = int(of[1:]) // 8
        return tuple(self.scalar(table, of, begin + width * index) for index in range(count))

    def loadable(self) -> Loadable:
        names = ["tasks", "memories", "addresses", "events", "blobs", "tensors", "relocs", "submits"]
        lists = {name: self.entries(1 + slot, *TABLES[name]) for slot, name in enumerate(names)}
        return Loadable(version=self.field(self.root, 0, "version"), **lists)

    def entries(self, slot: int, kind: type[Any], layout: dict[str, str]) -> tuple[Any, ...]:
        offset: int = self.root.Offset(4 + 2 * slot)
        begin, count = self.root.Vector(offset), self.root.VectorLen(offset)
        tables = [self.table_type(self.data, self.root.Indirect(begin + 4 * index)) for index in range(count)]
        return tuple(
            kind(**{name: self.field(table, number, of) for number, (name, of) in enumerate(layout.items())})
            for table in tables
        )


@pytest.mark.parametrize("loadable", [FULL, Loadable()], ids=["full", "empty"])
def test_another_reader_reads_the_same(loadable: Loadable):
    pytest.importorskip("flatbuffers")
    assert Oracle(to_bytes(loadable)).loadable() == normal(loadable)


def test_another_reader_reads_the_vectors_as_we_do(vector: Callable[[str], Loadable]):
    pytest.importorskip("flatbuffers")
    for name in ("nv_small/conv_k1_int8", "nv_full/emu_softmax", "nv_full/graph_two_in_two_out_fp16"):
        loadable = vector(name)
        assert Oracle(to_bytes(loadable)).loadable() == loadable


def test_numbers_and_payloads_are_aligned():
    data = to_bytes(FULL)
    # Read back by position: every payload's elements begin at a multiple of 64, vectors of u64 at one of 8.
    for payload in (bytes([1, 2, 3]), bytes(100)):
        length = struct.pack("<I", len(payload))
        offset = data.find(length + payload)
        assert (offset + 4) % 64 == 0
    offsets = struct.pack("<I3Q", 3, 0, 1, LARGEST_64)
    assert (data.find(offsets) + 4) % 8 == 0


def test_payloads_stream(tmp_path: Path):
    count, size = 20, 10_000_000
    lazy = [Lazy(size, index) for index in range(count)]
    loadable = Loadable(blobs=[Blob(name=f"tb-{i}", data=data) for i, data in enumerate(lazy)])
    path = tmp_path / "big.nvdla"
    tracemalloc.start()
    written = write_loadable(loadable, path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert written > count * size
    # One payload at a time, however many there are.
    assert peak < 1.3 * size
    assert [data.made for data in lazy] == [1] * count
    assert [blob.data[-1] for blob in read_loadable(path).blobs if isinstance(blob.data, memoryview)] == list(
        range(count)
    )


def test_payloads_over_4_gib_are_refused_before_they_are_made(tmp_path: Path):
    lazy = Lazy(1 << 32)
    with pytest.raises(XonncError) as caught:
        write_loadable(Loadable(blobs=[Blob(name="tb-0", data=lazy)]), tmp_path / "a.nvdla")
    assert str(caught.value) == "tb-0: the loadable would be over 4 GiB, more than its format can hold"
    assert lazy.made == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("loadable", "message"),
    [
        (Loadable(addresses=[AddressEntry(id=65536)]), "AddressEntry.id = 65536: does not fit its field"),
        (Loadable(addresses=[AddressEntry(id=-1)]), "AddressEntry.id = -1: does not fit its field"),
        (Loadable(memories=[MemoryEntry(id=0, size=1 << 64)]), f"MemoryEntry.size = {1 << 64}: "),
        (Loadable(tasks=[TaskEntry(id=0, instance=1 << 15)]), "TaskEntry.instance = 32768: "),
        (Loadable(tensors=[TensorDesc(name="x", n=1 << 31)]), "TensorDesc.n = 2147483648: "),
        (Loadable(events=[EventEntry(id=0, type=256)]), "EventEntry.type = 256: "),
    ],
)
def test_what_does_not_fit_names_its_field(loadable: Loadable, message: str):
    with pytest.raises(XonncError, match=message.replace(".", r"\.")):
        to_bytes(loadable)


class Broken:
    """Data that cannot be made."""

    def __len__(self) -> int:
        return 4

    def __bytes__(self) -> bytes:
        raise XonncError("the weights are gone")


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path):
    path = tmp_path / "a.nvdla"
    path.write_bytes(b"before")
    with pytest.raises(XonncError, match="the weights are gone"):
        write_loadable(Loadable(blobs=[Blob(name="tb-0", data=Broken())]), path)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_has_the_rights_of_any_new_file(tmp_path: Path):
    previous = os.umask(0o027)
    try:
        write_loadable(Loadable(), tmp_path / "a.nvdla")
    finally:
        os.umask(previous)
    assert (tmp_path / "a.nvdla").stat().st_mode & 0o777 == 0o640


def test_data_that_is_not_as_long_as_it_says_is_refused(tmp_path: Path):
    class Liar(Lazy):
        def __bytes__(self) -> bytes:
            return bytes(self.size + 1)

    with pytest.raises(XonncError, match="tb-0: 6 bytes were written, but 5 were declared"):
        write_loadable(Loadable(blobs=[Blob(name="tb-0", data=Liar(5))]), tmp_path / "a.nvdla")


def test_a_folder_that_does_not_exist_is_an_error_of_ours(tmp_path: Path):
    path = tmp_path / "missing" / "a.nvdla"
    with pytest.raises(XonncError) as caught:
        write_loadable(Loadable(), path)
    assert str(caught.value) == f"{path}: cannot be written: No such file or directory"


def test_a_folder_in_the_way_stays(tmp_path: Path):
    path = tmp_path / "a.nvdla"
    path.mkdir()
    with pytest.raises(XonncError, match=r"a.nvdla: is a folder; name a file in it"):
        write_loadable(Loadable(), path)
    assert list(tmp_path.iterdir()) == [path]
