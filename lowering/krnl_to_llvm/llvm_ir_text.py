"""Kernels as the text of an LLVM module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from xdsl.backend.llvm.convert import convert_module
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from xonnc.lowering.krnl_to_llvm.kernels import declaration, emit_kernel, emit_step, emit_steps
from xonnc.lowering.krnl_to_llvm.thread_pool import pool_text, step_name
from xonnc.lowering.native.read_program import CallSequence, KernelCall, StepFunctions, split_kernel_groups


def llvm_module(
    kernels: Iterable[FuncOp], steps: StepFunctions, vector_bytes: int, threads: int = 1
) -> ModuleOp:
    """Kernels, and the functions that run rows of them or, with several threads, one each."""
    functions = [emit_kernel(kernel, vector_bytes) for kernel in kernels]
    return ModuleOp([*functions, *step_functions(steps, threads)])


def step_functions(steps: StepFunctions, threads: int = 1) -> list[llvm.FuncOp]:
    """The functions that run rows of kernels or, with several threads, one kernel each."""
    if threads == 1:
        return [emit_steps(name, row) for name, row in steps]
    shared, controlled = _shared(steps)
    functions = [
        emit_step(step_name(name, place), step) for name, row in shared for place, step in enumerate(row)
    ]
    parts = {name for name, _ in shared} - {name for name, _ in steps}
    functions += [declaration(name) for name in sorted(parts)]
    return [*functions, *(emit_steps(name, row) for name, row in controlled)]


def _shared(steps: StepFunctions) -> tuple[list[tuple[str, Sequence[KernelCall]]], StepFunctions]:
    """Rows of calls alone, which threads share out; rows with branches and loops that run such."""
    shared: list[tuple[str, Sequence[KernelCall]]] = []
    controlled: list[tuple[str, CallSequence]] = []
    for name, row in steps:
        calls = [step for step in row if isinstance(step, KernelCall)]
        if len(calls) == len(row):
            shared.append((name, calls))
        else:
            parts: list[tuple[str, Sequence[KernelCall]]] = []
            controlled.append((name, split_kernel_groups(name, row, parts)))
            shared += parts
    return shared, controlled


def llvm_text(
    module: ModuleOp, steps: StepFunctions = (), threads: int = 1, triple: str = "", *, is_local: bool = False
) -> str:
    """
    A module of the llvm dialect as LLVM IR; with several threads, the pool and its steps behind it.

    No function is seen outside of a module that `is_local`.
    """
    text = str(convert_module(module, fallback_target_triple=triple or None))
    if is_local:
        text = re.sub(r"^define (?!internal)(?:external )?", "define internal ", text, flags=re.MULTILINE)
    # Where a processor has no instruction for it, LLVM's `fma` is a call of the C library for each number,
    # thirty times as slow as the product and the sum that `fmuladd` is there; elsewhere they are the same.
    text = text.replace('@"llvm.fma.', '@"llvm.fmuladd.')
    if threads == 1:
        return text
    shared, _ = _shared(steps)
    # What is defined behind must not be declared before.
    for name, _ in shared:
        text = text.replace(f'declare void @"{name}"(ptr %".1")\n', "")
    return f"{text}\n{pool_text(shared, threads)}"
