"""The entry point `xonnc_main` of an ahead-of-time compiled program, as LLVM IR."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from xonnc.lowering.native.value_locations import MemoryLayout, ValueLocation


def entry_text(functions: Sequence[str], layout: MemoryLayout) -> str:
    """
    Return `int xonnc_main(weights, arena, inputs, outputs, sizes)`.

    It fills the table of pointers to all values, calls the functions of the native steps with it, copies
    outputs that alias other values, and returns 0 or the number (from 1) of the last failed bounds check.
    """
    lines = [
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
        "define internal i32 @xonnc_main(ptr %weights, ptr %arena, ptr %inputs, ptr %outputs, ptr %sizes) {",
        f"  %table = alloca [{max(1, len(layout.locations))} x ptr], align 16",
    ]
    for index, location in enumerate(layout.locations):
        # A dimension is stored in the table itself, in place of a pointer.
        lines += (
            _size(location, f"value{index}")
            if location.base == "sizes"
            else _pointer(location, f"value{index}")
        )
        lines += [
            f"  %slot{index} = getelementptr inbounds ptr, ptr %table, i64 {index}",
            f"  store ptr %value{index}, ptr %slot{index}",
        ]
    lines += [f"  call void @{function}(ptr %table)" for function in functions]
    for number, copy in enumerate(layout.copies):
        lines += _pointer(ValueLocation("outputs", 0, copy.output), f"to{number}")
        lines += _pointer(copy.source, f"from{number}")
        size = str(copy.size)
        if copy.is_dynamic:
            size = f"%bytes{number}"
            lines += _number(copy.size, f"bytes{number}")
        lines.append(
            f"  call void @llvm.memcpy.p0.p0.i64(ptr %to{number}, ptr %from{number}, i64 {size}, i1 false)"
        )
    lines.append("  %failed0 = add i32 0, 0")
    for number, check in enumerate(layout.bounds_checks, 1):
        lines += [
            *_pointer(check.location, f"least{number}"),
            f"  %most{number} = getelementptr inbounds i64, ptr %least{number}, i64 1",
            f"  %low{number} = load i64, ptr %least{number}",
            f"  %high{number} = load i64, ptr %most{number}",
            f"  %below{number} = icmp slt i64 %low{number}, {check.low}",
            f"  %above{number} = icmp sgt i64 %high{number}, {check.high}",
            f"  %wrong{number} = or i1 %below{number}, %above{number}",
            f"  %failed{number} = select i1 %wrong{number}, i32 {number}, i32 %failed{number - 1}",
        ]
    return "\n".join([*lines, f"  ret i32 %failed{len(layout.bounds_checks)}", "}", ""])


def _number(index: int, name: str) -> list[str]:
    """Return the lines that define `%name` as one of the sizes."""
    return [
        f"  %{name}.at = getelementptr inbounds i64, ptr %sizes, i64 {index}",
        f"  %{name} = load i64, ptr %{name}.at",
    ]


def _size(location: ValueLocation, name: str) -> list[str]:
    """Return the lines that define `%name` as a size, cast to the type of a table slot."""
    return [*_number(location.index, f"{name}.size"), f"  %{name} = inttoptr i64 %{name}.size to ptr"]


def _pointer(location: ValueLocation, name: str) -> list[str]:
    """Return the lines that define `%name` as the address of a location."""
    base = location.base
    lines: list[str] = []
    if location.dynamic_offset is not None:
        base = f"{name}.part"
        lines = [
            *_number(location.dynamic_offset, f"{name}.start"),
            f"  %{base} = getelementptr inbounds i8, ptr %arena, i64 %{name}.start",
        ]
    if base in ("inputs", "outputs"):
        base = f"{name}.whole"
        lines = [
            f"  %{name}.at = getelementptr inbounds ptr, ptr %{location.base}, i64 {location.index}",
            f"  %{base} = load ptr, ptr %{name}.at",
        ]
    return [*lines, f"  %{name} = getelementptr inbounds i8, ptr %{base}, i64 {location.offset}"]


def weights_text(file: Path, symbol: str) -> str:
    """Return module assembly that embeds a file as read-only data under the local symbol `symbol`."""
    path = str(file).replace("\\", "\\\\").replace('"', "\\22")
    lines = (
        ".section .rodata.weights,\\22a\\22,@progbits",
        ".balign 64",
        f"{symbol}:",
        f".incbin \\22{path}\\22",
        f".size {symbol}, .-{symbol}",
        ".text",
    )
    return "".join(f'module asm "{line}"\n' for line in lines)
