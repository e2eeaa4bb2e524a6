"""
Lowers kernels of the krnl dialect to functions of the llvm dialect.

```mlir
func.func private @copy(%y: memref<8xf32>, %x: memref<8xf32>) { … }
```

becomes a function of pointers, its innermost loops in vectors:

```mlir
llvm.func @copy(%y: !llvm.ptr, %x: !llvm.ptr) { … }
```
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from xonnc.dialects.krnl.types import is_buffer
from xonnc.lowering.krnl_to_llvm.kernels import emit_kernel
from xonnc.targets.cpu import load_cpu


@dataclass(frozen=True)
class ConvertKrnlToLlvm(ModulePass):
    """Lowers kernels, functions of buffers alone, to functions of pointers."""

    name = "convert-krnl-to-llvm"

    processor: str = "avx512"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Lowers every private function whose arguments are buffers."""
        vector_bytes = load_cpu(self.processor).vector_bytes
        for function in list(op.ops):
            if isinstance(function, FuncOp) and is_kernel(function):
                op.body.block.insert_op_before(emit_kernel(function, vector_bytes), function)
                function.detach()
                function.erase()


def is_kernel(function: FuncOp) -> bool:
    """Whether a function is a kernel: private, of buffers and perhaps a range of turns."""
    is_private = function.sym_visibility is not None and function.sym_visibility.data == "private"
    takes = [type_ for type_ in function.function_type.inputs if type_ != IndexType()]
    return is_private and bool(takes) and all(is_buffer(type_) for type_ in takes)
