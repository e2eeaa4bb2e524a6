"""
Removal of QDQ pairs that the compiler inserted for the DLA (`dla.inserted`) from partitions on the CPU.

`DequantizeLinear(QuantizeLinear(x))` within such a partition becomes `x`, as in the original model.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from xonnc.dialects.onnx.elements import drop_attributes
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.lowering.onnx_to_dla.qdq_pairs import INSERTED


def remove_qdq_pairs(module: ModuleOp) -> list[Operation]:
    """Remove the pairs of `module`, a partition for the CPU; return the erased ops."""
    dropped: list[Operation] = []
    for op in [op for op in module.walk() if isinstance(op, DequantizeLinearOp)]:
        if isinstance(op.x.owner, QuantizeLinearOp) and INSERTED in op.attributes:
            op.y.replace_all_uses_with(op.x.owner.x)
            dropped.append(op)
            _erase(op)
    for op in [op for op in module.walk() if isinstance(op, QuantizeLinearOp)]:
        if INSERTED in op.attributes and not any(op.y.uses):
            dropped.append(op)
            _erase(op)
    return dropped


def _erase(op: Operation) -> None:
    drop_attributes(op)
    Rewriter.erase_op(op)
