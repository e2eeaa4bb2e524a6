"""Sums, means and products; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import int_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import rank_is
from xonnc.dialects.onnx.checks.values import axes_in_range, integer_in
from xonnc.dialects.onnx.constraints import INT64, INT_ARRAY_ATTR, INT_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class ReduceMeanOp(OnnxOp):
    """
    The mean along `axes`, all of them by default; `keepdims` keeps them with size 1.

    ```mlir
    %r = "onnx.ReduceMean"(%0, %1) : (tensor<4x3xf32>, tensor<1xi64>) -> tensor<?x?xf32>
    ```
    """

    name = "onnx.ReduceMean"

    OP_TYPE: ClassVar = "ReduceMean"
    SINCE: ClassVar = 18

    T: ClassVar = types("T", "i32 i64 ui32 ui64 floats bf16")

    data = operand_def(T)
    axes = operand_def(INT64.optional)

    reduced = result_def(T)

    keepdims = prop_def(INT_ATTR, int_attr(1))
    noop_with_empty_axes = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(integer_in("keepdims", 0, 1), rank_is("axes", 0, 1), integer_in("noop_with_empty_axes", 0, 1)),
    )


@irdl_op_definition
class ReduceMeanV13Op(OnnxOp):
    """
    The mean along `axes`, all of them by default; `keepdims` keeps them with size 1.

    As of opsets 1 to 17.
    """

    name = "onnx.ReduceMeanV13"

    OP_TYPE: ClassVar = "ReduceMean"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 18

    T: ClassVar = types("T", "i32 i64 ui32 ui64 floats bf16")

    data = operand_def(T)

    reduced = result_def(T)

    axes = opt_prop_def(INT_ARRAY_ATTR)
    keepdims = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(),
        Checks(axes_in_range("axes", "data", "reduction axis is out of bound"), integer_in("keepdims", 0, 1)),
    )


@irdl_op_definition
class ReduceProdOp(OnnxOp):
    """The product along `axes`, all of them by default; `keepdims` keeps them with size 1."""

    name = "onnx.ReduceProd"

    OP_TYPE: ClassVar = "ReduceProd"
    SINCE: ClassVar = 18

    T: ClassVar = types("T", "i32 i64 ui32 ui64 floats bf16")

    data = operand_def(T)
    axes = operand_def(INT64.optional)

    reduced = result_def(T)

    keepdims = prop_def(INT_ATTR, int_attr(1))
    noop_with_empty_axes = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(integer_in("keepdims", 0, 1), rank_is("axes", 0, 1), integer_in("noop_with_empty_axes", 0, 1)),
    )


@irdl_op_definition
class ReduceProdV13Op(OnnxOp):
    """
    The product along `axes`, all of them by default; `keepdims` keeps them with size 1.

    As of opsets 1 to 17.
    """

    name = "onnx.ReduceProdV13"

    OP_TYPE: ClassVar = "ReduceProd"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 18

    T: ClassVar = types("T", "i32 i64 ui32 ui64 floats bf16")

    data = operand_def(T)

    reduced = result_def(T)

    axes = opt_prop_def(INT_ARRAY_ATTR)
    keepdims = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(),
        Checks(axes_in_range("axes", "data", "reduction axis is out of bound"), integer_in("keepdims", 0, 1)),
    )


@irdl_op_definition
class ReduceSumOp(OnnxOp):
    """The sum along `axes`, all of them by default; `keepdims` keeps them with size 1."""

    name = "onnx.ReduceSum"

    OP_TYPE: ClassVar = "ReduceSum"
    SINCE: ClassVar = 13

    T: ClassVar = types("T", "i32 i64 ui32 ui64 floats bf16")

    data = operand_def(T)
    axes = operand_def(INT64.optional)

    reduced = result_def(T)

    keepdims = prop_def(INT_ATTR, int_attr(1))
    noop_with_empty_axes = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(integer_in("keepdims", 0, 1), rank_is("axes", 0, 1), integer_in("noop_with_empty_axes", 0, 1)),
    )


@irdl_op_definition
class ReduceSumV11Op(OnnxOp):
    """
    The sum along `axes`, all of them by default; `keepdims` keeps them with size 1.

    As of opsets 1 to 12.
    """

    name = "onnx.ReduceSumV11"

    OP_TYPE: ClassVar = "ReduceSum"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 13

    T: ClassVar = types("T", "i32 i64 ui32 ui64 floats")

    data = operand_def(T)

    reduced = result_def(T)

    axes = opt_prop_def(INT_ARRAY_ATTR)
    keepdims = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(),
        Checks(axes_in_range("axes", "data", "reduction axis is out of bound"), integer_in("keepdims", 0, 1)),
    )


OPS: tuple[type[OnnxOp], ...] = (
    ReduceMeanOp,
    ReduceMeanV13Op,
    ReduceProdOp,
    ReduceProdV13Op,
    ReduceSumOp,
    ReduceSumV11Op,
)
