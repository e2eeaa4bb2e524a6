"""Rounding, limits and signs; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import float_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import holds_one
from xonnc.dialects.onnx.constraints import FLOAT_ATTR, INT_ARRAY_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class CeilOp(OnnxOp):
    """`Y = ⌈X⌉`, element by element."""

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
    `Y = ⌈X⌉`, element by element.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.CeilV1"

    OP_TYPE: ClassVar = "Ceil"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class ClipOp(OnnxOp):
    """
    `output = min(max(input, min), max)`; an absent limit is none.

    ```mlir
    %r = "onnx.Clip"(%0, %1, %2) : (tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> tensor<2x3xf32>
    ```
    """

    name = "onnx.Clip"

    OP_TYPE: ClassVar = "Clip"
    SINCE: ClassVar = 13

    T: ClassVar = types("T", "ints uints floats bf16")

    input = operand_def(T)
    min = operand_def(T.optional)
    max = operand_def(T.optional)

    output = result_def(T)

    traits = traits_def(Pure(), Checks(holds_one("min"), holds_one("max")))


@irdl_op_definition
class ClipV12Op(OnnxOp):
    """
    `output = min(max(input, min), max)`; an absent limit is none.

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

    traits = traits_def(Pure(), Checks(holds_one("min"), holds_one("max")))


@irdl_op_definition
class ClipV11Op(OnnxOp):
    """
    `output = min(max(input, min), max)`; an absent limit is none.

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

    traits = traits_def(Pure(), Checks(holds_one("min"), holds_one("max")))


@irdl_op_definition
class ClipV6Op(OnnxOp):
    """
    `output = min(max(input, min), max)`; an absent limit is none.

    As of opsets 6 to 10.
    """

    name = "onnx.ClipV6"

    OP_TYPE: ClassVar = "Clip"
    SINCE: ClassVar = 6
    UNTIL: ClassVar = 11

    T: ClassVar = types("T", "floats")

    input = operand_def(T)

    output = result_def(T)

    max = prop_def(FLOAT_ATTR, float_attr(3.4028235e38))
    min = prop_def(FLOAT_ATTR, float_attr(-3.4028235e38))

    traits = traits_def(Pure())


@irdl_op_definition
class ClipV1Op(OnnxOp):
    """
    `output = min(max(input, min), max)`; an absent limit is none.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.ClipV1"

    OP_TYPE: ClassVar = "Clip"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    input = operand_def(T)

    output = result_def(T)

    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)
    max = opt_prop_def(FLOAT_ATTR)
    min = opt_prop_def(FLOAT_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class FloorOp(OnnxOp):
    """`Y = ⌊X⌋`, element by element."""

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
    `Y = ⌊X⌋`, element by element.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.FloorV1"

    OP_TYPE: ClassVar = "Floor"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class RoundOp(OnnxOp):
    """`Y` is the integer nearest to `X`; ties round to even."""

    name = "onnx.Round"

    OP_TYPE: ClassVar = "Round"
    SINCE: ClassVar = 11

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class SignOp(OnnxOp):
    """-1, 0 or 1 by the sign of each element."""

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
