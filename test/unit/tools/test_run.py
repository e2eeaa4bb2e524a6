"""`xonnc compile` to packages and `xonnc run`, through the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from onnx import TensorProto, numpy_helper

from xonnc.errors import XonncError
from xonnc.tools.commands.run import named_files
from xonnc.tools.driver import main

SmallModel = Callable[..., Path]


@pytest.fixture
def sine(small_model: SmallModel, tmp_path: Path) -> Path:
    """A model with one node for the CPU, and an input beside it."""
    np.save(tmp_path / "x.npy", np.ones((1, 3, 8, 8), np.float32))
    return small_model("sine.onnx", operator="Sin")


def test_a_model_with_a_part_for_the_cpu_becomes_a_package(sine: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(sine), "-v"]) == 0
    out = capsys.readouterr().out
    assert "1 on the CPU, 4 tensors in between" in out
    assert "1 Sin: the DLA has no such operator" in out
    assert "act1 (Sin): the DLA has no such operator" in out
    assert sine.with_suffix(".xpkg").exists()
    assert not sine.with_suffix(".nvdla").exists()


def test_a_loadable_cannot_hold_it_and_says_what_can(sine: Path, capsys: pytest.CaptureFixture[str]):
    loadable = sine.with_suffix(".nvdla")
    assert main(["compile", str(sine), "-o", str(loadable)]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert "act1 (Sin): the DLA has no such operator" in first
    assert f"-o {sine.with_suffix('.xpkg')} makes a package" in second
    assert not loadable.exists()


def test_a_package_may_be_of_the_dla_alone(small_model: SmallModel, capsys: pytest.CaptureFixture[str]):
    model = small_model("all.onnx")
    assert main(["compile", str(model), "--package", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["cpu_nodes"] == []
    assert [step["kind"] for step in told["steps"]] == ["dla"]
    assert told["output"] == str(model.with_suffix(".xpkg"))
    assert main(["compile", str(model), "-q"]) == 0
    assert model.with_suffix(".nvdla").exists()


def test_a_package_does_not_go_with_require_dla(sine: Path, capsys: pytest.CaptureFixture[str]):
    output = str(sine.with_suffix(".xpkg"))
    assert main(["compile", str(sine), "--require-dla", "-o", output]) == 1
    assert "--require-dla makes a .nvdla" in capsys.readouterr().err


def test_stages_of_a_model_in_parts(sine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    output = str(tmp_path / "out.mlir")
    assert main(["compile", str(sine), "--package", "--stop-after", "scheduled", "-o", output]) == 1
    assert "there is no such stage of all of it; stop after 'simplified'" in capsys.readouterr().err
    assert main(["compile", str(sine), "--package", "--stop-after", "simplified", "-o", output]) == 0
    assert "onnx.Sin" in Path(output).read_text()


def test_a_dry_run_writes_nothing(sine: Path):
    assert main(["compile", str(sine), "--dry-run", "-q"]) == 0
    assert not list(sine.parent.glob("sine.xpkg"))


def test_a_package_runs(sine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(sine), "-q"]) == 0
    package, array = str(sine.with_suffix(".xpkg")), str(tmp_path / "x.npy")
    result = tmp_path / "y.npy"
    assert main(["run", package, "--input", f"x={array}", "--output", f"y={result}"]) == 0
    assert "output       y 1x5 float32" in capsys.readouterr().out
    assert np.load(result).sum() == pytest.approx(1.0, abs=1e-2)
    assert main(["run", package, "--input", array, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["outputs"] == [{"name": "y", "shape": [1, 5], "dtype": "float32", "file": None}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "input 'x' is not given; the model takes x"),
        (["--input", "z=x.npy"], "input 'z': no such name; there are x"),
        (["--input", "x.npy", "--input", "x.npy"], "input: 2 files given; there are x"),
        (["--input", "x=none.npy"], "none.npy: no such file"),
        (["--input", "raw.bin"], "inputs are arrays in .npy or .pb files"),
        (["--input", "x.npy", "--output", "no/where.npy"], "does not exist"),
    ],
)
def test_what_is_wrong_with_a_run_is_one_line(
    arguments: list[str],
    message: str,
    sine: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw.bin").write_bytes(b"raw")
    assert main(["compile", str(sine), "-q"]) == 0
    assert main(["run", str(sine.with_suffix(".xpkg")), *arguments]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert main(["run", str(sine.with_suffix(".xpkg")), "--input", "x.npy", "--target", "nv_smal"]) == 2
    assert "no target 'nv_smal'; did you mean 'nv_small'" in capsys.readouterr().err


def test_files_go_to_names_then_to_what_is_left():
    given = ["b=1.npy", "2.npy", "3.npy"]
    paths = {"b": Path("1.npy"), "a": Path("2.npy"), "c": Path("3.npy")}
    assert named_files(given, ["a", "b", "c"], "input") == paths
    with pytest.raises(XonncError, match="input 'b' is given twice"):
        named_files(["b=1.npy", "b=2.npy"], ["a", "b"], "input")


def test_a_model_runs_as_native_code(sine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    array, result = str(tmp_path / "x.npy"), str(tmp_path / "y.npy")
    np.save(array, np.zeros((1, 3, 8, 8), np.float32))
    assert main(["run", str(sine), "--target", "cpu", "--input", array, "--output", result, "--profile"]) == 0
    said = capsys.readouterr().out
    assert " us in " in said
    assert "conv" in said
    heading = next(line for line in said.splitlines() if line.startswith("  profile"))
    assert heading.split()[1:] == ["time", "share", "GFLOP/s", "GB/s", "of", "peak", "kernel", "node"]
    assert np.load(result).shape


def test_tensors_of_the_backend_tests_are_read_and_written(sine: Path, tmp_path: Path):
    array = np.linspace(-1, 1, 192, dtype=np.float32).reshape(1, 3, 8, 8)
    (tmp_path / "x.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    np.save(tmp_path / "x.npy", array)
    for ending in (".pb", ".npy"):
        given, result = str(tmp_path / f"x{ending}"), str(tmp_path / f"y{ending}")
        command = ["run", str(sine), "--engine", "reference", "--input", given, "--output", result, "-q"]
        assert main(command) == 0
    tensor = TensorProto.FromString((tmp_path / "y.pb").read_bytes())
    np.testing.assert_array_equal(numpy_helper.to_array(tensor), np.load(tmp_path / "y.npy"))


@pytest.mark.parametrize("engine", [None, "reference", "onnxruntime"])
def test_an_input_with_an_initializer_may_be_given(
    engine: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    if engine == "onnxruntime":
        pytest.importorskip(engine)
    path, one, result = tmp_path / "m.onnx", tmp_path / "one.npy", tmp_path / "y.npy"
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (float[2] x, float[2] b) => (float[2] y) <float[2] b = {10, 20}> { y = Add (x, b) }"""
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    np.save(one, np.ones(2, np.float32))
    command = ["run", str(path), "--input", f"x={one}", "--output", str(result)]
    command += ["--engine", engine] if engine else []
    for more, expected in (([], [11, 21]), (["--input", f"b={one}"], [2, 2])):
        assert main([*command, *more]) == 0
        assert np.load(result).tolist() == expected
    capsys.readouterr()
    assert main([*command, "--input", f"c={one}"]) == 1
    assert "input 'c': no such name; there are x, b" in capsys.readouterr().err


def test_a_profile_is_json_and_a_trace(
    sine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    array, trace = str(tmp_path / "x.npy"), tmp_path / "trace.json"
    np.save(array, np.zeros((1, 3, 8, 8), np.float32))
    given = ["run", str(sine), "--input", array, "--trace", str(trace)]
    assert main([*given, "--profile", "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["profile"]
    conv = next(step for step in steps if step["kernel"] == "conv")
    assert conv["bound"] in ("multiply", "bytes")
    assert min(conv["gflops"], conv["gb_per_s"], conv["peak_share"]) > 0
    assert all(step["peak_share"] is None for step in steps if not step["bound"])
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
    assert [event["name"] for event in events] == [step["kernel"] for step in steps]
    trace.unlink()
    assert main(given) == 0
    assert "wrote" in capsys.readouterr().out
    assert trace.exists()


def test_a_trace_does_not_replace_the_model(sine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sine.read_bytes()
    assert main(["run", str(sine), "--trace", str(sine)]) == 1
    assert "is an input of this command, which would be lost" in capsys.readouterr().err
    assert sine.read_bytes() == before


def test_a_profile_is_of_models(sine: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["run", str(sine.with_suffix(".xpkg")), "--profile"]) == 1
    assert "--profile is for models (.onnx" in capsys.readouterr().err


@pytest.mark.parametrize("engine", ["onnxruntime", "O0", "simplified"])
def test_engines(engine: str, sine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    array, first, second = (str(tmp_path / name) for name in ("x.npy", "first.npy", "second.npy"))
    np.save(array, np.linspace(-9, 9, 192, dtype=np.float32).reshape(1, 3, 8, 8))
    assert main(["run", str(sine), "--input", array, "--output", first, "-q"]) == 0
    assert main(["run", str(sine), "--input", array, "--output", second, "--engine", engine]) == 0
    assert "float32" in capsys.readouterr().out
    np.testing.assert_allclose(np.load(second), np.load(first), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engine", "refrence"], "no engine 'refrence'; did you mean 'reference'?"),
        (["--engine", "reference", "--profile"], "--profile is for native code, not for --engine reference"),
        (["--engine", "reference", "--no-tuning"], "--no-tuning is for native code, not for --engine"),
        (["--engine", "reference", "--target", "cpu"], "--target is for native code, not for --engine"),
        (["--engine", "onnxruntime"], "input 'x' is missing: --input x=FILE"),
    ],
)
def test_engines_that_do_not_run(
    options: list[str], message: str, sine: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["run", str(sine), *options]) == 1
    assert message in capsys.readouterr().err


def test_the_reference_evaluator_is_not_asked_about_what_it_gets_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    model = tmp_path / "pool.onnx"
    pool = "MaxPool <kernel_shape = [2], pads = [0, 1]>"
    head = '<ir_version: 10, opset_import: ["": 21]>'
    text = f"{head} g (float[1, 1, 4] x) => (float[1, 1, 4] y) {{y = {pool} (x)}}"
    model.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    assert main(["run", str(model), "--engine", "reference"]) == 1
    message = capsys.readouterr().err
    assert "pool.onnx: y (MaxPool): ONNX's reference evaluator finds too many windows" in message
    assert "--engine onnxruntime runs it" in message


def test_the_reference_evaluator(tmp_path: Path):
    model, array, result = (str(tmp_path / name) for name in ("m.onnx", "x.npy", "y.npy"))
    text = '<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) {y = Softsign(x)}'
    Path(model).write_bytes(onnx.parser.parse_model(text).SerializeToString())
    for x in (np.array([np.nan, np.inf, -2, 0], np.float32), np.empty(0, np.float32)):
        np.save(array, x)
        assert main(["run", model, "--input", array, "--output", result, "--engine", "reference", "-q"]) == 0
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(np.load(result), x / (1 + np.abs(x)))


def test_engines_are_for_models(sine: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["run", str(sine.with_suffix(".xpkg")), "--engine", "reference"]) == 1
    assert "--engine is for models (.onnx" in capsys.readouterr().err
