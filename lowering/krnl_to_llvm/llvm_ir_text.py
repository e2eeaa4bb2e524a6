"""Print kernels and step functions as LLVM IR."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from xonnc.lowering.krnl_to_llvm.kernels import (
    declare_step_function,
    emit_call_sequence,
    emit_single_call,
    lower_kernel,
)
from xonnc.lowering.krnl_to_llvm.llvm_printer import module_text
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
    if threads == 1:
        return module_text(module, triple, is_local=is_local)
    shared, _ = _parallel_steps(steps)
    # LLVM IR must not declare functions that it also defines; the pool appended below defines these.
    text = module_text(module, triple, is_local=is_local, elsewhere={name for name, _ in shared})
    return f"{text}\n{thread_pool_ir(shared, threads)}"
