"""`remove-same-onnx-dim`: a size is asked for once (docs/internals/onnx-rules.md §6.7)."""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsolatedFromAbove

from xonnc.dialects.onnx.ops.builtin import DimOp
from xonnc.rewriting.editing import erase, replace_uses
from xonnc.transforms.dims.analysis import DimAnalysis
from xonnc.transforms.dims.expressions import DimExpr

Seen = ChainMap[DimExpr, SSAValue]
"""The first `onnx.Dim` for each size; a scope sees those of the scopes around it."""


@dataclass(frozen=True)
class RemoveSameOnnxDim(ModulePass):
    """
    Makes one of the `onnx.Dim` whose sizes are equal as far as the dimension analysis knows, the first.

    In a body those of the block around it count too.
    """

    name = "remove-same-onnx-dim"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Removes the later ones of equal sizes under `op`."""
        analysis = DimAnalysis(op)
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
