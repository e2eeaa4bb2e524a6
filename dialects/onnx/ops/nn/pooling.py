"""Pooling; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import float_attr, int_attr, string_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import holds_for_axes, listed_regions, rank_at_least, rank_is
from xonnc.dialects.onnx.checks.values import at_least, integer_in
from xonnc.dialects.onnx.checks.windows import pooled_regions, pooling, unpooling
from xonnc.dialects.onnx.constraints import FLOAT_ATTR, INT_ARRAY_ATTR, INT_ATTR, STRING_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class AveragePoolOp(OnnxOp):
    """
    The mean of each window of `X`.

    ```mlir
    %r = "onnx.AveragePool"(%0) <{kernel_shape = [2, 2]}> : (tensor<1x3x8x8xf32>) -> tensor<1x3x7x7xf32>
    ```
    """

    name = "onnx.AveragePool"

    OP_TYPE: ClassVar = "AveragePool"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    auto_pad = prop_def(STRING_ATTR, string_attr("NOTSET"))
    ceil_mode = prop_def(INT_ATTR, int_attr(0))
    count_include_pad = prop_def(INT_ATTR, int_attr(0))
    dilations = opt_prop_def(INT_ARRAY_ATTR)
    kernel_shape = prop_def(INT_ARRAY_ATTR)
    pads = opt_prop_def(INT_ARRAY_ATTR)
    strides = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(
        Pure(), Checks(pooling, integer_in("ceil_mode", 0, 1), integer_in("count_include_pad", 0, 1))
    )


@irdl_op_definition
class GlobalAveragePoolOp(OnnxOp):
    """
    The mean of each channel.

    ```mlir
    %r = "onnx.GlobalAveragePool"(%0) : (tensor<1x3x8x8xf32>) -> tensor<1x3x1x1xf32>
    ```
    """

    name = "onnx.GlobalAveragePool"

    OP_TYPE: ClassVar = "GlobalAveragePool"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure(), Checks(rank_at_least("X", 3, "Data input shape must be at least (NxCxD1)")))


@irdl_op_definition
class GlobalLpPoolOp(OnnxOp):
    """The Lp norm of each channel."""

    name = "onnx.GlobalLpPool"

    OP_TYPE: ClassVar = "GlobalLpPool"
    SINCE: ClassVar = 2

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    p = prop_def(INT_ATTR, int_attr(2))

    traits = traits_def(
        Pure(), Checks(rank_at_least("X", 3, "Data input shape must be at least (NxCxD1)"), at_least("p", 1))
    )


@irdl_op_definition
class GlobalLpPoolV1Op(OnnxOp):
    """
    The Lp norm of each channel.

    As of opset 1.
    """

    name = "onnx.GlobalLpPoolV1"

    OP_TYPE: ClassVar = "GlobalLpPool"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 2

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    p = prop_def(FLOAT_ATTR, float_attr(2.0))

    traits = traits_def(
        Pure(), Checks(rank_at_least("X", 3, "Data input shape must be at least (NxCxD1)"), at_least("p", 1))
    )


@irdl_op_definition
class GlobalMaxPoolOp(OnnxOp):
    """The largest element of each channel."""

    name = "onnx.GlobalMaxPool"

    OP_TYPE: ClassVar = "GlobalMaxPool"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure(), Checks(rank_at_least("X", 3, "Data input shape must be at least (NxCxD1)")))


@irdl_op_definition
class LpPoolOp(OnnxOp):
    """The Lp norm of each window of `X`."""

    name = "onnx.LpPool"

    OP_TYPE: ClassVar = "LpPool"
    SINCE: ClassVar = 2

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    auto_pad = prop_def(STRING_ATTR, string_attr("NOTSET"))
    ceil_mode = prop_def(INT_ATTR, int_attr(0))
    dilations = opt_prop_def(INT_ARRAY_ATTR)
    kernel_shape = prop_def(INT_ARRAY_ATTR)
    p = prop_def(INT_ATTR, int_attr(2))
    pads = opt_prop_def(INT_ARRAY_ATTR)
    strides = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure(), Checks(pooling, integer_in("ceil_mode", 0, 1), at_least("p", 1)))


@irdl_op_definition
class LpPoolV1Op(OnnxOp):
    """
    The Lp norm of each window of `X`.

    As of opset 1.
    """

    name = "onnx.LpPoolV1"

    OP_TYPE: ClassVar = "LpPool"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 2

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    auto_pad = prop_def(STRING_ATTR, string_attr("NOTSET"))
    kernel_shape = opt_prop_def(INT_ARRAY_ATTR)
    p = prop_def(FLOAT_ATTR, float_attr(2.0))
    pads = opt_prop_def(INT_ARRAY_ATTR)
    strides = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class MaxPoolOp(OnnxOp):
    """
    The largest element of each window of `X`, and where it is.

    ```mlir
    %r = "onnx.MaxPool"(%0) <{kernel_shape = [1, 1]}> : (tensor<1x3x8x8xf32>) -> (tensor<1x3x7x7xf32>, none)
    ```
    """

    name = "onnx.MaxPool"

    OP_TYPE: ClassVar = "MaxPool"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "i8 ui8 floats bf16")
    I_TYPES: ClassVar = types("I", "i64")

    X = operand_def(T)

    Y = result_def(T)
    Indices = result_def(I_TYPES.optional)

    auto_pad = prop_def(STRING_ATTR, string_attr("NOTSET"))
    ceil_mode = prop_def(INT_ATTR, int_attr(0))
    dilations = opt_prop_def(INT_ARRAY_ATTR)
    kernel_shape = prop_def(INT_ARRAY_ATTR)
    pads = opt_prop_def(INT_ARRAY_ATTR)
    storage_order = prop_def(INT_ATTR, int_attr(0))
    strides = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(
        Pure(), Checks(pooling, integer_in("storage_order", 0, 1), integer_in("ceil_mode", 0, 1))
    )


@irdl_op_definition
class MaxRoiPoolOp(OnnxOp):
    """The largest element of each cell of each region of interest."""

    name = "onnx.MaxRoiPool"

    OP_TYPE: ClassVar = "MaxRoiPool"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)
    rois = operand_def(T)

    Y = result_def(T)

    pooled_shape = prop_def(INT_ARRAY_ATTR)
    spatial_scale = prop_def(FLOAT_ATTR, float_attr(1.0))

    traits = traits_def(
        Pure(),
        Checks(rank_is("rois", 2, text="rois rank is expected to be 2d"), listed_regions, pooled_regions),
    )


@irdl_op_definition
class MaxUnpoolOp(OnnxOp):
    """Undoes a max pooling: elements at their indices, 0 elsewhere."""

    name = "onnx.MaxUnpool"

    OP_TYPE: ClassVar = "MaxUnpool"
    SINCE: ClassVar = 9

    T1: ClassVar = types("T1", "floats bf16")
    T2: ClassVar = types("T2", "i64")

    X = operand_def(T1)
    I_in = operand_def(T2)
    output_shape = operand_def(T2.optional)

    output = result_def(T1)

    kernel_shape = prop_def(INT_ARRAY_ATTR)
    pads = opt_prop_def(INT_ARRAY_ATTR)
    strides = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure(), Checks(holds_for_axes("output_shape", "X"), unpooling))


OPS: tuple[type[OnnxOp], ...] = (
    AveragePoolOp,
    GlobalAveragePoolOp,
    GlobalLpPoolOp,
    GlobalLpPoolV1Op,
    GlobalMaxPoolOp,
    LpPoolOp,
    LpPoolV1Op,
    MaxPoolOp,
    MaxRoiPoolOp,
    MaxUnpoolOp,
)
