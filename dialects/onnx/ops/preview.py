"""Operators under trial (ai.onnx.preview); written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, region_def, result_def, traits_def
from xdsl.traits import RecursiveMemoryEffect

from xonnc.dialects.onnx.constraints import FLOAT_ATTR, INT_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class FlexAttentionOp(OnnxOp):
    """Attention whose scores and probabilities pass through two regions."""

    name = "onnx.FlexAttention"

    DOMAIN: ClassVar = "ai.onnx.preview"
    OP_TYPE: ClassVar = "FlexAttention"
    SINCE: ClassVar = 1

    T1: ClassVar = types("T1", "floats bf16")

    Q = operand_def(T1)
    K = operand_def(T1)
    V = operand_def(T1)

    Y = result_def(T1)

    prob_mod = region_def()
    score_mod = region_def()

    scale = opt_prop_def(FLOAT_ATTR)
    softmax_precision = opt_prop_def(INT_ATTR)

    traits = traits_def(RecursiveMemoryEffect())


OPS: tuple[type[OnnxOp], ...] = (FlexAttentionOp,)
