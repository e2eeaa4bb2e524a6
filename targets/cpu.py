"""CPU targets as data: vector width, number of vector registers, and features that code may use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from xonnc.errors import XonncError, suggest
from xonnc.targets.cores import Core, load_core
from xonnc.targets.toml_tables import read_toml, values_of

FOLDER = Path(__file__).parent / "processors"


CODE_SUFFIXES = (".so", ".o", ".ll", ".c")
"""Suffixes of files with native code."""


@dataclass(frozen=True, kw_only=True)
class CpuTarget:
    """A CPU target: an instruction set and a core to tune for (docs/internals/cpu-kernels.md §4.1)."""

    name: str
    description: str
    triple: str = ""
    """LLVM target triple; empty for that of this machine."""
    features: tuple[str, ...]
    """The LLVM target features that the generated code needs."""
    vector_bytes: int
    registers: int
    """The number of architectural vector registers."""
    core: Core
    """Execution units and caches: of the machine's own core for target `cpu`, else of a typical one."""
    int8_dot: str = ""
    """
    LLVM intrinsic for the dot product of four uint8 with four int8 values, added to an int32 accumulator.

    If empty, kernels multiply pairs of 16-bit integers instead.
    """
    bf16_dot: str = ""
    """
    LLVM intrinsic for the dot product of two pairs of bfloat16 values, added to a float32 accumulator.

    If empty, float32 products keep float32 operands (`select-bf16-onnx`).
    """
    byte_shuffle: str = ""
    """
    LLVM intrinsic that permutes bytes by bytes, for tables of 256 (`krnl.look_up`).

    If empty, elements are loaded one by one.
    """
    narrow_weights: tuple[str, ...] = ()
    """Types of 16 bits, `float16` and `bfloat16`, that a few instructions widen a vector from."""


def cpu_names() -> list[str]:
    """The names of the CPU targets, widest vectors and most features first."""
    targets = [load_cpu(path.stem) for path in FOLDER.glob("*.toml")]
    order = sorted(targets, key=lambda each: (-each.vector_bytes, -len(each.features)))
    return [target.name for target in order]


@cache
def load_cpu(name: str) -> CpuTarget:
    """Load the CPU target called `name`; raise `XonncError` for an unknown name or an invalid description."""
    path = FOLDER / f"{name}.toml"
    if not path.is_file():
        known = sorted(each.stem for each in FOLDER.glob("*.toml"))
        raise XonncError(f"no processor '{name}'{suggest(name, known) or '.'} There are {', '.join(known)}")
    table = read_toml(path)
    core = load_core(table.pop("core", "generic"))
    values = values_of(CpuTarget, table, str(path), given=("name", "core"))
    return CpuTarget(name=name, core=core, **values)


def portable(target: CpuTarget) -> CpuTarget:
    """
    Return the target for C output.

    The int8 dot product is a function that runs on any CPU. There is none of bfloat16, no permutation of
    bytes, and there are no vectors of 16-bit floats.
    """
    dot = f"llvm.x86.avx512.vpdpbusd.{8 * target.vector_bytes}"
    return replace(target, int8_dot=dot, bf16_dot="", byte_shuffle="", narrow_weights=())


def best_cpu(features: set[str]) -> CpuTarget:
    """Return the first target of `cpu_names` whose features are all among `features`."""
    targets = [load_cpu(name) for name in cpu_names()]
    return next(target for target in targets if features.issuperset(target.features))


def require_threads(name: str, threads: int) -> None:
    """Raise `XonncError` if `threads`, an option of the pass `name`, is below 1."""
    if threads < 1:
        raise XonncError(f"{name}: threads = {threads}; it is 1 or more")
