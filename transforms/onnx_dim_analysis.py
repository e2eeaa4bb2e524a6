"""`onnx-dim-analysis`: groups of equal dynamic dimensions (docs/internals/onnx-rules.md §6.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from xonnc.dialects.onnx.attribute_builders import int_attr
from xonnc.dialects.onnx.ops.builtin import DimGroupOp
from xonnc.rewriting.analyses import analysis_for
from xonnc.rewriting.editing import erase
from xonnc.transforms.dims.analysis import DimAnalysis


@dataclass(frozen=True)
class OnnxDimAnalysis(ModulePass):
    """
    Insert an `onnx.DimGroup` for each dynamic dimension of each value; equal dimensions have equal groups.

    ```mlir
    "onnx.DimGroup"(%0) <{axis = 0 : si64, group_id = 1 : si64}> : (tensor<?x3xf32>) -> ()
    ```

    Groups of arguments stand at the start of the function. Existing groups are recomputed. Unlike
    onnx-mlir's, the analysis continues past unknown ranks.
    """

    name = "onnx-dim-analysis"
    needs: ClassVar = (DimAnalysis,)
    keeps: ClassVar = (DimAnalysis,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Insert the groups of all values in `op`."""
        for old in [inner for inner in op.walk() if isinstance(inner, DimGroupOp)]:
            erase(old)
        last: dict[Block | Operation, Operation] = {}
        for member in list(analysis_for(self, DimAnalysis, op).members()):
            properties = {"axis": int_attr(member.axis), "group_id": int_attr(member.group)}
            group = DimGroupOp.create(operands=[member.value], properties=properties)
            owner = member.value.owner
            Rewriter.insert_op(group, _after(owner, last.get(owner)))
            last[owner] = group


def _after(owner: Block | Operation, last: Operation | None) -> InsertPoint:
    """Return the insertion point after the last group of an op or block."""
    if last is not None:
        return InsertPoint.after(last)
    return InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)
