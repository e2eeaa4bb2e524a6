"""
Offset assignment: place buffers with known lifetimes in one memory of small size (dynamic storage
allocation).

The size cannot be below the peak of live bytes. The problem is NP-hard; greedy best-fit placement in several
orders, then a randomised local search, come close to that bound.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import Literal, TypeAlias, get_args

from xonnc.errors import UnknownNameError, suggest

Allocator: TypeAlias = Literal["auto", "first-fit", "best-fit"]
"""
How offsets are chosen. `first-fit` and `best-fit` take the buffers in the order of their first use, and the
lowest or the smallest gap for each; `auto` takes the smallest of several plans, `first-fit` among them.
"""

ALLOCATORS: tuple[Allocator, ...] = get_args(Allocator)

MAX_SEARCH_STEPS = 200
"""Limit of placements in the local search; each takes about a millisecond."""


@dataclass(frozen=True)
class BufferLifetime:
    """
    A buffer of `size` bytes, live from step `first` to step `last`, both included.

    From the step of each of `shrinks` on, it has the size beside it, no larger than before.
    """

    size: int
    first: int
    last: int
    shrinks: tuple[tuple[int, int], ...] = ()

    @property
    def parts(self) -> tuple[BufferLifetime, ...]:
        """The lifetimes of constant size that follow each other."""
        starts = ((self.first, self.size), *self.shrinks)
        ends = (*(step - 1 for step, _ in self.shrinks), self.last)
        return tuple(
            BufferLifetime(size, first, last) for (first, size), last in zip(starts, ends, strict=True)
        )

    def overlaps(self, other: BufferLifetime) -> bool:
        """Whether both are live in the same step."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class OffsetAssignment:
    """
    The offset of each buffer, the total `size`, and the lower bound `peak`: the maximum of live bytes in a
    step.
    """

    offsets: tuple[int, ...]
    size: int
    peak: int


def peak_live_bytes(buffers: Sequence[BufferLifetime]) -> int:
    """Return the maximum of live bytes over all steps, a lower bound for the size of any plan."""
    changes = sorted(
        chain.from_iterable(
            ((part.first, part.size), (part.last + 1, -part.size))
            for buffer in buffers
            for part in buffer.parts
        )
    )
    live = peak = 0
    for _, change in changes:
        live += change
        peak = max(peak, live)
    return peak


def require_allocator(name: str) -> Allocator:
    """Return the allocator of a name; raise `UnknownNameError` if there is none."""
    for known in ALLOCATORS:
        if name == known:
            return known
    hint = suggest(name, ALLOCATORS) or f"; there are {', '.join(ALLOCATORS)}"
    raise UnknownNameError(f"no allocator '{name}'{hint}")


def assign_offsets(
    buffers: Sequence[BufferLifetime], max_placed: int | None = None, allocator: Allocator = "auto"
) -> OffsetAssignment:
    """
    Assign offsets so that buffers with overlapping lifetimes are disjoint; return the smallest plan found.

    `auto` is greedy best fit in several orders, and first fit. If all exceed the lower bound, a local search
    with a fixed seed moves buffers that end at the top of memory to the front of the order; it places
    `max_placed` buffers at most in total. The result is deterministic.
    """
    bound = peak_live_bytes(buffers)
    conflicts = _interference_graph(buffers)
    first_uses = sorted(range(len(buffers)), key=_first_use(buffers))
    if allocator != "auto":
        gap_of = _lowest_gap if allocator == "first-fit" else _tightest_gap
        offsets = _place_greedily(buffers, conflicts, first_uses, gap_of)
        return OffsetAssignment(offsets, _total_size(buffers, offsets), bound)
    best_order: list[int] = []
    best: tuple[int, ...] = ()
    best_size = -1
    for order in _orders(buffers):
        offsets = _place_greedily(buffers, conflicts, order)
        size = _total_size(buffers, offsets)
        if best_size < 0 or size < best_size:
            best_order, best, best_size = order, offsets, size
    if best_size > bound:
        offsets = _place_greedily(buffers, conflicts, first_uses, _lowest_gap)
        if (size := _total_size(buffers, offsets)) < best_size:
            best_order, best, best_size = first_uses, offsets, size
    generator = random.Random(0)
    tries = (
        MAX_SEARCH_STEPS if max_placed is None else min(MAX_SEARCH_STEPS, max_placed // max(1, len(buffers)))
    )
    for _ in range(tries):
        if best_size <= bound:
            break
        order = _reordered(buffers, best, best_order, best_size, generator)
        offsets = _place_greedily(buffers, conflicts, order)
        size = _total_size(buffers, offsets)
        if size <= best_size:
            best_order, best, best_size = order, offsets, size
    return OffsetAssignment(best, max(best_size, 0), bound)


Conflict: TypeAlias = tuple[int, int, int]
"""Another buffer, the size of this one, and that of the other, while both are live."""


def _interference_graph(buffers: Sequence[BufferLifetime]) -> list[list[Conflict]]:
    """Return, for each buffer, its conflicts with those whose lifetimes overlap its own."""
    found: list[list[Conflict]] = [[] for _ in buffers]
    parts = [buffer.parts for buffer in buffers]
    alive: list[int] = []
    for index in sorted(range(len(buffers)), key=lambda each: buffers[each].first):
        alive = [other for other in alive if buffers[other].last >= buffers[index].first]
        for other in alive:
            for one, two in product(parts[index], parts[other]):
                if one.overlaps(two):
                    found[other].append((index, two.size, one.size))
                    found[index].append((other, one.size, two.size))
        alive.append(index)
    return found


def _orders(buffers: Sequence[BufferLifetime]) -> list[list[int]]:
    indexes = range(len(buffers))
    keys: tuple[Callable[[int], tuple[int, ...]], ...] = (
        lambda i: (-buffers[i].size, buffers[i].first, i),
        lambda i: (-buffers[i].size * (buffers[i].last - buffers[i].first + 1), i),
        lambda i: (-(buffers[i].last - buffers[i].first), -buffers[i].size, i),
        _first_use(buffers),
    )
    return [sorted(indexes, key=key) for key in keys]


def _first_use(buffers: Sequence[BufferLifetime]) -> Callable[[int], tuple[int, ...]]:
    """The order of the steps in which buffers are used first; of one step, the largest comes first."""
    return lambda i: (buffers[i].first, -buffers[i].size, i)


def _place_greedily(
    buffers: Sequence[BufferLifetime],
    conflicts: Sequence[Sequence[Conflict]],
    order: Sequence[int],
    gap_of: Callable[[Sequence[tuple[int, int]]], int] | None = None,
) -> tuple[int, ...]:
    """Return the offset of each buffer, placed in this order; `gap_of` is best fit by default."""
    gap_of = gap_of or _tightest_gap
    offsets = [-1] * len(buffers)
    for index in order:
        taken = sorted(
            (offsets[j] - own, offsets[j] + other) for j, own, other in conflicts[index] if offsets[j] >= 0
        )
        offsets[index] = gap_of(taken)
    return tuple(offsets)


def _lowest_gap(taken: Sequence[tuple[int, int]]) -> int:
    """Return the lowest offset that no range of `taken` excludes; see `_tightest_gap`."""
    end = 0
    for begin, stop in taken:
        if begin >= end:
            break
        end = max(end, stop)
    return end


def _tightest_gap(taken: Sequence[tuple[int, int]]) -> int:
    """Return the first offset of the smallest gap; `taken` has, in order, ranges between which none is."""
    end = 0
    best: tuple[int, int] | None = None
    for begin, stop in taken:
        if begin >= end and (best is None or begin - end < best[0]):
            best = (begin - end, end)
        end = max(end, stop)
    return end if best is None else best[1]


def _total_size(buffers: Sequence[BufferLifetime], offsets: Sequence[int]) -> int:
    return max((offset + buffer.size for offset, buffer in zip(offsets, buffers, strict=True)), default=0)


def _reordered(
    buffers: Sequence[BufferLifetime],
    offsets: Sequence[int],
    order: Sequence[int],
    size: int,
    generator: random.Random,
) -> list[int]:
    top = [index for index in order if offsets[index] + buffers[index].size == size]
    moved = {generator.choice(top), generator.choice(order)}
    return [index for index in order if index in moved] + [index for index in order if index not in moved]
