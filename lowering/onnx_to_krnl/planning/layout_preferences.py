"""Layouts that operators prefer for images; without a preference, the one that the compiler chooses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from xdsl.ir import Operation

ImageLayout: TypeAlias = Literal["NCHW", "NCHWc"]
"""Row-major, or channel-blocked with as many channels as a vector has lanes."""

_PREFERENCES: dict[type[Operation], Callable[[Operation], ImageLayout | None]] = {}


def prefer_layout(kind: type[Operation], preference: Callable[[Operation], ImageLayout | None]) -> None:
    """Register a function that gives the layout of an operator, or `None` for the compiler's choice."""
    _PREFERENCES[kind] = preference


def preferred_layout(op: Operation) -> ImageLayout | None:
    """Return the layout that an operator prefers, `None` if it has no preference."""
    preference = _PREFERENCES.get(type(op))
    return None if preference is None else preference(op)
