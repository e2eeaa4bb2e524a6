"""
Lower kernels of the krnl dialect to functions of the llvm dialect.

```mlir
func.func private @copy(%y: memref<8xf32>, %x: memref<8xf32>) { … }
```

becomes a function of pointers, with vectorised innermost loops:

```mlir
llvm.func @copy(%y: !llvm.ptr, %x: !llvm.ptr) { … }
```

Multiple results are returned as a struct. Kernels that are called but not defined are declared. A model whose
operators are all kernel calls becomes functions that run these in order, `@xonnc_run_0` and so on. Their
argument points to a table with the addresses of all buffers, in the order of the values of the program.
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

from xonnc.dialects.krnl.attributes import ARENA
from xonnc.dialects.krnl.memory import CallOp, GlobalOp
from xonnc.dialects.krnl.types import is_buffer
from xonnc.dialects.onnx.ops.builtin import EntryPointOp
from xonnc.errors import XonncError
from xonnc.formats.native.program import NativeStep
from xonnc.lowering.krnl_to_llvm.kernels import declare_kernel, emit_global, lower_kernel
from xonnc.lowering.krnl_to_llvm.llvm_ir_text import step_functions
from xonnc.lowering.native.read_program import read_program
from xonnc.targets.cpu import load_cpu, require_threads


@dataclass(frozen=True)
class ConvertKrnlToLlvm(ModulePass):
    """Lower kernels (functions of buffers) to functions of pointers, and models to calls of these."""

    name = "convert-krnl-to-llvm"

    processor: str = "avx512"
    threads: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Lower every private function whose arguments are buffers."""
        require_threads(self.name, self.threads)
        vector_bytes = load_cpu(self.processor).vector_bytes
        block = op.body.block
        runs = self._runs(op)
        kernels = [each for each in op.ops if isinstance(each, FuncOp) and is_kernel(each)]
        constants = _globals_of(kernels)
        calls = [each for kernel in kernels for each in kernel.walk() if isinstance(each, CallOp)]
        unknown = {call.func_name.data: _called(call) for call in calls}
        for function in kernels:
            block.insert_op_before(lower_kernel(function, vector_bytes), function)
            function.detach()
            function.erase()
        for name in {each.sym_name.data for each in op.ops if isinstance(each, FuncOp | llvm.FuncOp)}:
            unknown.pop(name, None)
        block.add_ops([*unknown.values(), *constants, *runs])

    def _runs(self, module: ModuleOp) -> list[llvm.FuncOp]:
        """Replace a model by functions that run its kernels; none if some of its steps are not native."""
        model = next(iter(module.ops), None)
        if not isinstance(model, FuncOp) or is_kernel(model):
            return []
        # A model whose results are its inputs has a memory plan, but no kernels.
        if ARENA not in model.attributes and not any(map(is_lowered, model.walk())):
            return []
        program, rows = read_program(module)
        if not all(isinstance(step, NativeStep) for step in program.steps):
            return []
        for each in (model, *(op for op in module.ops if isinstance(op, EntryPointOp))):
            each.detach()
            each.erase()
        # Attributes of the model file have no meaning for LLVM IR, and upstream tools reject unknown ones.
        for name in [name for name in module.attributes if name.startswith(("onnx.", "krnl.", "dlti."))]:
            del module.attributes[name]
        return step_functions(rows, self.threads)


def _called(call: CallOp) -> llvm.FuncOp:
    """Return the declaration of the kernel that a call refers to."""
    parameters = [each.type for each in call.parameters]
    if call.iterations is not None or call.iterations_parameter is not None:
        parameters += [IndexType(), IndexType()]
    return declare_kernel(call.func_name.data, parameters, [each.type for each in call.returned])


def _globals_of(kernels: Iterable[FuncOp]) -> list[llvm.GlobalOp]:
    """Return the constants that kernels read, without duplicates; raise `XonncError` on conflicting names."""
    found: dict[str, llvm.GlobalOp] = {}
    for op in (each for kernel in kernels for each in kernel.walk() if isinstance(each, GlobalOp)):
        constant = emit_global(op)
        first = found.setdefault(op.symbol.data, constant)
        if first.properties != constant.properties:
            raise XonncError(f"krnl.global '{op.symbol.data}': two constants of this name differ")
    return list(found.values())


def is_lowered(op: Operation) -> bool:
    """Whether an operation is a result of `convert-onnx-to-krnl`."""
    return isinstance(op, CallOp | memref.AllocOp | UnrealizedConversionCastOp)


def is_kernel(function: FuncOp) -> bool:
    """Whether a function is a kernel: private, with buffer arguments and optional indices."""
    is_private = function.sym_visibility is not None and function.sym_visibility.data == "private"
    takes = [type_ for type_ in function.function_type.inputs if type_ != IndexType()]
    return is_private and bool(takes) and all(is_buffer(type_) for type_ in takes)
