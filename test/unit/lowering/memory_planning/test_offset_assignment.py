"""Placement of buffers: nothing alive overlaps, and the plan comes down to the live-set bound."""

from __future__ import annotations

import random

from xonnc.lowering.memory_planning.offset_assignment import (
    BufferLifetime,
    OffsetAssignment,
    assign_offsets,
    peak_live_bytes,
)


def overlaps(buffers: list[BufferLifetime], plan: OffsetAssignment) -> list[tuple[int, int]]:
    ranges = [(offset, offset + buffer.size) for offset, buffer in zip(plan.offsets, buffers, strict=True)]
    return [
        (i, j)
        for i, left in enumerate(buffers)
        for j, right in enumerate(buffers[:i])
        if left.first <= right.last and right.first <= left.last
        if ranges[i][0] < ranges[j][1] and ranges[j][0] < ranges[i][1]
    ]


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


def test_the_same_buffers_give_the_same_plan():
    generator = random.Random(3)
    buffers = [
        BufferLifetime(generator.randint(1, 99), step, step + generator.randrange(9)) for step in range(30)
    ]
    assert assign_offsets(buffers) == assign_offsets(buffers)
