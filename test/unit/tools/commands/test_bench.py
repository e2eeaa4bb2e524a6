"""`xonnc bench` from its command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import onnx.parser
import pytest

from xonnc.tools.digits import read_model
from xonnc.tools.driver import main


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A folder with a network, one of dynamic batch, and one with an operator that does not exist."""
    folder = tmp_path / "models" / "inner"
    folder.mkdir(parents=True)
    bodies = {
        "a.onnx": "(float[1,3,8,8] x) => (float[1,3,8,8] y) { r = Relu (x) y = Sigmoid (r) }",
        "b.onnx": "(float[N,8] x) => (float[N,8] y) { r = Tanh (x) y = Softmax (r) }",
        "c.onnx": "(float[N,8] x) => (float[N,8] y) { y = Reluu (x) }",
    }
    for name, body in bodies.items():
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> g {body}')
        (folder / name).write_bytes(model.SerializeToString())
    return tmp_path / "models"


def test_a_table_of_models(models: Path, capsys: pytest.CaptureFixture[str]):
    targets = ["--target", "cpu", "--target", "nv_full"]
    assert main(["bench", str(models), *targets, "--seconds", "0"]) == 1
    head, *rows, last = capsys.readouterr().out.splitlines()
    assert head.split() == "model target compile s ms activations CPU nodes".split()
    assert [tuple(row.split()[:2]) for row in rows] == [
        (f"{model}.onnx", target) for model in "abc" for target in ("cpu", "nv_full")
    ]
    assert "no operator 'Reluu' in domain 'ai.onnx'; did you mean 'Relu'?" in rows[4]
    assert last.split() == "compiled 3 of 6: 3 models".split()


def test_measurements_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "digits.onnx"
    path.write_bytes(read_model())
    targets = ["--target", "cpu", "--target", "nv_small", "--target", "nv_full"]
    assert main(["bench", str(path), *targets, "--seconds", "0", "--json"]) == 0
    native, small, full = json.loads(capsys.readouterr().out)
    assert (native["model"], native["target"], native["failure"]) == ("digits.onnx", "cpu", "")
    assert min(native["milliseconds"], native["compile_seconds"]) > 0
    # INT8, of which nv_small has nothing else, takes less memory than FP16.
    assert 0 < small["activation_bytes"] < full["activation_bytes"] < native["activation_bytes"]
    assert main(["bench", str(path), "--target", "nv_full", "--precision", "int8", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["activation_bytes"] < full["activation_bytes"]


def test_what_cannot_be_measured(models: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "empty").mkdir()
    assert main(["bench", str(tmp_path / "empty")]) == 1
    assert "empty: no models (.onnx, .onnxtxt) in this folder" in capsys.readouterr().err
    assert main(["bench", str(models), "--target", "nv_smal"]) == 2
    assert "no target 'nv_smal'; did you mean 'nv_small'?" in capsys.readouterr().err
    assert main(["bench", str(models), "--target", "aarch64"]) == 1
    assert "aarch64" in capsys.readouterr().err
    shutil.rmtree(models)
    assert main(["bench", str(models), "-q"]) == 1
