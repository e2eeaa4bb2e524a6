"""
Equivalence of two models: run both in onnxruntime on generated inputs and compare the outputs.

An output of the original that differs between two runs is nondeterministic and is not compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from xonnc.contexts import new_context
from xonnc.errors import XonncError
from xonnc.runtime.reference import ModelParameter
from xonnc.runtime.reference_process import IsolatedReference, ReferenceProcess
from xonnc.runtime.verification.comparison import MAX_TOLERANCE, compare_values, tensors_in
from xonnc.runtime.verification.trial_inputs import (
    Array,
    Feeds,
    InputConstraints,
    input_constraints,
    trial_feeds,
)

NOISE_FACTOR = 8
"""
Allowed multiple of the difference that onnxruntime's own optimisations make, up to `MAX_TOLERANCE` or
`SATURATION_TOLERANCE`.

Each of the two is one sample of the error of another order of evaluation, hence the margin.
"""

SATURATION_TOLERANCE = 1e-6
"""Absolute error that is always allowed: where a result near 0 comes of numbers near 1, all digits cancel."""


@dataclass(frozen=True)
class Difference:
    """The difference of one output from the original's, over all generated inputs."""

    output: str
    largest_error: float
    """The largest difference of numbers, relative to the largest number of the original's output."""
    allowed_error: float
    mismatch: str
    """Structural differences; empty if there are none."""
    is_random: bool = False
    """Whether two runs of the original differ, so that nothing can be said."""

    @property
    def passed(self) -> bool:
        """Whether the outputs agree within the tolerance."""
        return not self.mismatch and self.largest_error <= self.allowed_error


def compare_models(original: Path, other: Path, count: int, seed: int = 0) -> list[Difference]:
    """
    Run two serialized models on `count` inputs; return one difference per output of the original.

    Raises `XonncError` if onnxruntime does not run them or they have other inputs or outputs.
    """
    with ReferenceProcess() as process:
        return _compared(process, original, other, count, seed)


def _compared(
    process: ReferenceProcess, original: Path, other: Path, count: int, seed: int
) -> list[Difference]:
    first, second = process.open(original), process.open(other)
    names = first.output_names()
    if (found := second.output_names()) != names:
        raise XonncError(f"{other}: outputs {', '.join(found)}, but the original's are {', '.join(names)}")
    ports = second.inputs()
    if {port.name for port in ports} != {port.name for port in first.inputs()}:
        raise XonncError(f"{other}: its inputs are not those of the original")
    rules = input_constraints(original, new_context())
    found = [Difference(name, 0.0, 0.0, "") for name in names]
    for index in range(count):
        feeds, expected = _first_accepted(first, ports, index, seed, rules)
        results = second.run(feeds)
        made = [_difference(name, a, b) for name, a, b in zip(names, expected, results, strict=True)]
        if not all(each.passed for each in made):
            made = _exclude_random_outputs(made, expected, first.run(feeds), results)
        if not all(each.passed for each in made):
            reordered = process.open(original, is_optimized=True).run(feeds)
            made = _allow_reordering_noise(made, expected, reordered)
        found = [_worse(known, each) for known, each in zip(found, made, strict=True)]
    return found


def _first_accepted(
    original: IsolatedReference,
    ports: Sequence[ModelParameter],
    index: int,
    seed: int,
    rules: InputConstraints,
) -> tuple[Feeds, list[Array]]:
    """Return the first generated inputs that the original accepts, and its outputs."""
    reasons: list[XonncError] = []
    for feeds in trial_feeds(ports, index, seed, rules):
        try:
            return feeds, original.run(feeds)
        except XonncError as error:
            reasons.append(error)
    raise XonncError(
        f"{reasons[0]} (and takes none of {len(reasons)} made-up inputs; "
        "--overwrite-input-shape gives it sizes that fit, "
        "`xonnc verify --simplify --inputs FOLDER` takes inputs of your own)"
    )


def _exclude_random_outputs(
    found: Sequence[Difference], before: Sequence[object], again: Sequence[object], other: Sequence[object]
) -> list[Difference]:
    """
    Exempt outputs whose elements change when the original runs again.

    Types and shapes count nevertheless where those of the original stay.
    """
    return [
        Difference(each.output, 0.0, 0.0, "", is_random=True)
        if not each.passed and not _is_same(a, b) and _is_nondeterministic(a, b, c)
        else each
        for each, a, b, c in zip(found, before, again, other, strict=True)
    ]


def _allow_reordering_noise(
    found: Sequence[Difference], expected: Sequence[object], reordered: Sequence[object]
) -> list[Difference]:
    """
    Raise tolerances to a multiple of the effect of onnxruntime's own optimisations.

    Of a saturated sigmoid, or a sum that cancels, all digits are rounding: 1e-7 where the largest value is
    1e-7, too.
    """
    noise = [_difference(each.output, a, b) for each, a, b in zip(found, expected, reordered, strict=True)]
    return [
        each
        if each.passed
        else replace(
            each,
            allowed_error=max(
                each.allowed_error, min(NOISE_FACTOR * own.largest_error, _max_reordering_error(a))
            ),
        )
        for each, own, a in zip(found, noise, expected, strict=True)
    ]


def _max_reordering_error(expected: object) -> float:
    """Return the largest error that may be rounding, relative to the output's largest value."""
    numbers = [part[np.isfinite(part)] for part in tensors_in(expected) if part.dtype.kind == "f"]
    largest = max((float(np.abs(each).max(initial=0.0)) for each in numbers), default=0.0)
    return max(MAX_TOLERANCE, SATURATION_TOLERANCE / (largest or 1.0))


def _is_nondeterministic(before: object, again: object, other: object) -> bool:
    """Return whether only elements differ, or the shapes of the original vary between runs."""
    return _layout(before) == _layout(other) or _layout(before) != _layout(again)


def _layout(value: object) -> list[tuple[tuple[int, ...], np.dtype[Any]]]:
    return [(part.shape, part.dtype) for part in tensors_in(value)]


def _is_same(before: object, after: object) -> bool:
    """Return whether two runs gave equal elements."""
    first, second = tensors_in(before), tensors_in(after)
    return len(first) == len(second) and all(
        a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for a, b in zip(first, second, strict=True)
    )


def _difference(output: str, expected: object, found: object) -> Difference:
    """Return the difference of two values; for sequences and maps, that of their worst element."""
    made = compare_values(expected, found)
    return Difference(output, made.relative_error, made.allowed, made.mismatch)


def _worse(a: Difference, b: Difference) -> Difference:
    """Return the larger of two differences of one output."""
    return Difference(
        a.output,
        max(a.largest_error, b.largest_error),
        max(a.allowed_error, b.allowed_error),
        a.mismatch or b.mismatch,
        a.is_random or b.is_random,
    )
