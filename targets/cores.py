"""
Cores described as data: execution units and caches, which kernels choose tiles and prefetch distances by.

`targets/cores/*.toml` holds one file per microarchitecture. A kind of processor (`targets/cpu.py`) names the
core that is assumed where nothing else is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from xonnc.errors import UnknownNameError, XonncError, suggest
from xonnc.targets.toml_tables import KINDS, Kind, is_integer, read_toml, values_of

FOLDER = Path(__file__).parent / "cores"

RANGES = {
    "fma_bytes": (4, 1 << 10),
    "load_bytes": (4, 1 << 10),
    "fma_latency": (1, 64),
    "l1_bytes": (1 << 10, 1 << 24),
    "l1_ways": (1, 1 << 10),
    "l2_bytes": (1 << 12, 1 << 30),
    "l2_ways": (1, 1 << 10),
    "l3_bytes": (0, 1 << 40),
    "l3_ways": (0, 1 << 10),
    "line_bytes": (16, 1 << 10),
    "prefetch_bytes": (0, 1 << 16),
}
"""The values that each number may have."""

_KINDS = {**KINDS, "int": Kind("an integer", is_integer)}


@dataclass(frozen=True, kw_only=True)
class Core:
    """One microarchitecture; throughputs in bytes per cycle, so that they hold for vectors of any width."""

    name: str
    description: str
    llvm_names: tuple[str, ...] = ()
    """What LLVM calls the processors that have this core."""
    fma_bytes: int
    """Bytes of vectors that are multiplied and added in a cycle: ports times their width."""
    load_bytes: int
    """Bytes of vectors that are loaded from the first-level cache in a cycle."""
    fma_latency: int
    """Cycles from the operands of a multiply-add to its result."""
    l1_bytes: int
    """Data cache of the first level."""
    l1_ways: int
    l2_bytes: int
    """Second level, of one core."""
    l2_ways: int
    l3_bytes: int
    """Third level, which cores share; 0 without one."""
    l3_ways: int
    line_bytes: int
    prefetch_bytes: int
    """How far ahead kernels that stream weights prefetch them; 0 where hardware needs no help."""
    prefetchers: str = ""
    """What hardware prefetches by itself."""
    measured: str = ""
    """Where performance was measured on this core; empty for one known from its manuals alone."""

    def __post_init__(self) -> None:
        problems = list(self._problems())
        if problems:
            raise XonncError("\n".join(f"core {self.name}: {problem}" for problem in problems))

    def _problems(self) -> Iterator[str]:
        for key, (least, most) in RANGES.items():
            value = getattr(self, key)
            if not least <= value <= most:
                yield f"{key} = {value}; it is {least} to {most}"
        if self.line_bytes & (self.line_bytes - 1):
            yield f"line_bytes = {self.line_bytes}; it is a power of two"
        if self.l1_bytes > self.l2_bytes:
            yield f"l1_bytes = {self.l1_bytes}; it is at most l2_bytes = {self.l2_bytes}"

    def fmas(self, vector_bytes: int) -> float:
        """Multiply-adds of vectors in a cycle."""
        return self.fma_bytes / vector_bytes

    def loads(self, vector_bytes: int) -> float:
        """Loads of vectors in a cycle."""
        return self.load_bytes / vector_bytes


def core_names() -> list[str]:
    """The cores that are described."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


@cache
def load_core(name: str) -> Core:
    """The core called `name`; raises `XonncError` for an unknown one, and for a description that is wrong."""
    path = FOLDER / f"{name}.toml"
    if name not in core_names():
        raise UnknownNameError(
            f"no core '{name}'{suggest(name, core_names()) or '.'} There are {', '.join(core_names())}"
        )
    return core_of(name, read_toml(path), str(path))


def core_of(name: str, table: Mapping[str, Any], source: str) -> Core:
    """The core that a table describes; an error with a line for each property that is wrong."""
    return Core(name=name, **values_of(Core, table, source, _KINDS))


def core_called(llvm_name: str) -> Core | None:
    """The core of a processor by LLVM's name for it, as `znver4`; `None` for one that is not described."""
    cores = (load_core(name) for name in core_names())
    return next((core for core in cores if llvm_name in core.llvm_names), None)
