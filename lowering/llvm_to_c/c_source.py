"""Print a whole program as one C file: its kernels, and the function that runs them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from xdsl.dialects.func import FuncOp

from xonnc.lowering.krnl_to_llvm.kernels import emit_kernel
from xonnc.lowering.llvm_to_c.c_functions import c_function
from xonnc.lowering.llvm_to_c.vector_functions import VectorFunctions
from xonnc.lowering.llvm_to_c.vector_operations import INT8_DOT
from xonnc.lowering.native.c_kernels import c_unit
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
    Return the C source.

    `vector_bytes` is the vector size of the kernels, `api` the source of the exported functions, and `header`
    the name of the file that declares these.
    """
    vectors = VectorFunctions()
    kernels = list(kernels)
    functions = [
        c_function(emit_kernel(kernel, vector_bytes), vectors)
        for kernel in kernels
        if not kernel.is_declaration
    ]
    functions += filter(None, [c_unit(kernels, "#define XONNC_C_KERNEL static")])
    parts = [INCLUDES, f'#include "{header}"', "", PRELUDE.read_text(), vectors.text()]
    if INT8_DOT in vectors.stems:
        parts.insert(4, PRODUCTS.read_text())
    return "\n".join([*parts, *functions, _main(steps, layout), api])


INCLUDES = """#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>"""
"""The headers that the exported functions need."""


def _main(steps: StepFunctions, layout: MemoryLayout) -> str:
    """Return `xonnc_main`: it returns 0, or the number (from 1) of the first bounds check that fails."""
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
    for _, sequence in steps:
        lines += _sequence(sequence, layout, "    ")
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


def _sequence(sequence: CallSequence, layout: MemoryLayout, indent: str) -> list[str]:
    """Return the statements of a call sequence."""
    lines: list[str] = []
    inner = f"{indent}    "
    for step in sequence:
        match step:
            case KernelCall():
                lines.append(f"{indent}{_call(step, layout)}")
            case Conditional():
                lines.append(f"{indent}if ({_condition(step.condition, layout)}) {{")
                lines += _sequence(step.then, layout, inner)
                lines.append(f"{indent}}} else {{")
                lines += [*_sequence(step.otherwise, layout, inner), f"{indent}}}"]
            case WhileLoop():
                lines.append(f"{indent}while ({_condition(step.condition, layout)}) {{")
                lines += [*_sequence(step.body, layout, inner), f"{indent}}}"]
            case KernelGroup():
                raise AssertionError("C source is single-threaded")
    return lines


def _call(call: KernelCall, layout: MemoryLayout) -> str:
    arguments = [_pointer(layout.locations[index]) for index in call.buffers]
    arguments += [_size(layout.locations[index]) for index in call.size_values]
    if call.iterations_parameter is not None:
        arguments += ["0", _size(layout.locations[call.iterations_parameter])]
    elif call.iterations:
        arguments += ["0", f"{call.iterations}"]
    return f"{call.kernel}({', '.join(arguments)});"


def _condition(index: int, layout: MemoryLayout) -> str:
    return f"*(const unsigned char *)({_pointer(layout.locations[index])})"


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
