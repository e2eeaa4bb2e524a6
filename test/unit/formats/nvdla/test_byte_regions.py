from __future__ import annotations

import random

import numpy as np
import pytest

from xonnc.formats.nvdla.byte_regions import ByteSet, Region, Repetition


def members(data: ByteSet) -> set[int]:
    return {
        byte
        for begin, end in zip(data.begins, data.ends, strict=True)
        for byte in range(int(begin), int(end))
    }


def bytes_of(region: Region) -> set[int]:
    starts = {region.begin}
    for times, stride, _ in region.steps:
        starts = {start + index * stride for start in starts for index in range(times)}
    return {start + byte for start in starts for byte in range(region.run)}


def random_region(seed: int) -> Region:
    choose = random.Random(seed)
    steps = tuple(
        Repetition(choose.randint(1, 4), choose.randint(0, 60)) for _ in range(choose.randint(0, 3))
    )
    return Region(0, choose.randint(0, 50), choose.randint(1, 30), steps)


@pytest.mark.parametrize("seed", range(40))
def test_a_region_is_its_bytes(seed: int):
    region = random_region(seed)
    assert members(ByteSet.of(region)) == bytes_of(region)
    assert region.end == max(bytes_of(region)) + 1


@pytest.mark.parametrize("seed", range(60))
def test_sets_of_bytes_compute_as_sets(seed: int):
    first, second = random_region(seed), random_region(1000 + seed)
    left, right = ByteSet.of(first), ByteSet.of(second)
    assert members(left & right) == bytes_of(first) & bytes_of(second)
    assert members(left - right) == bytes_of(first) - bytes_of(second)
    assert members(left | right) == bytes_of(first) | bytes_of(second)
    assert len(left | right) == len(bytes_of(first) | bytes_of(second))
    assert bool(left - left) is False


def test_ranges_that_touch_are_one():
    joined = ByteSet.range(0, 10) | ByteSet.range(10, 20)
    assert (joined.begins.tolist(), joined.ends.tolist()) == ([0], [20])
    assert not ByteSet.range(5, 5)


def test_a_packed_cube_is_one_run():
    cube = Region(3, 64, 256, (Repetition(8, 256), Repetition(4, 2048), Repetition(1, 0)))
    assert cube.packed() == Region(3, 64, 256 * 32)


def test_more_runs_than_can_be_listed_count_as_filled():
    huge = Region(0, 0, 32, (Repetition(8192, 64), Repetition(512, 8192 * 64)))
    data = ByteSet.of(huge)
    assert data.begins.size <= 1 << 18
    assert (data.first, int(np.max(data.ends))) == (0, huge.end)
