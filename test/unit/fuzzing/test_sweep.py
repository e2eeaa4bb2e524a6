"""A hundred random models, each simplified as users do and by two of the other levels in turn."""

from __future__ import annotations

import pytest

from xonnc.fuzzing.campaign import run_seed
from xonnc.fuzzing.levels import LEVELS, WHOLE

OTHERS = tuple(level for level in LEVELS if level != WHOLE)

SEEDS = 100
PARTS = 4
"""Tests among which the seeds are divided, to run at the same time."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_differs_and_nothing_crashes(part: int):
    found = [run_seed(seed, _levels(seed)) for seed in range(part, SEEDS, PARTS)]
    assert not [f"seed {one.seed}: {failure}" for one in found for failure in one.failures]
    assert sum(bool(one.runs_by) for one in found) > 0.8 * len(found)


def _levels(seed: int) -> tuple[str, ...]:
    return (WHOLE, *(OTHERS[(2 * seed + index) % len(OTHERS)] for index in range(2)))


def test_every_level_has_its_turn():
    assert {level for seed in range(SEEDS) for level in _levels(seed)} == set(LEVELS)
