"""The model-specific tables that the exported C API (`native_api.c`) reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xonnc.formats.native.program import Program, TensorSpec
from xonnc.formats.native.shared_library import SIGNATURE
from xonnc.lowering.native.value_locations import MemoryLayout, tensor_bytes

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
"""Messages of the return codes that all models have in common, by code; must match `native_api.c`."""


@dataclass(frozen=True)
class ApiTables:
    """Tables of 64-bit integers, and a table of strings; their layout is defined in `native_api.c`."""

    info: Sequence[int]
    ports: Sequence[int]
    shapes: Sequence[int]
    plan: Sequence[int]
    texts: Sequence[str]


def tables_of(program: Program, layout: MemoryLayout, prefix: str, weight_file: str) -> ApiTables:
    """Return the tables of a program; `weight_file` is the name of its file of constants, if not embedded."""
    messages: list[str] = [*MESSAGES]

    def code_of(constraint: str) -> int:
        messages.append(f"{_single_line(constraint)} does not fit")
        return len(messages) - 1

    plan = layout.plan
    instructions = [] if plan is None else plan.instructions(code_of)
    first_bounds_message = len(messages)
    messages += [bounds.message for bounds in layout.bounds_checks]
    ports = [*program.inputs, *program.outputs]
    input_sizes, output_sizes = (
        sum(len(port.shape or ()) for port in group) for group in (program.inputs, program.outputs)
    )
    info = [
        len(program.inputs),
        len(program.outputs),
        layout.weights.size,
        _as_signed_64(layout.weights.identity),
        program.arena,
        int(plan is not None),
        input_sizes,
        output_sizes,
        0 if plan is None else plan.count,
        0 if plan is None else plan.arena,
        0 if plan is None else plan.output(0),
        len(instructions),
        first_bounds_message,
        len(messages),
    ]
    names = [text for port in ports for text in (port.name, str(port.dtype))]
    return ApiTables(
        info,
        _port_rows(ports),
        [-1 if size is None else size for port in ports for size in port.shape or ()],
        [number for instruction in instructions for number in instruction],
        [weight_file, *names, *messages, f"{SIGNATURE}{prefix};"],
    )


def _port_rows(ports: Sequence[TensorSpec]) -> list[int]:
    """Return rank, index of the first dimension, size in bytes and element size of each."""
    rows: list[int] = []
    first = 0
    for port in ports:
        assert port.dtype is not None
        rank = len(port.shape or ())
        rows += [rank, first, tensor_bytes(port), port.dtype.itemsize]
        first += rank
    return rows


def _as_signed_64(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


def _single_line(text: str) -> str:
    return " ".join(text.split())


def tables_as_c(tables: ApiTables) -> str:
    """Return the tables as static C data."""
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
    """Return a C string literal; non-ASCII characters become octal escapes of their UTF-8 bytes."""
    shown = "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
        for byte in text.encode("utf-8")
    )
    return f'"{shown}"'


def tables_as_llvm(tables: ApiTables, weights: str | None) -> str:
    """Return the tables as internal LLVM globals; `weights` is the symbol of embedded constants, if any."""
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
    pointers = ", ".join(f"ptr @xonnc_text.{number}" for number in range(len(tables.texts)))
    lines.append(f"@xonnc_texts = internal constant [{len(tables.texts)} x ptr] [{pointers}]")
    inside = "null" if weights is None else f"@{weights}"
    if weights is not None:
        lines.append(f"@{weights} = external dso_local constant i8")
    lines.append(f"@xonnc_inside = internal constant ptr {inside}")
    return "\n".join([*lines, ""])
