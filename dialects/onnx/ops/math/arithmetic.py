"""Sums, products, powers and roundings; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure

from xonnc.dialects.onnx.attributes import integer, real
from xonnc.dialects.onnx.constraints import INT, INTS, REAL, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class AddOp(OnnxOp):
    """Performs element-wise binary addition (with Numpy-style broadcasting support)."""

    name = "onnx.Add"

    OP_TYPE: ClassVar = "Add"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "ints uints floats bf16")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class AddV6Op(OnnxOp):
    """
    Performs element-wise binary addition (with limited broadcast support).

    As of opset 6.
    """

    name = "onnx.AddV6"

    OP_TYPE: ClassVar = "Add"
    SINCE: ClassVar = 6
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "i32 i64 ui32 ui64 floats")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    axis = opt_prop_def(INT)
    broadcast = prop_def(INT, integer(0))

    traits = traits_def(Pure())


@irdl_op_definition
class AddV1Op(OnnxOp):
    """
    Performs element-wise binary addition (with limited broadcast support).

    As of opset 1 to 5.
    """

    name = "onnx.AddV1"

    OP_TYPE: ClassVar = "Add"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    axis = opt_prop_def(INT)
    broadcast = prop_def(INT, integer(0))
    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class CeilOp(OnnxOp):
    """
    Ceil takes one input data (Tensor ) and produces one output data (Tensor ) where the ceil is, y =
    ceil(x), is applied to the tensor elementwise. If x is integral, +0, -0, NaN, or infinite, x itself is
    returned.
    """

    name = "onnx.Ceil"

    OP_TYPE: ClassVar = "Ceil"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class CeilV1Op(OnnxOp):
    """
    Ceil takes one input data (Tensor ) and produces one output data (Tensor ) where the ceil is, y =
    ceil(x), is applied to the tensor elementwise.

    As of opset 1 to 5.
    """

    name = "onnx.CeilV1"

    OP_TYPE: ClassVar = "Ceil"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class ClipOp(OnnxOp):
    """
    Clip operator limits the given input within an interval. The interval is specified by the inputs 'min'
    and 'max'.
    """

    name = "onnx.Clip"

    OP_TYPE: ClassVar = "Clip"
    SINCE: ClassVar = 13

    T: ClassVar = types("T", "ints uints floats bf16")

    input = operand_def(T)
    min = operand_def(T.optional)
    max = operand_def(T.optional)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class ClipV12Op(OnnxOp):
    """
    Clip operator limits the given input within an interval. The interval is specified by the inputs 'min'
    and 'max'.

    As of opset 12.
    """

    name = "onnx.ClipV12"

    OP_TYPE: ClassVar = "Clip"
    SINCE: ClassVar = 12
    UNTIL: ClassVar = 13

    T: ClassVar = types("T", "ints uints floats")

    input = operand_def(T)
    min = operand_def(T.optional)
    max = operand_def(T.optional)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class ClipV11Op(OnnxOp):
    """
    Clip operator limits the given input within an interval. The interval is specified by the inputs 'min'
    and 'max'.

    As of opset 11.
    """

    name = "onnx.ClipV11"

    OP_TYPE: ClassVar = "Clip"
    SINCE: ClassVar = 11
    UNTIL: ClassVar = 12

    T: ClassVar = types("T", "floats")

    input = operand_def(T)
    min = operand_def(T.optional)
    max = operand_def(T.optional)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class ClipV6Op(OnnxOp):
    """
    Clip operator limits the given input within an interval. The interval is specified with arguments 'min'
    and 'max'.

    As of opset 6 to 10.
    """

    name = "onnx.ClipV6"

    OP_TYPE: ClassVar = "Clip"
    SINCE: ClassVar = 6
    UNTIL: ClassVar = 11

    T: ClassVar = types("T", "floats")

    input = operand_def(T)

    output = result_def(T)

    max = prop_def(REAL, real(3.4028235e38))
    min = prop_def(REAL, real(-3.4028235e38))

    traits = traits_def(Pure())


@irdl_op_definition
class ClipV1Op(OnnxOp):
    """
    Clip operator limits the given input within an interval. The interval is specified with arguments 'min'
    and 'max'.

    As of opset 1 to 5.
    """

    name = "onnx.ClipV1"

    OP_TYPE: ClassVar = "Clip"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    input = operand_def(T)

    output = result_def(T)

    consumed_inputs = opt_prop_def(INTS)
    max = opt_prop_def(REAL)
    min = opt_prop_def(REAL)

    traits = traits_def(Pure())


@irdl_op_definition
class DivOp(OnnxOp):
    """Performs element-wise binary division (with Numpy-style broadcasting support)."""

    name = "onnx.Div"

    OP_TYPE: ClassVar = "Div"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "ints uints floats bf16")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class DivV6Op(OnnxOp):
    """
    Performs element-wise binary division (with limited broadcast support).

    As of opset 6.
    """

    name = "onnx.DivV6"

    OP_TYPE: ClassVar = "Div"
    SINCE: ClassVar = 6
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "i32 i64 ui32 ui64 floats")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    axis = opt_prop_def(INT)
    broadcast = prop_def(INT, integer(0))

    traits = traits_def(Pure())


@irdl_op_definition
class DivV1Op(OnnxOp):
    """
    Performs element-wise binary division (with limited broadcast support).

    As of opset 1 to 5.
    """

    name = "onnx.DivV1"

    OP_TYPE: ClassVar = "Div"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    axis = opt_prop_def(INT)
    broadcast = prop_def(INT, integer(0))
    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class FloorOp(OnnxOp):
    """
    Floor takes one input data (Tensor ) and produces one output data (Tensor ) where the floor is, y =
    floor(x), is applied to the tensor elementwise. If x is integral, +0, -0, NaN, or infinite, x itself is
    returned.
    """

    name = "onnx.Floor"

    OP_TYPE: ClassVar = "Floor"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class FloorV1Op(OnnxOp):
    """
    Floor takes one input data (Tensor ) and produces one output data (Tensor ) where the floor is, y =
    floor(x), is applied to the tensor elementwise.

    As of opset 1 to 5.
    """

    name = "onnx.FloorV1"

    OP_TYPE: ClassVar = "Floor"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class MaxOp(OnnxOp):
    """
    Element-wise max of each of the input tensors (with Numpy-style broadcasting support). All inputs and
    outputs must have the same data type.
    """

    name = "onnx.Max"

    OP_TYPE: ClassVar = "Max"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "ints uints floats bf16")

    data_0 = var_operand_def(T.some)

    max = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class MaxV1Op(OnnxOp):
    """
    Element-wise max of each of the input tensors. All inputs and outputs must have the same shape and data
    type.

    As of opset 1 to 5.
    """

    name = "onnx.MaxV1"

    OP_TYPE: ClassVar = "Max"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    data_0 = var_operand_def(T.some)

    max = result_def(T)

    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class MeanOp(OnnxOp):
    """
    Element-wise mean of each of the input tensors (with Numpy-style broadcasting support). All inputs and
    outputs must have the same data type.
    """

    name = "onnx.Mean"

    OP_TYPE: ClassVar = "Mean"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    data_0 = var_operand_def(T.some)

    mean = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class MeanV1Op(OnnxOp):
    """
    Element-wise mean of each of the input tensors. All inputs and outputs must have the same shape and data
    type.

    As of opset 1 to 5.
    """

    name = "onnx.MeanV1"

    OP_TYPE: ClassVar = "Mean"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    data_0 = var_operand_def(T.some)

    mean = result_def(T)

    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class MinOp(OnnxOp):
    """
    Element-wise min of each of the input tensors (with Numpy-style broadcasting support). All inputs and
    outputs must have the same data type.
    """

    name = "onnx.Min"

    OP_TYPE: ClassVar = "Min"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "ints uints floats bf16")

    data_0 = var_operand_def(T.some)

    min = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class MinV1Op(OnnxOp):
    """
    Element-wise min of each of the input tensors. All inputs and outputs must have the same shape and data
    type.

    As of opset 1 to 5.
    """

    name = "onnx.MinV1"

    OP_TYPE: ClassVar = "Min"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    data_0 = var_operand_def(T.some)

    min = result_def(T)

    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class ModOp(OnnxOp):
    """
    Performs an element-wise binary modulo operation. The `fmod` attribute determines how the quotient is
    rounded.
    """

    name = "onnx.Mod"

    OP_TYPE: ClassVar = "Mod"
    SINCE: ClassVar = 10

    T: ClassVar = types("T", "ints uints floats bf16")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    fmod = prop_def(INT, integer(0))

    traits = traits_def(Pure())


@irdl_op_definition
class MulOp(OnnxOp):
    """Performs element-wise binary multiplication (with Numpy-style broadcasting support)."""

    name = "onnx.Mul"

    OP_TYPE: ClassVar = "Mul"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "ints uints floats bf16")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class MulV6Op(OnnxOp):
    """
    Performs element-wise binary multiplication (with limited broadcast support).

    As of opset 6.
    """

    name = "onnx.MulV6"

    OP_TYPE: ClassVar = "Mul"
    SINCE: ClassVar = 6
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "i32 i64 ui32 ui64 floats")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    axis = opt_prop_def(INT)
    broadcast = prop_def(INT, integer(0))

    traits = traits_def(Pure())


@irdl_op_definition
class MulV1Op(OnnxOp):
    """
    Performs element-wise binary multiplication (with limited broadcast support).

    As of opset 1 to 5.
    """

    name = "onnx.MulV1"

    OP_TYPE: ClassVar = "Mul"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    axis = opt_prop_def(INT)
    broadcast = prop_def(INT, integer(0))
    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class PowOp(OnnxOp):
    """
    Pow takes input data (Tensor ) and exponent Tensor, and produces one output data (Tensor ) where the
    function `f(x) = x^exponent`, is applied to the data tensor elementwise. This operator supports
    **multidirectional (i.e., Numpy-style) broadcasting**; for more details please check the doc.
    """

    name = "onnx.Pow"

    OP_TYPE: ClassVar = "Pow"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "i32 i64 floats bf16")
    T1: ClassVar = types("T1", "ints uints floats bf16")

    X = operand_def(T)
    Y = operand_def(T1)

    Z = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class PowV1Op(OnnxOp):
    """
    Pow takes input data (Tensor ) and exponent Tensor, and produces one output data (Tensor ) where the
    function `f(x) = x^exponent`, is applied to the data tensor elementwise.

    As of opset 1 to 6.
    """

    name = "onnx.PowV1"

    OP_TYPE: ClassVar = "Pow"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "floats")

    X = operand_def(T)
    Y = operand_def(T)

    Z = result_def(T)

    axis = opt_prop_def(INT)
    broadcast = prop_def(INT, integer(0))

    traits = traits_def(Pure())


@irdl_op_definition
class RoundOp(OnnxOp):
    """
    Round takes one input Tensor and rounds the values, element-wise, meaning it finds the nearest integer
    for each value. In case of halves, the rule is to round them to the nearest even integer.
    """

    name = "onnx.Round"

    OP_TYPE: ClassVar = "Round"
    SINCE: ClassVar = 11

    T: ClassVar = types("T", "floats bf16")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class SubOp(OnnxOp):
    """Performs element-wise binary subtraction (with Numpy-style broadcasting support)."""

    name = "onnx.Sub"

    OP_TYPE: ClassVar = "Sub"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "ints uints floats bf16")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class SubV6Op(OnnxOp):
    """
    Performs element-wise binary subtraction (with limited broadcast support).

    As of opset 6.
    """

    name = "onnx.SubV6"

    OP_TYPE: ClassVar = "Sub"
    SINCE: ClassVar = 6
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "i32 i64 ui32 ui64 floats")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    axis = opt_prop_def(INT)
    broadcast = prop_def(INT, integer(0))

    traits = traits_def(Pure())


@irdl_op_definition
class SubV1Op(OnnxOp):
    """
    Performs element-wise binary subtraction (with limited broadcast support).

    As of opset 1 to 5.
    """

    name = "onnx.SubV1"

    OP_TYPE: ClassVar = "Sub"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    axis = opt_prop_def(INT)
    broadcast = prop_def(INT, integer(0))
    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class SumOp(OnnxOp):
    """
    Element-wise sum of each of the input tensors (with Numpy-style broadcasting support). All inputs and
    outputs must have the same data type.
    """

    name = "onnx.Sum"

    OP_TYPE: ClassVar = "Sum"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "floats bf16")

    data_0 = var_operand_def(T.some)

    sum = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class SumV1Op(OnnxOp):
    """
    Element-wise sum of each of the input tensors. All inputs and outputs must have the same shape and data
    type.

    As of opset 1 to 5.
    """

    name = "onnx.SumV1"

    OP_TYPE: ClassVar = "Sum"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    data_0 = var_operand_def(T.some)

    sum = result_def(T)

    consumed_inputs = opt_prop_def(INTS)

    traits = traits_def(Pure())


OPS: tuple[type[OnnxOp], ...] = (
    AddOp,
    AddV6Op,
    AddV1Op,
    CeilOp,
    CeilV1Op,
    ClipOp,
    ClipV12Op,
    ClipV11Op,
    ClipV6Op,
    ClipV1Op,
    DivOp,
    DivV6Op,
    DivV1Op,
    FloorOp,
    FloorV1Op,
    MaxOp,
    MaxV1Op,
    MeanOp,
    MeanV1Op,
    MinOp,
    MinV1Op,
    ModOp,
    MulOp,
    MulV6Op,
    MulV1Op,
    PowOp,
    PowV1Op,
    RoundOp,
    SubOp,
    SubV6Op,
    SubV1Op,
    SumOp,
    SumV1Op,
)
