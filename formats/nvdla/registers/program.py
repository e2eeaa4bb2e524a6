"""
The register sequence of a loadable: what the firmware would write, in one order that its rules allow.

The dependency graph is followed as the firmware follows it: operations are programmed into the free register
group of their engine while another runs, and enabled once their events have arrived. Where the firmware
reacts to interrupts in the order of their arrival, the sequence awaits a certain one; engines are never
idle for longer than until that one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from xonnc.errors import XonncError
from xonnc.formats.nvdla.accesses import accesses
from xonnc.formats.nvdla.enumerations import Event, MemoryDomain, MemoryFlags, MemoryType, OpType
from xonnc.formats.nvdla.event_scheduling import Scheduler, graph_node
from xonnc.formats.nvdla.geometry import round_up
from xonnc.formats.nvdla.loadable import Loadable, MemoryEntry
from xonnc.formats.nvdla.records import (
    BdmaSurface,
    CdpOp,
    CdpSurface,
    ConvOp,
    ConvSurface,
    PdpOp,
    PdpSurface,
    RubikOp,
    RubikSurface,
    SdpOp,
    SdpSurface,
)
from xonnc.formats.nvdla.registers.conv import BLOCKS, conv_writes
from xonnc.formats.nvdla.registers.copies import bdma_writes, rubik_writes
from xonnc.formats.nvdla.registers.lookup_tables import lut_writes
from xonnc.formats.nvdla.registers.pooling import cdp_writes, pdp_writes
from xonnc.formats.nvdla.registers.sdp import reads_memory, sdp_writes
from xonnc.formats.nvdla.registers.writes import (
    AddressWrite,
    Launch,
    Locate,
    Poll,
    Remark,
    SelectGroup,
    Step,
    Wait,
    Write,
)
from xonnc.formats.nvdla.tasks import Address, DlaTask, EmuTask, Operation, decode_tasks
from xonnc.targets import NvdlaTarget

_ALIGNMENT = 4096
"""Memory objects start at multiples of this."""

_STATUS = {OpType.CONV: "CACC", OpType.RUBIK: "RUBIK"}
"""Names of engines in the interrupt status register, where not those of the engines."""


@dataclass(frozen=True)
class Tensor:
    """An input or output in the memory of a program."""

    name: str
    position: int
    size: int


@dataclass(frozen=True)
class Image:
    """Bytes that a program expects in its memory."""

    name: str
    position: int
    data: bytes


@dataclass(frozen=True)
class RegisterProgram:
    """A register sequence with its memory, one contiguous range; positions count from its start."""

    target: str
    steps: tuple[Step, ...]
    images: tuple[Image, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    memory_bytes: int
    operations: int


def register_program(loadable: Loadable, target: NvdlaTarget) -> RegisterProgram:
    """
    Return the register sequence of a valid loadable.

    Raises `XonncError` for operations of the CPU emulator, events of the convolution's fetches, and memory
    objects in SRAM, which a sequence of register writes cannot express.
    """
    tasks = [_dla(task) for task in decode_tasks(loadable)]
    positions, size = _memory_positions(loadable, tasks, target)
    sequence = _Sequence(target, positions)
    sequence.steps.append(Write("GLB", "S_INTR_MASK", 0))
    for submit in loadable.submits:
        for index in submit.task_id:
            sequence.add(tasks[index])
    return RegisterProgram(
        target.name,
        tuple(sequence.steps),
        tuple(_images(loadable, positions)),
        _tensors(loadable, MemoryFlags.INPUT, positions),
        _tensors(loadable, MemoryFlags.OUTPUT, positions),
        size,
        sequence.operations,
    )


def _dla(task: DlaTask | EmuTask) -> DlaTask:
    if isinstance(task, EmuTask):
        raise XonncError(
            f"{task.name} runs on the CPU emulator of NVIDIA's runtime, not on registers; compile the model "
            "without its Softmax and Pow, which your program computes ('xonnc extract' cuts a model)"
        )
    for operation in task.operations:
        for consumer in operation.dependency.consumers:
            if consumer.index >= 0 and consumer.event in (Event.CDMA_WT_DONE, Event.CDMA_DT_DONE):
                raise XonncError(
                    f"{task.name} operation {operation.index}: an operation depends on its event "
                    f"{Event(consumer.event).name}; register sequences know OP_COMPLETED, OP_PROGRAMMED and "
                    "OP_ENABLED"
                )
    return task


def _memory_positions(
    loadable: Loadable, tasks: list[DlaTask], target: NvdlaTarget
) -> tuple[dict[int, int], int]:
    """Return the positions of the memory objects that operations touch, by number, and the size of all."""
    touched = {
        task.addresses[access.address].memory
        for task in tasks
        for operation in task.operations
        for access in accesses(operation, target)
    }
    touched |= {entry.id for entry in loadable.memories if _is_bound(entry)}
    positions: dict[int, int] = {}
    end = 0
    for entry in loadable.memories:
        if entry.id not in touched:
            continue
        if entry.domain != MemoryDomain.SYSTEM:
            raise XonncError(
                f"memory {entry.id} is in SRAM; register sequences place all memory in one range of DRAM"
            )
        positions[entry.id] = end
        end = round_up(end + entry.size, _ALIGNMENT)
    return positions, end


def _is_bound(entry: MemoryEntry) -> bool:
    return bool(entry.flags & (MemoryFlags.INPUT | MemoryFlags.OUTPUT))


def _images(loadable: Loadable, positions: Mapping[int, int]) -> Iterator[Image]:
    for number, position in positions.items():
        entry = loadable.memories[number]
        if entry.flags & MemoryFlags.SET:
            for name, offset in zip(entry.contents, entry.offsets, strict=True):
                blob = loadable.by_name[name]
                yield Image(name, position + offset, bytes(blob.data)[: blob.byte_size])


def _tensors(loadable: Loadable, direction: MemoryFlags, positions: Mapping[int, int]) -> tuple[Tensor, ...]:
    bound = sorted((entry for entry in loadable.memories if entry.flags & direction), key=lambda e: e.bind_id)
    return tuple(
        Tensor(loadable.tensors[entry.tensor_desc_id].name, positions[entry.id], entry.size)
        for entry in bound
    )


@dataclass
class _Sequence:
    """The steps so far; the groups that blocks take in turn persist across tasks."""

    target: NvdlaTarget
    positions: Mapping[int, int]
    steps: list[Step] = field(default_factory=list[Step])
    operations: int = 0
    _programmed: Counter[str] = field(default_factory=Counter[str])
    _groups: dict[int, dict[str, int]] = field(default_factory=dict[int, dict[str, int]])
    """The group of each block by operation of the current task."""
    _loaded: dict[OpType, int] = field(default_factory=dict[OpType, int])

    def add(self, task: DlaTask) -> None:
        """Add the operations of a task."""
        self._groups.clear()
        self._loaded.clear()
        nodes = [graph_node(operation) for operation in task.operations]
        scheduler = Scheduler(
            nodes, task.network.op_head, task.name, lambda index, event: self._follow(task, index, event)
        )
        scheduler.run(lambda chain: None)
        self.operations += len(nodes)

    def _follow(self, task: DlaTask, index: int, event: Event) -> None:
        operation = task.operations[index]
        match event:
            case Event.OP_PROGRAMMED:
                self._program(task, operation)
            case Event.OP_ENABLED:
                self._enable(operation)
            case Event.OP_COMPLETED:
                status = _STATUS.get(operation.engine, operation.engine.name)
                self.steps.append(Wait(status, self._groups[index][_blocks(operation)[0]]))
            case Event.CDMA_WT_DONE | Event.CDMA_DT_DONE:
                pass

    def _program(self, task: DlaTask, operation: Operation) -> None:
        what = f"{task.name} operation {operation.index}: {operation.engine.name}"
        self.steps.append(Remark(what))
        self._load_lut(task, operation)
        blocks = _blocks(operation)
        # A read DMA takes its groups in turn over the operations that use it, so they may differ from those
        # of its engine.
        self._groups[operation.index] = {block: self._programmed[block] % 2 for block in blocks}
        self._programmed.update(blocks)
        self._select(operation)
        self.steps += _writes(operation, self._locate(task), self.target)

    def _load_lut(self, task: DlaTask, operation: Operation) -> None:
        lut = operation.op.lut_index if isinstance(operation.op, SdpOp | CdpOp) else -1
        if lut >= 0 and self._loaded.get(operation.engine) != lut:
            self._loaded[operation.engine] = lut
            self.steps += lut_writes(operation.engine.name, task.luts[lut])

    def _select(self, operation: Operation) -> None:
        if operation.engine is not OpType.BDMA:
            groups = self._groups[operation.index]
            self.steps += [SelectGroup(block, group) for block, group in groups.items()]

    def _enable(self, operation: Operation) -> None:
        self.steps.append(Remark(f"start operation {operation.index}"))
        if operation.engine is OpType.BDMA:
            self.steps.append(Launch(self._groups[operation.index]["BDMA"]))
            return
        if operation.engine is OpType.CONV:
            # The buffer clears itself after reset and after a change of the banks.
            self.steps.append(Poll("CDMA", "S_CBUF_FLUSH_STATUS", "FLUSH_DONE", 1))
        self._select(operation)
        # Read DMAs of other engines start before the engine, those of the convolution last.
        blocks = _blocks(operation)
        ordered = blocks if operation.engine is OpType.CONV else reversed(blocks)
        self.steps += [Write(block, "D_OP_ENABLE", {"OP_EN": 1}) for block in ordered]

    def _locate(self, task: DlaTask) -> Locate:
        def locate(index: int, offset: int) -> int:
            address: Address = task.addresses[index]
            return self.positions[address.memory] + address.offset + offset

        return locate


def _blocks(operation: Operation) -> tuple[str, ...]:
    """Return the blocks of an operation with register groups; the first has its interrupt."""
    match operation.op, operation.surface:
        case ConvOp(), _:
            return BLOCKS
        case SdpOp() as op, SdpSurface() as surface:
            return ("SDP", "SDP_RDMA") if reads_memory(op, surface) else ("SDP",)
        case PdpOp(), PdpSurface() as surface:
            return ("PDP",) if surface.src_data.type == MemoryType.HW else ("PDP", "PDP_RDMA")
        case CdpOp(), _:
            return ("CDP", "CDP_RDMA")
        case RubikOp(), _:
            return ("RBK",)
        case _:
            return ("BDMA",)


def _writes(operation: Operation, locate: Locate, target: NvdlaTarget) -> Iterator[Write | AddressWrite]:
    match operation.op, operation.surface:
        case ConvOp() as op, ConvSurface() as surface:
            yield from conv_writes(op, surface, locate, target)
        case SdpOp() as op, SdpSurface() as surface:
            yield from sdp_writes(op, surface, locate)
        case PdpOp() as op, PdpSurface() as surface:
            yield from pdp_writes(op, surface, locate)
        case CdpOp() as op, CdpSurface() as surface:
            yield from cdp_writes(op, surface, locate)
        case RubikOp() as op, RubikSurface() as surface:
            yield from rubik_writes(op, surface, locate, target)
        case _, BdmaSurface() as surface:
            yield from bdma_writes(surface, locate)
        case _:
            raise XonncError(f"operation {operation.index}: its descriptors are those of different engines")
