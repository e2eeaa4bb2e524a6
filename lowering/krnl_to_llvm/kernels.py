"""Kernels, and the functions that run a row of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, i1, i8, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from xonnc.dialects.krnl.memory import GlobalOp
from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.elements.dense import stored_form
from xonnc.dialects.onnx.types import tensor_type
from xonnc.errors import XonncError
from xonnc.lowering.krnl_to_llvm.llvm_builder import POINTER, Emitter, lowered_type, returned_type
from xonnc.lowering.krnl_to_llvm.loops import BodyEmitter
from xonnc.lowering.native.read_program import CallSequence, Conditional, KernelCall, KernelGroup, WhileLoop


def emit_kernel(kernel: FuncOp, vector_bytes: int) -> llvm.FuncOp:
    """A kernel, a function of buffers, as one of pointers; sizes and the range of iterations have 64 bits."""
    arguments = kernel.body.block.args
    types = [lowered_type(each.type) for each in arguments]
    region = Region(Block(arg_types=types))
    to = Emitter(region)
    body = BodyEmitter(to, vector_bytes)
    body.values.update(zip(arguments, region.block.args, strict=True))
    body.block(kernel.body.block)
    end = kernel.body.block.last_op
    results = [] if end is None else [body.values[each] for each in end.operands]
    to.do(llvm.ReturnOp(to.packed(results)))
    returned = returned_type(kernel.function_type.outputs)
    type_ = llvm.LLVMFunctionType(types, returned)
    return llvm.FuncOp(kernel.sym_name.data, type_, body=region)


def declared(name: str, parameters: Iterable[Attribute], results: Iterable[Attribute]) -> llvm.FuncOp:
    """A kernel that is defined elsewhere."""
    type_ = llvm.LLVMFunctionType([lowered_type(each) for each in parameters], returned_type(results))
    return llvm.FuncOp(name, type_, linkage=llvm.LinkageAttr("external"))


def emit_global(held: GlobalOp) -> llvm.GlobalOp:
    """A constant in memory as one of LLVM; `XonncError` if its elements are not at hand."""
    name, type_ = held.symbol.data, held.output.type
    array = None if held.value is None else elements_array(held.value)
    if array is None or held.offset is not None:
        raise XonncError(f"krnl.global '{name}': its elements are not in the module; give it a value")
    element = type_.get_element_type()
    if element == i1:
        # A truth value takes a byte in memory.
        element, array = i8, array.astype(np.int8)
    stored = BytesAttr(stored_form(array).tobytes())
    value = DenseIntOrFPElementsAttr.new((tensor_type(array.shape, element), stored))
    for size in reversed(type_.get_shape()):
        element = llvm.LLVMArrayType(size, element)
    alignment = None if held.alignment is None else held.alignment.value.data
    return llvm.GlobalOp(element, name, "internal", constant=True, value=value, alignment=alignment)


def emit_steps(name: str, row: CallSequence) -> llvm.FuncOp:
    """A function that runs a row; its argument points to the table of all buffers' pointers."""
    region = Region(Block(arg_types=[POINTER]))
    to = Emitter(region)
    _emit_row(to, region.block.args[0], row)
    to.do(llvm.ReturnOp())
    linkage = llvm.LinkageAttr("external")
    return llvm.FuncOp(name, llvm.LLVMFunctionType([POINTER]), linkage=linkage, body=region)


def declaration(name: str) -> llvm.FuncOp:
    """A function of the table that is defined elsewhere."""
    return llvm.FuncOp(name, llvm.LLVMFunctionType([POINTER]), linkage=llvm.LinkageAttr("external"))


def _emit_row(to: Emitter, table: SSAValue, row: CallSequence) -> None:
    for step in row:
        match step:
            case KernelCall():
                end = (
                    to.number(step.iterations)
                    if step.iterations_parameter is None
                    else _size(to, table, step.iterations_parameter)
                )
                _call(to, step, table, [to.number(0), end])
            case KernelGroup():
                to.do(llvm.CallOp(step.function, table))
            case Conditional():
                _emit_branch(to, table, step)
            case WhileLoop():
                _emit_repeat(to, table, step)


def _emit_branch(to: Emitter, table: SSAValue, step: Conditional) -> None:
    holds = _holds(to, table, step.condition)
    then, otherwise, behind = Block(), Block(), Block()
    to.do(llvm.CondBrOp(holds, then, [], otherwise, []))
    for block, row in ((then, step.then), (otherwise, step.otherwise)):
        to.enter(block)
        _emit_row(to, table, row)
        to.do(llvm.BrOp(behind))
    to.enter(behind)


def _emit_repeat(to: Emitter, table: SSAValue, step: WhileLoop) -> None:
    head, inside, behind = Block(), Block(), Block()
    to.do(llvm.BrOp(head))
    to.enter(head)
    to.do(llvm.CondBrOp(_holds(to, table, step.condition), inside, [], behind, []))
    to.enter(inside)
    _emit_row(to, table, step.body)
    to.do(llvm.BrOp(head))
    to.enter(behind)


def _holds(to: Emitter, table: SSAValue, place: int) -> SSAValue:
    """The boolean in a buffer."""
    return to.load(to.add(llvm.LoadOp(_slot(to, table, place), POINTER)), i1)


def _slot(to: Emitter, table: SSAValue, place: int) -> SSAValue:
    """Where in the table the pointer of a buffer is."""
    return to.add(llvm.GEPOp(table, [place], POINTER, inbounds=True)) if place else table


def emit_step(name: str, step: KernelCall) -> llvm.FuncOp:
    """A function that runs a range of iterations of one kernel, or all of one that takes no range."""
    types = [POINTER, i64, i64]
    region = Region(Block(arg_types=types))
    table, *turns = region.block.args
    to = Emitter(region)
    _call(to, step, table, turns)
    to.do(llvm.ReturnOp())
    return llvm.FuncOp(name, llvm.LLVMFunctionType(types), body=region)


def _call(to: Emitter, step: KernelCall, table: SSAValue, turns: Sequence[SSAValue]) -> None:
    pointers = [to.add(llvm.LoadOp(_slot(to, table, place), POINTER)) for place in step.buffers]
    sizes = [_size(to, table, place) for place in step.size_values]
    takes_range = step.iterations or step.iterations_parameter is not None
    to.do(llvm.CallOp(step.kernel, *pointers, *sizes, *(turns if takes_range else ())))


def _size(to: Emitter, table: SSAValue, place: int) -> SSAValue:
    """A size of the run, which lies in the table itself."""
    return to.add(llvm.LoadOp(_slot(to, table, place), i64))
