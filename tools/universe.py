"""
Dialects and passes for every xDSL tool, found by the entry point `xdsl.universe`.

Every start of `xdsl-opt` loads this module: it imports no pass and no dialect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from xdsl.universe import XDSL_UNIVERSE, Universe

from xonnc.passes import dialect_factories, pass_factories

if TYPE_CHECKING:
    from xdsl.ir import Dialect


def installed_dialects() -> dict[str, Callable[[], Dialect]]:
    """The dialects of everything installed, with those of plug-in files."""
    return {**Universe.get_multiverse().all_dialects, **dialect_factories()}


def _vector_llvm() -> Dialect:
    from xonnc.dialects.krnl.vector_llvm import VECTOR_LLVM

    return VECTOR_LLVM


def _tosa() -> Dialect:
    from xonnc.dialects.tosa import get_tosa

    return get_tosa()


XDSL_UNIVERSE.all_dialects.update({"llvm": _vector_llvm, "tosa": _tosa})
"""
xDSL's `llvm` with vectors in `fcmp` and `select`, which code for the CPU has, and its `tosa` with the ops
that it lacks.

They take the place of xDSL's entries, since xDSL refuses a second dialect of one name. With them, every xDSL
tool reads the IR that these dialects print.
"""

XONNC_UNIVERSE = Universe(all_dialects=dialect_factories(), all_passes=pass_factories())
