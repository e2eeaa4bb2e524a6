"""Random choices of instance generators: dimensions, shapes, axes, permutations, all from one seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from xonnc.fuzzing.rules.instances import Example
from xonnc.fuzzing.rules.texts import Text
from xonnc.fuzzing.rules.values import elements, is_float, is_integer
from xonnc.rewriting.patterns import Array

Shape: TypeAlias = tuple[int, ...]

T = TypeVar("T")

SIZES = (2, 3, 1, 4, 2, 3, 5, 0)
"""Dimensions to choose from; one in eight is 0."""


@dataclass(frozen=True)
class Draw:
    """The element type and the random choices of one instance."""

    random: np.random.Generator
    dtype: np.dtype[np.generic]
    number: int = 0
    """Index of the instance of the rule, for generators that cycle through cases."""

    @property
    def is_float(self) -> bool:
        """Whether the element type is a float type."""
        return is_float(self.dtype)

    @property
    def is_integer(self) -> bool:
        """Whether the element type is an integer type."""
        return is_integer(self.dtype)

    def pick(self, *options: T) -> T:
        """Return one of several options."""
        return options[int(self.random.integers(0, len(options)))]

    def flag(self) -> int:
        """Return 0 or 1."""
        return int(self.random.integers(0, 2))

    def number_in(self, low: int, high: int) -> int:
        """Return an integer between two limits, both included."""
        return int(self.random.integers(low, high + 1))

    def real(self) -> float:
        """Return a factor that all float types represent exactly."""
        return self.pick(-2.0, -1.0, -0.5, 0.25, 0.5, 1.0, 1.5, 2.0)

    def size(self, empty: bool = False) -> int:
        """Return a dimension; 0 only if `empty`."""
        return self.pick(*SIZES) if empty else self.number_in(1, 4)

    def shape(self, least: int = 0, most: int = 4, empty: bool = True) -> Shape:
        """Return a shape with a rank in the range given; if `empty`, one in six has an axis of size 0."""
        sizes = [self.size() for _ in range(self.number_in(least, most))]
        if empty and sizes and self.number_in(0, 5) == 0:
            sizes[self.number_in(0, len(sizes) - 1)] = 0
        return tuple(sizes)

    def broadcast(self, count: int, most: int = 4, empty: bool = True) -> list[Shape]:
        """Return shapes that broadcast together: without some leading axes, or with axes of size 1."""
        full_shape = self.shape(0, most, empty)
        return [self.narrower(full_shape) for _ in range(count)]

    def narrower(self, shape: Shape) -> Shape:
        """Return a shape that broadcasts to `shape`."""
        suffix = shape[self.pick(0, 0, self.number_in(0, len(shape))) :]
        return tuple(1 if self.number_in(0, 3) == 0 else size for size in suffix)

    def axis(self, rank: int, negative: bool = True) -> int:
        """Return an axis, which may be negative."""
        return self.number_in(-rank if negative else 0, rank - 1)

    def axes(self, rank: int, least: int = 0, most: int | None = None, negative: bool = True) -> list[int]:
        """Return distinct axes in any order, some of them negative."""
        count = self.number_in(min(least, rank), rank if most is None else min(most, rank))
        chosen = [int(axis) for axis in self.random.permutation(rank)[:count]]
        return [axis - rank if negative and self.flag() else axis for axis in chosen]

    def perm(self, rank: int) -> list[int]:
        """Return a permutation of the axes."""
        return [int(axis) for axis in self.random.permutation(rank)]

    def array(self, shape: Shape, special: bool = False) -> Array:
        """Return a random array of the instance's element type."""
        return elements(self.random, shape, self.dtype, special)

    def reals(self, low: float, high: float, shape: Shape) -> Array:
        """Return a random array of uniformly distributed float64 values."""
        return self.random.uniform(low, high, shape)

    def indices(self, size: int, shape: Shape, negative: bool = True) -> Array:
        """Return random indices into an axis of a size; they may be negative."""
        return self.random.integers(-size if negative else 0, size, shape).astype(np.int64)

    def factors(self, total: int, count: int) -> list[int]:
        """Return dimensions whose product is `total`, which must not be 0."""
        sizes = [1] * count
        left, divisor = total, 2
        while left > 1:
            while left % divisor == 0:
                sizes[self.number_in(0, count - 1)] *= divisor
                left //= divisor
            divisor += 1
        return sizes


Generator: TypeAlias = Callable[[Draw], Example | Text]
"""A generator of instances; deterministic for a given draw."""


def vary(examples: Sequence[Example]) -> Generator:
    """Return a generator for rules with few graph structures: each example in turn, with new elements."""
    return lambda draw: examples[draw.number % len(examples)]
