"""Detect the core of this processor: its name from LLVM, its caches from Linux."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

from xonnc.errors import XonncError
from xonnc.runtime.native.jit import host_name
from xonnc.targets.cores import Core, core_called

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@cache
def host_core(assumed: Core) -> Core:
    """Return the core of this processor with its caches; `assumed` if its name has no description."""
    core = core_called(host_name()) or assumed
    with suppress(XonncError):
        # Virtual machines may report contradictory caches, for which `replace` raises: keep the described
        # ones.
        return replace(core, **caches_of(CACHES))
    return core


def caches_of(folder: Path) -> Mapping[str, int]:
    """Read size, ways and line size of data caches from a sysfs folder, as properties of `Core`."""
    properties: dict[str, int] = {}
    for index in sorted(folder.glob("index*")):
        level, kind, size, ways, line = (
            _text(index / name)
            for name in ("level", "type", "size", "ways_of_associativity", "coherency_line_size")
        )
        match = re.fullmatch(r"(\d+)([KMG]?)", size)
        if kind == "Instruction" or level not in ("1", "2", "3") or match is None:
            continue
        properties[f"l{level}_bytes"] = int(match[1]) * UNITS[match[2]]
        # Virtual machines may report 0 for unknown properties.
        if ways.isdigit() and int(ways):
            properties[f"l{level}_ways"] = int(ways)
        if line.isdigit() and int(line):
            properties["line_bytes"] = int(line)
    return properties


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
