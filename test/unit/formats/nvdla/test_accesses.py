"""
What operations are said to write against what the reference stack wrote: every byte of an output was 0xA5
before the run, so what nothing writes still is, and what is written is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from xonnc.formats.nvdla.accesses import Access, accesses, emu_accesses
from xonnc.formats.nvdla.byte_regions import ByteSet
from xonnc.formats.nvdla.enumerations import MemoryFlags
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.reader import read_loadable
from xonnc.formats.nvdla.tasks import Address, DlaTask, decode_tasks
from xonnc.targets import NvdlaTarget, load_target

FILL = 0xA5


def writes(loadable: Loadable, target: NvdlaTarget) -> Iterator[tuple[Access, tuple[Address, ...]]]:
    for task in decode_tasks(loadable):
        touched = (
            [access for operation in task.operations for access in accesses(operation, target)]
            if isinstance(task, DlaTask)
            else [access for operation in task.operations for access in emu_accesses(operation)]
        )
        yield from ((access, task.addresses) for access in touched if access.writes)


def written(loadable: Loadable, target: NvdlaTarget, memory: int, size: int) -> tuple[ByteSet, ByteSet]:
    """The bytes of a memory that are written, and those that may be besides."""
    certain, possible = ByteSet.none(), ByteSet.none()
    for access, addresses in writes(loadable, target):
        region = access.region(addresses)
        if region is None or region.memory != memory:
            continue
        assert 0 <= region.begin < region.end <= size
        if access.is_padding:
            possible = possible | ByteSet.of(region)
        else:
            certain = certain | ByteSet.of(region)
    return certain, possible


def mask(data: ByteSet, size: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    covered = np.zeros(size, np.bool_)
    for begin, end in zip(data.begins, data.ends, strict=True):
        covered[begin:end] = True
    return covered


@pytest.mark.parametrize("configuration", ["nv_full", "nv_large", "nv_small"])
def test_outputs_are_written_where_they_are_said_to_be(configuration: str, vectors: Path):
    target = load_target(configuration)
    gaps = 0
    for folder in sorted((vectors / configuration).iterdir()):
        loadable = read_loadable(folder / "loadable.nvdla")
        for index, memory in enumerate(loadable.memories):
            if not memory.flags & MemoryFlags.OUTPUT:
                continue
            data = np.fromfile(folder / f"output_{memory.bind_id}.bin", np.uint8)
            certain, possible = written(loadable, target, index, data.size)
            inside = mask(certain, data.size)
            outside = ~(inside | mask(possible, data.size))
            assert (data[outside] == FILL).all(), f"{folder}: bytes are written that should not be"
            # Results may happen to be 0xA5, but seldom.
            assert (data[inside] == FILL).mean() < 0.2, f"{folder}: bytes are not written that should be"
            gaps += int(outside.sum())
    # Some outputs have gaps between lines, or the test above would not show a thing.
    assert gaps > 100


@pytest.mark.parametrize(("number", "memory"), [(-1, None), (0, 7), (1, 8), (2, None)])
def test_only_addresses_that_exist_have_a_region(number: int, memory: int | None):
    region = Access("src_data", number, offset=3, run=5, steps=(), writes=False).region(
        (Address(memory=7, offset=100), Address(memory=8, offset=200))
    )
    assert (None if region is None else (region.memory, region.begin)) == (
        None if memory is None else (memory, 100 * (number + 1) + 3)
    )
