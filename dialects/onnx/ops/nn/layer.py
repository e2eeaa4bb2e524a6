"""Other layers; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import float_attr, int_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.shapes import holds_one, rank_is
from xonnc.dialects.onnx.checks.values import axis_in_range, ngrams, one_of
from xonnc.dialects.onnx.constraints import (
    FLOAT_ARRAY_ATTR,
    FLOAT_ATTR,
    INT_ARRAY_ATTR,
    INT_ATTR,
    STRING_ARRAY_ATTR,
    STRING_ATTR,
    types,
)
from xonnc.dialects.onnx.op import OnnxOp, RandomEffect


@irdl_op_definition
class DropoutOp(OnnxOp):
    """In training, elements set to 0 at random and the rest scaled; else `output = data`."""

    name = "onnx.Dropout"

    OP_TYPE: ClassVar = "Dropout"
    SINCE: ClassVar = 12

    T: ClassVar = types("T", "floats bf16 float8s")
    T1: ClassVar = types("T1", "floats bf16 float8s")
    T2: ClassVar = types("T2", "i1")

    data = operand_def(T)
    ratio = operand_def(T1.optional)
    training_mode = operand_def(T2.optional)

    output = result_def(T)
    mask = result_def(T2.optional)

    seed = opt_prop_def(INT_ATTR)

    traits = traits_def(RandomEffect(), Checks(holds_one("ratio"), holds_one("training_mode")))


@irdl_op_definition
class DropoutV10Op(OnnxOp):
    """
    In training, elements set to 0 at random and the rest scaled; else `output = data`.

    As of opsets 10 to 11. It always infers: `ratio` has no meaning.
    """

    name = "onnx.DropoutV10"

    OP_TYPE: ClassVar = "Dropout"
    SINCE: ClassVar = 10
    UNTIL: ClassVar = 12

    T: ClassVar = types("T", "floats")
    T1: ClassVar = types("T1", "i1")

    data = operand_def(T)

    output = result_def(T)
    mask = result_def(T1.optional)

    ratio = prop_def(FLOAT_ATTR, float_attr(0.5))

    traits = traits_def(RandomEffect())


@irdl_op_definition
class DropoutV7Op(OnnxOp):
    """
    In training, elements set to 0 at random and the rest scaled; else `output = data`.

    As of opsets 7 to 9. It always infers: `ratio` has no meaning.
    """

    name = "onnx.DropoutV7"

    OP_TYPE: ClassVar = "Dropout"
    SINCE: ClassVar = 7
    UNTIL: ClassVar = 10

    T: ClassVar = types("T", "floats")

    data = operand_def(T)

    output = result_def(T)
    mask = result_def(T.optional)

    ratio = prop_def(FLOAT_ATTR, float_attr(0.5))

    traits = traits_def(RandomEffect())


@irdl_op_definition
class DropoutV6Op(OnnxOp):
    """
    In training, elements set to 0 at random and the rest scaled; else `output = data`.

    As of opset 6. `is_test` chooses between inference and training.
    """

    name = "onnx.DropoutV6"

    OP_TYPE: ClassVar = "Dropout"
    SINCE: ClassVar = 6
    UNTIL: ClassVar = 7

    T: ClassVar = types("T", "floats")

    data = operand_def(T)

    output = result_def(T)
    mask = result_def(T.optional)

    is_test = prop_def(INT_ATTR, int_attr(0))
    ratio = prop_def(FLOAT_ATTR, float_attr(0.5))

    traits = traits_def(RandomEffect())


@irdl_op_definition
class DropoutV1Op(OnnxOp):
    """
    In training, elements set to 0 at random and the rest scaled; else `output = data`.

    As of opsets 1 to 5. `is_test` chooses between inference and training. `consumed_inputs` has no meaning.
    """

    name = "onnx.DropoutV1"

    OP_TYPE: ClassVar = "Dropout"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 6

    T: ClassVar = types("T", "floats")

    data = operand_def(T)

    output = result_def(T)
    mask = result_def(T.optional)

    consumed_inputs = opt_prop_def(INT_ARRAY_ATTR)
    is_test = prop_def(INT_ATTR, int_attr(0))
    ratio = prop_def(FLOAT_ATTR, float_attr(0.5))

    traits = traits_def(RandomEffect())


@irdl_op_definition
class FlattenOp(OnnxOp):
    """
    A matrix: the dimensions before `axis` as rows, those from it on as columns.

    ```mlir
    %r = "onnx.Flatten"(%0) : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
    ```
    """

    name = "onnx.Flatten"

    OP_TYPE: ClassVar = "Flatten"
    SINCE: ClassVar = 1

    T: ClassVar = types(
        "T", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN complexes string"
    )

    input = operand_def(T)

    output = result_def(T)

    axis = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(Pure(), Checks(axis_in_range("axis", "input", 1)))


@irdl_op_definition
class ShrinkOp(OnnxOp):
    """`output = input + bias` below `-lambd`, `input - bias` above `lambd`, 0 between."""

    name = "onnx.Shrink"

    OP_TYPE: ClassVar = "Shrink"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "ints uints floats")

    input = operand_def(T)

    output = result_def(T)

    bias = prop_def(FLOAT_ATTR, float_attr(0.0))
    lambd = prop_def(FLOAT_ATTR, float_attr(0.5))

    traits = traits_def(Pure())


@irdl_op_definition
class TfIdfVectorizerOp(OnnxOp):
    """Counts of n-grams, weighted."""

    name = "onnx.TfIdfVectorizer"

    OP_TYPE: ClassVar = "TfIdfVectorizer"
    SINCE: ClassVar = 9

    T: ClassVar = types("T", "i32 i64 string")
    T1: ClassVar = types("T1", "f32")

    X = operand_def(T)

    Y = result_def(T1)

    max_gram_length = prop_def(INT_ATTR)
    max_skip_count = prop_def(INT_ATTR)
    min_gram_length = prop_def(INT_ATTR)
    mode = prop_def(STRING_ATTR)
    ngram_counts = prop_def(INT_ARRAY_ATTR)
    ngram_indexes = prop_def(INT_ARRAY_ATTR)
    pool_int64s = opt_prop_def(INT_ARRAY_ATTR)
    pool_strings = opt_prop_def(STRING_ARRAY_ATTR)
    weights = opt_prop_def(FLOAT_ARRAY_ATTR)

    traits = traits_def(Pure(), Checks(one_of("mode", "TF", "IDF", "TFIDF"), rank_is("X", 1, 2), ngrams))


OPS: tuple[type[OnnxOp], ...] = (
    DropoutOp,
    DropoutV10Op,
    DropoutV7Op,
    DropoutV6Op,
    DropoutV1Op,
    FlattenOp,
    ShrinkOp,
    TfIdfVectorizerOp,
)
