"""N-grams of rows of words, found by NumPy: all positions at once, one more word in each step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.intp]

MAX_TABLE = 1 << 20
"""Entries of the table of a step at most; longer ones are searched in sorted keys."""


@dataclass(frozen=True)
class _Step:
    """
    From the first words of n-grams to one word more.

    The beginning of `length` words is numbered by the position of its key: the number of the beginning with
    one word less, times `words`, plus that of the word. The number after the last is that of any other.
    """

    words: int
    keys: Indices
    targets: Indices
    """The index that each beginning counts for as a whole n-gram; the last is that of none."""
    table: Indices | None

    def of(self, beginnings: Indices, words: Indices) -> Indices:
        wanted = beginnings * self.words + words
        if self.table is not None:
            return self.table.take(wanted)
        found = self.keys.searchsorted(wanted)
        is_known = self.keys.take(found, mode="clip") == wanted
        return np.where(is_known, found, len(self.keys))


class Ngrams:
    """The n-grams of a vocabulary, with the index that each counts for, and `none` for all others."""

    def __init__(self, known: Mapping[tuple[str, ...], int], none: int) -> None:
        self.numbers = {word: number for number, word in enumerate({each for gram in known for each in gram})}
        self.unknown = len(self.numbers)
        self._none = none
        self._unigrams = np.full(self.unknown + 1, none, np.intp)
        for gram, target in known.items():
            if len(gram) == 1:
                self._unigrams[self.numbers[gram[0]]] = target
        self._steps = self._steps_of(known)

    def _steps_of(self, known: Mapping[tuple[str, ...], int]) -> list[_Step]:
        steps: list[_Step] = []
        count = self.unknown + 1
        before: dict[tuple[str, ...], int] = {(word,): number for word, number in self.numbers.items()}
        others = count
        for length in range(2, max(map(len, known), default=0) + 1):
            key_of = {
                gram[:length]: before[gram[: length - 1]] * count + self.numbers[gram[length - 1]]
                for gram in known
                if len(gram) >= length
            }
            ordered = sorted(key_of, key=key_of.__getitem__)
            keys = np.array([key_of[gram] for gram in ordered], np.intp)
            targets = np.array([*(known.get(gram, self._none) for gram in ordered), self._none], np.intp)
            table = None
            if others * count <= MAX_TABLE:
                table = np.full(others * count, len(keys), np.intp)
                table[keys] = np.arange(len(keys))
            steps.append(_Step(count, keys, targets, table))
            before, others = {gram: number for number, gram in enumerate(ordered)}, len(keys) + 1
        return steps

    def targets(self, words: Indices, least: int, most: int, max_skip: int) -> Iterator[Indices]:
        """
        Yield indices [rows, positions] of n-grams of `least` to `most` words in rows of numbers of words.

        Words of an n-gram are up to `max_skip` words apart, each pair the same.
        """
        if least <= 1:
            yield self._unigrams.take(words)
        columns = words.shape[1]
        for apart in range(1, max_skip + 2):
            beginnings = words
            for length, step in enumerate(self._steps[: most - 1], 2):
                start = (length - 1) * apart
                if start >= columns:
                    break
                beginnings = step.of(beginnings[:, : columns - start], words[:, start:])
                if length >= least:
                    yield step.targets.take(beginnings)
