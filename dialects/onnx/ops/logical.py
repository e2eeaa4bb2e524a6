"""Comparisons, logic and bits; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Commutative, Pure

from xonnc.dialects.onnx.attribute_builders import int_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import broadcast
from xonnc.dialects.onnx.checks.values import one_of
from xonnc.dialects.onnx.constraints import INT_ATTR, STRING_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class AndOp(OnnxOp):
    """`C = A and B`, element by element, each broadcast to the other's shape as in numpy."""

    name = "onnx.And"

    OP_TYPE: ClassVar = "And"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "i1")
    T1: ClassVar = types("T1", "i1")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T1)

    traits = traits_def(Pure(), Commutative(), Checks(broadcast("A", "B")))


@irdl_op_definition
class AndV1Op(OnnxOp):
    """
    `C = A and B`, element by element.

    As of opsets 1 to 6. B lies along A's dimensions from `axis` on if `broadcast` is 1; else the shapes are
    equal.
    """

    name = "onnx.AndV1"

    OP_TYPE: ClassVar = "And"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "i1")
    T1: ClassVar = types("T1", "i1")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T1)

    axis = opt_prop_def(INT_ATTR)
    broadcast = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure())


@irdl_op_definition
class BitShiftOp(OnnxOp):
    """`Z = X << Y` or `X >> Y`, as `direction` says, broadcast as in numpy."""

    name = "onnx.BitShift"

    OP_TYPE: ClassVar = "BitShift"
    SINCE: ClassVar = 11

    T: ClassVar = types("T", "ints uints")

    X = operand_def(T)
    Y = operand_def(T)

    Z = result_def(T)

    direction = prop_def(STRING_ATTR)

    traits = traits_def(Pure(), Checks(broadcast("X", "Y"), one_of("direction", "LEFT", "RIGHT")))


@irdl_op_definition
class BitwiseAndOp(OnnxOp):
    """`C = A & B`, bit by bit, broadcast as in numpy."""

    name = "onnx.BitwiseAnd"

    OP_TYPE: ClassVar = "BitwiseAnd"
    SINCE: ClassVar = 18

    T: ClassVar = types("T", "ints uints")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    traits = traits_def(Pure(), Commutative(), Checks(broadcast("A", "B")))


@irdl_op_definition
class BitwiseNotOp(OnnxOp):
    """`Y = ~X`, bit by bit."""

    name = "onnx.BitwiseNot"

    OP_TYPE: ClassVar = "BitwiseNot"
    SINCE: ClassVar = 18

    T: ClassVar = types("T", "ints uints")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class BitwiseOrOp(OnnxOp):
    """`C = A | B`, bit by bit, broadcast as in numpy."""

    name = "onnx.BitwiseOr"

    OP_TYPE: ClassVar = "BitwiseOr"
    SINCE: ClassVar = 18

    T: ClassVar = types("T", "ints uints")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    traits = traits_def(Pure(), Commutative(), Checks(broadcast("A", "B")))


@irdl_op_definition
class BitwiseXorOp(OnnxOp):
    """`C = A ^ B`, bit by bit, broadcast as in numpy."""

    name = "onnx.BitwiseXor"

    OP_TYPE: ClassVar = "BitwiseXor"
    SINCE: ClassVar = 18

    T: ClassVar = types("T", "ints uints")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T)

    traits = traits_def(Pure(), Commutative(), Checks(broadcast("A", "B")))


@irdl_op_definition
class EqualOp(OnnxOp):
    """`C = A == B`, element by element, broadcast as in numpy."""

    name = "onnx.Equal"

    OP_TYPE: ClassVar = "Equal"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "i1 ints uints floats bf16 string")
    T1: ClassVar = types("T1", "i1")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T1)

    traits = traits_def(Pure(), Commutative(), Checks(broadcast("A", "B")))


@irdl_op_definition
class EqualV1Op(OnnxOp):
    """
    `C = A == B`, element by element.

    As of opsets 1 to 6. B lies along A's dimensions from `axis` on if `broadcast` is 1; else the shapes are
    equal.
    """

    name = "onnx.EqualV1"

    OP_TYPE: ClassVar = "Equal"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "i1 i32 i64")
    T1: ClassVar = types("T1", "i1")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T1)

    axis = opt_prop_def(INT_ATTR)
    broadcast = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure())


@irdl_op_definition
class GreaterOp(OnnxOp):
    """`C = A > B`, element by element, broadcast as in numpy."""

    name = "onnx.Greater"

    OP_TYPE: ClassVar = "Greater"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "ints uints floats bf16")
    T1: ClassVar = types("T1", "i1")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T1)

    traits = traits_def(Pure(), Checks(broadcast("A", "B")))


@irdl_op_definition
class GreaterV1Op(OnnxOp):
    """
    `C = A > B`, element by element.

    As of opsets 1 to 6. B lies along A's dimensions from `axis` on if `broadcast` is 1; else the shapes are
    equal.
    """

    name = "onnx.GreaterV1"

    OP_TYPE: ClassVar = "Greater"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "floats")
    T1: ClassVar = types("T1", "i1")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T1)

    axis = opt_prop_def(INT_ATTR)
    broadcast = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure())


@irdl_op_definition
class GreaterOrEqualOp(OnnxOp):
    """`C = A >= B`, element by element, broadcast as in numpy."""

    name = "onnx.GreaterOrEqual"

    OP_TYPE: ClassVar = "GreaterOrEqual"
    SINCE: ClassVar = 12

    T: ClassVar = types("T", "ints uints floats bf16")
    T1: ClassVar = types("T1", "i1")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T1)

    traits = traits_def(Pure(), Checks(broadcast("A", "B")))


@irdl_op_definition
class LessOp(OnnxOp):
    """`C = A < B`, element by element, broadcast as in numpy."""

    name = "onnx.Less"

    OP_TYPE: ClassVar = "Less"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "ints uints floats bf16")
    T1: ClassVar = types("T1", "i1")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T1)

    traits = traits_def(Pure(), Checks(broadcast("A", "B")))


@irdl_op_definition
class LessV1Op(OnnxOp):
    """
    `C = A < B`, element by element.

    As of opsets 1 to 6. B lies along A's dimensions from `axis` on if `broadcast` is 1; else the shapes are
    equal.
    """

    name = "onnx.LessV1"

    OP_TYPE: ClassVar = "Less"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "floats")
    T1: ClassVar = types("T1", "i1")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T1)

    axis = opt_prop_def(INT_ATTR)
    broadcast = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure())


@irdl_op_definition
class LessOrEqualOp(OnnxOp):
    """`C = A <= B`, element by element, broadcast as in numpy."""

    name = "onnx.LessOrEqual"

    OP_TYPE: ClassVar = "LessOrEqual"
    SINCE: ClassVar = 12

    T: ClassVar = types("T", "ints uints floats bf16")
    T1: ClassVar = types("T1", "i1")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T1)

    traits = traits_def(Pure(), Checks(broadcast("A", "B")))


@irdl_op_definition
class NotOp(OnnxOp):
    """`Y = not X`, element by element."""

    name = "onnx.Not"

    OP_TYPE: ClassVar = "Not"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "i1")

    X = operand_def(T)

    Y = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class OrOp(OnnxOp):
    """`C = A or B`, element by element, each broadcast to the other's shape as in numpy."""

    name = "onnx.Or"

    OP_TYPE: ClassVar = "Or"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "i1")
    T1: ClassVar = types("T1", "i1")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T1)

    traits = traits_def(Pure(), Commutative(), Checks(broadcast("A", "B")))


@irdl_op_definition
class OrV1Op(OnnxOp):
    """
    `C = A or B`, element by element.

    As of opsets 1 to 6. B lies along A's dimensions from `axis` on if `broadcast` is 1; else the shapes are
    equal.
    """

    name = "onnx.OrV1"

    OP_TYPE: ClassVar = "Or"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "i1")
    T1: ClassVar = types("T1", "i1")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T1)

    axis = opt_prop_def(INT_ATTR)
    broadcast = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure())


@irdl_op_definition
class XorOp(OnnxOp):
    """`C = A != B` for booleans, broadcast as in numpy."""

    name = "onnx.Xor"

    OP_TYPE: ClassVar = "Xor"
    SINCE: ClassVar = 7

    T: ClassVar = types("T", "i1")
    T1: ClassVar = types("T1", "i1")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T1)

    traits = traits_def(Pure(), Commutative(), Checks(broadcast("A", "B")))


@irdl_op_definition
class XorV1Op(OnnxOp):
    """
    `C = A != B` for booleans.

    As of opsets 1 to 6. B lies along A's dimensions from `axis` on if `broadcast` is 1; else the shapes are
    equal.
    """

    name = "onnx.XorV1"

    OP_TYPE: ClassVar = "Xor"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "i1")
    T1: ClassVar = types("T1", "i1")

    A = operand_def(T)
    B = operand_def(T)

    C = result_def(T1)

    axis = opt_prop_def(INT_ATTR)
    broadcast = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure())


OPS: tuple[type[OnnxOp], ...] = (
    AndOp,
    AndV1Op,
    BitShiftOp,
    BitwiseAndOp,
    BitwiseNotOp,
    BitwiseOrOp,
    BitwiseXorOp,
    EqualOp,
    EqualV1Op,
    GreaterOp,
    GreaterV1Op,
    GreaterOrEqualOp,
    LessOp,
    LessV1Op,
    LessOrEqualOp,
    NotOp,
    OrOp,
    OrV1Op,
    XorOp,
    XorV1Op,
)
