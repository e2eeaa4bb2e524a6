"""
`outline-data-dependent-onnx`: move ops that depend on data-dependent shapes to functions.

```mlir
%0 = "onnx.NonZero"(%x) : (tensor<2x3xf32>) -> tensor<2x?xi64>
%1 = "onnx.Cast"(%0) <{to = f32}> : (tensor<2x?xi64>) -> tensor<2x?xf32>
```

The Cast moves to a function `@found_0` with the attribute `krnl.deferred`, which a `krnl.deferred_call` op
calls once the shape is known; its kernels are dynamic. Operators without dynamic kernels stay, and so do all
that depend on them. Operators after a loop that reads results of `@found_0`, and those that read a size that
`@found_0` finds, move to a second function, and so on. Equal dimensions of arguments and results have one
name in `onnx.dim_params`; a computation of sizes is repeated where its result is read. A Slice of one axis
whose start and end are computed from data gets the attribute `krnl.cut`: its result has a data-dependent size
too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from xonnc.dialects.krnl.attributes import NO_KERNEL
from xonnc.dialects.onnx.elements import drop_attributes
from xonnc.lowering.onnx_to_krnl.assign_layout import AssignLayout
from xonnc.lowering.onnx_to_krnl.convert_onnx_to_krnl import ConvertOnnxToKrnl
from xonnc.lowering.onnx_to_krnl.data_dependent_shapes import (
    has_data_dependent_shapes,
    mark_cut_slices,
    outline_data_dependent,
)
from xonnc.lowering.onnx_to_krnl.fuse_onnx import FuseOnnx


@dataclass(frozen=True)
class OutlineDataDependent(ModulePass):
    """Move ops that depend on data-dependent shapes to functions with dynamic kernels."""

    name = "outline-data-dependent-onnx"

    processor: str = "avx512"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """
        Outline as many ops as have dynamic kernels: lower a clone, keep ops without a kernel, and retry.
        """
        mark_cut_slices(op)
        prepare = FuseOnnx(self.processor), AssignLayout(self.processor)
        convert = ConvertOnnxToKrnl(self.processor)
        left: set[int] = set()
        while has_data_dependent_shapes(op):
            tried = op.clone()
            cut = outline_data_dependent(tried, left)
            if cut is None:
                return
            stayed = _without_kernels(cut.functions, prepare, convert, ctx)
            is_ours = all(each in cut.numbers for each in stayed)
            numbers = {cut.numbers[each] for each in stayed if each in cut.numbers}
            drop_attributes(tried)
            if not is_ours:
                return
            if stayed:
                left |= numbers
                continue
            outline_data_dependent(op, left)
            # Next are ops that depend on control flow after the ones just moved.
            left = set()


def _without_kernels(
    functions: Sequence[FuncOp], prepare: Sequence[ModulePass], convert: ConvertOnnxToKrnl, ctx: Context
) -> list[Operation]:
    """Lower the functions, and return the ops without dynamic kernels. The functions are consumed."""
    for function in functions:
        function.detach()
    trial = ModuleOp(list(functions))
    for step in prepare:
        step.apply(ctx, trial)
    convert.lower(ctx, trial, is_dynamic=False)
    return [op for function in functions for op in function.walk() if NO_KERNEL in op.attributes]
