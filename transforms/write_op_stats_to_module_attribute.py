"""`write-op-stats-to-module-attribute`: store the number of ops by name in the module."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.passes import ModulePass

from xonnc.transforms.op_counts import op_counts

OP_STATS = "onnx-mlir.op_stats"
"""Module attribute (docs/internals/onnx-rules.md §8.2 describes the pass)."""


@dataclass(frozen=True)
class WriteOpStatsToModuleAttribute(ModulePass):
    """Write the number of ops by name to the module attribute `onnx-mlir.op_stats`."""

    name = "write-op-stats-to-module-attribute"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Count everything in `op`, without `op` itself."""
        counts = {name: count for name, count in op_counts(op).items() if name != op.name}
        op.attributes[OP_STATS] = DictionaryAttr(
            {name: IntegerAttr(count, i64) for name, count in counts.items()}
        )
