"""`onnx-pre-krnl-verify`: check that all ranks are known before the lowering to loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, NoneType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.tensor import GatherNDOp
from xonnc.dialects.onnx.types import SeqType, is_ranked
from xonnc.errors import RefusalError


@dataclass(frozen=True)
class OnnxPreKrnlVerify(ModulePass):
    """
    Reject functions with values of unknown rank; name every node that reads one.

    Nodes nested in regions are checked by the lowering of the enclosing op.
    """

    name = "onnx-pre-krnl-verify"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check the nodes of every function in `op`; raise `RefusalError` with all errors."""
        found = [
            (node, f"{describe(node)}: '{node.name}' {reason}")
            for function in op.walk()
            if isinstance(function, FuncOp)
            for block in function.body.blocks
            for node in block.ops
            if isinstance(node, OnnxOp)
            for reason in dict.fromkeys(_broken(node))
        ]
        if found:
            raise RefusalError([reason for _, reason in found], [node for node, _ in found])


def _broken(op: Operation) -> Iterator[str]:
    """Return the error about the operand types of an op, in onnx-mlir's words."""
    for operand in op.operands:
        type_ = operand.type
        if isinstance(type_, SeqType):
            if not is_ranked(type_.element_type):
                yield "SeqType with unranked Sequence Element"
        elif not is_ranked(type_) and not isinstance(type_, NoneType):
            yield "not ranked"
    if isinstance(op, GatherNDOp) and is_ranked(indices := op.indices.type):
        shape = indices.get_shape()
        if shape and shape[-1] == DYNAMIC_INDEX:
            yield "last dim of indices in GatherND is dynamic"
