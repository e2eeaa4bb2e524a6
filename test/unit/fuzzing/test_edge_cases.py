"""Every operator gives the same on values at the edge of ONNX, wherever it is computed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from xonnc.dialects.onnx.registry import op_classes
from xonnc.errors import XonncError
from xonnc.fuzzing.edge_cases import deviates, difference, disagreements, is_valid, value_sets, variants
from xonnc.fuzzing.edge_templates import TEMPLATES, WITHOUT_TEMPLATE, NodeTemplate
from xonnc.fuzzing.edge_values import EdgeNode

FIRST = {template.operator: template for template in reversed(TEMPLATES)}
"""A template of each operator; `bench/edge_values.py` has all of them, and other types."""


def test_every_operator_has_a_template_or_a_reason():
    named = {each.OP_TYPE for each in op_classes() if each.OP_TYPE}
    assert named - FIRST.keys() == WITHOUT_TEMPLATE.keys()
    assert named >= FIRST.keys()


@pytest.mark.parametrize("template", FIRST.values(), ids=lambda each: each.operator)
def test_nothing_disagrees(template: NodeTemplate):
    kinds = [each for each in value_sets(template) if each in ("edges", "zeros", "extremes", "nothing drawn")]
    assert not list(disagreements(template, kinds[:2]))


def test_templates_become_those_of_other_types_and_shapes():
    made = list(variants(FIRST["Relu"]))
    held = [each.data[0] for each in made if is_valid(each)]
    assert {each.dtype.name for each in held} >= {"float16", "bfloat16", "int8", "int64"}
    assert {each.shape for each in held} == {(4, 5), (0, 5), ()}


def test_deviations_of_the_reference_are_those_of_a_type_or_a_value_set():
    gelu = FIRST["Gelu"]
    assert not deviates(gelu, "edges")
    assert deviates(gelu.changed({0: replace(gelu.data[0], dtype=np.dtype(np.float64))}), "edges")
    assert deviates(FIRST["AffineGrid"], "infinity")
    assert not deviates(FIRST["AffineGrid"], "ties")
    assert deviates(FIRST["OneHot"], "ties")
    momentum = FIRST["Momentum"]
    scalars = {index: replace(each, shape=()) for index, each in momentum.data.items()}
    assert deviates(momentum.changed(scalars), "ties")
    assert not deviates(momentum, "ties")


def test_narrow_sums_whose_terms_cancel_may_differ():
    near, far = np.array([0], np.float16), np.array([-0.75], np.float16)
    assert difference("RNN", "extremes", near, far) == ""
    assert difference("RNN", "ties", near, far) == "-0.75 at 0, not 0.0"
    assert difference("RNN", "extremes", near.astype(np.float32), far.astype(np.float32)) != ""
    assert difference("Exp", "extremes", near, far) != ""


def test_models_that_do_not_fold_are_reported(monkeypatch: pytest.MonkeyPatch):
    def refuse(_: object) -> None:
        raise XonncError("no")

    monkeypatch.setattr(EdgeNode, "folded", refuse)
    assert list(disagreements(FIRST["Relu"], ["edges"])) == ["Relu, edges: folding says: no"]


def test_sums_may_differ_by_rounding_error_only():
    one = np.array([1, 0, np.nan], np.float32)
    near = np.array([1 + 2**-22, -0.0, np.nan], np.float32)
    assert difference("MatMul", "ties", one, near) == ""
    assert difference("Add", "ties", one, near) == "1.0000002 at 0, not 1.0"
    assert difference("MatMul", "ties", one, one + 1) == "2.0 at 0, not 1.0"
    assert difference("ReduceMax", "ties", one[1:], near[1:]) == ""
    assert difference("MatMul", "ties", one, one[1:]) == "float32[2], not float32[3]"
