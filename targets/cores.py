"""
CPU microarchitectures as data: execution units and caches, which determine tile sizes and prefetch distances.

`targets/cores/*.toml` holds one file per microarchitecture. A CPU target (`targets/cpu.py`) names the core to
assume when that of the machine is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from xonnc.errors import UnknownNameError, XonncError, suggest
from xonnc.targets.toml_tables import KINDS, PropertyType, is_integer, read_toml, values_of

FOLDER = Path(__file__).parent / "cores"

RANGES = {
    "fma_bytes": (4, 1 << 10),
    "load_bytes": (4, 1 << 10),
    "bf16_bytes": (0, 1 << 10),
    "fma_latency": (1, 64),
    "l1_bytes": (1 << 10, 1 << 24),
    "l1_ways": (1, 1 << 10),
    "l2_bytes": (1 << 12, 1 << 30),
    "l2_ways": (1, 1 << 10),
    "l3_bytes": (0, 1 << 40),
    "l3_ways": (0, 1 << 10),
    "line_bytes": (16, 1 << 10),
    "prefetch_bytes": (0, 1 << 16),
    "panel_prefetch_bytes": (0, 1 << 16),
    "write_prefetch_bytes": (0, 1 << 30),
    "next_panel_bytes": (0, 1 << 30),
}
"""The allowed range of each property, both ends included."""

_KINDS = {**KINDS, "int": PropertyType("an integer", is_integer)}


@dataclass(frozen=True, kw_only=True)
class Core:
    """A microarchitecture; throughputs are in bytes per cycle, so they hold for vectors of any width."""

    name: str
    description: str
    llvm_names: tuple[str, ...] = ()
    """LLVM's names (`-mcpu`) of the processors that have this core."""
    fma_bytes: int
    """FMA throughput in bytes of vector per cycle: the number of FMA ports times their width."""
    bf16_bytes: int
    """
    Throughput of dot products of bfloat16, each of two products, in bytes of sums per cycle; 0 if there are
    none, or it is not known.
    """
    load_bytes: int
    """Load throughput from the L1 cache in bytes of vector per cycle."""
    fma_latency: int
    """Latency of an FMA in cycles."""
    l1_bytes: int
    """Size of the L1 data cache."""
    l1_ways: int
    l2_bytes: int
    """Size of one core's L2 cache."""
    l2_ways: int
    l3_bytes: int
    """Size of the L3 cache that cores share; 0 if there is none."""
    l3_ways: int
    line_bytes: int
    prefetch_bytes: int
    """Software prefetch distance of kernels that stream weights; 0 if hardware prefetching suffices."""
    panel_prefetch_bytes: int
    """
    Software prefetch distance of weights that several tiles read from L2; 0 if hardware prefetching suffices.
    """
    write_prefetch_bytes: int
    """
    Size of a result from which tiles prefetch the lines that they will store; 0 if that does not pay.
    """
    next_panel_bytes: int
    """
    Size of two panels of weights up to which tiles prefetch the next one into L2; 0 if that does not pay.
    """
    prefetchers: str = ""
    """A description of the hardware prefetchers."""
    measured: str = ""
    """The machine on which performance was measured; empty if the values come from manuals alone."""

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
        """Return the vector FMAs per cycle for vectors of `vector_bytes` bytes."""
        return self.fma_bytes / vector_bytes

    @property
    def has_fast_bf16(self) -> bool:
        """Whether dot products of bfloat16 multiply more numbers in a cycle than FMAs."""
        return 2 * self.bf16_bytes > self.fma_bytes

    def loads(self, vector_bytes: int) -> float:
        """Return the vector loads per cycle for vectors of `vector_bytes` bytes."""
        return self.load_bytes / vector_bytes


def core_names() -> list[str]:
    """The names of the cores that have a description."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


@cache
def load_core(name: str) -> Core:
    """Load the core called `name`; raise `XonncError` for an unknown name or an invalid description."""
    path = FOLDER / f"{name}.toml"
    if name not in core_names():
        raise UnknownNameError(
            f"no core '{name}'{suggest(name, core_names()) or '.'} There are {', '.join(core_names())}"
        )
    return core_of(name, read_toml(path), str(path))


def core_of(name: str, table: Mapping[str, Any], source: str) -> Core:
    """Return the core that a table describes; raise `XonncError` with a line for each wrong property."""
    return Core(name=name, **values_of(Core, table, source, _KINDS))


def core_called(llvm_name: str) -> Core | None:
    """Return the core of a processor by its LLVM name, such as `znver4`; `None` if it has no description."""
    cores = (load_core(name) for name in core_names())
    return next((core for core in cores if llvm_name in core.llvm_names), None)
