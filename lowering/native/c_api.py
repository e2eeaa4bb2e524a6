"""The exported functions of a compiled model (`native_api.c`) as C and as LLVM IR."""

from __future__ import annotations

import re
from pathlib import Path

SOURCE, IR = (Path(__file__).parent / f"native_api.{ending}" for ending in ("c", "ll"))

DECLARED = re.compile(r'^declare [^@\n]*@"?([\w.]+)', re.MULTILINE)


def api_as_c(prefix: str) -> str:
    """The functions in C, which go after the tables and `xonnc_main`."""
    return SOURCE.read_text().replace("PREFIX_", f"{prefix}_")


def api_as_llvm(prefix: str, text: str) -> str:
    """The functions as LLVM IR that goes after `text`, without what that declares already."""
    declared = set(DECLARED.findall(text))
    lines = [
        line
        for line in IR.read_text().splitlines()
        if (found := DECLARED.match(line)) is None or found[1] not in declared
    ]
    return "\n".join(lines).replace("@PREFIX_", f"@{prefix}_") + "\n"
