"""Reshapes before a transpose give the elements that those after it gave."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from xonnc.transforms.rules.transposed_reshapes import reshaped_before


@pytest.mark.parametrize(
    ("shape", "perm", "result", "expected"),
    [
        # Heads of attention of channels: split, and joined again.
        ((1, 144, 256), (0, 2, 1), (1, 256, 3, 4, 12), ([1, 3, 4, 12, 256], [0, 4, 1, 2, 3])),
        ((1, 4, 12, 256), (0, 3, 1, 2), (1, 256, 48), ([1, 48, 256], [0, 2, 1])),
        # Rows become rows and columns.
        ((1, 48, 256), (0, 2, 1), (1, 16, 16, 48), ([1, 48, 16, 16], [0, 2, 3, 1])),
        # Channels are shuffled; heads of attention of positions are joined; nothing is left to transpose.
        ((1, 2, 3, 5), (0, 2, 1, 3), (1, 6, 5), None),
        ((1, 4, 16, 8), (0, 2, 1, 3), (1, 16, 32), None),
        ((1, 4, 1, 8), (0, 2, 1, 3), (1, 4, 2, 4), None),
        ((2, 0, 3), (2, 1, 0), (3, 0, 1, 2), None),
        ((1, 1), (1, 0), (1,), None),
    ],
)
def test_known(
    shape: Sequence[int],
    perm: Sequence[int],
    result: Sequence[int],
    expected: tuple[list[int], list[int]] | None,
):
    assert reshaped_before(shape, perm, result) == expected


def test_random_reshapes():
    random = np.random.default_rng(0)
    found = 0
    for _ in range(3000):
        shape = random.choice([1, 1, 2, 3, 4, 6], size=int(random.integers(1, 6)))
        perm = random.permutation(len(shape))
        result = [int(size) for size in shape[perm]]
        first, last = sorted(int(axis) for axis in random.integers(0, len(shape) + 1, 2))
        result[first:last] = _factors(random, int(np.prod(result[first:last])))
        made = reshaped_before(shape.tolist(), perm.tolist(), result)
        if made is None:
            continue
        sizes, order = made
        x = np.arange(np.prod(shape)).reshape(shape)
        np.testing.assert_array_equal(
            x.reshape(sizes).transpose(order), x.transpose(perm).reshape(result), strict=True
        )
        assert order != sorted(order)
        found += 1
    assert found > 500


def _factors(random: np.random.Generator, size: int) -> list[int]:
    found: list[int] = []
    while size > 1:
        found.append(int(random.choice([each for each in (1, 2, 3, 4, 6, size) if size % each == 0])))
        size //= found[-1]
    return found or [1]
