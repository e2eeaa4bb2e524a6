"""Kernels as the text of an LLVM module."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.backend.llvm.convert import convert_module
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from xonnc.lowering.krnl_to_llvm.kernels import emit_kernel, emit_steps
from xonnc.lowering.native_program import Steps


def llvm_module(kernels: Iterable[FuncOp], steps: Steps, vector_bytes: int) -> ModuleOp:
    """Kernels, and the functions that run rows of them, in the llvm dialect."""
    functions = [emit_kernel(kernel, vector_bytes) for kernel in kernels]
    return ModuleOp([*functions, *(emit_steps(name, row) for name, row in steps)])


def llvm_text(module: ModuleOp) -> str:
    """A module of the llvm dialect as LLVM IR."""
    return str(convert_module(module, fallback_target_triple=None))
