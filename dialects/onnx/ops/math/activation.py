"""Smooth activation functions; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import float_attr, string_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import same_shape
from xonnc.dialects.onnx.checks.values import approximation
from xonnc.dialects.onnx.constraints import FLOAT_ATTR, INT_ARRAY_ATTR, STRING_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class CeluOp(OnnxOp):
    """`Y = max(0, X) + min(0, alpha (exp(X / alpha) - 1))`, element by element."""

    name = "onnx.Celu"

    OP_TYPE: ClassVar = "Celu"
    SINCE: ClassVar = 12

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(FLOAT_ATTR, float_attr(1.0))

    traits = traits_def(Pure())


@irdl_op_definition
class EluOp(OnnxOp):
    """`Y = X` where `X >= 0`, `alpha (exp(X) - 1)` elsewhere."""

    name = "onnx.Elu"

    OP_TYPE: ClassVar = "Elu"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(FLOAT_ATTR, float_attr(1.0))

    traits = traits_def(Pure())


@irdl_op_definition
class EluV1Op(OnnxOp):
    """
    `Y = X` where `X >= 0`, `alpha (exp(X) - 1)` elsewhere.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.EluV1"

    OP_TYPE: ClassVar = "Elu"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(FLOAT_ATTR, float_attr(1.0))
    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class GeluOp(OnnxOp):
    """`Y = X Φ(X)`, Φ the normal distribution, or its approximation by tanh."""

    name = "onnx.Gelu"

    OP_TYPE: ClassVar = "Gelu"
    SINCE: ClassVar = 20

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    approximate = prop_def(STRING_ATTR, string_attr("none"))

    traits = traits_def(Pure(), Checks(approximation))


@irdl_op_definition
class MishOp(OnnxOp):
    """`Y = X tanh(ln(1 + exp(X)))`, element by element."""

    name = "onnx.Mish"

    OP_TYPE: ClassVar = "Mish"
    SINCE: ClassVar = 18

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class SeluOp(OnnxOp):
    """`Y = gamma X` where `X > 0`, `gamma alpha (exp(X) - 1)` elsewhere."""

    name = "onnx.Selu"

    OP_TYPE: ClassVar = "Selu"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(FLOAT_ATTR, float_attr(1.6732632))
    gamma = prop_def(FLOAT_ATTR, float_attr(1.050701))

    traits = traits_def(Pure())


@irdl_op_definition
class SeluV1Op(OnnxOp):
    """
    `Y = gamma X` where `X > 0`, `gamma alpha (exp(X) - 1)` elsewhere.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.SeluV1"

    OP_TYPE: ClassVar = "Selu"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(FLOAT_ATTR, float_attr(1.6732))
    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)
    gamma = prop_def(FLOAT_ATTR, float_attr(1.0507))

    traits = traits_def(Pure())


@irdl_op_definition
class SigmoidOp(OnnxOp):
    """`Y = 1 / (1 + exp(-X))`, element by element."""

    name = "onnx.Sigmoid"

    OP_TYPE: ClassVar = "Sigmoid"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class SigmoidV1Op(OnnxOp):
    """
    `Y = 1 / (1 + exp(-X))`, element by element.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.SigmoidV1"

    OP_TYPE: ClassVar = "Sigmoid"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class SoftplusOp(OnnxOp):
    """`Y = ln(1 + exp(X))`, element by element."""

    name = "onnx.Softplus"

    OP_TYPE: ClassVar = "Softplus"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class SoftsignOp(OnnxOp):
    """`output = input / (1 + |input|)`, element by element."""

    name = "onnx.Softsign"

    OP_TYPE: ClassVar = "Softsign"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class SwiGLUOp(OnnxOp):
    """`Y = A sigmoid(alpha A) B`, element by element."""

    name = "onnx.SwiGLU"

    OP_TYPE: ClassVar = "SwiGLU"
    SINCE: ClassVar = 28

    T: ClassVar = types("T", "floats bf16")

    A = operand_def(T)
    B = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(FLOAT_ATTR, float_attr(1.0))

    traits = traits_def(Pure(), Checks(same_shape("A", "B")))


@irdl_op_definition
class SwishOp(OnnxOp):
    """`Y = X / (1 + exp(-alpha X))`, element by element."""

    name = "onnx.Swish"

    OP_TYPE: ClassVar = "Swish"
    SINCE: ClassVar = 24

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(FLOAT_ATTR, float_attr(1.0))

    traits = traits_def(Pure())


OPS: tuple[type[OnnxOp], ...] = (
    CeluOp,
    EluOp,
    EluV1Op,
    GeluOp,
    MishOp,
    SeluOp,
    SeluV1Op,
    SigmoidOp,
    SigmoidV1Op,
    SoftplusOp,
    SoftsignOp,
    SwiGLUOp,
    SwishOp,
)
