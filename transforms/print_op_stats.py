"""`print-op-stats`: how often each op is there."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xonnc.transforms.op_counts import as_json, as_table, op_counts


@dataclass(frozen=True)
class PrintOpStats(ModulePass):
    """
    Prints on standard error how often each op is in the module, which stays as it is.

    Option: `json` prints an object instead of a table.
    """

    name = "print-op-stats"

    json: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Prints the counts of everything under `op` and of itself."""
        counts = op_counts(op)
        print(as_json(counts) if self.json else as_table(counts), file=sys.stderr)
