"""Operators without a kernel give what the reference gives once they are written out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pytest
from onnx import TensorProto, helper
from xdsl.dialects.builtin import ModuleOp

from xonnc.compiler import new_context
from xonnc.dialects.onnx.ops import nn
from xonnc.formats.onnx.importer import import_proto
from xonnc.native import compile_native
from xonnc.standard_functions import write_out

Floats = npt.NDArray[np.float32]

RANDOM = np.random.default_rng(3)


class Reference(Protocol):
    """The reference evaluator, which has no types."""

    def run(self, output_names: None, feed_inputs: Mapping[str, object]) -> Sequence[object]: ...


def model_of(operator: str, opset: int, attributes: Mapping[str, object] | None = None):
    """A model from `x`, f32[2, 3, 4], to `y`."""
    node = helper.make_node(operator, ["x"], ["y"], name="it")
    node.attribute.extend(helper.make_attribute(name, value) for name, value in (attributes or {}).items())
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "model", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.mark.parametrize(
    ("operator", "opset", "attributes"),
    [
        ("MeanVarianceNormalization", 13, {"axes": [0, 2]}),
        ("MeanVarianceNormalization", 13, {"axes": [1]}),
    ],
)
def test_bodies_give_what_operators_give(operator: str, opset: int, attributes: Mapping[str, object]):
    model = model_of(operator, opset, attributes)
    x = RANDOM.normal(size=(2, 3, 4)).astype(np.float32)
    wanted: Reference = import_module("onnx.reference").ReferenceEvaluator(model)
    session = compile_native(model)
    given = np.asarray(session.run(None, {"x": x})[0], np.float32)
    expected = np.asarray(wanted.run(None, {"x": x})[0], np.float32)
    np.testing.assert_allclose(given, expected, rtol=2e-5, atol=1e-6)
    assert operator not in session.host_calls()


def imported(operator: str, opset: int) -> ModuleOp:
    return import_proto(model_of(operator, opset), new_context())


def test_what_is_not_wanted_stays():
    module = imported("MeanVarianceNormalization", 13)
    write_out(module, new_context(), lambda op: False)
    assert any(isinstance(op, nn.MeanVarianceNormalizationOp) for op in module.walk())


def test_operators_without_a_body_stay():
    module = imported("GlobalLpPool", 13)
    before = str(module)
    write_out(module, new_context(), lambda op: True)
    assert str(module) == before


def test_inputs_may_be_left_out_in_the_middle():
    shapes = {"x": [1, 2, 5], "w": [2, 1, 3], "past": [1, 2, 2]}
    feeds = {name: RANDOM.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    node = helper.make_node("CausalConvWithState", ["x", "w", "", "past"], ["y", "present"], name="it")
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, each) for name, each in shapes.items()]
    outputs = [helper.make_empty_tensor_value_info(name) for name in ("y", "present")]
    graph = helper.make_graph([node], "model", ports, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 27)], ir_version=11)
    reference: Reference = import_module("onnx.reference").ReferenceEvaluator(model)
    session = compile_native(model)
    for given, wanted in zip(session.run(None, feeds), reference.run(None, feeds), strict=True):
        numbers = np.asarray(given, np.float32), np.asarray(wanted, np.float32)
        np.testing.assert_allclose(*numbers, rtol=2e-5, atol=1e-6)
    assert session.host_calls() == []
