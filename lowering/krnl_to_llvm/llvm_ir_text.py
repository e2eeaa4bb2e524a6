"""Print kernels and step functions as LLVM IR."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from xdsl.backend.llvm.convert import convert_module
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.utils.hints import isa

from xonnc.lowering.krnl_to_llvm.kernels import (
    declare_step_function,
    emit_call_sequence,
    emit_single_call,
    lower_kernel,
)
from xonnc.lowering.krnl_to_llvm.thread_pool import step_name, thread_pool_ir
from xonnc.lowering.native.read_program import CallSequence, KernelCall, StepFunctions, split_kernel_groups


def llvm_module(
    kernels: Iterable[FuncOp], steps: StepFunctions, vector_bytes: int, threads: int = 1
) -> ModuleOp:
    """Return a module of kernels and of the functions that call them."""
    functions = [lower_kernel(kernel, vector_bytes) for kernel in kernels]
    return ModuleOp([*functions, *step_functions(steps, threads)])


def step_functions(steps: StepFunctions, threads: int = 1) -> list[llvm.FuncOp]:
    """Return functions that run call sequences or, for several threads, one kernel call each."""
    if threads == 1:
        return [function for step in steps for function in emit_call_sequence(*step)]
    shared, controlled = _parallel_steps(steps)
    functions = [
        emit_single_call(step_name(name, index), step)
        for name, sequence in shared
        for index, step in enumerate(sequence)
    ]
    parts = {name for name, _ in shared} - {name for name, _ in steps}
    functions += [declare_step_function(name) for name in sorted(parts)]
    return [*functions, *(function for step in controlled for function in emit_call_sequence(*step))]


def _parallel_steps(steps: StepFunctions) -> tuple[list[tuple[str, Sequence[KernelCall]]], StepFunctions]:
    """Split sequences into those of calls alone, run by the thread pool, and those with control flow."""
    shared: list[tuple[str, Sequence[KernelCall]]] = []
    controlled: list[tuple[str, CallSequence]] = []
    for name, sequence in steps:
        calls = [step for step in sequence if isinstance(step, KernelCall)]
        if len(calls) == len(sequence):
            shared.append((name, calls))
        else:
            parts: list[tuple[str, Sequence[KernelCall]]] = []
            controlled.append((name, split_kernel_groups(name, sequence, parts)))
            shared += parts
    return shared, controlled


def llvm_text(
    module: ModuleOp, steps: StepFunctions = (), threads: int = 1, triple: str = "", *, is_local: bool = False
) -> str:
    """
    Print a module of the llvm dialect as LLVM IR; for several threads, append the thread pool.

    If `is_local`, all functions get internal linkage.
    """
    text = _with_attributes(module, str(convert_module(module, fallback_target_triple=triple or None)))
    if is_local:
        text = re.sub(r"^define (?!internal)(?:external )?", "define internal ", text, flags=re.MULTILINE)
    # Without an FMA instruction, `llvm.fma` calls the C library per element, 30 times as slow as the multiply
    # and add that `llvm.fmuladd` becomes; on processors with FMA both are the same instruction.
    text = text.replace('@"llvm.fma.', '@"llvm.fmuladd.')
    if threads == 1:
        return text
    shared, _ = _parallel_steps(steps)
    # LLVM IR must not declare functions that it also defines; the pool appended below defines these.
    for name, _ in shared:
        text = text.replace(f'declare void @"{name}"(ptr %".1")\n', "")
    return f"{text}\n{thread_pool_ir(shared, threads)}"


def _with_attributes(module: ModuleOp, text: str) -> str:
    """Add to LLVM IR the attributes of functions in `passthrough`, which xDSL leaves out."""
    attributes: dict[str, str] = {}
    for op in module.ops:
        if isinstance(op, llvm.FuncOp) and isa(op.passthrough, ArrayAttr[ArrayAttr[StringAttr]]):
            pairs = [[each.data for each in pair] for pair in op.passthrough]
            attributes[op.sym_name.data] = "".join(f" {name}({value})" for name, value in pairs)
    if not attributes:
        return text
    return re.sub(
        r'^define [^@]*@"([^"]+)"\(.*\)$',
        lambda found: found[0] + attributes.get(found[1], ""),
        text,
        flags=re.MULTILINE,
    )
