"""
`outline-data-dependent-onnx`: move ops that depend on data-dependent shapes to functions.

```mlir
%0 = "onnx.NonZero"(%x) : (tensor<2x3xf32>) -> tensor<2x?xi64>
%1 = "onnx.Cast"(%0) <{to = f32}> : (tensor<2x?xi64>) -> tensor<2x?xf32>
```

The Cast moves to a function `@found_0` with the attribute `krnl.deferred`, which a `krnl.deferred_call` op
calls once the shape is known; its kernels are dynamic. So do operators that read a tensor whose size values
say, such as the result of Range. Operators without dynamic kernels stay. What follows one of them, or a
loop, that reads results of `@found_0`, and what reads a size that `@found_0` finds, moves to a second
function, and so on. Equal dimensions of arguments and results have one name in `onnx.dim_params`; a
computation of sizes is repeated where its result is read. A Slice of one axis whose start and end are
computed from data gets the attribute `krnl.cut`: its result has a data-dependent size too.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from xonnc.dialects.krnl.attributes import NO_KERNEL
from xonnc.dialects.onnx.elements import drop_attributes
from xonnc.lowering.onnx_to_krnl.assign_layout import AssignLayout
from xonnc.lowering.onnx_to_krnl.builders.data_dependent_shapes import (
    Outlined,
    blocks_of,
    followers_of,
    is_outlined,
    mark_cut_slices,
)
from xonnc.lowering.onnx_to_krnl.convert_onnx_to_krnl import ConvertOnnxToKrnl
from xonnc.lowering.onnx_to_krnl.fuse_onnx import FuseOnnx
from xonnc.transforms.dims.analysis import DimAnalysis


@dataclass(frozen=True)
class OutlineDataDependent(ModulePass):
    """Move ops that depend on data-dependent shapes to functions with dynamic kernels."""

    name = "outline-data-dependent-onnx"

    processor: str = "avx512"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Outline as many ops as have dynamic kernels."""
        mark_cut_slices(op)
        trial = _Trial(FuseOnnx(self.processor), AssignLayout(self.processor), self.processor, ctx)
        # After a call come ops that depend on control flow after the ones just moved.
        while _outline_next(op, trial):
            pass


def _outline_next(module: ModuleOp, trial: _Trial) -> bool:
    """Move ops to one function for the model and one for each body of control flow; whether any moved."""
    facts = DimAnalysis(module)
    before = sum(is_outlined(op) for op in module.ops if isinstance(op, FuncOp))
    functions: list[FuncOp] = []
    for block, given in list(blocks_of(module)):
        outlined = trial.outlined(block, given, facts)
        if outlined is not None:
            name = f"found_{before + len(functions)}"
            functions.append(outlined.function(name)[0])
            outlined.replace(name)
    module.body.block.add_ops(functions)
    return bool(functions)


class _Trial:
    """Finds which ops have dynamic kernels by lowering clones of them."""

    def __init__(self, fuse: FuseOnnx, assign: AssignLayout, processor: str, ctx: Context) -> None:
        self._prepare = fuse, assign
        self._convert = ConvertOnnxToKrnl(processor)
        self._ctx = ctx
        self._stayed: dict[tuple[Operation, ...], Sequence[Operation]] = {}
        """Of ops that were tried together, those without a dynamic kernel. A block of which nothing moves has
        the same ops after others moved."""

    def outlined(self, block: Block, given: AbstractSet[SSAValue], facts: DimAnalysis) -> Outlined | None:
        """Return what moves from a block: ops without a kernel stay."""
        left: set[Operation] = set()
        while (followers := followers_of(block, given, left)).later:
            tried = *followers.copied, *followers.later
            outlined = Outlined(followers, facts)
            if tried not in self._stayed:
                self._stayed[tried] = self._without_kernels(outlined)
            stayed = self._stayed[tried]
            if not stayed:
                return outlined
            left.update(stayed)
        return None

    def _without_kernels(self, outlined: Outlined) -> Sequence[Operation]:
        """Lower clones of ops, and return the ops without dynamic kernels."""
        function, origins = outlined.function("tried")
        trial = ModuleOp([function])
        for step in self._prepare:
            step.apply(self._ctx, trial)
        self._convert.lower(self._ctx, trial, is_dynamic=False)
        # The function has a reason itself if no size of it can be relied on.
        is_refused = NO_KERNEL in function.attributes
        stayed = [origin for op, origin in origins.items() if is_refused or NO_KERNEL in op.attributes]
        drop_attributes(trial)
        return stayed
