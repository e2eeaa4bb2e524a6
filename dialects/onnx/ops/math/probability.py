"""Distributions over an axis, and losses; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attributes import integer, text
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import rank_is
from xonnc.dialects.onnx.checks.values import axis_in_range, one_of
from xonnc.dialects.onnx.constraints import INT, INT64, TEXT, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class HardmaxOp(OnnxOp):
    """The operator computes the hardmax values for the given input."""

    name = "onnx.Hardmax"

    OP_TYPE: ClassVar = "Hardmax"
    SINCE: ClassVar = 13

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    axis = prop_def(INT, integer(-1))

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "input")))


@irdl_op_definition
class HardmaxV11Op(OnnxOp):
    """
    The operator computes the hardmax (1 for the first maximum value, and 0 for all others) values for each
    layer in the batch of the given input.

    As of opset 1 to 12.
    """

    name = "onnx.HardmaxV11"

    OP_TYPE: ClassVar = "Hardmax"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 13

    T: ClassVar = types("T", "floats")

    input = operand_def(T)

    output = result_def(T)

    axis = prop_def(INT, integer(1))

    traits = traits_def(Pure())


@irdl_op_definition
class LogSoftmaxOp(OnnxOp):
    """The operator computes the log of softmax values for the given input."""

    name = "onnx.LogSoftmax"

    OP_TYPE: ClassVar = "LogSoftmax"
    SINCE: ClassVar = 13

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    axis = prop_def(INT, integer(-1))

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "input")))


@irdl_op_definition
class LogSoftmaxV11Op(OnnxOp):
    """
    The operator computes the logsoftmax (log of softmax) values for each layer in the batch of the given
    input.

    As of opset 1 to 12.
    """

    name = "onnx.LogSoftmaxV11"

    OP_TYPE: ClassVar = "LogSoftmax"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 13

    T: ClassVar = types("T", "floats")

    input = operand_def(T)

    output = result_def(T)

    axis = prop_def(INT, integer(1))

    traits = traits_def(Pure())


@irdl_op_definition
class NegativeLogLikelihoodLossOp(OnnxOp):
    """
    A NegativeLogLikelihoodLoss operator computes (weighted) negative log likelihood loss. Its "input"
    tensor has the shape of (N, C, d1, d2, ..., dk) where k >= 0.
    """

    name = "onnx.NegativeLogLikelihoodLoss"

    OP_TYPE: ClassVar = "NegativeLogLikelihoodLoss"
    SINCE: ClassVar = 12

    T: ClassVar = types("T", "floats bf16")
    TIND: ClassVar = types("Tind", "i32 i64")

    input = operand_def(T)
    target = operand_def(TIND)
    weight = operand_def(T.optional)

    loss = result_def(T)

    ignore_index = opt_prop_def(INT)
    reduction = prop_def(TEXT, text("mean"))

    traits = traits_def(Pure(), Checks(one_of("reduction", "none", "sum", "mean")))


@irdl_op_definition
class SoftmaxOp(OnnxOp):
    """The operator computes the normalized exponential values for the given input."""

    name = "onnx.Softmax"

    OP_TYPE: ClassVar = "Softmax"
    SINCE: ClassVar = 13

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    axis = prop_def(INT, integer(-1))

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "input")))


@irdl_op_definition
class SoftmaxV11Op(OnnxOp):
    """
    The operator computes the softmax (normalized exponential) values for each layer in the batch of the
    given input.

    As of opset 1 to 12.
    """

    name = "onnx.SoftmaxV11"

    OP_TYPE: ClassVar = "Softmax"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 13

    T: ClassVar = types("T", "floats")

    input = operand_def(T)

    output = result_def(T)

    axis = prop_def(INT, integer(1))

    traits = traits_def(Pure())


@irdl_op_definition
class SoftmaxCrossEntropyLossOp(OnnxOp):
    """
    Loss function that measures the softmax cross entropy between 'scores' and 'labels'. This operator first
    computes a loss tensor whose shape is identical to the labels input.
    """

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

    ignore_index = opt_prop_def(INT)
    reduction = prop_def(TEXT, text("mean"))

    traits = traits_def(Pure(), Checks(one_of("reduction", "none", "sum", "mean")))


@irdl_op_definition
class TopKOp(OnnxOp):
    """Retrieve the top-K largest or smallest elements along a specified axis."""

    name = "onnx.TopK"

    OP_TYPE: ClassVar = "TopK"
    SINCE: ClassVar = 10

    T: ClassVar = types("T", "ints uints floats bf16")
    I_TYPES: ClassVar = types("I", "i64")

    X = operand_def(T)
    K = operand_def(INT64)

    Values = result_def(T)
    Indices = result_def(I_TYPES)

    axis = prop_def(INT, integer(-1))
    largest = prop_def(INT, integer(1))
    sorted = prop_def(INT, integer(1))

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "X"), rank_is("K", 1, 0)))


@irdl_op_definition
class TopKV1Op(OnnxOp):
    """
    Retrieve the top-K elements along a specified axis.

    As of opset 1 to 9.
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

    axis = prop_def(INT, integer(-1))
    k = prop_def(INT)

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "X")))


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
