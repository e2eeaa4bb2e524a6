"""`xonnc compile --stats` and `--print-fusion-groups`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper, parser

from xonnc.tools.commands.compile_stats import constant_nodes
from xonnc.tools.driver import main

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 8, 6, 6] x) => (float[1, 8, 6, 6] y) <float[1] two = {2}, float[1] one = {1}> {
        [factor] f = Add (two, one)
        [scaled] v = Mul (w, f)
        [conv1] a = Conv <pads = [1, 1, 1, 1]> (x, v)
        [relu1] b = Relu (a)
        [conv2] c = Conv <pads = [1, 1, 1, 1]> (b, v)
        [relu2] d = Relu (c)
        [conv3] e = Conv <pads = [1, 1, 1, 1]> (d, v)
        [add3] s = Add (e, b)
        [exp] p = Exp (s)
        [neg] y = Neg (p)
    }"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    proto = parser.parse_model(MODEL)
    weights = np.random.default_rng(2).normal(size=(8, 8, 3, 3)).astype(np.float32)
    proto.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


def compiled(model: Path, *options: str) -> list[str]:
    return ["compile", str(model), "-o", str(model.with_suffix(".ll")), "--target", "avx2", *options]


def as_json(model: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert main(compiled(model, "--json", *options)) == 0
    return json.loads(capsys.readouterr().out)


def test_kernels_of_equal_layers_are_counted(model: Path, capsys: pytest.CaptureFixture[str]):
    told = as_json(model, capsys, "--stats")
    statistics = told["statistics"]
    assert statistics["kinds"]["conv"] == {"kernels": 2, "calls": 3}
    assert (statistics["kernels"], statistics["calls"]) == (told["kernels"], told["calls"])


def test_what_is_computed_at_compile_time(model: Path, capsys: pytest.CaptureFixture[str]):
    statistics = as_json(model, capsys, "--stats")["statistics"]
    assert statistics["precomputed"] == [
        {"node": "factor", "operator": "Add"},
        {"node": "scaled", "operator": "Mul"},
    ]
    weights = [one["bytes"] for one in statistics["repacked"]]
    assert 8 * 8 * 9 * 4 in weights
    # Without the pass that folds, nothing is.
    assert as_json(model, capsys, "--stats", "-O0")["statistics"]["precomputed"] == []


def test_fusion_groups(model: Path, capsys: pytest.CaptureFixture[str]):
    told = as_json(model, capsys, "--print-fusion-groups")
    assert "statistics" not in told
    assert told["fusion_groups"] == [
        {"name": "conv_relu", "kind": "convolution", "nodes": ["conv1", "relu1"]},
        {"name": "conv_relu", "kind": "convolution", "nodes": ["conv2", "relu2"]},
        {"name": "conv_add", "kind": "convolution", "nodes": ["conv3", "add3"]},
        {"name": "exp_neg", "kind": "elementwise", "nodes": ["exp", "neg"]},
    ]
    assert as_json(model, capsys, "--print-fusion-groups", "-O1")["fusion_groups"] == []


def test_what_a_person_reads(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(compiled(model, "--stats", "--print-fusion-groups", "--layout", "x:NHWC")) == 0
    text = capsys.readouterr().out
    assert "fuse-onnx, reduce-memory-onnx, assign-layout, convert-onnx-to-krnl" in text
    assert "move-transposes-onnx" in text
    assert "3 calls of 2 conv kernels" in text
    assert "2 nodes at compile time: factor (Add), scaled (Mul)" in text
    assert "fused_conv_relu (convolution): conv1, relu1" in text
    assert "4 groups of 8 nodes, 1 alone" in text


def test_only_constants_that_are_the_same_each_time_are_precomputed():
    graph = parser.parse_graph(
        """g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> {
            k = Constant <value_float = 1.0> ()
            a = Add (c, k)
            r = RandomNormalLike (a)
            n = RandomNormal <shape = [2]> ()
            b = Add (a, n)
            d = Add (a, x)
            e = Neg (r)
            y = Add (d, b)
        }"""
    )
    assert [node.output[0] for node in constant_nodes(graph)] == ["a"]


@pytest.mark.parametrize("option", ["--stats", "--print-fusion-groups"])
def test_where_they_do_not_fit(option: str, model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(model), option]) == 1
    assert f"{option} is for native code" in capsys.readouterr().err
    assert main(["compile", str(model), "--target", "cpu", "--stop-after", "krnl", option]) == 1
    assert f"{option}: --stop-after krnl stops before all of it is known" in capsys.readouterr().err
    assert not model.with_suffix(".mlir").exists()
