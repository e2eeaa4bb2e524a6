"""Recognise shared libraries of compiled models, and find the prefix of their exported functions."""

from __future__ import annotations

import mmap
import re
from pathlib import Path

from xonnc.errors import XonncError, cannot_read

SIGNATURE = "xonnc native model, prefix "
"""Marker in the data of a library, followed by the prefix of its exported functions and a semicolon."""


def exported_prefix(path: Path) -> str:
    """Return the prefix of the exported functions; raise `XonncError` if xonnc did not compile the file."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as contents:
            found = re.search(re.escape(SIGNATURE).encode() + rb"([A-Za-z_][A-Za-z0-9_]*);", contents)
            prefix = "" if found is None or contents[:4] != b"\x7fELF" else found[1].decode()
    except (OSError, ValueError) as error:
        raise cannot_read(path, error) from None
    if not prefix:
        raise XonncError(f"{path}: not a library compiled by xonnc")
    return prefix
