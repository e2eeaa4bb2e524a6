"""Normalisations; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import float_attr, int_array_attr, int_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import (
    broadcast_into,
    grouped_channels,
    rank_at_least,
    rank_is,
    same_size,
)
from xonnc.dialects.onnx.checks.values import at_least, axes_in_range, axis_in_range, integer_in
from xonnc.dialects.onnx.constraints import FLOAT_ATTR, INT_ARRAY_ATTR, INT_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class BatchNormalizationOp(OnnxOp):
    """
    `Y = scale (X - mean) / √(var + epsilon) + B` by channel; in training, mean and variance are those of
    the batch.
    """

    name = "onnx.BatchNormalization"

    OP_TYPE: ClassVar = "BatchNormalization"
    SINCE: ClassVar = 14

    T: ClassVar = types("T", "floats bf16")
    T1: ClassVar = types("T1", "floats bf16")
    T2: ClassVar = types("T2", "floats bf16")

    X = operand_def(T)
    scale = operand_def(T1)
    B = operand_def(T1)
    input_mean = operand_def(T2)
    input_var = operand_def(T2)

    Y = result_def(T)
    running_mean = result_def(T2.optional)
    running_var = result_def(T2.optional)

    epsilon = prop_def(FLOAT_ATTR, float_attr(1e-05))
    momentum = prop_def(FLOAT_ATTR, float_attr(0.9))
    training_mode = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("scale", 1, text="Wrong rank for the scale"),
            rank_is("B", 1, text="Wrong rank for the bias"),
            same_size("X", 1, "scale", 0, "Wrong rank for the scale: not one number for each channel"),
            integer_in("training_mode", 0, 1),
            same_size("X", 1, "B", 0, "Wrong rank for the bias: not one number for each channel"),
            rank_is("input_mean", 1, text="Wrong rank for the mean"),
            same_size("X", 1, "input_mean", 0, "Wrong rank for the mean: not one number for each channel"),
            rank_is("input_var", 1, text="Wrong rank for the variance"),
            same_size("X", 1, "input_var", 0, "Wrong rank for the variance: not one number for each channel"),
        ),
    )


@irdl_op_definition
class BatchNormalizationV9Op(OnnxOp):
    """
    `Y = scale (X - mean) / √(var + epsilon) + B` by channel; in training, mean and variance are those of
    the batch.

    As of opsets 9 to 13. Training has five results.
    """

    name = "onnx.BatchNormalizationV9"

    OP_TYPE: ClassVar = "BatchNormalization"
    SINCE: ClassVar = 9
    UNTIL: ClassVar = 14

    T: ClassVar = types("T", "floats")

    X = operand_def(T)
    scale = operand_def(T)
    B = operand_def(T)
    mean = operand_def(T)
    var = operand_def(T)

    Y = result_def(T)
    mean_out = result_def(T.optional)
    var_out = result_def(T.optional)
    saved_mean = result_def(T.optional)
    saved_var = result_def(T.optional)

    epsilon = prop_def(FLOAT_ATTR, float_attr(1e-05))
    momentum = prop_def(FLOAT_ATTR, float_attr(0.9))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("scale", 1, text="Wrong rank for the scale"),
            rank_is("B", 1, text="Wrong rank for the bias"),
            same_size("X", 1, "scale", 0, "Wrong rank for the scale: not one number for each channel"),
            same_size("X", 1, "B", 0, "Wrong rank for the bias: not one number for each channel"),
            same_size("X", 1, "mean", 0, "Wrong rank for the mean: not one number for each channel"),
            same_size("X", 1, "var", 0, "Wrong rank for the variance: not one number for each channel"),
        ),
    )


@irdl_op_definition
class BatchNormalizationV7Op(OnnxOp):
    """
    `Y = scale (X - mean) / √(var + epsilon) + B` by channel; in training, mean and variance are those of
    the batch.

    As of opsets 7 to 8. Training has five results; `spatial` is 1 for one mean a channel.
    """

    name = "onnx.BatchNormalizationV7"

    OP_TYPE: ClassVar = "BatchNormalization"
    SINCE: ClassVar = 7
    UNTIL: ClassVar = 9

    T: ClassVar = types("T", "floats")

    X = operand_def(T)
    scale = operand_def(T)
    B = operand_def(T)
    mean = operand_def(T)
    var = operand_def(T)

    Y = result_def(T)
    mean_out = result_def(T.optional)
    var_out = result_def(T.optional)
    saved_mean = result_def(T.optional)
    saved_var = result_def(T.optional)

    epsilon = prop_def(FLOAT_ATTR, float_attr(1e-05))
    momentum = prop_def(FLOAT_ATTR, float_attr(0.9))
    spatial = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("scale", 1, text="Wrong rank for the scale"),
            rank_is("B", 1, text="Wrong rank for the bias"),
            same_size("X", 1, "scale", 0, "Wrong rank for the scale: not one number for each channel"),
        ),
    )


@irdl_op_definition
class BatchNormalizationV6Op(OnnxOp):
    """
    `Y = scale (X - mean) / √(var + epsilon) + B` by channel; in training, mean and variance are those of
    the batch.

    As of opset 6. `is_test` chooses between inference and training; `spatial` is 1 for one mean a channel.
    """

    name = "onnx.BatchNormalizationV6"

    OP_TYPE: ClassVar = "BatchNormalization"
    SINCE: ClassVar = 6
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "floats")

    X = operand_def(T)
    scale = operand_def(T)
    B = operand_def(T)
    mean = operand_def(T)
    var = operand_def(T)

    Y = result_def(T)
    mean_out = result_def(T.optional)
    var_out = result_def(T.optional)
    saved_mean = result_def(T.optional)
    saved_var = result_def(T.optional)

    epsilon = prop_def(FLOAT_ATTR, float_attr(1e-05))
    is_test = prop_def(INT_ATTR, int_attr(0))
    momentum = prop_def(FLOAT_ATTR, float_attr(0.9))
    spatial = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("scale", 1, text="Wrong rank for the scale"),
            rank_is("B", 1, text="Wrong rank for the bias"),
            same_size("X", 1, "scale", 0, "Wrong rank for the scale: not one number for each channel"),
        ),
    )


@irdl_op_definition
class BatchNormalizationV1Op(OnnxOp):
    """
    `Y = scale (X - mean) / √(var + epsilon) + B` by channel; in training, mean and variance are those of
    the batch.

    As of opsets 1 to 5. `is_test` chooses between inference and training; `spatial` is 1 for one mean a
    channel. `consumed_inputs` has no meaning.
    """

    name = "onnx.BatchNormalizationV1"

    OP_TYPE: ClassVar = "BatchNormalization"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)
    scale = operand_def(T)
    B = operand_def(T)
    mean = operand_def(T)
    var = operand_def(T)

    Y = result_def(T)
    mean_out = result_def(T.optional)
    var_out = result_def(T.optional)
    saved_mean = result_def(T.optional)
    saved_var = result_def(T.optional)

    consumed_inputs = prop_def(INT_ARRAY_ATTR)
    epsilon = prop_def(FLOAT_ATTR, float_attr(1e-05))
    is_test = prop_def(INT_ATTR, int_attr(0))
    momentum = prop_def(FLOAT_ATTR, float_attr(0.9))
    spatial = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("scale", 1, text="Wrong rank for the scale"),
            rank_is("B", 1, text="Wrong rank for the bias"),
            same_size("X", 1, "scale", 0, "Wrong rank for the scale: not one number for each channel"),
        ),
    )


@irdl_op_definition
class GroupNormalizationOp(OnnxOp):
    """`Y = scale (X - mean) / √(var + epsilon) + bias`, mean and variance by group."""

    name = "onnx.GroupNormalization"

    OP_TYPE: ClassVar = "GroupNormalization"
    SINCE: ClassVar = 21

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)
    scale = operand_def(T)
    bias = operand_def(T)

    Y = result_def(T)

    epsilon = prop_def(FLOAT_ATTR, float_attr(1e-05))
    num_groups = prop_def(INT_ATTR)
    stash_type = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(Pure(), Checks(at_least("num_groups", 1), grouped_channels))


@irdl_op_definition
class GroupNormalizationV18Op(OnnxOp):
    """
    `Y = scale (X - mean) / √(var + epsilon) + bias`, mean and variance by group.

    As of opsets 18 to 20. `scale` and `bias` are by group.
    """

    name = "onnx.GroupNormalizationV18"

    OP_TYPE: ClassVar = "GroupNormalization"
    SINCE: ClassVar = 18
    UNTIL: ClassVar = 21

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)
    scale = operand_def(T)
    bias = operand_def(T)

    Y = result_def(T)

    epsilon = prop_def(FLOAT_ATTR, float_attr(1e-05))
    num_groups = prop_def(INT_ATTR)

    traits = traits_def(Pure(), Checks(at_least("num_groups", 1), grouped_channels))


@irdl_op_definition
class InstanceNormalizationOp(OnnxOp):
    """
    `output = scale (input - mean) / √(var + epsilon) + B` by image and channel.

    ```mlir
    %r = "onnx.InstanceNormalization"(%0, %1, %2)
      : (tensor<1x3x8x8xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x8x8xf32>
    ```
    """

    name = "onnx.InstanceNormalization"

    OP_TYPE: ClassVar = "InstanceNormalization"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)
    scale = operand_def(T)
    B = operand_def(T)

    output = result_def(T)

    epsilon = prop_def(FLOAT_ATTR, float_attr(1e-05))

    traits = traits_def(
        Pure(),
        Checks(
            rank_at_least("input", 3, "Spatial rank must be strictly positive"),
            rank_is("scale", 1, text="Scale should have a rank of one"),
            rank_is("B", 1, text="Bias should have a rank of one"),
            same_size(
                "input", 1, "scale", 0, "Scale should have same dimension as the second dimension of input"
            ),
            same_size("input", 1, "B", 0, "Bias should have same dimension as the second dimension of input"),
        ),
    )


@irdl_op_definition
class InstanceNormalizationV1Op(OnnxOp):
    """
    `output = scale (input - mean) / √(var + epsilon) + B` by image and channel.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.InstanceNormalizationV1"

    OP_TYPE: ClassVar = "InstanceNormalization"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    input = operand_def(T)
    scale = operand_def(T)
    B = operand_def(T)

    output = result_def(T)

    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)
    epsilon = prop_def(FLOAT_ATTR, float_attr(1e-05))

    traits = traits_def(
        Pure(),
        Checks(
            rank_at_least("input", 3, "Spatial rank must be strictly positive"),
            rank_is("scale", 1, text="Scale should have a rank of one"),
            rank_is("B", 1, text="Bias should have a rank of one"),
            same_size(
                "input", 1, "scale", 0, "Scale should have same dimension as the second dimension of input"
            ),
            same_size("input", 1, "B", 0, "Bias should have same dimension as the second dimension of input"),
        ),
    )


@irdl_op_definition
class LRNOp(OnnxOp):
    """`Y = X / (bias + alpha / size Σ X²) ** beta`, the sum over neighbouring channels."""

    name = "onnx.LRN"

    OP_TYPE: ClassVar = "LRN"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    alpha = prop_def(FLOAT_ATTR, float_attr(1e-04))
    beta = prop_def(FLOAT_ATTR, float_attr(0.75))
    bias = prop_def(FLOAT_ATTR, float_attr(1.0))
    size = prop_def(INT_ATTR)

    traits = traits_def(Pure(), Checks(at_least("size", 1), rank_at_least("X", 2)))


@irdl_op_definition
class LayerNormalizationOp(OnnxOp):
    """
    `Y = (X - mean) / √(var + epsilon) * Scale + B`, mean and variance over the dimensions from `axis`.

    ```mlir
    %r = "onnx.LayerNormalization"(%0, %1, %2)
      : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x1xf32>, none)
    ```
    """

    name = "onnx.LayerNormalization"

    OP_TYPE: ClassVar = "LayerNormalization"
    SINCE: ClassVar = 17

    T: ClassVar = types("T", "floats bf16")
    U: ClassVar = types("U", "f32 bf16")

    X = operand_def(T)
    Scale = operand_def(T)
    B = operand_def(T.optional)

    Y = result_def(T)
    Mean = result_def(U.optional)
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
                "LayerNormalization op with incompatible scale shapes (unidirectional broadcast)",
            ),
            broadcast_into(
                "B", "X", "LayerNormalization op with incompatible B shapes (unidirectional broadcast)"
            ),
        ),
    )


@irdl_op_definition
class LpNormalizationOp(OnnxOp):
    """`output = input / ‖input‖`, the Lp norm along `axis`."""

    name = "onnx.LpNormalization"

    OP_TYPE: ClassVar = "LpNormalization"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    axis = prop_def(INT_ATTR, int_attr(-1))
    p = prop_def(INT_ATTR, int_attr(2))

    traits = traits_def(
        Pure(),
        Checks(axis_in_range("axis", "input"), integer_in("p", 1, 2, "attribute 'p' must be 1 or 2, got {}")),
    )


@irdl_op_definition
class MeanVarianceNormalizationOp(OnnxOp):
    """`Y = (X - mean) / √var` along `axes`."""

    name = "onnx.MeanVarianceNormalization"

    OP_TYPE: ClassVar = "MeanVarianceNormalization"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    axes = prop_def(INT_ARRAY_ATTR, int_array_attr(0, 2, 3))

    traits = traits_def(Pure(), Checks(axes_in_range("axes", "X")))


@irdl_op_definition
class RMSNormalizationOp(OnnxOp):
    """`Y = X / √(mean(X²) + epsilon) * scale`, the mean over the dimensions from `axis`."""

    name = "onnx.RMSNormalization"

    OP_TYPE: ClassVar = "RMSNormalization"
    SINCE: ClassVar = 23

    T: ClassVar = types("T", "floats bf16")
    V: ClassVar = types("V", "floats bf16")

    X = operand_def(T)
    scale = operand_def(V)

    Y = result_def(V)

    axis = prop_def(INT_ATTR, int_attr(-1))
    epsilon = prop_def(FLOAT_ATTR, float_attr(1e-05))
    stash_type = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(),
        Checks(
            axis_in_range("axis", "X", text="axis must be in [-r, r) range]"),
            broadcast_into("scale", "X", "RMSNormalization op with incompatible scale shapes"),
        ),
    )


OPS: tuple[type[OnnxOp], ...] = (
    BatchNormalizationOp,
    BatchNormalizationV9Op,
    BatchNormalizationV7Op,
    BatchNormalizationV6Op,
    BatchNormalizationV1Op,
    GroupNormalizationOp,
    GroupNormalizationV18Op,
    InstanceNormalizationOp,
    InstanceNormalizationV1Op,
    LRNOp,
    LayerNormalizationOp,
    LpNormalizationOp,
    MeanVarianceNormalizationOp,
    RMSNormalizationOp,
)
