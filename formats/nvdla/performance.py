"""
Cost of a loadable: cycles and memory traffic of each hardware layer, from its descriptors.

The cycles are those of `timeline.py`, along the dependency graph that the firmware walks. Computing time of
the CPU emulator is unknown and not counted, only its traffic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, prod
from typing import NamedTuple

from xonnc.formats.nvdla.accesses import Access, accesses, emu_accesses, precision_of
from xonnc.formats.nvdla.byte_regions import ByteSet
from xonnc.formats.nvdla.cycles import (
    CDP_DEPTH,
    PDP_DEPTH,
    SDP_DEPTH,
    ConvWork,
    Demand,
    bottom_elements,
    conv_cycles,
    element_cycles,
    multipliers,
    row_cycles,
)
from xonnc.formats.nvdla.enumerations import ConvMode, Event, MemoryFlags, PixelFormat
from xonnc.formats.nvdla.geometry import ceil_div, kernel_group, surfaces
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.records import (
    CdpOp,
    CdpSurface,
    ConvOp,
    ConvSurface,
    DataCube,
    PdpOp,
    PdpSurface,
    RubikOp,
    SdpOp,
    SdpSurface,
)
from xonnc.formats.nvdla.task_graph import chains_of
from xonnc.formats.nvdla.tasks import Address, DlaTask, EmuTask, Operation, decode_tasks
from xonnc.formats.nvdla.timeline import Span, Timeline
from xonnc.targets import NvdlaTarget


class CycleShares(NamedTuple):
    """
    The bottleneck of the cycles that a layer adds to the total (docs/internals/nvdla-hardware.md §9.4).

    `load`: data and weights are not there yet; `multiply`: the convolution core works; `credits`: it lacks
    slots in the accumulator; `elements`: another engine works; `results`: memory takes results or delivers
    operands of the SDP; `drain`: from the last step to the last result.
    """

    load: float = 0.0
    multiply: float = 0.0
    credits: float = 0.0
    elements: float = 0.0
    results: float = 0.0
    drain: float = 0.0


@dataclass(frozen=True)
class HardwareLayer:
    """
    Operations that run as one: when, what they move in bytes, and the `cycles` that they add to the total.

    `start` is when the layer is enabled, `computes` the first multiplication or element, `end` the last
    result. `node` is the model's node whose result it writes, if known; `peak_macs` are the
    multiply-accumulate operations per cycle; `prefetched_bytes` were loaded while the layer before computed;
    `on_chip_bytes` of those read and written are in the on-chip memory. `is_winograd`: the multiplications
    are those of Winograd's algorithm.
    """

    task: int
    operations: tuple[int, ...]
    engines: tuple[str, ...]
    macs: int
    peak_macs: int
    read_bytes: int
    written_bytes: int
    prefetched_bytes: int
    start: int
    computes: int
    end: int
    cycles: int
    compute_cycles: int
    shares: CycleShares
    node: str = ""
    on_chip_bytes: int = 0
    is_winograd: bool = False
    precision: str = ""
    """
    The precision of what is read, and of what is written if it differs: `int8`, `int8 to fp16`; empty for the
    emulator.
    """

    @property
    def engine_text(self) -> str:
        """The engines, such as `CONV+SDP`, and the algorithm of a convolution that is not direct."""
        return "+".join(
            f"{engine} (Winograd)" if self.is_winograd and engine == "CONV" else engine
            for engine in self.engines
        )

    @property
    def traffic_bytes(self) -> int:
        """Bytes read and written."""
        return self.read_bytes + self.written_bytes

    @property
    def bound(self) -> str:
        """The bottleneck: the largest of `CycleShares`."""
        times = self.shares._asdict()
        return max(times, key=lambda name: times[name])

    @property
    def utilisation(self) -> float:
        """Fraction of the peak multiply-accumulate operations; 0 without a convolution."""
        return self.macs / (self.peak_macs * self.cycles) if self.cycles and self.peak_macs else 0.0


@dataclass(frozen=True)
class Performance:
    """
    Cost of one run, in bytes and cycles of the core's clock.

    `compulsory_bytes` is the traffic if each layer read every needed byte once, tiles of a convolution
    counted as one layer; `boundary_bytes` if only weights, inputs and outputs moved.
    """

    target: str
    clock_mhz: float
    layers: tuple[HardwareLayer, ...]
    compulsory_bytes: int
    boundary_bytes: int
    register_cycles: float = 0.0
    """Cycles of the firmware's access to a register; 0 counts the hardware alone."""
    is_measured: bool = False
    """Whether the rules were measured on this configuration; else they are extrapolated from nv_small."""
    images: int = 1
    """The inferences of one run, those of a batch."""

    def with_nodes(self, nodes: Sequence[str]) -> Performance:
        """Name the node of each layer; ignore `nodes` of another number, which are of another loadable."""
        if len(nodes) != len(self.layers):
            return self
        named = zip(self.layers, nodes, strict=True)
        return replace(self, layers=tuple(replace(layer, node=node) for layer, node in named))

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
    def on_chip_bytes(self) -> int:
        """Bytes read from and written to the on-chip memory, part of the traffic."""
        return sum(layer.on_chip_bytes for layer in self.layers)

    @property
    def utilisation(self) -> float:
        """Fraction of the peak multiply-accumulate operations."""
        peak = max((layer.peak_macs for layer in self.layers), default=0)
        return self.macs / (peak * self.cycles) if peak and self.cycles else 0.0


def performance(loadable: Loadable, target: NvdlaTarget, register_cycles: float = 0.0) -> Performance:
    """
    Return the cost of a loadable, which should have passed the checks, on `target`.

    `register_cycles` are those of the firmware's access to a register; 0 counts the hardware alone.
    """
    tasks = decode_tasks(loadable)
    timeline = Timeline(target, register_cycles)
    return Performance(
        target.name,
        target.clock_mhz,
        tuple(layer for task in tasks for layer in _layers(task, target, timeline)),
        _compulsory(tasks, target),
        _boundary(loadable, tasks, target),
        register_cycles,
        target.has_measured_cycles,
        max((tensor.n for tensor in loadable.tensors), default=1),
    )


def _layers(task: DlaTask | EmuTask, target: NvdlaTarget, timeline: Timeline) -> Iterator[HardwareLayer]:
    timeline.barrier()
    if isinstance(task, EmuTask):
        touched = [access for operation in task.operations for access in emu_accesses(operation)]
        demand = Demand(streamed=_bytes(touched, False), results=_bytes(touched, True))
        yield _layer(task.id, tuple(range(len(task.operations))), ("EMU",), demand, timeline, ())
        return
    layer_of: dict[int, int] = {}
    awaited = _awaited(task)
    cached = (0, 0)
    for chain in hardware_chains(task):
        demand = demand_of(chain, target, cached)
        cached = demand.held_data, demand.held_weights
        members = {operation.index for operation in chain}
        before = sorted({index for member in members for index in awaited.get(member, ())})
        after = [layer_of[index] for index in before if index in layer_of]
        indexes = tuple(operation.index for operation in chain)
        engines = tuple(operation.engine.name for operation in chain)
        work = next((found for operation in chain if (found := conv_work(operation)) is not None), None)
        layer_of |= dict.fromkeys(members, len(timeline.spans))
        layer = _layer(task.id, indexes, engines, demand, timeline, after, work, target)
        yield replace(layer, precision=_precision(chain))


def _precision(chain: Sequence[Operation]) -> str:
    """Return the precision that operations read, and the one that they write if it differs."""
    first, last = chain[0].op, chain[-1].op
    match first:
        case ConvOp() | CdpOp():
            read = first.in_precision
        case SdpOp():
            read = first.src_precision
        case PdpOp() | RubikOp():
            read = first.precision
        case _:
            return ""
    written = last.dst_precision if isinstance(last, SdpOp) else read
    names = [found.name.lower() for each in (read, written) if (found := precision_of(each)) is not None]
    return " to ".join(dict.fromkeys(names))


def hardware_chains(task: DlaTask) -> Iterator[list[Operation]]:
    """Yield the operations that run as one, ordered by the last of each."""
    for index, chain in enumerate(chains_of(task)):
        if chain[-1] == index:
            yield [task.operations[each] for each in chain]


def _awaited(task: DlaTask) -> dict[int, list[int]]:
    """Return for each operation those that have to be complete before it is enabled."""
    awaited: dict[int, list[int]] = {}
    for operation in task.operations:
        for consumer in operation.dependency.consumers:
            if consumer.index >= 0 and consumer.event == Event.OP_COMPLETED:
                awaited.setdefault(consumer.index, []).append(operation.index)
    return awaited


def _layer(
    task: int,
    indexes: tuple[int, ...],
    engines: tuple[str, ...],
    demand: Demand,
    timeline: Timeline,
    after: Sequence[int],
    work: ConvWork | None = None,
    target: NvdlaTarget | None = None,
) -> HardwareLayer:
    before = timeline.end
    span = timeline.add(demand, engines, after)
    shares = cycle_shares(demand, span, before)
    return HardwareLayer(
        task=task,
        operations=indexes,
        engines=engines,
        macs=0 if work is None else work.macs,
        peak_macs=0 if work is None or target is None else multipliers(target, work.precision),
        read_bytes=demand.read,
        written_bytes=demand.results,
        prefetched_bytes=round(span.prefetched),
        start=round(span.enabled),
        computes=round(span.start),
        end=round(span.end),
        cycles=round(timeline.end) - round(before),
        compute_cycles=demand.elements if demand.conv is None else demand.conv.multiply,
        shares=shares,
        on_chip_bytes=demand.on_chip,
        is_winograd=work is not None and work.is_winograd,
    )


def cycle_shares(demand: Demand, span: Span, before: float) -> CycleShares:
    """Return what the cycles of a layer after `before`, when all others had ended, go to."""
    load = max(span.start - before, 0.0)
    busy = max(span.computed - max(span.start, before), 0.0)
    drain = max(span.end - max(span.computed, before), 0.0)
    if demand.conv is None:
        if demand.traffic and span.end > span.computed:
            # Memory is slower than the engine.
            read = demand.read / demand.traffic
            return CycleShares(load=load + (busy + drain) * read, results=(busy + drain) * (1 - read))
        return CycleShares(load=load, elements=busy, drain=drain)
    part = busy / (span.computed - span.start)
    multiply, compute = demand.conv.multiply * part, demand.conv.compute * part
    waiting = max(busy - compute, 0.0)
    weights = span.background > 2 * (demand.streamed + demand.results)
    return CycleShares(
        load=load + (waiting if weights else 0.0),
        multiply=min(multiply, compute),
        credits=max(compute - multiply, 0.0),
        results=0.0 if weights else waiting,
        drain=drain,
    )


def demand_of(chain: Sequence[Operation], target: NvdlaTarget, cached: tuple[int, int] = (0, 0)) -> Demand:
    """
    Return what the operations of a chain ask of memory and the engines.

    `cached` are the bytes of data and weights that the convolution before left in the buffer.
    """
    moved = [(operation, access) for operation in chain for access in _moved(operation, target)]
    written = [access for _, access in moved if access.writes]
    results = sum(map(_size, written))
    first, work = chain[0], conv_work(chain[0])
    if not isinstance(first.op, ConvOp) or work is None:
        elements, depth = max((_elements(operation, target) for operation in chain), default=(0, 0))
        read = [access for _, access in moved if not access.writes]
        return Demand(
            streamed=sum(map(_size, read)),
            results=results,
            elements=elements,
            depth=depth,
            on_chip_streamed=_on_chip(read),
            on_chip_results=_on_chip(written),
        )
    sources = [access for _, access in moved if access.field == "src_data" and not access.writes]
    data = sum(map(_size, sources))
    weights = sum(_size(access) for _, access in moved if access.field in WEIGHT_FIELDS)
    operands = [access for _, access in moved if not access.writes and access.field in OPERAND_FIELDS]
    per_kernel = sum(_size(access) for access in operands if not access.steps)
    bank = target.cbuf_entries * target.cbuf_entry_bytes
    groups = ceil_div(work.kernels, kernel_group(target, work.precision))
    surface = first.surface
    assert isinstance(surface, ConvSurface)
    return Demand(
        data=data,
        weights=weights,
        first_weights=ceil_div(weights, groups),
        operands=per_kernel,
        streamed=sum(_size(access) for access in operands if access.steps),
        results=results,
        row_cycles=_row_cycles(surface.src_data, work, target),
        conv=conv_cycles(target, work, _sdp_rate(chain, target)),
        data_bank_bytes=first.op.data_bank * bank,
        weight_bank_bytes=first.op.weight_bank * bank,
        held_data=_held_data(first.op, data, target) or cached[0],
        held_weights=min(weights or cached[1], first.op.weight_bank * bank),
        on_chip_data=_on_chip(sources),
        on_chip_streamed=_on_chip([access for access in operands if access.steps]),
        on_chip_results=_on_chip(written),
    )


WEIGHT_FIELDS = ("weight_data", "wmb_data", "wgs_data")
OPERAND_FIELDS = ("x1_data", "x2_data", "y_data")


def _row_cycles(cube: DataCube, work: ConvWork, target: NvdlaTarget) -> float:
    """Return the cycles beyond a beat a cycle for writing the rows of a cube into the buffer."""
    atoms = 1 if work.is_image else surfaces(target, work.precision, cube.channel)
    return row_cycles(atoms, cube.width) * cube.height


def _held_data(op: ConvOp, data: int, target: NvdlaTarget) -> int:
    """Return the bytes of the buffer for the `data` that are loaded; Winograd's are padded there."""
    if data and op.conv_mode == ConvMode.WINOGRAD:
        return op.input_height_csc * op.entry_per_slice * target.cbuf_entry_bytes
    return data


def _sdp_rate(chain: Sequence[Operation], target: NvdlaTarget) -> float:
    """Return the elements a cycle that the engines after a convolution take."""
    rate = target.sdp_elements_per_cycle
    for operation in chain:
        if isinstance(operation.op, SdpOp) and operation.op.y_op.enable:
            rate = min(rate, target.sdp_y_elements_per_cycle)
        if isinstance(operation.op, PdpOp):
            rate = min(rate, target.pdp_elements_per_cycle)
    return rate


def _bytes(touched: Sequence[Access], writes: bool) -> int:
    return sum(_size(access) for access in touched if access.writes is writes)


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


def _elements(operation: Operation, target: NvdlaTarget) -> tuple[int, int]:
    """Return the cycles of an operation without convolution, and the depth of its pipeline."""
    rows = 0
    match operation.op, operation.surface:
        case SdpOp() as op, SdpSurface() as surface:
            rate, precision, depth = target.sdp_elements_per_cycle, precision_of(op.src_precision), SDP_DEPTH
            if op.y_op.enable:
                rate = min(rate, target.sdp_y_elements_per_cycle)
            batch = op.batch_num
        case PdpOp() as op, PdpSurface() as surface:
            rate, precision, depth = target.pdp_elements_per_cycle, precision_of(op.precision), PDP_DEPTH
            batch = 1
            # Windows over the bottom padding give their results after the last row.
            rows = bottom_elements(target, surface.dst_data.width) if op.pad_bottom else 0
        case CdpOp() as op, CdpSurface() as surface:
            rate, precision, depth = target.cdp_elements_per_cycle, precision_of(op.in_precision), CDP_DEPTH
            batch = 1
        case _:
            return 0, 0
    cube = surface.src_data
    if precision is None:
        return 0, 0
    cycles = element_cycles(target, precision, cube.channel, cube.width * cube.height * batch, rate)
    return cycles, depth + ceil(rows / rate)


def _moved(operation: Operation, target: NvdlaTarget) -> list[Access]:
    """
    Return what an operation reads and writes, without what the previous one left in the convolution buffer.
    """
    op = operation.op
    cached: set[str] = set()
    if isinstance(op, ConvOp):
        cached |= {"weight_data", "wmb_data", "wgs_data"} if op.weight_reuse else set()
        cached |= {"src_data"} if op.data_reuse else set()
    return [access for access in accesses(operation, target) if access.field not in cached]


def _size(access: Access) -> int:
    return access.run * prod(step.times for step in access.steps)


def _on_chip(touched: Sequence[Access]) -> int:
    """Return the bytes of accesses to the on-chip memory."""
    return sum(_size(access) for access in touched if access.on_chip)


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
        for chain in hardware_chains(task):
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
            if region is not None and is_boundary(loadable, region.memory):
                sets[region.memory] = sets.get(region.memory, ByteSet.none()) | ByteSet.of(region)
    return sum(map(len, sets.values()))


def is_boundary(loadable: Loadable, memory: int) -> bool:
    return bool(loadable.memories[memory].flags & (MemoryFlags.SET | MemoryFlags.INPUT | MemoryFlags.OUTPUT))
