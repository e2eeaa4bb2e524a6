"""`xonnc emit`: models as IR, with the options of onnx-mlir."""

from __future__ import annotations

import json
from pathlib import Path

import onnx.parser
import pytest
from google.protobuf.json_format import MessageToJson

from xonnc.tools.commands.emit import stages
from xonnc.tools.driver import main
from xonnc.tools.opt import run_opt
from xonnc.tools.peer_settings import take_peer_flags

TEXT = """<ir_version: 8, opset_import: ["" : 20]>
g (float[2, 3] x) => (float[2, 3] y) <float[3, 4] w = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}> {
    [gelu] a = Gelu (x)
    c = Constant <value = float {1}> ()
    d = Constant <value = float {2}> ()
    s = Add (c, d)
    [twice] b = Mul (a, s)
    [same] b2 = Mul (a, s)
    [sum] e = Add (b, b2)
    t = Transpose (w)
    p = MatMul (e, w)
    q = MatMul (p, t)
    y = Relu (q)
}"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx.parser.parse_model(TEXT).SerializeToString())
    return path


def test_the_model_as_imported(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["emit", str(model), "--EmitONNXBasic"]) == 0
    full, elided = model.with_name("m.onnx.mlir"), model.with_name("m.tmp")
    assert capsys.readouterr().out == (
        f"Full MLIR code written to:\n\t{full}\n\nConstant-free MLIR Code written to:\n\t{elided}\n\n"
    )
    assert "onnx.Return" in full.read_text()
    assert full.read_text().count('"onnx.Mul"') == 2
    assert "loc(" not in full.read_text()
    assert "__elided__" in elided.read_text()
    assert "__elided__" not in full.read_text()
    assert run_opt([str(full)])[0] == 0


FUNCTION = """<ir_version: 8, opset_import: ["" : 20, "mine": 1]>
g (float[2] x) => (float[2] y) { [call] y = mine.twice (x) }
<domain: "mine", opset_import: ["" : 20]> twice (a) => (b) { b = Add (a, a) }"""


@pytest.mark.parametrize("suffix", [".onnx", ".onnxtext", ".json"])
def test_functions_of_the_model_are_inlined(suffix: str, tmp_path: Path):
    path = tmp_path / f"m{suffix}"
    parsed = onnx.parser.parse_model(FUNCTION)
    if suffix == ".onnx":
        path.write_bytes(parsed.SerializeToString())
    else:
        path.write_text(FUNCTION if suffix == ".onnxtext" else MessageToJson(parsed))
    assert main(["emit", str(path), "--EmitONNXBasic"]) == 0
    (written,) = tmp_path.glob("m*.mlir")
    text = written.read_text()
    named = {name: f'tensor<2xf32> {{onnx.name = "{name}"}}' for name in "xy"}
    assert f"func.func @main_graph(%arg0: {named['x']}) -> ({named['y']}) {{\n" in text
    assert '"onnx.Add"(%arg0, %arg0)' in text
    assert "onnx.Custom" not in text


def test_ir_as_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "m.mlir"
    path.write_text(
        """func.func @main_graph(%x: tensor<1x2x7xf32>) -> tensor<1x2x7xf32> {
          %0 = "onnx.Relu"(%x) : (tensor<1x2x7xf32>) -> tensor<1x2x7xf32>
          onnx.Return %0 : tensor<1x2x7xf32>
        }
        "onnx.EntryPoint"() {func = @main_graph} : () -> ()"""
    )
    assert main(["emit", "--EmitONNXBasic", "--printIR", str(path)]) == 0
    assert '"onnx.Relu"(%arg0)' in capsys.readouterr().out
    assert main(["emit", "--EmitONNXIR", "--append-decoding-strategy", "--printIR", str(path)]) == 0
    assert '"onnx.ArgMax"' in capsys.readouterr().out


def test_ir_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "m.mlir"
    assert main(["emit", "--EmitONNXBasic", str(path)]) == 1
    assert "m.mlir: cannot be read" in capsys.readouterr().err
    path.write_text("func.func @f(")
    assert main(["emit", "--EmitONNXBasic", str(path)]) == 1
    assert "m.mlir:1:" in capsys.readouterr().err
    assert main(["emit", "--allowSorting=false", str(path)]) == 1
    assert "options of the import are for ONNX models; this is IR" in capsys.readouterr().err


def test_the_model_after_the_passes(model: Path):
    assert main(["emit", str(model)]) == 0
    text = model.with_name("m.onnx.mlir").read_text()
    assert text.count('"onnx.Mul"') == 1
    assert '"onnx.Transpose"' not in text
    assert "tensor<*x" not in text
    assert "return %" in text
    assert "onnx.Return" not in text
    assert 'onnx_node_name = "gelu"' in text


def emitted(model: Path, *options: str) -> str:
    """What is written in full."""
    assert main(["emit", str(model), *options]) == 0
    return model.with_name("m.onnx.mlir").read_text()


@pytest.mark.parametrize(
    ("option", "there", "not_there"),
    [
        ("-preserveLocations", 'loc("gelu")', "!"),
        ("--functions-to-decompose=Gelu --disable-recompose", '"onnx.Erf"', '"onnx.Gelu"'),
        ("--functions-to-decompose=Gelu", '"onnx.Gelu"', '"onnx.Erf"'),
        ("--disable-constant-prop", '"onnx.Transpose"', "!"),
        ("--onnx-const-prop-disable-pattern=TransposeofConst", '"onnx.Transpose"', "!"),
        ("--replace-op-with-its-operand=0:gelu", '"onnx.Mul"(%arg0', '"onnx.Gelu"'),
        ("--instrument-onnx-node=sum", "onnx.PrintSignature", "!"),
        ("--instrument-signature=onnx.Gelu", 'op_name = "onnx.Gelu, gelu", print_data = 0', "!"),
        ("--onnx-hybrid-pass=false", '"onnx.Gelu"', '"onnx.Transpose"'),
        ("-O3", '"onnx.Gelu"', '"onnx.Transpose"'),
        ("--modelSize=large", '"onnx.Gelu"', '"onnx.Transpose"'),
    ],
)
def test_options_change_what_is_written(option: str, there: str, not_there: str, model: Path):
    text = emitted(model, *option.split())
    assert there in text
    assert not_there not in text


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("-v", "xonnc emit: decompose-onnx"),
        ("--enable-timing", "===- pass timing: "),
        ("--onnx-op-stats=TXT", "Operations encountered:"),
        ("--onnx-op-stats=JSON", '"onnx.Gelu" : 1,'),
        ("--report-heap-after=set-onnx-node-name", "heap after set-onnx-node-name: "),
        ("--report-heap-before=decompose-onnx,scrub-disposable", "heap before scrub-disposable: "),
    ],
)
def test_options_tell_something(option: str, told: str, model: Path, capsys: pytest.CaptureFixture[str]):
    emitted(model, option)
    assert told in capsys.readouterr().err


def test_the_ir_is_printed(model: Path, capsys: pytest.CaptureFixture[str]):
    emitted(model, "--printIR")
    assert "return %" in capsys.readouterr().out
    emitted(model, "--printONNXBasicIR")
    basic = capsys.readouterr().out
    assert basic.count('"onnx.Mul"') == 2
    assert "__elided__" in basic


def test_the_file_with_constants_may_be_left_out(model: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["emit", str(model), "--do-not-emit-full-mlir-code"]) == 0
    assert not model.with_name("m.onnx.mlir").exists()
    assert model.with_name("m.tmp").exists()
    assert "Full MLIR code" not in capsys.readouterr().out


def test_the_flags_of_a_run_are_kept_and_read(model: Path, tmp_path: Path):
    file = tmp_path / "flags.json"
    emitted(model, "--EmitONNXBasic", "-preserveLocations", f"--save-config-file={file}")
    assert json.loads(file.read_text()) == {"compile-options": ["--EmitONNXBasic", "--preserveLocations"]}
    assert 'loc("gelu")' in emitted(model, f"--config-file={file}", "-o", str(model.with_name("m")))


def test_code_and_the_stages_before_it(model: Path, capsys: pytest.CaptureFixture[str]):
    assert '"krnl.call"' in emitted(model, "--EmitMLIR")
    assert "llvm.func" in emitted(model, "--EmitLLVMIR", "-O3", "--mcpu=portable")
    for option, suffix, start in (("--EmitObj", ".o", b"\x7fELF"), ("--EmitLib", ".so", b"\x7fELF")):
        assert main(["emit", str(model), option]) == 0
        file = model.with_suffix(suffix)
        assert f"written to:\n\t{file}" in capsys.readouterr().out
        assert file.read_bytes().startswith(start)
    assert "m_run" in model.with_suffix(".h").read_text()


def test_sizes_of_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = tmp_path / "open.onnx"
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[n, 4] x) => (float[n, 4] y) { y = Hardmax(x) }'
    model.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    assert main(["emit", str(model), "--EmitLib"]) == 1
    assert "takes sizes by the inputs' indices: --shapeInformation=0:" in capsys.readouterr().err
    assert main(["emit", str(model), "--EmitLib", "--shapeInformation=0:3x4"]) == 0
    assert "3, 4" in model.with_suffix(".h").read_text()
    model.write_bytes(onnx.parser.parse_model(text.replace("Hardmax", "Relu")).SerializeToString())
    assert main(["emit", str(model), "--EmitLib", "-O1"]) == 0
    assert "float32 [?, 4]" in model.with_suffix(".h").read_text()


@pytest.mark.parametrize(
    ("options", "code", "problem"),
    [
        (["--EmitJNI"], 2, "--EmitJNI: Java archives are not supported; use --EmitLib"),
        (["--EmitLib", "--disable-recompose"], 2, "--disable-recompose is for --EmitONNXIR; with --EmitLib"),
        (["--EmitObj", "--mcpu=z16"], 2, "z16"),
        (["--parallel"], 2, "option '--parallel' of onnx-mlir is not taken; nearest: "),
        (["--report-heap-before=csee"], 2, "no pass 'csee'; did you mean 'cse'?"),
        (
            ["--onnx-hybrid-pass=false", "--onnx-op-transform-threshold=0", "--repeatOnnxTransform=often"],
            2,
            "option '--repeatOnnxTransform' takes a number, found 'often'",
        ),
        (["--no-such-option"], 2, "no argument '--no-such-option' here"),
        (["-o", "/nowhere/m"], 1, "the folder /nowhere does not exist"),
        (["--allowSorting=maybe"], 2, "option '--allowSorting' takes true or false, found 'maybe'"),
    ],
)
def test_what_is_wrong_is_told(
    options: list[str], code: int, problem: str, model: Path, capsys: pytest.CaptureFixture[str]
):
    try:
        found = main(["emit", str(model), *options])
    except SystemExit as stop:
        found = stop.code
    assert found == code
    assert problem in capsys.readouterr().err


def test_stages_follow_the_flags():
    def names(*flags: str) -> list[str]:
        return list(stages(take_peer_flags(flags, "xonnc emit")[0]))

    assert names()[0] == "decompose-onnx"
    assert names()[-1] == "set-onnx-node-name"
    assert "recompose-onnx" in names()
    assert "recompose-onnx" not in names("--disable-recompose")
    assert "conv-opt-onnx" not in names("--enable-conv-opt-pass=false")
    assert names("--append-decoding-strategy=greedy")[0] == "append-decoding-strategy"
    assert names("--append-decoding-strategy", "--disable-recompose")[0] == "append-decoding-strategy"
    assert "onnx-op-transform" in names("--onnx-hybrid-pass=false")
    static = ("--onnx-hybrid-pass=false", "--onnx-op-transform-threshold=0")
    assert "onnx-op-transform" not in names(*static)
    assert names(*static, "--repeatOnnxTransform=2").count("constprop-onnx") == 3
    assert "onnx-hybrid-transform" not in names("--onnx-hybrid-pass=false")
    assert names("--replace-op-with-its-operand=0:a")[0] == "replace-op-with-its-operand"
    assert names("--instrument-onnx-node=a")[-1] == "instrument-onnx-runtime-signature"
