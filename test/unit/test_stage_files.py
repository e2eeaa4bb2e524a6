"""Files of IR as input of compilation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import xonnc
from xonnc.runtime.native.library import Library
from xonnc.tools.driver import main
from xonnc.tools.translate import main as translate

MODEL = """<ir_version: 8, opset_import: ["" : 18]>
g (float[N,3] x) => (float[N,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}> { m = MatMul (x, w) y = Relu (m) }"""

IR = """
func.func @main(%x: tensor<2x3xf32> {onnx.name = "x"}) -> (tensor<2x3xf32> {onnx.name = "y"}) {
  %0 = "onnx.Relu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  onnx.Return %0 : tensor<2x3xf32>
}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(MODEL).SerializeToString())
    return path


def compiled(model: Path, *options: str) -> bytes:
    """The LLVM IR that `xonnc compile` makes of a file."""
    made = model.parent / "made"
    made.mkdir(exist_ok=True)
    command = ["compile", str(model), "-o", str(made / "m.ll"), "--target", "avx2", "-q", *options]
    assert main(command) == 0
    return (made / "m.ll").read_bytes() + (made / "m.ll.weight").read_bytes()


@pytest.mark.parametrize("form", ["onnxtxt", "json", "mlir"])
def test_other_forms_of_a_model_become_the_same_code(model: Path, form: str):
    other = model.with_suffix(f".{form}")
    assert translate([str(model), "-o", str(other)]) == 0
    shape = ["--input-shape", "x:4,3"]
    assert compiled(other) == compiled(model)
    assert compiled(other, *shape) == compiled(model, *shape)


def test_ir_written_by_hand_runs(tmp_path: Path):
    path = tmp_path / "relu.mlir"
    path.write_text(IR)
    xonnc.compile_artifact(path, tmp_path / "relu.so")
    x = np.array([[-1, 0, 2], [np.nan, np.inf, -0.0]], np.float32)
    np.testing.assert_array_equal(Library(tmp_path / "relu.so").run(None, {"x": x})[0], np.maximum(x, 0))


@pytest.mark.parametrize("form", ["Lib", "Obj"])
def test_emit_takes_dumps(model: Path, form: str, tmp_path: Path):
    assert main(["compile", str(model), "-o", str(tmp_path / "m.ll"), "--dump", str(tmp_path), "-q"]) == 0
    dump = tmp_path / "13-planned.mlir"
    assert main(["emit", str(dump), f"--Emit{form}", "-o", str(tmp_path / "emitted")]) == 0
    assert (tmp_path / "emitted").with_suffix(".so" if form == "Lib" else ".o").is_file()


TEXTS: dict[str, tuple[str, list[str], str]] = {
    "llvm": ("llvm.func @f()", [], "IR of the llvm dialect has no weights; compile the dump of an earlier"),
    "tosa": (
        '%0 = "tosa.const"() {values = dense<1> : tensor<1xi8>} : () -> tensor<1xi8>',
        [],
        "IR of the tosa dialect, which is not for processors",
    ),
    "cut short": ("module {\n", [], "(expected an operation, a block or '}'; the IR may be cut short)"),
    "unknown": ("hello world", [], "no valid IR (Operation hello is not registered); 'onnx-opt"),
    "empty": ("module {}", [], "a model is one function with a body; the module has none"),
    "foreign": (IR.replace("onnx.Relu", "test.op"), [], "ONNX has no operator for test.op"),
    "elided": (
        IR.replace('"onnx.Relu"(%x)', "onnx.Constant dense_resource<__elided__>").replace(
            "(tensor<2x3xf32>) -> ", ""
        ),
        [],
        "constants were left out of this IR; dump it without --elide-larger",
    ),
    "calibrated": (
        IR,
        ["--calibrate", "x.npy"],
        "this is IR; calibration takes the model that it was made of",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_cannot_be_compiled_is_one_error(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text, options, reason = TEXTS[name]
    path = tmp_path / "it.mlir"
    path.write_text(text)
    assert main(["compile", str(path), "-o", str(tmp_path / "it.so"), *options]) == 1
    message = capsys.readouterr().err
    assert message.startswith(f"xonnc: {path}: ")
    assert message.count("\n") == 1
    assert reason in message
    assert not (tmp_path / "it.so").exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--input-shape", "x:4,3"], "the shapes of a stage are in its IR"),
        (["--layout", "x:NHWC"], "the layouts of a stage are in its IR"),
    ],
)
def test_a_stage_has_its_shapes(
    model: Path, options: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["compile", str(model), "-o", str(tmp_path / "m.ll"), "--dump", str(tmp_path), "-q"]) == 0
    dump = tmp_path / "09-krnl.mlir"
    assert main(["compile", str(dump), "-o", str(tmp_path / "x.so"), *options]) == 1
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--target", "nv_small"], ["--target", "tosa"], []])
def test_other_targets_take_no_ir(options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "it.mlir"
    path.write_text(IR)
    assert main(["compile", str(path), *options]) == 1
    message = capsys.readouterr().err
    assert "of IR, 'xonnc compile' makes native code: --target cpu, or -o it.so; 'onnx-translate" in message


def test_statistics_of_a_stage_say_nothing_of_the_model(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["compile", str(model), "-o", str(tmp_path / "m.ll"), "--dump", str(tmp_path), "-q"]) == 0
    dump = tmp_path / "06-fused.mlir"
    assert main(["compile", str(dump), "-o", str(tmp_path / "x.ll"), "--stats"]) == 0
    lines = capsys.readouterr().out
    assert "kernels" in lines
    assert "precomputed" not in lines
