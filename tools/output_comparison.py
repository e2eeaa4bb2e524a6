"""Verification of compiled models: compare outputs with the original's on equal inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError
from xonnc.runtime.reference import ModelParameter
from xonnc.runtime.verification.comparison import compare_tensors

Array = npt.NDArray[Any]

COSINE_BOUND = 0.999
"""The least cosine similarity at which a compiled model counts as right."""

FP16_NOISE = 2.0**-8
"""
A margin between two scores that FP16 arithmetic can invent or lose, relative to the largest score.

FP16 keeps 11 bits; a network of some fifty layers loses about three of them.
"""


@dataclass(frozen=True)
class Agreement:
    """Agreement of one output of a compiled model with the reference over all inputs."""

    output: str
    cosine: float
    """The least cosine similarity of any input."""
    largest_error: float
    """The largest absolute difference, relative to the largest reference value of its input."""
    same_top: int
    """Inputs whose highest score has the same index."""
    clear_top: int
    """Inputs whose two highest reference scores differ by more than FP16 noise."""
    same_clear_top: int
    """Of those, the inputs whose highest score has the same index."""
    scores: bool
    """Whether the output is a vector of scores, for which a top-1 means something."""
    least_cosine: float = COSINE_BOUND
    """The least cosine similarity at which the output counts as right."""

    @property
    def passed(self) -> bool:
        """Return whether all inputs agree: cosine similarity, and top-1 where it is unambiguous."""
        return self.cosine >= self.least_cosine and (not self.scores or self.same_clear_top == self.clear_top)


def compare(
    output: str,
    reference: Sequence[Array],
    compiled: Sequence[Array],
    least_cosine: float = COSINE_BOUND,
) -> Agreement:
    """
    Compare one output over several inputs; the lists hold one array per input, of equal shapes.

    Outputs of a cosine similarity below `least_cosine` do not pass.
    """
    cosines: list[float] = []
    errors: list[float] = []
    same = clear = same_clear = 0
    for expected, found in zip(reference, compiled, strict=True):
        if expected.shape != found.shape:
            raise XonncError(f"{output}: shape {found.shape}, but the reference gives {expected.shape}")
        expected, found = (array.astype(np.float64).ravel() for array in (expected, found))
        made = compare_tensors(expected, found)
        # A number where NaN or infinity is expected, or the reverse, is no rounding.
        cosines.append(0.0 if made.mismatch else made.cosine)
        errors.append(inf if made.mismatch else made.relative_error)
        if expected.size > 1:
            is_same, is_clear = int(expected.argmax()) == int(found.argmax()), _is_clear(expected)
            same += is_same
            clear += is_clear
            same_clear += is_same and is_clear
    scores = bool(reference) and sum(size > 1 for size in reference[0].shape) == 1
    return Agreement(
        output,
        min(cosines, default=1.0),
        max(errors, default=0.0),
        same,
        clear,
        same_clear,
        scores,
        least_cosine,
    )


def _is_clear(scores: Array) -> bool:
    """Return whether the two highest scores differ by more than noise; for probabilities, in their logits."""
    if scores.min() >= 0 and abs(scores.sum() - 1) < FP16_NOISE:
        scores = np.log(np.maximum(scores, np.finfo(np.float16).smallest_subnormal))
        # Known up to a sum: in the middle they are as small as the layer before can have made them.
        scores = scores - (scores.max() + scores.min()) / 2
    second, first = np.partition(scores, -2)[-2:]
    return bool(first - second > FP16_NOISE * np.abs(scores).max())


def random_feeds(ports: Sequence[ModelParameter], count: int, seed: int = 0) -> Iterator[Mapping[str, Array]]:
    """Generate `count` seeded sets of inputs: standard normal, or the full range of an integer type."""
    for index in range(count):
        generator = np.random.default_rng((seed, index))
        yield {port.name: _random(port, generator) for port in ports}


def _random(port: ModelParameter, generator: np.random.Generator) -> Array:
    if None in port.shape:
        raise XonncError(
            f"{port.name}: its shape is dynamic, so inputs cannot be generated; give them with --input"
        )
    shape = tuple(size for size in port.shape if size is not None)
    if port.dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(np.bool_)
    if port.dtype.kind in "iu":
        limits = np.iinfo(port.dtype)
        return generator.integers(limits.min, limits.max, shape, dtype=port.dtype, endpoint=True)
    return generator.standard_normal(shape).astype(port.dtype)
