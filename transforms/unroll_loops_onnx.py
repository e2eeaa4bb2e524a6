"""
`unroll-loops-onnx`: replace loops of few iterations by copies of their bodies.

```mlir
%y = "onnx.Loop"(%two, %none, %x) ({
^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<2xf32>):
  %w = "onnx.Mul"(%v, %v) : …
  onnx.Yield %go, %w : …
}) : …
```

becomes two Muls. Compilers and accelerators without control flow take the result, and ops of one iteration
are folded and fused with those of the next.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xonnc.rewriting.driver import apply_rules
from xonnc.transforms.rules.unroll_loops import MAX_OPS, unrolling


@dataclass(frozen=True)
class UnrollLoops(ModulePass):
    """
    Replace loops of a constant trip count, which no condition ends, by copies of their bodies.

    Option: `max-ops` is the number of ops that a loop may become.
    """

    name = "unroll-loops-onnx"

    max_ops: int = MAX_OPS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        unroll_loops(op, ctx, self.max_ops)


def unroll_loops(module: ModuleOp, context: Context, max_ops: int = MAX_OPS) -> bool:
    """Unroll the loops that become at most `max_ops` ops; return whether there were any."""
    return apply_rules(module, context, unrolling(max_ops), pass_name=UnrollLoops.name).changed
