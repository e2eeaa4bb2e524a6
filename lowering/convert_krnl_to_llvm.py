"""
Lowers kernels of the krnl dialect to functions of the llvm dialect.

```mlir
func.func private @copy(%y: memref<8xf32>, %x: memref<8xf32>) { … }
```

becomes a function of pointers, its innermost loops in vectors:

```mlir
llvm.func @copy(%y: !llvm.ptr, %x: !llvm.ptr) { … }
```

Several results are the fields of a structure. Kernels that are called but not there are declared.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from xonnc.dialects.krnl.memory import CallOp, GlobalOp
from xonnc.dialects.krnl.types import is_buffer
from xonnc.errors import XonncError
from xonnc.lowering.krnl_to_llvm.kernels import declared, emit_global, emit_kernel
from xonnc.targets.cpu import load_cpu


@dataclass(frozen=True)
class ConvertKrnlToLlvm(ModulePass):
    """Lowers kernels, functions of buffers alone, to functions of pointers."""

    name = "convert-krnl-to-llvm"

    processor: str = "avx512"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Lowers every private function whose arguments are buffers."""
        vector_bytes = load_cpu(self.processor).vector_bytes
        block = op.body.block
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
        block.add_ops([*unknown.values(), *held])


def _lowered(function: FuncOp, vector_bytes: int) -> llvm.FuncOp:
    if function.is_declaration:
        type_ = function.function_type
        return declared(function.sym_name.data, type_.inputs, type_.outputs)
    return emit_kernel(function, vector_bytes)


def _called(call: CallOp) -> llvm.FuncOp:
    """The declaration of the kernel that a call needs."""
    parameters = [each.type for each in call.parameters]
    if call.turns is not None or call.turns_of is not None:
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


def is_kernel(function: FuncOp) -> bool:
    """Whether a function is a kernel: private, of buffers and perhaps a range of turns."""
    is_private = function.sym_visibility is not None and function.sym_visibility.data == "private"
    takes = [type_ for type_ in function.function_type.inputs if type_ != IndexType()]
    return is_private and bool(takes) and all(is_buffer(type_) for type_ in takes)
