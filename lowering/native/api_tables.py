"""What differs between the exported functions of compiled models (`native_api.c`), as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xonnc.formats.native.program import Port, Program
from xonnc.formats.native.shared_library import ABOUT
from xonnc.lowering.native.value_locations import Layout, size_of

MESSAGES = (
    "success",
    "no such input",
    "no such output",
    "there is no model",
    "not enough memory",
    "the file of weights cannot be opened",
    "the weights are not those of this model",
    "the weights are cut short",
    "the weights do not begin at a multiple of 64 bytes",
    "the shape of an input is not set",
    "an input of another shape",
    "an array of another size",
    "an input is not set",
    "an output is not set",
    "a size is below 0",
    "sizes beyond any memory",
)
"""What the codes that all models have mean."""


@dataclass(frozen=True)
class Tables:
    """Integers of 64 bits and texts."""

    info: Sequence[int]
    ports: Sequence[int]
    shapes: Sequence[int]
    plan: Sequence[int]
    texts: Sequence[str]


def tables_of(program: Program, layout: Layout, prefix: str, weight_file: str) -> Tables:
    """The tables of a program for a model whose constants are in the file `weight_file`, or inside."""
    messages: list[str] = [*MESSAGES]

    def code_of(requirement: str) -> int:
        messages.append(f"{_plain(requirement)} does not fit")
        return len(messages) - 1

    plan = layout.plan
    rows = [] if plan is None else plan.rows(code_of)
    first_bound = len(messages)
    messages += [bounds.message for bounds in layout.bounds]
    ports = [*program.inputs, *program.outputs]
    input_sizes, output_sizes = (
        sum(len(port.shape or ()) for port in group) for group in (program.inputs, program.outputs)
    )
    info = [
        len(program.inputs),
        len(program.outputs),
        layout.weights.size,
        _signed(layout.weights.identity),
        program.arena,
        int(plan is not None),
        input_sizes,
        output_sizes,
        0 if plan is None else plan.count,
        0 if plan is None else plan.arena,
        0 if plan is None else plan.output(0),
        len(rows),
        first_bound,
        len(messages),
    ]
    names = [text for port in ports for text in (port.name, str(port.dtype))]
    return Tables(
        info,
        _port_rows(ports),
        [-1 if size is None else size for port in ports for size in port.shape or ()],
        [number for row in rows for number in row],
        [weight_file, *names, *messages, f"{ABOUT}{prefix};"],
    )


def _port_rows(ports: Sequence[Port]) -> list[int]:
    """Rank, first size, bytes, and bytes of an element of each."""
    rows: list[int] = []
    first = 0
    for port in ports:
        assert port.dtype is not None
        rank = len(port.shape or ())
        rows += [rank, first, size_of(port), port.dtype.itemsize]
        first += rank
    return rows


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


def _plain(text: str) -> str:
    return " ".join(text.split())


def tables_as_c(tables: Tables) -> str:
    """The tables as C of this file alone."""
    groups = {"info": tables.info, "ports": tables.ports, "shapes": tables.shapes, "plan": tables.plan}
    lines = [
        f"static const int64_t xonnc_{name}[] = {{{', '.join(map(_c_number, numbers)) or '0'}}};"
        for name, numbers in groups.items()
    ]
    texts = "\n".join(f"    {c_text(text)}," for text in tables.texts)
    lines += [
        f"static const char *const xonnc_texts[] = {{\n{texts}\n}};",
        "static const unsigned char *const xonnc_inside = NULL;",
    ]
    return "\n".join([*lines, ""])


def _c_number(number: int) -> str:
    return f"(int64_t)UINT64_C({number + (1 << 64):#x})" if number < -(1 << 32) else str(number)


def c_text(text: str) -> str:
    """A string of C; what is not ASCII as bytes of UTF-8."""
    shown = "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
        for byte in text.encode("utf-8")
    )
    return f'"{shown}"'


def tables_as_llvm(tables: Tables, weights: str | None) -> str:
    """The tables as LLVM IR of this module alone; `weights` is the symbol of constants that are inside."""
    groups = {"info": tables.info, "ports": tables.ports, "shapes": tables.shapes, "plan": tables.plan}
    lines = [
        f"@xonnc_{name} = internal constant [{len(numbers)} x i64] "
        f"[{', '.join(f'i64 {number}' for number in numbers)}]"
        for name, numbers in groups.items()
    ]
    for number, text in enumerate(tables.texts):
        content = text.encode("utf-8") + b"\0"
        shown = "".join(
            chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\' else f"\\{byte:02X}" for byte in content
        )
        lines.append(f'@xonnc_text.{number} = internal constant [{len(content)} x i8] c"{shown}"')
    places = ", ".join(f"ptr @xonnc_text.{number}" for number in range(len(tables.texts)))
    lines.append(f"@xonnc_texts = internal constant [{len(tables.texts)} x ptr] [{places}]")
    inside = "null" if weights is None else f"@{weights}"
    if weights is not None:
        lines.append(f"@{weights} = external dso_local constant i8")
    lines.append(f"@xonnc_inside = internal constant ptr {inside}")
    return "\n".join([*lines, ""])
