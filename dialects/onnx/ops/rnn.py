"""Recurrent layers; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import int_attr, string_array_attr, string_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.recurrences import recurrence
from xonnc.dialects.onnx.checks.shapes import rank_is
from xonnc.dialects.onnx.checks.values import integer_in, recurrent_direction
from xonnc.dialects.onnx.constraints import (
    FLOAT_ARRAY_ATTR,
    FLOAT_ATTR,
    INT_ATTR,
    STRING_ARRAY_ATTR,
    STRING_ATTR,
    types,
)
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class GRUOp(OnnxOp):
    """Gated recurrent units along a sequence."""

    name = "onnx.GRU"

    OP_TYPE: ClassVar = "GRU"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "floats bf16")
    T1: ClassVar = types("T1", "i32")

    X = operand_def(T)
    W = operand_def(T)
    R = operand_def(T)
    B = operand_def(T.optional)
    sequence_lens = operand_def(T1.optional)
    initial_h = operand_def(T.optional)

    Y = result_def(T.optional)
    Y_h = result_def(T.optional)

    activation_alpha = opt_prop_def(FLOAT_ARRAY_ATTR)
    activation_beta = opt_prop_def(FLOAT_ARRAY_ATTR)
    activations = opt_prop_def(STRING_ARRAY_ATTR)
    clip = opt_prop_def(FLOAT_ATTR)
    direction = prop_def(STRING_ATTR, string_attr("forward"))
    hidden_size = opt_prop_def(INT_ATTR)
    layout = prop_def(INT_ATTR, int_attr(0))
    linear_before_reset = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("X", 3, text="The first input tensor must have rank 3"),
            rank_is("W", 3, text="The second input tensor must have rank 3"),
            rank_is("R", 3, text="The third input tensor must have rank 3"),
            recurrent_direction,
            integer_in("layout", 0, 1),
            recurrence(3, 2),
            integer_in("linear_before_reset", 0, 1),
        ),
    )


@irdl_op_definition
class GRUV3Op(OnnxOp):
    """
    Gated recurrent units along a sequence.

    As of opsets 3 to 6.
    """

    name = "onnx.GRUV3"

    OP_TYPE: ClassVar = "GRU"
    SINCE: ClassVar = 3
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "floats")
    T1: ClassVar = types("T1", "i32")

    X = operand_def(T)
    W = operand_def(T)
    R = operand_def(T)
    B = operand_def(T.optional)
    sequence_lens = operand_def(T1.optional)
    initial_h = operand_def(T.optional)

    Y = result_def(T.optional)
    Y_h = result_def(T.optional)

    activation_alpha = opt_prop_def(FLOAT_ARRAY_ATTR)
    activation_beta = opt_prop_def(FLOAT_ARRAY_ATTR)
    activations = opt_prop_def(STRING_ARRAY_ATTR)
    clip = opt_prop_def(FLOAT_ATTR)
    direction = prop_def(STRING_ATTR, string_attr("forward"))
    hidden_size = opt_prop_def(INT_ATTR)
    linear_before_reset = prop_def(INT_ATTR, int_attr(0))
    output_sequence = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure(), Checks(recurrence(3, 2)))


@irdl_op_definition
class GRUV1Op(OnnxOp):
    """
    Gated recurrent units along a sequence.

    As of opsets 1 to 2. `direction` is misspelt by default.
    """

    name = "onnx.GRUV1"

    OP_TYPE: ClassVar = "GRU"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 3

    T: ClassVar = types("T", "floats")
    T1: ClassVar = types("T1", "i32")

    X = operand_def(T)
    W = operand_def(T)
    R = operand_def(T)
    B = operand_def(T.optional)
    sequence_lens = operand_def(T1.optional)
    initial_h = operand_def(T.optional)

    Y = result_def(T.optional)
    Y_h = result_def(T)

    activation_alpha = opt_prop_def(FLOAT_ARRAY_ATTR)
    activation_beta = opt_prop_def(FLOAT_ARRAY_ATTR)
    activations = opt_prop_def(STRING_ARRAY_ATTR)
    clip = opt_prop_def(FLOAT_ATTR)
    direction = prop_def(STRING_ATTR, string_attr("foward"))
    hidden_size = opt_prop_def(INT_ATTR)
    output_sequence = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure())


@irdl_op_definition
class LSTMOp(OnnxOp):
    """Long short-term memory along a sequence."""

    name = "onnx.LSTM"

    OP_TYPE: ClassVar = "LSTM"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "floats bf16")
    T1: ClassVar = types("T1", "i32")

    X = operand_def(T)
    W = operand_def(T)
    R = operand_def(T)
    B = operand_def(T.optional)
    sequence_lens = operand_def(T1.optional)
    initial_h = operand_def(T.optional)
    initial_c = operand_def(T.optional)
    P = operand_def(T.optional)

    Y = result_def(T.optional)
    Y_h = result_def(T.optional)
    Y_c = result_def(T.optional)

    activation_alpha = opt_prop_def(FLOAT_ARRAY_ATTR)
    activation_beta = opt_prop_def(FLOAT_ARRAY_ATTR)
    activations = opt_prop_def(STRING_ARRAY_ATTR)
    clip = opt_prop_def(FLOAT_ATTR)
    direction = prop_def(STRING_ATTR, string_attr("forward"))
    hidden_size = opt_prop_def(INT_ATTR)
    input_forget = prop_def(INT_ATTR, int_attr(0))
    layout = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("X", 3, text="The first input tensor must have rank 3"),
            rank_is("W", 3, text="The second input tensor must have rank 3"),
            rank_is("R", 3, text="The third input tensor must have rank 3"),
            recurrent_direction,
            integer_in("layout", 0, 1),
            recurrence(4, 3),
            integer_in("input_forget", 0, 1),
        ),
    )


@irdl_op_definition
class LSTMV1Op(OnnxOp):
    """
    Long short-term memory along a sequence.

    As of opsets 1 to 6.
    """

    name = "onnx.LSTMV1"

    OP_TYPE: ClassVar = "LSTM"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "floats")
    T1: ClassVar = types("T1", "i32")

    X = operand_def(T)
    W = operand_def(T)
    R = operand_def(T)
    B = operand_def(T.optional)
    sequence_lens = operand_def(T1.optional)
    initial_h = operand_def(T.optional)
    initial_c = operand_def(T.optional)
    P = operand_def(T.optional)

    Y = result_def(T.optional)
    Y_h = result_def(T.optional)
    Y_c = result_def(T.optional)

    activation_alpha = opt_prop_def(FLOAT_ARRAY_ATTR)
    activation_beta = opt_prop_def(FLOAT_ARRAY_ATTR)
    activations = opt_prop_def(STRING_ARRAY_ATTR)
    clip = opt_prop_def(FLOAT_ATTR)
    direction = prop_def(STRING_ATTR, string_attr("forward"))
    hidden_size = opt_prop_def(INT_ATTR)
    input_forget = prop_def(INT_ATTR, int_attr(0))
    output_sequence = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("X", 3, text="The first input tensor must have rank 3"),
            rank_is("W", 3, text="The second input tensor must have rank 3"),
            rank_is("R", 3, text="The third input tensor must have rank 3"),
            recurrent_direction,
            recurrence(4, 3),
            integer_in("input_forget", 0, 1),
        ),
    )


@irdl_op_definition
class RNNOp(OnnxOp):
    """A simple recurrence along a sequence."""

    name = "onnx.RNN"

    OP_TYPE: ClassVar = "RNN"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "floats bf16")
    T1: ClassVar = types("T1", "i32")

    X = operand_def(T)
    W = operand_def(T)
    R = operand_def(T)
    B = operand_def(T.optional)
    sequence_lens = operand_def(T1.optional)
    initial_h = operand_def(T.optional)

    Y = result_def(T.optional)
    Y_h = result_def(T.optional)

    activation_alpha = opt_prop_def(FLOAT_ARRAY_ATTR)
    activation_beta = opt_prop_def(FLOAT_ARRAY_ATTR)
    activations = prop_def(STRING_ARRAY_ATTR, string_array_attr("Tanh", "Tanh"))
    clip = opt_prop_def(FLOAT_ATTR)
    direction = prop_def(STRING_ATTR, string_attr("forward"))
    hidden_size = opt_prop_def(INT_ATTR)
    layout = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("X", 3, text="The first input tensor must have rank 3"),
            rank_is("W", 3, text="The second input tensor must have rank 3"),
            rank_is("R", 3, text="The third input tensor must have rank 3"),
            recurrent_direction,
            integer_in("layout", 0, 1),
            recurrence(1, 1),
        ),
    )


@irdl_op_definition
class RNNV1Op(OnnxOp):
    """
    A simple recurrence along a sequence.

    As of opsets 1 to 6.
    """

    name = "onnx.RNNV1"

    OP_TYPE: ClassVar = "RNN"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "floats")
    T1: ClassVar = types("T1", "i32")

    X = operand_def(T)
    W = operand_def(T)
    R = operand_def(T)
    B = operand_def(T.optional)
    sequence_lens = operand_def(T1.optional)
    initial_h = operand_def(T.optional)

    Y = result_def(T.optional)
    Y_h = result_def(T.optional)

    activation_alpha = opt_prop_def(FLOAT_ARRAY_ATTR)
    activation_beta = opt_prop_def(FLOAT_ARRAY_ATTR)
    activations = prop_def(STRING_ARRAY_ATTR, string_array_attr("Tanh", "Tanh"))
    clip = opt_prop_def(FLOAT_ATTR)
    direction = prop_def(STRING_ATTR, string_attr("forward"))
    hidden_size = opt_prop_def(INT_ATTR)
    output_sequence = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("X", 3, text="The first input tensor must have rank 3"),
            rank_is("W", 3, text="The second input tensor must have rank 3"),
            rank_is("R", 3, text="The third input tensor must have rank 3"),
            recurrent_direction,
            recurrence(1, 1),
        ),
    )


OPS: tuple[type[OnnxOp], ...] = (
    GRUOp,
    GRUV3Op,
    GRUV1Op,
    LSTMOp,
    LSTMV1Op,
    RNNOp,
    RNNV1Op,
)
