"""Elements gathered and scattered by index or condition; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import int_attr, string_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.indexing import (
    compress_condition,
    constant_indices,
    gather_nd,
    reversed_sequences,
    scatter_nd,
    tensor_scatter,
    within,
)
from xonnc.dialects.onnx.checks.shapes import (
    holds_one,
    rank_at_least,
    rank_is,
    rank_of,
    same_rank,
    same_shape,
    size_is,
)
from xonnc.dialects.onnx.checks.values import (
    at_least,
    axes_in_range,
    axis_in_range,
    constants_at_least,
    integer_in,
    new_axis_in_range,
    one_of,
    same_lengths,
)
from xonnc.dialects.onnx.constraints import INT64, INT_ARRAY_ATTR, INT_ATTR, STRING_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class CompressOp(OnnxOp):
    """The slices along `axis`, or the elements, where the condition holds."""

    name = "onnx.Compress"

    OP_TYPE: ClassVar = "Compress"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")
    T1: ClassVar = types("T1", "i1")

    input = operand_def(T)
    condition = operand_def(T1)

    output = result_def(T)

    axis = opt_prop_def(INT_ATTR)

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "input"), compress_condition))


@irdl_op_definition
class GatherOp(OnnxOp):
    """
    The slices of `data` along `axis` that the indices name.

    ```mlir
    %r = "onnx.Gather"(%0, %1) : (tensor<5x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
    ```
    """

    name = "onnx.Gather"

    OP_TYPE: ClassVar = "Gather"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")
    TIND: ClassVar = types("Tind", "i32 i64")

    data = operand_def(T)
    indices = operand_def(TIND)

    output = result_def(T)

    axis = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure(), Checks(rank_at_least("data", 1), axis_in_range("axis", "data")))


@irdl_op_definition
class GatherElementsOp(OnnxOp):
    """The element of `data` that each index names along `axis`."""

    name = "onnx.GatherElements"

    OP_TYPE: ClassVar = "GatherElements"
    SINCE: ClassVar = 11

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")
    TIND: ClassVar = types("Tind", "i32 i64")

    data = operand_def(T)
    indices = operand_def(TIND)

    output = result_def(T)

    axis = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(
            rank_at_least("data", 1),
            axis_in_range("axis", "data"),
            rank_of("indices", "data"),
            constant_indices("data", "indices", "axis"),
            within("indices", "data", "axis"),
        ),
    )


@irdl_op_definition
class GatherNDOp(OnnxOp):
    """The slices of `data` that each row of indices names."""

    name = "onnx.GatherND"

    OP_TYPE: ClassVar = "GatherND"
    SINCE: ClassVar = 11

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    data = operand_def(T)
    indices = operand_def(INT64)

    output = result_def(T)

    batch_dims = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(at_least("batch_dims", 0), rank_at_least("data", 1), rank_at_least("indices", 1), gather_nd),
    )


@irdl_op_definition
class NonZeroOp(OnnxOp):
    """The indices of the elements that are not 0, one column each."""

    name = "onnx.NonZero"

    OP_TYPE: ClassVar = "NonZero"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    X = operand_def(T)

    Y = result_def(INT64)

    traits = traits_def(Pure())


@irdl_op_definition
class OneHotOp(OnnxOp):
    """
    `values[1]` where the index along the new axis is the input's, `values[0]` elsewhere.

    ```mlir
    %r = "onnx.OneHot"(%0, %1, %2) : (tensor<2xf32>, tensor<f32>, tensor<2xf32>) -> tensor<2x?xf32>
    ```
    """

    name = "onnx.OneHot"

    OP_TYPE: ClassVar = "OneHot"
    SINCE: ClassVar = 11

    T1: ClassVar = types("T1", "ints uints floats")
    T2: ClassVar = types("T2", "ints uints floats")
    T3: ClassVar = types("T3", "i1 ints uints floats bf16 complexes string")

    indices = operand_def(T1)
    depth = operand_def(T2)
    values = operand_def(T3)

    output = result_def(T3)

    axis = prop_def(INT_ATTR, int_attr(-1))

    traits = traits_def(
        Pure(),
        Checks(
            new_axis_in_range("axis", "indices", "OneHot axis value is out of range"),
            rank_is("values", 1, text="OneHot values must be 1D tensor"),
            size_is("values", 0, 2, "OneHot values must be 1D tensor with 2 elements"),
            rank_is("depth", 0, 1, text="OneHot depth must be 0 or 1D tensor"),
            size_is("depth", 0, 1, "OneHot depth can be 1D tensor with 1 elements"),
            constants_at_least("depth", 1, "OneHot depth must be greater than 1"),
        ),
    )


@irdl_op_definition
class OneHotV9Op(OnnxOp):
    """
    `values[1]` where the index along the new axis is the input's, `values[0]` elsewhere.

    As of opsets 9 to 10. Negative indices are out of range.
    """

    name = "onnx.OneHotV9"

    OP_TYPE: ClassVar = "OneHot"
    SINCE: ClassVar = 9
    UNTIL: ClassVar = 11

    T1: ClassVar = types("T1", "ints uints floats")
    T2: ClassVar = types("T2", "ints uints floats")
    T3: ClassVar = types("T3", "i1 ints uints floats complexes string")

    indices = operand_def(T1)
    depth = operand_def(T2)
    values = operand_def(T3)

    output = result_def(T3)

    axis = prop_def(INT_ATTR, int_attr(-1))

    traits = traits_def(
        Pure(),
        Checks(
            new_axis_in_range("axis", "indices", "OneHot axis value is out of range"),
            rank_is("values", 1, text="OneHot values must be 1D tensor"),
            size_is("values", 0, 2, "OneHot values must be 1D tensor with 2 elements"),
            rank_is("depth", 0, 1, text="OneHot depth must be 0 or 1D tensor"),
            size_is("depth", 0, 1, "OneHot depth can be 1D tensor with 1 elements"),
            constants_at_least("depth", 1, "OneHot depth must be greater than 1"),
        ),
    )


@irdl_op_definition
class ReverseSequenceOp(OnnxOp):
    """Each sequence of a batch with its first elements in reverse."""

    name = "onnx.ReverseSequence"

    OP_TYPE: ClassVar = "ReverseSequence"
    SINCE: ClassVar = 10

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    input = operand_def(T)
    sequence_lens = operand_def(INT64)

    Y = result_def(T)

    batch_axis = prop_def(INT_ATTR, int_attr(1))
    time_axis = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("sequence_lens", 1, text="sequence_lens of ReverseSequnce should be 1D tensor"),
            rank_at_least("input", 2, "input of Reversesequence should be 2D or higher rank tensor"),
            axis_in_range("batch_axis", "input"),
            axis_in_range("time_axis", "input"),
            reversed_sequences,
        ),
    )


@irdl_op_definition
class ScatterOp(OnnxOp):
    """
    `data` with updates written at the indices along `axis`.

    Deprecated.
    """

    name = "onnx.Scatter"

    OP_TYPE: ClassVar = "Scatter"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "i1 ints uints floats complexes string")
    TIND: ClassVar = types("Tind", "i32 i64")

    data = operand_def(T)
    indices = operand_def(TIND)
    updates = operand_def(T)

    output = result_def(T)

    axis = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(
            axis_in_range("axis", "data"),
            within("indices", "data", "axis"),
            same_rank("data", "indices"),
            same_shape("indices", "updates"),
        ),
    )


@irdl_op_definition
class ScatterElementsOp(OnnxOp):
    """`data` with each update written, or added, … at its index along `axis`."""

    name = "onnx.ScatterElements"

    OP_TYPE: ClassVar = "ScatterElements"
    SINCE: ClassVar = 11

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")
    TIND: ClassVar = types("Tind", "i32 i64")

    data = operand_def(T)
    indices = operand_def(TIND)
    updates = operand_def(T)

    output = result_def(T)

    axis = prop_def(INT_ATTR, int_attr(0))
    reduction = prop_def(STRING_ATTR, string_attr("none"))

    traits = traits_def(
        Pure(),
        Checks(
            rank_at_least("data", 1),
            axis_in_range("axis", "data"),
            rank_of("indices", "data"),
            rank_of("updates", "data"),
            one_of("reduction", "none", "add", "mul", "max", "min"),
            constant_indices("data", "indices", "axis"),
            within("indices", "data", "axis"),
            same_shape("indices", "updates"),
        ),
    )


@irdl_op_definition
class ScatterNDOp(OnnxOp):
    """`data` with each slice of updates written, or added, … at its row of indices."""

    name = "onnx.ScatterND"

    OP_TYPE: ClassVar = "ScatterND"
    SINCE: ClassVar = 11

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    data = operand_def(T)
    indices = operand_def(INT64)
    updates = operand_def(T)

    output = result_def(T)

    reduction = prop_def(STRING_ATTR, string_attr("none"))

    traits = traits_def(
        Pure(),
        Checks(
            rank_at_least("data", 1),
            rank_at_least("indices", 1),
            one_of("reduction", "none", "add", "mul", "max", "min"),
            scatter_nd,
        ),
    )


@irdl_op_definition
class SliceOp(OnnxOp):
    """
    Every `steps`-th element from `starts` to `ends`, along `axes`.

    ```mlir
    %r = "onnx.Slice"(%0, %1, %2, %none, %none)
      : (tensor<5x3xf32>, tensor<2xi64>, tensor<2xi64>, none, none) -> tensor<?x?xf32>
    ```
    """

    name = "onnx.Slice"

    OP_TYPE: ClassVar = "Slice"
    SINCE: ClassVar = 10

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")
    TIND: ClassVar = types("Tind", "i32 i64")

    data = operand_def(T)
    starts = operand_def(TIND)
    ends = operand_def(TIND)
    axes = operand_def(TIND.optional)
    steps = operand_def(TIND.optional)

    output = result_def(T)

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("starts", 1),
            same_rank("starts", "ends"),
            same_shape("starts", "ends"),
            rank_is("axes", 1),
            same_shape("starts", "axes"),
            same_shape("starts", "steps"),
        ),
    )


@irdl_op_definition
class SliceV1Op(OnnxOp):
    """
    The elements from `starts` to `ends`, along `axes`.

    As of opsets 1 to 9.
    """

    name = "onnx.SliceV1"

    OP_TYPE: ClassVar = "Slice"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 10

    T: ClassVar = types("T", "i1 ints uints floats complexes string")

    data = operand_def(T)

    output = result_def(T)

    axes = opt_prop_def(INT_ARRAY_ATTR)
    ends = prop_def(INT_ARRAY_ATTR)
    starts = prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure(), Checks(same_lengths("starts", "ends", "axes"), axes_in_range("axes", "data")))


@irdl_op_definition
class TensorScatterOp(OnnxOp):
    """A cache with an update written at each sequence's position."""

    name = "onnx.TensorScatter"

    OP_TYPE: ClassVar = "TensorScatter"
    SINCE: ClassVar = 24

    T: ClassVar = types("T", "i1 ints uints int4s floats bf16 float8s f8E8M0FNU f4E2M1FN complexes string")

    past_cache = operand_def(T)
    update = operand_def(T)
    write_indices = operand_def(INT64.optional)

    present_cache = result_def(T)

    axis = prop_def(INT_ATTR, int_attr(-2))
    mode = prop_def(STRING_ATTR, string_attr("linear"))

    traits = traits_def(
        Pure(),
        Checks(
            rank_at_least("past_cache", 2),
            same_rank("past_cache", "update"),
            rank_is("write_indices", 1),
            one_of("mode", "linear", "circular"),
            tensor_scatter,
        ),
    )


@irdl_op_definition
class TriluOp(OnnxOp):
    """The upper or lower triangle of each matrix, zeros elsewhere."""

    name = "onnx.Trilu"

    OP_TYPE: ClassVar = "Trilu"
    SINCE: ClassVar = 14

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    input = operand_def(T)
    k = operand_def(INT64.optional)

    output = result_def(T)

    upper = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(Pure(), Checks(rank_at_least("input", 2), integer_in("upper", 0, 1), holds_one("k")))


@irdl_op_definition
class UniqueOp(OnnxOp):
    """The different elements or slices, and how they map to the input."""

    name = "onnx.Unique"

    OP_TYPE: ClassVar = "Unique"
    SINCE: ClassVar = 11

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    X = operand_def(T)

    Y = result_def(T)
    indices = result_def(INT64.optional)
    inverse_indices = result_def(INT64.optional)
    counts = result_def(INT64.optional)

    axis = opt_prop_def(INT_ATTR)
    sorted = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "X"), integer_in("sorted", 0, 1)))


OPS: tuple[type[OnnxOp], ...] = (
    CompressOp,
    GatherOp,
    GatherElementsOp,
    GatherNDOp,
    NonZeroOp,
    OneHotOp,
    OneHotV9Op,
    ReverseSequenceOp,
    ScatterOp,
    ScatterElementsOp,
    ScatterNDOp,
    SliceOp,
    SliceV1Op,
    TensorScatterOp,
    TriluOp,
    UniqueOp,
)
