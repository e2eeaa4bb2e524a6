"""
`decompose-plugins-onnx`: decompose operators of plug-ins into ONNX operators.

```mlir
%y = "microsoft.BiasGelu"(%x, %b) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
```
becomes an Add and a Gelu. Operators with a kernel of their own are kept. Shape inference runs afterwards.
Native code needs it before functions are inlined and constants are folded: decompositions have both.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xonnc.rewriting.conversion import convert
from xonnc.rewriting.rules import RuleSet
from xonnc.transforms.shape_inference_onnx import infer_shapes


@dataclass(frozen=True)
class DecomposePlugins(ModulePass):
    """Decompose operators of plug-ins that have no kernel of their own into ONNX operators."""

    name = "decompose-plugins-onnx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        decompose_plugins(ctx, op)


def decompose_plugins(ctx: Context, module: ModuleOp) -> bool:
    """Decompose the operators of plug-ins; return whether there were any."""
    fired = convert(module, ctx, RuleSet({}), pass_name=DecomposePlugins.name)
    if fired:
        infer_shapes(module)
    return bool(fired)
