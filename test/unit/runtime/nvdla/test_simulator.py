"""Loading, binding and running, on a small loadable made here: two SDP operations in a row on nv_small."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from xonnc.errors import XonncError
from xonnc.formats.nvdla.enumerations import DataType, Event, Interface, MemoryFlags, OpType, PixelFormat
from xonnc.formats.nvdla.loadable import (
    AddressEntry,
    Blob,
    Loadable,
    MemoryEntry,
    SubmitEntry,
    TaskEntry,
    TensorDesc,
)
from xonnc.formats.nvdla.records import (
    OP_BYTES,
    BdmaSurface,
    CommonOpDesc,
    Consumer,
    CvtParam,
    DataCube,
    EmuBufferDesc,
    EmuNetworkDesc,
    EmuOp,
    NetworkDesc,
    SdpOp,
    SdpSubOp,
    SdpSurface,
)
from xonnc.runtime.nvdla.simulator import OpResult, Simulator, simulate
from xonnc.targets import load_target

SMALL = load_target("nv_small")
SHAPE = (1, 10, 3, 4)
LINE, SURFACE = 4 * 8, 3 * 4 * 8
SIZE = 2 * SURFACE
ALLOC = MemoryFlags.ALLOC
GRAPH = "task-0-dep_graph"


def cube(address: int) -> DataCube:
    return DataCube(
        address=address, size=SIZE, width=4, height=3, channel=10, line_stride=LINE, surf_stride=SURFACE
    )


def sdp(add: int) -> SdpOp:
    stage = SdpSubOp(enable=1, alu_type=2, type=2, alu_operand=add)
    return SdpOp(out_cvt=CvtParam(scale=1), x1_op=stage)


def descriptors(second_source: int = 2, second_count: int = 1) -> dict[str, bytes]:
    """+1 from the input to memory 2, then +2 from there to the output."""
    network = NetworkDesc(
        operation_desc_index=5,
        surface_desc_index=6,
        dependency_graph_index=4,
        op_head=(-1, -1, 0, -1, -1, -1),
        num_operations=2,
        num_addresses=7,
    )
    follow = [Consumer()] * 6
    follow[OpType.SDP] = Consumer(index=1, event=Event.OP_PROGRAMMED)
    graph = [
        CommonOpDesc(op_type=OpType.SDP, consumers=tuple(follow)),
        CommonOpDesc(op_type=OpType.SDP, dependency_count=second_count),
    ]
    ops = [sdp(1), sdp(2)]
    surfaces = [
        SdpSurface(src_data=cube(1), dst_data=cube(2)),
        SdpSurface(src_data=cube(second_source), dst_data=cube(3)),
    ]
    return {
        "net": network.pack(),
        GRAPH: b"".join(entry.pack() for entry in graph),
        "ops": b"".join(op.pack().ljust(OP_BYTES, b"\0") for op in ops),
        "surfs": b"".join(surface.pack().ljust(BdmaSurface.SIZE, b"\0") for surface in surfaces),
    }


def memory(number: int, content: str, size: int = 4096) -> MemoryEntry:
    return MemoryEntry(id=number, flags=ALLOC | MemoryFlags.SET, size=size, contents=(content,), offsets=(0,))


def tensor(name: str, mem: int) -> TensorDesc:
    return TensorDesc(
        name=name,
        id=mem,
        mem_id=mem,
        size=SIZE,
        data_type=DataType.INT8,
        pixel_format=PixelFormat.FEATURE_X8,
        n=1,
        c=10,
        h=3,
        w=4,
        stride_0=1,
        stride_1=LINE,
        stride_2=SURFACE,
    )


def loadable(graph: str = GRAPH, **changes: int) -> Loadable:
    blobs = descriptors(**changes)
    blobs[graph] = blobs.pop(GRAPH)
    return Loadable(
        tasks=[TaskEntry(id=0, interface=Interface.DLA1, address_list=(0, 1, 2, 3, 4, 5, 6))],
        memories=[
            memory(0, "net"),
            MemoryEntry(id=1, flags=ALLOC | MemoryFlags.INPUT, size=SIZE, tensor_desc_id=0),
            MemoryEntry(id=2, flags=ALLOC, size=SIZE),
            MemoryEntry(id=3, flags=ALLOC | MemoryFlags.OUTPUT, size=SIZE, tensor_desc_id=1),
            memory(4, graph),
            memory(5, "ops"),
            memory(6, "surfs"),
        ],
        addresses=[AddressEntry(id=i, mem_id=i) for i in range(7)],
        blobs=[
            Blob(name=name, data=data, interface=Interface.DLA1, version=(0, 12, 3))
            for name, data in blobs.items()
        ],
        tensors=[tensor("in0", 1), tensor("out0", 3)],
        submits=[SubmitEntry(id=0, task_id=(0,))],
    )


def values(seed: int = 0) -> np.ndarray[tuple[int, ...], np.dtype[np.int8]]:
    return np.random.default_rng(seed).integers(-100, 100, SHAPE).astype(np.int8)


def test_arrays_in_and_out():
    (out,) = simulate(loadable(), SMALL, [values()])
    assert out.name == "out0"
    assert out.tensor.dtype == np.int8
    assert np.array_equal(out.tensor, values() + 3)
    assert len(out.raw) == SIZE


def test_raw_surface_bytes_mean_the_same():
    surface = np.zeros((2, 3, 4, 8), np.int8)
    for c in range(10):
        surface[c // 8, :, :, c % 8] = values()[0, c]
    (out,) = simulate(loadable(), SMALL, [surface.tobytes()])
    assert np.array_equal(out.tensor, values() + 3)


def test_a_simulator_runs_again():
    simulator = Simulator(loadable(), SMALL)
    for seed in range(3):
        (out,) = simulator.run([values(seed)])
        assert np.array_equal(out.tensor, values(seed) + 3)


def test_a_graph_whose_name_the_runtime_does_not_know_runs_once():
    simulator = Simulator(loadable(graph="graph"), SMALL)
    simulator.run([values()])
    with pytest.raises(
        XonncError, match=r"task 0 deadlocks; blocked operations: 1 \(SDP\) for -1 more events"
    ):
        simulator.run([values()])


def test_a_graph_that_hangs_is_reported_with_its_operations():
    with pytest.raises(
        XonncError, match=r"task 0 deadlocks; blocked operations: 1 \(SDP\) for 1 more events"
    ):
        simulate(loadable(second_count=2), SMALL, [values()])


def test_the_observer_sees_every_operation():
    seen: list[OpResult] = []
    simulate(loadable(), SMALL, [values()], observer=seen.append)
    assert [(r.task, r.index, r.engine, r.done, r.total) for r in seen] == [
        (0, 0, "SDP", 1, 2),
        (0, 1, "SDP", 2, 2),
    ]
    first, second = (r.tensor() for r in seen)
    assert first is not None
    assert second is not None
    assert np.array_equal(first, values() + 1)
    assert np.array_equal(second, values() + 3)


def test_unwritten_memory_reads_as_a5():
    (out,) = simulate(loadable(second_source=5), SMALL, [values()])
    assert out.tensor.shape == SHAPE
    free = replace(loadable(), tasks=[], submits=[])
    (out,) = simulate(free, SMALL, [values()])
    assert out.raw == b"\xa5" * SIZE


def test_softmax_on_the_emulator():
    buffers = b"".join(
        EmuBufferDesc(
            address_index=i, format=3, width=1, height=1, channel=5, line_stride=32, surf_stride=32
        ).pack()
        for i in (1, 2)
    )
    blobs = {
        "net": EmuNetworkDesc(operation_desc_index=3, operation_buffer_desc_index=4, num_operations=1).pack(),
        "ops": EmuOp(op_type=1).pack(),
        "buffers": buffers,
    }
    desc = replace(
        tensor("x", 1), data_type=DataType.HALF, pixel_format=PixelFormat.FEATURE, c=5, h=1, w=1, size=32
    )
    desc = replace(desc, stride_1=32, stride_2=32)
    program = Loadable(
        tasks=[TaskEntry(id=0, interface=Interface.EMU1, address_list=(0, 1, 2, 3, 4))],
        memories=[
            memory(0, "net"),
            MemoryEntry(id=1, flags=ALLOC | MemoryFlags.INPUT, size=32, tensor_desc_id=0),
            MemoryEntry(id=2, flags=ALLOC | MemoryFlags.OUTPUT, size=32, tensor_desc_id=0),
            memory(3, "ops"),
            memory(4, "buffers"),
        ],
        addresses=[AddressEntry(id=i, mem_id=i) for i in range(5)],
        blobs=[Blob(name=name, data=data, interface=Interface.EMU1) for name, data in blobs.items()],
        tensors=[desc],
        submits=[SubmitEntry(id=0, task_id=(0,))],
    )
    x = np.array([1.0, -2.0, 0.5, 3.0, 0.0])
    seen: list[OpResult] = []
    (out,) = simulate(program, load_target("nv_full"), [x.reshape(1, 5, 1, 1)], observer=seen.append)
    assert out.tensor.dtype == np.float16
    assert out.tensor.ravel() == pytest.approx(np.exp(x) / np.exp(x).sum(), rel=2e-3)
    assert [r.engine for r in seen] == ["SOFTMAX"]


def with_memory(number: int, **changes: object) -> Loadable:
    base = loadable()
    memories = list(base.memories)
    memories[number] = replace(memories[number], **changes)
    return replace(base, memories=memories)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (with_memory(2, size=SIZE - 1), r"operation 0 \(SDP\) dst_data: 192 bytes at offset 0 leave"),
        (with_memory(2, flags=0), r"operation 0 \(SDP\) dst_data: address 2 has no memory"),
        (with_memory(2, domain=1), r"operation 0 \(SDP\) dst_data: address 2 has no memory"),
        (with_memory(2, id=5), "memory 2 has id 5; ids count from 0"),
        (with_memory(2, size=1 << 40), "the memory objects take .* bytes; the simulator holds up to"),
        (with_memory(1, bind_id=1), "inputs are bound as 1; bind ids count from 0"),
        (with_memory(1, tensor_desc_id=4), "input 0: no tensor descriptor 4 among 2"),
        (with_memory(3, size=100), "tensor out0: its elements end at byte 192, its memory object at 100"),
        (with_memory(3, domain=1), "memory 3 is bound but not in DRAM"),
        (with_memory(4, size=8), "memory 4: blob 'task-0-dep_graph' ends at byte 72 of 8"),
        (with_memory(2, flags=3, contents=("ops",)), "memory 2: 1 contents but 0 offsets"),
        (with_memory(2, flags=3, contents=("x",), offsets=(0,)), "memory 2: no blob 'x' in the file"),
        (
            replace(loadable(), submits=[SubmitEntry(id=0, task_id=(3,))]),
            "submit 0: task 3 of 1 does not exist",
        ),
    ],
)
def test_bad_loadables_are_refused(changed: Loadable, message: str):
    with pytest.raises(XonncError, match=message):
        simulate(changed, SMALL, [values()])


def test_the_number_of_inputs_is_checked():
    with pytest.raises(XonncError, match="2 inputs given; the loadable takes 1"):
        simulate(loadable(), SMALL, [values(), values()])


def test_raw_bytes_beyond_the_memory_are_refused():
    with pytest.raises(XonncError, match="input in0: 193 raw bytes; its surface has 192"):
        simulate(loadable(), SMALL, [bytes(SIZE + 1)])


def test_memory_is_filled_last(monkeypatch: pytest.MonkeyPatch):
    """Whatever a loadable contradicts is told before: a file of a few bytes may ask for gigabytes."""

    def filled(size: int) -> None:
        raise AssertionError(f"{size} bytes are filled")

    monkeypatch.setattr("xonnc.runtime.nvdla.simulator.allocate", filled)
    whole = loadable()
    huge = [replace(entry, size=1 << 40) for entry in whole.memories]
    for changed, message in (
        (replace(whole, memories=huge), "the simulator holds up to"),
        (replace(whole, memories=[*whole.memories[:-1], replace(whole.memories[-1], id=9)]), "has id 9"),
        (replace(whole, tensors=[]), "no tensor descriptor"),
    ):
        with pytest.raises(XonncError, match=message):
            simulate(changed, SMALL, [values()])
