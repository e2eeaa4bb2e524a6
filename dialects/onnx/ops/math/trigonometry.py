"""Circular and hyperbolic functions; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.constraints import INT_ARRAY_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class AcosOp(OnnxOp):
    """`output = arccos(input)`, element by element."""

    name = "onnx.Acos"

    OP_TYPE: ClassVar = "Acos"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class AcoshOp(OnnxOp):
    """`output = arcosh(input)`, element by element."""

    name = "onnx.Acosh"

    OP_TYPE: ClassVar = "Acosh"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class AsinOp(OnnxOp):
    """`output = arcsin(input)`, element by element."""

    name = "onnx.Asin"

    OP_TYPE: ClassVar = "Asin"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class AsinhOp(OnnxOp):
    """`output = arsinh(input)`, element by element."""

    name = "onnx.Asinh"

    OP_TYPE: ClassVar = "Asinh"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class AtanOp(OnnxOp):
    """`output = arctan(input)`, element by element."""

    name = "onnx.Atan"

    OP_TYPE: ClassVar = "Atan"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class AtanhOp(OnnxOp):
    """`output = artanh(input)`, element by element."""

    name = "onnx.Atanh"

    OP_TYPE: ClassVar = "Atanh"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class CosOp(OnnxOp):
    """`output = cos(input)`, element by element."""

    name = "onnx.Cos"

    OP_TYPE: ClassVar = "Cos"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class CoshOp(OnnxOp):
    """`output = cosh(input)`, element by element."""

    name = "onnx.Cosh"

    OP_TYPE: ClassVar = "Cosh"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class SinOp(OnnxOp):
    """`output = sin(input)`, element by element."""

    name = "onnx.Sin"

    OP_TYPE: ClassVar = "Sin"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class SinhOp(OnnxOp):
    """`output = sinh(input)`, element by element."""

    name = "onnx.Sinh"

    OP_TYPE: ClassVar = "Sinh"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class TanOp(OnnxOp):
    """`output = tan(input)`, element by element."""

    name = "onnx.Tan"

    OP_TYPE: ClassVar = "Tan"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class TanhOp(OnnxOp):
    """`output = tanh(input)`, element by element."""

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
    `output = tanh(input)`, element by element.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.TanhV1"

    OP_TYPE: ClassVar = "Tanh"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    input = operand_def(T)

    output = result_def(T)

    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

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
