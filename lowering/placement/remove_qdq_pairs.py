"""
Removal of QDQ pairs that the compiler inserted for the DLA (`dla.inserted`) where nothing is computed in
integers: from partitions on the CPU, and between nodes in FP16.

`DequantizeLinear(QuantizeLinear(x))` becomes `x`, as in the original model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from xonnc.dialects.onnx.elements import drop_attributes
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import INSERTED

Pair: TypeAlias = tuple[QuantizeLinearOp, DequantizeLinearOp]


def remove_qdq_pairs(
    module: ModuleOp, is_unneeded: Callable[[Pair], bool] = lambda pair: True
) -> list[Operation]:
    """Remove the inserted pairs of `module`, all or those that are unneeded; return the erased ops."""
    dropped: list[Operation] = []
    for op in [op for op in module.walk() if isinstance(op, DequantizeLinearOp)]:
        quantize = op.x.owner
        if not isinstance(quantize, QuantizeLinearOp) or INSERTED not in op.attributes:
            continue
        if is_unneeded((quantize, op)):
            op.y.replace_all_uses_with(quantize.x)
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
