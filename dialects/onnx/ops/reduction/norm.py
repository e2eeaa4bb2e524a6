"""Norms and logarithms of sums; written by `python -m xonnc.tools.onnx_dialect`."""

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
class ReduceL1Op(OnnxOp):
    """`Σ |x|` along `axes`, all of them by default; `keepdims` keeps them with size 1."""

    name = "onnx.ReduceL1"

    OP_TYPE: ClassVar = "ReduceL1"
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
class ReduceL1V13Op(OnnxOp):
    """
    `Σ |x|` along `axes`, all of them by default; `keepdims` keeps them with size 1.

    As of opsets 1 to 17.
    """

    name = "onnx.ReduceL1V13"

    OP_TYPE: ClassVar = "ReduceL1"
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
class ReduceL2Op(OnnxOp):
    """`√Σ x²` along `axes`, all of them by default; `keepdims` keeps them with size 1."""

    name = "onnx.ReduceL2"

    OP_TYPE: ClassVar = "ReduceL2"
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
class ReduceL2V13Op(OnnxOp):
    """
    `√Σ x²` along `axes`, all of them by default; `keepdims` keeps them with size 1.

    As of opsets 1 to 17.
    """

    name = "onnx.ReduceL2V13"

    OP_TYPE: ClassVar = "ReduceL2"
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
class ReduceLogSumOp(OnnxOp):
    """`ln Σ x` along `axes`, all of them by default; `keepdims` keeps them with size 1."""

    name = "onnx.ReduceLogSum"

    OP_TYPE: ClassVar = "ReduceLogSum"
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
class ReduceLogSumV13Op(OnnxOp):
    """
    `ln Σ x` along `axes`, all of them by default; `keepdims` keeps them with size 1.

    As of opsets 1 to 17.
    """

    name = "onnx.ReduceLogSumV13"

    OP_TYPE: ClassVar = "ReduceLogSum"
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
class ReduceLogSumExpOp(OnnxOp):
    """`ln Σ exp(x)` along `axes`, all of them by default; `keepdims` keeps them with size 1."""

    name = "onnx.ReduceLogSumExp"

    OP_TYPE: ClassVar = "ReduceLogSumExp"
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
class ReduceLogSumExpV13Op(OnnxOp):
    """
    `ln Σ exp(x)` along `axes`, all of them by default; `keepdims` keeps them with size 1.

    As of opsets 1 to 17.
    """

    name = "onnx.ReduceLogSumExpV13"

    OP_TYPE: ClassVar = "ReduceLogSumExp"
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
class ReduceSumSquareOp(OnnxOp):
    """`Σ x²` along `axes`, all of them by default; `keepdims` keeps them with size 1."""

    name = "onnx.ReduceSumSquare"

    OP_TYPE: ClassVar = "ReduceSumSquare"
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
class ReduceSumSquareV13Op(OnnxOp):
    """
    `Σ x²` along `axes`, all of them by default; `keepdims` keeps them with size 1.

    As of opsets 1 to 17.
    """

    name = "onnx.ReduceSumSquareV13"

    OP_TYPE: ClassVar = "ReduceSumSquare"
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


OPS: tuple[type[OnnxOp], ...] = (
    ReduceL1Op,
    ReduceL1V13Op,
    ReduceL2Op,
    ReduceL2V13Op,
    ReduceLogSumOp,
    ReduceLogSumV13Op,
    ReduceLogSumExpOp,
    ReduceLogSumExpV13Op,
    ReduceSumSquareOp,
    ReduceSumSquareV13Op,
)
