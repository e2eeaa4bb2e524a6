"""The tasks of a loadable with their descriptors decoded (docs/internals/nvdla-hardware.md §1.4, §2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeVar

from xonnc.errors import XonncError
from xonnc.formats.nvdla.enumerations import EmuOpType, Interface, OpType
from xonnc.formats.nvdla.loadable import Loadable, MemoryEntry, TaskEntry, Version
from xonnc.formats.nvdla.records import (
    OP_BYTES,
    BdmaOp,
    BdmaSurface,
    CdpOp,
    CdpSurface,
    CommonOpDesc,
    ConvOp,
    ConvSurface,
    EmuBufferDesc,
    EmuNetworkDesc,
    EmuOp,
    Layout,
    LutParam,
    NetworkDesc,
    OldEmuBufferDesc,
    OldEmuOp,
    PdpOp,
    PdpSurface,
    RubikOp,
    RubikSurface,
    SdpOp,
    SdpSurface,
    surface_bytes,
)

Op: TypeAlias = BdmaOp | ConvOp | SdpOp | PdpOp | CdpOp | RubikOp
Surface: TypeAlias = BdmaSurface | ConvSurface | SdpSurface | PdpSurface | CdpSurface | RubikSurface

RECORDS: dict[OpType, tuple[type[Op], type[Surface]]] = {
    OpType.BDMA: (BdmaOp, BdmaSurface),
    OpType.CONV: (ConvOp, ConvSurface),
    OpType.SDP: (SdpOp, SdpSurface),
    OpType.PDP: (PdpOp, PdpSurface),
    OpType.CDP: (CdpOp, CdpSurface),
    OpType.RUBIK: (RubikOp, RubikSurface),
}
"""The operation and surface structures of each engine."""

_EMU_OP_BYTES = {Layout.CUBES_28: 16, Layout.CUBES_32: 24}
_EMU_BUFFER_BYTES = 512


@dataclass(frozen=True)
class Address:
    """An address that a task refers to: an offset in a memory object."""

    memory: int
    offset: int


@dataclass(frozen=True)
class Operation:
    """One operation of a DLA task."""

    index: int
    engine: OpType
    dependency: CommonOpDesc
    op: Op
    surface: Surface


@dataclass(frozen=True)
class DlaTask:
    """A task of the accelerator."""

    id: int
    layout: Layout
    addresses: tuple[Address, ...]
    network: NetworkDesc
    operations: tuple[Operation, ...]
    luts: tuple[LutParam, ...]

    @property
    def name(self) -> str:
        """The name of the task in messages."""
        return f"task {self.id}"

    @cached_property
    def queues(self) -> Mapping[OpType, Sequence[int]]:
        """The operations of each engine in the order of its consumer slots; stops at invalid links."""
        return {engine: self._queue(engine) for engine in OpType}

    @cached_property
    def queue_positions(self) -> Mapping[int, int]:
        """The position of each operation in the queue of its engine."""
        return {index: at for queue in self.queues.values() for at, index in enumerate(queue)}

    def _queue(self, engine: OpType) -> Sequence[int]:
        queue: dict[int, None] = {}
        index = self.network.op_head[engine]
        while 0 <= index < len(self.operations) and index not in queue:
            operation = self.operations[index]
            if operation.engine is not engine:
                break
            queue[index] = None
            index = operation.dependency.consumers[engine].index
        return tuple(queue)


@dataclass(frozen=True)
class EmuOperation:
    """One operation of the CPU emulator."""

    op: EmuOp
    source: EmuBufferDesc
    destination: EmuBufferDesc


@dataclass(frozen=True)
class EmuTask:
    """A task of the runtime's CPU emulator."""

    id: int
    layout: Layout
    addresses: tuple[Address, ...]
    network: EmuNetworkDesc
    operations: tuple[EmuOperation, ...]

    @property
    def name(self) -> str:
        """The name of the task in messages."""
        return f"task {self.id}"


def decode_tasks(loadable: Loadable) -> list[DlaTask | EmuTask]:
    """Decode all tasks in the order of the task list; raise `XonncError` for descriptors out of bounds."""
    layout = interface_layout(loadable)
    return [decode_task(loadable, task, layout) for task in loadable.tasks]


def interface_layout(loadable: Loadable) -> Layout:
    """Return the layout of data cubes of the DLA blobs, the newer one if there are none."""
    versions = [blob.version for blob in loadable.blobs if blob.interface == Interface.DLA1]
    return layout_of(versions[0]) if versions else Layout.CUBES_32


def layout_of(version: Version) -> Layout:
    """
    The layout of a DLA blob version; ONNC's 1.2.0 is the older one (docs/internals/nvdla-hardware.md §1.7).
    """
    major, minor, _ = version
    return Layout.CUBES_32 if major == 0 and minor >= 12 else Layout.CUBES_28


def static_bytes(loadable: Loadable, address: Address, size: int, what: str) -> memoryview:
    """Return `size` bytes at `address` after loading, from the blob that covers them."""
    memory = memory_of(loadable, address.memory, what)
    for name, offset in zip(memory.contents, memory.offsets, strict=False):
        blob = loadable.by_name.get(name)
        if blob is None:
            raise XonncError(
                f"{what}: memory {memory.id} is filled from blob '{name}', which is not in the file"
            )
        begin = address.offset - offset
        if begin >= 0 and begin + size <= min(blob.byte_size, len(blob.data)):
            data = blob.data if isinstance(blob.data, bytes | memoryview) else bytes(blob.data)
            return memoryview(data)[begin : begin + size]
    raise XonncError(
        f"{what}: {size} bytes at {address.offset} of memory {memory.id} are in none of its blobs "
        f"({', '.join(memory.contents) or 'it has none'})"
    )


def memory_of(loadable: Loadable, index: int, what: str) -> MemoryEntry:
    """Return the memory entry with this id."""
    if not 0 <= index < len(loadable.memories):
        raise XonncError(f"{what}: memory {index} of {len(loadable.memories)} does not exist")
    return loadable.memories[index]


def decode_task(loadable: Loadable, task: TaskEntry, layout: Layout) -> DlaTask | EmuTask:
    """Decode one task; `layout` is that of the file."""
    what = f"task {task.id}"
    addresses = tuple(_address(loadable, index, what) for index in task.address_list)
    if not addresses:
        raise XonncError(f"{what}: an empty address list; element 0 names the network descriptor")
    if task.interface == Interface.DLA1:
        return _dla_task(_TaskDescriptors(loadable, task.id, addresses, layout))
    if task.interface == Interface.EMU1:
        return _emu_task(_TaskDescriptors(loadable, task.id, addresses, layout))
    raise XonncError(f"{what}: interface {task.interface}; 1 (DLA) and 2 (CPU emulator) are known")


def _address(loadable: Loadable, index: int, what: str) -> Address:
    if not 0 <= index < len(loadable.addresses):
        raise XonncError(f"{what}: address {index} of {len(loadable.addresses)} does not exist")
    entry = loadable.addresses[index]
    return Address(entry.mem_id, entry.offset)


T = TypeVar("T")


@dataclass(frozen=True)
class _TaskDescriptors:
    """The descriptors of one task."""

    loadable: Loadable
    id: int
    addresses: tuple[Address, ...]
    layout: Layout

    def array(
        self, index: int, count: int, step: int, field: str, unpack: Callable[[memoryview, int], T]
    ) -> list[T]:
        """Decode `count` descriptors of `step` bytes at the address with this index."""
        what = f"task {self.id} {field}"
        if count == 0:
            return []
        if not 0 <= index < len(self.addresses):
            raise XonncError(f"{what} = {index}: the task has {len(self.addresses)} addresses")
        data = static_bytes(self.loadable, self.addresses[index], count * step, what)
        return [unpack(data[position * step : (position + 1) * step], position) for position in range(count)]


def _dla_task(source: _TaskDescriptors) -> DlaTask:
    layout = source.layout
    network = source.array(
        0, 1, NetworkDesc.byte_size(), "network descriptor", lambda data, _: NetworkDesc.unpack(data)
    )[0]
    count = network.num_operations
    graph = source.array(
        network.dependency_graph_index,
        count,
        CommonOpDesc.byte_size(),
        "dependency_graph_index",
        lambda data, _: CommonOpDesc.unpack(data),
    )
    engines = [_engine(source.id, index, entry.op_type) for index, entry in enumerate(graph)]
    ops = source.array(
        network.operation_desc_index,
        count,
        OP_BYTES,
        "operation_desc_index",
        lambda data, index: RECORDS[engines[index]][0].unpack(data, 0, layout),
    )
    surfaces = source.array(
        network.surface_desc_index,
        count,
        surface_bytes(layout),
        "surface_desc_index",
        lambda data, index: RECORDS[engines[index]][1].unpack(data, 0, layout),
    )
    luts = source.array(
        network.lut_data_index,
        network.num_luts,
        LutParam.byte_size(),
        "lut_data_index",
        lambda data, _: LutParam.unpack(data),
    )
    operations = tuple(map(Operation, range(count), engines, graph, ops, surfaces))
    return DlaTask(source.id, layout, source.addresses, network, operations, tuple(luts))


def _engine(task: int, index: int, op_type: int) -> OpType:
    try:
        return OpType(op_type)
    except ValueError:
        raise XonncError(f"task {task} operation {index}: op_type {op_type}; 0 to 5 are known") from None


def _emu_task(source: _TaskDescriptors) -> EmuTask:
    network = source.array(
        0, 1, EmuNetworkDesc.byte_size(), "network descriptor", lambda data, _: EmuNetworkDesc.unpack(data)
    )[0]
    ops = source.array(
        network.operation_desc_index,
        network.num_operations,
        _EMU_OP_BYTES[source.layout],
        "operation_desc_index",
        lambda data, _: _emu_op(data, source.layout),
    )
    for op in ops:
        if op.op_type not in list(EmuOpType):
            raise XonncError(
                f"task {source.id}: emulator operation {op.op_type}; 0 (power) and 1 (softmax) are known"
            )
    buffers = source.array(
        network.operation_buffer_desc_index,
        network.num_operations,
        _EMU_BUFFER_BYTES,
        "operation_buffer_desc_index",
        lambda data, _: (_emu_buffer(data, source.layout), _emu_buffer(data[256:], source.layout)),
    )
    operations = tuple(EmuOperation(op, *pair) for op, pair in zip(ops, buffers, strict=True))
    return EmuTask(source.id, source.layout, source.addresses, network, operations)


def _emu_op(data: memoryview, layout: Layout) -> EmuOp:
    return EmuOp.unpack(data) if layout is Layout.CUBES_32 else OldEmuOp.unpack(data).current()


def _emu_buffer(data: memoryview, layout: Layout) -> EmuBufferDesc:
    return (
        EmuBufferDesc.unpack(data) if layout is Layout.CUBES_32 else OldEmuBufferDesc.unpack(data).current()
    )
