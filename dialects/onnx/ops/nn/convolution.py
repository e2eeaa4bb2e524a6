"""Convolutions; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import int_attr, string_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.quantization import one_for_each
from xonnc.dialects.onnx.checks.shapes import holds_one
from xonnc.dialects.onnx.checks.windows import columns, convolution, deformation, transposed_convolution
from xonnc.dialects.onnx.constraints import FLOAT, INT64, INT_ARRAY_ATTR, INT_ATTR, STRING_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class Col2ImOp(OnnxOp):
    """Adds columns of blocks up to an image, the inverse of cutting it into windows."""

    name = "onnx.Col2Im"

    OP_TYPE: ClassVar = "Col2Im"
    SINCE: ClassVar = 18

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    input = operand_def(T)
    image_shape = operand_def(INT64)
    block_shape = operand_def(INT64)

    output = result_def(T)

    dilations = opt_prop_def(INT_ARRAY_ATTR)
    pads = opt_prop_def(INT_ARRAY_ATTR)
    strides = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure(), Checks(columns))


@irdl_op_definition
class ConvOp(OnnxOp):
    """
    Products of each window of `X` with the weights `W`, summed, plus the bias `B`.

    ```mlir
    %r = "onnx.Conv"(%0, %1, %none)
      : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, none) -> tensor<1x4x6x6xf32>
    ```
    """

    name = "onnx.Conv"

    OP_TYPE: ClassVar = "Conv"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)
    W = operand_def(T)
    B = operand_def(T.optional)

    Y = result_def(T)

    auto_pad = prop_def(STRING_ATTR, string_attr("NOTSET"))
    dilations = opt_prop_def(INT_ARRAY_ATTR)
    group = prop_def(INT_ATTR, int_attr(1))
    kernel_shape = opt_prop_def(INT_ARRAY_ATTR)
    pads = opt_prop_def(INT_ARRAY_ATTR)
    strides = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure(), Checks(convolution("X", "W", "B")))


@irdl_op_definition
class ConvIntegerOp(OnnxOp):
    """A convolution of integers less their zero points, in 32-bit integers."""

    name = "onnx.ConvInteger"

    OP_TYPE: ClassVar = "ConvInteger"
    SINCE: ClassVar = 10

    T1: ClassVar = types("T1", "i8 ui8")
    T2: ClassVar = types("T2", "i8 ui8")
    T3: ClassVar = types("T3", "i32")

    x = operand_def(T1)
    w = operand_def(T2)
    x_zero_point = operand_def(T1.optional)
    w_zero_point = operand_def(T2.optional)

    y = result_def(T3)

    auto_pad = prop_def(STRING_ATTR, string_attr("NOTSET"))
    dilations = opt_prop_def(INT_ARRAY_ATTR)
    group = prop_def(INT_ATTR, int_attr(1))
    kernel_shape = opt_prop_def(INT_ARRAY_ATTR)
    pads = opt_prop_def(INT_ARRAY_ATTR)
    strides = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(
        Pure(), Checks(convolution("x", "w"), holds_one("x_zero_point"), one_for_each("w_zero_point", "w", 0))
    )


@irdl_op_definition
class ConvTransposeOp(OnnxOp):
    """
    The gradient of a convolution: each element of `X` spreads the weights, plus `B`.

    ```mlir
    %r = "onnx.ConvTranspose"(%0, %1, %none)
      : (tensor<1x3x8x8xf32>, tensor<3x4x3x3xf32>, none) -> tensor<1x4x10x10xf32>
    ```
    """

    name = "onnx.ConvTranspose"

    OP_TYPE: ClassVar = "ConvTranspose"
    SINCE: ClassVar = 11

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)
    W = operand_def(T)
    B = operand_def(T.optional)

    Y = result_def(T)

    auto_pad = prop_def(STRING_ATTR, string_attr("NOTSET"))
    dilations = opt_prop_def(INT_ARRAY_ATTR)
    group = prop_def(INT_ATTR, int_attr(1))
    kernel_shape = opt_prop_def(INT_ARRAY_ATTR)
    output_padding = opt_prop_def(INT_ARRAY_ATTR)
    output_shape = opt_prop_def(INT_ARRAY_ATTR)
    pads = opt_prop_def(INT_ARRAY_ATTR)
    strides = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure(), Checks(transposed_convolution))


@irdl_op_definition
class ConvTransposeV1Op(OnnxOp):
    """
    The gradient of a convolution: each element of `X` spreads the weights, plus `B`.

    As of opsets 1 to 10. The odd element of a padding computed from `output_shape` goes to the other side.
    """

    name = "onnx.ConvTransposeV1"

    OP_TYPE: ClassVar = "ConvTranspose"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 11

    T: ClassVar = types("T", "floats")

    X = operand_def(T)
    W = operand_def(T)
    B = operand_def(T.optional)

    Y = result_def(T)

    auto_pad = prop_def(STRING_ATTR, string_attr("NOTSET"))
    dilations = opt_prop_def(INT_ARRAY_ATTR)
    group = prop_def(INT_ATTR, int_attr(1))
    kernel_shape = opt_prop_def(INT_ARRAY_ATTR)
    output_padding = opt_prop_def(INT_ARRAY_ATTR)
    output_shape = opt_prop_def(INT_ARRAY_ATTR)
    pads = opt_prop_def(INT_ARRAY_ATTR)
    strides = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure(), Checks(transposed_convolution))


@irdl_op_definition
class DeformConvOp(OnnxOp):
    """Deformable convolution: `offset` moves each element of the window."""

    name = "onnx.DeformConv"

    OP_TYPE: ClassVar = "DeformConv"
    SINCE: ClassVar = 19

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)
    W = operand_def(T)
    offset = operand_def(T)
    B = operand_def(T.optional)
    mask = operand_def(T.optional)

    Y = result_def(T)

    dilations = opt_prop_def(INT_ARRAY_ATTR)
    group = prop_def(INT_ATTR, int_attr(1))
    kernel_shape = opt_prop_def(INT_ARRAY_ATTR)
    offset_group = prop_def(INT_ATTR, int_attr(1))
    pads = opt_prop_def(INT_ARRAY_ATTR)
    strides = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure(), Checks(convolution("X", "W", "B"), deformation))


@irdl_op_definition
class QLinearConvOp(OnnxOp):
    """The convolution of a quantized image with quantized weights, quantized again."""

    name = "onnx.QLinearConv"

    OP_TYPE: ClassVar = "QLinearConv"
    SINCE: ClassVar = 10

    T1: ClassVar = types("T1", "i8 ui8")
    T2: ClassVar = types("T2", "i8 ui8")
    T3: ClassVar = types("T3", "i8 ui8")
    T4: ClassVar = types("T4", "i32")

    x = operand_def(T1)
    x_scale = operand_def(FLOAT)
    x_zero_point = operand_def(T1)
    w = operand_def(T2)
    w_scale = operand_def(FLOAT)
    w_zero_point = operand_def(T2)
    y_scale = operand_def(FLOAT)
    y_zero_point = operand_def(T3)
    B = operand_def(T4.optional)

    y = result_def(T3)

    auto_pad = prop_def(STRING_ATTR, string_attr("NOTSET"))
    dilations = opt_prop_def(INT_ARRAY_ATTR)
    group = prop_def(INT_ATTR, int_attr(1))
    kernel_shape = opt_prop_def(INT_ARRAY_ATTR)
    pads = opt_prop_def(INT_ARRAY_ATTR)
    strides = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(
        Pure(),
        Checks(
            convolution("x", "w", "B"),
            holds_one("x_scale"),
            holds_one("x_zero_point"),
            holds_one("y_scale"),
            holds_one("y_zero_point"),
            one_for_each("w_scale", "w", 0),
            one_for_each("w_zero_point", "w", 0),
        ),
    )


OPS: tuple[type[OnnxOp], ...] = (
    Col2ImOp,
    ConvOp,
    ConvIntegerOp,
    ConvTransposeOp,
    ConvTransposeV1Op,
    DeformConvOp,
    QLinearConvOp,
)
