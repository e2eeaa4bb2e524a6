"""Lower kernels, and emit the functions that call them in sequence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, BytesAttr, DenseIntOrFPElementsAttr, StringAttr, i1, i8, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from xonnc.dialects.krnl.memory import GlobalOp
from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.elements.dense import stored_form
from xonnc.dialects.onnx.types import tensor_type
from xonnc.errors import XonncError
from xonnc.lowering.krnl_to_llvm import llvm_ops
from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder, lowered_type, returned_type
from xonnc.lowering.krnl_to_llvm.llvm_ops import POINTER
from xonnc.lowering.krnl_to_llvm.loops import BodyLowering
from xonnc.lowering.native.read_program import (
    CallSequence,
    Conditional,
    KernelCall,
    KernelGroup,
    Step,
    WhileLoop,
)

STACK_ALIGNMENT = 16
"""Alignment of the stack in bytes that every calling convention in use guarantees."""


MAX_STEPS = 512
"""
Steps of a function that calls kernels.

LLVM schedules and allocates registers of a block in more than linear time: 12,800 calls take 14 s at once.
"""


def lower_kernel(kernel: FuncOp, vector_bytes: int) -> llvm.FuncOp:
    """Lower a kernel, or declare it if it is defined elsewhere."""
    if kernel.is_declaration:
        type_ = kernel.function_type
        return declare_kernel(kernel.sym_name.data, type_.inputs, type_.outputs)
    return emit_kernel(kernel, vector_bytes)


def emit_kernel(kernel: FuncOp, vector_bytes: int) -> llvm.FuncOp:
    """Lower a kernel to a function of pointers; dimensions and the parallel range become i64."""
    arguments = kernel.body.block.args
    types = [lowered_type(each.type) for each in arguments]
    region = Region(Block(arg_types=types))
    builder = LLVMBuilder(region)
    body = BodyLowering(builder, vector_bytes)
    body.values.update(zip(arguments, region.block.args, strict=True))
    body.block(kernel.body.block)
    end = kernel.body.block.last_op
    results = [] if end is None else [body.values[each] for each in end.operands]
    builder.insert(llvm.ReturnOp(builder.pack_struct(results)))
    returned = returned_type(kernel.function_type.outputs)
    type_ = llvm.LLVMFunctionType(types, returned)
    # LLVM can align the stack only with a frame pointer, on which it decides before it allocates registers.
    # Unless it is told to, vectors that it spills cross cache lines, by chance: up to twice the time.
    properties: dict[str, Attribute | None] = {}
    if vector_bytes > STACK_ALIGNMENT:
        pair = ArrayAttr([StringAttr("alignstack"), StringAttr(str(vector_bytes))])
        properties["passthrough"] = ArrayAttr([pair])
    return llvm.FuncOp(kernel.sym_name.data, type_, body=region, other_props=properties)


def declare_kernel(name: str, parameters: Iterable[Attribute], results: Iterable[Attribute]) -> llvm.FuncOp:
    """Declare a kernel that is defined elsewhere."""
    type_ = llvm.LLVMFunctionType([lowered_type(each) for each in parameters], returned_type(results))
    return llvm.FuncOp(name, type_, linkage=llvm.LinkageAttr("external"))


def emit_global(op: GlobalOp) -> llvm.GlobalOp:
    """Lower a `krnl.global`; raise `XonncError` if the module does not contain its elements."""
    name, type_ = op.symbol.data, op.output.type
    array = None if op.value is None else elements_array(op.value)
    if array is None or op.offset is not None:
        raise XonncError(f"krnl.global '{name}': its elements are not in the module; give it a value")
    element = type_.get_element_type()
    if element == i1:
        # A boolean is stored as a byte.
        element, array = i8, array.astype(np.int8)
    stored = BytesAttr(stored_form(array).tobytes())
    value = DenseIntOrFPElementsAttr.new((tensor_type(array.shape, element), stored))
    for size in reversed(type_.get_shape()):
        element = llvm.LLVMArrayType(size, element)
    alignment = None if op.alignment is None else op.alignment.value.data
    return llvm.GlobalOp(element, name, "internal", constant=True, value=value, alignment=alignment)


def emit_call_sequence(name: str, sequence: CallSequence) -> list[llvm.FuncOp]:
    """
    Emit a function that runs a call sequence; its argument is the table of pointers to all values.

    Longer sequences than `MAX_STEPS` become several functions, which the last one calls.
    """
    functions: list[llvm.FuncOp] = []
    divided = _divided(name, sequence, functions)
    return [*functions, _sequence_function(name, divided, "external")]


def _divided(name: str, sequence: CallSequence, functions: list[llvm.FuncOp]) -> CallSequence:
    """Return a sequence that calls functions where it is long; they are appended to `functions`."""
    steps = [_with_divided_bodies(name, step, functions) for step in sequence]
    if len(steps) <= MAX_STEPS:
        return steps
    parts: list[KernelGroup] = []
    for begin in range(0, len(steps), MAX_STEPS):
        parts.append(KernelGroup(f"{name}_steps_{len(functions)}"))
        part = steps[begin : begin + MAX_STEPS]
        functions.append(_sequence_function(parts[-1].function, part, "internal"))
    return parts


def _with_divided_bodies(name: str, step: Step, functions: list[llvm.FuncOp]) -> Step:
    match step:
        case Conditional():
            branches = (_divided(name, each, functions) for each in (step.then, step.otherwise))
            return Conditional(step.condition, *branches)
        case WhileLoop():
            return WhileLoop(step.condition, _divided(name, step.body, functions))
        case _:
            return step


def _sequence_function(name: str, sequence: CallSequence, linkage: str) -> llvm.FuncOp:
    region = Region(Block(arg_types=[POINTER]))
    builder = LLVMBuilder(region)
    _emit_sequence(builder, region.block.args[0], sequence)
    builder.insert(llvm.ReturnOp())
    type_ = llvm.LLVMFunctionType([POINTER])
    return llvm.FuncOp(name, type_, linkage=llvm.LinkageAttr(linkage), body=region)


def declare_step_function(name: str) -> llvm.FuncOp:
    """Declare a function of the table that is defined elsewhere."""
    return llvm.FuncOp(name, llvm.LLVMFunctionType([POINTER]), linkage=llvm.LinkageAttr("external"))


def _emit_sequence(builder: LLVMBuilder, table: SSAValue, sequence: CallSequence) -> None:
    for step in sequence:
        match step:
            case KernelCall():
                end = (
                    builder.constant(step.iterations)
                    if step.iterations_parameter is None
                    else _size(builder, table, step.iterations_parameter)
                )
                _call(builder, step, table, [builder.constant(0), end])
            case KernelGroup():
                builder.insert(llvm_ops.call(step.function, [table]))
            case Conditional():
                _emit_if(builder, table, step)
            case WhileLoop():
                _emit_while(builder, table, step)


def _emit_if(builder: LLVMBuilder, table: SSAValue, step: Conditional) -> None:
    condition = _load_condition(builder, table, step.condition)
    then, otherwise, after = Block(), Block(), Block()
    builder.insert(llvm_ops.conditional_branch(condition, then, otherwise))
    for block, sequence in ((then, step.then), (otherwise, step.otherwise)):
        builder.start_block(block)
        _emit_sequence(builder, table, sequence)
        builder.insert(llvm_ops.branch(after))
    builder.start_block(after)


def _emit_while(builder: LLVMBuilder, table: SSAValue, step: WhileLoop) -> None:
    head, inside, after = Block(), Block(), Block()
    builder.insert(llvm_ops.branch(head))
    builder.start_block(head)
    condition = _load_condition(builder, table, step.condition)
    builder.insert(llvm_ops.conditional_branch(condition, inside, after))
    builder.start_block(inside)
    _emit_sequence(builder, table, step.body)
    builder.insert(llvm_ops.branch(head))
    builder.start_block(after)


def _load_condition(builder: LLVMBuilder, table: SSAValue, index: int) -> SSAValue:
    """Load the boolean in a buffer."""
    return builder.load(builder.add(llvm_ops.load(_slot(builder, table, index), POINTER)), i1)


def _slot(builder: LLVMBuilder, table: SSAValue, index: int) -> SSAValue:
    """Return the address of a slot of the table."""
    return builder.add(llvm_ops.address(table, index, POINTER)) if index else table


def emit_single_call(name: str, step: KernelCall) -> llvm.FuncOp:
    """Emit a function that runs a range of iterations of one kernel; without a parallel range, all of it."""
    types = [POINTER, i64, i64]
    region = Region(Block(arg_types=types))
    table, *iterations = region.block.args
    builder = LLVMBuilder(region)
    _call(builder, step, table, iterations)
    builder.insert(llvm.ReturnOp())
    return llvm.FuncOp(name, llvm.LLVMFunctionType(types), body=region)


def _call(builder: LLVMBuilder, step: KernelCall, table: SSAValue, iterations: Sequence[SSAValue]) -> None:
    pointers = [builder.add(llvm_ops.load(_slot(builder, table, index), POINTER)) for index in step.buffers]
    sizes = [_size(builder, table, index) for index in step.size_values]
    takes_range = step.iterations or step.iterations_parameter is not None
    arguments = [*pointers, *sizes, *(iterations if takes_range else ())]
    builder.insert(llvm_ops.call(step.kernel, arguments))


def _size(builder: LLVMBuilder, table: SSAValue, index: int) -> SSAValue:
    """Load a dynamic dimension, which is stored in the table itself."""
    return builder.add(llvm_ops.load(_slot(builder, table, index), i64))
