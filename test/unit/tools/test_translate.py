"""`onnx-translate`: every way through it, and every refusal."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from xonnc.formats.onnx.compare import models_equal
from xonnc.formats.onnx.tensors import proto
from xonnc.tools.opt import run_opt
from xonnc.tools.translate import main


def model() -> onnx.ModelProto:
    """A model with names, a weight and a constant node."""
    made = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17], doc_string: "what it is">
    g (float[N, 512] x) => (float[N, 512] y) {
        k = Constant <value = float[1] {2}> ()  [first] t = Mul (x, k)  [second] y = Add (t, w) }""")
    made.graph.initializer.append(proto(np.arange(512, dtype=np.float32), "w"))
    return made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `a.onnx`, which is the current one."""
    (tmp_path / "a.onnx").write_bytes(model().SerializeToString())
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Stdin:
    """Standard input that holds `data`."""

    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def through(data: bytes, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """The tool with `data` on standard input."""
    monkeypatch.setattr(sys, "stdin", Stdin(data))
    return main(arguments)


@pytest.mark.parametrize("way", ["b.mlir", "b.json", "b.onnxtxt", "b.onnx"])
def test_there_and_back(folder: Path, way: str) -> None:
    assert main(["a.onnx", "-o", way]) == 0
    assert main([way, "-o", "c.onnx"]) == 0
    assert models_equal("c.onnx", model()) == []
    assert sorted(path.name for path in folder.iterdir()) == sorted({"a.onnx", way, "c.onnx"})


def test_the_same_bytes_every_time(folder: Path) -> None:
    for name in ("b.onnx", "c.onnx"):
        main(["a.onnx", "-o", name])
    assert (folder / "b.onnx").read_bytes() == (folder / "c.onnx").read_bytes()


def test_the_compiler_spelled_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    data = (folder / "a.onnx").read_bytes()
    assert through(data, [], monkeypatch) == 0
    text = capsysbinary.readouterr().out.decode()
    code, optimised, _ = run_opt(["--mlir-print-debuginfo"], text)
    assert code == 0
    assert through(optimised.encode(), ["-o", "b.onnx"], monkeypatch) == 0
    assert models_equal("b.onnx", model()) == []


def test_ir_on_standard_input_becomes_a_model_on_standard_output(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    main(["a.onnx", "-o", "b.mlir"])
    assert through((folder / "b.mlir").read_bytes(), [], monkeypatch) == 0
    assert models_equal(onnx.ModelProto.FromString(capsysbinary.readouterr().out), model()) == []


@pytest.mark.parametrize(
    ("arguments", "name"),
    [(["--external-data"], "b.onnx.data"), (["--external-data=w.bin"], "w.bin")],
)
def test_external_data(folder: Path, arguments: list[str], name: str) -> None:
    assert main([*arguments, "a.onnx", "-o", "b.onnx"]) == 0
    assert (folder / name).stat().st_size == 2048
    assert models_equal("b.onnx", model()) == []
    assert main([*arguments, "--external-data-threshold=4096", "a.onnx", "-o", "c.onnx"]) == 0
    assert (folder / "c.onnx").stat().st_size > 2048


def test_locations_and_constants_can_be_left_out(
    folder: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["a.onnx", "--no-locations", "--mlir-elide-elementsattrs-if-larger=8"]) == 0
    text = capsysbinary.readouterr().out.decode()
    assert "loc(" not in text
    assert "__elided__" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.foo"], "no format '.foo'"),
        (["a.onxn", "-o", "b.mlir"], "did you mean '.onnx'?"),
        (["a"], "its file name has no known ending; give the format with --from"),
        (["a.onnx", "-o", "b"], "its file name has no known ending; give the format with --to"),
        (
            ["a.onnx", "-o", "b.nvdla"],
            "no translation from onnx to nvdla; onnx becomes mlir, onnx, onnxtxt, json",
        ),
        (["a.txt", "-o", "b.onnx"], "txt becomes nothing"),
        (["a.onnx", "-o", "b.mlir", "--external-data"], "--external-data is for models"),
        (["a.onnx", "--form", "onnx"], "unrecognized arguments: --form"),
        (["a.onnx", "--to", "elf"], "invalid choice: 'elf'"),
    ],
)
def test_wrong_command_lines(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == ["a.onnx"]


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (None, ["b.onnx"], "b.onnx: cannot be read: No such file or directory"),
        (None, ["b.mlir", "-o", "c.onnx"], "b.mlir: No such file or directory"),
        (None, ["b.nvdla"], "b.nvdla: no such file"),
        (b"", ["b.onnx"], "b.onnx: not an ONNX model: there is no graph in it"),
        (b"\x08\x08\x3a\x7f", ["b.onnx", "-o", "c.mlir"], "it is cut short"),
        (b"\xff\xfe", ["b.onnx", "--from=mlir"], "b.onnx: byte 0: not UTF-8 text, so no IR"),
        (b"not a loadable, not at all", ["b.nvdla"], "b.nvdla: "),
        (b"{", ["b.json"], "b.json: not an ONNX model in JSON"),
        (b"g (float x", ["b.onnxtxt"], "b.onnxtxt: not ONNX text"),
    ],
)
def test_wrong_inputs(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    content: bytes | None,
    arguments: list[str],
    message: str,
) -> None:
    if content is not None:
        Path(arguments[0]).write_bytes(content)
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert {path.name for path in folder.iterdir()} <= {"a.onnx", arguments[0]}


DLA = [
    "convert-onnx-to-dla",
    "dla-bubble-up-slices",
    "dla-split-kernels",
    "dla-resolve-views",
    "dla-fuse",
    "dla-schedule",
    "dla-split",
    "dla-allocate",
]


def test_the_compiler_for_nvdla_spelled_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[1,8,4,4] x) => (float[1,8,4,4] y) { y = Relu (x) }'
    )
    (folder / "relu.onnxtxt").write_text(text)
    assert main(["relu.onnxtxt", "-o", "relu.mlir"]) == 0
    code, lowered, _ = run_opt([f"--{name}" for name in DLA], (folder / "relu.mlir").read_text())
    assert code == 0
    (folder / "dla.mlir").write_text(lowered)
    assert main(["dla.mlir", "-o", "relu.nvdla"]) == 0
    assert main(["relu.nvdla", "-o", "relu.txt"]) == 0
    assert "tensor 0 'x'" in (folder / "relu.txt").read_text()
    assert main(["dla.mlir", "-o", "relu.onnx"]) == 1
    assert "ONNX has no operator for dla.sdp" in capsys.readouterr().err
    assert main(["relu.mlir", "-o", "early.nvdla"]) == 1
    assert "no value has an address; lower it first" in capsys.readouterr().err
    assert not (folder / "early.nvdla").exists()
    assert main(["dla.mlir", "-o", "relu.nvdla", "--target=nv_huge"]) == 2


def test_wrong_ir_is_shown_with_its_place(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "b.mlir").write_text('func.func @f() {\n  %0 = "onnx.Relu"() : () -> ()\n}')
    assert main(["b.mlir", "-o", "c.onnx"]) == 1
    assert "b.mlir" in capsys.readouterr().err
    assert not (folder / "c.onnx").exists()


def test_an_unwritable_output_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["a.onnx", "-o", "none/b.mlir"]) == 1
    assert "none/b.mlir: the folder none does not exist" in capsys.readouterr().err


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "onnx-translate a.onnx | onnx-opt" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("onnx-translate ")


def unsorted_model(path: Path) -> Path:
    made = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 20]>
    g (float[2] x) => (float[2] y) <float[2] a> { [second] y = Relu (a)  [first] a = Gelu (x) }""")
    path.write_bytes(made.SerializeToString())
    return path


@pytest.mark.parametrize(
    ("option", "there", "not_there"),
    [
        ("-EmitONNXBasic", 'loc("first")', "!"),
        ("--preserveLocations=false", '"onnx.Gelu"', "loc("),
        ("--useOnnxModelTypes=false", '"onnx.Relu"(%0) : (tensor<*xf32>) -> tensor<*xf32>', "!"),
        ("--functions-to-decompose=Gelu", '"onnx.Erf"', '"onnx.Gelu"'),
        ("--invokeOnnxVersionConverter", "onnx.opset_imports", '{"" = 20 : i64}'),
        ("-O3", '"onnx.Gelu"', "!"),
    ],
)
def test_options_of_onnx_mlir(
    option: str, there: str, not_there: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main([option, str(unsorted_model(tmp_path / "m.onnx"))]) == 0
    text = capsys.readouterr().out
    assert there in text
    assert not_there not in text


@pytest.mark.parametrize(
    ("option", "code", "problem"),
    [
        ("--allowSorting=false", 1, "second: the node stands before one that it reads"),
        ("--EmitONNXIR", 2, "'xonnc emit' runs the passes of the ONNX level"),
        ("--EmitLib", 2, "--EmitLib: onnx-translate makes no code; 'xonnc emit' does"),
        ("--parallel", 2, "option '--parallel' of onnx-mlir is not taken; nearest: "),
        ("--onnx-op-stats=TXT", 2, "option '--onnx-op-stats' of onnx-mlir is for onnx-opt and xonnc emit"),
    ],
)
def test_options_of_onnx_mlir_that_are_refused(
    option: str, code: int, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main([option, str(unsorted_model(tmp_path / "m.onnx"))]) == code
    assert problem in capsys.readouterr().err
