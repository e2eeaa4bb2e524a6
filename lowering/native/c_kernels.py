"""The C source of the kernels of a program that are written in C, as one translation unit."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp

from xonnc.dialects.krnl.attributes import C_KERNEL, C_SOURCE

TENSOR = Path(__file__).with_name("c_tensor.h")

LINKED = """#include <stdint.h>
/* Equal kernels of models that are linked into one program become one. */
#define XONNC_C_KERNEL __attribute__((weak, visibility("hidden")))
"""
"""The head of a unit that is compiled by itself."""


def is_c_kernel(kernel: FuncOp) -> bool:
    """Whether a kernel is written in C."""
    return C_SOURCE in kernel.attributes


def c_unit(kernels: Iterable[FuncOp], head: str = LINKED) -> str:
    """Return the translation unit of the kernels written in C; empty if there is none."""
    written = [kernel for kernel in kernels if is_c_kernel(kernel)]
    if not written:
        return ""
    # Several kernels call functions of one source.
    sources = dict.fromkeys(_text(kernel, C_SOURCE) for kernel in written)
    definitions = [_text(kernel, C_KERNEL) for kernel in written]
    return "\n".join([head, TENSOR.read_text(), *sources, *definitions, ""])


def _text(kernel: FuncOp, name: str) -> str:
    attribute = kernel.attributes[name]
    assert isinstance(attribute, StringAttr)
    return attribute.data
