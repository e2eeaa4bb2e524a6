"""The elementwise operators that are fused into a convolution, on one result."""

from __future__ import annotations

from xonnc.dialects.onnx.ops.constant import constant_elements
from xonnc.dialects.onnx.types import NONE
from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar
from xonnc.lowering.onnx_to_krnl.math.elementwise_fusion import ElementwiseBody
from xonnc.lowering.onnx_to_krnl.planning.layout_plan import ConvFusion


def apply_epilogue(fusion: ConvFusion, given: Scalar) -> Scalar:
    """Return the result of the epilogue of a convolution for one of its sums."""
    if not fusion.epilogue:
        return given
    body = ElementwiseBody(given.kernel, {})
    made = {op.results[0] for op in fusion.epilogue}
    for value in dict.fromkeys(each for op in fusion.epilogue for each in op.operands if each.type != NONE):
        number = constant_elements(value)
        if number is not None:
            body.define(value, given.like(float(number.reshape(-1)[0])))
        elif value not in made:
            body.define(value, given)
    return body.compute(fusion.epilogue[-1])
