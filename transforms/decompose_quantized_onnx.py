"""
`decompose-quantized-onnx`: decompose quantized operators (QLinear*, *Integer) to QDQ form.

```mlir
%y = "onnx.QLinearConv"(%x, %xs, %xz, %w, %ws, %wz, %ys, %yz, %b)
```
becomes DequantizeLinear, Conv and QuantizeLinear, the form that the lowering to NVDLA expects. Shape
inference runs afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xonnc.rewriting.conversion import convert
from xonnc.transforms.cse import erase_dead
from xonnc.transforms.rules import decompose_quantized
from xonnc.transforms.shape_inference_onnx import infer_shapes


@dataclass(frozen=True)
class DecomposeQuantized(ModulePass):
    """Decompose quantized operators to float operators between DequantizeLinear and QuantizeLinear."""

    name = "decompose-quantized-onnx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if convert(op, ctx, decompose_quantized.RULES, pass_name=self.name):
            erase_dead(op)
            infer_shapes(op)
