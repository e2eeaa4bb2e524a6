"""Recompose quantized MatMul from QDQ form (docs/internals/onnx-rules.md §6.1)."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, Signedness, f32, i8
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import element_type, static_shape
from xonnc.rewriting.onnx import DequantizeLinear, MatMul, QLinearMatMul, QuantizeLinear
from xonnc.rewriting.patterns import value
from xonnc.rewriting.rules import rule, rules

a, b, a_scale, b_scale, y_scale = value.a, value.b, value.a_scale, value.b_scale, value.y_scale
a_zero, b_zero, y_zero = value.a_zero, value.b_zero, value.y_zero

BYTES = (i8, IntegerType(8, Signedness.UNSIGNED))


def is_of_bytes(
    root: Operation, a_scale: SSAValue, a_zero: SSAValue, b_scale: SSAValue, b_zero: SSAValue
) -> str | None:
    """All tensors are int8 or uint8 with one float32 scale and one zero point."""
    y_scale, y_zero = root.operands[1:]
    for scale, zero in ((a_scale, a_zero), (b_scale, b_zero), (y_scale, y_zero)):
        element = element_type(zero.type)
        if element not in BYTES:
            return "a zero point is not there, or not of 8 bits"
        if element_type(scale.type) != f32:
            return "a scale is not of single precision"
        # Per-axis parameters mean another axis in QLinearMatMul (rows of a) than in DequantizeLinear.
        if static_shape(scale.type) not in ((), (1,)) or static_shape(zero.type) not in ((), (1,)):
            return "a scale or zero point is not one number"
    return None


RULES = rules(
    # quantize(dequantize(a) dequantize(b)) = qlinear_matmul(a, b)
    RecomposeQLinearMatMulFromQuantizeLinearPattern=rule(
        QuantizeLinear(
            MatMul(DequantizeLinear(a, a_scale, a_zero), DequantizeLinear(b, b_scale, b_zero)),
            y_scale,
            y_zero,
        ),
        QLinearMatMul(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero),
        where=is_of_bytes,
    )
)
