"""Which kernel computes a node in native code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx
import onnx.parser
import pytest

from xonnc.errors import UnknownNameError
from xonnc.native_explanation import explain_native
from xonnc.node_explanations import NodeExplanation

SmallModel = Callable[..., Path]


def saved(path: Path, text: str) -> Path:
    path.write_bytes(
        onnx.parser.parse_model(
            f'<ir_version: 8, opset_import: ["": 17, "org.made": 1]> {text}'
        ).SerializeToString()
    )
    return path


def test_nodes_of_the_small_model(small_model: SmallModel):
    found = explain_native(small_model("small.onnx"))
    nodes = {node.node: node for node in found.nodes}
    assert found.refusals == ()
    assert (nodes["conv1"].engine, nodes["flat1"].engine) == ("native", "view")
    assert nodes["conv1"].with_nodes == ("act1",)
    (last,) = nodes["prob"].layers
    assert found.layers[last][0].startswith("softmax")


def test_nodes_without_a_name_and_the_host(tmp_path: Path):
    text = """g (float[2, 3] x, int64[4] pads) => (float[n, m] w)
    {
        a = Identity (x)  b = Relu (a)  y = Neg (b)
        c = Pad (y, pads)  w = Exp (c)
    }"""
    found = explain_native(saved(tmp_path / "m.onnx", text), "avx2")
    nodes = {node.node: node for node in found.nodes}
    assert nodes["a"] == NodeExplanation("a", "Identity", "removed")
    assert nodes["b"].with_nodes == ("y",)
    assert nodes["c"].engine == "host"
    assert nodes["c"].reason
    assert found.target == "avx2"


def test_sizes_of_dynamic_inputs(tmp_path: Path):
    text = "g (float[n, 3] x) => (float[n, 3] y) { a = Bernoulli (x)  y = Neg (a) }"
    path = saved(tmp_path / "m.onnx", text)
    dynamic, static = explain_native(path), explain_native(path, input_shapes={"x": (2, 3)})
    assert [node.engine for node in dynamic.nodes] == ["host", "host"]
    assert "'a' is tensor<?x3xf32>, and 'a' (Bernoulli) needs static sizes" in str(dynamic.nodes[1].reason)
    assert [node.engine for node in static.nodes] == ["session", "native"]


def test_operators_that_do_not_exist(tmp_path: Path):
    text = """g (float[2] x) => (float[2] y) { a = org.made.Strange (x)  b = Reluu (a)  y = Neg (b) }"""
    found = explain_native(saved(tmp_path / "m.onnx", text))
    nodes = {node.node: node for node in found.nodes}
    assert nodes["b"] == NodeExplanation(
        "b", "Reluu", "refused", reason="no operator 'Reluu' in domain 'ai.onnx'; did you mean 'Relu'?"
    )
    assert nodes["y"].engine == "undecided"
    assert len(found.refusals) == 2
    assert found.refusals[0].startswith("a: no operator 'Strange' in domain 'org.made'")


def test_unknown_processors(small_model: SmallModel):
    with pytest.raises(UnknownNameError, match="no target 'avx3'; did you mean 'avx2'"):
        explain_native(small_model("small.onnx"), "avx3")
