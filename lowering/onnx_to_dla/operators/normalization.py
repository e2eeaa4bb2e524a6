"""LRN on the CDP, whose lookup table computes the power."""

from __future__ import annotations

from xonnc.dialects.onnx.ops.nn import LRNOp
from xonnc.formats.nvdla.geometry import LRN_SIZES
from xonnc.lowering.onnx_to_dla.builders.dla_builder import DlaBuilder
from xonnc.lowering.onnx_to_dla.builders.operator_builder import OperatorBuilder, TensorT, lowers


@lowers(LRNOp)
def lrn(op: LRNOp, builder: OperatorBuilder[TensorT]) -> TensorT:
    """Lower LRN: `X (bias + alpha / size * sum of squares)^-beta`, the power from a lookup table."""
    scale, bias = check_lrn(op, builder)
    source, shape, beta = builder.spatial_source(op.X), builder.result_shape(op), op.beta.value.data
    return builder.normalized(source, shape, op.size.value.data, scale, bias, beta)


def check_lrn(op: LRNOp, builder: DlaBuilder) -> tuple[float, float]:
    """Return scale and bias of the sum of squares; refuse what the CDP does not support."""
    size, shape = op.size.value.data, builder.result_shape(op)
    if len(shape) > 4 or shape[:1] != (1,):
        builder.refuse(
            f"{list(shape)} (the CDP normalizes one image with up to 2 spatial dimensions); use batch size 1"
        )
    scale, bias = op.alpha.value.data / size, op.bias.value.data
    if size not in LRN_SIZES:
        builder.refuse(f"size {size} (the CDP takes {', '.join(map(str, LRN_SIZES))})")
    if scale <= 0 or bias <= 0:
        builder.refuse(f"alpha {op.alpha.value.data:g} and bias {bias:g} (both must be positive)")
    return scale, bias
