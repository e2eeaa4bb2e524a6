"""What is done to a model before it is imported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import convert_model_to_external_data, write_external_data_tensors

from xonnc.errors import XonncError
from xonnc.formats.onnx.import_options import ImportOptions, load_with_options
from xonnc.formats.onnx.load_model import LoadedModel


def value(name: str, shape: list[int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def saved(
    path: Path, nodes: list[onnx.NodeProto], opset: int = 20, weights: list[onnx.TensorProto] | None = None
) -> Path:
    graph = helper.make_graph(
        nodes, "g", [value("x", [2, 3])], [value("y", [2, 3])], weights, value_info=[value("a", [2, 3])]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    path.write_bytes(model.SerializeToString())
    return path


def prepared(path: Path, wishes: ImportOptions, data: bytes | None = None) -> LoadedModel:
    return load_with_options(str(path), "onnx" if data else None, data, wishes)


TWO = [helper.make_node("Relu", ["x"], ["a"], "first"), helper.make_node("Relu", ["a"], ["y"], "second")]


def test_without_wishes_nothing_changes(tmp_path: Path):
    path = saved(tmp_path / "m.onnx", TWO)
    assert prepared(path, ImportOptions()).proto == onnx.ModelProto.FromString(path.read_bytes())


def test_types_are_forgotten(tmp_path: Path):
    graph = prepared(saved(tmp_path / "m.onnx", TWO), ImportOptions(keeps_types=False)).proto.graph
    assert not graph.value_info
    assert not graph.output[0].type.tensor_type.HasField("shape")
    assert graph.output[0].type.tensor_type.elem_type == TensorProto.FLOAT
    assert len(graph.input[0].type.tensor_type.shape.dim) == 2


def test_types_in_subgraphs_are_forgotten(tmp_path: Path):
    branch = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["b"])],
        "t",
        [],
        [value("b", [2, 3])],
        value_info=[value("b", [2, 3])],
    )
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    graph = prepared(saved(tmp_path / "m.onnx", [node]), ImportOptions(keeps_types=False)).proto.graph
    for attribute in graph.node[0].attribute:
        assert not attribute.g.value_info
        assert not attribute.g.output[0].type.tensor_type.HasField("shape")


def test_nodes_in_the_wrong_order_are_refused(tmp_path: Path):
    assert prepared(saved(tmp_path / "m.onnx", TWO), ImportOptions(sorts=False)).proto.graph.node
    path = saved(tmp_path / "wrong.onnx", TWO[::-1])
    with pytest.raises(XonncError, match="second: the node stands before one that it reads; --allowSorting"):
        prepared(path, ImportOptions(sorts=False))


def test_operators_become_their_functions(tmp_path: Path):
    nodes = [helper.make_node("Gelu", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["y"])]
    graph = prepared(saved(tmp_path / "m.onnx", nodes), ImportOptions(decomposed=("Gelu",))).proto.graph
    names = [node.op_type for node in graph.node]
    assert "Gelu" not in names
    assert {"Erf", "Relu"} <= set(names)


def test_an_unknown_operator_is_refused(tmp_path: Path):
    with pytest.raises(XonncError, match="functions-to-decompose: ONNX has no operator 'Gell'"):
        prepared(saved(tmp_path / "m.onnx", TWO), ImportOptions(decomposed=("Gell",)))


@pytest.mark.parametrize("from_memory", [False, True])
def test_a_version_is_converted_with_its_weights(tmp_path: Path, from_memory: bool):
    weight = numpy_helper.from_array(np.arange(600, dtype=np.float32), "w")
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["a"], axes=[1]),
        helper.make_node("Add", ["a", "w"], ["y"]),
    ]
    path = saved(tmp_path / "m.onnx", nodes, 13, [weight])
    loaded = prepared(path, ImportOptions(converts_version=True), path.read_bytes() if from_memory else None)
    assert loaded.proto.opset_import[0].version > 20
    assert len(next(node for node in loaded.proto.graph.node if node.op_type == "ReduceMean").input) == 2
    kept = next(tensor for tensor in loaded.proto.graph.initializer if tensor.name == "w")
    assert np.array_equal(numpy_helper.to_array(kept), np.arange(600, dtype=np.float32))


def test_external_weights_are_converted_too(tmp_path: Path):
    weight = numpy_helper.from_array(np.arange(600, dtype=np.float32), "w")
    path = saved(tmp_path / "m.onnx", [helper.make_node("Add", ["x", "w"], ["y"])], 13, [weight])
    model = onnx.ModelProto.FromString(path.read_bytes())
    convert_model_to_external_data(model, location="m.data", size_threshold=0)
    path.write_bytes(write_external_data_tensors(model, str(tmp_path)).SerializeToString())
    loaded = prepared(path, ImportOptions(converts_version=True))
    assert np.array_equal(
        numpy_helper.to_array(loaded.proto.graph.initializer[0]), np.arange(600, dtype=np.float32)
    )


@pytest.mark.parametrize("operator", ["Nope", "Upsample"])
def test_a_version_that_cannot_be_converted_is_refused(operator: str, tmp_path: Path):
    path = saved(tmp_path / "m.onnx", [helper.make_node(operator, ["x"], ["y"])], 9)
    with pytest.raises(XonncError, match=rf"m.onnx: its operators cannot be converted to opset .*{operator}"):
        prepared(path, ImportOptions(converts_version=True))
