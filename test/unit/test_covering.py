"""The cases that `covering` keeps."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from covering import covering


@pytest.mark.parametrize(
    ("sizes", "strength", "most"),
    [((12, 2, 3), 2, 36), ((4, 6, 2), 2, 24), ((3, 3, 3, 3), 2, 12), ((6, 5), 1, 6), ((3, 2), 2, 6)],
)
def test_each_combination_occurs(sizes: tuple[int, ...], strength: int, most: int):
    cases = list(product(*map(range, sizes)))
    kept = [cases[position] for position in covering(cases, strength)]
    assert len(kept) <= most
    for axes in combinations(range(len(sizes)), strength):
        assert {tuple(case[axis] for axis in axes) for case in kept} == {
            tuple(case[axis] for axis in axes) for case in cases
        }


def test_values_are_taken_evenly():
    cases = list(product(range(12), range(4)))
    kept = [cases[position][1] for position in covering(cases, 1)]
    assert [kept.count(value) for value in range(4)] == [3] * 4


def test_cases_with_too_few_axes_are_kept():
    assert covering([(0,), (1,)], 2) == [0, 1]
    assert covering([], 2) == []


@pytest.mark.covering(2)
@pytest.mark.parametrize("third", [0, 1])
@pytest.mark.parametrize(("first", "same"), [(0, 5), (1, 6)])
@pytest.mark.parametrize("second", [0, 1])
def test_a_marked_test_has_the_cases_with_all_pairs(first: int, same: int, second: int, third: int):
    # In four of the eight cases three bits have all pairs: those whose sum is even, the first of which is 0.
    assert same == first + 5
    assert (first + second + third) % 2 == 0
