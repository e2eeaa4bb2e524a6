"""Functions of one element; running sums; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import int_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import holds_one, rank_is
from xonnc.dialects.onnx.checks.values import constant_axis_in_range, integer_in
from xonnc.dialects.onnx.constraints import INT64, INT_ARRAY_ATTR, INT_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class AbsOp(OnnxOp):
    """`Y = |X|`, element by element."""

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
    `Y = |X|`, element by element.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.AbsV1"

    OP_TYPE: ClassVar = "Abs"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class CumProdOp(OnnxOp):
    """Products of the elements up to each, along `axis`."""

    name = "onnx.CumProd"

    OP_TYPE: ClassVar = "CumProd"
    SINCE: ClassVar = 26

    T: ClassVar = types("T", "i32 i64 ui32 ui64 floats bf16")
    T2: ClassVar = types("T2", "i32 i64")

    x = operand_def(T)
    axis = operand_def(T2)

    y = result_def(T)

    exclusive = prop_def(INT_ATTR, int_attr(0))
    reverse = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(
            integer_in("exclusive", 0, 1),
            integer_in("reverse", 0, 1),
            holds_one("axis"),
            constant_axis_in_range("axis", "x"),
        ),
    )


@irdl_op_definition
class CumSumOp(OnnxOp):
    """Sums of the elements up to each, along `axis`."""

    name = "onnx.CumSum"

    OP_TYPE: ClassVar = "CumSum"
    SINCE: ClassVar = 11

    T: ClassVar = types("T", "i32 i64 ui32 ui64 floats bf16")
    T2: ClassVar = types("T2", "i32 i64")

    x = operand_def(T)
    axis = operand_def(T2)

    y = result_def(T)

    exclusive = prop_def(INT_ATTR, int_attr(0))
    reverse = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(
            integer_in("exclusive", 0, 1),
            integer_in("reverse", 0, 1),
            holds_one("axis"),
            constant_axis_in_range("axis", "x"),
        ),
    )


@irdl_op_definition
class ErfOp(OnnxOp):
    """The error function, element by element."""

    name = "onnx.Erf"

    OP_TYPE: ClassVar = "Erf"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "ints uints floats bf16")

    input = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class ExpOp(OnnxOp):
    """`output = exp(input)`, element by element."""

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
    `output = exp(input)`, element by element.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.ExpV1"

    OP_TYPE: ClassVar = "Exp"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    input = operand_def(T)

    output = result_def(T)

    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class ExpandOp(OnnxOp):
    """
    The input broadcast with `shape`, as numpy does.

    ```mlir
    %r = "onnx.Expand"(%0, %1) : (tensor<3x1xf32>, tensor<2xi64>) -> tensor<?x?xf32>
    ```
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
    """`output = ln(input)`, element by element."""

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
    `output = ln(input)`, element by element.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.LogV1"

    OP_TYPE: ClassVar = "Log"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    input = operand_def(T)

    output = result_def(T)

    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class NegOp(OnnxOp):
    """`Y = -X`, element by element."""

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
    `Y = -X`, element by element.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.NegV1"

    OP_TYPE: ClassVar = "Neg"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class ReciprocalOp(OnnxOp):
    """`Y = 1 / X`, element by element."""

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
    `Y = 1 / X`, element by element.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.ReciprocalV1"

    OP_TYPE: ClassVar = "Reciprocal"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class SqrtOp(OnnxOp):
    """`Y = √X`, element by element; NaN below 0."""

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
    `Y = √X`, element by element; NaN below 0.

    As of opsets 1 to 5.  `consumed_inputs` has no meaning.
    """

    name = "onnx.SqrtV1"

    OP_TYPE: ClassVar = "Sqrt"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)

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
