"""N-grams against a search of each position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from xonnc.runtime.native import ngrams

KNOWN = {("a",): 3, ("a", "b"): 0, ("b", "a", "b"): 1, ("b", "a", "c", "a"): 4, ("c", "c"): 2}
ROWS = ["abacababxbacac", "ccccabxxabacaa", "bbaabbcaccaabb"]
NONE = 5


def counted(row: str, known: Mapping[tuple[str, ...], int], bounds: Sequence[int], skips: int) -> list[int]:
    counts = [0] * (NONE + 1)
    for length in range(bounds[0], bounds[1] + 1):
        for apart in range(1, (skips if length > 1 else 0) + 2):
            for start in range(len(row) - (length - 1) * apart):
                gram = tuple(row[start + index * apart] for index in range(length))
                counts[known.get(gram, NONE)] += 1
    return counts[:NONE]


@pytest.mark.parametrize("entries", [0, ngrams.MAX_TABLE])
@pytest.mark.parametrize(
    ("bounds", "skips", "columns"), [((1, 4), 0, 14), ((2, 3), 2, 14), ((3, 9), 0, 14), ((1, 2), 3, 2)]
)
def test_ngrams_are_found_at_all_positions(
    bounds: tuple[int, int], skips: int, columns: int, entries: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ngrams, "MAX_TABLE", entries)
    table = ngrams.Ngrams(KNOWN, NONE)
    rows = [row[:columns] for row in ROWS]
    words = np.array([[table.numbers.get(word, table.unknown) for word in row] for row in rows])
    counts = np.zeros((len(rows), NONE + 1), np.int64)
    for found in table.targets(words, *bounds, skips):
        for row, targets in enumerate(found):
            counts[row] += np.bincount(targets, minlength=NONE + 1)
    assert counts[:, :NONE].tolist() == [counted(row, KNOWN, bounds, skips) for row in rows]
