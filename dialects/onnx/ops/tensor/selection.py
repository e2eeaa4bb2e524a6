"""Elements gathered and scattered by index or condition; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attributes import integer, text
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import rank_at_least, rank_is, same_rank, size_is
from xonnc.dialects.onnx.checks.values import at_least, axis_in_range, integer_in, new_axis_in_range, one_of
from xonnc.dialects.onnx.constraints import INT, INT64, INTS, TEXT, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class CompressOp(OnnxOp):
    """
    Selects slices from an input tensor along a given axis where condition evaluates to True for each axis
    index. In case axis is not provided, input is flattened before elements are selected.
    """

    name = "onnx.Compress"

    OP_TYPE: ClassVar = "Compress"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")
    T1: ClassVar = types("T1", "i1")

    input = operand_def(T)
    condition = operand_def(T1)

    output = result_def(T)

    axis = opt_prop_def(INT)

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "input")))


@irdl_op_definition
class GatherOp(OnnxOp):
    """
    Given `data` tensor of rank r >= 1, and `indices` tensor of rank q, gather entries of the axis dimension
    of `data` (by default outer-most one as axis=0) indexed by `indices`, and concatenates them in an output
    tensor of rank q + (r - 1).
    """

    name = "onnx.Gather"

    OP_TYPE: ClassVar = "Gather"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")
    TIND: ClassVar = types("Tind", "i32 i64")

    data = operand_def(T)
    indices = operand_def(TIND)

    output = result_def(T)

    axis = prop_def(INT, integer(0))

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "data"), rank_at_least("data", 1)))


@irdl_op_definition
class GatherElementsOp(OnnxOp):
    """
    GatherElements takes two inputs `data` and `indices` of the same rank r >= 1 and an optional attribute
    `axis` that identifies an axis of `data` (by default, the outer-most axis, that is axis 0).
    """

    name = "onnx.GatherElements"

    OP_TYPE: ClassVar = "GatherElements"
    SINCE: ClassVar = 11

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")
    TIND: ClassVar = types("Tind", "i32 i64")

    data = operand_def(T)
    indices = operand_def(TIND)

    output = result_def(T)

    axis = prop_def(INT, integer(0))

    traits = traits_def(
        Pure(), Checks(axis_in_range("axis", "data"), same_rank("data", "indices"), rank_at_least("data", 1))
    )


@irdl_op_definition
class GatherNDOp(OnnxOp):
    """
    Given `data` tensor of rank `r` >= 1, `indices` tensor of rank `q` >= 1, and `batch_dims` integer `b`,
    this operator gathers slices of `data` into an output tensor of rank `q + r - indices_shape[-1] - 1 -
    b`.
    """

    name = "onnx.GatherND"

    OP_TYPE: ClassVar = "GatherND"
    SINCE: ClassVar = 11

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    data = operand_def(T)
    indices = operand_def(INT64)

    output = result_def(T)

    batch_dims = prop_def(INT, integer(0))

    traits = traits_def(
        Pure(), Checks(at_least("batch_dims", 0), rank_at_least("data", 1), rank_at_least("indices", 1))
    )


@irdl_op_definition
class NonZeroOp(OnnxOp):
    """Returns the indices of the elements that are non-zero (in row-major order - by dimension)."""

    name = "onnx.NonZero"

    OP_TYPE: ClassVar = "NonZero"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    X = operand_def(T)

    Y = result_def(INT64)

    traits = traits_def(Pure())


@irdl_op_definition
class OneHotOp(OnnxOp):
    """Produces a one-hot tensor based on inputs."""

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

    axis = prop_def(INT, integer(-1))

    traits = traits_def(
        Pure(),
        Checks(
            new_axis_in_range("axis", "indices"),
            rank_is("values", 1, text="OneHot values must be 1D tensor"),
            size_is("values", 0, 2, "OneHot values must be 1D tensor with 2 elements"),
            rank_is("depth", 0, 1, text="OneHot depth must be 0 or 1D tensor"),
            size_is("depth", 0, 1, "OneHot depth can be 1D tensor with 1 elements"),
        ),
    )


@irdl_op_definition
class OneHotV9Op(OnnxOp):
    """
    Produces a one-hot tensor based on inputs.

    As of opset 9 to 10.
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

    axis = prop_def(INT, integer(-1))

    traits = traits_def(
        Pure(),
        Checks(
            new_axis_in_range("axis", "indices"),
            rank_is("values", 1, text="OneHot values must be 1D tensor"),
            size_is("values", 0, 2, "OneHot values must be 1D tensor with 2 elements"),
            rank_is("depth", 0, 1, text="OneHot depth must be 0 or 1D tensor"),
            size_is("depth", 0, 1, "OneHot depth can be 1D tensor with 1 elements"),
        ),
    )


@irdl_op_definition
class ScatterOp(OnnxOp):
    """
    This operator is deprecated. Please use ScatterElements, which provides the same functionality.

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

    axis = prop_def(INT, integer(0))

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "data")))


@irdl_op_definition
class ScatterElementsOp(OnnxOp):
    """
    ScatterElements takes three inputs `data`, `updates`, and `indices` of the same rank r >= 1 and an
    optional attribute axis that identifies an axis of `data` (by default, the outer-most axis, that is axis
    0).
    """

    name = "onnx.ScatterElements"

    OP_TYPE: ClassVar = "ScatterElements"
    SINCE: ClassVar = 11

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")
    TIND: ClassVar = types("Tind", "i32 i64")

    data = operand_def(T)
    indices = operand_def(TIND)
    updates = operand_def(T)

    output = result_def(T)

    axis = prop_def(INT, integer(0))
    reduction = prop_def(TEXT, text("none"))

    traits = traits_def(
        Pure(),
        Checks(
            axis_in_range("axis", "data"),
            same_rank("data", "indices"),
            same_rank("data", "updates"),
            rank_at_least("data", 1),
            one_of("reduction", "none", "add", "mul", "max", "min"),
        ),
    )


@irdl_op_definition
class ScatterNDOp(OnnxOp):
    """
    ScatterND takes three inputs `data` tensor of rank r >= 1, `indices` tensor of rank q >= 1, and
    `updates` tensor of rank q + r - indices.shape[-1] - 1.
    """

    name = "onnx.ScatterND"

    OP_TYPE: ClassVar = "ScatterND"
    SINCE: ClassVar = 11

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    data = operand_def(T)
    indices = operand_def(INT64)
    updates = operand_def(T)

    output = result_def(T)

    reduction = prop_def(TEXT, text("none"))

    traits = traits_def(
        Pure(),
        Checks(
            rank_at_least("data", 1),
            rank_at_least("indices", 1),
            one_of("reduction", "none", "add", "mul", "max", "min"),
        ),
    )


@irdl_op_definition
class SliceOp(OnnxOp):
    """Produces a slice of the input tensor along multiple axes."""

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

    traits = traits_def(Pure(), Checks(rank_is("starts", 1), same_rank("starts", "ends")))


@irdl_op_definition
class SliceV1Op(OnnxOp):
    """
    Produces a slice of the input tensor along multiple axes.

    As of opset 1 to 9.
    """

    name = "onnx.SliceV1"

    OP_TYPE: ClassVar = "Slice"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 10

    T: ClassVar = types("T", "i1 ints uints floats complexes string")

    data = operand_def(T)

    output = result_def(T)

    axes = opt_prop_def(INTS)
    ends = prop_def(INTS)
    starts = prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class TensorScatterOp(OnnxOp):
    """
    TensorScatter is a generic tensor update operation, motivated by the requirements for KV cache updates
    for Attention ops commonly found in LLMs. It is a functional operation that models an in-place update to
    a KV cache buffer.
    """

    name = "onnx.TensorScatter"

    OP_TYPE: ClassVar = "TensorScatter"
    SINCE: ClassVar = 24

    T: ClassVar = types("T", "i1 ints uints int4s floats bf16 float8s f8E8M0FNU f4E2M1FN complexes string")

    past_cache = operand_def(T)
    update = operand_def(T)
    write_indices = operand_def(INT64.optional)

    present_cache = result_def(T)

    axis = prop_def(INT, integer(-2))
    mode = prop_def(TEXT, text("linear"))

    traits = traits_def(Pure())


@irdl_op_definition
class TriluOp(OnnxOp):
    """
    Given a 2-D matrix or batches of 2-D matrices, returns the upper or lower triangular part of the
    tensor(s). The attribute "upper" determines whether the upper or lower part is retained.
    """

    name = "onnx.Trilu"

    OP_TYPE: ClassVar = "Trilu"
    SINCE: ClassVar = 14

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    input = operand_def(T)
    k = operand_def(INT64.optional)

    output = result_def(T)

    upper = prop_def(INT, integer(1))

    traits = traits_def(Pure(), Checks(rank_at_least("input", 2), integer_in("upper", 0, 1)))


@irdl_op_definition
class UniqueOp(OnnxOp):
    """
    Find the unique elements of a tensor. When an optional attribute 'axis' is provided, unique subtensors
    sliced along the 'axis' are returned.
    """

    name = "onnx.Unique"

    OP_TYPE: ClassVar = "Unique"
    SINCE: ClassVar = 11

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    X = operand_def(T)

    Y = result_def(T)
    indices = result_def(INT64.optional)
    inverse_indices = result_def(INT64.optional)
    counts = result_def(INT64.optional)

    axis = opt_prop_def(INT)
    sorted = prop_def(INT, integer(1))

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "X"), integer_in("sorted", 0, 1)))


OPS: tuple[type[OnnxOp], ...] = (
    CompressOp,
    GatherOp,
    GatherElementsOp,
    GatherNDOp,
    NonZeroOp,
    OneHotOp,
    OneHotV9Op,
    ScatterOp,
    ScatterElementsOp,
    ScatterNDOp,
    SliceOp,
    SliceV1Op,
    TensorScatterOp,
    TriluOp,
    UniqueOp,
)
