"""
Cost of a loadable: cycles and memory traffic of each hardware layer, from its descriptors.

Layers run one after another. Within a layer engines and memory work in parallel, so it lasts as long as its
bottleneck, after the memory latency (docs/internals/nvdla-hardware.md §8). Computing time of the CPU emulator
is unknown and not counted, only its traffic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xonnc.formats.nvdla.accesses import Access, accesses, emu_accesses, precision_of
from xonnc.formats.nvdla.constants import ConvMode, MemoryFlags, PixelFormat
from xonnc.formats.nvdla.cycles import (
    ConvWork,
    conv_cycles,
    element_cycles,
    memory_cycles,
    multipliers,
)
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.records import (
    CdpOp,
    CdpSurface,
    ConvOp,
    ConvSurface,
    PdpOp,
    PdpSurface,
    SdpOp,
    SdpSurface,
)
from xonnc.formats.nvdla.regions import ByteSet
from xonnc.formats.nvdla.task_graph import chains_of
from xonnc.formats.nvdla.tasks import Address, DlaTask, EmuTask, Operation, decode_tasks
from xonnc.targets import NvdlaTarget


@dataclass(frozen=True)
class HardwareLayer:
    """
    Operations that run as one: cycles per engine (`pooling`: PDP or CDP), bytes of memory traffic.

    `node` is the model's node whose result it writes, if known; `peak_macs` are the multiply-accumulate
    operations per cycle.
    """

    task: int
    operations: tuple[int, ...]
    engines: tuple[str, ...]
    macs: int
    peak_macs: int
    mac_cycles: int
    sdp_cycles: int
    pooling_cycles: int
    read_bytes: int
    written_bytes: int
    memory_cycles: int
    start_cycles: int
    node: str = ""

    @property
    def traffic_bytes(self) -> int:
        """Bytes read and written."""
        return self.read_bytes + self.written_bytes

    @property
    def compute_cycles(self) -> int:
        """Cycles of the slowest engine."""
        return max(self.mac_cycles, self.sdp_cycles, self.pooling_cycles)

    @property
    def cycles(self) -> int:
        """Cycles from the first fetch to the last result."""
        return self.start_cycles + max(self.compute_cycles, self.memory_cycles)

    @property
    def bound(self) -> str:
        """The bottleneck: `conv`, `sdp`, `pooling` or `memory`."""
        times = {
            "conv": self.mac_cycles,
            "sdp": self.sdp_cycles,
            "pooling": self.pooling_cycles,
            "memory": self.memory_cycles,
        }
        return max(times, key=lambda name: times[name])

    @property
    def utilisation(self) -> float:
        """Fraction of the peak multiply-accumulate operations; 0 without a convolution."""
        return self.macs / (self.peak_macs * self.cycles) if self.cycles and self.peak_macs else 0.0


@dataclass(frozen=True)
class Performance:
    """
    Cost of one inference, in bytes and cycles of the core's clock.

    `compulsory_bytes` is the traffic if each layer read every needed byte once, tiles of a convolution
    counted as one layer; `boundary_bytes` if only weights, inputs and outputs moved.
    """

    target: str
    clock_mhz: float
    layers: tuple[HardwareLayer, ...]
    compulsory_bytes: int
    boundary_bytes: int

    @property
    def cycles(self) -> int:
        """Total over all layers."""
        return sum(layer.cycles for layer in self.layers)

    @property
    def milliseconds(self) -> float:
        """The latency at the target's clock."""
        return self.cycles / (self.clock_mhz * 1000)

    @property
    def macs(self) -> int:
        """Multiply-accumulate operations."""
        return sum(layer.macs for layer in self.layers)

    @property
    def traffic_bytes(self) -> int:
        """Bytes read and written."""
        return sum(layer.traffic_bytes for layer in self.layers)

    @property
    def utilisation(self) -> float:
        """Fraction of the peak multiply-accumulate operations."""
        peak = max((layer.peak_macs for layer in self.layers), default=0)
        return self.macs / (peak * self.cycles) if peak and self.cycles else 0.0


def performance(loadable: Loadable, target: NvdlaTarget) -> Performance:
    """Return the cost of a loadable, which should have passed the checks, on `target`."""
    tasks = decode_tasks(loadable)
    return Performance(
        target.name,
        target.clock_mhz,
        tuple(layer for task in tasks for layer in _layers(task, target)),
        _compulsory(tasks, target),
        _boundary(loadable, tasks, target),
    )


def _layers(task: DlaTask | EmuTask, target: NvdlaTarget) -> Iterator[HardwareLayer]:
    if isinstance(task, EmuTask):
        touched = [access for operation in task.operations for access in emu_accesses(operation)]
        yield _layer(task.id, tuple(range(len(task.operations))), ("EMU",), touched, target)
        return
    for chain in _chains(task):
        engines = tuple(operation.engine.name for operation in chain)
        touched = [access for operation in chain for access in _moved(operation, target)]
        indexes = tuple(operation.index for operation in chain)
        yield _layer(task.id, indexes, engines, touched, target, chain)


def _chains(task: DlaTask) -> Iterator[list[Operation]]:
    """Yield the operations that run as one, ordered by the last of each."""
    for index, chain in enumerate(chains_of(task)):
        if chain[-1] == index:
            yield [task.operations[each] for each in chain]


def _layer(
    task: int,
    indexes: tuple[int, ...],
    engines: tuple[str, ...],
    touched: Sequence[Access],
    target: NvdlaTarget,
    chain: Sequence[Operation] = (),
) -> HardwareLayer:
    work = next((found for operation in chain if (found := conv_work(operation)) is not None), None)
    read = sum(_size(access) for access in touched if not access.writes)
    written = sum(_size(access) for access in touched if access.writes)
    return HardwareLayer(
        task=task,
        operations=indexes,
        engines=engines,
        macs=0 if work is None else work.macs,
        peak_macs=0 if work is None else multipliers(target, work.precision),
        mac_cycles=0 if work is None else conv_cycles(target, work),
        sdp_cycles=sum(_sdp_cycles(operation, target) for operation in chain),
        pooling_cycles=sum(_pooling_cycles(operation, target) for operation in chain),
        read_bytes=read,
        written_bytes=written,
        memory_cycles=memory_cycles(target, read + written),
        # Tasks of the CPU emulator have no chain; of these only the traffic is counted.
        start_cycles=target.memory_latency_cycles if chain else 0,
    )


def conv_work(operation: Operation) -> ConvWork | None:
    """Return the dimensions of a convolution, `None` for other operations."""
    op, surface = operation.op, operation.surface
    if not isinstance(op, ConvOp) or not isinstance(surface, ConvSurface):
        return None
    precision = precision_of(op.in_precision)
    if precision is None:
        return None
    return ConvWork(
        precision,
        surface.dst_data.channel,
        op.kernel_channel_csc,
        op.kernel_height_csc,
        op.kernel_width_csc,
        op.input_height_cmac,
        op.input_width_cmac,
        is_image=op.data_format != PixelFormat.FEATURE,
        is_winograd=op.conv_mode == ConvMode.WINOGRAD,
        rows_at_once=1 << op.post_extension,
        batch=op.batch,
    )


def _sdp_cycles(operation: Operation, target: NvdlaTarget) -> int:
    op, surface = operation.op, operation.surface
    if not isinstance(op, SdpOp) or not isinstance(surface, SdpSurface):
        return 0
    rate = target.sdp_elements_per_cycle
    if op.y_op.enable:
        rate = min(rate, target.sdp_y_elements_per_cycle)
    cube, precision = surface.src_data, precision_of(op.src_precision)
    if precision is None:
        return 0
    return element_cycles(target, precision, cube.channel, cube.width * cube.height * op.batch_num, rate)


def _pooling_cycles(operation: Operation, target: NvdlaTarget) -> int:
    match operation.op, operation.surface:
        case PdpOp() as op, PdpSurface() as surface:
            rate, precision = target.pdp_elements_per_cycle, precision_of(op.precision)
        case CdpOp() as op, CdpSurface() as surface:
            rate, precision = target.cdp_elements_per_cycle, precision_of(op.in_precision)
        case _:
            return 0
    cube = surface.src_data
    if precision is None:
        return 0
    return element_cycles(target, precision, cube.channel, cube.width * cube.height, rate)


def _moved(operation: Operation, target: NvdlaTarget) -> list[Access]:
    """
    Return what an operation reads and writes, without what the previous one left in the convolution buffer.
    """
    op = operation.op
    kept: set[str] = set()
    if isinstance(op, ConvOp):
        kept |= {"weight_data", "wmb_data", "wgs_data"} if op.weight_reuse else set()
        kept |= {"src_data"} if op.data_reuse else set()
    return [access for access in accesses(operation, target) if access.field not in kept]


def _size(access: Access) -> int:
    return access.run * prod(step.times for step in access.steps)


def _compulsory(tasks: Sequence[DlaTask | EmuTask], target: NvdlaTarget) -> int:
    """
    Return the bytes that layers must read and write, consecutive convolutions with the same weights counted
    as one layer.
    """
    total = 0
    for task in tasks:
        if isinstance(task, EmuTask):
            for operation in task.operations:
                total += _distinct(emu_accesses(operation), task.addresses)
            continue
        weights: object = None
        touched: list[Access] = []
        for chain in _chains(task):
            surface = chain[0].surface
            cube = surface.weight_data if isinstance(surface, ConvSurface) else None
            here = None if cube is None else (cube.address, cube.offset)
            if here is None or here != weights:
                total += _distinct(touched, task.addresses)
                touched = []
            weights = here
            touched += [access for operation in chain for access in accesses(operation, target)]
        total += _distinct(touched, task.addresses)
    return total


def _distinct(touched: Sequence[Access], addresses: tuple[Address, ...]) -> int:
    """Return the bytes read plus the bytes written, each counted once."""
    sets: dict[tuple[int, bool], ByteSet] = {}
    for access in touched:
        region = access.region(addresses)
        if region is not None:
            key = (region.memory, access.writes)
            sets[key] = sets.get(key, ByteSet.none()) | ByteSet.of(region)
    return sum(map(len, sets.values()))


def _boundary(loadable: Loadable, tasks: Sequence[DlaTask | EmuTask], target: NvdlaTarget) -> int:
    """Return the bytes of constants, inputs and outputs that operations access."""
    sets: dict[int, ByteSet] = {}
    for task in tasks:
        touched = (
            [access for operation in task.operations for access in accesses(operation, target)]
            if isinstance(task, DlaTask)
            else [access for operation in task.operations for access in emu_accesses(operation)]
        )
        for access in touched:
            region = access.region(task.addresses)
            if region is not None and _is_boundary(loadable, region.memory):
                sets[region.memory] = sets.get(region.memory, ByteSet.none()) | ByteSet.of(region)
    return sum(map(len, sets.values()))


def _is_boundary(loadable: Loadable, memory: int) -> bool:
    return bool(loadable.memories[memory].flags & (MemoryFlags.SET | MemoryFlags.INPUT | MemoryFlags.OUTPUT))
