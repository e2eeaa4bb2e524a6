"""
In which order steps run, so that little is alive at once.

The peak of an order is the most bytes alive during any of its steps. Three orders are tried: the one given,
the one that grows least at each step, and depth first. Where none of them is as low as every order must be,
a search over the sets of steps that may have run looks for a lower one (`_Search`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

MAX_EXPANSIONS = 20_000
"""Steps that the search tries, after one set of steps or another; about 3 microseconds each."""


@dataclass(frozen=True)
class ScheduleStep:
    """
    Layers that run as one: the steps they `need` before them and the numbers of the buffers they touch.

    Of each of the pairs `in_place`, the first buffer, written first here, may lie where the second does if
    nothing touches that one afterwards. The first buffer is the same in all pairs.
    """

    needs: tuple[int, ...]
    buffers: tuple[int, ...]
    in_place: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Schedule:
    """An order of steps, its `schedule_peak`, and the bytes below which the peak of no order lies."""

    steps: tuple[int, ...]
    peak: int
    lower_bound: int
    """Over all orders. Equal to `schedule_peak` if no order has a lower one."""


def min_peak_schedule(
    steps: Sequence[ScheduleStep], sizes: Sequence[int], kept: frozenset[int], max_tried: int = MAX_EXPANSIONS
) -> Schedule:
    """
    An order of `steps` that respects who needs whom, with the least peak found.

    `steps` come in a legal order; `sizes` are the buffers' bytes; `kept` buffers are never freed. A buffer
    lives from the first to the last step that touches it. On a tie the order given stays. If the search comes
    to an end before it has tried `max_tried` steps, no order has a lower peak.
    """
    costs = _Costs(steps, sizes, kept)
    candidates = (tuple(range(len(steps))), costs.least_growth(), _depth_first(steps))
    peaks = [costs.peak(order) for order in candidates]
    least = min(peaks)
    best = candidates[peaks.index(least)]
    bound = max((costs.own_bytes(index) for index in range(len(steps))), default=0)
    if bound < least:
        found, bound = _Search(costs, bound, least, max_tried).run()
        if found is not None:
            best, least = found, costs.peak(found)
    return Schedule(best, least, bound)


def schedule_peak(
    steps: Sequence[ScheduleStep], order: Sequence[int], sizes: Sequence[int], kept: frozenset[int]
) -> int:
    """The most bytes alive during any step of `order`."""
    return _Costs(steps, sizes, kept).peak(order)


class _Costs:
    """
    How many bytes each step adds and frees, given the set of steps that have run before it.

    Sets of steps are the bits of an integer. What is alive after a set has run is the same in whatever order
    it has.
    """

    def __init__(self, steps: Sequence[ScheduleStep], sizes: Sequence[int], kept: frozenset[int]):
        self.steps = steps
        self._sizes = sizes
        self._kept = kept
        self._buffers = [tuple(set(step.buffers)) for step in steps]
        self._touching: dict[int, int] = {}
        """The steps that touch each buffer."""
        for index, buffers in enumerate(self._buffers):
            for buffer in buffers:
                self._touching[buffer] = self._touching.get(buffer, 0) | 1 << index

    def change(self, index: int, done: int) -> tuple[int, int]:
        """Bytes that a step needs beside what is alive before it, and by how many what is alive changes."""
        own = 1 << index
        fresh = freed = 0
        for buffer in self._buffers[index]:
            touching = self._touching[buffer]
            if not touching & done:
                fresh += self._sizes[buffer]
            if not touching & ~done & ~own and buffer not in self._kept:
                freed += self._sizes[buffer]
        saved = [
            min(self._sizes[buffer], self._sizes[host])
            for buffer, host in self.steps[index].in_place
            if self._may_replace(buffer, host, done, own)
        ]
        return fresh - max(saved, default=0), fresh - freed

    def _may_replace(self, buffer: int, host: int, done: int, own: int) -> bool:
        """Whether a buffer is new, and nothing but this step has still to touch its host."""
        is_new = not self._touching[buffer] & done
        return is_new and not self._touching[host] & ~done & ~own and host not in self._kept

    def only_adds(self, index: int) -> bool:
        """Whether a step needs none before it, and others touch all that it touches."""
        own = 1 << index
        return not self.steps[index].needs and all(
            self._touching[buffer] != own or buffer in self._kept for buffer in self._buffers[index]
        )

    def own_bytes(self, index: int) -> int:
        """Bytes that are alive during a step in any order: those that it touches."""
        step = self.steps[index]
        saved = [
            min(self._sizes[buffer], self._sizes[host])
            for buffer, host in step.in_place
            if host not in self._kept
        ]
        return sum(self._sizes[buffer] for buffer in self._buffers[index]) - max(saved, default=0)

    def peak(self, order: Sequence[int]) -> int:
        """The most bytes alive during any step of `order`."""
        live = highest = done = 0
        for index in order:
            needed, change = self.change(index, done)
            highest = max(highest, live + needed)
            live += change
            done |= 1 << index
        return highest

    def least_growth(self) -> tuple[int, ...]:
        """Always the step after which least is alive; ties go to the earlier one."""
        done = 0

        def pick(ready: list[int]) -> int:
            nonlocal done
            index = min(ready, key=lambda each: (self.change(each, done)[1], each))
            done |= 1 << index
            return index

        return _list_schedule(self.steps, pick)


class _Search:
    """
    The order with the least peak, over the sets of steps that may have run (the ideals of the dependencies).

    Always the set with the lowest peak so far goes on, as in Dijkstra's shortest paths with the largest
    instead of the sum: when all steps have run, no order has a lower peak. When `max_tried` steps have been
    tried, the peak of the set that is next is a lower bound still: every order passes through a set that
    waits.

    Steps that need none and free nothing run just before the first that needs them: earlier they would only
    keep more alive. So they double no number of sets.
    """

    def __init__(self, costs: _Costs, bound: int, below: int, max_tried: int):
        """Looks for a peak under `below`; none is under `bound`."""
        self._costs = costs
        self._bound = bound
        self._below = below
        self._left = max_tried
        count = len(costs.steps)
        self._dependents: list[list[int]] = [[] for _ in range(count)]
        for index, step in enumerate(costs.steps):
            for need in set(step.needs):
                self._dependents[need].append(index)
        self._late = {index for index in range(count) if self._dependents[index] and costs.only_adds(index)}
        self._first = [tuple(sorted(self._late.intersection(step.needs))) for step in costs.steps]
        """The late ones that each step needs."""
        self._needs = [sum(1 << need for need in {*step.needs} - self._late) for step in costs.steps]

    def run(self) -> tuple[tuple[int, ...] | None, int]:
        """The best order, if there is one under the peak that is known, and the lower bound on all."""
        count = len(self._costs.steps)
        ready = tuple(
            index for index, needs in enumerate(self._needs) if not needs and index not in self._late
        )
        before: dict[int, tuple[int, tuple[int, ...]]] = {}
        """The set that each set was made from, and the steps."""
        waiting = [(self._bound, 0, 0, 0, ready)]
        closed: set[int] = set()
        peaks = {0: self._bound}
        while waiting:
            highest, missing, done, live, ready = heappop(waiting)
            if done in closed:
                continue
            if -missing == count:
                return _reconstruct_order(before, done), highest
            if self._left <= 0:
                return None, highest
            closed.add(done)
            for run, reached, after in self._next(highest, done, live, ready):
                index, key = run[-1], done
                for each in run:
                    key |= 1 << each
                if reached < min(self._below, peaks.get(key, self._below)):
                    peaks[key] = reached
                    before[key] = done, run
                    following = tuple(each for each in ready if each != index) + self._enabled(index, key)
                    heappush(waiting, (reached, missing - len(run), key, after, following))
        return None, self._below

    def _next(
        self, highest: int, done: int, live: int, ready: tuple[int, ...]
    ) -> list[tuple[tuple[int, ...], int, int]]:
        """
        The steps that may follow, with the peak and the bytes alive after each.

        A step that raises neither goes first without loss: in any order that has it later, moving it to the
        front keeps what is alive during the steps between as it was, or makes it less.
        """
        found: list[tuple[tuple[int, ...], int, int]] = []
        for index in ready:
            run = (*(late for late in self._first[index] if not done >> late & 1), index)
            schedule_peak, after, ran = highest, live, done
            for each in run:
                self._left -= 1
                needed, change = self._costs.change(each, ran)
                schedule_peak, after, ran = (
                    max(schedule_peak, after + needed),
                    after + change,
                    ran | 1 << each,
                )
            if after <= live and schedule_peak == highest:
                return [(run, schedule_peak, after)]
            found.append((run, schedule_peak, after))
        return found

    def _enabled(self, index: int, done: int) -> tuple[int, ...]:
        """The steps that may run now that the step `index` has."""
        return tuple(each for each in self._dependents[index] if not self._needs[each] & ~done)


def _reconstruct_order(before: dict[int, tuple[int, tuple[int, ...]]], done: int) -> tuple[int, ...]:
    order: list[int] = []
    while done:
        done, run = before[done]
        order += reversed(run)
    return tuple(reversed(order))


def _list_schedule(steps: Sequence[ScheduleStep], pick: Callable[[list[int]], int]) -> tuple[int, ...]:
    """Repeatedly takes the step that `pick` chooses among those whose needs are met."""
    missing = [set(step.needs) for step in steps]
    dependents: dict[int, list[int]] = {}
    for index, step in enumerate(steps):
        for need in step.needs:
            dependents.setdefault(need, []).append(index)
    ready = [index for index, needs in enumerate(missing) if not needs]
    order: list[int] = []
    while ready:
        index = pick(ready)
        ready.remove(index)
        order.append(index)
        for dependent in dependents.get(index, ()):
            missing[dependent].discard(index)
            if not missing[dependent] and dependent not in ready:
                ready.append(dependent)
    return tuple(order)


def _depth_first(steps: Sequence[ScheduleStep]) -> tuple[int, ...]:
    """Goes on with what has just become possible: one branch to its end before the next."""
    return _list_schedule(steps, lambda ready: ready[-1])
