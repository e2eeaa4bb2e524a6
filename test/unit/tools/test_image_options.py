"""`--input-format` through the commands: compile, inspect, simulate, check, explain, packages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from xonnc.tools.driver import main

OPTIONS = ["--input-format", "A8B8G8R8", "--input-mean", "124,116,104", "--input-std", "58.5,57,57.5"]


def model_of(folder: Path, inputs: int = 1) -> Path:
    """A convolution, a ReLU and a mean; several inputs are added up first."""
    weights = np.random.default_rng(1).standard_normal((8, 3, 3, 3)).astype(np.float32)
    names = [f"x{index}" for index in range(inputs)]
    nodes = [helper.make_node("Sum", names, ["s"], "sum")] if inputs > 1 else []
    nodes += [
        helper.make_node("Conv", ["s" if inputs > 1 else "x0", "w"], ["c"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["y"], "relu"),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3, 10, 12]) for name in names],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 10, 12])],
        [numpy_helper.from_array(weights, "w")],
    )
    path = folder / "model.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


@pytest.fixture
def pixels(tmp_path: Path) -> Path:
    """An image as a portable map, and as numbers of the model for the calibration."""
    found = np.random.default_rng(2).integers(0, 256, (10, 12, 3)).astype(np.uint8)
    path = tmp_path / "x.ppm"
    path.write_bytes(b"P6\n12 10\n255\n" + found.tobytes())
    np.save(tmp_path / "rows.npy", found)
    others = np.random.default_rng(4).integers(0, 256, (16, 10, 12, 3))
    images = np.concatenate([found[np.newaxis], others])
    numbers = (images - np.array([124, 116, 104])) / np.array([58.5, 57, 57.5])
    numbers = numbers.transpose(0, 3, 1, 2).astype(np.float32)
    np.save(tmp_path / "x.npy", numbers[:1])
    np.save(tmp_path / "samples.npy", numbers)
    return path


def test_from_a_model_to_an_image(tmp_path: Path, pixels: Path, capsys: pytest.CaptureFixture[str]):
    model, loadable = str(model_of(tmp_path)), str(tmp_path / "model.nvdla")
    table = str(tmp_path / "table.json")
    rounding = ["--calibrate", str(tmp_path / "samples.npy"), "--save-calib", table]
    small = ["--target", "nv_small"]
    assert main(["compile", model, *small, *rounding, *OPTIONS, "-o", loadable, "-q"]) == 0
    capsys.readouterr()
    assert main(["inspect", loadable, *small]) == 0
    listed = capsys.readouterr().out
    pixels_of = "A8B8G8R8 pixels, lines of 64 bytes, less 124, 116, 104 and divided by 58.5, 57, 57.5"
    assert f"0: x0 1x4x10x12, {pixels_of}" in listed
    assert "0: y 1x8x10x12, a feature cube, lines of 96 bytes, surfaces of 960" in listed
    for name in ("x.ppm", "rows.npy", "x.npy"):
        out = str(tmp_path / f"{name}.out.npy")
        given = ["--input", str(tmp_path / name), "--output", out]
        assert main(["simulate", loadable, *small, *given, "-q"]) == 0
    by_map, by_rows, by_numbers = (
        np.load(tmp_path / f"{name}.out.npy") for name in ("x.ppm", "rows.npy", "x.npy")
    )
    assert np.array_equal(by_map, by_rows)
    assert np.array_equal(by_map, by_numbers)
    assert np.ptp(by_map) > 0
    assert main(["check", model, loadable, *small, "-n", "2"]) == 0
    capsys.readouterr()
    assert main(["explain", model, *small, "--calib", table, *OPTIONS, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["layers"] == [["CONV", "SDP"]] * 2
    package = str(tmp_path / "model.xpkg")
    assert main(["compile", model, *small, "--calib", table, *OPTIONS, "-o", package, "-q"]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--input-format", "R9"], "no image format 'R9'"),
        (["--input-format", "x9=R8"], "no input 'x9' to be an image"),
        (["--input-format", "R8", "--input-format", "R8"], "--input-format R8: given before; name the input"),
        (["--input-format", "a=R8", "--input-format", "a=R8"], "given before for a"),
        (["--input-mean", "3"], "--input-mean: an image has them; say which by --input-format"),
        (["--input-std", "a=3"], "--input-std of a: an image has them"),
        (["--input-format", "R8", "--input-mean", "3,x"], "numbers with commas between them"),
    ],
)
def test_options_that_say_nothing(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["compile", str(model_of(tmp_path)), *options, "-o", str(tmp_path / "m.nvdla")]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "m.nvdla").exists()


def test_one_of_several_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = str(model_of(tmp_path, 2))
    assert main(["compile", path, "--input-format", "A16B16G16R16_F", "-o", str(tmp_path / "m.nvdla")]) == 1
    assert "an image format for one of 2 inputs; say which: x0, x1" in capsys.readouterr().err


def test_native_code_has_no_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = str(model_of(tmp_path))
    assert main(["compile", path, "--input-format", "R8", "-o", str(tmp_path / "m.so")]) == 1
    assert "--input-format is for NVDLA targets" in capsys.readouterr().err


def test_maps_are_for_images(
    small_model: Callable[..., Path], tmp_path: Path, pixels: Path, capsys: pytest.CaptureFixture[str]
):
    loadable = str(tmp_path / "f.nvdla")
    assert main(["compile", str(small_model("small.onnx")), "-o", loadable, "-q"]) == 0
    assert main(["simulate", loadable, "--input", str(pixels)]) == 1
    assert "shape [10, 12, 3]; the loadable takes [1, 3, 8, 8]" in capsys.readouterr().err
