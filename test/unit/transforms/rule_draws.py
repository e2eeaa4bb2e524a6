"""What generators of instances draw: sizes, shapes, axes, permutations, all from one seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from rule_instances import Example
from rule_texts import Text
from rule_values import elements, is_float, is_integer

from xonnc.rewriting.patterns import Array

Shape: TypeAlias = tuple[int, ...]

T = TypeVar("T")

SIZES = (2, 3, 1, 4, 2, 3, 5, 0)
"""What an axis may measure; one in eight holds nothing."""


@dataclass(frozen=True)
class Draw:
    """One instance to be made: its element type and where its choices come from."""

    random: np.random.Generator
    dtype: np.dtype[np.generic]
    number: int = 0
    """Which instance of the rule this is: generators that walk through cases count by it."""

    @property
    def is_float(self) -> bool:
        """Whether the data are floats."""
        return is_float(self.dtype)

    @property
    def is_integer(self) -> bool:
        """Whether the data are integers."""
        return is_integer(self.dtype)

    def pick(self, *options: T) -> T:
        """One of several."""
        return options[int(self.random.integers(0, len(options)))]

    def flag(self) -> int:
        """0 or 1."""
        return int(self.random.integers(0, 2))

    def number_in(self, low: int, high: int) -> int:
        """An integer, both limits included."""
        return int(self.random.integers(low, high + 1))

    def real(self) -> float:
        """A factor that every float type holds."""
        return self.pick(-2.0, -1.0, -0.5, 0.25, 0.5, 1.0, 1.5, 2.0)

    def size(self, empty: bool = False) -> int:
        """The length of an axis."""
        return self.pick(*SIZES) if empty else self.number_in(1, 4)

    def shape(self, least: int = 0, most: int = 4, empty: bool = True) -> Shape:
        """A shape of some rank; one in six has an axis of length 0 unless `empty` forbids."""
        sizes = [self.size() for _ in range(self.number_in(least, most))]
        if empty and sizes and self.number_in(0, 5) == 0:
            sizes[self.number_in(0, len(sizes) - 1)] = 0
        return tuple(sizes)

    def broadcast(self, count: int, most: int = 4, empty: bool = True) -> list[Shape]:
        """Shapes that broadcast together: axes missing in front, axes of length 1."""
        whole = self.shape(0, most, empty)
        return [self.narrower(whole) for _ in range(count)]

    def narrower(self, whole: Shape) -> Shape:
        """A shape that broadcasts to another one."""
        kept = whole[self.pick(0, 0, self.number_in(0, len(whole))) :]
        return tuple(1 if self.number_in(0, 3) == 0 else size for size in kept)

    def axis(self, rank: int, negative: bool = True) -> int:
        """An axis, counted from either end."""
        return self.number_in(-rank if negative else 0, rank - 1)

    def axes(self, rank: int, least: int = 0, most: int | None = None, negative: bool = True) -> list[int]:
        """Distinct axes in any order, some counted from the back."""
        count = self.number_in(min(least, rank), rank if most is None else min(most, rank))
        chosen = [int(axis) for axis in self.random.permutation(rank)[:count]]
        return [axis - rank if negative and self.flag() else axis for axis in chosen]

    def perm(self, rank: int) -> list[int]:
        """An order of axes."""
        return [int(axis) for axis in self.random.permutation(rank)]

    def array(self, shape: Shape, special: bool = False) -> Array:
        """Elements of the instance's type."""
        return elements(self.random, shape, self.dtype, special)

    def reals(self, low: float, high: float, shape: Shape) -> Array:
        """Numbers in an interval."""
        return self.random.uniform(low, high, shape)

    def indices(self, size: int, shape: Shape, negative: bool = True) -> Array:
        """Places along an axis of some size, counted from either end."""
        return self.random.integers(-size if negative else 0, size, shape).astype(np.int64)

    def factors(self, total: int, count: int) -> list[int]:
        """Sizes whose product is `total`, which is not 0."""
        sizes = [1] * count
        left, divisor = total, 2
        while left > 1:
            while left % divisor == 0:
                sizes[self.number_in(0, count - 1)] *= divisor
                left //= divisor
            divisor += 1
        return sizes


Generator: TypeAlias = Callable[[Draw], Example | Text]
"""Makes one instance; the same draw gives the same one."""


def vary(examples: Sequence[Example]) -> Generator:
    """A generator for rules over few structures: each example in turn, other random elements every time."""
    return lambda draw: examples[draw.number % len(examples)]
