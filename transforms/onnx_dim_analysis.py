"""
`onnx-dim-analysis`: which dimensions are equal, written into the module (docs/internals/onnx-rules.md §6.6).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from xonnc.dialects.onnx.attributes import int_attr
from xonnc.dialects.onnx.ops.builtin import DimGroupOp
from xonnc.rewriting.editing import erase
from xonnc.transforms.dims.analysis import DimAnalysis


@dataclass(frozen=True)
class OnnxDimAnalysis(ModulePass):
    """
    Puts an `onnx.DimGroup` after every value for each of its dynamic dimensions: equal sizes, equal groups.

    ```mlir
    "onnx.DimGroup"(%0) <{axis = 0 : si64, group_id = 1 : si64}> : (tensor<?x3xf32>) -> ()
    ```

    Those of an argument stand at the beginning. Groups that are there already are found anew. Unlike the
    peer's, the analysis goes on where a rank is unknown.
    """

    name = "onnx-dim-analysis"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Writes the groups of everything inside `op`."""
        for old in [inner for inner in op.walk() if isinstance(inner, DimGroupOp)]:
            erase(old)
        last: dict[Block | Operation, Operation] = {}
        for member in list(DimAnalysis(op).members()):
            properties = {"axis": int_attr(member.axis), "group_id": int_attr(member.group)}
            group = DimGroupOp.create(operands=[member.value], properties=properties)
            owner = member.value.owner
            Rewriter.insert_op(group, _after(owner, last.get(owner)))
            last[owner] = group


def _after(owner: Block | Operation, last: Operation | None) -> InsertPoint:
    """Behind the last group of an op or block, else behind the op or at the beginning of the block."""
    if last is not None:
        return InsertPoint.after(last)
    return InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)
