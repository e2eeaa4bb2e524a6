"""
Optimization levels: the passes that run at `-O0` to `-O3`.

`xonnc compile`, `xonnc.compile`, `xonnc simplify` and `simplify-onnx` share this table; `xonnc passes
--levels` and docs/optimization-levels.md show it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from xonnc.errors import UnknownNameError, XonncError, suggest

LEVELS = (0, 1, 2, 3)
"""LLVM generates code at the same level; only level 3 runs its middle-end passes."""

DEFAULT_LEVEL = 2

BY_NAME = LEVELS[-1] + 1
"""The lowest level of a pass that no level includes."""

BF16_PASS = "select-bf16-onnx"
"""The pass that rounds operands of products to bfloat16, which a user allows."""

WINOGRAD_PASS = "select-winograd-onnx"
"""The pass that computes 3x3 convolutions with fewer multiplications, which a user allows."""


class CompilerPhase(StrEnum):
    """The half of the compiler that a pass belongs to."""

    SIMPLIFICATION = "simplification"
    CODE = "native code"


class LeveledPass(NamedTuple):
    """A pass and its lowest level; passes of level 0 are required for correct results."""

    name: str
    level: int
    stage: CompilerPhase


LEVELED_PASSES: Sequence[LeveledPass] = (
    LeveledPass("shape-inference-onnx", 0, CompilerPhase.SIMPLIFICATION),
    LeveledPass("canonicalize-onnx", 1, CompilerPhase.SIMPLIFICATION),
    LeveledPass("constprop-onnx", 1, CompilerPhase.SIMPLIFICATION),
    LeveledPass("onnx-cse-with-node-name", 1, CompilerPhase.SIMPLIFICATION),
    LeveledPass("recompose-onnx", 2, CompilerPhase.SIMPLIFICATION),
    LeveledPass("fuse-channels-onnx", 2, CompilerPhase.SIMPLIFICATION),
    LeveledPass("fuse-operators-onnx", 2, CompilerPhase.SIMPLIFICATION),
    LeveledPass("unroll-loops-onnx", 3, CompilerPhase.SIMPLIFICATION),
    LeveledPass("move-transposes-onnx", 2, CompilerPhase.SIMPLIFICATION),
    LeveledPass("dense-constants-onnx", 0, CompilerPhase.CODE),
    LeveledPass("decompose-plugins-onnx", 0, CompilerPhase.CODE),
    LeveledPass("legalize-onnx", 0, CompilerPhase.CODE),
    LeveledPass("outline-data-dependent-onnx", 0, CompilerPhase.CODE),
    LeveledPass(BF16_PASS, BY_NAME, CompilerPhase.CODE),
    LeveledPass(WINOGRAD_PASS, BY_NAME, CompilerPhase.CODE),
    LeveledPass("fuse-onnx", 2, CompilerPhase.CODE),
    LeveledPass("reduce-memory-onnx", 2, CompilerPhase.CODE),
    LeveledPass("assign-layout", 2, CompilerPhase.CODE),
    LeveledPass("convert-onnx-to-krnl", 0, CompilerPhase.CODE),
    LeveledPass("prepack-weights", 0, CompilerPhase.CODE),
    LeveledPass("parallelize-krnl", 1, CompilerPhase.CODE),
    LeveledPass("share-kernels", 1, CompilerPhase.CODE),
    LeveledPass("plan-memory", 0, CompilerPhase.CODE),
    LeveledPass("convert-krnl-to-llvm", 0, CompilerPhase.CODE),
)
"""
The passes in the order in which each first runs.

Simplification passes run together to a fixed point. In `simplify-onnx` a pass of this table may have fewer
rules than the pass itself: `recompose-onnx` has more.
"""

NAMES = tuple(known.name for known in LEVELED_PASSES)

FAST_MATH = "fast-math"
"""
In the enabled passes, rules fire whose identity holds for real numbers only (`real_arithmetic.OVER_REALS`).

At every level they do unless it is disabled, as in other compilers of ONNX, which fold normalizations too.
"""

Passes: TypeAlias = frozenset[str]
"""Names of enabled passes."""


def passes_of(level: int, enable: Collection[str] = (), disable: Collection[str] = ()) -> Passes:
    """
    Return the passes of a level, plus those of `enable`, minus those of `disable`, which takes precedence.

    `FAST_MATH` in `disable` leaves out rules that round elsewhere than the model.

    Raises `UnknownNameError` for a name that is not in the table, `XonncError` for another level or a
    required pass in `disable`.
    """
    if level not in LEVELS:
        raise XonncError(f"level: {level}; there are {', '.join(map(str, LEVELS))}")
    for name in enable:
        require_pass(name)
    for name in disable:
        if name != FAST_MATH:
            require_optional(name)
    found = {FAST_MATH, *(known.name for known in LEVELED_PASSES if known.level <= level)}
    return frozenset(found.union(enable).difference(disable))


DEFAULT_PASSES = passes_of(DEFAULT_LEVEL)


def require_pass(name: str) -> str:
    """Return the name of a pass of the table; raise `UnknownNameError` for any other."""
    if name not in NAMES:
        hint = suggest(name, NAMES) or "; 'xonnc passes --levels' lists them"
        raise UnknownNameError(f"no pass '{name}' of the optimization levels{hint}")
    return name


def require_optional(name: str) -> str:
    """Return the name of a pass that may be disabled; raise `XonncError` for a required one."""
    require_pass(name)
    if any(known.name == name and known.level == 0 for known in LEVELED_PASSES):
        optional = ", ".join(known.name for known in LEVELED_PASSES if known.level > 0)
        raise XonncError(
            f"{name}: a correct result needs this pass; those that may be disabled are {optional}"
        )
    return name


def spelled(passes: Passes) -> str:
    """Format the passes in the order of the table."""
    return ", ".join(name for name in NAMES if name in passes)
