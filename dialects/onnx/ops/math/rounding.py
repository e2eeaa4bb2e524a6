"""Rounding, limits and signs; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attributes import real
from xonnc.dialects.onnx.constraints import INTS, REAL, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class CeilOp(OnnxOp):
    """
    Ceil takes one input data (Tensor ) and produces one output data (Tensor ) where the ceil is, y =
    ceil(x), is applied to the tensor elementwise. If x is integral, +0, -0, NaN, or infinite, x itself is
    returned.
    """

    name = "onnx.Ceil"

    OP_TYPE: ClassVar = "Ceil"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class CeilV1Op(OnnxOp):
    """
    Ceil takes one input data (Tensor ) and produces one output data (Tensor ) where the ceil is, y =
    ceil(x), is applied to the tensor elementwise.

    As of opset 1 to 5.
    """

    name = "onnx.CeilV1"

    OP_TYPE: ClassVar = "Ceil"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class ClipOp(OnnxOp):
    """
    Clip operator limits the given input within an interval. The interval is specified by the inputs 'min'
    and 'max'.
    """

    name = "onnx.Clip"

    OP_TYPE: ClassVar = "Clip"
    SINCE: ClassVar = 13

    T: ClassVar = types("T", "ints uints floats bf16")

    input = operand_def(T)
    min = operand_def(T.optional)
    max = operand_def(T.optional)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class ClipV12Op(OnnxOp):
    """
    Clip operator limits the given input within an interval. The interval is specified by the inputs 'min'
    and 'max'.

    As of opset 12.
    """

    name = "onnx.ClipV12"

    OP_TYPE: ClassVar = "Clip"
    SINCE: ClassVar = 12
    UNTIL: ClassVar = 13

    T: ClassVar = types("T", "ints uints floats")

    input = operand_def(T)
    min = operand_def(T.optional)
    max = operand_def(T.optional)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class ClipV11Op(OnnxOp):
    """
    Clip operator limits the given input within an interval. The interval is specified by the inputs 'min'
    and 'max'.

    As of opset 11.
    """

    name = "onnx.ClipV11"

    OP_TYPE: ClassVar = "Clip"
    SINCE: ClassVar = 11
    UNTIL: ClassVar = 12

    T: ClassVar = types("T", "floats")

    input = operand_def(T)
    min = operand_def(T.optional)
    max = operand_def(T.optional)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class ClipV6Op(OnnxOp):
    """
    Clip operator limits the given input within an interval. The interval is specified with arguments 'min'
    and 'max'.

    As of opset 6 to 10.
    """

    name = "onnx.ClipV6"

    OP_TYPE: ClassVar = "Clip"
    SINCE: ClassVar = 6
    UNTIL: ClassVar = 11

    T: ClassVar = types("T", "floats")

    input = operand_def(T)

    output = result_def(T)

    max = prop_def(REAL, real(3.4028235e38))
    min = prop_def(REAL, real(-3.4028235e38))

    traits = traits_def(Pure())


@irdl_op_definition
class ClipV1Op(OnnxOp):
    """
    Clip operator limits the given input within an interval. The interval is specified with arguments 'min'
    and 'max'.

    As of opset 1 to 5.
    """

    name = "onnx.ClipV1"

    OP_TYPE: ClassVar = "Clip"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    input = operand_def(T)

    output = result_def(T)

    consumed_inputs = opt_prop_def(INTS)
    max = opt_prop_def(REAL)
    min = opt_prop_def(REAL)

    traits = traits_def(Pure())


@irdl_op_definition
class FloorOp(OnnxOp):
    """
    Floor takes one input data (Tensor ) and produces one output data (Tensor ) where the floor is, y =
    floor(x), is applied to the tensor elementwise. If x is integral, +0, -0, NaN, or infinite, x itself is
    returned.
    """

    name = "onnx.Floor"

    OP_TYPE: ClassVar = "Floor"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class FloorV1Op(OnnxOp):
    """
    Floor takes one input data (Tensor ) and produces one output data (Tensor ) where the floor is, y =
    floor(x), is applied to the tensor elementwise.

    As of opset 1 to 5.
    """

    name = "onnx.FloorV1"

    OP_TYPE: ClassVar = "Floor"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class RoundOp(OnnxOp):
    """
    Round takes one input Tensor and rounds the values, element-wise, meaning it finds the nearest integer
    for each value. In case of halves, the rule is to round them to the nearest even integer.
    """

    name = "onnx.Round"

    OP_TYPE: ClassVar = "Round"
    SINCE: ClassVar = 11

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class SignOp(OnnxOp):
    """Calculate the sign of the given input tensor element-wise. If input > 0, output 1."""

    name = "onnx.Sign"

    OP_TYPE: ClassVar = "Sign"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "ints uints floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


OPS: tuple[type[OnnxOp], ...] = (
    CeilOp,
    CeilV1Op,
    ClipOp,
    ClipV12Op,
    ClipV11Op,
    ClipV6Op,
    ClipV1Op,
    FloorOp,
    FloorV1Op,
    RoundOp,
    SignOp,
)
