"""Failures of a model at any level: simplification or native code."""

from __future__ import annotations

from xonnc.fuzzing.differential import LevelFailure, Original, failure_at
from xonnc.fuzzing.levels import LEVELS
from xonnc.fuzzing.native_level import NATIVE, native_failure

ALL_LEVELS = (*LEVELS, NATIVE)


def failure_of(original: Original, level: str) -> LevelFailure | None:
    """The failure of a model at a level, or `None`."""
    return native_failure(original) if level == NATIVE else failure_at(original, level)
