"""`print-op-stats`: print the number of ops by name."""

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
    Print the number of ops by name to standard error; the module is unchanged.

    Option: `json` prints an object instead of a table.
    """

    name = "print-op-stats"

    json: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Print the counts of `op` and everything in it."""
        counts = op_counts(op)
        print(as_json(counts) if self.json else as_table(counts), file=sys.stderr)
