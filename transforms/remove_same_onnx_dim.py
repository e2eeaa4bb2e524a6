"""`remove-same-onnx-dim`: merge `onnx.Dim` ops of equal dimensions (docs/internals/onnx-rules.md §6.7)."""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsolatedFromAbove

from xonnc.dialects.onnx.ops.builtin import DimOp
from xonnc.rewriting.analyses import analysis_for
from xonnc.rewriting.editing import erase, replace_uses
from xonnc.transforms.dims.analysis import DimAnalysis
from xonnc.transforms.dims.expressions import DimExpr

Seen = ChainMap[DimExpr, SSAValue]
"""First `onnx.Dim` of each dimension; a scope includes those around it."""


@dataclass(frozen=True)
class RemoveSameOnnxDim(ModulePass):
    """
    Replace each `onnx.Dim` by an earlier one that the dimension analysis knows to be equal.

    Inside a body, those of enclosing blocks count too.
    """

    name = "remove-same-onnx-dim"
    needs: ClassVar = (DimAnalysis,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Remove the later ones of equal dimensions in `op`."""
        analysis = analysis_for(self, DimAnalysis, op)
        _remove(op.body.block, Seen(), analysis)


def _remove(block: Block, seen: Seen, analysis: DimAnalysis) -> None:
    for op in list(block.ops):
        isolated = bool(op.regions) and op.has_trait(IsolatedFromAbove, value_if_unregistered=True)
        for region in op.regions:
            for inner in region.blocks:
                _remove(inner, Seen() if isolated else seen.new_child(), analysis)
        if isinstance(op, DimOp):
            size = analysis.size(op.data, op.axis.value.data)
            first = op.dim if size is None else seen.setdefault(size, op.dim)
            if first is not op.dim:
                replace_uses(op.dim, first)
                erase(op)
