"""Tensors out of nothing: constants and random numbers; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import float_attr, int_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.elements import result_has_dtype
from xonnc.dialects.onnx.checks.shapes import holds_one, rank_is
from xonnc.dialects.onnx.checks.values import at_least, each_at_least
from xonnc.dialects.onnx.constraints import FLOAT_ATTR, INT_ARRAY_ATTR, INT_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp, RandomEffect


@irdl_op_definition
class BernoulliOp(OnnxOp):
    """0 or 1 at random, 1 with the probability that the input gives."""

    name = "onnx.Bernoulli"

    OP_TYPE: ClassVar = "Bernoulli"
    SINCE: ClassVar = 15

    T1: ClassVar = types("T1", "floats bf16")
    T2: ClassVar = types("T2", "i1 ints uints floats bf16")

    input = operand_def(T1)

    output = result_def(T2)

    dtype = opt_prop_def(INT_ATTR)
    seed = opt_prop_def(FLOAT_ATTR)

    traits = traits_def(RandomEffect(), Checks(result_has_dtype("dtype", "output", "input")))


@irdl_op_definition
class EyeLikeOp(OnnxOp):
    """Ones on the `k`-th diagonal, zeros elsewhere, in the input's shape."""

    name = "onnx.EyeLike"

    OP_TYPE: ClassVar = "EyeLike"
    SINCE: ClassVar = 9

    T1: ClassVar = types("T1", "i1 ints uints floats bf16")
    T2: ClassVar = types("T2", "i1 ints uints floats bf16")

    input = operand_def(T1)

    output = result_def(T2)

    dtype = opt_prop_def(INT_ATTR)
    k = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure(), Checks(result_has_dtype("dtype", "output", "input"), rank_is("input", 2)))


@irdl_op_definition
class MultinomialOp(OnnxOp):
    """Classes drawn at random by their unnormalised log-probabilities."""

    name = "onnx.Multinomial"

    OP_TYPE: ClassVar = "Multinomial"
    SINCE: ClassVar = 7

    T1: ClassVar = types("T1", "floats bf16")
    T2: ClassVar = types("T2", "i32 i64")

    input = operand_def(T1)

    output = result_def(T2)

    dtype = prop_def(INT_ATTR, int_attr(6))
    sample_size = prop_def(INT_ATTR, int_attr(1))
    seed = opt_prop_def(FLOAT_ATTR)

    traits = traits_def(
        RandomEffect(),
        Checks(result_has_dtype("dtype", "output"), at_least("sample_size", 1), rank_is("input", 2)),
    )


@irdl_op_definition
class RandomNormalOp(OnnxOp):
    """Normally distributed numbers."""

    name = "onnx.RandomNormal"

    OP_TYPE: ClassVar = "RandomNormal"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "floats bf16")

    output = result_def(T)

    dtype = prop_def(INT_ATTR, int_attr(1))
    mean = prop_def(FLOAT_ATTR, float_attr(0.0))
    scale = prop_def(FLOAT_ATTR, float_attr(1.0))
    seed = opt_prop_def(FLOAT_ATTR)
    shape = prop_def(INT_ARRAY_ATTR)

    traits = traits_def(
        RandomEffect(),
        Checks(
            result_has_dtype("dtype", "output"),
            each_at_least("shape", 0, "Random generator tensor has dynamic dimension."),
        ),
    )


@irdl_op_definition
class RandomNormalLikeOp(OnnxOp):
    """Normally distributed numbers in the input's shape."""

    name = "onnx.RandomNormalLike"

    OP_TYPE: ClassVar = "RandomNormalLike"
    SINCE: ClassVar = 1

    T1: ClassVar = types("T1", "i1 ints uints floats bf16 complexes string")
    T2: ClassVar = types("T2", "floats bf16")

    input = operand_def(T1)

    output = result_def(T2)

    dtype = opt_prop_def(INT_ATTR)
    mean = prop_def(FLOAT_ATTR, float_attr(0.0))
    scale = prop_def(FLOAT_ATTR, float_attr(1.0))
    seed = opt_prop_def(FLOAT_ATTR)

    traits = traits_def(RandomEffect(), Checks(result_has_dtype("dtype", "output", "input")))


@irdl_op_definition
class RandomUniformOp(OnnxOp):
    """Evenly distributed numbers."""

    name = "onnx.RandomUniform"

    OP_TYPE: ClassVar = "RandomUniform"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "floats bf16")

    output = result_def(T)

    dtype = prop_def(INT_ATTR, int_attr(1))
    high = prop_def(FLOAT_ATTR, float_attr(1.0))
    low = prop_def(FLOAT_ATTR, float_attr(0.0))
    seed = opt_prop_def(FLOAT_ATTR)
    shape = prop_def(INT_ARRAY_ATTR)

    traits = traits_def(
        RandomEffect(),
        Checks(
            result_has_dtype("dtype", "output"),
            each_at_least("shape", 0, "Random generator tensor has dynamic dimension."),
        ),
    )


@irdl_op_definition
class RandomUniformLikeOp(OnnxOp):
    """Evenly distributed numbers in the input's shape."""

    name = "onnx.RandomUniformLike"

    OP_TYPE: ClassVar = "RandomUniformLike"
    SINCE: ClassVar = 1

    T1: ClassVar = types("T1", "i1 ints uints floats bf16 complexes string")
    T2: ClassVar = types("T2", "floats bf16")

    input = operand_def(T1)

    output = result_def(T2)

    dtype = opt_prop_def(INT_ATTR)
    high = prop_def(FLOAT_ATTR, float_attr(1.0))
    low = prop_def(FLOAT_ATTR, float_attr(0.0))
    seed = opt_prop_def(FLOAT_ATTR)

    traits = traits_def(RandomEffect(), Checks(result_has_dtype("dtype", "output", "input")))


@irdl_op_definition
class RangeOp(OnnxOp):
    """`start`, `start + delta`, …, up to but without `limit`."""

    name = "onnx.Range"

    OP_TYPE: ClassVar = "Range"
    SINCE: ClassVar = 11

    T: ClassVar = types("T", "i16 i32 i64 floats bf16")

    start = operand_def(T)
    limit = operand_def(T)
    delta = operand_def(T)

    output = result_def(T)

    stash_type = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("start", 0, 1, text="start tensor must have rank zero or one"),
            rank_is("limit", 0, 1, text="limit tensor must have rank zero or one"),
            rank_is("delta", 0, 1, text="delta tensor must have rank zero or one"),
            holds_one("start"),
            holds_one("limit"),
            holds_one("delta"),
        ),
    )


OPS: tuple[type[OnnxOp], ...] = (
    BernoulliOp,
    EyeLikeOp,
    MultinomialOp,
    RandomNormalOp,
    RandomNormalLikeOp,
    RandomUniformOp,
    RandomUniformLikeOp,
    RangeOp,
)
