"""Smooth activation functions; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attributes import real, text
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.values import one_of
from xonnc.dialects.onnx.constraints import INTS, REAL, TEXT, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class CeluOp(OnnxOp):
    """
    Continuously Differentiable Exponential Linear Units: Perform the linear unit element-wise on the input
    tensor X using formula.
    """

    name = "onnx.Celu"

    OP_TYPE: ClassVar = "Celu"
    SINCE: ClassVar = 12

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(REAL, real(1.0))

    traits = traits_def(Pure())


@irdl_op_definition
class EluOp(OnnxOp):
    """
    Elu takes one input data (Tensor ) and produces one output data (Tensor ) where the function `f(x) =
    alpha * (exp(x) - 1.) for x < 0`, `f(x) = x for x >= 0`., is applied to the tensor elementwise.
    """

    name = "onnx.Elu"

    OP_TYPE: ClassVar = "Elu"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(REAL, real(1.0))

    traits = traits_def(Pure())


@irdl_op_definition
class EluV1Op(OnnxOp):
    """
    Elu takes one input data (Tensor ) and produces one output data (Tensor ) where the function `f(x) =
    alpha * (exp(x) - 1.) for x < 0`, `f(x) = x for x >= 0`., is applied to the tensor elementwise.

    As of opset 1 to 5.
    """

    name = "onnx.EluV1"

    OP_TYPE: ClassVar = "Elu"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(REAL, real(1.0))
    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class GeluOp(OnnxOp):
    """
    Gelu takes one input data (Tensor ) and produces one output data (Tensor ) where the gaussian error
    linear units function, $y = 0.5 * x * (1 + erf(x/sqrt(2)))$ is applied to the tensor elementwise.
    """

    name = "onnx.Gelu"

    OP_TYPE: ClassVar = "Gelu"
    SINCE: ClassVar = 20

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    approximate = prop_def(TEXT, text("none"))

    traits = traits_def(Pure(), Checks(one_of("approximate", "none", "tanh")))


@irdl_op_definition
class MishOp(OnnxOp):
    """Mish: A Self Regularized Non-Monotonic Neural Activation Function."""

    name = "onnx.Mish"

    OP_TYPE: ClassVar = "Mish"
    SINCE: ClassVar = 18

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class SeluOp(OnnxOp):
    """
    Selu takes one input data (Tensor ) and produces one output data (Tensor ) where the scaled exponential
    linear unit function, `y = gamma * (alpha * e^x - alpha) for x <= 0`, `y = gamma * x for x > 0`, is
    applied to the tensor elementwise.
    """

    name = "onnx.Selu"

    OP_TYPE: ClassVar = "Selu"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(REAL, real(1.6732632))
    gamma = prop_def(REAL, real(1.050701))

    traits = traits_def(Pure())


@irdl_op_definition
class SeluV1Op(OnnxOp):
    """
    Selu takes one input data (Tensor ) and produces one output data (Tensor ) where the scaled exponential
    linear unit function, `y = gamma * (alpha * e^x - alpha) for x <= 0`, `y = gamma * x for x > 0`, is
    applied to the tensor elementwise.

    As of opset 1 to 5.
    """

    name = "onnx.SeluV1"

    OP_TYPE: ClassVar = "Selu"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(REAL, real(1.6732))
    consumed_inputs = opt_prop_def(INTS)
    gamma = prop_def(REAL, real(1.0507))

    traits = traits_def(Pure())


@irdl_op_definition
class SigmoidOp(OnnxOp):
    """
    Sigmoid takes one input data (Tensor ) and produces one output data (Tensor ) where the sigmoid
    function, y = 1 / (1 + exp(-x)), is applied to the tensor elementwise.
    """

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
    Sigmoid takes one input data (Tensor ) and produces one output data (Tensor ) where the sigmoid
    function, y = 1 / (1 + exp(-x)), is applied to the tensor elementwise.

    As of opset 1 to 5.
    """

    name = "onnx.SigmoidV1"

    OP_TYPE: ClassVar = "Sigmoid"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class SoftplusOp(OnnxOp):
    """
    Softplus takes one input data (Tensor ) and produces one output data (Tensor ) where the softplus
    function, y = ln(exp(x) + 1), is applied to the tensor elementwise.
    """

    name = "onnx.Softplus"

    OP_TYPE: ClassVar = "Softplus"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class SoftsignOp(OnnxOp):
    """Calculates the softsign (x/(1+|x|)) of the given input tensor element-wise."""

    name = "onnx.Softsign"

    OP_TYPE: ClassVar = "Softsign"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class SwiGLUOp(OnnxOp):
    """
    SwiGLU is a gated activation that takes two inputs, a gate `A` and a linear (value) input `B`, and
    produces one output `Y`.
    """

    name = "onnx.SwiGLU"

    OP_TYPE: ClassVar = "SwiGLU"
    SINCE: ClassVar = 28

    T: ClassVar = types("T", "floats bf16")

    A = operand_def(T)
    B = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(REAL, real(1.0))

    traits = traits_def(Pure())


@irdl_op_definition
class SwishOp(OnnxOp):
    """
    Swish function takes one input data (Tensor ) and produces one output data (Tensor ) of the same shape,
    where $Swish(x) = x * sigmoid(alpha * x)$.
    """

    name = "onnx.Swish"

    OP_TYPE: ClassVar = "Swish"
    SINCE: ClassVar = 24

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(REAL, real(1.0))

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
