"""Kernels, and the functions that run a row of them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Region

from xonnc.lowering.krnl_to_llvm.emitter import POINTER, Emitter
from xonnc.lowering.krnl_to_llvm.loops import BodyEmitter


def emit_kernel(kernel: FuncOp, vector_bytes: int) -> llvm.FuncOp:
    """A kernel, a function of buffers, as one of pointers."""
    arguments = kernel.body.block.args
    region = Region(Block(arg_types=[POINTER] * len(arguments)))
    to = Emitter(region)
    body = BodyEmitter(to, vector_bytes)
    body.values.update(zip(arguments, region.block.args, strict=True))
    body.block(kernel.body.block)
    to.do(llvm.ReturnOp())
    return llvm.FuncOp(kernel.sym_name.data, llvm.LLVMFunctionType([POINTER] * len(arguments)), body=region)


def emit_steps(name: str, steps: Sequence[tuple[str, Sequence[int]]]) -> llvm.FuncOp:
    """
    A function that runs kernels in order.

    Its argument points to pointers; a step is the name of a kernel and the places of its buffers' pointers.
    """
    region = Region(Block(arg_types=[POINTER]))
    to = Emitter(region)
    table = region.block.args[0]
    for kernel, places in steps:
        slots = [
            to.add(llvm.GEPOp(table, [place], POINTER, inbounds=True)) if place else table for place in places
        ]
        pointers = [to.add(llvm.LoadOp(slot, POINTER)) for slot in slots]
        to.do(llvm.CallOp(kernel, *pointers))
    to.do(llvm.ReturnOp())
    linkage = llvm.LinkageAttr("external")
    return llvm.FuncOp(name, llvm.LLVMFunctionType([POINTER]), linkage=linkage, body=region)
