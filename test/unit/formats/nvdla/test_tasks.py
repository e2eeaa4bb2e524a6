"""Decoding of tasks, and descriptors that are not where they should be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from xonnc.errors import XonncError
from xonnc.formats.nvdla.enumerations import (
    EmuOpType,
    Interface,
    OpType,
)
from xonnc.formats.nvdla.loadable import AddressEntry, Blob, Loadable, MemoryEntry, SubmitEntry, TaskEntry
from xonnc.formats.nvdla.records import (
    CommonOpDesc,
    EmuBufferDesc,
    EmuNetworkDesc,
    EmuOp,
    Layout,
    NetworkDesc,
    RubikOp,
)
from xonnc.formats.nvdla.tasks import (
    Address,
    DlaTask,
    EmuTask,
    decode_tasks,
    layout_of,
    static_bytes,
)

NETWORK = NetworkDesc(
    dependency_graph_index=1,
    operation_desc_index=2,
    surface_desc_index=3,
    op_head=(-1, -1, -1, -1, -1, 0),
    num_operations=1,
    num_addresses=4,
)
GRAPH = CommonOpDesc(op_type=OpType.RUBIK)


def file_of(
    parts: dict[str, bytes], interface: int = Interface.DLA1, version: tuple[int, int, int] = (0, 12, 3)
) -> Loadable:
    """A loadable of one task whose address list is the given blobs, each in a memory of its own."""
    return Loadable(
        tasks=[TaskEntry(id=0, interface=interface, address_list=tuple(range(len(parts))))],
        submits=[SubmitEntry(id=0, task_id=(0,))],
        memories=[
            MemoryEntry(id=index, flags=3, size=4096, contents=(name,), offsets=(0,))
            for index, name in enumerate(parts)
        ],
        addresses=[AddressEntry(id=index, mem_id=index) for index in range(len(parts))],
        blobs=[
            Blob(name=name, data=data, interface=interface, version=version) for name, data in parts.items()
        ],
    )


def dla_parts(network: NetworkDesc = NETWORK, graph: CommonOpDesc = GRAPH) -> dict[str, bytes]:
    op = RubikOp(mode=1, precision=2, stride_x=3, stride_y=4).pack()
    return {
        "net": network.pack(),
        "dep_graph": graph.pack(),
        "ops": op.ljust(116, b"\0"),
        "surfaces": bytes(644),
    }


SOFTMAX = EmuOp(op_type=1)


def emu_parts(op: EmuOp = SOFTMAX) -> dict[str, bytes]:
    network = EmuNetworkDesc(operation_desc_index=1, operation_buffer_desc_index=2, num_operations=1)
    buffers = EmuBufferDesc(address_index=5).pack() + EmuBufferDesc(channel=10).pack()
    return {"net": network.pack(), "ops": op.pack(), "buffers": buffers}


def test_a_small_dla_task():
    (task,) = decode_tasks(file_of(dla_parts()))
    assert isinstance(task, DlaTask)
    assert (task.name, task.layout, task.network) == ("task 0", Layout.CUBES_32, NETWORK)
    assert task.addresses == tuple(Address(index, 0) for index in range(4))
    (operation,) = task.operations
    assert (operation.engine, operation.dependency) == (OpType.RUBIK, GRAPH)
    assert operation.op == RubikOp(mode=1, precision=2, stride_x=3, stride_y=4)


def test_a_small_emulator_task():
    (task,) = decode_tasks(file_of(emu_parts(), Interface.EMU1, (0, 0, 1)))
    assert isinstance(task, EmuTask)
    (operation,) = task.operations
    assert operation.op.op_type == EmuOpType.SOFTMAX
    assert (operation.source.address_index, operation.destination.channel) == (5, 10)


def edited(parts: dict[str, bytes], **changes: bytes) -> dict[str, bytes]:
    return parts | changes


@pytest.mark.parametrize(
    ("loadable", "message"),
    [
        (
            file_of(dla_parts(), interface=7),
            "task 0: interface 7; 1 (DLA) and 2 (CPU emulator) are known",
        ),
        (file_of({}), "task 0: an empty address list; element 0 names the network descriptor"),
        (
            file_of(edited(dla_parts(), net=bytes(39))),
            "task 0 network descriptor: 40 bytes at 0 of memory 0 are in none of its blobs (net)",
        ),
        (
            file_of(dla_parts(graph=replace(GRAPH, op_type=6))),
            "task 0 operation 0: op_type 6; 0 to 5 are known",
        ),
        (
            file_of(dla_parts(replace(NETWORK, num_operations=2))),
            "task 0 dependency_graph_index: 72 bytes at 0 of memory 1 are in none of its blobs (dep_graph)",
        ),
        (
            file_of(dla_parts(replace(NETWORK, surface_desc_index=4))),
            "task 0 surface_desc_index = 4: the task has 4 addresses",
        ),
        (
            file_of(dla_parts(replace(NETWORK, operation_desc_index=-1))),
            "task 0 operation_desc_index = -1: the task has 4 addresses",
        ),
        (
            file_of(dla_parts(replace(NETWORK, num_luts=1))),
            "task 0 lut_data_index = -1: the task has 4 addresses",
        ),
        (
            file_of(emu_parts(EmuOp(op_type=2)), Interface.EMU1),
            "task 0: emulator operation 2; 0 (power) and 1 (softmax) are known",
        ),
        (
            file_of(edited(emu_parts(), buffers=bytes(511)), Interface.EMU1),
            "task 0 operation_buffer_desc_index: 512 bytes at 0 of memory 2 are in none of its blobs "
            "(buffers)",
        ),
        (
            replace(file_of(dla_parts()), addresses=[AddressEntry(id=0)]),
            "task 0: address 1 of 1 does not exist",
        ),
        (
            replace(file_of(dla_parts()), memories=[]),
            "task 0 network descriptor: memory 0 of 0 does not exist",
        ),
        (
            replace(file_of(dla_parts()), memories=[MemoryEntry(id=0)]),
            "task 0 network descriptor: 40 bytes at 0 of memory 0 are in none of its blobs (it has none)",
        ),
        (
            replace(file_of(dla_parts()), blobs=[]),
            "task 0 network descriptor: memory 0 is filled from blob 'net', which is not in the file",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_where_it_should_be(loadable: Loadable, message: str):
    with pytest.raises(XonncError) as caught:
        decode_tasks(loadable)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("version", "layout"),
    [
        ((0, 10, 0), Layout.CUBES_28),
        ((0, 11, 9), Layout.CUBES_28),
        ((0, 12, 0), Layout.CUBES_32),
        ((0, 12, 5), Layout.CUBES_32),
        ((0, 13, 0), Layout.CUBES_32),
        ((1, 2, 0), Layout.CUBES_28),
    ],
)
def test_the_version_of_the_blobs_tells_the_layout(version: tuple[int, int, int], layout: Layout):
    assert layout_of(version) is layout
    (task,) = decode_tasks(file_of(dla_parts(), version=version))
    assert task.layout is layout


def test_old_emulator_descriptors_are_read_in_todays_form():
    parts = emu_parts() | {"ops": bytes([1, *bytes(15)])}
    graph = {"dep_graph": GRAPH.pack()}
    old = file_of(parts | graph, Interface.EMU1)
    blobs = [
        replace(
            blob, interface=Interface.DLA1 if blob.name == "dep_graph" else Interface.EMU1, version=(0, 11, 0)
        )
        for blob in old.blobs
    ]
    (task,) = decode_tasks(replace(old, blobs=blobs))
    assert isinstance(task, EmuTask)
    assert task.operations[0].op == EmuOp(op_type=1)


def test_static_bytes_are_found_inside_a_blob_further_on():
    loadable = file_of({"a": bytes(range(16)), "b": b"xyz"})
    memory = MemoryEntry(id=0, flags=3, size=64, contents=("a", "b"), offsets=(0, 32))
    loadable = replace(loadable, memories=[memory])
    assert bytes(static_bytes(loadable, Address(0, 4), 3, "")) == bytes([4, 5, 6])
    assert bytes(static_bytes(loadable, Address(0, 33), 2, "")) == b"yz"
    with pytest.raises(
        XonncError, match=r"here: 4 bytes at 32 of memory 0 are in none of its blobs \(a, b\)"
    ):
        static_bytes(loadable, Address(0, 32), 4, "here")


def test_blobs_that_are_made_when_asked_are_read(vector: Callable[[str], Loadable]):
    class Lazy:
        def __init__(self, data: bytes):
            self.data = data

        def __len__(self) -> int:
            return len(self.data)

        def __bytes__(self) -> bytes:
            return self.data

    plain = vector("nv_small/conv_k1_int8")
    lazy = replace(plain, blobs=[replace(blob, data=Lazy(bytes(blob.data))) for blob in plain.blobs])
    assert decode_tasks(lazy) == decode_tasks(plain)
