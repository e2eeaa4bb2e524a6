"""Operators that onnxruntime writes into the default domain of opsets without them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from xonnc.contexts import new_context
from xonnc.dialects.onnx.types import element_type
from xonnc.errors import XonncError
from xonnc.formats.onnx.importer import import_proto
from xonnc.native import compile_native
from xonnc.runtime.reference import open_session
from xonnc.simplifier import simplify


def model_of(op_type: str, opset: int, outputs: int = 1, **attributes: Any) -> onnx.ModelProto:
    scale = np.array([1, 2, -3, 0.5], np.float32)
    weights = [numpy_helper.from_array(scale, "s")]
    if op_type == "LayerNormalization":
        weights.append(numpy_helper.from_array(scale[::-1].copy(), "b"))
    names = ["y", "m"][:outputs]
    graph = helper.make_graph(
        [helper.make_node(op_type, ["x", *(each.name for each in weights)], names, "norm", **attributes)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 4])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.mark.parametrize("opset", [9, 13, 16])
@pytest.mark.parametrize("op_type", ["LayerNormalization", "SimplifiedLayerNormalization"])
def test_they_run_as_in_onnxruntime_and_keep_their_names(op_type: str, opset: int):
    model = model_of(op_type, opset, axis=2, epsilon=1e-3)
    x: npt.NDArray[np.float32] = np.random.default_rng(1).normal(size=(2, 3, 4)).astype(np.float32)
    session, _ = open_session(model.SerializeToString(), "model")
    (expected,) = session.run(None, {"x": x})
    compiled = compile_native(model)
    found = compiled.run(None, {"x": x})[0]
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found.astype(np.float32), expected, rtol=1e-5, atol=1e-6)
    assert compiled.host_calls() == []
    simple = simplify(model).proto()
    assert [node.op_type for node in simple.graph.node] == [op_type]
    assert simple.opset_import[0].version == opset
    assert simple.graph.node[0].attribute == model.graph.node[0].attribute


def test_with_results_that_the_standard_has_not_they_stay_as_they_are():
    model = model_of("SimplifiedLayerNormalization", 13, outputs=2, axis=-1)
    simple = simplify(model).proto()
    assert [node.op_type for node in simple.graph.node] == ["SimplifiedLayerNormalization"]
    assert list(simple.graph.node[0].output) == ["y", "m"]


def test_others_need_the_opset_that_they_came_with():
    with pytest.raises(
        XonncError, match=r"norm .RMSNormalization.: the model's opset is 13, and this operator came"
    ):
        simplify(model_of("RMSNormalization", 13))


@pytest.mark.parametrize(
    ("op_type", "operands", "element"),
    [
        ("QLinearConcat", "scale zero x scale zero", "ui8"),
        ("QGemm", "x scale zero w scale zero none scale zero", "ui8"),
        ("QGemm", "x scale zero w scale zero", "f32"),
        ("MatMulIntegerToFloat", "x w scale scale", "f32"),
        ("QLinearSigmoid", "x scale zero scale zero", "ui8"),
    ],
)
def test_undeclared_results_have_the_element_type_that_onnxruntime_gives(
    op_type: str, operands: str, element: str
):
    names = ["" if name == "none" else name for name in operands.split()]
    types = {
        "x": TensorProto.UINT8,
        "w": TensorProto.UINT8,
        "zero": TensorProto.UINT8,
        "scale": TensorProto.FLOAT,
    }
    attributes: dict[str, Any] = {"axis": 0} if op_type == "QLinearConcat" else {}
    inputs = [
        helper.make_tensor_value_info(name, types[name], None) for name in dict.fromkeys(filter(None, names))
    ]
    nodes = [
        helper.make_node(op_type, names, ["y"], domain="com.microsoft", **attributes),
        helper.make_node("Identity", ["y"], ["z"]),
    ]
    result = helper.make_empty_tensor_value_info("z")
    graph = helper.make_graph(nodes, "g", inputs, [result])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    module = import_proto(helper.make_model(graph, opset_imports=opsets, ir_version=8), new_context())
    (contributed,) = (op for op in module.walk() if op.name == f"microsoft.{op_type}")
    assert str(element_type(contributed.results[0].type)) == element
