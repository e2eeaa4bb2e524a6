"""
Nodes of a quantized network that the DLA computes in FP16: those with the attribute `dla.precision`.

`assign-precision-onnx` sets the attribute; the lowering and the placement read it.
"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.targets import NvdlaTarget

PRECISION = "dla.precision"
"""The attribute of a node that is not computed in the integers of its network."""

FP16 = StringAttr("fp16")


def runs_in_fp16(op: object) -> bool:
    """Return whether an operator of a quantized network is computed in FP16."""
    return isinstance(op, Operation) and op.attributes.get(PRECISION) == FP16


def precision_of_node(op: Operation, network: Precision) -> str | None:
    """
    Return the precision that an operator of a network in INT8 or FP16 is computed in.

    `None` for QuantizeLinear and DequantizeLinear.
    """
    if isinstance(op, QuantizeLinearOp | DequantizeLinearOp):
        return None
    return FP16.data if runs_in_fp16(op) else network.name.lower()


def set_fp16(op: Operation) -> None:
    """Compute an operator in FP16."""
    op.attributes[PRECISION] = FP16


def clear_precision(op: Operation) -> None:
    """Compute an operator in the integers of its network again."""
    op.attributes.pop(PRECISION, None)


def mixes_precisions(target: NvdlaTarget) -> bool:
    """
    Return whether a loadable for a target may mix INT8 and FP16.

    The SDP converts FP16 to INT8 by way of INT16.
    """
    return {"int8", "int16", "fp16"} <= {*target.precisions}
