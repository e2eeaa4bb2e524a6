"""`xonnc check`, `inspect`, `report` and `simulate` on packages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from xonnc.formats.package.archive import read_package
from xonnc.tools.driver import main


@pytest.fixture
def model(small_model: Callable[..., Path]) -> Path:
    """The CPU runs the sine in the middle."""
    return small_model("small.onnx", operator="Sin")


@pytest.fixture
def package(model: Path) -> Path:
    path = model.with_suffix(".xpkg")
    assert main(["compile", str(model), "-o", str(path), "-q"]) == 0
    np.save(model.parent / "x.npy", np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32))
    return path


@pytest.fixture
def int8_package(model: Path, package: Path) -> Path:
    path = model.parent / "int8.xpkg"
    rounding = ["--target", "nv_small", "--calibrate", str(model.parent / "x.npy")]
    assert main(["compile", str(model), "-o", str(path), *rounding, "-q"]) == 0
    return path


def test_simulate_runs_all_parts(package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    files = ["--input", str(tmp_path / "x.npy"), "--output"]
    assert main(["simulate", str(package), *files, str(tmp_path / "simulated.npy"), "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)["outputs"]] == ["y"]
    assert main(["run", str(package), *files, str(tmp_path / "run.npy"), "--cpu", "onnxruntime", "-q"]) == 0
    assert np.array_equal(np.load(tmp_path / "simulated.npy"), np.load(tmp_path / "run.npy"))


def test_simulate_tells_what_packages_do_not_take(
    package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    given = ["simulate", str(package), "--input", str(tmp_path / "x.npy")]
    assert main([*given, "--dump", str(tmp_path / "dump")]) == 1
    assert "small.xpkg: --dump is for loadables (.nvdla), this is a package" in capsys.readouterr().err
    assert not (tmp_path / "dump").exists()
    assert main(["simulate", str(package)]) == 1
    assert "input 'x' is not given" in capsys.readouterr().err
    (tmp_path / "x.bin").write_bytes(b"0")
    assert main(["simulate", str(package), "--input", str(tmp_path / "x.bin")]) == 1
    assert "x.bin: inputs are arrays in .npy or .pb files" in capsys.readouterr().err


def test_inspect_tells_of_each_loadable(package: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["inspect", str(package)]) == 0
    lines = capsys.readouterr().out.splitlines()
    heads = [line.partition("   ")[0] for line in lines if not line.startswith(" ")]
    assert heads[0] == "small.xpkg: parts/0.nvdla"
    assert len(heads) == sum("no problems for nv_full" in line for line in lines) > 0
    assert main(["inspect", str(package), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_explain_lists_layers_and_nodes_of_each_part(package: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["explain", str(package)]) == 0
    output = capsys.readouterr().out
    assert output.startswith("small.xpkg   ")
    assert re.search(r"parts/0\.nvdla   DLA: \d+ hardware layers \(CONV 2, SDP 2", output)
    assert re.search(r"parts/1\.onnx   CPU: 1 node \(Sin 1\)", output)
    assert main(["explain", str(package), "--json"]) == 0
    explained = json.loads(capsys.readouterr().out)
    assert explained["target"] == "nv_full"
    assert [step["kind"] for step in explained["steps"]] == ["dla", "cpu", "dla"]
    assert [node["operator"] for node in explained["steps"][1]["nodes"]] == ["Sin"]
    assert main(["explain", str(package), "--refused"]) == 1
    assert "small.xpkg: --refused is for models; this is a package" in capsys.readouterr().err


def test_verify_takes_packages(model: Path, package: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["verify", str(model), str(package)]) == 0
    assert "small.xpkg" in capsys.readouterr().out


def test_parts_are_for_the_target_that_the_package_names(
    int8_package: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["inspect", str(int8_package)]) == 0
    assert "no problems for nv_small" in capsys.readouterr().out
    assert main(["report", str(int8_package), "--total"]) == 0
    assert "int8.xpkg: parts/0.nvdla on nv_small at" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["check", "inspect", "simulate", "report", "run"])
def test_parts_for_another_target(
    command: str, int8_package: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    first = [str(model)] if command == "check" else []
    given = ["--input", str(tmp_path / "x.npy")] if command in ("simulate", "run") else []
    assert main([command, *first, str(int8_package), *given, "--target", "nv_full"]) == 1
    captured = capsys.readouterr()
    told = captured.out + captured.err
    assert "int8.xpkg: parts/0.nvdla: " in told
    assert "it is sound for nv_small: --target nv_small" in told


def test_inspect_names_the_part_of_a_problem(int8_package: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["inspect", str(int8_package), "--target", "nv_full", "--json"]) == 1
    problems = json.loads(capsys.readouterr().out)
    assert {problem["part"] for problem in problems} >= {"int8.xpkg: parts/0.nvdla"}


def test_report_adds_up_each_loadable(package: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["report", str(package)]) == 0
    out = capsys.readouterr().out
    assert "small.xpkg: parts/0.nvdla on nv_full at 1000 MHz" in out
    assert any(line.split()[1:2] == ["EMU"] for line in out.splitlines())
    named = {tuple(line.split()[1:3]) for line in out.splitlines() if line[:1].isdecimal()}
    assert ("CONV+SDP", "conv1") in named
    assert main(["report", str(package), "--json"]) == 0
    parts = json.loads(capsys.readouterr().out)["parts"]
    assert all(part["cycles"] > 0 for part in parts.values())
    assert main(["report", str(package), "--calibrate", "x.npy"]) == 1
    assert (
        "small.xpkg: a package has no float values to compare with; give --calibrate the ONNX model"
        in capsys.readouterr().err
    )


def test_a_package_agrees_with_its_model(
    model: Path,
    package: Path,
    small_model: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
):
    assert main(["check", str(model), str(package), "-n", "2"]) == 0
    assert "agrees with onnxruntime on 2 inputs" in capsys.readouterr().out
    other = small_model("other.onnx", operator="Neg")
    assert main(["check", str(other), str(package)]) == 1
    assert "DISAGREES" in capsys.readouterr().out


def test_check_takes_samples_and_a_bound(
    model: Path, int8_package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    samples = tmp_path / "samples.npy"
    np.save(samples, np.load(tmp_path / "x.npy").repeat(4, axis=0))
    arguments = ["check", str(model), str(int8_package), "--samples", str(samples)]
    assert main([*arguments, "--least-cosine", "0.9"]) == 0
    assert "agrees with onnxruntime on 4 inputs" in capsys.readouterr().out
    assert main([*arguments, "-n", "2", "--least-cosine", "1"]) == 1
    assert "DISAGREES with onnxruntime on 2 inputs" in capsys.readouterr().out
    assert main([*arguments, "--least-cosine", "2"]) == 1
    assert "--least-cosine 2: similarities are from 0 to 1" in capsys.readouterr().err
    assert main(["check", str(model), "--target", "nv_small"]) == 1
    assert "--target nv_small: without a compiled file the model alone is checked" in capsys.readouterr().err


def test_check_takes_no_samples_for_dynamic_shapes(
    int8_package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    manifest = read_package(int8_package).manifest
    names = [manifest.inputs[0].name, manifest.outputs[0].name]
    dynamic = tmp_path / "dynamic.onnx"
    text = f"""<ir_version: 8, opset_import: ["": 17]>
    g (float[N, 3, 8, 8] {names[0]}) => (float[N, 3, 8, 8] {names[1]}) {{ {names[1]} = Relu ({names[0]}) }}"""
    dynamic.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    arguments = ["check", str(dynamic), str(int8_package), "--samples", str(tmp_path / "x.npy")]
    assert main(arguments) == 1
    assert f"input '{names[0]}': its shape is dynamic; samples need a fixed one" in capsys.readouterr().err


def test_an_image_of_a_package_is_checked_with_pixels(
    small_model: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    # Numbers that are no pixels would be cut off at 0 and 255.
    model = small_model("image.onnx")
    pixels = np.random.default_rng(0).integers(0, 256, (4, 3, 8, 8)).astype(np.float32)
    np.save(tmp_path / "pixels.npy", pixels)
    rounding = ["--target", "nv_small", "--calibrate", str(tmp_path / "pixels.npy")]
    image = ["--input-format", "A8B8G8R8"]
    found: list[object] = []
    for kind in ("xpkg", "nvdla"):
        path = model.with_suffix(f".{kind}")
        assert main(["compile", str(model), "-o", str(path), *rounding, *image, "-q"]) == 0
        main(["check", str(model), str(path), "--target", "nv_small", "--json"])
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["m.xpkg", "m.nvdla"])
def test_check_alone_is_for_models(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / name
    path.write_bytes(b"anything")
    assert main(["check", str(path)]) == 1
    error = capsys.readouterr().err
    assert f"{path}: a compiled file; 'xonnc inspect' checks it, 'xonnc check MODEL {path}' compares" in error


def test_a_package_for_the_cpu_alone(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "cpu.xpkg"
    assert main(["compile", str(model), "-o", str(path), "--target", "nv_medium_512", "-q"]) == 0
    for command in ("inspect", "report"):
        assert main([command, str(path)]) == 0
        assert "cpu.xpkg: a package without a loadable; the CPU runs all of it" in capsys.readouterr().out
    assert main(["check", str(model), str(path)]) == 0


@pytest.mark.parametrize("command", ["check", "inspect", "simulate", "report"])
def test_what_is_no_package(command: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "bad.xpkg"
    path.write_bytes(b"anything")
    first = [str(model)] if command == "check" else []
    assert main([command, *first, str(path)]) == 1
    assert "bad.xpkg: no package, or damaged" in capsys.readouterr().err


def test_a_float_model_for_an_int8_target_asks_for_samples(model: Path, capsys: pytest.CaptureFixture[str]):
    given = ["compile", str(model), "--target", "nv_small"]
    reason = "nothing runs on the DLA: nv_small computes in int8 and the model is in float"
    assert main(given) == 1
    message = capsys.readouterr().err
    assert message == (
        f"xonnc: {model}: {reason}; quantize it with --calibrate DATA (--package writes a package for the "
        "CPU all the same)\n"
    )
    assert not model.with_suffix(".xpkg").exists()
    assert main([*given, "--package", "-q"]) == 0
    assert f"xonnc: warning: {model}: {reason}" in capsys.readouterr().err
    assert model.with_suffix(".xpkg").exists()
