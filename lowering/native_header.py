"""The C header of a compiled model: its entry, and in front of that a small interface that checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

from xonnc.formats.native.program import MOST_BYTES, Port, Program
from xonnc.lowering.native_layout import Layout, size_of
from xonnc.lowering.native_plan import Plan, shape_numbers

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
        switches=switches.get(holding.weights, "") + _open_switch(layout.plan, upper),
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
        **_planned(layout.plan, prefix),
    )


def _open_switch(plan: Plan | None, upper: str) -> str:
    return "" if plan is None else f"#define {upper}_OPEN 1\n"


def _planned(plan: Plan | None, prefix: str) -> dict[str, object]:
    """What the header has more of where sizes are open."""
    given = () if plan is None else shape_numbers(plan)
    made = [] if plan is None else plan.output_sizes()
    return {
        "most": MOST_BYTES,
        "sizes": 1 if plan is None else plan.count,
        "input_sizes": max(1, len(given)),
        "output_sizes": max(1, len(made)),
        "given": ", ".join(map(str, given)) or "0",
        "plan": "" if plan is None else "\n".join(f"    {line}" for line in plan.lines(prefix)),
        "made": "\n".join(f"    o[{number}] = {size};" for number, size in enumerate(made)),
        "arena_slot": 0 if plan is None else plan.arena,
        "output_slot": 0 if plan is None else plan.output(0),
    }


def _table(ports: Sequence[Port], prefix: str) -> str:
    lines: list[str] = []
    for number, port in enumerate(ports):
        sizes = ", ".join("-1" if size is None else str(size) for size in port.shape or ()) or "0"
        lines.append(f"    static const int64_t shape_{number}[] = {{{sizes}}};")
    rows = [
        f"        {{{_text(port.name)}, {_text(str(port.dtype))}, {len(port.shape or ())}, shape_{number}, "
        f"{size_of(port)}, {_element_size(port)}}},"
        for number, port in enumerate(ports)
    ]
    rows = rows or ['        {"", "", 0, NULL, 0, 0},']
    return "\n".join([*lines, f"    static const {prefix}_tensor tensors[] = {{", *rows, "    };"])


def _element_size(port: Port) -> int:
    assert port.dtype is not None
    return port.dtype.itemsize


def _text(text: str) -> str:
    """A string of C; what is not ASCII as bytes of UTF-8."""
    shown = "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
        for byte in text.encode("utf-8")
    )
    return f'"{shown}"'
