"""The memory map of a loadable, from the accesses of its operations: what a compiler planned is not known."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from xonnc.formats.nvdla.accesses import Access, accesses, emu_accesses
from xonnc.formats.nvdla.byte_regions import ByteSet, Region
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.performance import hardware_chains, is_boundary
from xonnc.formats.nvdla.tasks import Address, EmuTask, decode_tasks
from xonnc.lowering.memory_planning.memory_map import MemoryMap, PlacedBuffer
from xonnc.targets import NvdlaTarget


@dataclass
class _WrittenBytes:
    """What a step wrote, the last step that read of it, and the bytes that no later step has overwritten."""

    memory: int
    first: int
    last: int
    begin: int
    end: int
    left: ByteSet


def memory_map(loadable: Loadable, target: NvdlaTarget) -> MemoryMap:
    """
    Return what each hardware layer writes to memory, until the last layer that reads it.

    Constants, inputs and outputs are left out. Memory objects are shown one after the other. The size of a
    result is from its first to its last byte: others may lie between its lines. There is no lower bound,
    which takes the network.
    """
    layers = list(_layers(loadable, target))
    bases = _bases(loadable, {region.memory for _, regions in layers for region, writes in regions if writes})
    written: list[_WrittenBytes] = []
    steps: list[str] = []
    for name, regions in layers:
        step = len(steps)
        steps.append(f"layer {step}: {name}")
        inner = [(region, writes) for region, writes in regions if region.memory in bases]
        for region, writes in inner:
            if not writes:
                _read(written, region, step)
        for region, writes in inner:
            if writes:
                written.append(_write(written, region, step))
    buffers = tuple(
        PlacedBuffer(
            steps[each.first], each.first, each.last, bases[each.memory] + each.begin, each.end - each.begin
        )
        for each in written
    )
    found = MemoryMap(tuple(steps), buffers, sum(loadable.memories[memory].size for memory in bases), 0)
    return replace(found, peak=max((found.alive(step) for step in range(len(steps))), default=0))


def _bases(loadable: Loadable, written: Collection[int]) -> dict[int, int]:
    """Return where each of the `written` memory objects that only layers use begins in the map."""
    bases: dict[int, int] = {}
    end = 0
    for index, memory in enumerate(loadable.memories):
        if index in written and not is_boundary(loadable, index):
            bases[index] = end
            end += memory.size
    return bases


def _layers(loadable: Loadable, target: NvdlaTarget) -> Iterator[tuple[str, list[tuple[Region, bool]]]]:
    """Yield the engines of each layer, and the regions of memory that it reads, and writes."""
    for task in decode_tasks(loadable):
        if isinstance(task, EmuTask):
            layers = [("EMU", emu_accesses(operation)) for operation in task.operations]
        else:
            layers = [
                (
                    "+".join(operation.engine.name for operation in chain),
                    [access for operation in chain for access in accesses(operation, target)],
                )
                for chain in hardware_chains(task)
            ]
        for name, touched in layers:
            yield name, [*_regions(touched, task.addresses)]


def _regions(touched: Sequence[Access], addresses: tuple[Address, ...]) -> Iterator[tuple[Region, bool]]:
    for access in touched:
        region = access.region(addresses)
        if region is not None:
            yield region, access.writes


def _read(written: list[_WrittenBytes], region: Region, step: int) -> None:
    """Extend the lives of what a step reads."""
    for each in written:
        if _may_meet(each, region) and each.left & ByteSet.of(region):
            each.last = step


def _write(written: list[_WrittenBytes], region: Region, step: int) -> _WrittenBytes:
    """Overwrite what lies in a region; return what is there then."""
    bytes_ = ByteSet.of(region)
    for each in written:
        if _may_meet(each, region):
            each.left -= bytes_
    return _WrittenBytes(region.memory, step, step, region.begin, region.end, bytes_)


def _may_meet(each: _WrittenBytes, region: Region) -> bool:
    return each.memory == region.memory and each.begin < region.end and region.begin < each.end
