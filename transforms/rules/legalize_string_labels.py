"""
Classifiers with string labels as classifiers with integer labels and a LabelEncoder.

Native kernels do not handle strings; the session maps labels.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.attribute_builders import int_array_attr, string_array_attr
from xonnc.dialects.onnx.ops.ml import LabelEncoderOp
from xonnc.dialects.onnx.types import is_ranked, unranked
from xonnc.rewriting.onnx import LinearClassifier, SVMClassifier, TreeEnsembleClassifier
from xonnc.rewriting.patterns import ImperativeRewrite, MatchFailure, RewriteResult, Template, attr, value
from xonnc.rewriting.rules import Rule, rule, rules


def by_number(template: Template, numbered: str) -> Rule:
    """A classifier with string labels is one with labels 0, 1, … and a LabelEncoder"""

    @rule(template(value.x, classlabels_strings=attr.labels))
    def classifier(root: Operation, x: SSAValue, labels: Sequence[str] | None) -> RewriteResult:
        """A classifier with string labels is one with labels 0, 1, … and a LabelEncoder"""
        # With one label, ONNX defines an implicit second class: leave that to the operator.
        if not labels or len(labels) < 2:
            return MatchFailure("its classes are no strings, or one alone")
        names = tuple(labels)

        def apply(op: Operation) -> Sequence[SSAValue]:
            label, scores = (result.type for result in op.results)
            properties = {**op.properties, numbered: int_array_attr(*range(len(names)))}
            del properties["classlabels_strings"]
            made = type(op).create(
                operands=op.operands,
                result_types=[_of_integers(label), scores],
                properties=properties,
                attributes=op.attributes,
            )
            look_up = LabelEncoderOp.create(
                operands=[made.results[0]],
                result_types=[label],
                properties={
                    "keys_int64s": int_array_attr(*range(len(names))),
                    "values_strings": string_array_attr(*names),
                },
            )
            block = op.parent
            assert block is not None
            for each in (made, look_up):
                each.location = op.location
                block.insert_op_before(each, op)
            return [look_up.results[0], made.results[1]]

        return ImperativeRewrite(apply)

    return classifier


def _of_integers(type_: Attribute) -> Attribute:
    return TensorType(i64, type_.get_shape()) if is_ranked(type_) else unranked(i64)


RULES = rules(
    LinearClassifierOfStrings=by_number(LinearClassifier, "classlabels_ints"),
    SVMClassifierOfStrings=by_number(SVMClassifier, "classlabels_ints"),
    TreeEnsembleClassifierOfStrings=by_number(TreeEnsembleClassifier, "classlabels_int64s"),
)
