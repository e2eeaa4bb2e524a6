"""
Memory-aware operator scheduling: an order of steps with a low peak of live memory.

The peak of an order is the maximum, over its steps, of the bytes that are live. Four heuristics are tried:
the given order, greedy list scheduling by least memory growth, depth first from the inputs, and from the
results, where the operand that needs the most memory is computed first (Sethi and Ullman). If none of them
reaches the lower bound, a best-first search over sets of executed steps looks for the optimum
(`_OrderSearch`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

MAX_EXPANSIONS = 20_000
"""Limit of step evaluations in the search; each takes about 3 microseconds."""


@dataclass(frozen=True)
class ScheduleStep:
    """
    A step: the steps it depends on (`needs`) and the numbers of the `buffers` it accesses.

    For each pair in `in_place`, the first buffer, which this step defines, may take the memory of the second
    one if that dies here. The first buffer is the same in all pairs.
    """

    needs: tuple[int, ...]
    buffers: tuple[int, ...]
    in_place: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Schedule:
    """An order of steps, its peak in bytes, and a lower bound for the peak of every order."""

    steps: tuple[int, ...]
    peak: int
    lower_bound: int
    """Equal to `peak` if the order is proven optimal."""


def min_peak_schedule(
    steps: Sequence[ScheduleStep],
    sizes: Sequence[int],
    pinned: frozenset[int],
    max_expansions: int = MAX_EXPANSIONS,
) -> Schedule:
    """
    Return a topological order of `steps` with the lowest peak found.

    `steps` are given in a legal order; `sizes` are the sizes of buffers in bytes; `pinned` buffers are never
    freed. A buffer is live from the first to the last step that accesses it. On a tie the given order is
    pinned. If the search ends within `max_expansions` step evaluations, the result is optimal.
    """
    costs = _Costs(steps, sizes, pinned)
    given = tuple(range(len(steps)))
    candidates = (given, costs.min_growth(), _depth_first(steps), costs.by_operands())
    peaks = [costs.peak(order) for order in candidates]
    least = min(peaks)
    best = candidates[peaks.index(least)]
    bound = max((costs.own_bytes(index) for index in range(len(steps))), default=0)
    if bound < least:
        found, bound = _OrderSearch(costs, bound, least, max_expansions).run()
        if found is not None:
            best, least = found, costs.peak(found)
    return Schedule(best, least, bound)


def schedule_peak(
    steps: Sequence[ScheduleStep], order: Sequence[int], sizes: Sequence[int], pinned: frozenset[int]
) -> int:
    """Return the peak of live bytes of `order`."""
    return _Costs(steps, sizes, pinned).peak(order)


class LiveBytes:
    """The live bytes while steps run one after the other, in an order that is found step by step."""

    def __init__(self, steps: Sequence[ScheduleStep], sizes: Sequence[int]):
        self._costs = _Costs(steps, sizes, frozenset())
        self._done = self._live = 0

    def run(self, index: int) -> None:
        """Run a step."""
        self._live += self._costs.change(index, self._done)[1]
        self._done |= 1 << index

    def peak_of(self, following: Sequence[int]) -> int:
        """Return the peak of steps that would run next."""
        done, live, highest = self._done, self._live, 0
        for index in following:
            added, change = self._costs.change(index, done)
            highest = max(highest, live + added)
            live += change
            done |= 1 << index
        return highest


class _Costs:
    """
    The bytes that a step allocates and frees, given the set of steps executed before it.

    A set of steps is a bit mask. What is live after a set has run does not depend on the order within the
    set, which is what makes dynamic programming over sets exact.
    """

    def __init__(self, steps: Sequence[ScheduleStep], sizes: Sequence[int], pinned: frozenset[int]):
        self.steps = steps
        self._sizes = sizes
        self._pinned = pinned
        self._buffers = [tuple(set(step.buffers)) for step in steps]
        self._accessing: dict[int, int] = {}
        """The set of steps that access each buffer."""
        for index, buffers in enumerate(self._buffers):
            for buffer in buffers:
                self._accessing[buffer] = self._accessing.get(buffer, 0) | 1 << index

    def change(self, index: int, done: int) -> tuple[int, int]:
        """Return the bytes that a step adds to the live ones while it runs, and the net change after it."""
        own = 1 << index
        fresh = freed = 0
        for buffer in self._buffers[index]:
            accessing = self._accessing[buffer]
            if not accessing & done:
                fresh += self._sizes[buffer]
            if not accessing & ~done & ~own and buffer not in self._pinned:
                freed += self._sizes[buffer]
        saved = [
            min(self._sizes[buffer], self._sizes[host])
            for buffer, host in self.steps[index].in_place
            if self._may_replace(buffer, host, done, own)
        ]
        return fresh - max(saved, default=0), fresh - freed

    def _may_replace(self, buffer: int, host: int, done: int, own: int) -> bool:
        """Whether a step may write `buffer` in place of `host`: the one is new, the other dies here."""
        is_new = not self._accessing[buffer] & done
        return is_new and not self._accessing[host] & ~done & ~own and host not in self._pinned

    def only_adds(self, index: int) -> bool:
        """Whether a step has no dependencies and frees nothing, so that it only increases live memory."""
        own = 1 << index
        return not self.steps[index].needs and all(
            self._accessing[buffer] != own or buffer in self._pinned for buffer in self._buffers[index]
        )

    def own_bytes(self, index: int) -> int:
        """Return the bytes that are live during a step in every order: those that it accesses."""
        step = self.steps[index]
        saved = [
            min(self._sizes[buffer], self._sizes[host])
            for buffer, host in step.in_place
            if host not in self._pinned
        ]
        return sum(self._sizes[buffer] for buffer in self._buffers[index]) - max(saved, default=0)

    def peak(self, order: Sequence[int]) -> int:
        """Return the peak of live bytes of `order`."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for index in order:
            for buffer in self._buffers[index]:
                first.setdefault(buffer, index)
                last[buffer] = index
        live = highest = 0
        for index in order:
            buffers = self._buffers[index]
            live += sum(self._sizes[buffer] for buffer in buffers if first[buffer] == index)
            saved = [
                min(self._sizes[buffer], self._sizes[host])
                for buffer, host in self.steps[index].in_place
                if first[buffer] == index and last[host] == index and host not in self._pinned
            ]
            highest = max(highest, live - max(saved, default=0))
            live -= sum(
                self._sizes[buffer]
                for buffer in buffers
                if last[buffer] == index and buffer not in self._pinned
            )
        return highest

    def min_growth(self) -> tuple[int, ...]:
        """Greedy list scheduling: always the step with the least memory growth; ties by position."""
        waiting, dependents = _dependents(self.steps)
        left = {buffer: accessing.bit_count() for buffer, accessing in self._accessing.items()}
        accessing: dict[int, list[int]] = {}
        for index, buffers in enumerate(self._buffers):
            for buffer in buffers:
                accessing.setdefault(buffer, []).append(index)
        begun: set[int] = set()

        def growth(index: int) -> int:
            return sum(
                self._sizes[buffer]
                * ((buffer not in begun) - (left[buffer] == 1 and buffer not in self._pinned))
                for buffer in self._buffers[index]
            )

        # A step is queued again whenever a buffer of it is allocated, or has no other step left.
        growths = {index: growth(index) for index, count in enumerate(waiting) if not count}
        queue = sorted((found, index) for index, found in growths.items())
        order: list[int] = []
        while queue:
            found, index = heappop(queue)
            if growths.get(index) != found:
                continue
            del growths[index]
            order.append(index)
            changed = [buffer for buffer in self._buffers[index] if buffer not in begun]
            begun.update(changed)
            for buffer in self._buffers[index]:
                left[buffer] -= 1
                if left[buffer] == 1:
                    changed.append(buffer)
            affected = {step for buffer in changed for step in accessing[buffer] if step in growths}
            for dependent in dependents[index]:
                waiting[dependent] -= 1
                if not waiting[dependent]:
                    affected.add(dependent)
            for step in affected:
                if growths.get(step) != (now := growth(step)):
                    growths[step] = now
                    heappush(queue, (now, step))
        return tuple(order)

    def by_operands(self) -> tuple[int, ...]:
        """
        Sethi and Ullman's order: each step after all that it depends on, of which those come first that need
        the most memory beyond what they leave. In a tree no order that finishes one operand before it begins
        the next has a lower peak.
        """
        results = [0] * len(self.steps)
        for buffer, accessing in self._accessing.items():
            results[(accessing & -accessing).bit_length() - 1] += self._sizes[buffer]
        peaks: list[int] = []
        operands: list[list[int]] = []
        for index, step in enumerate(self.steps):
            ordered = sorted(set(step.needs), key=lambda need: (results[need] - peaks[need], need))
            live = highest = 0
            for need in ordered:
                highest = max(highest, live + peaks[need])
                live += results[need]
            peaks.append(max(highest, live + results[index]))
            operands.append(ordered)
        return _post_order(operands)


class _OrderSearch:
    """
    Best-first search for the order with the lowest peak, over the sets of executed steps (order ideals).

    It is Dijkstra's algorithm with the maximum of live bytes in place of the sum of edge lengths: the set
    with the lowest peak so far is expanded next, so that the first order to reach the full set is optimal. If
    the search stops after `max_expansions` evaluations, the peak of the next set is still a lower bound,
    since every order passes through a set in the queue.

    Steps without dependencies that free nothing are delayed until just before the first step that needs them:
    earlier they would only increase live memory. Without this, each of them would double the number of sets.
    """

    def __init__(self, costs: _Costs, bound: int, below: int, max_expansions: int):
        """Search for a peak below `below`; `bound` is a lower bound for all orders."""
        self._costs = costs
        self._bound = bound
        self._below = below
        self._left = max_expansions
        count = len(costs.steps)
        self._dependents: list[list[int]] = [[] for _ in range(count)]
        for index, step in enumerate(costs.steps):
            for need in set(step.needs):
                self._dependents[need].append(index)
        self._delayed = {
            index for index in range(count) if self._dependents[index] and costs.only_adds(index)
        }
        self._delayed_needs = [tuple(sorted(self._delayed.intersection(step.needs))) for step in costs.steps]
        """The delayed steps that each step needs."""
        self._needs = [sum(1 << need for need in {*step.needs} - self._delayed) for step in costs.steps]

    def run(self) -> tuple[tuple[int, ...] | None, int]:
        """Return an order with a peak below the known one, or `None`, and a lower bound for all orders."""
        count = len(self._costs.steps)
        ready = tuple(
            index for index, needs in enumerate(self._needs) if not needs and index not in self._delayed
        )
        before: dict[int, tuple[int, tuple[int, ...]]] = {}
        """The predecessor of each set in the search, and the steps executed from there."""
        queue = [(self._bound, 0, 0, 0, ready)]
        closed: set[int] = set()
        peaks = {0: self._bound}
        while queue:
            highest, missing, done, live, ready = heappop(queue)
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
                    heappush(queue, (reached, missing - len(run), key, after, following))
        return None, self._below

    def _next(
        self, highest: int, done: int, live: int, ready: tuple[int, ...]
    ) -> list[tuple[tuple[int, ...], int, int]]:
        """
        Return the runs of steps that may follow, each with the peak and the live bytes after it.

        A step that increases neither is taken at once, without branching: in any order that has it later,
        moving it to the front leaves the live bytes of the steps in between the same or lower.
        """
        found: list[tuple[tuple[int, ...], int, int]] = []
        for index in ready:
            run = (*(step for step in self._delayed_needs[index] if not done >> step & 1), index)
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
        """Return the steps that become ready after step `index`."""
        return tuple(each for each in self._dependents[index] if not self._needs[each] & ~done)


def _reconstruct_order(before: dict[int, tuple[int, tuple[int, ...]]], done: int) -> tuple[int, ...]:
    order: list[int] = []
    while done:
        done, run = before[done]
        order += reversed(run)
    return tuple(reversed(order))


def _dependents(steps: Sequence[ScheduleStep]) -> tuple[list[int], list[list[int]]]:
    """Return for each step the number of steps that it depends on, and those that depend on it."""
    waiting = [len(set(step.needs)) for step in steps]
    dependents: list[list[int]] = [[] for _ in steps]
    for index, step in enumerate(steps):
        for need in dict.fromkeys(step.needs):
            dependents[need].append(index)
    return waiting, dependents


def _post_order(operands: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return all steps, each after its `operands`, which are visited in their order."""
    order: dict[int, None] = {}
    used = {each for ordered in operands for each in ordered}
    for last in range(len(operands)):
        if last in used:
            continue
        stack = [(last, iter(operands[last]))]
        while stack:
            step, waiting = stack[-1]
            following = next((each for each in waiting if each not in order), None)
            if following is None:
                order[step] = None
                stack.pop()
            else:
                stack.append((following, iter(operands[following])))
    return tuple(order)


def _depth_first(steps: Sequence[ScheduleStep]) -> tuple[int, ...]:
    """Depth-first order: run the step that became ready last, so that branches finish one by one."""
    waiting, dependents = _dependents(steps)
    ready = [index for index, count in enumerate(waiting) if not count]
    order: list[int] = []
    while ready:
        index = ready.pop()
        order.append(index)
        for dependent in dependents[index]:
            waiting[dependent] -= 1
            if not waiting[dependent]:
                ready.append(dependent)
    return tuple(order)
