"""Declared types of what `onnx.If` returns, and of values derived from it."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import CustomOp, YieldOp
from xonnc.dialects.onnx.types import is_ranked, unranked
from xonnc.rewriting.editing import retype


def forget_behind_branches(module: Operation) -> None:
    """
    Drop declared types of `onnx.If` results and of values derived from them.

    Branches may return different ranks, and no kernel checks a rank.
    """
    dependent: set[SSAValue] = set()
    for op in module.walk():
        follows = any(operand in dependent for operand in op.operands)
        parent = op.parent_op()
        if follows and isinstance(op, YieldOp) and parent is not None:
            forget_types(parent.results)
            dependent.update(parent.results)
        elif follows and isinstance(op, OnnxOp) and not isinstance(op, CustomOp):
            arguments = [each for region in op.regions for block in region.blocks for each in block.args]
            forget_types((*op.results, *arguments))
            dependent.update(op.results, arguments)
        elif op.name == "onnx.If":
            forget_types(op.results)
            dependent.update(op.results)


def forget_types(values: Iterable[SSAValue]) -> None:
    """Drop the ranks and sizes of values."""
    for value in values:
        if is_ranked(value.type):
            retype(value, unranked(value.type.element_type))
