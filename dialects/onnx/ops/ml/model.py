"""Linear models and support vector machines; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import int_attr, string_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.values import at_least, integer_in, one_of
from xonnc.dialects.onnx.constraints import (
    FLOAT,
    FLOAT_ARRAY_ATTR,
    INT_ARRAY_ATTR,
    INT_ATTR,
    STRING_ARRAY_ATTR,
    STRING_ATTR,
    types,
)
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class LinearClassifierOp(OnnxOp):
    """Classes and scores of linear functions of the features."""

    name = "onnx.LinearClassifier"

    DOMAIN: ClassVar = "ai.onnx.ml"
    OP_TYPE: ClassVar = "LinearClassifier"
    SINCE: ClassVar = 1

    T1: ClassVar = types("T1", "i32 i64 f32 f64")
    T2: ClassVar = types("T2", "i64 string")

    X = operand_def(T1)

    Y = result_def(T2)
    Z = result_def(FLOAT)

    classlabels_ints = opt_prop_def(INT_ARRAY_ATTR)
    classlabels_strings = opt_prop_def(STRING_ARRAY_ATTR)
    coefficients = prop_def(FLOAT_ARRAY_ATTR)
    intercepts = opt_prop_def(FLOAT_ARRAY_ATTR)
    multi_class = prop_def(INT_ATTR, int_attr(0))
    post_transform = prop_def(STRING_ATTR, string_attr("NONE"))

    traits = traits_def(
        Pure(),
        Checks(
            one_of("post_transform", "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"),
            integer_in("multi_class", 0, 1),
        ),
    )


@irdl_op_definition
class LinearRegressorOp(OnnxOp):
    """Linear functions of the features."""

    name = "onnx.LinearRegressor"

    DOMAIN: ClassVar = "ai.onnx.ml"
    OP_TYPE: ClassVar = "LinearRegressor"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "i32 i64 f32 f64")

    X = operand_def(T)

    Y = result_def(FLOAT)

    coefficients = opt_prop_def(FLOAT_ARRAY_ATTR)
    intercepts = opt_prop_def(FLOAT_ARRAY_ATTR)
    post_transform = prop_def(STRING_ATTR, string_attr("NONE"))
    targets = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(),
        Checks(
            one_of("post_transform", "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"),
            at_least("targets", 1),
        ),
    )


@irdl_op_definition
class SVMClassifierOp(OnnxOp):
    """Classes and scores of a support vector machine."""

    name = "onnx.SVMClassifier"

    DOMAIN: ClassVar = "ai.onnx.ml"
    OP_TYPE: ClassVar = "SVMClassifier"
    SINCE: ClassVar = 1

    T1: ClassVar = types("T1", "i32 i64 f32 f64")
    T2: ClassVar = types("T2", "i64 string")

    X = operand_def(T1)

    Y = result_def(T2)
    Z = result_def(FLOAT)

    classlabels_ints = opt_prop_def(INT_ARRAY_ATTR)
    classlabels_strings = opt_prop_def(STRING_ARRAY_ATTR)
    coefficients = opt_prop_def(FLOAT_ARRAY_ATTR)
    kernel_params = opt_prop_def(FLOAT_ARRAY_ATTR)
    kernel_type = prop_def(STRING_ATTR, string_attr("LINEAR"))
    post_transform = prop_def(STRING_ATTR, string_attr("NONE"))
    prob_a = opt_prop_def(FLOAT_ARRAY_ATTR)
    prob_b = opt_prop_def(FLOAT_ARRAY_ATTR)
    rho = opt_prop_def(FLOAT_ARRAY_ATTR)
    support_vectors = opt_prop_def(FLOAT_ARRAY_ATTR)
    vectors_per_class = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(
        Pure(),
        Checks(
            one_of("kernel_type", "LINEAR", "POLY", "RBF", "SIGMOID"),
            one_of("post_transform", "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"),
        ),
    )


@irdl_op_definition
class SVMRegressorOp(OnnxOp):
    """A support vector machine's regression, or its mark of anomalies."""

    name = "onnx.SVMRegressor"

    DOMAIN: ClassVar = "ai.onnx.ml"
    OP_TYPE: ClassVar = "SVMRegressor"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "i32 i64 f32 f64")

    X = operand_def(T)

    Y = result_def(FLOAT)

    coefficients = opt_prop_def(FLOAT_ARRAY_ATTR)
    kernel_params = opt_prop_def(FLOAT_ARRAY_ATTR)
    kernel_type = prop_def(STRING_ATTR, string_attr("LINEAR"))
    n_supports = prop_def(INT_ATTR, int_attr(0))
    one_class = prop_def(INT_ATTR, int_attr(0))
    post_transform = prop_def(STRING_ATTR, string_attr("NONE"))
    rho = opt_prop_def(FLOAT_ARRAY_ATTR)
    support_vectors = opt_prop_def(FLOAT_ARRAY_ATTR)

    traits = traits_def(
        Pure(),
        Checks(
            one_of("kernel_type", "LINEAR", "POLY", "RBF", "SIGMOID"),
            one_of("post_transform", "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"),
            integer_in("one_class", 0, 1),
            at_least("n_supports", 0),
        ),
    )


OPS: tuple[type[OnnxOp], ...] = (
    LinearClassifierOp,
    LinearRegressorOp,
    SVMClassifierOp,
    SVMRegressorOp,
)
