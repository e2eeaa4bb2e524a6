"""
Runs loadables: memory, submits and tasks as the runtime handles them (docs/internals/nvdla-hardware.md §1.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from xonnc.argument_types import checks_arguments
from xonnc.errors import XonncError
from xonnc.formats.nvdla.enumerations import MemoryDomain, MemoryFlags
from xonnc.formats.nvdla.loadable import Loadable, MemoryEntry, TensorDesc
from xonnc.formats.nvdla.pixel_normalization import normalizations_of
from xonnc.formats.nvdla.quantization import QuantizationParameters, quantization_of
from xonnc.formats.nvdla.tasks import Address, DlaTask, EmuTask, decode_tasks
from xonnc.runtime.nvdla import cpu_emulator
from xonnc.runtime.nvdla.array_types import U8, AnyArray
from xonnc.runtime.nvdla.dla_task import Finished, PoolingState, TaskRunner
from xonnc.runtime.nvdla.memory import AddressSpace, MemoryLocation, MemoryObject, allocate
from xonnc.runtime.nvdla.operation_context import OperationContext
from xonnc.runtime.nvdla.tensors import BoundTensor, bound_tensor
from xonnc.targets import NvdlaTarget

Mode: TypeAlias = Literal["fast", "exact"]

# The runtime refills a memory object before every submit when a blob in it is called like this.
_REFILLED = "dep_graph"
# A small file may declare memory objects of any size, and all of it is filled at allocation: limit the sum.
_LARGEST_MEMORY = 3 << 29


@dataclass(frozen=True)
class OpResult:
    """
    One operation that has just finished, `done` of `total` in this run.

    `engine` is CONV, SDP, PDP, CDP, RUBIK, BDMA or the emulator's POWER and SOFTMAX.
    """

    task: int
    index: int
    engine: str
    done: int
    total: int
    values: AnyArray | None
    channels: int

    def tensor(self) -> AnyArray | None:
        """The results of the operation as NCHW (accumulators for CONV); None where it only copied bytes."""
        if self.values is None:
            return None
        values = self.values if self.values.ndim == 4 else self.values[None]
        values = values[..., : self.channels].transpose(0, 3, 1, 2)
        values = np.ascontiguousarray(values)
        return values.view(np.float16) if values.dtype == np.uint16 else values


Observer: TypeAlias = Callable[[OpResult], None]


@dataclass(frozen=True)
class Output:
    """A bound output: the tensor as NCHW, and all bytes of its memory object."""

    name: str
    tensor: AnyArray
    raw: bytes
    grid: QuantizationParameters | None = None

    @property
    def numbers(self) -> AnyArray:
        """The tensor, dequantized if the loadable has its quantization parameters."""
        return self.tensor if self.grid is None else self.grid.dequantize(self.tensor)


class Simulator:
    """
    A functional simulator with a loadable in memory; it can run any number of times.

    `mode` chooses the fp16 sums of convolutions: "exact" by the MAC's own rule, "fast" in float32 (within one
    unit of the last place or 2**-11 of the tensor's largest value). Everything else is bit for bit in both.
    Loading raises `XonncError` for a loadable the runtime would refuse; source:
    docs/internals/nvdla-hardware.md §1, §4.
    """

    def __init__(
        self,
        loadable: Loadable,
        target: NvdlaTarget,
        *,
        mode: Mode = "fast",
        observer: Observer | None = None,
    ):
        self._loadable = loadable
        self._target = target
        self._exact = mode == "exact"
        self._observer = observer
        self._tasks = decode_tasks(loadable)
        _check_submits(loadable)
        _check_memories(loadable, target)
        self._grids = quantization_of(loadable)
        self._pixels = normalizations_of(loadable)
        self._inputs = self._bindings(MemoryFlags.INPUT, "input")
        self._outputs = self._bindings(MemoryFlags.OUTPUT, "output")
        self._poolings = PoolingState()
        # Last, so that an invalid loadable is rejected before its memory is allocated.
        self._memory = _load(loadable, target)
        self._finished = 0
        self._total = sum(
            len(self._tasks[i].operations) for submit in loadable.submits for i in submit.task_id
        )

    @property
    def inputs(self) -> list[BoundTensor]:
        """The inputs in binding order."""
        return [tensor for _, tensor in self._inputs]

    @property
    def outputs(self) -> list[BoundTensor]:
        """The outputs in binding order."""
        return [tensor for _, tensor in self._outputs]

    def run(self, inputs: Sequence[AnyArray | bytes]) -> list[Output]:
        """
        Run all submits on the inputs in binding order.

        An input is an NCHW array of the descriptor's shape, or the raw bytes of its memory object; where the
        loadable says what its integers stand for, arrays of other types are quantized. An image may be bytes
        `HxWxC` too, or floats where the loadable says what its pixels stand for. Raises
        `XonncError` for inputs that do not fit, accesses outside a memory object, engines or settings that
        the target lacks, and task graphs that hang.
        """
        if len(inputs) != len(self._inputs):
            raise XonncError(f"{len(inputs)} inputs given; the loadable takes {len(self._inputs)}")
        for value, (number, tensor) in zip(inputs, self._inputs, strict=True):
            _bind(value, self._bound_memory(number), tensor)
        self._finished = 0
        # Overflow and NaN are part of the arithmetic simulated here.
        with np.errstate(all="ignore"):
            for submit in self._loadable.submits:
                self._refill()
                for task in submit.task_id:
                    self._run_task(self._tasks[task])
        return [
            Output(tensor.name, tensor.unpack(memory), memory.data.tobytes(), tensor.grid)
            for number, tensor in self._outputs
            for memory in (self._bound_memory(number),)
        ]

    def _bound_memory(self, number: int) -> MemoryObject:
        memory = self._memory[number]
        assert memory is not None, "bindings are checked"
        return memory

    def _bindings(self, direction: MemoryFlags, what: str) -> list[tuple[int, BoundTensor]]:
        """The memory objects of inputs or outputs, by number, and how their tensors lie in them."""
        entries = sorted(
            (entry for entry in self._loadable.memories if entry.flags & direction), key=lambda e: e.bind_id
        )
        if [entry.bind_id for entry in entries] != list(range(len(entries))):
            found = ", ".join(str(entry.bind_id) for entry in entries)
            raise XonncError(f"{what}s are bound as {found}; bind ids count from 0 without gaps")
        return [self._bound(entry, what) for entry in entries]

    def _bound(self, entry: MemoryEntry, what: str) -> tuple[int, BoundTensor]:
        if not _is_in_dram(entry):
            raise XonncError(f"memory {entry.id} is bound but not in DRAM; inputs and outputs live there")
        tensors: Sequence[TensorDesc] = self._loadable.tensors
        if entry.tensor_desc_id >= len(tensors):
            raise XonncError(
                f"{what} {entry.bind_id}: no tensor descriptor {entry.tensor_desc_id} among {len(tensors)}"
            )
        desc = tensors[entry.tensor_desc_id]
        tensor = bound_tensor(desc, entry.size, self._target.memory_atom_bytes)
        pixels = self._pixels.get(desc.name)
        if pixels is not None and (tensor.pixel is None or pixels.channels > desc.c):
            raise XonncError(
                f"{what} {desc.name}: pixels of {pixels.channels} channels are declared, the tensor has "
                f"{desc.c}: "
                f"{'a feature cube' if tensor.pixel is None else tensor.pixel.name}"
            )
        return entry.id, replace(tensor, grid=self._grids.get(desc.name), pixels=pixels)

    def _refill(self) -> None:
        for entry in self._loadable.memories:
            if entry.flags & MemoryFlags.SET and any(_REFILLED in name for name in entry.contents):
                memory = self._memory[entry.id]
                if memory is not None:
                    _fill(self._loadable, entry, memory)

    def _run_task(self, task: DlaTask | EmuTask) -> None:
        space = AddressSpace([self._location(address, task.name) for address in task.addresses])
        if isinstance(task, DlaTask):
            TaskRunner(
                task, space, self._target, self._exact, lambda f: self._dla_done(task, f), self._poolings
            ).run()
            return
        for index, operation in enumerate(task.operations):
            scope = OperationContext(f"{task.name} operation {index} (EMU)", space, self._target, self._exact)
            values = cpu_emulator.run(operation.op, operation.source, operation.destination, scope)
            name = cpu_emulator.name_of(operation.op)
            self._report(task.id, index, name, values, operation.destination.channel)

    def _location(self, address: Address, what: str) -> MemoryLocation | None:
        if not 0 <= address.memory < len(self._memory):
            raise XonncError(f"{what}: memory {address.memory} of {len(self._memory)} does not exist")
        memory = self._memory[address.memory]
        return None if memory is None else MemoryLocation(memory, address.offset)

    def _dla_done(self, task: DlaTask, finished: Finished) -> None:
        operation = finished.operation
        self._report(task.id, operation.index, operation.engine.name, finished.values, finished.channels)

    def _report(self, task: int, index: int, engine: str, values: AnyArray | None, channels: int) -> None:
        self._finished += 1
        if self._observer is not None:
            self._observer(OpResult(task, index, engine, self._finished, self._total, values, channels))


@checks_arguments
def simulate(
    loadable: Loadable,
    target: NvdlaTarget,
    inputs: Sequence[AnyArray | bytes],
    *,
    mode: Mode = "fast",
    observer: Observer | None = None,
) -> list[Output]:
    """
    Run a loadable once on the functional simulator.

    Parameters:
        loadable: the loadable, from `read_loadable` or `read_checked`.
        target: the configuration to simulate, from `load_target`.
        inputs: one array, or the raw bytes of the surface, for each bound input.
        mode: `fast` sums FP16 convolutions in float32, `exact` follows the hardware bit for bit.
        observer: called after each hardware operation.

    Returns: the outputs in binding order.

    Raises: `XonncError` for a malformed loadable or inputs that do not fit.

    Example:
        >>> loadable, target = xonnc.read_loadable(Path("m.nvdla")), xonnc.load_target("nv_full")
        >>> (output,) = xonnc.simulate(loadable, target, [array])
    """
    return Simulator(loadable, target, mode=mode, observer=observer).run(inputs)


def _check_submits(loadable: Loadable) -> None:
    for submit in loadable.submits:
        for task in submit.task_id:
            if not 0 <= task < len(loadable.tasks):
                raise XonncError(f"submit {submit.id}: task {task} of {len(loadable.tasks)} does not exist")


def _check_memories(loadable: Loadable, target: NvdlaTarget) -> None:
    """Check ids, total size and blobs of memory objects, before any of them is allocated."""
    total = sum(entry.size for entry in loadable.memories if _exists(entry, target))
    if total > _LARGEST_MEMORY:
        raise XonncError(
            f"the memory objects take {total} bytes; the simulator holds up to {_LARGEST_MEMORY}"
        )
    for number, entry in enumerate(loadable.memories):
        if entry.id != number:
            raise XonncError(f"memory {number} has id {entry.id}; ids count from 0 in list order")
        if entry.flags & MemoryFlags.SET and _exists(entry, target):
            for name, offset, blob in _blobs(loadable, entry):
                if offset + len(blob) > entry.size:
                    raise XonncError(
                        f"memory {entry.id}: blob '{name}' ends at byte {offset + len(blob)} of {entry.size}"
                    )


def _is_in_dram(entry: MemoryEntry) -> bool:
    """Whether an object is in DRAM, allocated or bound."""
    bound = entry.flags & (MemoryFlags.INPUT | MemoryFlags.OUTPUT)
    return entry.domain == MemoryDomain.SYSTEM and bool(bound or entry.flags & MemoryFlags.ALLOC)


def _exists(entry: MemoryEntry, target: NvdlaTarget) -> bool:
    """
    Whether there is an object: tasks get a null handle for others.

    NVDLA's runtime allocates DRAM only; for a target with on-chip memory, one that allocates it is simulated.
    """
    on_chip = entry.domain == MemoryDomain.SRAM and entry.size <= target.cvsram_bytes
    return _is_in_dram(entry) or (on_chip and bool(entry.flags & MemoryFlags.ALLOC))


def _load(loadable: Loadable, target: NvdlaTarget) -> list[MemoryObject | None]:
    """Allocate and fill the memory objects, as the runtime and the application do."""
    objects: list[MemoryObject | None] = []
    for entry in loadable.memories:
        if not _exists(entry, target):
            objects.append(None)
            continue
        memory = allocate(entry.size)
        if entry.flags & MemoryFlags.SET:
            _fill(loadable, entry, memory)
        objects.append(memory)
    return objects


def _blobs(loadable: Loadable, entry: MemoryEntry) -> Iterator[tuple[str, int, U8]]:
    """Yield the blobs of a memory object: name, offset and bytes."""
    if len(entry.contents) != len(entry.offsets):
        raise XonncError(
            f"memory {entry.id}: {len(entry.contents)} contents but {len(entry.offsets)} offsets"
        )
    for name, offset in zip(entry.contents, entry.offsets, strict=True):
        blob = loadable.by_name.get(name)
        if blob is None:
            raise XonncError(f"memory {entry.id}: no blob '{name}' in the file")
        data = blob.data if isinstance(blob.data, bytes | memoryview) else bytes(blob.data)
        yield name, offset, np.frombuffer(data, np.uint8)[: blob.byte_size]


def _fill(loadable: Loadable, entry: MemoryEntry, memory: MemoryObject) -> None:
    """Copy an entry's blobs to their offsets; `_check_memories` has checked that they fit."""
    for _, offset, blob in _blobs(loadable, entry):
        memory.data[offset : offset + len(blob)] = blob
    memory.generation += 1


def _bind(value: AnyArray | bytes, memory: MemoryObject, tensor: BoundTensor) -> None:
    if not isinstance(value, bytes):
        tensor.pack(value, memory)
        return
    if len(value) not in (tensor.size, len(memory.data)):
        raise XonncError(f"input {tensor.name}: {len(value)} raw bytes; its surface has {tensor.size}")
    memory.data[: len(value)] = np.frombuffer(value, np.uint8)
    memory.generation += 1
