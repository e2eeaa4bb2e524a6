"""Sums, products, powers and remainders; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Commutative, Pure

from xonnc.dialects.onnx.attribute_builders import int_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import broadcast
from xonnc.dialects.onnx.checks.values import integer_in, modulus
from xonnc.dialects.onnx.constraints import INT_ARRAY_ATTR, INT_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class AddOp(OnnxOp):
    """
    `C = A + B`, element by element, each broadcast to the other's shape as in numpy.

    ```mlir
    %r = "onnx.Add"(%0, %1) : (tensor<4x1xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    ```
    """

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
    `C = A + B`, element by element.

    As of opset 6. B lies along A's dimensions from `axis` on if `broadcast` is 1; else the shapes are
    equal.
    """

    name = "onnx.AddV6"

    OP_TYPE: ClassVar = "Add"
    SINCE: ClassVar = 6
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "i32 i64 ui32 ui64 floats")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    axis = opt_prop_def(INT_ATTR)
    broadcast = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure())


@irdl_op_definition
class AddV1Op(OnnxOp):
    """
    `C = A + B`, element by element.

    As of opsets 1 to 5. B lies along A's dimensions from `axis` on if `broadcast` is 1; else the shapes are
    equal. `consumed_inputs` has no meaning.
    """

    name = "onnx.AddV1"

    OP_TYPE: ClassVar = "Add"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    axis = opt_prop_def(INT_ATTR)
    broadcast = prop_def(INT_ATTR, int_attr(0))
    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class DivOp(OnnxOp):
    """`C = A / B`, broadcast as in numpy; integers are rounded towards zero."""

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
    `C = A / B`; integers are rounded towards zero.

    As of opset 6. B lies along A's dimensions from `axis` on if `broadcast` is 1; else the shapes are
    equal.
    """

    name = "onnx.DivV6"

    OP_TYPE: ClassVar = "Div"
    SINCE: ClassVar = 6
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "i32 i64 ui32 ui64 floats")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    axis = opt_prop_def(INT_ATTR)
    broadcast = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure())


@irdl_op_definition
class DivV1Op(OnnxOp):
    """
    `C = A / B`; integers are rounded towards zero.

    As of opsets 1 to 5. B lies along A's dimensions from `axis` on if `broadcast` is 1; else the shapes are
    equal. `consumed_inputs` has no meaning.
    """

    name = "onnx.DivV1"

    OP_TYPE: ClassVar = "Div"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    axis = opt_prop_def(INT_ATTR)
    broadcast = prop_def(INT_ATTR, int_attr(0))
    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class ModOp(OnnxOp):
    """The rest of `A / B`, of B's sign, or of A's with `fmod = 1`; broadcast as in numpy."""

    name = "onnx.Mod"

    OP_TYPE: ClassVar = "Mod"
    SINCE: ClassVar = 10

    T: ClassVar = types("T", "ints uints floats bf16")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    fmod = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure(), Checks(broadcast("A", "B"), integer_in("fmod", 0, 1), modulus))


@irdl_op_definition
class MulOp(OnnxOp):
    """`C = A B`, element by element, each broadcast to the other's shape as in numpy."""

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
    `C = A B`, element by element.

    As of opset 6. B lies along A's dimensions from `axis` on if `broadcast` is 1; else the shapes are
    equal.
    """

    name = "onnx.MulV6"

    OP_TYPE: ClassVar = "Mul"
    SINCE: ClassVar = 6
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "i32 i64 ui32 ui64 floats")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    axis = opt_prop_def(INT_ATTR)
    broadcast = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure())


@irdl_op_definition
class MulV1Op(OnnxOp):
    """
    `C = A B`, element by element.

    As of opsets 1 to 5. B lies along A's dimensions from `axis` on if `broadcast` is 1; else the shapes are
    equal. `consumed_inputs` has no meaning.
    """

    name = "onnx.MulV1"

    OP_TYPE: ClassVar = "Mul"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    axis = opt_prop_def(INT_ATTR)
    broadcast = prop_def(INT_ATTR, int_attr(0))
    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class PowOp(OnnxOp):
    """`Z = X ** Y`, element by element, broadcast as in numpy; the result is of X's type."""

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
    `Z = X ** Y`, element by element; the result is of X's type.

    As of opsets 1 to 6. Y lies along X's dimensions from `axis` on if `broadcast` is 1; else the shapes are
    equal.
    """

    name = "onnx.PowV1"

    OP_TYPE: ClassVar = "Pow"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "floats")

    X = operand_def(T)
    Y = operand_def(T)

    Z = result_def(T)

    axis = opt_prop_def(INT_ATTR)
    broadcast = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure())


@irdl_op_definition
class SubOp(OnnxOp):
    """
    `C = A - B`, element by element, each broadcast to the other's shape as in numpy.

    ```mlir
    %r = "onnx.Sub"(%0, %1) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
    ```
    """

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
    `C = A - B`, element by element.

    As of opset 6. B lies along A's dimensions from `axis` on if `broadcast` is 1; else the shapes are
    equal.
    """

    name = "onnx.SubV6"

    OP_TYPE: ClassVar = "Sub"
    SINCE: ClassVar = 6
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "i32 i64 ui32 ui64 floats")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    axis = opt_prop_def(INT_ATTR)
    broadcast = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure())


@irdl_op_definition
class SubV1Op(OnnxOp):
    """
    `C = A - B`, element by element.

    As of opsets 1 to 5. B lies along A's dimensions from `axis` on if `broadcast` is 1; else the shapes are
    equal. `consumed_inputs` has no meaning.
    """

    name = "onnx.SubV1"

    OP_TYPE: ClassVar = "Sub"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    axis = opt_prop_def(INT_ATTR)
    broadcast = prop_def(INT_ATTR, int_attr(0))
    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

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
