"""
Dialects and passes for every xDSL tool, found by the entry point `xdsl.universe`.

Every start of `xdsl-opt` loads this module: it imports no pass and no dialect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from xdsl.universe import Universe

from xonnc.passes import dialect_factories, pass_factories

if TYPE_CHECKING:
    from xdsl.ir import Dialect


def installed_dialects() -> dict[str, Callable[[], Dialect]]:
    """The dialects of everything installed; xDSL's `llvm` with the vectors that code for the CPU has."""
    return {**Universe.get_multiverse().all_dialects, **dialect_factories(), "llvm": _vector_llvm}


def _vector_llvm() -> Dialect:
    from xonnc.dialects.krnl.vector_llvm import VECTOR_LLVM

    return VECTOR_LLVM


XONNC_UNIVERSE = Universe(all_dialects=dialect_factories(), all_passes=pass_factories())
