"""The small commands on models and tensors."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import onnx
import onnx.parser
import pytest

from xonnc.formats.onnx.compare import models_equal
from xonnc.formats.onnx.tensors import proto
from xonnc.model_check import check_model
from xonnc.runtime.reference import open_session
from xonnc.tools.driver import COMMANDS, main

NET = """<ir_version: 4, opset_import: ["": 9]>
net (float[1, 2, 3] x, float[3] unused) => (float[1, 6] y, float[3] z)
<float[3, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}> {
    d = Dropout(x)
    p = MatMul(d, w)
    r = Relu(p)
    s = Slice<starts=[1], ends=[4], axes=[2]>(r)
    f = Flatten(s)
    y = Softmax<axis=1>(f)
    z = Neg(unused)
}"""

X = np.array([[[-1.0, 0.5, 2.0], [0.0, -3.0, 1.0]]], np.float32)


@pytest.fixture(autouse=True)
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> onnx.ModelProto:
    monkeypatch.chdir(tmp_path)
    return written("net.onnx", NET)


def written(name: str, text: str) -> onnx.ModelProto:
    model = onnx.parser.parse_model(text)
    Path(name).write_bytes(model.SerializeToString())
    return model


def read(name: str) -> onnx.ModelProto:
    return onnx.ModelProto.FromString(Path(name).read_bytes())


def outputs(name: str, **feeds: Any) -> list[Any]:
    session, _ = open_session(Path(name).read_bytes(), name, threads=1)
    return session.run(None, feeds)


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("opset", [8, 9, 11, 13, 18, 21])
def test_converted_models_compute_the_same(opset: int, capsys: pytest.CaptureFixture[str]):
    assert main(["convert-opset", str(opset), "net.onnx", "out.onnx", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["from"] == 9
    model = read("out.onnx")
    assert [each.version for each in model.opset_import] == [opset]
    assert check_model(model) == []
    feeds = {"x": X, "unused": np.zeros(3, np.float32)}
    for one, other in zip(outputs("out.onnx", **feeds), outputs("net.onnx", **feeds), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_the_same_opset_changes_nothing(net: onnx.ModelProto):
    assert main(["convert-opset", "9", "net.onnx", "out.onnx", "-q"]) == 0
    assert models_equal(net, read("out.onnx")) == []


FUNCTION = """<ir_version: 8, opset_import: ["": 17, "own": 1]>
g (float[2] x) => (float[2] y) {y = own.twice(x)}
<domain: "own", opset_import: ["": 17]> twice (a) => (b) {b = Add(a, a)}"""


@pytest.mark.parametrize(
    ("text", "opset", "message"),
    [
        (NET, "99", "net.onnx: opset 99: opsets are 1 to "),
        (FUNCTION, "18", "the model has local functions of its opset; inline them with --inline-functions"),
        (
            """<ir_version: 8, opset_import: ["": 17]> g (float[2] x, int64 i) => (float[2] y) {
            l = LayerNormalization(x, x) s = SequenceConstruct(l) y = SequenceAt(s, i)}""",
            "10",
            "net.onnx: opset 10: s: SequenceConstruct as it is here exists from opset 11 on",
        ),
        (
            """<ir_version: 8, opset_import: ["": 11]> g (float[2, 3] x) => (float[2, 3] y) {
            y = Softmax<axis=0>(x)}""",
            "13",
            "net.onnx: opset 13: y: Softmax as it is here exists up to opset 12",
        ),
    ],
)
def test_what_an_opset_cannot_express(
    text: str, opset: str, message: str, capsys: pytest.CaptureFixture[str]
):
    written("net.onnx", text)
    assert main(["convert-opset", opset, "net.onnx", "out.onnx"]) == 1
    assert message in capsys.readouterr().err
    assert not Path("out.onnx").exists()


def test_inlined_functions_are_converted():
    written("net.onnx", FUNCTION)
    assert main(["convert-opset", "18", "net.onnx", "out.onnx", "--inline-functions", "-q"]) == 0
    assert [node.op_type for node in read("out.onnx").graph.node] == ["Add"]


def test_infer(capsys: pytest.CaptureFixture[str]):
    assert main(["infer", "net.onnx", "out.onnx"]) == 0
    assert lines_of(capsys)[0] == "net.onnx   types of 7 of 7 values"
    types = {info.name: info.type.tensor_type.shape.dim for info in read("out.onnx").graph.value_info}
    assert [dim.dim_value for dim in types["s"]] == [1, 2, 3]
    assert read("out.onnx").graph.node[0].op_type == "Dropout"


def test_extract(capsys: pytest.CaptureFixture[str]):
    assert main(["extract", "net.onnx", "out.onnx", "--inputs", "r", "--outputs", "y", "p", "--json"]) == 1
    assert "the outputs need the input 'x' too; add it to --inputs" in capsys.readouterr().err
    assert main(["extract", "net.onnx", "out.onnx", "--inputs", "r", "--outputs", "y", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["nodes"], report["inputs"]) == (3, ["r"])
    assert not read("out.onnx").graph.initializer
    assert main(["extract", "net.onnx", "head.onnx", "--outputs", "r", "-q"]) == 0
    assert check_model("head.onnx") == check_model("out.onnx") == []
    (r,) = outputs("head.onnx", x=X)
    (y,) = outputs("out.onnx", r=r)
    np.testing.assert_array_equal(y, outputs("net.onnx", x=X, unused=np.zeros(3, np.float32))[0])
    assert main(["extract", "net.onnx", "w.onnx", "--inputs", "d", "w", "--outputs", "p", "-q"]) == 0
    assert [info.name for info in read("w.onnx").graph.input] == ["d", "w"]
    assert main(["extract", "net.onnx", "w.onnx", "--outputs", "yy"]) == 1
    assert "there is no value 'yy'" in capsys.readouterr().err


def test_extract_captured_values():
    written(
        "net.onnx",
        """<ir_version: 8, opset_import: ["": 17]> g (bool c, float[2] x) => (float[2] z) {
        a = Exp(x)
        y = If(c) <
            then_branch = t () => (float[2] p) {p = Neg(a)}, else_branch = e () => (float[2] q) {q = Abs(x)}
        >
        z = Relu(y)}""",
    )
    assert main(["extract", "net.onnx", "out.onnx", "--outputs", "y", "-q"]) == 0
    assert [node.op_type for node in read("out.onnx").graph.node] == ["Exp", "If"]
    assert check_model("out.onnx") == []


def test_merge(capsys: pytest.CaptureFixture[str]):
    main(["extract", "net.onnx", "a.onnx", "--outputs", "r", "-q"])
    main(["extract", "net.onnx", "b.onnx", "--inputs", "r", "--outputs", "y", "-q"])
    assert main(["merge", "a.onnx", "b.onnx", "out.onnx", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["nodes"], report["inputs"]) == (6, ["x"])
    # The one name that both have is that of the value that joins them.
    assert [info.name for info in read("out.onnx").graph.output] == ["y"]
    (y,) = outputs("out.onnx", x=X)
    np.testing.assert_array_equal(y, outputs("net.onnx", x=X, unused=np.zeros(3, np.float32))[0])
    assert main(["merge", "a.onnx", "b.onnx", "out.onnx", "--map", "r:r", "--prefix", "b_", "-q"]) == 0
    assert [info.name for info in read("out.onnx").graph.output] == ["b_y"]
    assert check_model("out.onnx") == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["net.onnx", "net.onnx"], "output 'y' is float32[1, 6], input 'x' float32[1, 2, 3]"),
        (["net.onnx", "one.onnx"], "opsets 9 and 17; 'xonnc convert-opset' makes them equal"),
        (["net.onnx", "one.onnx", "--map", "yy:x"], "there is no output of the first model 'yy'"),
        (["net.onnx", "one.onnx", "--map", "y:xx"], "there is no input of the second model 'xx'"),
        (["net.onnx", "two.onnx"], "2 outputs and 1 inputs of other names; join them by --map OUT:IN"),
    ],
)
def test_models_that_do_not_merge(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    written(
        "one.onnx",
        """<ir_version: 8, opset_import: ["": 17]>
        g (float[1, 6] x, float[1, 6] y) => (float[1, 6] q) {q = Add(x, y)}""",
    )
    written("two.onnx", '<ir_version: 4, opset_import: ["": 9]> g (float[2] k) => (float[2] q) {q = Neg(k)}')
    assert main(["merge", *arguments[:2], "out.onnx", *arguments[2:]]) == 1
    assert message in capsys.readouterr().err
    assert not Path("out.onnx").exists()


def test_diff(net: onnx.ModelProto, capsys: pytest.CaptureFixture[str]):
    assert main(["diff", "net.onnx", "net.onnx"]) == 0
    assert lines_of(capsys) == ["the models are equal"]
    weights = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    weights[1, 2] += 0.5
    net.graph.initializer[0].CopyFrom(proto(weights, "w"))
    net.graph.node[2].op_type = "Abs"
    Path("b.onnx").write_bytes(net.SerializeToString())
    assert main(["diff", "net.onnx", "b.onnx"]) == 1
    found = lines_of(capsys)
    assert found[:3] == ["Abs: 0 nodes, 1 nodes", "Relu: 1 nodes, 0 nodes", "weight w: differs by up to 0.5"]
    assert main(["diff", "net.onnx", "b.onnx", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["weights"] == {"w": 0.5}
    assert len(report["differences"]) >= 2
    assert main(["diff", "net.onnx", "b.onnx", "-q"]) == 1
    assert capsys.readouterr().out == ""


def test_stats(capsys: pytest.CaptureFixture[str]):
    assert main(["stats", "net.onnx"]) == 0
    found = lines_of(capsys)
    assert found[0] == "net.onnx   7 nodes, 12 parameters (48 B), opset ai.onnx 9"
    assert found[1:3] == ["  input    x: float32[1, 2, 3]", "  input    unused: float32[3]"]
    assert main(["stats", "net.onnx", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["nodes"], report["elements"]) == (7, {"float32": 12})
    assert report["with_initializer"] == []


def test_stats_of_inputs_with_an_initializer(capsys: pytest.CaptureFixture[str]):
    text = "g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> {y = Add(x, w)}"
    written("with.onnx", f'<ir_version: 8, opset_import: ["": 17]> {text}')
    assert main(["stats", "with.onnx"]) == 0
    found = lines_of(capsys)
    assert found[1:3] == ["  input    x: float32[2]", "           1 more input with an initializer"]
    assert main(["stats", "with.onnx", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["inputs"] == {"x": "float32[2]", "w": "float32[2]"}
    assert report["with_initializer"] == ["w"]


def test_view(capsys: pytest.CaptureFixture[str]):
    assert main(["view", "net.onnx", "--dot"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("digraph model {")
    assert len(re.findall(r"shape=box", text)) == 7
    assert len(re.findall(r"->", text)) == 9
    assert main(["view", "net.onnx", "-o", "net.svg", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"] == 7
    groups = ElementTree.parse("net.svg").getroot().findall("{*}g")
    assert [group.get("class") for group in groups].count("node") == 7
    assert main(["view", "net.onnx", "--json"]) == 1
    assert "the drawing is written to standard output" in capsys.readouterr().err


def test_names_are_escaped_in_drawings():
    model = written("net.onnx", NET)
    model.graph.node[0].name = 'a "quoted" <name>\\'
    Path("net.onnx").write_bytes(model.SerializeToString())
    for ending in ("dot", "svg"):
        assert main(["view", "net.onnx", "-o", f"net.{ending}", "-q"]) == 0
    assert r'a \"quoted\" <name>\\"' in Path("net.dot").read_text()
    ElementTree.parse("net.svg")


ARRAYS = {
    "negative": np.array([[-1.5, 0.0], [np.inf, 3e-5]], np.float32),
    "integers": np.array([-(2**62), 0, 7], np.int64),
    "scalar": np.array(2.0, np.float64),
    "empty": np.zeros((0, 3), np.float32),
    "booleans": np.array([True, False]),
}


@pytest.mark.parametrize("ending", ["npy", "pb", "bin", "json"])
@pytest.mark.parametrize("name", ARRAYS)
def test_tensors_survive_the_round_trip(name: str, ending: str):
    array = ARRAYS[name]
    np.save("in.npy", array)
    assert main(["tensor", "convert", "in.npy", f"t.{ending}", "-q"]) == 0
    shape = ",".join(map(str, array.shape))
    known = ["--type", str(array.dtype), "--shape", shape] if ending == "bin" else []
    assert main(["tensor", "convert", f"t.{ending}", "out.npy", "-q", *known]) == 0
    found = np.load("out.npy")
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype


def test_tensors_as_pixels_and_text(capsys: pytest.CaptureFixture[str]):
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    np.save("in.npy", pixels)
    assert main(["tensor", "convert", "in.npy", "t.ppm"]) == 0
    assert lines_of(capsys)[0] == "in.npy   uint8[2, 4, 3]"
    assert main(["tensor", "convert", "t.ppm", "out.npy", "-q"]) == 0
    np.testing.assert_array_equal(np.load("out.npy"), pixels)
    assert main(["tensor", "convert", "t.ppm", "t.dimg", "-q"]) == 0
    assert Path("t.dimg").read_text().startswith("0 1 2 3 ")
    assert main(["tensor", "convert", "t.dimg", "t.pgm", "--type", "uint8", "--shape", "6,4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["shape"] == [6, 4]
    assert Path("t.pgm").read_bytes().startswith(b"P5\n4 6\n255\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["in.npy", "t.tiff"], "t.tiff: not a tensor file; supported endings: .npy, .pb"),
        (["net.onnx", "t.npy"], "net.onnx: not a tensor file"),
        (["in.bin", "t.npy"], "in.bin: raw bytes have no type; give it with --type float32"),
        (["in.bin", "t.npy", "--type", "float32"], "in.bin: 3 bytes: not a multiple of the element size 4"),
        (
            ["in.bin", "t.npy", "--type", "float31"],
            "there is no element type 'float31'; did you mean 'float32'?",
        ),
        (["in.npy", "t.pb", "--shape", "5"], "in.npy: 4 elements, but --shape asks for 5"),
        (["in.npy", "t.pgm"], "t.pgm: pixels are uint8 and H x W x 1; this is float32 2 x 2"),
        (["bad.pb", "t.npy"], "bad.pb: not a TensorProto"),
        (
            ["bad.json", "t.npy"],
            "bad.json: not a tensor in text form: an object with type, shape and data is needed",
        ),
        (["bad.dimg", "t.npy"], "bad.dimg: not a tensor in text form"),
        (["in.npy", "t.onnx"], "t.onnx: the ending .onnx says ONNX model; supported: .npy"),
        (["missing.npy", "t.pb"], "missing.npy: no such file"),
    ],
)
def test_tensor_errors(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    np.save("in.npy", np.zeros((2, 2), np.float32))
    Path("in.bin").write_bytes(b"abc")
    Path("bad.pb").write_bytes(b"\xff\xff")
    Path("bad.json").write_text("[1]")
    Path("bad.dimg").write_text("1 two")
    assert main(["tensor", "convert", *arguments]) == 1
    assert message in capsys.readouterr().err
    assert not Path(arguments[1]).exists()


def test_completion(capsys: pytest.CaptureFixture[str]):
    texts: dict[str, str] = {}
    for kind in ("bash", "zsh", "man"):
        assert main(["completion", kind]) == 0
        texts[kind] = capsys.readouterr().out
        assert all(name.replace("-", "\\-" if kind == "man" else "-") in texts[kind] for name in COMMANDS)
    assert texts["man"].startswith(".TH XONNC 1")
    assert not re.search(r"^\.(?!TH|SH|SS|TP|B )", texts["man"], re.MULTILINE)
    assert main(["completion", "bash", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["diff"]["--all"] == "list all differences, not only 20"


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("words", "found"), [("conv", ["convert-opset"]), ("diff --a", ["--all"]), ("stats --js", ["--json"])]
)
def test_bash_completes(words: str, found: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["completion", "bash", "-o", "complete"]) == 0
    assert capsys.readouterr().out == "  wrote        complete\n"
    line = (
        f"COMP_WORDS=(xonnc {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _xonnc; echo ${{COMPREPLY[@]}}"
    )
    done = subprocess.run(["bash", "-c", f". ./complete; {line}"], capture_output=True, text=True)
    assert done.stdout.split() == found


def test_the_output_is_given_by_position_or_by_option(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ["infer", "net.onnx", "-o", "infer.onnx"],
        ["convert-opset", "17", "net.onnx", "-o", "convert-opset.onnx"],
        ["extract", "-o", "extract.onnx", "net.onnx", "--outputs", "r"],
        ["simplify", "net.onnx", "-o", "simplify.onnx"],
        ["optimize", "net.onnx", "-o", "optimize.onnx"],
    ):
        assert main([*arguments, "-q"]) == 0
        assert read(f"{arguments[0]}.onnx").graph.node
    np.save("x.npy", X)
    assert main(["tensor", "convert", "x.npy", "-o", "tensor.json", "-q"]) == 0
    assert Path("tensor.json").exists()
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        main(["infer", "net.onnx"])
    assert stopped.value.code == 2
    assert "the file to write is missing: give it by position or by -o" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        main(["infer", "net.onnx", "a.onnx", "-o", "b.onnx"])
    assert stopped.value.code == 2
    assert "the output is b.onnx and a.onnx; give it by position or by -o" in capsys.readouterr().err


@pytest.mark.parametrize("pair", ["y", "y:", ":x"])
def test_a_pair_of_names_to_merge_by(pair: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stop:
        main(["merge", "a.onnx", "b.onnx", "out.onnx", "--map", pair])
    assert stop.value.code == 2
    assert f"'{pair}' must have the form OUTPUT:INPUT, such as y:x" in capsys.readouterr().err


def test_a_comparison_needs_inputs(capsys: pytest.CaptureFixture[str]):
    assert main(["check", "net.onnx", "net.nvdla", "--inputs", "0"]) == 1
    assert "--inputs 0: at least one input is needed to compare" in capsys.readouterr().err


def test_a_report_needs_a_file_for_the_model(capsys: pytest.CaptureFixture[str]):
    assert main(["simplify", "net.onnx", "-", "--json"]) == 1
    said = capsys.readouterr()
    assert "--json: the model is written to standard output; give a file name for it" in said.err
    assert not said.out
