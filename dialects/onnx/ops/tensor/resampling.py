"""Resampling; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import float_attr, int_attr, string_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import affine_grid, holds_for_axes, rank_is, same_size, sampling_grid
from xonnc.dialects.onnx.checks.values import (
    axes_in_range,
    early_sampling_mode,
    integer_in,
    one_for_each_axis,
    one_of,
    resampling,
    sampling_mode,
)
from xonnc.dialects.onnx.constraints import (
    FLOAT,
    FLOAT_ARRAY_ATTR,
    FLOAT_ATTR,
    INT64,
    INT_ARRAY_ATTR,
    INT_ATTR,
    STRING_ATTR,
    types,
)
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class AffineGridOp(OnnxOp):
    """The sampling grid of affine transformations in two or three dimensions."""

    name = "onnx.AffineGrid"

    OP_TYPE: ClassVar = "AffineGrid"
    SINCE: ClassVar = 20

    T1: ClassVar = types("T1", "floats bf16")
    T2: ClassVar = types("T2", "i64")

    theta = operand_def(T1)
    size = operand_def(T2)

    grid = result_def(T1)

    align_corners = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(integer_in("align_corners", 0, 1), rank_is("theta", 3), rank_is("size", 1), affine_grid),
    )


@irdl_op_definition
class GridSampleOp(OnnxOp):
    """`X` sampled at the coordinates of the grid."""

    name = "onnx.GridSample"

    OP_TYPE: ClassVar = "GridSample"
    SINCE: ClassVar = 20

    T1: ClassVar = types("T1", "i1 ints uints floats bf16 complexes string")
    T2: ClassVar = types("T2", "floats bf16")

    X = operand_def(T1)
    grid = operand_def(T2)

    Y = result_def(T1)

    align_corners = prop_def(INT_ATTR, int_attr(0))
    mode = prop_def(STRING_ATTR, string_attr("linear"))
    padding_mode = prop_def(STRING_ATTR, string_attr("zeros"))

    traits = traits_def(
        Pure(),
        Checks(
            one_of(
                "padding_mode",
                "zeros",
                "border",
                "reflection",
                text="padding_mode needs to be zeros, border or reflection, not {}",
            ),
            integer_in("align_corners", 0, 1, "align_corners needs to be 0 or 1, not {}"),
            same_size("X", 0, "grid", 0, "Input and grid must have the same batch value."),
            sampling_mode,
            sampling_grid,
        ),
    )


@irdl_op_definition
class GridSampleV16Op(OnnxOp):
    """
    `X` sampled at the coordinates of the grid.

    As of opsets 16 to 19. Modes have other names, `bilinear` and `bicubic`.
    """

    name = "onnx.GridSampleV16"

    OP_TYPE: ClassVar = "GridSample"
    SINCE: ClassVar = 16
    UNTIL: ClassVar = 20

    T1: ClassVar = types("T1", "i1 ints uints floats complexes string")
    T2: ClassVar = types("T2", "floats")

    X = operand_def(T1)
    grid = operand_def(T2)

    Y = result_def(T1)

    align_corners = prop_def(INT_ATTR, int_attr(0))
    mode = prop_def(STRING_ATTR, string_attr("bilinear"))
    padding_mode = prop_def(STRING_ATTR, string_attr("zeros"))

    traits = traits_def(
        Pure(),
        Checks(
            one_of(
                "padding_mode",
                "zeros",
                "border",
                "reflection",
                text="padding_mode needs to be zeros, border or reflection, not {}",
            ),
            integer_in("align_corners", 0, 1, "align_corners needs to be 0 or 1, not {}"),
            same_size("X", 0, "grid", 0, "Input and grid must have the same batch value."),
            early_sampling_mode,
            sampling_grid,
        ),
    )


@irdl_op_definition
class ResizeOp(OnnxOp):
    """
    The input resampled to other sizes.

    ```mlir
    %r = "onnx.Resize"(%0, %none, %2, %none)
      : (tensor<1x1x2x2xf32>, none, tensor<4xf32>, none) -> tensor<1x1x4x4xf32>
    ```
    """

    name = "onnx.Resize"

    OP_TYPE: ClassVar = "Resize"
    SINCE: ClassVar = 19

    T1: ClassVar = types("T1", "i1 ints uints floats bf16 complexes string")
    T2: ClassVar = types("T2", "floats")

    X = operand_def(T1)
    roi = operand_def(T2.optional)
    scales = operand_def(FLOAT.optional)
    sizes = operand_def(INT64.optional)

    Y = result_def(T1)

    antialias = prop_def(INT_ATTR, int_attr(0))
    axes = opt_prop_def(INT_ARRAY_ATTR)
    coordinate_transformation_mode = prop_def(STRING_ATTR, string_attr("half_pixel"))
    cubic_coeff_a = prop_def(FLOAT_ATTR, float_attr(-0.75))
    exclude_outside = prop_def(INT_ATTR, int_attr(0))
    extrapolation_value = prop_def(FLOAT_ATTR, float_attr(0.0))
    keep_aspect_ratio_policy = prop_def(STRING_ATTR, string_attr("stretch"))
    mode = prop_def(STRING_ATTR, string_attr("nearest"))
    nearest_mode = prop_def(STRING_ATTR, string_attr("round_prefer_floor"))

    traits = traits_def(
        Pure(),
        Checks(
            one_of("mode", "nearest", "linear", "cubic"),
            one_of("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller"),
            holds_for_axes("scales", "X", "axes", text="expected scales to have the same rank as input"),
            holds_for_axes("sizes", "X", "axes", text="expected sizes to have the same rank as input"),
            resampling,
            one_of(
                "coordinate_transformation_mode",
                "half_pixel",
                "half_pixel_symmetric",
                "pytorch_half_pixel",
                "align_corners",
                "asymmetric",
                "tf_half_pixel_for_nn",
                "tf_crop_and_resize",
            ),
            one_of("nearest_mode", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
            integer_in("antialias", 0, 1),
            integer_in("exclude_outside", 0, 1),
            axes_in_range("axes", "X"),
        ),
    )


@irdl_op_definition
class ResizeV18Op(OnnxOp):
    """
    The input resampled to other sizes.

    As of opset 18.
    """

    name = "onnx.ResizeV18"

    OP_TYPE: ClassVar = "Resize"
    SINCE: ClassVar = 18
    UNTIL: ClassVar = 19

    T1: ClassVar = types("T1", "i1 ints uints floats bf16 complexes string")
    T2: ClassVar = types("T2", "floats")

    X = operand_def(T1)
    roi = operand_def(T2.optional)
    scales = operand_def(FLOAT.optional)
    sizes = operand_def(INT64.optional)

    Y = result_def(T1)

    antialias = prop_def(INT_ATTR, int_attr(0))
    axes = opt_prop_def(INT_ARRAY_ATTR)
    coordinate_transformation_mode = prop_def(STRING_ATTR, string_attr("half_pixel"))
    cubic_coeff_a = prop_def(FLOAT_ATTR, float_attr(-0.75))
    exclude_outside = prop_def(INT_ATTR, int_attr(0))
    extrapolation_value = prop_def(FLOAT_ATTR, float_attr(0.0))
    keep_aspect_ratio_policy = prop_def(STRING_ATTR, string_attr("stretch"))
    mode = prop_def(STRING_ATTR, string_attr("nearest"))
    nearest_mode = prop_def(STRING_ATTR, string_attr("round_prefer_floor"))

    traits = traits_def(
        Pure(),
        Checks(
            one_of("mode", "nearest", "linear", "cubic"),
            one_of("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller"),
            holds_for_axes("scales", "X", "axes", text="expected scales to have the same rank as input"),
            holds_for_axes("sizes", "X", "axes", text="expected sizes to have the same rank as input"),
            resampling,
            one_of(
                "coordinate_transformation_mode",
                "half_pixel",
                "half_pixel_symmetric",
                "pytorch_half_pixel",
                "align_corners",
                "asymmetric",
                "tf_half_pixel_for_nn",
                "tf_crop_and_resize",
            ),
            one_of("nearest_mode", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
            integer_in("antialias", 0, 1),
            integer_in("exclude_outside", 0, 1),
            axes_in_range("axes", "X"),
        ),
    )


@irdl_op_definition
class ResizeV13Op(OnnxOp):
    """
    The input resampled to other sizes.

    As of opsets 13 to 17.
    """

    name = "onnx.ResizeV13"

    OP_TYPE: ClassVar = "Resize"
    SINCE: ClassVar = 13
    UNTIL: ClassVar = 18

    T1: ClassVar = types("T1", "i1 ints uints floats bf16 complexes string")
    T2: ClassVar = types("T2", "floats")

    X = operand_def(T1)
    roi = operand_def(T2.optional)
    scales = operand_def(FLOAT.optional)
    sizes = operand_def(INT64.optional)

    Y = result_def(T1)

    coordinate_transformation_mode = prop_def(STRING_ATTR, string_attr("half_pixel"))
    cubic_coeff_a = prop_def(FLOAT_ATTR, float_attr(-0.75))
    exclude_outside = prop_def(INT_ATTR, int_attr(0))
    extrapolation_value = prop_def(FLOAT_ATTR, float_attr(0.0))
    mode = prop_def(STRING_ATTR, string_attr("nearest"))
    nearest_mode = prop_def(STRING_ATTR, string_attr("round_prefer_floor"))

    traits = traits_def(
        Pure(),
        Checks(
            one_of("mode", "nearest", "linear", "cubic"),
            holds_for_axes("scales", "X", text="expected scales to have the same rank as input"),
            holds_for_axes("sizes", "X", text="expected sizes to have the same rank as input"),
            resampling,
            one_of(
                "coordinate_transformation_mode",
                "half_pixel",
                "half_pixel_symmetric",
                "pytorch_half_pixel",
                "align_corners",
                "asymmetric",
                "tf_half_pixel_for_nn",
                "tf_crop_and_resize",
            ),
            one_of("nearest_mode", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
            integer_in("exclude_outside", 0, 1),
        ),
    )


@irdl_op_definition
class ResizeV11Op(OnnxOp):
    """
    The input resampled to other sizes.

    As of opsets 11 to 12.
    """

    name = "onnx.ResizeV11"

    OP_TYPE: ClassVar = "Resize"
    SINCE: ClassVar = 11
    UNTIL: ClassVar = 13

    T1: ClassVar = types("T1", "i1 ints uints floats complexes string")
    T2: ClassVar = types("T2", "floats")

    X = operand_def(T1)
    roi = operand_def(T2)
    scales = operand_def(FLOAT)
    sizes = operand_def(INT64.optional)

    Y = result_def(T1)

    coordinate_transformation_mode = prop_def(STRING_ATTR, string_attr("half_pixel"))
    cubic_coeff_a = prop_def(FLOAT_ATTR, float_attr(-0.75))
    exclude_outside = prop_def(INT_ATTR, int_attr(0))
    extrapolation_value = prop_def(FLOAT_ATTR, float_attr(0.0))
    mode = prop_def(STRING_ATTR, string_attr("nearest"))
    nearest_mode = prop_def(STRING_ATTR, string_attr("round_prefer_floor"))

    traits = traits_def(
        Pure(),
        Checks(
            one_of("mode", "nearest", "linear", "cubic"),
            holds_for_axes("scales", "X", text="expected scales to have the same rank as input"),
            holds_for_axes("sizes", "X", text="expected sizes to have the same rank as input"),
            one_of(
                "coordinate_transformation_mode",
                "half_pixel",
                "half_pixel_symmetric",
                "pytorch_half_pixel",
                "align_corners",
                "asymmetric",
                "tf_half_pixel_for_nn",
                "tf_crop_and_resize",
            ),
            one_of("nearest_mode", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
            integer_in("exclude_outside", 0, 1),
        ),
    )


@irdl_op_definition
class ResizeV10Op(OnnxOp):
    """
    The input resampled to other sizes.

    As of opset 10. Coordinates are asymmetric.
    """

    name = "onnx.ResizeV10"

    OP_TYPE: ClassVar = "Resize"
    SINCE: ClassVar = 10
    UNTIL: ClassVar = 11

    T: ClassVar = types("T", "i1 ints uints floats complexes string")

    X = operand_def(T)
    scales = operand_def(FLOAT)

    Y = result_def(T)

    mode = prop_def(STRING_ATTR, string_attr("nearest"))

    traits = traits_def(
        Pure(),
        Checks(
            one_of("mode", "nearest", "linear", "cubic"),
            holds_for_axes("scales", "X", text="expected scales to have the same rank as input"),
        ),
    )


@irdl_op_definition
class UpsampleOp(OnnxOp):
    """
    The input resampled to larger sizes.

    Deprecated.
    """

    name = "onnx.Upsample"

    OP_TYPE: ClassVar = "Upsample"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "i1 ints uints floats complexes string")

    X = operand_def(T)
    scales = operand_def(FLOAT)

    Y = result_def(T)

    mode = prop_def(STRING_ATTR, string_attr("nearest"))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("scales", 1, text="Scales tensor must be rank 1"),
            one_of("mode", "nearest", "linear", "bilinear"),
            holds_for_axes("scales", "X", text="Input tensor rank doesn't match scales tensor shape"),
        ),
    )


@irdl_op_definition
class UpsampleV7Op(OnnxOp):
    """
    The input resampled to larger sizes.

    As of opsets 7 to 8.
    """

    name = "onnx.UpsampleV7"

    OP_TYPE: ClassVar = "Upsample"
    SINCE: ClassVar = 7
    UNTIL: ClassVar = 9

    T: ClassVar = types("T", "i1 ints uints floats complexes string")

    X = operand_def(T)

    Y = result_def(T)

    mode = prop_def(STRING_ATTR, string_attr("nearest"))
    scales = prop_def(FLOAT_ARRAY_ATTR)

    traits = traits_def(
        Pure(), Checks(one_of("mode", "nearest", "linear", "bilinear"), one_for_each_axis("scales", "X"))
    )


@irdl_op_definition
class UpsampleV1Op(OnnxOp):
    """
    The input resampled to larger sizes.

    As of opsets 1 to 6.
    """

    name = "onnx.UpsampleV1"

    OP_TYPE: ClassVar = "Upsample"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "i1 i32 i64 floats")

    X = operand_def(T)

    Y = result_def(T)

    height_scale = prop_def(FLOAT_ATTR)
    mode = prop_def(STRING_ATTR, string_attr("nearest"))
    width_scale = prop_def(FLOAT_ATTR)

    traits = traits_def(Pure(), Checks(one_of("mode", "nearest", "linear", "bilinear")))


OPS: tuple[type[OnnxOp], ...] = (
    AffineGridOp,
    GridSampleOp,
    GridSampleV16Op,
    ResizeOp,
    ResizeV18Op,
    ResizeV13Op,
    ResizeV11Op,
    ResizeV10Op,
    UpsampleOp,
    UpsampleV7Op,
    UpsampleV1Op,
)
