"""The C header of a compiled model, which declares its exported API; the same for every kind of output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from string import Template

from xonnc.formats.native.program import Program, TensorSpec

TEMPLATE = Path(__file__).parent / "native_header.h"


def c_header(program: Program, prefix: str, model: str) -> str:
    """Return the header, in C11."""
    lines = [*_described("input", program.inputs), *_described("output", program.outputs)]
    return Template(TEMPLATE.read_text()).substitute(
        prefix=prefix,
        PREFIX=prefix.upper(),
        model=_comment(model),
        ports="\n".join(f" * {line}" for line in lines),
    )


def _described(kind: str, ports: Sequence[TensorSpec]) -> list[str]:
    return [
        f"{kind} {number}: {_comment(port.name)}, {port.dtype} "
        f"[{', '.join('?' if size is None else str(size) for size in port.shape or ())}]"
        for number, port in enumerate(ports)
    ]


def _comment(text: str) -> str:
    """Escape a text for use in a C comment."""
    plain = "".join(char if char.isprintable() else " " for char in text)
    return plain.replace("*/", "* /").replace("/*", "/ *")
