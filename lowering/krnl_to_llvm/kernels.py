"""Kernels, and the functions that run a row of them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Region, SSAValue

from xonnc.dialects.krnl.types import is_buffer
from xonnc.lowering.krnl_to_llvm.emitter import POINTER, Emitter
from xonnc.lowering.krnl_to_llvm.loops import BodyEmitter
from xonnc.lowering.native_program import KernelCall


def emit_kernel(kernel: FuncOp, vector_bytes: int) -> llvm.FuncOp:
    """A kernel, a function of buffers, as one of pointers; sizes and the range of turns are 64 bits each."""
    arguments = kernel.body.block.args
    types = [POINTER if is_buffer(each.type) else i64 for each in arguments]
    region = Region(Block(arg_types=types))
    to = Emitter(region)
    body = BodyEmitter(to, vector_bytes)
    body.values.update(zip(arguments, region.block.args, strict=True))
    body.block(kernel.body.block)
    to.do(llvm.ReturnOp())
    return llvm.FuncOp(kernel.sym_name.data, llvm.LLVMFunctionType(types), body=region)


def emit_steps(name: str, steps: Sequence[KernelCall]) -> llvm.FuncOp:
    """A function that runs kernels in order; its argument points to the table of all buffers' pointers."""
    region = Region(Block(arg_types=[POINTER]))
    to = Emitter(region)
    table = region.block.args[0]
    for step in steps:
        end = to.number(step.turns) if step.turns_of is None else _size(to, table, step.turns_of)
        _call(to, step, table, [to.number(0), end])
    to.do(llvm.ReturnOp())
    linkage = llvm.LinkageAttr("external")
    return llvm.FuncOp(name, llvm.LLVMFunctionType([POINTER]), linkage=linkage, body=region)


def emit_step(name: str, step: KernelCall) -> llvm.FuncOp:
    """A function that runs a range of turns of one kernel, or all of one that takes no range."""
    types = [POINTER, i64, i64]
    region = Region(Block(arg_types=types))
    table, *turns = region.block.args
    to = Emitter(region)
    _call(to, step, table, turns)
    to.do(llvm.ReturnOp())
    return llvm.FuncOp(name, llvm.LLVMFunctionType(types), body=region)


def _call(to: Emitter, step: KernelCall, table: SSAValue, turns: Sequence[SSAValue]) -> None:
    slots = [
        to.add(llvm.GEPOp(table, [place], POINTER, inbounds=True)) if place else table
        for place in step.places
    ]
    pointers = [to.add(llvm.LoadOp(slot, POINTER)) for slot in slots]
    sizes = [_size(to, table, place) for place in step.sizes]
    takes_range = step.turns or step.turns_of is not None
    to.do(llvm.CallOp(step.kernel, *pointers, *sizes, *(turns if takes_range else ())))


def _size(to: Emitter, table: SSAValue, place: int) -> SSAValue:
    """A size of the run, which lies in the table itself."""
    slot = to.add(llvm.GEPOp(table, [place], POINTER, inbounds=True)) if place else table
    return to.add(llvm.LoadOp(slot, i64))
