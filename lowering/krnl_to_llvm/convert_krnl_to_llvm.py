"""
Lowers kernels of the krnl dialect to functions of the llvm dialect.

```mlir
func.func private @copy(%y: memref<8xf32>, %x: memref<8xf32>) { … }
```

becomes a function of pointers, its innermost loops in vectors:

```mlir
llvm.func @copy(%y: !llvm.ptr, %x: !llvm.ptr) { … }
```

Several results are the fields of a structure. Kernels that are called but not there are declared. A model
all of whose operators are calls of kernels becomes functions that run these in order, `@xonnc_run_0` and on:
their argument points to a table of the addresses of all buffers, in the order of the model's values.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import llvm, memref
from xdsl.dialects.builtin import IndexType, ModuleOp, UnrealizedConversionCastOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from xonnc.dialects.krnl.memory import CallOp, GlobalOp
from xonnc.dialects.krnl.types import is_buffer
from xonnc.dialects.onnx.ops.builtin import EntryPointOp
from xonnc.errors import XonncError
from xonnc.formats.native.program import NativeStep
from xonnc.lowering.krnl_to_llvm.kernels import declared, emit_global, emit_kernel
from xonnc.lowering.krnl_to_llvm.llvm_ir_text import step_functions
from xonnc.lowering.native.read_program import read_program
from xonnc.targets.cpu import load_cpu, require_threads


@dataclass(frozen=True)
class ConvertKrnlToLlvm(ModulePass):
    """Lowers kernels, functions of buffers alone, to functions of pointers, and models to what runs these."""

    name = "convert-krnl-to-llvm"

    processor: str = "avx512"
    threads: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Lowers every private function whose arguments are buffers."""
        require_threads(self.name, self.threads)
        vector_bytes = load_cpu(self.processor).vector_bytes
        block = op.body.block
        runs = self._runs(op)
        kernels = [each for each in op.ops if isinstance(each, FuncOp) and is_kernel(each)]
        held = _globals_of(kernels)
        calls = [each for kernel in kernels for each in kernel.walk() if isinstance(each, CallOp)]
        unknown = {call.func_name.data: _called(call) for call in calls}
        for function in kernels:
            block.insert_op_before(_lowered(function, vector_bytes), function)
            function.detach()
            function.erase()
        for name in {each.sym_name.data for each in op.ops if isinstance(each, FuncOp | llvm.FuncOp)}:
            unknown.pop(name, None)
        block.add_ops([*unknown.values(), *held, *runs])

    def _runs(self, module: ModuleOp) -> list[llvm.FuncOp]:
        """What runs the kernels of a model, in whose place it comes; nothing if the host has a part in it."""
        model = next(iter(module.ops), None)
        if not isinstance(model, FuncOp) or is_kernel(model) or not any(map(is_lowered, model.walk())):
            return []
        program, rows = read_program(module)
        if not all(isinstance(step, NativeStep) for step in program.steps):
            return []
        for each in (model, *(op for op in module.ops if isinstance(op, EntryPointOp))):
            each.detach()
            each.erase()
        # What the file said of itself means nothing here, and other tools know no such attributes.
        for name in [name for name in module.attributes if name.startswith(("onnx.", "krnl.", "dlti."))]:
            del module.attributes[name]
        return step_functions(rows, self.threads)


def _lowered(function: FuncOp, vector_bytes: int) -> llvm.FuncOp:
    if function.is_declaration:
        type_ = function.function_type
        return declared(function.sym_name.data, type_.inputs, type_.outputs)
    return emit_kernel(function, vector_bytes)


def _called(call: CallOp) -> llvm.FuncOp:
    """The declaration of the kernel that a call needs."""
    parameters = [each.type for each in call.parameters]
    if call.iterations is not None or call.iterations_parameter is not None:
        parameters += [IndexType(), IndexType()]
    return declared(call.func_name.data, parameters, [each.type for each in call.returned])


def _globals_of(kernels: Iterable[FuncOp]) -> list[llvm.GlobalOp]:
    """The constants that kernels read, each once; `XonncError` if two of one name differ."""
    found: dict[str, llvm.GlobalOp] = {}
    for held in (each for kernel in kernels for each in kernel.walk() if isinstance(each, GlobalOp)):
        made = emit_global(held)
        first = found.setdefault(held.symbol.data, made)
        if first.properties != made.properties:
            raise XonncError(f"krnl.global '{held.symbol.data}': two constants of this name differ")
    return list(found.values())


def is_lowered(op: Operation) -> bool:
    """Whether an op is what `convert-onnx-to-krnl` makes of an operator."""
    return isinstance(op, CallOp | memref.AllocOp | UnrealizedConversionCastOp)


def is_kernel(function: FuncOp) -> bool:
    """Whether a function is a kernel: private, of buffers and perhaps a range of iterations."""
    is_private = function.sym_visibility is not None and function.sym_visibility.data == "private"
    takes = [type_ for type_ in function.function_type.inputs if type_ != IndexType()]
    return is_private and bool(takes) and all(is_buffer(type_) for type_ in takes)
