"""Padding and cropping; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import float_attr, string_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import holds_for_axes, rank_is, single_element
from xonnc.dialects.onnx.checks.values import axes_in_range, one_for_each_axis, one_of
from xonnc.dialects.onnx.constraints import FLOAT_ATTR, INT64, INT_ARRAY_ATTR, STRING_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class CenterCropPadOp(OnnxOp):
    """Cut or padded to a shape, the middle kept in the middle."""

    name = "onnx.CenterCropPad"

    OP_TYPE: ClassVar = "CenterCropPad"
    SINCE: ClassVar = 18

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")
    TIND: ClassVar = types("Tind", "i32 i64")

    input_data = operand_def(T)
    shape = operand_def(TIND)

    output_data = result_def(T)

    axes = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(
        Pure(),
        Checks(
            axes_in_range("axes", "input_data"),
            rank_is("shape", 1),
            holds_for_axes("shape", "input_data", "axes"),
        ),
    )


@irdl_op_definition
class PadOp(OnnxOp):
    """
    The input with borders; `mode` says what they hold.

    ```mlir
    %r = "onnx.Pad"(%0, %1, %2, %none)
      : (tensor<2x3xf32>, tensor<4xi64>, tensor<f32>, none) -> tensor<?x?xf32>
    ```
    """

    name = "onnx.Pad"

    OP_TYPE: ClassVar = "Pad"
    SINCE: ClassVar = 21

    T: ClassVar = types(
        "T", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN complexes string"
    )
    TIND: ClassVar = types("Tind", "i32 i64")

    data = operand_def(T)
    pads = operand_def(INT64)
    constant_value = operand_def(T.optional)
    axes = operand_def(TIND.optional)

    output = result_def(T)

    mode = prop_def(STRING_ATTR, string_attr("constant"))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("pads", 1),
            one_of("mode", "constant", "reflect", "edge", "wrap"),
            single_element("constant_value"),
            holds_for_axes("pads", "data", "axes", 2),
            rank_is("axes", 1),
        ),
    )


@irdl_op_definition
class PadV19Op(OnnxOp):
    """
    The input with borders; `mode` says what they hold.

    As of opsets 19 to 20.
    """

    name = "onnx.PadV19"

    OP_TYPE: ClassVar = "Pad"
    SINCE: ClassVar = 19
    UNTIL: ClassVar = 21

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")
    TIND: ClassVar = types("Tind", "i32 i64")

    data = operand_def(T)
    pads = operand_def(INT64)
    constant_value = operand_def(T.optional)
    axes = operand_def(TIND.optional)

    output = result_def(T)

    mode = prop_def(STRING_ATTR, string_attr("constant"))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("pads", 1),
            one_of("mode", "constant", "reflect", "edge", "wrap"),
            single_element("constant_value"),
            holds_for_axes("pads", "data", "axes", 2),
            rank_is("axes", 1),
        ),
    )


@irdl_op_definition
class PadV18Op(OnnxOp):
    """
    The input with borders; `mode` says what they hold.

    As of opset 18.
    """

    name = "onnx.PadV18"

    OP_TYPE: ClassVar = "Pad"
    SINCE: ClassVar = 18
    UNTIL: ClassVar = 19

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")
    TIND: ClassVar = types("Tind", "i32 i64")

    data = operand_def(T)
    pads = operand_def(INT64)
    constant_value = operand_def(T.optional)
    axes = operand_def(TIND.optional)

    output = result_def(T)

    mode = prop_def(STRING_ATTR, string_attr("constant"))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("pads", 1),
            one_of("mode", "constant", "reflect", "edge", "wrap"),
            single_element("constant_value"),
            holds_for_axes("pads", "data", "axes", 2),
            rank_is("axes", 1),
        ),
    )


@irdl_op_definition
class PadV13Op(OnnxOp):
    """
    The input with borders; `mode` says what they hold.

    As of opsets 13 to 17.
    """

    name = "onnx.PadV13"

    OP_TYPE: ClassVar = "Pad"
    SINCE: ClassVar = 13
    UNTIL: ClassVar = 18

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    data = operand_def(T)
    pads = operand_def(INT64)
    constant_value = operand_def(T.optional)

    output = result_def(T)

    mode = prop_def(STRING_ATTR, string_attr("constant"))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("pads", 1),
            one_of("mode", "constant", "reflect", "edge", "wrap"),
            single_element("constant_value"),
            holds_for_axes("pads", "data", "", 2),
        ),
    )


@irdl_op_definition
class PadV11Op(OnnxOp):
    """
    The input with borders; `mode` says what they hold.

    As of opsets 11 to 12.
    """

    name = "onnx.PadV11"

    OP_TYPE: ClassVar = "Pad"
    SINCE: ClassVar = 11
    UNTIL: ClassVar = 13

    T: ClassVar = types("T", "ints uints floats")

    data = operand_def(T)
    pads = operand_def(INT64)
    constant_value = operand_def(T.optional)

    output = result_def(T)

    mode = prop_def(STRING_ATTR, string_attr("constant"))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("pads", 1),
            one_of("mode", "constant", "reflect", "edge", "wrap"),
            single_element("constant_value"),
            holds_for_axes("pads", "data", "", 2),
        ),
    )


@irdl_op_definition
class PadV2Op(OnnxOp):
    """
    The input with borders; `mode` says what they hold.

    As of opsets 2 to 10.
    """

    name = "onnx.PadV2"

    OP_TYPE: ClassVar = "Pad"
    SINCE: ClassVar = 2
    UNTIL: ClassVar = 11

    T: ClassVar = types("T", "floats")

    data = operand_def(T)

    output = result_def(T)

    mode = prop_def(STRING_ATTR, string_attr("constant"))
    pads = prop_def(INT_ARRAY_ATTR)
    value = prop_def(FLOAT_ATTR, float_attr(0.0))

    traits = traits_def(
        Pure(),
        Checks(one_of("mode", "constant", "reflect", "edge", "wrap"), one_for_each_axis("pads", "data", 2)),
    )


@irdl_op_definition
class PadV1Op(OnnxOp):
    """
    The input with borders; `mode` says what they hold.

    As of opset 1.
    """

    name = "onnx.PadV1"

    OP_TYPE: ClassVar = "Pad"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 2

    T: ClassVar = types("T", "floats")

    data = operand_def(T)

    output = result_def(T)

    mode = prop_def(STRING_ATTR, string_attr("constant"))
    paddings = prop_def(INT_ARRAY_ATTR)
    value = prop_def(FLOAT_ATTR, float_attr(0.0))

    traits = traits_def(
        Pure(),
        Checks(
            one_of("mode", "constant", "reflect", "edge", "wrap"), one_for_each_axis("paddings", "data", 2)
        ),
    )


OPS: tuple[type[OnnxOp], ...] = (
    CenterCropPadOp,
    PadOp,
    PadV19Op,
    PadV18Op,
    PadV13Op,
    PadV11Op,
    PadV2Op,
    PadV1Op,
)
