"""Values that may be absent at run time; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.operators import optional
from xonnc.dialects.onnx.constraints import TYPE_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class OptionalOp(OnnxOp):
    """A value that may be absent at run time: the input, or nothing of the given type."""

    name = "onnx.Optional"

    OP_TYPE: ClassVar = "Optional"
    SINCE: ClassVar = 15

    V: ClassVar = types(
        "V",
        "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU float6s f4E2M1FN complexes "
        "string seq<i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU float6s f4E2M1FN "
        "complexes string>",
    )
    O_TYPES: ClassVar = types(
        "O",
        "opt<i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU float6s f4E2M1FN "
        "complexes string seq<i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU float6s"
        " f4E2M1FN complexes string>>",
    )

    input = operand_def(V.optional)

    output = result_def(O_TYPES)

    type = opt_prop_def(TYPE_ATTR)

    traits = traits_def(Pure(), Checks(optional))


@irdl_op_definition
class OptionalGetElementOp(OnnxOp):
    """What an optional holds; anything else is passed on."""

    name = "onnx.OptionalGetElement"

    OP_TYPE: ClassVar = "OptionalGetElement"
    SINCE: ClassVar = 15

    O_TYPES: ClassVar = types(
        "O",
        "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU float6s f4E2M1FN complexes "
        "string seq<i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU float6s f4E2M1FN "
        "complexes string> opt<i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU "
        "float6s f4E2M1FN complexes string seq<i1 ints uints int4s int2s floats bf16 float8s "
        "f8E8M0FNU float6s f4E2M1FN complexes string>>",
    )
    V: ClassVar = types(
        "V",
        "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU float6s f4E2M1FN complexes "
        "string seq<i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU float6s f4E2M1FN "
        "complexes string>",
    )

    input = operand_def(O_TYPES)

    output = result_def(V)

    traits = traits_def(Pure())


@irdl_op_definition
class OptionalHasElementOp(OnnxOp):
    """Whether an optional holds something; anything else does."""

    name = "onnx.OptionalHasElement"

    OP_TYPE: ClassVar = "OptionalHasElement"
    SINCE: ClassVar = 15

    O_TYPES: ClassVar = types(
        "O",
        "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU float6s f4E2M1FN complexes "
        "string seq<i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU float6s f4E2M1FN "
        "complexes string> opt<i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU "
        "float6s f4E2M1FN complexes string seq<i1 ints uints int4s int2s floats bf16 float8s "
        "f8E8M0FNU float6s f4E2M1FN complexes string>>",
    )
    B: ClassVar = types("B", "i1")

    input = operand_def(O_TYPES.optional)

    output = result_def(B)

    traits = traits_def(Pure())


OPS: tuple[type[OnnxOp], ...] = (
    OptionalOp,
    OptionalGetElementOp,
    OptionalHasElementOp,
)
