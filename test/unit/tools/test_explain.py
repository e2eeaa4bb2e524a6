"""`xonnc explain` from its command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import helper, numpy_helper

from xonnc.tools.driver import main


@pytest.fixture
def model(small_model: Callable[..., Path]) -> Path:
    return small_model("small.onnx")


def node_table(out: str) -> list[str]:
    """The rows of the table of nodes."""
    return out.split("\n\n")[1].splitlines()


def test_a_table_of_nodes(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["explain", str(model)]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[0].startswith("small.onnx on nv_full: 6 nodes (")
    assert lines[1] == "  3 hardware layers"
    rows = {line.split()[0]: line.split() for line in node_table(out)}
    assert rows["pool1"] == ["pool1", "MaxPool", "PDP", "0", "conv1,", "act1"]


def test_a_table_of_the_convolution_buffer(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["explain", str(model)]) == 0
    table = capsys.readouterr().out.split("\n\n")[-1].splitlines()
    assert table[:2] == ["convolution buffer:", "node   input  kernels  banks   why"]
    assert table[2] == "conv1  whole  all      15 + 1  input 1 + kernels 1 banks of 16: all fits"
    assert main(["explain", str(model), "--package", "--json"]) == 0
    first, *_ = json.loads(capsys.readouterr().out)["convolutions"]
    assert (first["nodes"][0], first["tiles"], first["banks"]) == ("conv1", 1, 16)
    assert main(["explain", str(model), "--refused"]) == 0
    assert "convolution buffer" not in capsys.readouterr().out


def test_native_code(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["explain", str(model), "--target", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("small.onnx on cpu: 6 nodes (native ")
    assert lines[1].endswith(" kernel calls")
    assert lines[3].split() == ["node", "operator", "engine", "kernel", "with,", "or", "why", "not"]
    assert main(["explain", str(model), "--target", "cpu", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["target"] == "cpu"
    assert main(["explain", str(model), "--target", "cpu", "--package"]) == 1
    assert "--package is not for target cpu, a processor" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["nv_full", "nv_small", "cpu"])
def test_operators_that_do_not_exist(target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "m.onnx"
    nodes = "a = Reluu (x)  b = Relu (a)  y = Sigmod (b)"
    text = f'<ir_version: 8, opset_import: ["": 17]> g (float[n, 3] x) => (float[n, 3] y) {{ {nodes} }}'
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    assert main(["explain", str(path), "--target", target]) == 1
    out = capsys.readouterr().out
    assert "  a: no operator 'Reluu' in domain 'ai.onnx'; did you mean 'Relu'?\n" in out
    assert "  y: no operator 'Sigmod' in domain 'ai.onnx'; did you mean 'Sigmoid'?\n" in out
    assert "the DLA has no such operator" not in out


def test_what_is_refused_alone(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["explain", str(model), "--target", "nv_medium_512", "--refused"]) == 1
    out = capsys.readouterr().out
    assert "2 refusals, all of them:" in out
    assert "prob" in out
    assert "conv1" not in out


def test_json(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["explain", str(model), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["target"] == "nv_full"
    assert [node["node"] for node in found["nodes"]][:2] == ["conv1", "act1"]
    assert found["layers"][0] == ["CONV", "SDP", "PDP"]


def test_a_package(model: Path, capsys: pytest.CaptureFixture[str]):
    # Floats are nothing for this target: all of it is on the CPU.
    assert main(["explain", str(model), "--target", "nv_medium_512", "--package"]) == 0
    assert "(CPU 6)" in capsys.readouterr().out
    table = model.parent / "table.json"
    ranges = {name: {"scale": 0.05, "min": 0, "max": 0, "offset": 0} for name in "xcrpfgy"}
    table.write_text(json.dumps(ranges))
    command = ["explain", str(model), "--target", "nv_medium_512", "--calib", str(table), "--package"]
    assert main(command) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[0].startswith("small.onnx on nv_medium_512: 6 nodes (")
    # The convolution with its activation and pooling on the fly, and the product.
    assert lines[1] == "  2 hardware layers"
    assert lines[2].startswith("  DLA: ")
    assert lines[3].startswith("  CPU: ")
    rows = {line.split()[0]: line.split()[1:3] for line in node_table(out)}
    assert (rows["conv1"], rows["act1"], rows["prob"]) == (
        ["Conv", "CONV"],
        ["Relu", "SDP"],
        ["Softmax", "CPU"],
    )
    assert "refusal" not in lines[-2]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [part["kind"] for part in found["parts"]] == ["dla", "cpu"]
    assert found["parts"][0]["layers"] == [0, 1]
    (prob,) = (node for node in found["nodes"] if node["node"] == "prob")
    assert prob["engine"] == "CPU"
    assert prob["reason"]


def test_by_a_calibration_table(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    table = tmp_path / "table.json"
    ranges = {name: {"scale": 0.05, "min": 0, "max": 0, "offset": 0} for name in "xcrpfgy"}
    table.write_text(json.dumps(ranges))
    assert main(["explain", str(model), "--target", "nv_small", "--calib", str(table)]) == 0
    assert "on nv_small" in capsys.readouterr().out


def chain(folder: Path, body: str) -> tuple[Path, list[str]]:
    """A model from `x` to `y`, its nodes called by their operators, and the options that round it."""
    graph = onnx.parser.parse_graph(f"g (float[1,3,18,18] x) => (float[1,K,N,M] y) {{ {body} }}")
    random = np.random.default_rng(7)
    for name, shape in (("w", (8, 3, 3, 3)), ("v", (8, 8, 3, 3))):
        graph.initializer.append(
            numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
        )
    graph.initializer.append(numpy_helper.from_array(np.array([18], np.int64), "k"))
    for index, node in enumerate(graph.node):
        node.name = f"{node.op_type.lower()}{index}"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path, samples = folder / "chain.onnx", folder / "x.npy"
    path.write_bytes(model.SerializeToString())
    np.save(samples, random.standard_normal((1, 3, 18, 18)).astype(np.float32))
    return path, ["--target", "nv_small", "--calibrate", str(samples)]


DILATED = "dilations [2, 2] (the PDP takes 1); in a package (-o model.xpkg) it runs on the CPU"
NO_SUCH = "the DLA has no int8 form of this operator; in a package (-o model.xpkg) it runs on the CPU"


@pytest.mark.parametrize(
    ("body", "refused", "engines"),
    [
        (
            "c = MaxPool<kernel_shape=[2,2], dilations=[2,2]>(x) r = Relu(c) "
            "y = MaxPool<kernel_shape=[2,2]>(r)",
            [f"maxpool0 (MaxPool): {DILATED}"],
            {"maxpool0": "refused", "relu1": "undecided", "maxpool2": "PDP"},
        ),
        (
            "c = MaxPool<kernel_shape=[2,2], dilations=[2,2]>(x) r = Relu(c) "
            "y = MaxPool<kernel_shape=[2,2], dilations=[2,2]>(r)",
            [f"maxpool0 (MaxPool): {DILATED}", f"maxpool2 (MaxPool): {DILATED}"],
            {"maxpool0": "refused", "relu1": "undecided", "maxpool2": "refused"},
        ),
        (
            "a, b = TopK(x, k) c = Conv<pads=[1,1,1,1]>(x, w) d = Cast<to=1>(b) e = Concat<axis=1>(c, d) "
            "y = Relu(e)",
            [
                f"topk0 (TopK): {NO_SUCH}",
                f"cast2 (Cast): {NO_SUCH}",
            ],
            {"topk0": "refused", "conv1": "undecided", "cast2": "refused", "relu4": "undecided"},
        ),
    ],
    ids=["one", "behind another", "beside"],
)
def test_only_guilty_nodes_are_named_and_once(
    body: str,
    refused: list[str],
    engines: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    model, rounding = chain(tmp_path, body)
    output, table = str(tmp_path / "o.nvdla"), str(tmp_path / "t.json")
    assert main(["compile", str(model), "--require-dla", "-o", output, *rounding]) == 1
    assert capsys.readouterr().err.splitlines() == [f"xonnc: {line}" for line in refused]
    assert main(["compile", str(model), "-o", output, *rounding]) == 1
    assert capsys.readouterr().err.splitlines()[:-1] == [f"xonnc: {line}" for line in refused]
    package = str(tmp_path / "o.xpkg")
    assert main(["compile", str(model), "-o", package, *rounding, "--save-calib", table, "-q"]) == 0
    assert main(["explain", str(model), "--target", "nv_small", "--calib", table, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["refusals"] == refused
    nodes = {node["node"]: node for node in found["nodes"]}
    assert {name: nodes[name]["engine"] for name in engines} == engines
    assert {name for name, node in nodes.items() if node["reason"]} == {
        line.partition(" ")[0] for line in refused
    }


def test_a_package_tells_root_causes_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    # The Relu is on the CPU for its input, which is not rounded between the two: that is no refusal.
    model, rounding = chain(
        tmp_path,
        "c = MaxPool<kernel_shape=[2,2], dilations=[2,2]>(x) r = Relu(c) y = MaxPool<kernel_shape=[2,2]>(r)",
    )
    table = str(tmp_path / "t.json")
    command = ["compile", str(model), "-o", str(tmp_path / "o.xpkg"), *rounding, "-q"]
    assert main([*command, "--save-calib", table]) == 0
    command = ["explain", str(model), "--package", "--target", "nv_small", "--calib", table, "--json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["refusals"] == [f"maxpool0 (MaxPool): {DILATED}"]
