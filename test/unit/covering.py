"""
Which cases of a product of parameters hold each combination of a few of them.

A fault in what is tested shows with one value of a parameter, or with a pair of values, much more often than
with three values that have to meet. A test marked `covering(2)` runs on cases with all pairs, balanced, in
place of the whole product of its parametrizations; one marked `covering(1)` with each value at least once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import combinations

Combination = tuple[tuple[int, Hashable], ...]
"""Axes and their values."""


def covering(cases: Sequence[Sequence[Hashable]], strength: int) -> list[int]:
    """
    Return positions of cases in which each combination of `strength` values that any case has occurs.

    Parameters:
        cases: for each case its value on each axis.
        strength: how many values are combined; with fewer axes, all cases are kept.
    """
    if not cases or len(cases[0]) < strength:
        return list(range(len(cases)))
    held = [set(combinations(enumerate(case), strength)) for case in cases]
    left: set[Combination] = {each for one in held for each in one}
    taken: Counter[tuple[int, Hashable]] = Counter()
    kept: list[int] = []

    def gain(position: int) -> tuple[int, int]:
        # Of equally good cases the first, or with single values that with the least used others.
        used = sum(taken[value] for value in enumerate(cases[position])) if strength == 1 else 0
        return len(left & held[position]), -used

    while left:
        best = max(range(len(cases)), key=gain)
        kept.append(best)
        left -= held[best]
        taken.update(enumerate(cases[best]))
    return sorted(kept)
