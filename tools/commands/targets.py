"""`xonnc targets`: list the targets and their properties."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from typing import Any

from xonnc.plugins.backends import backend_of, backends
from xonnc.targets import NvdlaTarget, load_target, target_names
from xonnc.targets.cores import Core
from xonnc.targets.cpu import CpuTarget, cpu_names, load_cpu


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("target", nargs="*", help="only these, or .toml files of your own")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(args: argparse.Namespace) -> int:
    """List the targets."""
    own = [name for backend in backends() for name in backend.targets]
    targets = [_load(name) for name in args.target or (*target_names(), *cpu_names(), *own)]
    if args.json:
        print(json.dumps([{"kind": target.kind, **target.properties} for target in targets], indent=2))
        return 0
    width = max(len(target.name) for target in targets)
    for target in targets:
        print(f"{target.name:<{width}}  {target.properties['description']}")
        print(f"{'':<{width}}  {target.details}")
    if not args.target:
        # LLVM is imported only where the processor at hand is asked for.
        from xonnc.native_compilation import resolve_processor

        here = resolve_processor("cpu")
        print(f"{'cpu':<{width}}  the most able of these kinds of processor that this one is, {here.name}")
        print(f"{'':<{width}}  {described(here.core)}")
    return 0


@dataclass(frozen=True)
class _ListedTarget:
    """A target as the command lists it."""

    kind: str
    details: str
    properties: dict[str, Any]

    @property
    def name(self) -> str:
        return self.properties["name"]


def _load(name: str) -> _ListedTarget:
    backend = backend_of(name)
    if backend is not None:
        properties = asdict(backend.target_of(name))
        values = [f"{key} {value}" for key, value in properties.items() if key not in ("name", "description")]
        return _ListedTarget(backend.name, f"{backend}: {', '.join(values)}", properties)
    if name in cpu_names():
        target = load_cpu(name)
        return _ListedTarget("cpu", _described(target), asdict(target))
    target = load_target(name)
    return _ListedTarget("nvdla", _described(target), asdict(target))


def _described(target: NvdlaTarget | CpuTarget) -> str:
    if isinstance(target, CpuTarget):
        vectors = f"{target.registers} vectors of {target.vector_bytes} bytes"
        return f"native code: {vectors}; {described(target.core)}"
    return (
        f"{', '.join(target.precisions)}; {target.atomic_c} x {target.atomic_k} multipliers, "
        f"{target.cbuf_bytes >> 10} KiB convolution buffer, {target.memory_atom_bytes}-byte atoms"
    )


def described(core: Core) -> str:
    """Describe a core in a line: multiply-adds per cycle, and caches."""
    caches = [
        f"L{level} {size >> 10} KiB"
        for level, size in enumerate((core.l1_bytes, core.l2_bytes, core.l3_bytes), 1)
        if size
    ]
    return f"core {core.name}: {core.fma_bytes} bytes of multiply-adds a cycle, {', '.join(caches)}"
