"""Ensembles of decision trees; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import int_attr, string_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.values import (
    at_least,
    each_one_of,
    either,
    integer_in,
    one_of,
    same_length,
    same_lengths,
)
from xonnc.dialects.onnx.constraints import (
    ELEMENTS_ATTR,
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
class TreeEnsembleOp(OnnxOp):
    """The leaves that decision trees lead to, summed or otherwise aggregated."""

    name = "onnx.TreeEnsemble"

    DOMAIN: ClassVar = "ai.onnx.ml"
    OP_TYPE: ClassVar = "TreeEnsemble"
    SINCE: ClassVar = 5

    T: ClassVar = types("T", "floats")

    X = operand_def(T)

    Y = result_def(T)

    aggregate_function = prop_def(INT_ATTR, int_attr(1))
    leaf_targetids = prop_def(INT_ARRAY_ATTR)
    leaf_weights = prop_def(ELEMENTS_ATTR)
    membership_values = opt_prop_def(ELEMENTS_ATTR)
    n_targets = opt_prop_def(INT_ATTR)
    nodes_falseleafs = prop_def(INT_ARRAY_ATTR)
    nodes_falsenodeids = prop_def(INT_ARRAY_ATTR)
    nodes_featureids = prop_def(INT_ARRAY_ATTR)
    nodes_hitrates = opt_prop_def(ELEMENTS_ATTR)
    nodes_missing_value_tracks_true = opt_prop_def(INT_ARRAY_ATTR)
    nodes_modes = prop_def(ELEMENTS_ATTR)
    nodes_splits = prop_def(ELEMENTS_ATTR)
    nodes_trueleafs = prop_def(INT_ARRAY_ATTR)
    nodes_truenodeids = prop_def(INT_ARRAY_ATTR)
    post_transform = prop_def(INT_ATTR, int_attr(0))
    tree_roots = prop_def(INT_ARRAY_ATTR)

    traits = traits_def(
        Pure(),
        Checks(
            same_length("nodes_featureids", "nodes_truenodeids"),
            at_least("n_targets", 1),
            integer_in("aggregate_function", 0, 3),
            integer_in("post_transform", 0, 4),
            same_lengths(
                "nodes_featureids",
                "nodes_truenodeids",
                "nodes_falsenodeids",
                "nodes_trueleafs",
                "nodes_falseleafs",
                "nodes_missing_value_tracks_true",
            ),
        ),
    )


@irdl_op_definition
class TreeEnsembleClassifierOp(OnnxOp):
    """
    Classes and scores of an ensemble of decision trees.

    Deprecated.
    """

    name = "onnx.TreeEnsembleClassifier"

    DOMAIN: ClassVar = "ai.onnx.ml"
    OP_TYPE: ClassVar = "TreeEnsembleClassifier"
    SINCE: ClassVar = 1

    T1: ClassVar = types("T1", "i32 i64 f32 f64")
    T2: ClassVar = types("T2", "i64 string")

    X = operand_def(T1)

    Y = result_def(T2)
    Z = result_def(FLOAT)

    base_values = opt_prop_def(FLOAT_ARRAY_ATTR)
    base_values_as_tensor = opt_prop_def(ELEMENTS_ATTR)
    class_ids = opt_prop_def(INT_ARRAY_ATTR)
    class_nodeids = opt_prop_def(INT_ARRAY_ATTR)
    class_treeids = opt_prop_def(INT_ARRAY_ATTR)
    class_weights = opt_prop_def(FLOAT_ARRAY_ATTR)
    class_weights_as_tensor = opt_prop_def(ELEMENTS_ATTR)
    classlabels_int64s = opt_prop_def(INT_ARRAY_ATTR)
    classlabels_strings = opt_prop_def(STRING_ARRAY_ATTR)
    nodes_falsenodeids = opt_prop_def(INT_ARRAY_ATTR)
    nodes_featureids = opt_prop_def(INT_ARRAY_ATTR)
    nodes_hitrates = opt_prop_def(FLOAT_ARRAY_ATTR)
    nodes_hitrates_as_tensor = opt_prop_def(ELEMENTS_ATTR)
    nodes_missing_value_tracks_true = opt_prop_def(INT_ARRAY_ATTR)
    nodes_modes = opt_prop_def(STRING_ARRAY_ATTR)
    nodes_nodeids = opt_prop_def(INT_ARRAY_ATTR)
    nodes_treeids = opt_prop_def(INT_ARRAY_ATTR)
    nodes_truenodeids = opt_prop_def(INT_ARRAY_ATTR)
    nodes_values = opt_prop_def(FLOAT_ARRAY_ATTR)
    nodes_values_as_tensor = opt_prop_def(ELEMENTS_ATTR)
    post_transform = prop_def(STRING_ATTR, string_attr("NONE"))

    traits = traits_def(
        Pure(),
        Checks(
            either("classlabels_int64s", "classlabels_strings"),
            one_of("post_transform", "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"),
            same_length("nodes_treeids", "nodes_nodeids"),
            same_lengths(
                "nodes_treeids",
                "nodes_nodeids",
                "nodes_featureids",
                "nodes_values",
                "nodes_modes",
                "nodes_truenodeids",
                "nodes_falsenodeids",
                "nodes_hitrates",
                "nodes_missing_value_tracks_true",
            ),
            each_one_of(
                "nodes_modes",
                "BRANCH_LEQ",
                "BRANCH_LT",
                "BRANCH_GTE",
                "BRANCH_GT",
                "BRANCH_EQ",
                "BRANCH_NEQ",
                "LEAF",
            ),
            same_lengths("class_treeids", "class_nodeids", "class_ids", "class_weights"),
        ),
    )


@irdl_op_definition
class TreeEnsembleRegressorOp(OnnxOp):
    """
    The regression of an ensemble of decision trees.

    Deprecated.
    """

    name = "onnx.TreeEnsembleRegressor"

    DOMAIN: ClassVar = "ai.onnx.ml"
    OP_TYPE: ClassVar = "TreeEnsembleRegressor"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "i32 i64 f32 f64")

    X = operand_def(T)

    Y = result_def(FLOAT)

    aggregate_function = prop_def(STRING_ATTR, string_attr("SUM"))
    base_values = opt_prop_def(FLOAT_ARRAY_ATTR)
    base_values_as_tensor = opt_prop_def(ELEMENTS_ATTR)
    n_targets = opt_prop_def(INT_ATTR)
    nodes_falsenodeids = opt_prop_def(INT_ARRAY_ATTR)
    nodes_featureids = opt_prop_def(INT_ARRAY_ATTR)
    nodes_hitrates = opt_prop_def(FLOAT_ARRAY_ATTR)
    nodes_hitrates_as_tensor = opt_prop_def(ELEMENTS_ATTR)
    nodes_missing_value_tracks_true = opt_prop_def(INT_ARRAY_ATTR)
    nodes_modes = opt_prop_def(STRING_ARRAY_ATTR)
    nodes_nodeids = opt_prop_def(INT_ARRAY_ATTR)
    nodes_treeids = opt_prop_def(INT_ARRAY_ATTR)
    nodes_truenodeids = opt_prop_def(INT_ARRAY_ATTR)
    nodes_values = opt_prop_def(FLOAT_ARRAY_ATTR)
    nodes_values_as_tensor = opt_prop_def(ELEMENTS_ATTR)
    post_transform = prop_def(STRING_ATTR, string_attr("NONE"))
    target_ids = opt_prop_def(INT_ARRAY_ATTR)
    target_nodeids = opt_prop_def(INT_ARRAY_ATTR)
    target_treeids = opt_prop_def(INT_ARRAY_ATTR)
    target_weights = opt_prop_def(FLOAT_ARRAY_ATTR)
    target_weights_as_tensor = opt_prop_def(ELEMENTS_ATTR)

    traits = traits_def(
        Pure(),
        Checks(
            one_of("post_transform", "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"),
            one_of("aggregate_function", "AVERAGE", "SUM", "MIN", "MAX"),
            same_length("nodes_treeids", "nodes_nodeids"),
            same_lengths(
                "nodes_treeids",
                "nodes_nodeids",
                "nodes_featureids",
                "nodes_values",
                "nodes_modes",
                "nodes_truenodeids",
                "nodes_falsenodeids",
                "nodes_hitrates",
                "nodes_missing_value_tracks_true",
            ),
            each_one_of(
                "nodes_modes",
                "BRANCH_LEQ",
                "BRANCH_LT",
                "BRANCH_GTE",
                "BRANCH_GT",
                "BRANCH_EQ",
                "BRANCH_NEQ",
                "LEAF",
            ),
            same_lengths("target_treeids", "target_nodeids", "target_ids", "target_weights"),
            at_least("n_targets", 1),
        ),
    )


OPS: tuple[type[OnnxOp], ...] = (
    TreeEnsembleOp,
    TreeEnsembleClassifierOp,
    TreeEnsembleRegressorOp,
)
