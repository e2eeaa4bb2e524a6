"""Circular and hyperbolic functions; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.constraints import INTS, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class AcosOp(OnnxOp):
    """Calculates the arccosine (inverse of cosine) of the given input tensor, element-wise."""

    name = "onnx.Acos"

    OP_TYPE: ClassVar = "Acos"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class AcoshOp(OnnxOp):
    """Calculates the hyperbolic arccosine of the given input tensor element-wise."""

    name = "onnx.Acosh"

    OP_TYPE: ClassVar = "Acosh"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class AsinOp(OnnxOp):
    """Calculates the arcsine (inverse of sine) of the given input tensor, element-wise."""

    name = "onnx.Asin"

    OP_TYPE: ClassVar = "Asin"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class AsinhOp(OnnxOp):
    """Calculates the hyperbolic arcsine of the given input tensor element-wise."""

    name = "onnx.Asinh"

    OP_TYPE: ClassVar = "Asinh"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class AtanOp(OnnxOp):
    """Calculates the arctangent (inverse of tangent) of the given input tensor, element-wise."""

    name = "onnx.Atan"

    OP_TYPE: ClassVar = "Atan"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class AtanhOp(OnnxOp):
    """Calculates the hyperbolic arctangent of the given input tensor element-wise."""

    name = "onnx.Atanh"

    OP_TYPE: ClassVar = "Atanh"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class CosOp(OnnxOp):
    """Calculates the cosine of the given input tensor, element-wise."""

    name = "onnx.Cos"

    OP_TYPE: ClassVar = "Cos"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class CoshOp(OnnxOp):
    """Calculates the hyperbolic cosine of the given input tensor element-wise."""

    name = "onnx.Cosh"

    OP_TYPE: ClassVar = "Cosh"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class SinOp(OnnxOp):
    """Calculates the sine of the given input tensor, element-wise."""

    name = "onnx.Sin"

    OP_TYPE: ClassVar = "Sin"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class SinhOp(OnnxOp):
    """Calculates the hyperbolic sine of the given input tensor element-wise."""

    name = "onnx.Sinh"

    OP_TYPE: ClassVar = "Sinh"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class TanOp(OnnxOp):
    """Calculates the tangent of the given input tensor, element-wise."""

    name = "onnx.Tan"

    OP_TYPE: ClassVar = "Tan"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class TanhOp(OnnxOp):
    """Calculates the hyperbolic tangent of the given input tensor element-wise."""

    name = "onnx.Tanh"

    OP_TYPE: ClassVar = "Tanh"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class TanhV1Op(OnnxOp):
    """
    Calculates the hyperbolic tangent of the given input tensor element-wise.

    As of opset 1 to 5.
    """

    name = "onnx.TanhV1"

    OP_TYPE: ClassVar = "Tanh"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    input = operand_def(T)

    output = result_def(T)

    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


OPS: tuple[type[OnnxOp], ...] = (
    AcosOp,
    AcoshOp,
    AsinOp,
    AsinhOp,
    AtanOp,
    AtanhOp,
    CosOp,
    CoshOp,
    SinOp,
    SinhOp,
    TanOp,
    TanhOp,
    TanhV1Op,
)
