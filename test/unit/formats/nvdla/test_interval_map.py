"""Interval maps, against one value per address."""

from __future__ import annotations

import random

from xonnc.formats.nvdla.interval_map import Interval, IntervalMap


def test_the_last_value_that_was_set_is_found():
    generator = random.Random(3)
    found: IntervalMap[int] = IntervalMap()
    expected: list[int | None] = [None] * 60
    for value in range(200):
        ends = sorted(generator.sample(range(60), 2 * generator.randrange(4)))
        ranges = list(zip(ends[::2], ends[1::2], strict=True))
        found.set_all(ranges, value)
        for begin, end in ranges:
            expected[begin:end] = [value] * (end - begin)
        asked = generator.randrange(30), 30 + generator.randrange(30)
        intervals = list(found.intervals(*asked))
        assert [each.value for each in intervals for _ in range(each.begin, each.end)] == expected[
            slice(*asked)
        ]
        assert [each.value for each in intervals] == list(found.values(*asked))


def test_an_empty_range_has_no_values():
    found: IntervalMap[str] = IntervalMap()
    found.set(4, 4, "a")
    assert list(found.intervals(4, 4)) == list(found.values(5, 4)) == []
    assert list(found.intervals(0, 9)) == [Interval(0, 9, None)]
