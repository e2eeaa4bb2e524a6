"""`xonnc explain` from its command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from xonnc.tools.driver import main


@pytest.fixture
def model(small_model: Callable[..., Path]) -> Path:
    return small_model("small.onnx")


def test_a_table_of_nodes(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["explain", str(model)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("small.onnx on nv_full: 6 nodes (")
    assert lines[1] == "  3 hardware layers"
    rows = {line.split()[0]: line.split() for line in lines[3:]}
    assert rows["pool1"] == ["pool1", "MaxPool", "PDP", "0", "conv1,", "act1"]


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
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("small.onnx on nv_medium_512: 6 nodes (")
    assert lines[1] == "  3 hardware layers"
    assert lines[2].startswith("  DLA: ")
    assert lines[3].startswith("  CPU: ")
    rows = {line.split()[0]: line.split()[1:3] for line in lines[5:]}
    assert (rows["conv1"], rows["act1"], rows["prob"]) == (
        ["Conv", "CONV"],
        ["Relu", "SDP"],
        ["Softmax", "CPU"],
    )
    assert "refusal" not in lines[-2]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [part["kind"] for part in found["parts"]] == ["dla", "cpu"]
    assert found["parts"][0]["layers"] == [0, 1, 2]
    (prob,) = (node for node in found["nodes"] if node["node"] == "prob")
    assert prob["engine"] == "CPU"
    assert prob["reason"]


def test_by_a_calibration_table(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    table = tmp_path / "table.json"
    ranges = {name: {"scale": 0.05, "min": 0, "max": 0, "offset": 0} for name in "xcrpfgy"}
    table.write_text(json.dumps(ranges))
    assert main(["explain", str(model), "--target", "nv_small", "--calib", str(table)]) == 0
    assert "on nv_small" in capsys.readouterr().out
