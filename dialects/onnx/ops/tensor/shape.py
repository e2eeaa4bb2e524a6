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

from xonnc.dialects.onnx.attribute_builders import int_attr, string_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import (
    concatenation,
    divisible,
    holds_for_axes,
    holds_one,
    parts,
    rank_is,
)
from xonnc.dialects.onnx.checks.values import (
    at_least,
    axes_in_range,
    axis_in_range,
    constants_at_least,
    integer_in,
    is_permutation,
    new_axes_differ,
    one_of,
    parts_of,
)
from xonnc.dialects.onnx.constraints import INT64, INT_ARRAY_ATTR, INT_ATTR, STRING_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class ConcatOp(OnnxOp):
    """
    The inputs one after the other along `axis`.

    ```mlir
    %r = "onnx.Concat"(%0, %1) <{axis = 0 : si64}> : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<6x3xf32>
    ```
    """

    name = "onnx.Concat"

    OP_TYPE: ClassVar = "Concat"
    SINCE: ClassVar = 4

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    inputs = var_operand_def(T.one_or_more)

    concat_result = result_def(T)

    axis = prop_def(INT_ATTR)

    traits = traits_def(Pure(), Checks(concatenation))


@irdl_op_definition
class ConcatV1Op(OnnxOp):
    """
    The inputs one after the other along `axis`.

    As of opsets 1 to 3.
    """

    name = "onnx.ConcatV1"

    OP_TYPE: ClassVar = "Concat"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 4

    T: ClassVar = types("T", "floats")

    inputs = var_operand_def(T.one_or_more)

    concat_result = result_def(T)

    axis = opt_prop_def(INT_ATTR)

    traits = traits_def(Pure(), Checks(concatenation))


@irdl_op_definition
class DepthToSpaceOp(OnnxOp):
    """
    Blocks of the channels laid out in the plane.

    ```mlir
    %r = "onnx.DepthToSpace"(%0) <{blocksize = 1 : si64}> : (tensor<1x8x2x3xf32>) -> tensor<1x2x4x6xf32>
    ```
    """

    name = "onnx.DepthToSpace"

    OP_TYPE: ClassVar = "DepthToSpace"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    input = operand_def(T)

    output = result_def(T)

    blocksize = prop_def(INT_ATTR)
    mode = prop_def(STRING_ATTR, string_attr("DCR"))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("input", 4, text="Input should have a rank of four"),
            at_least("blocksize", 1, "Blocksize should be non negative"),
            one_of("mode", "DCR", "CRD", text="Mode must be DCR or CRD, not {}"),
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
    The same elements in another shape; -1 is what is left, 0 the input's size.

    ```mlir
    %r = "onnx.Reshape"(%0, %1) : (tensor<2x6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
    ```
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

    allowzero = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(rank_is("shape", 1, text="Shape tensor must have rank one"), integer_in("allowzero", 0, 1)),
    )


@irdl_op_definition
class ReshapeV1Op(OnnxOp):
    """
    The same elements in another shape; -1 is what is left, 0 the input's size.

    As of opsets 1 to 4.  `consumed_inputs` has no meaning.
    """

    name = "onnx.ReshapeV1"

    OP_TYPE: ClassVar = "Reshape"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 5

    T: ClassVar = types("T", "floats")

    data = operand_def(T)

    reshaped = result_def(T)

    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)
    shape = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class ShapeOp(OnnxOp):
    """
    The shape of the input, from dimension `start` to `end`.

    ```mlir
    %r = "onnx.Shape"(%0) : (tensor<2x?xf32>) -> tensor<2xi64>
    ```
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

    end = opt_prop_def(INT_ATTR)
    start = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure())


@irdl_op_definition
class SizeOp(OnnxOp):
    """The number of elements."""

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
    Blocks of the plane laid out in the channels.

    ```mlir
    %r = "onnx.SpaceToDepth"(%0) <{blocksize = 1 : si64}> : (tensor<1x2x4x6xf32>) -> tensor<1x8x2x3xf32>
    ```
    """

    name = "onnx.SpaceToDepth"

    OP_TYPE: ClassVar = "SpaceToDepth"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    input = operand_def(T)

    output = result_def(T)

    blocksize = prop_def(INT_ATTR)
    mode = prop_def(STRING_ATTR, string_attr("DCR"))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("input", 4, text="Input should have a rank of four"),
            at_least("blocksize", 1, "Blocksize should be non negative"),
            one_of("mode", "DCR", "CRD", text="Mode must be DCR or CRD, not {}"),
            divisible("input", 2, "blocksize", "The input tensor height must be divisible by the block size"),
            divisible("input", 3, "blocksize", "The input tensor width must be divisible by the block size"),
        ),
    )


@irdl_op_definition
class SplitOp(OnnxOp):
    """
    The parts of the input along `axis`.

    ```mlir
    %r = "onnx.Split"(%0, %1) : (tensor<4x3xf32>, tensor<2xi64>) -> (tensor<?x3xf32>, tensor<?x3xf32>)
    ```
    """

    name = "onnx.Split"

    OP_TYPE: ClassVar = "Split"
    SINCE: ClassVar = 18

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    input = operand_def(T)
    split = operand_def(INT64.optional)

    outputs = var_result_def(T.one_or_more)

    axis = prop_def(INT_ATTR, int_attr(0))
    num_outputs = opt_prop_def(INT_ATTR)

    traits = traits_def(
        Pure(),
        Checks(
            axis_in_range("axis", "input"),
            parts("num_outputs", "outputs"),
            constants_at_least("split", 0),
            rank_is("split", 1),
            at_least("num_outputs", 1),
        ),
    )


@irdl_op_definition
class SplitV13Op(OnnxOp):
    """
    The parts of the input along `axis`.

    As of opsets 13 to 17.
    """

    name = "onnx.SplitV13"

    OP_TYPE: ClassVar = "Split"
    SINCE: ClassVar = 13
    UNTIL: ClassVar = 18

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")

    input = operand_def(T)
    split = operand_def(INT64.optional)

    outputs = var_result_def(T.one_or_more)

    axis = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(), Checks(axis_in_range("axis", "input"), constants_at_least("split", 0), rank_is("split", 1))
    )


@irdl_op_definition
class SplitV11Op(OnnxOp):
    """
    The parts of the input along `axis`.

    As of opsets 2 to 12.
    """

    name = "onnx.SplitV11"

    OP_TYPE: ClassVar = "Split"
    SINCE: ClassVar = 2
    UNTIL: ClassVar = 13

    T: ClassVar = types("T", "i1 ints uints floats complexes string")

    input = operand_def(T)

    outputs = var_result_def(T.one_or_more)

    axis = prop_def(INT_ATTR, int_attr(0))
    split = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(
        Pure(), Checks(axis_in_range("axis", "input"), parts_of("split", "input", "outputs", "axis"))
    )


@irdl_op_definition
class SplitV1Op(OnnxOp):
    """
    The parts of the input along `axis`.

    As of opset 1.
    """

    name = "onnx.SplitV1"

    OP_TYPE: ClassVar = "Split"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 2

    T: ClassVar = types("T", "floats")

    input = operand_def(T)
    split = operand_def(T.optional)

    outputs = var_result_def(T.one_or_more)

    axis = opt_prop_def(INT_ATTR)
    split_attr = opt_prop_def(INT_ARRAY_ATTR, prop_name="split")

    traits = traits_def(
        Pure(),
        Checks(
            axis_in_range("axis", "input"),
            constants_at_least("split", 0),
            rank_is("split", 1),
            parts_of("split_attr", "input", "outputs", "axis"),
        ),
    )


@irdl_op_definition
class SqueezeOp(OnnxOp):
    """
    The input without the named dimensions, which have size 1.

    ```mlir
    %r = "onnx.Squeeze"(%0, %1) : (tensor<1x3xf32>, tensor<1xi64>) -> tensor<3xf32>
    ```
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

    traits = traits_def(Pure(), Checks(rank_is("axes", 0, 1)))


@irdl_op_definition
class SqueezeV11Op(OnnxOp):
    """
    The input without the named dimensions, which have size 1.

    As of opsets 1 to 12.
    """

    name = "onnx.SqueezeV11"

    OP_TYPE: ClassVar = "Squeeze"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 13

    T: ClassVar = types("T", "i1 ints uints floats complexes string")

    data = operand_def(T)

    squeezed = result_def(T)

    axes = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure(), Checks(axes_in_range("axes", "data", "Invalid axis value")))


@irdl_op_definition
class TileOp(OnnxOp):
    """
    The input repeated along each dimension.

    ```mlir
    %r = "onnx.Tile"(%0, %1) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
    ```
    """

    name = "onnx.Tile"

    OP_TYPE: ClassVar = "Tile"
    SINCE: ClassVar = 6

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")
    T1: ClassVar = types("T1", "i64")

    input = operand_def(T)
    repeats = operand_def(T1)

    output = result_def(T)

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("repeats", 1, text="Repeats tensor must have rank one"),
            constants_at_least("repeats", 0),
            holds_for_axes("repeats", "input"),
        ),
    )


@irdl_op_definition
class TileV1Op(OnnxOp):
    """
    The input repeated along each dimension.

    As of opsets 1 to 5.
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

    traits = traits_def(Pure(), Checks(holds_one("tiles"), holds_one("axis")))


@irdl_op_definition
class TransposeOp(OnnxOp):
    """
    The dimensions in the order of `perm`, reversed by default.

    ```mlir
    %r = "onnx.Transpose"(%0) <{perm = [1, 0]}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
    ```
    """

    name = "onnx.Transpose"

    OP_TYPE: ClassVar = "Transpose"
    SINCE: ClassVar = 1

    T: ClassVar = types(
        "T", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN complexes string"
    )

    data = operand_def(T)

    transposed = result_def(T)

    perm = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure(), Checks(is_permutation("perm", "data")))


@irdl_op_definition
class UnsqueezeOp(OnnxOp):
    """
    The input with dimensions of size 1 inserted at the given axes.

    ```mlir
    %r = "onnx.Unsqueeze"(%0, %1) : (tensor<3xf32>, tensor<1xi64>) -> tensor<1x3xf32>
    ```
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

    traits = traits_def(Pure(), Checks(rank_is("axes", 0, 1)))


@irdl_op_definition
class UnsqueezeV11Op(OnnxOp):
    """
    The input with dimensions of size 1 inserted at the given axes.

    As of opsets 1 to 12.
    """

    name = "onnx.UnsqueezeV11"

    OP_TYPE: ClassVar = "Unsqueeze"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 13

    T: ClassVar = types("T", "i1 ints uints floats complexes string")

    data = operand_def(T)

    expanded = result_def(T)

    axes = prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure(), Checks(new_axes_differ("axes")))


OPS: tuple[type[OnnxOp], ...] = (
    ConcatOp,
    ConcatV1Op,
    DepthToSpaceOp,
    ReshapeOp,
    ReshapeV1Op,
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
