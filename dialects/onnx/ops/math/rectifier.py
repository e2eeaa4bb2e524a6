"""Activation functions made of straight lines; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attributes import real
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import broadcast_into
from xonnc.dialects.onnx.constraints import INTS, REAL, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class HardSigmoidOp(OnnxOp):
    """
    HardSigmoid takes one input data (Tensor ) and produces one output data (Tensor ) where the HardSigmoid
    function, y = max(0, min(1, alpha * x + beta)), is applied to the tensor elementwise.
    """

    name = "onnx.HardSigmoid"

    OP_TYPE: ClassVar = "HardSigmoid"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(REAL, real(0.2))
    beta = prop_def(REAL, real(0.5))

    traits = traits_def(Pure())


@irdl_op_definition
class HardSigmoidV1Op(OnnxOp):
    """
    HardSigmoid takes one input data (Tensor ) and produces one output data (Tensor ) where the HardSigmoid
    function, y = max(0, min(1, alpha * x + beta)), is applied to the tensor elementwise.

    As of opset 1 to 5.
    """

    name = "onnx.HardSigmoidV1"

    OP_TYPE: ClassVar = "HardSigmoid"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(REAL, real(0.2))
    beta = prop_def(REAL, real(0.5))
    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class HardSwishOp(OnnxOp):
    """
    HardSwish takes one input data (Tensor ) and produces one output data (Tensor ) where the HardSwish
    function, y = x * max(0, min(1, alpha * x + beta)) = x * HardSigmoid<alpha, beta>(x), where alpha = 1/6
    and beta = 0.5, is applied to the tensor elementwise.
    """

    name = "onnx.HardSwish"

    OP_TYPE: ClassVar = "HardSwish"
    SINCE: ClassVar = 14

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class LeakyReluOp(OnnxOp):
    """
    LeakyRelu takes input data (Tensor ) and an argument alpha, and produces one output data (Tensor ) where
    the function `f(x) = alpha * x for x < 0`, `f(x) = x for x >= 0`, is applied to the data tensor
    elementwise.
    """

    name = "onnx.LeakyRelu"

    OP_TYPE: ClassVar = "LeakyRelu"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(REAL, real(0.01))

    traits = traits_def(Pure())


@irdl_op_definition
class LeakyReluV1Op(OnnxOp):
    """
    LeakyRelu takes input data (Tensor ) and an argument alpha, and produces one output data (Tensor ) where
    the function `f(x) = alpha * x for x < 0`, `f(x) = x for x >= 0`, is applied to the data tensor
    elementwise.

    As of opset 1 to 5.
    """

    name = "onnx.LeakyReluV1"

    OP_TYPE: ClassVar = "LeakyRelu"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(REAL, real(0.01))
    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class PReluOp(OnnxOp):
    """
    PRelu takes input data (Tensor ) and slope tensor as input, and produces one output data (Tensor ) where
    the function `f(x) = slope * x for x < 0`, `f(x) = x for x >= 0`., is applied to the data tensor
    elementwise.
    """

    name = "onnx.PRelu"

    OP_TYPE: ClassVar = "PRelu"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "i32 i64 ui32 ui64 floats bf16")

    X = operand_def(T)
    slope = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure(), Checks(broadcast_into("slope", "X", "Slope tensor has a wrong shape")))


@irdl_op_definition
class PReluV6Op(OnnxOp):
    """
    PRelu takes input data (Tensor ) and slope tensor as input, and produces one output data (Tensor ) where
    the function `f(x) = slope * x for x < 0`, `f(x) = x for x >= 0`., is applied to the data tensor
    elementwise.

    As of opset 6.
    """

    name = "onnx.PReluV6"

    OP_TYPE: ClassVar = "PRelu"
    SINCE: ClassVar = 6
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "floats")

    X = operand_def(T)
    slope = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class PReluV1Op(OnnxOp):
    """
    PRelu takes input data (Tensor ) and slope tensor as input, and produces one output data (Tensor ) where
    the function `f(x) = slope * x for x < 0`, `f(x) = x for x >= 0`., is applied to the data tensor
    elementwise.

    As of opset 1 to 5.
    """

    name = "onnx.PReluV1"

    OP_TYPE: ClassVar = "PRelu"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)
    slope = operand_def(T)

    Y = result_def(T)

    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class ReluOp(OnnxOp):
    """
    Relu takes one input data (Tensor ) and produces one output data (Tensor ) where the rectified linear
    function, y = max(0, x), is applied to the tensor elementwise.
    """

    name = "onnx.Relu"

    OP_TYPE: ClassVar = "Relu"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "ints floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class ReluV1Op(OnnxOp):
    """
    Relu takes one input data (Tensor ) and produces one output data (Tensor ) where the rectified linear
    function, y = max(0, x), is applied to the tensor elementwise.

    As of opset 1 to 5.
    """

    name = "onnx.ReluV1"

    OP_TYPE: ClassVar = "Relu"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class ThresholdedReluOp(OnnxOp):
    """
    ThresholdedRelu takes one input data (Tensor ) and produces one output data (Tensor ) where the
    rectified linear function, y = x for x > alpha, y = 0 otherwise, is applied to the tensor elementwise.
    """

    name = "onnx.ThresholdedRelu"

    OP_TYPE: ClassVar = "ThresholdedRelu"
    SINCE: ClassVar = 10

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(REAL, real(1.0))

    traits = traits_def(Pure())


OPS: tuple[type[OnnxOp], ...] = (
    HardSigmoidOp,
    HardSigmoidV1Op,
    HardSwishOp,
    LeakyReluOp,
    LeakyReluV1Op,
    PReluOp,
    PReluV6Op,
    PReluV1Op,
    ReluOp,
    ReluV1Op,
    ThresholdedReluOp,
)
