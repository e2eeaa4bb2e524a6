"""Extrema and where they are; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import int_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import rank_is
from xonnc.dialects.onnx.checks.values import axes_in_range, axis_in_range, integer_in
from xonnc.dialects.onnx.constraints import INT64, INT_ARRAY_ATTR, INT_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class ArgMaxOp(OnnxOp):
    """
    The index of the largest element along `axis`.

    ```mlir
    %r = "onnx.ArgMax"(%0) : (tensor<4x3xf32>) -> tensor<1x3xi64>
    ```
    """

    name = "onnx.ArgMax"

    OP_TYPE: ClassVar = "ArgMax"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "ints uints floats bf16")

    data = operand_def(T)

    reduced = result_def(INT64)

    axis = prop_def(INT_ATTR, int_attr(0))
    keepdims = prop_def(INT_ATTR, int_attr(1))
    select_last_index = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(
            axis_in_range("axis", "data"), integer_in("keepdims", 0, 1), integer_in("select_last_index", 0, 1)
        ),
    )


@irdl_op_definition
class ArgMinOp(OnnxOp):
    """The index of the smallest element along `axis`."""

    name = "onnx.ArgMin"

    OP_TYPE: ClassVar = "ArgMin"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "ints uints floats bf16")

    data = operand_def(T)

    reduced = result_def(INT64)

    axis = prop_def(INT_ATTR, int_attr(0))
    keepdims = prop_def(INT_ATTR, int_attr(1))
    select_last_index = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(
            axis_in_range("axis", "data"), integer_in("keepdims", 0, 1), integer_in("select_last_index", 0, 1)
        ),
    )


@irdl_op_definition
class ReduceMaxOp(OnnxOp):
    """The largest element along `axes`, all of them by default; `keepdims` keeps them with size 1."""

    name = "onnx.ReduceMax"

    OP_TYPE: ClassVar = "ReduceMax"
    SINCE: ClassVar = 20

    T: ClassVar = types("T", "i1 i8 i32 i64 ui8 ui32 ui64 floats bf16")

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
class ReduceMaxV18Op(OnnxOp):
    """
    The largest element along `axes`, all of them by default; `keepdims` keeps them with size 1.

    As of opsets 18 to 19.
    """

    name = "onnx.ReduceMaxV18"

    OP_TYPE: ClassVar = "ReduceMax"
    SINCE: ClassVar = 18
    UNTIL: ClassVar = 20

    T: ClassVar = types("T", "i8 i32 i64 ui8 ui32 ui64 floats bf16")

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
class ReduceMaxV13Op(OnnxOp):
    """
    The largest element along `axes`, all of them by default; `keepdims` keeps them with size 1.

    As of opsets 1 to 17.
    """

    name = "onnx.ReduceMaxV13"

    OP_TYPE: ClassVar = "ReduceMax"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 18

    T: ClassVar = types("T", "i8 i32 i64 ui8 ui32 ui64 floats bf16")

    data = operand_def(T)

    reduced = result_def(T)

    axes = opt_prop_def(INT_ARRAY_ATTR)
    keepdims = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(),
        Checks(axes_in_range("axes", "data", "reduction axis is out of bound"), integer_in("keepdims", 0, 1)),
    )


@irdl_op_definition
class ReduceMinOp(OnnxOp):
    """The smallest element along `axes`, all of them by default; `keepdims` keeps them with size 1."""

    name = "onnx.ReduceMin"

    OP_TYPE: ClassVar = "ReduceMin"
    SINCE: ClassVar = 20

    T: ClassVar = types("T", "i1 i8 i32 i64 ui8 ui32 ui64 floats bf16")

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
class ReduceMinV18Op(OnnxOp):
    """
    The smallest element along `axes`, all of them by default; `keepdims` keeps them with size 1.

    As of opsets 18 to 19.
    """

    name = "onnx.ReduceMinV18"

    OP_TYPE: ClassVar = "ReduceMin"
    SINCE: ClassVar = 18
    UNTIL: ClassVar = 20

    T: ClassVar = types("T", "i8 i32 i64 ui8 ui32 ui64 floats bf16")

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
class ReduceMinV13Op(OnnxOp):
    """
    The smallest element along `axes`, all of them by default; `keepdims` keeps them with size 1.

    As of opsets 1 to 17.
    """

    name = "onnx.ReduceMinV13"

    OP_TYPE: ClassVar = "ReduceMin"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 18

    T: ClassVar = types("T", "i8 i32 i64 ui8 ui32 ui64 floats bf16")

    data = operand_def(T)

    reduced = result_def(T)

    axes = opt_prop_def(INT_ARRAY_ATTR)
    keepdims = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(),
        Checks(axes_in_range("axes", "data", "reduction axis is out of bound"), integer_in("keepdims", 0, 1)),
    )


OPS: tuple[type[OnnxOp], ...] = (
    ArgMaxOp,
    ArgMinOp,
    ReduceMaxOp,
    ReduceMaxV18Op,
    ReduceMaxV13Op,
    ReduceMinOp,
    ReduceMinV18Op,
    ReduceMinV13Op,
)
