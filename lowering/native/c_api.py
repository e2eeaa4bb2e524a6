"""The C API that a compiled model exports (`native_api.c`), as C source and as LLVM IR."""

from __future__ import annotations

import re
from pathlib import Path

SOURCE, IR = (Path(__file__).parent / f"native_api.{ending}" for ending in ("c", "ll"))

DECLARED = re.compile(r'^declare [^@\n]*@"?([\w.]+)', re.MULTILINE)


def api_as_c(prefix: str) -> str:
    """Return the API in C; the tables and `xonnc_main` must precede it."""
    return SOURCE.read_text().replace("PREFIX_", f"{prefix}_")


def api_as_llvm(prefix: str, text: str) -> str:
    """Return the API as LLVM IR to append to `text`, without declarations that `text` has already."""
    declared = set(DECLARED.findall(text))
    lines = [
        line
        for line in IR.read_text().splitlines()
        if (found := DECLARED.match(line)) is None or found[1] not in declared
    ]
    return "\n".join(lines).replace("@PREFIX_", f"@{prefix}_") + "\n"
