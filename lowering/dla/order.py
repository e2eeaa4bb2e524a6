"""In which order layers run, so that little is alive at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """Layers that run as one: the steps they `need` before them and the numbers of the buffers they touch."""

    needs: tuple[int, ...]
    buffers: tuple[int, ...]


def best_order(steps: Sequence[Step], sizes: Sequence[int], kept: frozenset[int]) -> tuple[int, ...]:
    """
    An order of `steps` that respects who needs whom and has the least peak among those tried.

    `steps` come in a legal order; `sizes` are the buffers' bytes; `kept` buffers are never freed. A buffer
    lives
    from the first to the last step that touches it. On a tie the order given stays.
    """
    given = tuple(range(len(steps)))
    candidates = (given, _least_growth(steps, sizes, kept), _depth_first(steps))
    return min(candidates, key=lambda order: peak(steps, order, sizes, kept))


def peak(steps: Sequence[Step], order: Sequence[int], sizes: Sequence[int], kept: frozenset[int]) -> int:
    """The most bytes alive during any step of `order`."""
    touches = _touch_counts(steps)
    seen: set[int] = set()
    live = highest = 0
    for index in order:
        buffers = set(steps[index].buffers)
        live += sum(sizes[buffer] for buffer in buffers - seen)
        seen |= buffers
        highest = max(highest, live)
        live -= sum(sizes[buffer] for buffer in buffers - kept if touches[buffer] == 1)
        for buffer in buffers:
            touches[buffer] -= 1
    return highest


def _touch_counts(steps: Sequence[Step]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for step in steps:
        for buffer in set(step.buffers):
            counts[buffer] = counts.get(buffer, 0) + 1
    return counts


def _list_schedule(steps: Sequence[Step], pick: Callable[[list[int]], int]) -> tuple[int, ...]:
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


def _least_growth(steps: Sequence[Step], sizes: Sequence[int], kept: frozenset[int]) -> tuple[int, ...]:
    """Always the step after which least is alive; ties go to the earlier one."""
    touches = _touch_counts(steps)
    seen: set[int] = set()

    def growth(index: int) -> tuple[int, int]:
        buffers = set(steps[index].buffers)
        fresh = sum(sizes[buffer] for buffer in buffers - seen)
        ended = sum(sizes[buffer] for buffer in buffers - kept if touches[buffer] == 1)
        return fresh - ended, index

    def pick(ready: list[int]) -> int:
        index = min(ready, key=growth)
        seen.update(steps[index].buffers)
        for buffer in set(steps[index].buffers):
            touches[buffer] -= 1
        return index

    return _list_schedule(steps, pick)


def _depth_first(steps: Sequence[Step]) -> tuple[int, ...]:
    """Goes on with what has just become possible: one branch to its end before the next."""
    return _list_schedule(steps, lambda ready: ready[-1])
