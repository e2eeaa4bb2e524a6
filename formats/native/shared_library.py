"""Shared libraries of compiled models: what tells that a file is one, and how its functions are called."""

from __future__ import annotations

import mmap
import re
from pathlib import Path

from xonnc.errors import XonncError

ABOUT = "xonnc native model, prefix "
"""What stands in front of the prefix of the exported functions, in the data of a library."""


def prefix_in(path: Path) -> str:
    """What the exported functions of a library begin with; `XonncError` for a file that is none of ours."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
            found = re.search(re.escape(ABOUT).encode() + rb"([A-Za-z_][A-Za-z0-9_]*);", held)
            prefix = "" if found is None or held[:4] != b"\x7fELF" else found[1].decode()
    except (OSError, ValueError) as error:
        raise XonncError(f"{path}: cannot be read: {error}") from None
    if not prefix:
        raise XonncError(f"{path}: no library that xonnc has compiled")
    return prefix
