"""`xonnc demo digits` classifies, and its files are what `examples/digits/train.py` writes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from xonnc.tools.commands import demo
from xonnc.tools.digits import DATA, drawn, pgm, read_images, read_model
from xonnc.tools.driver import main

TRAIN = Path(__file__).resolve().parents[3] / "examples" / "digits" / "train.py"


def test_the_demo_finds_a_seven(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["demo", "digits", "--folder", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert "class 7; the image is a held-out 7" in output
    correct = dict(re.findall(r"(float32|INT8) (\d+) \(", output))
    assert int(correct["float32"]) == 491
    assert int(correct["INT8"]) >= 485
    assert {path.name for path in tmp_path.iterdir()} == {
        "digits.onnx",
        "digits.nvdla",
        "digits-7.npy",
        "digits-7.pgm",
        "digits-calibration.npy",
        "digits.html",
    }
    assert output.splitlines()[-1].split() == ["wrote", str(tmp_path / "digits.html")]
    assert "digits.onnx" in (tmp_path / "digits.html").read_text()


def test_the_outcome_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def passes(folder: Path, target: str, is_quiet: bool) -> bool:
        print("not shown")
        return is_quiet

    monkeypatch.setattr(demo, "_run_digits", passes)
    command = ["demo", "digits", "--folder", str(tmp_path)]
    assert main([*command, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    files = {kind: str(tmp_path / f"digits.{kind}") for kind in ("onnx", "nvdla", "html")}
    assert found == {"model": "digits", "target": "nv_small", "passed": True, "files": files}
    assert main([*command, "-q"]) == 0
    assert not capsys.readouterr().out
    assert main(command) == 1
    assert capsys.readouterr().out == "not shown\n"


def test_images_are_disjoint_and_of_all_digits():
    images = read_images()
    assert set(images.labels) == set(range(10))
    assert images.held_out.min() == 0
    assert images.held_out.max() == 1
    held_out = {image.tobytes() for image in images.held_out}
    assert not held_out & {image.tobytes() for image in images.calibration}


def test_the_model_is_that_of_the_training_script():
    model = onnx.ModelProto.FromString(read_model())
    assert model.graph.name == "digits"
    names = re.findall(r"\[(\w+)\] \w+ = ", TRAIN.read_text())
    assert [node.name for node in model.graph.node] == names
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 1 << 20


def test_drawings_and_pixels():
    image = np.zeros((1, 1, 2, 3), np.float32)
    image[0, 0, 1, 2] = 1
    assert drawn(image) == ["      ", "    @@"]
    assert pgm(image) == b"P5 3 2 255 \0\0\0\0\0\xff"


def test_a_network_that_takes_no_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def grey(name: str, path: Path) -> None:
        text = """<ir_version: 8, opset_import: ["": 17]>
        g (float[1, 1, 8, 8] x) => (float[1, 1, 8, 8] y) { y = Relu(x) }"""
        path.write_bytes(onnx.parser.parse_model(text).SerializeToString())

    monkeypatch.setattr(demo, "_write_model", grey)
    assert main(["demo", "resnet50", "--folder", str(tmp_path)]) == 1
    assert (
        "resnet50.onnx: input x is no colour image; the demo shows image classifiers"
        in capsys.readouterr().err
    )
