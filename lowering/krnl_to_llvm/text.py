"""Kernels as the text of an LLVM module."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.backend.llvm.convert import convert_module
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from xonnc.lowering.krnl_to_llvm.kernels import emit_kernel, emit_step, emit_steps
from xonnc.lowering.krnl_to_llvm.pool import pool_text, step_name
from xonnc.lowering.native_program import Steps


def llvm_module(kernels: Iterable[FuncOp], steps: Steps, vector_bytes: int, threads: int = 1) -> ModuleOp:
    """Kernels, and the functions that run rows of them or, with several threads, one each."""
    functions = [emit_kernel(kernel, vector_bytes) for kernel in kernels]
    for name, row in steps:
        if threads == 1:
            functions.append(emit_steps(name, row))
        else:
            functions += [emit_step(step_name(name, place), step) for place, step in enumerate(row)]
    return ModuleOp([*functions])


def llvm_text(module: ModuleOp, steps: Steps = (), threads: int = 1, triple: str = "") -> str:
    """A module of the llvm dialect as LLVM IR; with several threads, the pool and its steps behind it."""
    text = str(convert_module(module, fallback_target_triple=triple or None))
    # Where a processor has no instruction for it, LLVM's `fma` is a call of the C library for each number,
    # thirty times as slow as the product and the sum that `fmuladd` is there; elsewhere they are the same.
    text = text.replace('@"llvm.fma.', '@"llvm.fmuladd.')
    return text if threads == 1 else f"{text}\n{pool_text(steps, threads)}"
