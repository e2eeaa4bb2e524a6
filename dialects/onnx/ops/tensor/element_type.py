"""Conversions and tests of elements; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import int_attr, string_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.elements import cast_to, result_has_dtype
from xonnc.dialects.onnx.checks.shapes import broadcast, same_bits
from xonnc.dialects.onnx.checks.values import integer_in, one_of
from xonnc.dialects.onnx.constraints import INT_ATTR, STRING_ATTR, TYPE_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class BitCastOp(OnnxOp):
    """The same bits as another element type of the same width."""

    name = "onnx.BitCast"

    OP_TYPE: ClassVar = "BitCast"
    SINCE: ClassVar = 26

    T1: ClassVar = types("T1", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN complexes")
    T2: ClassVar = types("T2", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN complexes")

    input = operand_def(T1)

    output = result_def(T2)

    to = prop_def(INT_ATTR)

    traits = traits_def(Pure(), Checks(result_has_dtype("to", "output"), same_bits("input", "output")))


@irdl_op_definition
class CastOp(OnnxOp):
    """The elements as another type."""

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

    round_mode = prop_def(STRING_ATTR, string_attr("up"))
    saturate = prop_def(INT_ATTR, int_attr(1))
    to = prop_def(TYPE_ATTR)

    traits = traits_def(
        Pure(), Checks(cast_to, one_of("round_mode", "up", "down", "nearest"), integer_in("saturate", 0, 1))
    )


@irdl_op_definition
class CastV1Op(OnnxOp):
    """
    The elements as another type.

    As of opsets 1 to 5. The type is a string, `FLOAT`.
    """

    name = "onnx.CastV1"

    OP_TYPE: ClassVar = "Cast"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T1: ClassVar = types("T1", "i1 ints uints floats")
    T2: ClassVar = types("T2", "i1 ints uints floats")

    input = operand_def(T1)

    output = result_def(T2)

    to = prop_def(STRING_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class CastLikeOp(OnnxOp):
    """The elements as the type of `target_type`."""

    name = "onnx.CastLike"

    OP_TYPE: ClassVar = "CastLike"
    SINCE: ClassVar = 15

    T1: ClassVar = types("T1", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN string")
    T2: ClassVar = types("T2", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN string")

    input = operand_def(T1)
    target_type = operand_def(T2)

    output = result_def(T2)

    round_mode = prop_def(STRING_ATTR, string_attr("up"))
    saturate = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(), Checks(one_of("round_mode", "up", "down", "nearest"), integer_in("saturate", 0, 1))
    )


@irdl_op_definition
class IdentityOp(OnnxOp):
    """
    `output = input`.

    ```mlir
    %r = "onnx.Identity"(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

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
    """Which elements are infinite, of the signs asked for."""

    name = "onnx.IsInf"

    OP_TYPE: ClassVar = "IsInf"
    SINCE: ClassVar = 10

    T1: ClassVar = types("T1", "floats bf16 float8s")
    T2: ClassVar = types("T2", "i1")

    X = operand_def(T1)

    Y = result_def(T2)

    detect_negative = prop_def(INT_ATTR, int_attr(1))
    detect_positive = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(), Checks(integer_in("detect_negative", 0, 1), integer_in("detect_positive", 0, 1))
    )


@irdl_op_definition
class IsNaNOp(OnnxOp):
    """Which elements are NaN."""

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
    X where the condition holds, Y elsewhere, all broadcast as in numpy.

    ```mlir
    %r = "onnx.Where"(%0, %1, %2) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    ```
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
