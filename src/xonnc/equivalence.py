"""
Whether two models say the same: both run in onnxruntime on made-up inputs, outputs compared.

Inputs are normal numbers, then numbers of all magnitudes and signs with zeros among them, then nothing but
zeros, and so on. What is not known of a model, a dynamic size or what its integers mean, is found by trying
until the original takes the inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError
from xonnc.runtime.reference import Port, Reference

Array = npt.NDArray[Any]
Feeds = Mapping[str, Array]

DYNAMIC_SIZES = (1, 32, 224)
"""What dynamic sizes are tried with after 2, 3 or 1."""

MOST_ELEMENTS = 1 << 20
"""Inputs larger than this get no large dynamic sizes: what is made of them may be larger by far."""

LARGEST_FLOAT = 1e3
LARGEST_INTEGER = 100
"""Wider integers than 16 bits may be sizes and counts: larger ones could ask for all memory there is."""

ROUNDINGS = 1024
LOOSEST = 0.02
"""
Floats may differ by this many roundings of their type, relative to the largest value, but never by 2 %.

Folding a factor into weights moves roundings about; fifty layers of it cost some tens of them.
"""


@dataclass(frozen=True)
class Difference:
    """How one output of a model differs from the original's over all inputs tried."""

    output: str
    largest_error: float
    """The largest difference of numbers, relative to the largest number of the original's output."""
    allowed_error: float
    mismatch: str
    """What differs beyond numbers; empty if nothing does."""

    @property
    def passed(self) -> bool:
        """Whether the outputs are the same but for roundings."""
        return not self.mismatch and self.largest_error <= self.allowed_error


def compare_models(original: Path, other: Path, count: int, seed: int = 0) -> list[Difference]:
    """
    Runs two binary models on `count` inputs; one difference for each output of the original.

    Raises `XonncError` if onnxruntime does not run them or they have other inputs or outputs.
    """
    first, second = Reference(original), Reference(other)
    names = [port.name for port in first.outputs()]
    if (found := [port.name for port in second.outputs()]) != names:
        raise XonncError(f"{other}: outputs {', '.join(found)}, but the original's are {', '.join(names)}")
    ports = second.inputs()
    if {port.name for port in ports} != {port.name for port in first.inputs()}:
        raise XonncError(f"{other}: its inputs are not those of the original")
    found = [Difference(name, 0.0, 0.0, "") for name in names]
    for index in range(count):
        feeds, expected = _first_taken(first, ports, index, seed)
        pairs = zip(found, expected, second.run(feeds), strict=True)
        found = [_worse(known, _difference(known.output, a, b)) for known, a, b in pairs]
    return found


def _first_taken(
    original: Reference, ports: Sequence[Port], index: int, seed: int
) -> tuple[Feeds, list[Array]]:
    """The first made-up inputs that the original takes, and its outputs."""
    reasons: list[XonncError] = []
    for feeds in trial_feeds(ports, index, seed):
        try:
            return feeds, original.run(feeds)
        except XonncError as error:
            reasons.append(error)
    raise reasons[0]


def trial_feeds(ports: Sequence[Port], index: int, seed: int = 0) -> Iterator[Feeds]:
    """Inputs of the kind that is tried as number `index`, each tamer than the one before."""
    for size in (2 + index % 2, *DYNAMIC_SIZES):
        shapes = [tuple(size if extent is None else extent for extent in port.shape) for port in ports]
        if size > 3 and any(prod(shape) > MOST_ELEMENTS for shape in shapes):
            continue
        for largest in (LARGEST_INTEGER, 1, 0):
            generator = np.random.default_rng((seed, index))
            yield {
                port.name: _array(port.dtype, shape, index % 3, largest, generator)
                for port, shape in zip(ports, shapes, strict=True)
            }


def _array(
    dtype: np.dtype[Any], shape: Sequence[int], kind: int, largest: int, generator: np.random.Generator
) -> Array:
    """An input: normal numbers, numbers of all magnitudes, or zeros; wide integers up to `largest`."""
    if kind == 2 or (largest == 0 and dtype.kind != "f"):
        return np.zeros(shape, dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(np.bool_)
    if dtype.kind == "f":
        numbers = generator.standard_normal(shape)
        return (numbers if kind == 0 else _of_all_magnitudes(dtype, shape, generator)).astype(dtype)
    limits = np.iinfo(dtype)
    low, high = limits.min, limits.max
    if dtype.itemsize > 2 or largest == 1:
        low, high = max(low, -largest if largest > 1 else 0), min(high, largest)
    if kind == 0:
        return generator.integers(low, high, shape, dtype, endpoint=True)
    return generator.choice(np.array([low, high, 0, 1], dtype), shape)


def _of_all_magnitudes(dtype: np.dtype[Any], shape: Sequence[int], generator: np.random.Generator) -> Array:
    """Numbers from a thousandth to as large as can be squared twice, of both signs, one in eight a zero."""
    top = np.log10(min(LARGEST_FLOAT, float(np.finfo(dtype).max) ** 0.25))
    numbers = 10 ** generator.uniform(-3, top, shape) * generator.choice([-1, 1], shape)
    return np.where(generator.random(shape) < 0.125, 0.0, numbers)


def _difference(output: str, expected: Array, found: Array) -> Difference:
    if expected.dtype != found.dtype or expected.shape != found.shape:
        said = (f"{array.dtype}{list(array.shape)}" for array in (found, expected))
        return Difference(output, 0.0, 0.0, "{}, the original gives {}".format(*said))
    if expected.dtype.kind != "f":
        wrong = int(np.count_nonzero(expected != found))
        return Difference(output, 0.0, 0.0, f"{wrong} of {expected.size} elements differ" if wrong else "")
    allowed = min(ROUNDINGS * float(np.finfo(expected.dtype).eps), LOOSEST)
    a, b = expected.astype(np.float64), found.astype(np.float64)
    finite = np.isfinite(a)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(b[finite]).all():
        return Difference(output, 0.0, allowed, "other elements are infinite or no numbers")
    scale = float(np.abs(a[finite]).max(initial=0.0)) or 1.0
    error = float(np.abs(a[finite] - b[finite]).max(initial=0.0)) / scale
    return Difference(output, error, allowed, "")


def _worse(a: Difference, b: Difference) -> Difference:
    """The worst of two differences of one output."""
    return Difference(
        a.output,
        max(a.largest_error, b.largest_error),
        max(a.allowed_error, b.allowed_error),
        a.mismatch or b.mismatch,
    )
