"""Activation functions made of straight lines; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import float_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import broadcast_into
from xonnc.dialects.onnx.constraints import FLOAT_ATTR, INT_ARRAY_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class HardSigmoidOp(OnnxOp):
    """`Y = max(0, min(1, alpha X + beta))`, element by element."""

    name = "onnx.HardSigmoid"

    OP_TYPE: ClassVar = "HardSigmoid"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(FLOAT_ATTR, float_attr(0.2))
    beta = prop_def(FLOAT_ATTR, float_attr(0.5))

    traits = traits_def(Pure())


@irdl_op_definition
class HardSigmoidV1Op(OnnxOp):
    """
    `Y = max(0, min(1, alpha X + beta))`, element by element.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.HardSigmoidV1"

    OP_TYPE: ClassVar = "HardSigmoid"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(FLOAT_ATTR, float_attr(0.2))
    beta = prop_def(FLOAT_ATTR, float_attr(0.5))
    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class HardSwishOp(OnnxOp):
    """`Y = X max(0, min(1, X / 6 + 0.5))`, element by element."""

    name = "onnx.HardSwish"

    OP_TYPE: ClassVar = "HardSwish"
    SINCE: ClassVar = 14

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class LeakyReluOp(OnnxOp):
    """`Y = X` where `X >= 0`, `alpha X` elsewhere."""

    name = "onnx.LeakyRelu"

    OP_TYPE: ClassVar = "LeakyRelu"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(FLOAT_ATTR, float_attr(0.01))

    traits = traits_def(Pure())


@irdl_op_definition
class LeakyReluV1Op(OnnxOp):
    """
    `Y = X` where `X >= 0`, `alpha X` elsewhere.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.LeakyReluV1"

    OP_TYPE: ClassVar = "LeakyRelu"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(FLOAT_ATTR, float_attr(0.01))
    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class PReluOp(OnnxOp):
    """
    `Y = X` where `X >= 0`, `slope X` elsewhere; the slope is broadcast to X's shape.

    ```mlir
    %r = "onnx.PRelu"(%0, %1) : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    ```
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
    `Y = X` where `X >= 0`, `slope X` elsewhere; the slope is broadcast to X's shape.

    As of opset 6. A slope of one dimension lies along the channels.
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
    `Y = X` where `X >= 0`, `slope X` elsewhere; the slope is broadcast to X's shape.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.PReluV1"

    OP_TYPE: ClassVar = "PRelu"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)
    slope = operand_def(T)

    Y = result_def(T)

    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class ReluOp(OnnxOp):
    """
    `Y = max(0, X)`, element by element.

    ```mlir
    %r = "onnx.Relu"(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
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
    `Y = max(0, X)`, element by element.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.ReluV1"

    OP_TYPE: ClassVar = "Relu"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class ThresholdedReluOp(OnnxOp):
    """`Y = X` where `X > alpha`, 0 elsewhere."""

    name = "onnx.ThresholdedRelu"

    OP_TYPE: ClassVar = "ThresholdedRelu"
    SINCE: ClassVar = 10

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(FLOAT_ATTR, float_attr(1.0))

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
