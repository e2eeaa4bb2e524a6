"""The order of layers: legal, and with the least peak among those tried."""

from __future__ import annotations

from xonnc.lowering.dla.order import Step, best_order, peak


def test_one_branch_is_finished_before_the_next_begins():
    # Two branches, each a wide middle (100) between narrow ends (1): interleaved they need both middles.
    steps = [
        Step((), (0, 1)),
        Step((), (0, 2)),
        Step((0,), (1, 3)),
        Step((1,), (2, 4)),
        Step((2, 3), (3, 4, 5)),
    ]
    sizes = [1, 100, 100, 1, 1, 1]
    order = best_order(steps, sizes, frozenset())
    assert peak(steps, range(5), sizes, frozenset()) == 201
    assert peak(steps, order, sizes, frozenset()) == 102


def test_every_step_comes_after_what_it_needs():
    steps = [
        Step((), (0,)),
        Step((0,), (0, 1)),
        Step((0,), (0, 2)),
        Step((1, 2), (1, 2, 3)),
        Step((3,), (3, 4)),
    ]
    order = best_order(steps, [5, 1, 9, 2, 7], frozenset())
    assert sorted(order) == list(range(5))
    for index, step in enumerate(steps):
        assert all(order.index(need) < order.index(index) for need in step.needs)


def test_kept_buffers_count_to_the_end():
    steps = [Step((), (0,)), Step((0,), (0, 1)), Step((1,), (1, 2))]
    assert peak(steps, range(3), [10, 10, 10], frozenset()) == 20
    assert peak(steps, range(3), [10, 10, 10], frozenset({0})) == 30


def test_the_given_order_stays_on_a_tie():
    steps = [Step((), (0,)), Step((), (1,)), Step((0, 1), (0, 1, 2))]
    assert best_order(steps, [4, 4, 4], frozenset()) == (0, 1, 2)
