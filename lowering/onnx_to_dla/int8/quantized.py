"""Operators that only quantized networks have, and those that INT8 computes by other means than FP16."""

from __future__ import annotations

from xonnc.dialects.dla.types import cube_of
from xonnc.dialects.onnx.ops.math import PowOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.lowering.onnx_to_dla.int8.dequantized import Affine, Dequantized
from xonnc.lowering.onnx_to_dla.int8.quantized_builder import (
    QuantizedBuilder,
    StoredIntegers,
    lowers_int8,
)
from xonnc.lowering.onnx_to_dla.int8.table_lookup import raised


@lowers_int8(DequantizeLinearOp)
def dequantize(op: DequantizeLinearOp, builder: QuantizedBuilder) -> Dequantized:
    """Lower DequantizeLinear, `(x - zero_point) * scale`, as a pending expression."""
    stored = builder.integers(op.x)
    qparams = builder.qparams(op.x_scale, op.x_zero_point, stored.offset)
    return Affine.of(stored.value, cube_of(stored.value.type), stored.shape, qparams)


@lowers_int8(QuantizeLinearOp)
def quantize(op: QuantizeLinearOp, builder: QuantizedBuilder) -> StoredIntegers:
    """Lower QuantizeLinear: emit the SDP pass that ends a chain of operators."""
    offset = builder.offset_of(op.y)
    qparams = builder.qparams(op.y_scale, op.y_zero_point, offset)
    shape = builder.result_shape(op)
    if (given := builder.input_on(op.x, qparams)) is not None:
        return StoredIntegers(given, shape, offset)
    return StoredIntegers(builder.quantized(op.x, qparams), shape, offset)


@lowers_int8(PowOp)
def power(op: PowOp, builder: QuantizedBuilder) -> Dequantized:
    """Lower Pow with a constant scalar exponent, as an exact lookup table."""
    exponent = builder.real_constant(op.Y)
    if exponent is None or exponent.size != 1:
        builder.refuse("an exponent that is not a constant scalar (the lookup table takes one)")
    return builder.function(op.X, lambda x: raised(x, float(exponent.reshape(()))))
