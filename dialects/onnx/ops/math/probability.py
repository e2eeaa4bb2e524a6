"""Distributions over an axis, and losses; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import int_attr, string_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import holds_one, labels_for, rank_below
from xonnc.dialects.onnx.checks.values import at_least, axis_in_range, constants_at_least, integer_in, one_of
from xonnc.dialects.onnx.constraints import INT64, INT_ATTR, STRING_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class HardmaxOp(OnnxOp):
    """1 at the first largest element along `axis`, 0 elsewhere."""

    name = "onnx.Hardmax"

    OP_TYPE: ClassVar = "Hardmax"
    SINCE: ClassVar = 13

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    axis = prop_def(INT_ATTR, int_attr(-1))

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "input")))


@irdl_op_definition
class HardmaxV11Op(OnnxOp):
    """
    1 at the first largest element along `axis`, 0 elsewhere.

    As of opsets 1 to 12. The input is flattened to a matrix at `axis` first.
    """

    name = "onnx.HardmaxV11"

    OP_TYPE: ClassVar = "Hardmax"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 13

    T: ClassVar = types("T", "floats")

    input = operand_def(T)

    output = result_def(T)

    axis = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "input")))


@irdl_op_definition
class LogSoftmaxOp(OnnxOp):
    """`output = ln(softmax(input))` along `axis`."""

    name = "onnx.LogSoftmax"

    OP_TYPE: ClassVar = "LogSoftmax"
    SINCE: ClassVar = 13

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    axis = prop_def(INT_ATTR, int_attr(-1))

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "input")))


@irdl_op_definition
class LogSoftmaxV11Op(OnnxOp):
    """
    `output = ln(softmax(input))` along `axis`.

    As of opsets 1 to 12. The input is flattened to a matrix at `axis` first.
    """

    name = "onnx.LogSoftmaxV11"

    OP_TYPE: ClassVar = "LogSoftmax"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 13

    T: ClassVar = types("T", "floats")

    input = operand_def(T)

    output = result_def(T)

    axis = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "input")))


@irdl_op_definition
class NegativeLogLikelihoodLossOp(OnnxOp):
    """The loss `-weight[t] input[t]` of each target t, reduced as asked."""

    name = "onnx.NegativeLogLikelihoodLoss"

    OP_TYPE: ClassVar = "NegativeLogLikelihoodLoss"
    SINCE: ClassVar = 12

    T: ClassVar = types("T", "floats bf16")
    TIND: ClassVar = types("Tind", "i32 i64")

    input = operand_def(T)
    target = operand_def(TIND)
    weight = operand_def(T.optional)

    loss = result_def(T)

    ignore_index = opt_prop_def(INT_ATTR)
    reduction = prop_def(STRING_ATTR, string_attr("mean"))

    traits = traits_def(
        Pure(), Checks(one_of("reduction", "none", "sum", "mean"), labels_for("input", "target", "weight"))
    )


@irdl_op_definition
class SoftmaxOp(OnnxOp):
    """
    `output = exp(input) / Σ exp(input)`, the sum along `axis`.

    ```mlir
    %r = "onnx.Softmax"(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    name = "onnx.Softmax"

    OP_TYPE: ClassVar = "Softmax"
    SINCE: ClassVar = 13

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    axis = prop_def(INT_ATTR, int_attr(-1))

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "input")))


@irdl_op_definition
class SoftmaxV11Op(OnnxOp):
    """
    `output = exp(input) / Σ exp(input)`, the sum along `axis`.

    As of opsets 1 to 12. The input is flattened to a matrix at `axis` first.
    """

    name = "onnx.SoftmaxV11"

    OP_TYPE: ClassVar = "Softmax"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 13

    T: ClassVar = types("T", "floats")

    input = operand_def(T)

    output = result_def(T)

    axis = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "input")))


@irdl_op_definition
class SoftmaxCrossEntropyLossOp(OnnxOp):
    """The loss `-ln softmax(scores)` at each label, reduced as asked."""

    name = "onnx.SoftmaxCrossEntropyLoss"

    OP_TYPE: ClassVar = "SoftmaxCrossEntropyLoss"
    SINCE: ClassVar = 12

    T: ClassVar = types("T", "floats bf16")
    TIND: ClassVar = types("Tind", "i32 i64")

    scores = operand_def(T)
    labels = operand_def(TIND)
    weights = operand_def(T.optional)

    output = result_def(T)
    log_prob = result_def(T.optional)

    ignore_index = opt_prop_def(INT_ATTR)
    reduction = prop_def(STRING_ATTR, string_attr("mean"))

    traits = traits_def(
        Pure(), Checks(one_of("reduction", "none", "sum", "mean"), labels_for("scores", "labels", "weights"))
    )


@irdl_op_definition
class TopKOp(OnnxOp):
    """
    The K largest elements along `axis`, or the smallest, and their indices.

    ```mlir
    %r = "onnx.TopK"(%0, %1) : (tensor<4x8xf32>, tensor<1xi64>) -> (tensor<4x?xf32>, tensor<4x?xi64>)
    ```
    """

    name = "onnx.TopK"

    OP_TYPE: ClassVar = "TopK"
    SINCE: ClassVar = 10

    T: ClassVar = types("T", "ints uints floats bf16")
    I_TYPES: ClassVar = types("I", "i64")

    X = operand_def(T)
    K = operand_def(INT64)

    Values = result_def(T)
    Indices = result_def(I_TYPES)

    axis = prop_def(INT_ATTR, int_attr(-1))
    largest = prop_def(INT_ATTR, int_attr(1))
    sorted = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(),
        Checks(
            axis_in_range("axis", "X"),
            rank_below("K", 2),
            holds_one("K"),
            constants_at_least("K", 0),
            integer_in("largest", 0, 1),
            integer_in("sorted", 0, 1),
        ),
    )


@irdl_op_definition
class TopKV1Op(OnnxOp):
    """
    The `k` largest elements along `axis`, and their indices.

    As of opsets 1 to 9.
    """

    name = "onnx.TopKV1"

    OP_TYPE: ClassVar = "TopK"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 10

    T: ClassVar = types("T", "floats")
    I_TYPES: ClassVar = types("I", "i64")

    X = operand_def(T)

    Values = result_def(T)
    Indices = result_def(I_TYPES)

    axis = prop_def(INT_ATTR, int_attr(-1))
    k = prop_def(INT_ATTR)

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "X"), at_least("k", 0)))


OPS: tuple[type[OnnxOp], ...] = (
    HardmaxOp,
    HardmaxV11Op,
    LogSoftmaxOp,
    LogSoftmaxV11Op,
    NegativeLogLikelihoodLossOp,
    SoftmaxOp,
    SoftmaxV11Op,
    SoftmaxCrossEntropyLossOp,
    TopKOp,
    TopKV1Op,
)
