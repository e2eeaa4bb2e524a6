"""Placement of buffers: nothing alive overlaps, and the plan comes down to the live-set bound."""

from __future__ import annotations

import random

import pytest

from xonnc.errors import UnknownNameError
from xonnc.lowering.memory_planning.offset_assignment import (
    ALLOCATORS,
    Allocator,
    BufferLifetime,
    OffsetAssignment,
    assign_offsets,
    peak_live_bytes,
    require_allocator,
)


def overlaps(buffers: list[BufferLifetime], plan: OffsetAssignment) -> list[tuple[int, int]]:
    return [
        (i, j)
        for step in range(max((buffer.last for buffer in buffers), default=0) + 1)
        for i, left in enumerate(buffers)
        for j, right in enumerate(buffers[:i])
        if plan.offsets[i] < plan.offsets[j] + size_in(right, step)
        if plan.offsets[j] < plan.offsets[i] + size_in(left, step)
        if size_in(left, step) and size_in(right, step)
    ]


def size_in(buffer: BufferLifetime, step: int) -> int:
    """The size of a buffer in a step; 0 if it is not alive."""
    if not buffer.first <= step <= buffer.last:
        return 0
    return [buffer.size, *(size for start, size in buffer.shrinks if start <= step)][-1]


def test_a_chain_needs_two_buffers():
    buffers = [BufferLifetime(100, step, step + 1) for step in range(8)]
    plan = assign_offsets(buffers)
    assert plan.size == plan.peak == 200
    assert overlaps(buffers, plan) == []


def test_a_residual_stays_until_its_last_reader():
    buffers = [
        BufferLifetime(100, 0, 3),
        BufferLifetime(50, 1, 2),
        BufferLifetime(50, 2, 3),
        BufferLifetime(100, 3, 4),
    ]
    assert peak_live_bytes(buffers) == 250
    plan = assign_offsets(buffers)
    assert plan.size == 250
    assert overlaps(buffers, plan) == []


def test_what_a_buffer_leaves_when_it_shrinks_is_used():
    buffers = [BufferLifetime(100, 0, 5, ((2, 30),)), BufferLifetime(70, 2, 4), BufferLifetime(60, 3, 5)]
    assert peak_live_bytes(buffers) == 160
    plan = assign_offsets(buffers)
    assert plan.size == 160
    assert overlaps(buffers, plan) == []


def test_no_buffers_take_no_memory():
    assert assign_offsets([]) == OffsetAssignment((), 0, 0)


def test_random_lifetimes_stay_apart_and_near_the_bound():
    generator = random.Random(7)
    excess: list[float] = []
    for _ in range(20):
        firsts = [generator.randrange(30) for _ in range(40)]
        buffers = [
            BufferLifetime(32 * generator.randint(1, 50), first, first + generator.randrange(6))
            for first in firsts
        ]
        plan = assign_offsets(buffers)
        assert overlaps(buffers, plan) == []
        assert plan.peak <= plan.size
        excess.append(plan.size / plan.peak)
    assert sum(excess) / len(excess) < 1.03


def random_lifetime(generator: random.Random, first: int) -> BufferLifetime:
    size, last = 32 * generator.randint(1, 50), first + generator.randrange(6)
    shrinks: list[tuple[int, int]] = []
    for step in range(first + 1, last + 1):
        if generator.random() < 0.2:
            size_before = shrinks[-1][1] if shrinks else size
            shrinks.append((step, generator.randrange(0, size_before, 32)))
            if not shrinks[-1][1]:
                break
    return BufferLifetime(size, first, last, tuple(shrinks))


def test_random_buffers_that_shrink_stay_apart_and_near_the_bound():
    generator = random.Random(8)
    excess: list[float] = []
    for _ in range(20):
        buffers = [random_lifetime(generator, generator.randrange(30)) for _ in range(40)]
        plan = assign_offsets(buffers)
        assert overlaps(buffers, plan) == []
        assert plan.peak <= plan.size
        excess.append(plan.size / plan.peak)
    assert sum(excess) / len(excess) < 1.05


def test_first_fit_takes_the_lowest_gap_and_best_fit_the_smallest():
    # When the first two of four are dead there are gaps of 40 bytes at 0 and of 20 bytes at 60.
    buffers = [
        BufferLifetime(40, 0, 1),
        BufferLifetime(20, 0, 9),
        BufferLifetime(20, 0, 1),
        BufferLifetime(10, 0, 9),
        BufferLifetime(20, 2, 9),
    ]
    offsets = {name: assign_offsets(buffers, allocator=name).offsets[-1] for name in ALLOCATORS}
    assert (offsets["first-fit"], offsets["best-fit"]) == (0, 60)


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_no_allocator_lets_buffers_overlap_and_auto_is_never_larger(allocator: Allocator):
    generator = random.Random(9)
    for _ in range(40):
        buffers = [random_lifetime(generator, generator.randrange(20)) for _ in range(25)]
        plan = assign_offsets(buffers, allocator=allocator)
        assert overlaps(buffers, plan) == []
        assert assign_offsets(buffers).size <= plan.size


def test_an_unknown_allocator():
    with pytest.raises(UnknownNameError, match="no allocator 'firstfit'; did you mean 'first-fit'"):
        require_allocator("firstfit")


def test_the_same_buffers_give_the_same_plan():
    generator = random.Random(3)
    buffers = [
        BufferLifetime(generator.randint(1, 99), step, step + generator.randrange(9)) for step in range(30)
    ]
    assert assign_offsets(buffers) == assign_offsets(buffers)
