"""Integers for real numbers and back; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import int_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.quantization import comes_out_as, computed_as, quantization
from xonnc.dialects.onnx.checks.values import integer_in
from xonnc.dialects.onnx.constraints import FLOAT, INT_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class DequantizeLinearOp(OnnxOp):
    """`y = (x - x_zero_point) x_scale`."""

    name = "onnx.DequantizeLinear"

    OP_TYPE: ClassVar = "DequantizeLinear"
    SINCE: ClassVar = 10

    T1: ClassVar = types("T1", "i8 i16 i32 ui8 ui16 int4s int2s float8s float6s f4E2M1FN")
    T2: ClassVar = types("T2", "f16 f32 bf16 f8E8M0FNU")
    T3: ClassVar = types("T3", "f16 f32 bf16")

    x = operand_def(T1)
    x_scale = operand_def(T2)
    x_zero_point = operand_def(T1.optional)

    y = result_def(T3)

    axis = prop_def(INT_ATTR, int_attr(1))
    block_size = prop_def(INT_ATTR, int_attr(0))
    output_dtype = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure(), Checks(quantization("x", "x_scale", "x_zero_point"), comes_out_as))


@irdl_op_definition
class DynamicQuantizeLinearOp(OnnxOp):
    """`y = x / y_scale + y_zero_point` in 8 bits, the scale fit to the range of x."""

    name = "onnx.DynamicQuantizeLinear"

    OP_TYPE: ClassVar = "DynamicQuantizeLinear"
    SINCE: ClassVar = 11

    T1: ClassVar = types("T1", "f32")
    T2: ClassVar = types("T2", "ui8")

    x = operand_def(T1)

    y = result_def(T2)
    y_scale = result_def(FLOAT)
    y_zero_point = result_def(T2)

    traits = traits_def(Pure())


@irdl_op_definition
class QuantizeLinearOp(OnnxOp):
    """`y = round(x / y_scale) + y_zero_point`, saturated to the type."""

    name = "onnx.QuantizeLinear"

    OP_TYPE: ClassVar = "QuantizeLinear"
    SINCE: ClassVar = 10

    T1: ClassVar = types("T1", "i32 f16 f32 bf16")
    T2: ClassVar = types("T2", "i32 f16 f32 bf16 f8E8M0FNU")
    T3: ClassVar = types("T3", "i8 i16 ui8 ui16 int4s int2s float8s float6s f4E2M1FN")

    x = operand_def(T1)
    y_scale = operand_def(T2)
    y_zero_point = operand_def(T3.optional)

    y = result_def(T3)

    axis = prop_def(INT_ATTR, int_attr(1))
    block_size = prop_def(INT_ATTR, int_attr(0))
    output_dtype = prop_def(INT_ATTR, int_attr(0))
    precision = prop_def(INT_ATTR, int_attr(0))
    saturate = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(),
        Checks(
            quantization("x", "y_scale", "y_zero_point"),
            comes_out_as,
            computed_as,
            integer_in("saturate", 0, 1),
        ),
    )


OPS: tuple[type[OnnxOp], ...] = (
    DequantizeLinearOp,
    DynamicQuantizeLinearOp,
    QuantizeLinearOp,
)
