"""The C header of a compiled model: its entry, and in front of that a small interface that checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

from xonnc.formats.native.program import Port, Program
from xonnc.lowering.native_layout import Layout, size_of

TEMPLATE = Path(__file__).parent / "native_header.h"


@dataclass(frozen=True)
class Holding:
    """Where constants and memory come from."""

    weights: str
    """`inside` the object, in a `file`, or given by the `caller`."""
    weight_file: str = ""


def c_header(program: Program, layout: Layout, prefix: str, model: str, holding: Holding) -> str:
    """The header, in C11."""
    upper = prefix.upper()
    switches = {"inside": f"#define {upper}_WEIGHTS_INSIDE 1\n", "caller": f"#define {upper}_NO_MALLOC 1\n"}
    return Template(TEMPLATE.read_text()).substitute(
        prefix=prefix,
        PREFIX=upper,
        model=model.replace("*/", "* /").replace("\n", " "),
        switches=switches.get(holding.weights, ""),
        weight_file=_text(holding.weight_file),
        inputs=len(program.inputs),
        outputs=len(program.outputs),
        input_slots=max(1, len(program.inputs)),
        output_slots=max(1, len(program.outputs)),
        arena=program.arena,
        weight_bytes=layout.weights.size,
        identity=f"{layout.weights.identity:#x}",
        texts="\n".join(f"        {_text(bounds.message)}," for bounds in layout.bounds),
        input_table=_table(program.inputs, prefix),
        output_table=_table(program.outputs, prefix),
    )


def _table(ports: Sequence[Port], prefix: str) -> str:
    lines: list[str] = []
    for number, port in enumerate(ports):
        sizes = ", ".join(str(size) for size in port.shape or ()) or "0"
        lines.append(f"    static const int64_t shape_{number}[] = {{{sizes}}};")
    rows = [
        f"        {{{_text(port.name)}, {_text(str(port.dtype))}, {len(port.shape or ())}, shape_{number}, "
        f"{size_of(port)}}},"
        for number, port in enumerate(ports)
    ]
    rows = rows or ['        {"", "", 0, NULL, 0},']
    return "\n".join([*lines, f"    static const {prefix}_tensor tensors[] = {{", *rows, "    };"])


def _text(text: str) -> str:
    """A string of C; what is not ASCII as bytes of UTF-8."""
    shown = "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
        for byte in text.encode("utf-8")
    )
    return f'"{shown}"'
