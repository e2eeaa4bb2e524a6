"""Processors described as data: how wide vectors are, how many registers hold them, which tiles fill them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from xonnc.errors import XonncError, suggest
from xonnc.targets.cores import Core, load_core
from xonnc.targets.toml_tables import read_toml, values_of

FOLDER = Path(__file__).parent / "processors"


@dataclass(frozen=True, kw_only=True)
class CpuTarget:
    """One kind of processor (docs/internals/cpu-kernels.md §4.1)."""

    name: str
    description: str
    triple: str = ""
    """What LLVM calls the architecture and system that code is for; empty for those of this machine."""
    features: tuple[str, ...]
    """What LLVM calls the features that code for it needs."""
    vector_bytes: int
    registers: int
    """How many vectors code can hold at once."""
    core: Core
    """Execution units and caches; those of the processor at hand for `cpu`, else of a usual one."""
    int8_dot: str = ""
    """
    LLVM's function that adds products of four bytes without sign and four with sign to sums of 32 bits.

    Without one, two numbers of 16 bits are multiplied at a time.
    """


def cpu_names() -> list[str]:
    """The kinds of processor there are, the most able first."""
    targets = [load_cpu(path.stem) for path in FOLDER.glob("*.toml")]
    order = sorted(targets, key=lambda each: (-each.vector_bytes, -len(each.features)))
    return [target.name for target in order]


def load_cpu(name: str) -> CpuTarget:
    """The kind of processor called `name`."""
    path = FOLDER / f"{name}.toml"
    if not path.is_file():
        known = sorted(each.stem for each in FOLDER.glob("*.toml"))
        raise XonncError(f"no processor '{name}'{suggest(name, known) or '.'} There are {', '.join(known)}")
    table = read_toml(path)
    core = load_core(table.pop("core", "generic"))
    values = values_of(CpuTarget, table, str(path), given=("name", "core"))
    return CpuTarget(name=name, core=core, **values)


def portable(target: CpuTarget) -> CpuTarget:
    """The processor as C source sees it: products of bytes are a function that C has on any processor."""
    return replace(target, int8_dot=f"llvm.x86.avx512.vpdpbusd.{8 * target.vector_bytes}")


def best_cpu(features: set[str]) -> CpuTarget:
    """The most able kind that a processor with these features is."""
    targets = [load_cpu(name) for name in cpu_names()]
    return next(target for target in targets if features.issuperset(target.features))


def require_threads(name: str, threads: int) -> None:
    """Raises `XonncError` if a pass is to make code that no thread runs."""
    if threads < 1:
        raise XonncError(f"{name}: threads = {threads}; it is 1 or more")
