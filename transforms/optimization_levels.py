"""
Optimization levels: which passes run at `-O0` to `-O3`.

The one table behind `xonnc compile`, `xonnc.compile`, `xonnc simplify` and `simplify-onnx`; `xonnc passes
--levels` and docs/optimization-levels.md show it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from xonnc.errors import UnknownNameError, XonncError, suggest

LEVELS = (0, 1, 2, 3)
"""LLVM makes machine code at a level of the same number; with the last its middle end runs too."""

DEFAULT_LEVEL = 2


class Stage(StrEnum):
    """Which half of the compiler a pass belongs to."""

    SIMPLIFICATION = "simplification"
    CODE = "native code"


class LeveledPass(NamedTuple):
    """A pass, and the lowest level that it runs at; every pass of level 0 is needed for a correct result."""

    name: str
    level: int
    stage: Stage


LEVELED_PASSES: Sequence[LeveledPass] = (
    LeveledPass("shape-inference-onnx", 0, Stage.SIMPLIFICATION),
    LeveledPass("canonicalize-onnx", 1, Stage.SIMPLIFICATION),
    LeveledPass("constprop-onnx", 1, Stage.SIMPLIFICATION),
    LeveledPass("onnx-cse-with-node-name", 1, Stage.SIMPLIFICATION),
    LeveledPass("recompose-onnx", 2, Stage.SIMPLIFICATION),
    LeveledPass("fuse-channels-onnx", 2, Stage.SIMPLIFICATION),
    LeveledPass("fuse-operators-onnx", 2, Stage.SIMPLIFICATION),
    LeveledPass("move-transposes-onnx", 3, Stage.SIMPLIFICATION),
    LeveledPass("dense-constants-onnx", 0, Stage.CODE),
    LeveledPass("legalize-onnx", 0, Stage.CODE),
    LeveledPass("outline-data-dependent-onnx", 0, Stage.CODE),
    LeveledPass("fuse-onnx", 2, Stage.CODE),
    LeveledPass("assign-layout", 2, Stage.CODE),
    LeveledPass("convert-onnx-to-krnl", 0, Stage.CODE),
    LeveledPass("plan-memory", 0, Stage.CODE),
    LeveledPass("convert-krnl-to-llvm", 0, Stage.CODE),
)
"""
The passes in the order in which each first runs.

Those of the simplification run together to a fixed point. A pass of the table does only what it does in
`simplify-onnx`: `recompose-onnx` by itself has more rules.
"""

NAMES = tuple(known.name for known in LEVELED_PASSES)

Passes: TypeAlias = frozenset[str]
"""The passes of the table that run."""


def passes_of(level: int, enable: Collection[str] = (), disable: Collection[str] = ()) -> Passes:
    """
    The passes of a level, with those to `enable` and without those to `disable`, which count more.

    Raises `UnknownNameError` for a name that is not in the table, `XonncError` for another level or a pass
    that must not be disabled.
    """
    if level not in LEVELS:
        raise XonncError(f"level: {level}; there are {', '.join(map(str, LEVELS))}")
    for name in (*enable, *disable):
        require_pass(name)
    for name in disable:
        require_optional(name)
    found = {known.name for known in LEVELED_PASSES if known.level <= level}
    return frozenset(found.union(enable).difference(disable))


DEFAULT_PASSES = passes_of(DEFAULT_LEVEL)


def require_pass(name: str) -> str:
    """The name of a pass of the table; `UnknownNameError` for any other."""
    if name not in NAMES:
        hint = suggest(name, NAMES) or "; 'xonnc passes --levels' lists them"
        raise UnknownNameError(f"no pass '{name}' of the optimization levels{hint}")
    return name


def require_optional(name: str) -> str:
    """The name of a pass of the table that may be disabled; `XonncError` for one that may not."""
    require_pass(name)
    if any(known.name == name and known.level == 0 for known in LEVELED_PASSES):
        optional = ", ".join(known.name for known in LEVELED_PASSES if known.level > 0)
        raise XonncError(
            f"{name}: a correct result needs this pass; those that may be disabled are {optional}"
        )
    return name


def spelled(passes: Passes) -> str:
    """The passes in the order of the table."""
    return ", ".join(name for name in NAMES if name in passes)
