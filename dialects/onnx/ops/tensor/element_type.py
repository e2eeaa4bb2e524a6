"""Conversions and tests of elements; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attributes import integer, text
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.elements import cast_to, result_has_dtype
from xonnc.dialects.onnx.checks.shapes import broadcast
from xonnc.dialects.onnx.checks.values import one_of
from xonnc.dialects.onnx.constraints import INT, TEXT, TYPE, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class BitCastOp(OnnxOp):
    """
    Reinterprets the binary representation of a tensor as a different data type, specified by the 'to'
    attribute. Unlike Cast, BitCast preserves the exact bit pattern without any value conversion.
    """

    name = "onnx.BitCast"

    OP_TYPE: ClassVar = "BitCast"
    SINCE: ClassVar = 26

    T1: ClassVar = types("T1", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN complexes")
    T2: ClassVar = types("T2", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN complexes")

    input = operand_def(T1)

    output = result_def(T2)

    to = prop_def(INT)

    traits = traits_def(Pure(), Checks(result_has_dtype("to", "output")))


@irdl_op_definition
class CastOp(OnnxOp):
    """
    The operator casts the elements of a given input tensor to a data type specified by the 'to' argument
    and returns an output tensor of the same size in the converted type. The 'to' argument must be one of
    the data types specified in the 'DataType' enum field in the TensorProto message.
    """

    name = "onnx.Cast"

    OP_TYPE: ClassVar = "Cast"
    SINCE: ClassVar = 6

    T1: ClassVar = types(
        "T1", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU float6s f4E2M1FN string"
    )
    T2: ClassVar = types(
        "T2", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU float6s f4E2M1FN string"
    )

    input = operand_def(T1)

    output = result_def(T2)

    round_mode = prop_def(TEXT, text("up"))
    saturate = prop_def(INT, integer(1))
    to = prop_def(TYPE)

    traits = traits_def(Pure(), Checks(cast_to, one_of("round_mode", "up", "down", "nearest")))


@irdl_op_definition
class CastV1Op(OnnxOp):
    """
    The operator casts the elements of a given input tensor to a data type specified by the 'to' argument
    and returns an output tensor of the same size in the converted type. The 'to' argument must be one of
    the data types specified in the 'DataType' enum field in the TensorProto message.

    As of opset 1 to 5.
    """

    name = "onnx.CastV1"

    OP_TYPE: ClassVar = "Cast"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T1: ClassVar = types("T1", "i1 ints uints floats")
    T2: ClassVar = types("T2", "i1 ints uints floats")

    input = operand_def(T1)

    output = result_def(T2)

    to = prop_def(TEXT)

    traits = traits_def(Pure())


@irdl_op_definition
class CastLikeOp(OnnxOp):
    """
    The operator casts the elements of a given input tensor (the first input) to the same data type as the
    elements of the second input tensor. See documentation of the Cast operator for further details.
    """

    name = "onnx.CastLike"

    OP_TYPE: ClassVar = "CastLike"
    SINCE: ClassVar = 15

    T1: ClassVar = types("T1", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN string")
    T2: ClassVar = types("T2", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN string")

    input = operand_def(T1)
    target_type = operand_def(T2)

    output = result_def(T2)

    round_mode = prop_def(TEXT, text("up"))
    saturate = prop_def(INT, integer(1))

    traits = traits_def(Pure(), Checks(one_of("round_mode", "up", "down", "nearest")))


@irdl_op_definition
class IdentityOp(OnnxOp):
    """Identity operator."""

    name = "onnx.Identity"

    OP_TYPE: ClassVar = "Identity"
    SINCE: ClassVar = 1

    V: ClassVar = types(
        "V",
        "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN complexes string "
        "seq<i1 ints uints floats complexes string> opt<i1 ints uints floats complexes string"
        " seq<i1 ints uints floats complexes string>>",
    )

    input = operand_def(V)

    output = result_def(V)

    traits = traits_def(Pure())


@irdl_op_definition
class IsInfOp(OnnxOp):
    """Map infinity to true and other values to false."""

    name = "onnx.IsInf"

    OP_TYPE: ClassVar = "IsInf"
    SINCE: ClassVar = 10

    T1: ClassVar = types("T1", "floats bf16 float8s")
    T2: ClassVar = types("T2", "i1")

    X = operand_def(T1)

    Y = result_def(T2)

    detect_negative = prop_def(INT, integer(1))
    detect_positive = prop_def(INT, integer(1))

    traits = traits_def(Pure())


@irdl_op_definition
class IsNaNOp(OnnxOp):
    """Returns which elements of the input are NaN."""

    name = "onnx.IsNaN"

    OP_TYPE: ClassVar = "IsNaN"
    SINCE: ClassVar = 9

    T1: ClassVar = types("T1", "floats bf16 float8s")
    T2: ClassVar = types("T2", "i1")

    X = operand_def(T1)

    Y = result_def(T2)

    traits = traits_def(Pure())


@irdl_op_definition
class WhereOp(OnnxOp):
    """
    Return elements, either from X or Y, depending on condition. Where behaves like numpy.where with three
    parameters.
    """

    name = "onnx.Where"

    OP_TYPE: ClassVar = "Where"
    SINCE: ClassVar = 9

    B: ClassVar = types("B", "i1")
    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    condition = operand_def(B)
    X = operand_def(T)
    Y = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure(), Checks(broadcast("condition", "X", "Y")))


OPS: tuple[type[OnnxOp], ...] = (
    BitCastOp,
    CastOp,
    CastV1Op,
    CastLikeOp,
    IdentityOp,
    IsInfOp,
    IsNaNOp,
    WhereOp,
)
