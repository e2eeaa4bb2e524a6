"""Explanations: each node with its engine, layer and company, or every reason at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from onnx import NodeProto, TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

from xonnc.calibration import calibrate_module
from xonnc.compiler import compile_model
from xonnc.explanation import explain_model
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.node_explanations import Explanation, NodeExplanation

SmallModel = Callable[..., Path]


def by_name(explanation: Explanation) -> dict[str, NodeExplanation]:
    return {node.node: node for node in explanation.nodes}


def write(
    path: Path,
    nodes: Sequence[NodeProto],
    shape: Sequence[int],
    weights: dict[str, npt.NDArray[np.float32]],
    opset: int = 13,
) -> Path:
    """A model of `nodes` from `x` to `y`."""
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def test_nodes_of_the_small_model(small_model: SmallModel):
    path = small_model("small.onnx")
    explanation = explain_model(path, "nv_full")
    assert explanation.refusals == ()
    assert explanation.layers == (("CONV", "SDP", "PDP"), ("CONV", "SDP"), ("SOFTMAX",))
    nodes = by_name(explanation)
    assert [nodes[name].engine for name in ("conv1", "act1", "pool1", "fc1", "prob")] == [
        "CONV",
        "SDP",
        "PDP",
        "CONV",
        "EMU",
    ]
    assert nodes["conv1"].layers == nodes["act1"].layers == nodes["pool1"].layers == (0,)
    assert set(nodes["act1"].with_nodes) == {"conv1", "pool1"}
    assert (nodes["fc1"].layers, nodes["prob"].layers) == ((1,), (2,))
    assert (nodes["flat1"].engine, nodes["flat1"].layers) == ("view", ())


def test_layers_are_those_of_the_compiler(small_model: SmallModel):
    path = small_model("small.onnx")
    compiled = [len(layer.engines) for layer in compile_model(path, "nv_full").report.layers]
    assert [len(engines) for engines in explain_model(path, "nv_full").layers] == compiled


def test_what_is_put_off_until_a_rounding_is_in_its_pass(small_model: SmallModel):
    def calibrate(module: ModuleOp) -> Ranges:
        sample = np.random.default_rng(1).standard_normal((1, 3, 8, 8)).astype(np.float32)
        return calibrate_module(module, [{"x": sample}])

    explanation = explain_model(small_model("small.onnx"), "nv_small", calibrate)
    assert explanation.refusals == ()
    nodes = by_name(explanation)
    assert nodes["conv1"].layers == nodes["act1"].layers
    assert "conv1" in nodes["act1"].with_nodes
    assert "act1" in nodes["conv1"].with_nodes
    assert (nodes["conv1"].engine, nodes["act1"].engine) == ("CONV", "SDP")
    assert all(nodes[name].layers for name in ("conv1", "act1", "pool1", "fc1", "prob"))


def test_a_norm_is_where_its_convolution_is(tmp_path: Path):
    ones = {name: np.ones(4, np.float32) for name in ("s", "b", "m", "v")}
    weights = {"w": np.ones((4, 3, 3, 3), np.float32)} | ones
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "conv"),
        helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"], "norm"),
        helper.make_node("Identity", ["n"], ["i"], "same"),
        helper.make_node("Relu", ["i"], ["y"]),
    ]
    found = by_name(explain_model(write(tmp_path / "m.onnx", nodes, (1, 3, 8, 8), weights), "nv_full"))
    assert found["conv"].engine == found["norm"].engine == "CONV"
    assert found["conv"].layers == found["norm"].layers == (0,)
    assert found["same"].engine == "removed"
    # A node without a name goes by that of what it makes.
    assert (found["y"].operator, found["y"].engine, found["y"].layers) == ("Relu", "SDP", (0,))


def test_a_convolution_in_pieces_names_every_layer(tmp_path: Path):
    weights = {"w": np.ones((32, 32, 3, 3), np.float32)}
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], "conv", pads=[1, 1, 1, 1])]
    explanation = explain_model(write(tmp_path / "m.onnx", nodes, (1, 32, 200, 100), weights), "nv_full")
    (conv,) = explanation.nodes
    assert len(conv.layers) == len(explanation.layers) > 1


def test_all_reasons_at_once(tmp_path: Path):
    nodes = [
        helper.make_node("MaxPool", ["x"], ["p"], "far", kernel_shape=[2, 2], dilations=[1, 2]),
        helper.make_node("Relu", ["p"], ["r"], "fine"),
        helper.make_node("Cos", ["r"], ["y"], "wave"),
    ]
    explanation = explain_model(write(tmp_path / "m.onnx", nodes, (1, 8, 20, 20), {}), "nv_full")
    found = by_name(explanation)
    assert (found["far"].engine, found["fine"].engine, found["wave"].engine) == ("refused", "SDP", "refused")
    assert str(found["far"].reason).startswith("dilations [1, 2] (the PDP takes 1)")
    assert str(found["wave"].reason).startswith("the DLA has no such operator; ")
    assert len(explanation.refusals) == 2
    assert explanation.layers == ()


def test_the_whole_network_may_be_refused(small_model: SmallModel):
    explanation = explain_model(small_model("small.onnx"), "nv_small")
    assert explanation.refusals == (
        "nv_small computes in int8; the model needs fp16: quantize it with --calibrate or --calib",
    )
    assert {node.reason for node in explanation.nodes} == {None}


def test_no_emulator_for_cubes_of_16_bytes(small_model: SmallModel):
    explanation = explain_model(small_model("small.onnx"), "nv_medium_512")
    reason = by_name(explanation)["prob"].reason
    assert reason is not None
    assert reason.startswith("nv_medium_512 has atoms of 16 bytes; the runtime's CPU emulator reads 8 and 32")


@pytest.mark.parametrize("target", ["nv_full", "nv_small"])
def test_every_node_has_a_row(target: str, small_model: SmallModel):
    names = [node.node for node in explain_model(small_model("small.onnx"), target).nodes]
    assert names == ["conv1", "act1", "pool1", "flat1", "fc1", "prob"]


def test_operators_of_old_opsets_are_explained_as_they_are_compiled(tmp_path: Path):
    """Clip was another operator before opset 12; in a hard swish it is part of a lookup table."""
    nodes = [
        helper.make_node("Add", ["x", "three"], ["a"], "add"),
        helper.make_node("Clip", ["a", "zero", "six"], ["c"], "clip"),
        helper.make_node("Mul", ["x", "c"], ["m"], "gate"),
        helper.make_node("Div", ["m", "six"], ["y"], "sixth"),
    ]
    numbers = {"zero": 0, "three": 3, "six": 6}
    weights = {name: np.array(number, np.float32) for name, number in numbers.items()}
    path = write(tmp_path / "m.onnx", nodes, (1, 8, 4, 4), weights, 11)
    sample = {"x": np.linspace(-5, 5, 128, dtype=np.float32).reshape(1, 8, 4, 4)}
    explanation = explain_model(path, "nv_small", lambda module: calibrate_module(module, [sample]))
    assert explanation.refusals == ()
    assert {node.engine for node in explanation.nodes} == {"CDP"}
