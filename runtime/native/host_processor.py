"""The core of the processor at hand: its name from LLVM, its caches from Linux."""

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
    """The core of this processor with its caches; `assumed` where LLVM's name for it is not described."""
    core = core_called(host_name()) or assumed
    with suppress(XonncError):
        # Of a virtual machine whose caches contradict each other, none is believed.
        return replace(core, **caches_of(CACHES))
    return core


def caches_of(folder: Path) -> Mapping[str, int]:
    """What a folder of Linux tells of data caches: their sizes, ways and lines, by property of a core."""
    found: dict[str, int] = {}
    for index in sorted(folder.glob("index*")):
        level, kind, size, ways, line = (
            _text(index / name)
            for name in ("level", "type", "size", "ways_of_associativity", "coherency_line_size")
        )
        match = re.fullmatch(r"(\d+)([KMG]?)", size)
        if kind == "Instruction" or level not in ("1", "2", "3") or match is None:
            continue
        found[f"l{level}_bytes"] = int(match[1]) * UNITS[match[2]]
        # Virtual machines may say 0 for what they do not know.
        if ways.isdigit() and int(ways):
            found[f"l{level}_ways"] = int(ways)
        if line.isdigit() and int(line):
            found["line_bytes"] = int(line)
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
