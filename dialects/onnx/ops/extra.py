"""Operators that ONNX does not have and the compiler makes: special cases, fusions and changes of layout."""

from __future__ import annotations

from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.irdl import (
    BaseAttr,
    EqAttrConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsolatedFromAbove, Pure
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.attribute_builders import (
    float_attr,
    int_array_attr,
    int_attr,
    int_values,
    string_attr,
)
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import broadcast_into, concatenation, rank_is, same_size
from xonnc.dialects.onnx.checks.values import axis_in_range, integer_in
from xonnc.dialects.onnx.checks.windows import pooling, unfolding
from xonnc.dialects.onnx.constraints import FLOAT_ATTR, INT64, INT_ARRAY_ATTR, INT_ATTR, STRING_ATTR, types
from xonnc.dialects.onnx.layout import STANDARD, LayoutAttr
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import YieldOp
from xonnc.dialects.onnx.types import are_compatible, is_ranked, static_shape

_FLOATS = "floats bf16"


@irdl_op_definition
class BatchNormalizationInferenceModeOp(OnnxOp):
    """
    `Y = scale (X - mean) / sqrt(var + epsilon) + B` by channel: a batch normalisation with one result.

    ```mlir
    %y = "onnx.BatchNormalizationInferenceMode"(%x, %scale, %b, %mean, %var)
      <{epsilon = 1.000000e-05 : f32, momentum = 0.9 : f32}>
      : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
    ```
    """

    name = "onnx.BatchNormalizationInferenceMode"

    T: ClassVar = types("T", _FLOATS)
    T1: ClassVar = types("T1", _FLOATS)
    T2: ClassVar = types("T2", _FLOATS)

    X = operand_def(T)
    scale = operand_def(T1)
    B = operand_def(T1)
    mean = operand_def(T2)
    var = operand_def(T2)

    o_Y = result_def(T)

    epsilon = prop_def(FLOAT_ATTR, float_attr(1e-05))
    momentum = prop_def(FLOAT_ATTR, float_attr(0.9))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("scale", 1, text="Wrong rank for the scale"),
            same_size("X", 1, "scale", 0, "Wrong rank for the scale: not one number for each channel"),
            rank_is("B", 1, text="Wrong rank for the bias"),
            same_size("X", 1, "B", 0, "Wrong rank for the bias: not one number for each channel"),
            rank_is("mean", 1, text="Wrong rank for the mean"),
            same_size("X", 1, "mean", 0, "Wrong rank for the mean: not one number for each channel"),
            rank_is("var", 1, text="Wrong rank for the variance"),
            same_size("X", 1, "var", 0, "Wrong rank for the variance: not one number for each channel"),
        ),
    )


@irdl_op_definition
class MaxPoolSingleOutOp(OnnxOp):
    """
    Max pooling without the output of indices.

    ```mlir
    %y = "onnx.MaxPoolSingleOut"(%x) <{auto_pad = "NOTSET", ceil_mode = 0 : si64, kernel_shape = [2, 2],
      storage_order = 0 : si64}> : (tensor<1x1x4x4xf32>) -> tensor<1x1x3x3xf32>
    ```
    """

    name = "onnx.MaxPoolSingleOut"

    T: ClassVar = types("T", "i8 ui8 floats bf16")

    X = operand_def(T)

    o_Y = result_def(T)

    auto_pad = prop_def(STRING_ATTR, string_attr("NOTSET"))
    ceil_mode = prop_def(INT_ATTR, int_attr(0))
    dilations = opt_prop_def(INT_ARRAY_ATTR)
    kernel_shape = prop_def(INT_ARRAY_ATTR, int_array_attr())
    pads = opt_prop_def(INT_ARRAY_ATTR)
    storage_order = prop_def(INT_ATTR, int_attr(0))
    strides = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure(), Checks(pooling, integer_in("storage_order", 0, 1)))


@irdl_op_definition
class RMSLayerNormalizationOp(OnnxOp):
    """A layer normalisation that does not subtract the mean: `Y = Scale X / sqrt(mean(X²) + epsilon) + B`."""

    name = "onnx.RMSLayerNormalization"

    T: ClassVar = types("T", _FLOATS)
    U: ClassVar = types("U", "f32 bf16")

    X = operand_def(T)
    Scale = operand_def(T)
    B = operand_def(T.optional)

    Y = result_def(T)
    InvStdDev = result_def(U.optional)

    axis = prop_def(INT_ATTR, int_attr(-1))
    epsilon = prop_def(FLOAT_ATTR, float_attr(1e-05))
    stash_type = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(),
        Checks(
            axis_in_range("axis", "X", text="axis must be in [-r, r) range]"),
            broadcast_into(
                "Scale",
                "X",
                "RMSLayerNormalization op with incompatible scale shapes (unidirectional broadcast)",
            ),
            broadcast_into(
                "B", "X", "RMSLayerNormalization op with incompatible B shapes (unidirectional broadcast)"
            ),
        ),
    )


@irdl_op_definition
class ConcatShapeTransposeOp(OnnxOp):
    """The shape of a concatenation, `start` to `end`, and the concatenation transposed by `perm`."""

    name = "onnx.ConcatShapeTranspose"

    T: ClassVar = types(
        "T", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU float6s f4E2M1FN complexes string"
    )

    inputs = var_operand_def(T.one_or_more)

    shape = result_def(INT64)
    transposed = result_def(T)

    axis = prop_def(INT_ATTR)
    end = opt_prop_def(INT_ATTR)
    perm = opt_prop_def(INT_ARRAY_ATTR)
    start = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure(), Checks(concatenation))


@irdl_op_definition
class ShapeTransformOp(OnnxOp):
    """A reshape or transpose as a one-to-one map: element `i` of the input goes to `index_map(i)`."""

    name = "onnx.ShapeTransform"

    T: ClassVar = types("T", "f32")

    input = operand_def(T)

    output = result_def(T)

    index_map = prop_def(AffineMapAttr)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        index_map = self.index_map.data
        if index_map.num_symbols:
            raise VerifyException("'onnx.ShapeTransform' op Does not support affine_map with symbols")
        shape = static_shape(self.input.type)
        if shape is None:
            raise VerifyException("'onnx.ShapeTransform' op Does not support input with dynamic shape")
        if index_map.num_dims != len(shape):
            raise VerifyException(
                f"'onnx.ShapeTransform' op has an index_map of {index_map.num_dims} dimensions "
                f"and an input of rank {len(shape)}"
            )
        result = static_shape(self.output.type)
        if result is not None and prod(result) != prod(shape):
            raise VerifyException(
                "'onnx.ShapeTransform' op The number of elements in the input and output mismatched"
            )


@irdl_op_definition
class LayoutTransformOp(OnnxOp):
    """
    The same elements in another order in memory; the usual one if `target_layout` is absent or "STANDARD".

    ```mlir
    %1 = "onnx.LayoutTransform"(%0) <{target_layout = #onnx.layout<{dataLayout = "NCHW4C"}>}>
      : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32, #onnx.layout<{dataLayout = "NCHW4C"}>>
    ```
    """

    name = "onnx.LayoutTransform"

    T: ClassVar = types("T", "f16 f32")

    data = operand_def(T)

    output = result_def(T)

    target_layout = opt_prop_def(BaseAttr(LayoutAttr) | EqAttrConstraint(STANDARD))

    traits = traits_def(Pure())

    def verify_(self) -> None:
        data, output = self.data.type, self.output.type
        if is_ranked(data) and is_ranked(output) and data.get_shape() != output.get_shape():
            raise VerifyException(
                "'onnx.LayoutTransform' op Input and output tensors must have the same shape"
            )


@irdl_op_definition
class UpsampleAndPadOp(OnnxOp):
    """Zeros between the elements of the innermost dimensions, `strides` apart, and `pads` zeros around."""

    name = "onnx.UpsampleAndPad"

    T: ClassVar = types("T", "ints uints floats bf16")

    X = operand_def(T)

    output = result_def(T)

    pads = opt_prop_def(INT_ARRAY_ATTR)
    strides = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        strides, pads = int_values(self.strides) or (), int_values(self.pads)
        type_ = self.X.type
        if is_ranked(type_) and len(strides) > len(type_.get_shape()):
            raise VerifyException(
                f"'onnx.UpsampleAndPad' op strides dimensions ({len(strides)}) cannot exceed "
                f"input rank ({len(type_.get_shape())})"
            )
        for index, stride in enumerate(strides):
            if stride < 1:
                raise VerifyException(f"'onnx.UpsampleAndPad' op stride[{index}] = {stride} must be positive")
        if strides and pads is not None and len(pads) != 2 * len(strides):
            raise VerifyException(
                f"'onnx.UpsampleAndPad' op pads size ({len(pads)}) must be exactly "
                f"2 * strides size ({2 * len(strides)})"
            )


@irdl_op_definition
class Im2ColOp(OnnxOp):
    """The windows of a convolution as columns: `[N, C, …]` becomes `[N, C ∏ kernel, ∏ output]`."""

    name = "onnx.Im2Col"

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    output = result_def(T)

    auto_pad = prop_def(STRING_ATTR, string_attr("NOTSET"))
    dilations = opt_prop_def(INT_ARRAY_ATTR)
    kernel_shape = prop_def(INT_ARRAY_ATTR)
    pads = opt_prop_def(INT_ARRAY_ATTR)
    strides = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure(), Checks(unfolding))


@irdl_op_definition
class FusedOp(OnnxOp):
    """
    Ops that are computed together: a region of its own, whose arguments are the inputs.

    ```mlir
    %1 = "onnx.Fused"(%0) <{kind = "elementwise"}> ({
    ^bb0(%arg0: tensor<2xf32>):
      %2 = "onnx.Relu"(%arg0) : (tensor<2xf32>) -> tensor<2xf32>
      onnx.Yield %2 : tensor<2xf32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    ```
    """

    name = "onnx.Fused"

    inputs = var_operand_def()

    outputs = var_result_def()

    body = region_def("single_block")

    kind = prop_def(STRING_ATTR)

    traits = traits_def(Pure(), IsolatedFromAbove())

    def verify_(self) -> None:
        block = self.body.block
        end = block.last_op
        if not isinstance(end, YieldOp):
            raise VerifyException("'onnx.Fused' op body must terminate with onnx.Yield")
        if len(end.arguments) != len(self.outputs):
            raise VerifyException(
                f"'onnx.Fused' op yield operand count ({len(end.arguments)}) must match "
                f"result count ({len(self.outputs)})"
            )
        if len(block.args) != len(self.inputs):
            raise VerifyException(
                f"'onnx.Fused' op body block argument count ({len(block.args)}) must match "
                f"inputs count ({len(self.inputs)})"
            )
        for index, (argument, value) in enumerate(zip(block.args, self.inputs, strict=True)):
            if not are_compatible(argument.type, value.type):
                raise VerifyException(
                    f"'onnx.Fused' op body block argument {index} type {argument.type} "
                    f"does not match input type {value.type}"
                )


OPS: tuple[type[OnnxOp], ...] = (
    BatchNormalizationInferenceModeOp,
    ConcatShapeTransposeOp,
    FusedOp,
    Im2ColOp,
    LayoutTransformOp,
    MaxPoolSingleOutOp,
    RMSLayerNormalizationOp,
    ShapeTransformOp,
    UpsampleAndPadOp,
)
