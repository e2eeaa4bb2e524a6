"""The order of steps: legal, and with the least peak of all orders where the search comes to an end."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import accumulate, permutations

from xonnc.lowering.memory_planning.scheduling import (
    LiveBytes,
    Schedule,
    ScheduleStep,
    min_peak_schedule,
    schedule_peak,
)


def test_one_branch_is_finished_before_the_next_begins():
    # Two branches, each a wide middle (100) between narrow ends (1): interleaved they need both middles.
    steps = [
        ScheduleStep((), (0, 1)),
        ScheduleStep((), (0, 2)),
        ScheduleStep((0,), (1, 3)),
        ScheduleStep((1,), (2, 4)),
        ScheduleStep((2, 3), (3, 4, 5)),
    ]
    sizes = [1, 100, 100, 1, 1, 1]
    order = min_peak_schedule(steps, sizes, frozenset()).steps
    assert schedule_peak(steps, range(5), sizes, frozenset()) == 201
    assert schedule_peak(steps, order, sizes, frozenset()) == 102


def test_every_step_comes_after_what_it_needs():
    steps = [
        ScheduleStep((), (0,)),
        ScheduleStep((0,), (0, 1)),
        ScheduleStep((0,), (0, 2)),
        ScheduleStep((1, 2), (1, 2, 3)),
        ScheduleStep((3,), (3, 4)),
    ]
    order = min_peak_schedule(steps, [5, 1, 9, 2, 7], frozenset()).steps
    assert sorted(order) == list(range(5))
    for index, step in enumerate(steps):
        assert all(order.index(need) < order.index(index) for need in step.needs)


def test_kept_buffers_count_to_the_end():
    steps = [ScheduleStep((), (0,)), ScheduleStep((0,), (0, 1)), ScheduleStep((1,), (1, 2))]
    assert schedule_peak(steps, range(3), [10, 10, 10], frozenset()) == 20
    assert schedule_peak(steps, range(3), [10, 10, 10], frozenset({0})) == 30


def test_the_given_order_stays_on_a_tie():
    steps = [ScheduleStep((), (0,)), ScheduleStep((), (1,)), ScheduleStep((0, 1), (0, 1, 2))]
    assert min_peak_schedule(steps, [4, 4, 4], frozenset()) == Schedule((0, 1, 2), 12, 12)


def eight_summed_branches() -> tuple[list[ScheduleStep], list[int]]:
    """Eight branches of two steps, all first steps given before all second ones, summed one by one."""
    made = [ScheduleStep((), (index,)) for index in range(8)]
    made += [ScheduleStep((index,), (index, 8 + index)) for index in range(8)]
    made.append(ScheduleStep((8, 9), (8, 9, 16)))
    made += [
        ScheduleStep((14 + index, 8 + index), (8 + index, 14 + index, 15 + index)) for index in range(2, 8)
    ]
    return made, [1] * 23


def test_branches_are_summed_one_by_one():
    steps, sizes = eight_summed_branches()
    assert schedule_peak(steps, range(len(steps)), sizes, frozenset()) == 9
    found = min_peak_schedule(steps, sizes, frozenset())
    assert (found.peak, found.lower_bound) == (3, 3)


def random_tree(generator: random.Random) -> tuple[list[ScheduleStep], list[int]]:
    """Steps that write a buffer each, read by one step later."""
    needs: list[list[int]] = [[] for _ in range(12)]
    for index in range(11):
        needs[generator.randrange(index + 1, min(12, index + 5))].append(index)
    steps = [ScheduleStep(tuple(each), (*each, index)) for index, each in enumerate(needs)]
    return steps, [generator.choice([1, 2, 4, 8, 16]) for _ in range(12)]


def min_peak_of_tree(steps: Sequence[ScheduleStep], sizes: Sequence[int], root: int) -> int:
    """The least peak of the orders that finish one operand of a step before they begin the next."""
    operands = {need: min_peak_of_tree(steps, sizes, need) for need in steps[root].needs}
    peaks: list[int] = []
    for order in permutations(operands):
        live = list(accumulate((sizes[need] for need in order), initial=0))
        during = [before + operands[need] for before, need in zip(live, order, strict=False)]
        peaks.append(max(*during, live[-1] + sizes[root]) if during else sizes[root])
    return min(peaks)


def test_operands_of_trees_are_computed_in_the_best_order_without_a_search():
    generator = random.Random(3)
    for _ in range(100):
        steps, sizes = random_tree(generator)
        found = min_peak_schedule(steps, sizes, frozenset(), 0)
        assert found.peak <= min_peak_of_tree(steps, sizes, len(steps) - 1)


def test_the_search_finds_an_order_that_no_rule_does():
    # Neither as given, nor by the least growth, nor depth first: 15 bytes; one order in between takes 14.
    steps = [
        ScheduleStep((), (0,)),
        ScheduleStep((0,), (0, 1)),
        ScheduleStep((), (2,)),
        ScheduleStep((0, 1), (0, 1, 3)),
        ScheduleStep((2, 3), (2, 3, 4)),
    ]
    assert min_peak_schedule(steps, [6, 4, 1, 4, 0], frozenset()) == Schedule((0, 1, 3, 2, 4), 14, 14)


def orders(steps: Sequence[ScheduleStep], begun: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """All legal orders."""
    if len(begun) == len(steps):
        yield begun
    for index, step in enumerate(steps):
        if index not in begun and set(step.needs) <= set(begun):
            yield from orders(steps, (*begun, index))


def random_steps(generator: random.Random) -> tuple[list[ScheduleStep], list[int]]:
    """Steps that write a buffer each and read those of steps before, some of them in its place."""
    sizes = [generator.choice([1, 4, 4, 4, 9]) for _ in range(7)]
    steps: list[ScheduleStep] = []
    for index in range(7):
        needs = tuple(sorted(generator.sample(range(index), min(index, generator.randrange(3)))))
        hosts = [need for need in needs if sizes[need] == sizes[index]]
        pairs = ((index, hosts[0]),) if hosts and generator.random() < 0.5 else ()
        steps.append(ScheduleStep(needs, (*needs, index), pairs))
    return steps, sizes


def test_the_search_finds_the_least_peak_of_all_orders():
    generator = random.Random(11)
    for _ in range(60):
        steps, sizes = random_steps(generator)
        kept = frozenset(generator.sample(range(7), generator.randrange(3)))
        least = min(schedule_peak(steps, order, sizes, kept) for order in orders(steps))
        found = min_peak_schedule(steps, sizes, kept)
        assert schedule_peak(steps, found.steps, sizes, kept) == found.peak == least
        assert found.lower_bound == least


def test_a_search_that_is_cut_short_has_a_bound_that_holds():
    generator = random.Random(5)
    for tried in (0, 3, 10):
        for _ in range(20):
            steps, sizes = random_steps(generator)
            least = min(schedule_peak(steps, order, sizes, frozenset()) for order in orders(steps))
            found = min_peak_schedule(steps, sizes, frozenset(), tried)
            assert found.lower_bound <= least <= found.peak


def test_a_result_takes_the_place_of_what_dies():
    steps = [
        ScheduleStep((), (0,)),
        ScheduleStep((0,), (0, 1), ((1, 0),)),
        ScheduleStep((1,), (1, 2), ((2, 1),)),
    ]
    assert min_peak_schedule(steps, [4, 4, 4], frozenset()) == Schedule((0, 1, 2), 4, 4)
    assert min_peak_schedule(steps, [4, 4, 4], frozenset({0})) == Schedule((0, 1, 2), 8, 8)


def test_the_peak_of_what_would_run_next():
    """Step by step the peak is that of the whole order."""
    generator = random.Random(3)
    for _ in range(60):
        steps, sizes = random_steps(generator)
        order = generator.choice(list(orders(steps)))
        split = generator.randrange(len(order))
        live, highest = LiveBytes(steps, sizes), 0
        for index in order[:split]:
            highest = max(highest, live.peak_of([index]))
            live.run(index)
        assert max(highest, live.peak_of(order[split:])) == schedule_peak(steps, order, sizes, frozenset())
