"""Sums, products, powers and remainders; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Commutative, Pure

from xonnc.dialects.onnx.attributes import integer
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import broadcast
from xonnc.dialects.onnx.checks.values import integer_in
from xonnc.dialects.onnx.constraints import INT, INTS, types
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

    traits = traits_def(Pure(), Commutative(), Checks(broadcast("A", "B")))


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

    traits = traits_def(Pure(), Commutative())


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

    traits = traits_def(Pure(), Commutative())


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

    traits = traits_def(Pure(), Checks(broadcast("A", "B")))


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

    traits = traits_def(Pure(), Checks(broadcast("A", "B"), integer_in("fmod", 0, 1)))


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

    traits = traits_def(Pure(), Commutative(), Checks(broadcast("A", "B")))


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

    traits = traits_def(Pure(), Commutative())


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

    traits = traits_def(Pure(), Commutative())


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

    traits = traits_def(Pure(), Checks(broadcast("X", "Y")))


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
class SubOp(OnnxOp):
    """Performs element-wise binary subtraction (with Numpy-style broadcasting support)."""

    name = "onnx.Sub"

    OP_TYPE: ClassVar = "Sub"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "ints uints floats bf16")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    traits = traits_def(Pure(), Checks(broadcast("A", "B")))


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


OPS: tuple[type[OnnxOp], ...] = (
    AddOp,
    AddV6Op,
    AddV1Op,
    DivOp,
    DivV6Op,
    DivV1Op,
    ModOp,
    MulOp,
    MulV6Op,
    MulV1Op,
    PowOp,
    PowV1Op,
    SubOp,
    SubV6Op,
    SubV1Op,
)
