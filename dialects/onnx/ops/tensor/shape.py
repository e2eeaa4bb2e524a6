"""Shapes and the order of elements; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure

from xonnc.dialects.onnx.attributes import integer, text
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import concatenation, divisible, parts, rank_at_least, rank_is
from xonnc.dialects.onnx.checks.values import (
    at_least,
    axes_in_range,
    axis_in_range,
    is_permutation,
    new_axes_differ,
    one_of,
)
from xonnc.dialects.onnx.constraints import INT, INT64, INTS, TEXT, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class ConcatOp(OnnxOp):
    """
    Concatenate a list of tensors into a single tensor. All input tensors must have the same shape, except
    for the dimension size of the axis to concatenate on.
    """

    name = "onnx.Concat"

    OP_TYPE: ClassVar = "Concat"
    SINCE: ClassVar = 4

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    inputs = var_operand_def(T.some)

    concat_result = result_def(T)

    axis = prop_def(INT)

    traits = traits_def(Pure(), Checks(concatenation))


@irdl_op_definition
class ConcatV1Op(OnnxOp):
    """
    Concatenate a list of tensors into a single tensor.

    As of opset 1 to 3.
    """

    name = "onnx.ConcatV1"

    OP_TYPE: ClassVar = "Concat"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 4

    T: ClassVar = types("T", "floats")

    inputs = var_operand_def(T.some)

    concat_result = result_def(T)

    axis = opt_prop_def(INT)

    traits = traits_def(Pure(), Checks(concatenation))


@irdl_op_definition
class DepthToSpaceOp(OnnxOp):
    """
    DepthToSpace rearranges (permutes) data from depth into blocks of spatial data. This is the reverse
    transformation of SpaceToDepth.
    """

    name = "onnx.DepthToSpace"

    OP_TYPE: ClassVar = "DepthToSpace"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    input = operand_def(T)

    output = result_def(T)

    blocksize = prop_def(INT)
    mode = prop_def(TEXT, text("DCR"))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("input", 4, text="Input should have a rank of four"),
            at_least("blocksize", 1, "Blocksize should be non negative"),
            one_of("mode", "DCR", "CRD"),
            divisible(
                "input",
                1,
                "blocksize",
                "The input tensor depth must be divisible by the (blocksize * blocksize)",
                2,
            ),
        ),
    )


@irdl_op_definition
class ReshapeOp(OnnxOp):
    """
    Reshape the input tensor similar to numpy.reshape. First input is the data tensor, second input is a
    shape tensor which specifies the output shape.
    """

    name = "onnx.Reshape"

    OP_TYPE: ClassVar = "Reshape"
    SINCE: ClassVar = 5

    T: ClassVar = types(
        "T", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN complexes string"
    )

    data = operand_def(T)
    shape = operand_def(INT64)

    reshaped = result_def(T)

    allowzero = prop_def(INT, integer(0))

    traits = traits_def(Pure(), Checks(rank_is("shape", 1, text="Shape tensor must have rank one")))


@irdl_op_definition
class ReshapeV1Op(OnnxOp):
    """
    Reshape the input tensor similar to numpy.reshape. It takes a tensor as input and an argument `shape`.

    As of opset 1 to 4.
    """

    name = "onnx.ReshapeV1"

    OP_TYPE: ClassVar = "Reshape"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 5

    T: ClassVar = types("T", "floats")

    data = operand_def(T)

    reshaped = result_def(T)

    consumed_inputs = opt_prop_def(INTS)
    shape = opt_prop_def(INTS)

    traits = traits_def(Pure())


@irdl_op_definition
class ReverseSequenceOp(OnnxOp):
    """Reverse batch of sequences having different lengths specified by `sequence_lens`."""

    name = "onnx.ReverseSequence"

    OP_TYPE: ClassVar = "ReverseSequence"
    SINCE: ClassVar = 10

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    input = operand_def(T)
    sequence_lens = operand_def(INT64)

    Y = result_def(T)

    batch_axis = prop_def(INT, integer(1))
    time_axis = prop_def(INT, integer(0))

    traits = traits_def(
        Pure(),
        Checks(
            axis_in_range("batch_axis", "input"),
            axis_in_range("time_axis", "input"),
            rank_is("sequence_lens", 1, text="sequence_lens of ReverseSequnce should be 1D tensor"),
            rank_at_least("input", 2, "input of Reversesequence should be 2D or higher rank tensor"),
        ),
    )


@irdl_op_definition
class ShapeOp(OnnxOp):
    """
    Takes a tensor as input and outputs an 1D int64 tensor containing the shape of the input tensor.
    Optional attributes start and end can be used to compute a slice of the input tensor's shape.
    """

    name = "onnx.Shape"

    OP_TYPE: ClassVar = "Shape"
    SINCE: ClassVar = 1

    T: ClassVar = types(
        "T", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN complexes string"
    )
    T1: ClassVar = types("T1", "i64")

    data = operand_def(T)

    shape = result_def(T1)

    end = opt_prop_def(INT)
    start = prop_def(INT, integer(0))

    traits = traits_def(Pure())


@irdl_op_definition
class SizeOp(OnnxOp):
    """
    Takes a tensor as input and outputs a int64 scalar that equals to the total number of elements of the
    input tensor.
    """

    name = "onnx.Size"

    OP_TYPE: ClassVar = "Size"
    SINCE: ClassVar = 1

    T: ClassVar = types(
        "T", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN complexes string"
    )
    T1: ClassVar = types("T1", "i64")

    data = operand_def(T)

    size = result_def(T1)

    traits = traits_def(Pure())


@irdl_op_definition
class SpaceToDepthOp(OnnxOp):
    """
    SpaceToDepth rearranges blocks of spatial data into depth. More specifically, this op outputs a copy of
    the input tensor where values from the height and width dimensions are moved to the depth dimension.
    """

    name = "onnx.SpaceToDepth"

    OP_TYPE: ClassVar = "SpaceToDepth"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    input = operand_def(T)

    output = result_def(T)

    blocksize = prop_def(INT)
    mode = prop_def(TEXT, text("DCR"))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("input", 4, text="Input should have a rank of four"),
            at_least("blocksize", 1, "Blocksize should be non negative"),
            one_of("mode", "DCR", "CRD"),
            divisible("input", 2, "blocksize", "The input tensor height must be divisible by the block size"),
            divisible("input", 3, "blocksize", "The input tensor width must be divisible by the block size"),
        ),
    )


@irdl_op_definition
class SplitOp(OnnxOp):
    """
    Split a tensor into a list of tensors, along the specified 'axis'. Either input 'split' or the attribute
    'num_outputs' should be specified, but not both.
    """

    name = "onnx.Split"

    OP_TYPE: ClassVar = "Split"
    SINCE: ClassVar = 18

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    input = operand_def(T)
    split = operand_def(INT64.optional)

    outputs = var_result_def(T.some)

    axis = prop_def(INT, integer(0))
    num_outputs = opt_prop_def(INT)

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "input"), parts("num_outputs", "outputs")))


@irdl_op_definition
class SplitV13Op(OnnxOp):
    """
    Split a tensor into a list of tensors, along the specified 'axis'. Lengths of the parts can be specified
    using input 'split'.

    As of opset 13 to 17.
    """

    name = "onnx.SplitV13"

    OP_TYPE: ClassVar = "Split"
    SINCE: ClassVar = 13
    UNTIL: ClassVar = 18

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    input = operand_def(T)
    split = operand_def(INT64.optional)

    outputs = var_result_def(T.some)

    axis = prop_def(INT, integer(0))

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "input")))


@irdl_op_definition
class SplitV11Op(OnnxOp):
    """
    Split a tensor into a list of tensors, along the specified 'axis'. Lengths of the parts can be specified
    using argument 'split'.

    As of opset 2 to 12.
    """

    name = "onnx.SplitV11"

    OP_TYPE: ClassVar = "Split"
    SINCE: ClassVar = 2
    UNTIL: ClassVar = 13

    T: ClassVar = types("T", "i1 ints uints floats complexes string")

    input = operand_def(T)

    outputs = var_result_def(T.some)

    axis = prop_def(INT, integer(0))
    split = opt_prop_def(INTS)

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "input")))


@irdl_op_definition
class SplitV1Op(OnnxOp):
    """
    Split a tensor into a list of tensors, along the specified 'axis'. The lengths of the split can be
    specified using argument 'axis' or optional second input blob to the operator.

    As of opset 1.
    """

    name = "onnx.SplitV1"

    OP_TYPE: ClassVar = "Split"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 2

    T: ClassVar = types("T", "floats")

    input = operand_def(T)
    split = operand_def(T.optional)

    outputs = var_result_def(T.some)

    axis = opt_prop_def(INT)
    split_attr = opt_prop_def(INTS, prop_name="split")

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "input")))


@irdl_op_definition
class SqueezeOp(OnnxOp):
    """
    Remove single-dimensional entries from the shape of a tensor. Takes an input `axes` with a list of axes
    to squeeze.
    """

    name = "onnx.Squeeze"

    OP_TYPE: ClassVar = "Squeeze"
    SINCE: ClassVar = 13

    T: ClassVar = types(
        "T", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN complexes string"
    )

    data = operand_def(T)
    axes = operand_def(INT64.optional)

    squeezed = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class SqueezeV11Op(OnnxOp):
    """
    Remove single-dimensional entries from the shape of a tensor. Takes a parameter `axes` with a list of
    axes to squeeze.

    As of opset 1 to 12.
    """

    name = "onnx.SqueezeV11"

    OP_TYPE: ClassVar = "Squeeze"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 13

    T: ClassVar = types("T", "i1 ints uints floats complexes string")

    data = operand_def(T)

    squeezed = result_def(T)

    axes = opt_prop_def(INTS)

    traits = traits_def(Pure(), Checks(axes_in_range("axes", "data")))


@irdl_op_definition
class TileOp(OnnxOp):
    """
    Constructs a tensor by tiling a given tensor. This is the same as function `tile` in Numpy, but no
    broadcast.
    """

    name = "onnx.Tile"

    OP_TYPE: ClassVar = "Tile"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")
    T1: ClassVar = types("T1", "i64")

    input = operand_def(T)
    repeats = operand_def(T1)

    output = result_def(T)

    traits = traits_def(Pure(), Checks(rank_is("repeats", 1, text="Repeats tensor must have rank one")))


@irdl_op_definition
class TileV1Op(OnnxOp):
    """
    Repeat the elements of a tensor along an axis.

    As of opset 1 to 5.
    """

    name = "onnx.TileV1"

    OP_TYPE: ClassVar = "Tile"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    input = operand_def(T)
    tiles = operand_def(T)
    axis = operand_def(T)

    output = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class TransposeOp(OnnxOp):
    """Returns a transpose of the input tensor. (Similar to `numpy.transpose`)."""

    name = "onnx.Transpose"

    OP_TYPE: ClassVar = "Transpose"
    SINCE: ClassVar = 1

    T: ClassVar = types(
        "T", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN complexes string"
    )

    data = operand_def(T)

    transposed = result_def(T)

    perm = opt_prop_def(INTS)

    traits = traits_def(Pure(), Checks(is_permutation("perm", "data")))


@irdl_op_definition
class UnsqueezeOp(OnnxOp):
    """
    Insert single-dimensional entries to the shape of an input tensor (`data`). Takes one required input
    `axes` - which contains a list of dimension indices and this operator will insert a dimension of value
    `1` into the corresponding index of the output tensor (`expanded`).
    """

    name = "onnx.Unsqueeze"

    OP_TYPE: ClassVar = "Unsqueeze"
    SINCE: ClassVar = 13

    T: ClassVar = types(
        "T", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN complexes string"
    )

    data = operand_def(T)
    axes = operand_def(INT64)

    expanded = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class UnsqueezeV11Op(OnnxOp):
    """
    Insert single-dimensional entries to the shape of an input tensor (`data`). Takes one required argument
    `axes` - which contains a list of dimension indices and this operator will insert a dimension of value
    `1` into the corresponding index of the output tensor (`expanded`).

    As of opset 1 to 12.
    """

    name = "onnx.UnsqueezeV11"

    OP_TYPE: ClassVar = "Unsqueeze"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 13

    T: ClassVar = types("T", "i1 ints uints floats complexes string")

    data = operand_def(T)

    expanded = result_def(T)

    axes = prop_def(INTS)

    traits = traits_def(Pure(), Checks(new_axes_differ("axes")))


OPS: tuple[type[OnnxOp], ...] = (
    ConcatOp,
    ConcatV1Op,
    DepthToSpaceOp,
    ReshapeOp,
    ReshapeV1Op,
    ReverseSequenceOp,
    ShapeOp,
    SizeOp,
    SpaceToDepthOp,
    SplitOp,
    SplitV13Op,
    SplitV11Op,
    SplitV1Op,
    SqueezeOp,
    SqueezeV11Op,
    TileOp,
    TileV1Op,
    TransposeOp,
    UnsqueezeOp,
    UnsqueezeV11Op,
)
