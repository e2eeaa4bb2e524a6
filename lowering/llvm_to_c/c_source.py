"""A whole program as C: its kernels, and the function that runs them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from xdsl.dialects.func import FuncOp

from xonnc.lowering.krnl_to_llvm.kernels import emit_kernel
from xonnc.lowering.llvm_to_c.c_functions import c_function
from xonnc.lowering.llvm_to_c.vector_functions import VectorFunctions
from xonnc.lowering.llvm_to_c.vector_operations import INT8_DOT
from xonnc.lowering.native.read_program import (
    CallSequence,
    Conditional,
    KernelCall,
    KernelGroup,
    StepFunctions,
    WhileLoop,
)
from xonnc.lowering.native.value_locations import MemoryLayout, ValueLocation

PRELUDE, PRODUCTS = (Path(__file__).parent / f"{name}.c" for name in ("prelude", INT8_DOT))


def c_source(
    kernels: Iterable[FuncOp],
    steps: StepFunctions,
    layout: MemoryLayout,
    api: str,
    header: str,
    vector_bytes: int,
) -> str:
    """
    The source, of vectors of so many bytes.

    `api` is C of the exported functions, which the file `header` declares.
    """
    vectors = VectorFunctions()
    functions = [c_function(emit_kernel(kernel, vector_bytes), vectors) for kernel in kernels]
    parts = [INCLUDES, f'#include "{header}"', "", PRELUDE.read_text(), vectors.text()]
    if INT8_DOT in vectors.stems:
        parts.insert(4, PRODUCTS.read_text())
    return "\n".join([*parts, *functions, _main(steps, layout), api])


INCLUDES = """#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>"""
"""What the exported functions need."""


def _main(steps: StepFunctions, layout: MemoryLayout) -> str:
    """The function that runs the model: 0, or the number of the bounds that do not hold."""
    lines = [
        "static int xonnc_main(const void *weights, void *arena, const void *const *inputs,",
        "    void *const *outputs, const int64_t *sizes)",
        "{",
        "    const xonnc_bytes w = (xonnc_bytes)(uintptr_t)weights;",
        "    const xonnc_bytes a = (xonnc_bytes)arena;",
        "    (void)w;",
        "    (void)a;",
        "    (void)inputs;",
        "    (void)outputs;",
        "    (void)sizes;",
    ]
    for _, row in steps:
        lines += _row(row, layout, "    ")
    lines += [
        f"    memcpy(outputs[{copy.output}], {_pointer(copy.source)}, "
        f"{f'(size_t)sizes[{copy.size}]' if copy.is_dynamic else copy.size});"
        for copy in layout.copies
    ]
    for number, check in enumerate(layout.bounds_checks, 1):
        lines += [
            "    {",
            f"        const int64_t *found = (const int64_t *)({_pointer(check.location)});",
            f"        if (found[0] < {check.low} || found[1] > {check.high}) return {number};",
            "    }",
        ]
    return "\n".join([*lines, "    return 0;", "}", ""])


def _row(row: CallSequence, layout: MemoryLayout, indent: str) -> list[str]:
    """The statements of a row."""
    lines: list[str] = []
    inner = f"{indent}    "
    for step in row:
        match step:
            case KernelCall():
                lines.append(f"{indent}{_call(step, layout)}")
            case Conditional():
                lines.append(f"{indent}if ({_holds(step.condition, layout)}) {{")
                lines += _row(step.then, layout, inner)
                lines.append(f"{indent}}} else {{")
                lines += [*_row(step.otherwise, layout, inner), f"{indent}}}"]
            case WhileLoop():
                lines.append(f"{indent}while ({_holds(step.condition, layout)}) {{")
                lines += [*_row(step.body, layout, inner), f"{indent}}}"]
            case KernelGroup():
                raise AssertionError("C source is for one thread")
    return lines


def _call(call: KernelCall, layout: MemoryLayout) -> str:
    arguments = [_pointer(layout.locations[place]) for place in call.buffers]
    arguments += [_size(layout.locations[place]) for place in call.size_values]
    if call.iterations_parameter is not None:
        arguments += ["0", _size(layout.locations[call.iterations_parameter])]
    elif call.iterations:
        arguments += ["0", f"{call.iterations}"]
    return f"{call.kernel}({', '.join(arguments)});"


def _holds(place: int, layout: MemoryLayout) -> str:
    return f"*(const unsigned char *)({_pointer(layout.locations[place])})"


def _size(location: ValueLocation) -> str:
    return f"sizes[{location.index}]"


def _pointer(location: ValueLocation) -> str:
    if location.dynamic_offset is not None:
        return f"a + sizes[{location.dynamic_offset}] + {location.offset}"
    match location.base:
        case "weights" | "arena":
            return f"{location.base[0]} + {location.offset}"
        case "inputs":
            return f"(xonnc_bytes)(uintptr_t)inputs[{location.index}] + {location.offset}"
        case _:
            return f"(xonnc_bytes)outputs[{location.index}] + {location.offset}"
