"""Files that are damaged, one class of field at a time: each gives one line of ours."""

from __future__ import annotations

import random
import struct
import tracemalloc
from dataclasses import dataclass
from pathlib import Path

import pytest

from xonnc.errors import XonncError
from xonnc.formats.nvdla.loadable import (
    AddressEntry,
    Blob,
    Loadable,
    MemoryEntry,
    SubmitEntry,
    TaskEntry,
    TensorDesc,
)
from xonnc.formats.nvdla.reader import parse_loadable, read_loadable
from xonnc.formats.nvdla.writer import to_bytes, write_loadable

LOADABLE = Loadable(
    tasks=[TaskEntry(id=0, interface=1, address_list=(0, 1))],
    submits=[SubmitEntry(id=0, task_id=(0,))],
    memories=[
        MemoryEntry(id=0, flags=3, size=4096, contents=("weights",), offsets=(0,)),
        MemoryEntry(id=1, flags=5, size=64),
    ],
    addresses=[AddressEntry(id=0), AddressEntry(id=1, mem_id=1, offset=32, size=32)],
    blobs=[Blob(name="weights", data=bytes(range(64)))],
    tensors=[TensorDesc(name="x", n=-1, c=3, stride_7=9, size=1 << 40)],
)


@dataclass
class File:
    """A FlatBuffers file seen without our reader, to find the place to damage."""

    data: bytearray

    def u32(self, position: int) -> int:
        return struct.unpack_from("<I", self.data, position)[0]

    def root(self) -> int:
        return self.u32(0)

    def vtable(self, table: int) -> int:
        return table - struct.unpack_from("<i", self.data, table)[0]

    def slot(self, table: int, number: int) -> int:
        """Where the vtable says how far on a field is."""
        return self.vtable(table) + 4 + 2 * number

    def field(self, table: int, number: int) -> int:
        offset = struct.unpack_from("<H", self.data, self.slot(table, number))[0]
        assert offset, f"slot {number} is empty"
        return table + offset

    def target(self, table: int, number: int) -> int:
        """What the offset in a field points to."""
        offset = self.field(table, number)
        return offset + self.u32(offset)

    def item(self, vector: int, index: int) -> int:
        offset = vector + 4 + 4 * index
        return offset + self.u32(offset)

    def put(self, position: int, number: int, code: str = "I") -> bytes:
        struct.pack_into("<" + code, self.data, position, number)
        return bytes(self.data)


DAMAGED = "; the file is damaged or no NVDLA loadable"
TASKS, MEMORIES, BLOBS, TENSORS = 1, 2, 5, 6
NAME, VERSION, DATA, CONTENTS, OFFSETS = 0, 4, 5, 5, 6


@pytest.fixture
def file() -> File:
    return File(bytearray(to_bytes(LOADABLE)))


def message(data: bytes) -> str:
    with pytest.raises(XonncError) as caught:
        parse_loadable(data, "a.nvdla")
    text = str(caught.value)
    assert text.startswith("a.nvdla: ")
    assert text.endswith(DAMAGED)
    assert "\n" not in text
    return text.removeprefix("a.nvdla: ").removesuffix(DAMAGED)


def test_the_undamaged_file(file: File):
    read = parse_loadable(bytes(file.data))
    assert read.tasks == tuple(LOADABLE.tasks)
    assert read.memories == tuple(LOADABLE.memories)
    assert (read.events, read.relocs) == ((), ())
    assert read.by_name["weights"].data == bytes(range(64))
    assert read.tensors[0].n == -1


@pytest.mark.parametrize("size", range(8))
def test_a_file_too_short_for_anything(file: File, size: int):
    assert message(bytes(file.data[:size])) == f"{size} bytes: not an NVDLA loadable"


def test_a_root_beyond_the_file(file: File):
    size = len(file.data)
    assert message(file.put(0, size)) == f"Loadable reaches from {size} to {size + 4} of {size} bytes"


def test_a_vtable_beyond_the_file(file: File):
    root, size = file.root(), len(file.data)
    offset = root + size
    assert (
        message(file.put(root, -size, "i"))
        == f"Loadable reaches from {offset} to {offset + 2} of {size} bytes"
    )


def test_a_vtable_before_the_file(file: File):
    root = file.root()
    assert (
        message(file.put(root, root + 2, "i")) == f"Loadable reaches from -2 to 0 of {len(file.data)} bytes"
    )


def test_a_field_beyond_the_file(file: File):
    root, size = file.root(), len(file.data)
    assert message(file.put(file.slot(root, TASKS), 0xFFFF, "H")) == (
        f"Loadable.tasks reaches from {root + 0xFFFF} to {root + 0xFFFF + 4} of {size} bytes"
    )


@pytest.mark.parametrize(
    ("slot", "name"),
    list(
        enumerate(
            ["version", "tasks", "memories", "addresses", "events", "blobs", "tensors", "relocs", "submits"]
        )
    ),
)
def test_a_list_that_is_missing(file: File, slot: int, name: str):
    # The vendor's runtime crashes on these (docs/internals/nvdla-hardware.md §1.2).
    assert message(file.put(file.slot(file.root(), slot), 0, "H")) == f"Loadable has no {name}"


@pytest.mark.parametrize(("slot", "name"), [(NAME, "name"), (VERSION, "version"), (DATA, "data")])
def test_a_blob_without_a_part(file: File, slot: int, name: str):
    blob = file.item(file.target(file.root(), BLOBS), 0)
    assert message(file.put(file.slot(blob, slot), 0, "H")) == f"Loadable.blobs[0] has no {name}"


def test_a_tensor_without_a_name(file: File):
    tensor = file.item(file.target(file.root(), TENSORS), 0)
    assert message(file.put(file.slot(tensor, 0), 0, "H")) == "Loadable.tensors[0] has no name"


def test_a_vector_of_tables_that_is_too_long(file: File):
    vector = file.target(file.root(), MEMORIES)
    assert message(file.put(vector, 1 << 30)) == (
        f"Loadable.memories reaches from {vector + 4} to {vector + 4 + (4 << 30)} of {len(file.data)} bytes"
    )


def test_a_vector_of_numbers_that_is_too_long(file: File):
    memory = file.item(file.target(file.root(), MEMORIES), 0)
    vector = file.target(memory, OFFSETS)
    text = message(file.put(vector, (1 << 29) - 1))
    assert text.startswith(("Loadable.memories[0].offsets has more", "Loadable.memories[0].offsets reaches"))


def test_a_vector_of_strings_with_one_beyond_the_file(file: File):
    memory = file.item(file.target(file.root(), MEMORIES), 0)
    vector = file.target(memory, CONTENTS)
    text = message(file.put(vector + 4, 1 << 31))
    assert text.startswith("Loadable.memories[0].contents[0] reaches from")


def test_a_string_that_is_too_long(file: File):
    name = file.target(file.item(file.target(file.root(), BLOBS), 0), NAME)
    assert message(file.put(name, 0xFFFFFFFF)).startswith(
        f"Loadable.blobs[0].name reaches from {name + 4} to"
    )


def test_a_string_that_is_no_text(file: File):
    name = file.target(file.item(file.target(file.root(), BLOBS), 0), NAME)
    assert message(file.put(name + 4, 0xFF, "B")) == "Loadable.blobs[0].name is no UTF-8 text"


def test_a_payload_that_is_too_long(file: File):
    data = file.target(file.item(file.target(file.root(), BLOBS), 0), DATA)
    assert message(file.put(data, 65)) == (
        f"Loadable.blobs[0].data reaches from {data + 4} to {data + 69} of {len(file.data)} bytes"
    )


def test_every_truncation(file: File):
    for size in range(len(file.data)):
        with pytest.raises(XonncError, match=r"^loadable: .*; the file is damaged or no NVDLA loadable$"):
            parse_loadable(bytes(file.data[:size]))


def test_a_small_file_does_not_stand_for_a_huge_one(file: File):
    # Every element of a long vector is the same memory entry, whose names are the same long string.
    root = file.root()
    shared = file.item(file.target(root, MEMORIES), 0)
    text = len(file.data)
    file.data += struct.pack("<I", 50_000) + b"a" * 50_000 + bytes(-50_000 % 4)
    names = len(file.data)
    count = 25_000
    file.data += struct.pack("<I", count)
    file.data += b"".join(struct.pack("<I", (text - (names + 4 + 4 * i)) % (1 << 32)) for i in range(count))
    offset = file.field(shared, CONTENTS)
    file.put(offset, (names - offset) % (1 << 32))
    # Offsets are unsigned, so the strings stand behind the vector.
    strings = len(file.data)
    file.data += struct.pack("<I", 50_000) + b"a" * 50_000
    for index in range(count):
        file.put(names + 4 + 4 * index, strings - (names + 4 + 4 * index))
    tracemalloc.start()
    assert message(bytes(file.data)).endswith("has more parts than the file has bytes")
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


def test_payloads_are_views_of_the_file(tmp_path: Path):
    size = 20_000_000
    path = tmp_path / "big.nvdla"
    blob = Blob(name="weights", data=random.Random(1).randbytes(size))
    write_loadable(Loadable(blobs=[blob]), path)
    tracemalloc.start()
    read = read_loadable(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    assert isinstance(read.blobs[0].data, memoryview)
    assert read.blobs[0].data == blob.data


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "no such file"),
        (b"", "the file is empty; it should be an NVDLA loadable"),
        (b"ONNX", "4 bytes: not an NVDLA loadable; the file is damaged or no NVDLA loadable"),
        (
            b"\x08\0\0\0NVDA",
            "Loadable reaches from 8 to 12 of 8 bytes; the file is damaged or no NVDLA loadable",
        ),
    ],
)
def test_files_that_are_no_loadables(tmp_path: Path, content: bytes | None, reason: str):
    path = tmp_path / "a.nvdla"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(XonncError) as caught:
        read_loadable(path)
    assert str(caught.value) == f"{path}: {reason}"


def test_a_folder_is_no_loadable(tmp_path: Path):
    with pytest.raises(XonncError, match="no such file"):
        read_loadable(tmp_path)


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.nvdla"
    write_loadable(Loadable(), path)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(XonncError) as caught:
        read_loadable(path)
    assert str(caught.value) == f"{path}: cannot be read: Permission denied"
