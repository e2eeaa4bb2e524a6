"""Functions of one element; running sums; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attributes import integer
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import rank_is
from xonnc.dialects.onnx.checks.values import integer_in
from xonnc.dialects.onnx.constraints import INT, INT64, INTS, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class AbsOp(OnnxOp):
    """
    Absolute takes one input data (Tensor ) and produces one output data (Tensor ) where absolute value, y =
    abs(x), is applied to the tensor elementwise.
    """

    name = "onnx.Abs"

    OP_TYPE: ClassVar = "Abs"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "ints uints floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class AbsV1Op(OnnxOp):
    """
    Absolute takes one input data (Tensor ) and produces one output data (Tensor ) where the absolute is, y
    = abs(x), is applied to the tensor elementwise.

    As of opset 1 to 5.
    """

    name = "onnx.AbsV1"

    OP_TYPE: ClassVar = "Abs"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class CumProdOp(OnnxOp):
    """
    Performs cumulative product of the input elements along the given axis. By default, it will do the
    product inclusively meaning the first element is copied as is.
    """

    name = "onnx.CumProd"

    OP_TYPE: ClassVar = "CumProd"
    SINCE: ClassVar = 26

    T: ClassVar = types("T", "i32 i64 ui32 ui64 floats bf16")
    T2: ClassVar = types("T2", "i32 i64")

    x = operand_def(T)
    axis = operand_def(T2)

    y = result_def(T)

    exclusive = prop_def(INT, integer(0))
    reverse = prop_def(INT, integer(0))

    traits = traits_def(Pure(), Checks(integer_in("exclusive", 0, 1), integer_in("reverse", 0, 1)))


@irdl_op_definition
class CumSumOp(OnnxOp):
    """
    Performs cumulative sum of the input elements along the given axis. By default, it will do the sum
    inclusively meaning the first element is copied as is.
    """

    name = "onnx.CumSum"

    OP_TYPE: ClassVar = "CumSum"
    SINCE: ClassVar = 11

    T: ClassVar = types("T", "i32 i64 ui32 ui64 floats bf16")
    T2: ClassVar = types("T2", "i32 i64")

    x = operand_def(T)
    axis = operand_def(T2)

    y = result_def(T)

    exclusive = prop_def(INT, integer(0))
    reverse = prop_def(INT, integer(0))

    traits = traits_def(Pure(), Checks(integer_in("exclusive", 0, 1), integer_in("reverse", 0, 1)))


@irdl_op_definition
class ErfOp(OnnxOp):
    """Computes the error function of the given input tensor element-wise."""

    name = "onnx.Erf"

    OP_TYPE: ClassVar = "Erf"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "ints uints floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class ExpOp(OnnxOp):
    """Calculates the exponential of the given input tensor, element-wise."""

    name = "onnx.Exp"

    OP_TYPE: ClassVar = "Exp"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class ExpV1Op(OnnxOp):
    """
    Calculates the exponential of the given input tensor, element-wise.

    As of opset 1 to 5.
    """

    name = "onnx.ExpV1"

    OP_TYPE: ClassVar = "Exp"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    input = operand_def(T)

    output = result_def(T)

    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class ExpandOp(OnnxOp):
    """
    Broadcast the input tensor following the given shape and the broadcast rule. The broadcast rule is
    similar to numpy.array(input) * numpy.ones(shape): Dimensions are right alignment; Two corresponding
    dimensions must have the same value, or one of them is equal to 1.
    """

    name = "onnx.Expand"

    OP_TYPE: ClassVar = "Expand"
    SINCE: ClassVar = 8

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    input = operand_def(T)
    shape = operand_def(INT64)

    output = result_def(T)

    traits = traits_def(Pure(), Checks(rank_is("shape", 1, text="Shape has a rank of 1")))


@irdl_op_definition
class LogOp(OnnxOp):
    """Calculates the natural log of the given input tensor, element-wise."""

    name = "onnx.Log"

    OP_TYPE: ClassVar = "Log"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class LogV1Op(OnnxOp):
    """
    Calculates the natural log of the given input tensor, element-wise.

    As of opset 1 to 5.
    """

    name = "onnx.LogV1"

    OP_TYPE: ClassVar = "Log"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    input = operand_def(T)

    output = result_def(T)

    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class NegOp(OnnxOp):
    """
    Neg takes one input data (Tensor ) and produces one output data (Tensor ) where each element flipped
    sign, y = -x, is applied to the tensor elementwise.
    """

    name = "onnx.Neg"

    OP_TYPE: ClassVar = "Neg"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "ints floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class NegV1Op(OnnxOp):
    """
    Neg takes one input data (Tensor ) and produces one output data (Tensor ) where each element flipped
    sign, y = -x, is applied to the tensor elementwise.

    As of opset 1 to 5.
    """

    name = "onnx.NegV1"

    OP_TYPE: ClassVar = "Neg"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class ReciprocalOp(OnnxOp):
    """
    Reciprocal takes one input data (Tensor ) and produces one output data (Tensor ) where the reciprocal
    is, y = 1/x, is applied to the tensor elementwise.
    """

    name = "onnx.Reciprocal"

    OP_TYPE: ClassVar = "Reciprocal"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class ReciprocalV1Op(OnnxOp):
    """
    Reciprocal takes one input data (Tensor ) and produces one output data (Tensor ) where the reciprocal
    is, y = 1/x, is applied to the tensor elementwise.

    As of opset 1 to 5.
    """

    name = "onnx.ReciprocalV1"

    OP_TYPE: ClassVar = "Reciprocal"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class SqrtOp(OnnxOp):
    """
    Square root takes one input data (Tensor ) and produces one output data (Tensor ) where the square root
    is, y = x^0.5, is applied to the tensor elementwise.
    """

    name = "onnx.Sqrt"

    OP_TYPE: ClassVar = "Sqrt"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class SqrtV1Op(OnnxOp):
    """
    Square root takes one input data (Tensor ) and produces one output data (Tensor ) where the square root
    is, y = x^0.5, is applied to the tensor elementwise.

    As of opset 1 to 5.
    """

    name = "onnx.SqrtV1"

    OP_TYPE: ClassVar = "Sqrt"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


OPS: tuple[type[OnnxOp], ...] = (
    AbsOp,
    AbsV1Op,
    CumProdOp,
    CumSumOp,
    ErfOp,
    ExpOp,
    ExpV1Op,
    ExpandOp,
    LogOp,
    LogV1Op,
    NegOp,
    NegV1Op,
    ReciprocalOp,
    ReciprocalV1Op,
    SqrtOp,
    SqrtV1Op,
)
