"""Bad input ends with one clear line a cause, the exit code of its kind, and nothing written."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

from xonnc.tools import driver, opt, translate

Maker = Callable[[Path], Path]


def saved(
    folder: Path,
    nodes: Sequence[onnx.NodeProto],
    *,
    weights: Sequence[onnx.TensorProto] = (),
    shape: Sequence[int | str] = (1, 4, 8, 8),
    opset: int = 13,
) -> Path:
    """A model from `x` to `y`."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        list(weights),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def external(**fields: str) -> Maker:
    """A model whose weight is said to lie in another file; that file and traps of all kinds are there."""

    def make(folder: Path) -> Path:
        inside = folder / "inside"
        inside.mkdir()
        (folder / "outside.bin").write_bytes(bytes(64))
        (inside / "w.bin").write_bytes(bytes(64))
        os.symlink("../outside.bin", inside / "link.bin")
        (folder / "elsewhere").mkdir()
        (folder / "elsewhere" / "w.bin").write_bytes(bytes(64))
        os.symlink("../elsewhere", inside / "linked")
        os.link(folder / "outside.bin", inside / "hard.bin")
        os.mkfifo(inside / "pipe")
        tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4])
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in fields.items():
            tensor.external_data.add(key=key, value=value.replace("FOLDER", str(folder)))
        return saved(inside, [helper.make_node("Add", ["x", "w"], ["y"], "add")], weights=[tensor], shape=[4])

    return make


def content(data: bytes) -> Maker:
    def make(folder: Path) -> Path:
        path = folder / "model.onnx"
        path.write_bytes(data)
        return path

    return make


def truncated(folder: Path) -> Path:
    weight = numpy_helper.from_array(np.ones(4096, np.float32), "w")
    path = saved(folder, [helper.make_node("Add", ["x", "w"], ["y"])], weights=[weight])
    path.write_bytes(path.read_bytes()[:5000])
    return path


def graph(*nodes: onnx.NodeProto) -> Maker:
    return lambda folder: saved(folder, nodes)


def conv(shape: Sequence[int], **attributes: Any) -> Maker:
    def make(folder: Path) -> Path:
        weight = numpy_helper.from_array(np.ones(shape, np.float32), "w")
        node = helper.make_node("Conv", ["x", "w"], ["y"], "conv1", **attributes)
        return saved(folder, [node], weights=[weight])

    return make


def overflowing(folder: Path) -> Path:
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2**40, 2**40])
    return saved(folder, [helper.make_node("Add", ["x", "w"], ["y"])], weights=[weight])


def ranked(rank: int) -> Maker:
    def make(folder: Path) -> Path:
        weight = helper.make_tensor("w", TensorProto.FLOAT, [1] * rank, [1.0])
        return saved(folder, [helper.make_node("Add", ["x", "w"], ["y"])], weights=[weight])

    return make


def calling(count: int, *bodies: str) -> Maker:
    """A model whose functions f0 to f(count - 1) have bodies in which `N` is the number of the one before."""

    def make(folder: Path) -> Path:
        functions = "".join(
            f' <domain: "l", opset_import: ["" : 17, "l" : 1]> f{number} (p) => (q) {{ '
            + bodies[min(number, len(bodies) - 1)].replace("N", str(number - 1))
            + " }"
            for number in range(count)
        )
        path = folder / "model.onnx"
        text = f"g (float[2] x, bool c) => (float[2] y) {{ y = l.f{count - 1} (x) }}"
        model = onnx.parser.parse_model(
            f'<ir_version: 8, opset_import: ["" : 17, "l" : 1]> {text}{functions}'
        )
        path.write_bytes(model.SerializeToString())
        return path

    return make


TWICE = "r = l.fN (p) q = l.fN (r)"
BRANCHES = """t = Constant <value = bool {1}> ()
    q = If (t) <then_branch = a () => (u) { u = l.fN (p) }, else_branch = b () => (v) { v = l.fN (p) }>"""
WITHIN = """t = Constant <value = bool {1}> ()
    q = If (t) <then_branch = a () => (u) { u = l.fN (p) }, else_branch = b () => (v) { v = Abs (p) }>"""


def node(op_type: str, source: str, result: str, name: str) -> onnx.NodeProto:
    return helper.make_node(op_type, [source], [result], name)


UNREADABLE: dict[str, tuple[Maker, str]] = {
    "missing": (lambda folder: folder / "model.onnx", "model.onnx: cannot be read: No such file"),
    "empty": (content(b""), "there is no graph in it"),
    "no format": (content(b"\xff" * 90), "this is no ONNX file, or it is damaged"),
    "another format": (content(b"\x7fELF" + bytes(range(90))), "not an ONNX model: this is an ELF library"),
    "truncated": (truncated, "this is no ONNX file, or it is cut short"),
    "cycle": (
        graph(
            helper.make_node("Add", ["x", "b"], ["a"], "n1"),
            node("Relu", "a", "b", "n2"),
            node("Relu", "b", "y", "n3"),
        ),
        "the graph has a cycle: n2 -> n1 -> n2",
    ),
    "overflow": (overflowing, "tensor 'w': shape [1099511627776, 1099511627776] overflows"),
    "missing attribute": (
        graph(node("Cast", "x", "y", "cast")),
        "cast (Cast): attribute 'to' is missing; the operator requires it",
    ),
    "rank": (ranked(65), "tensor 'w': rank 65; tensors have up to 64 axes here"),
    "recursive function": (calling(1, "q = l.f0 (p)"), "function 'f0' calls itself: f0 -> f0"),
    "functions that call each other": (
        calling(2, "q = l.f1 (p)", "q = l.f0 (p)"),
        "calls itself: f",
    ),
    "unmade output": (graph(node("Relu", "x", "a", "act")), "output 'y' is made by no node"),
    "unknown opset": (
        lambda folder: saved(folder, [node("Relu", "x", "y", "act")], opset=99),
        "opset 99 of domain 'ai.onnx'",
    ),
    "external ..": (external(location="../outside.bin"), "leads out of the model's folder by '..'"),
    "external absolute": (external(location="FOLDER/outside.bin"), "is an absolute path"),
    "external link": (external(location="link.bin"), "goes through the symbolic link 'link.bin'"),
    "external parent link": (external(location="linked/w.bin"), "goes through the symbolic link 'linked'"),
    "external hard link": (external(location="hard.bin"), "is a hard link (2 names)"),
    "external pipe": (external(location="pipe"), "is not a regular file"),
    "external past the end": (external(location="w.bin", offset="60", length="16"), "bytes 60 to 76"),
    "external negative": (external(location="w.bin", offset="-4"), "external data offset '-4'"),
    "external too short": (external(location="w.bin", length="8"), "type and shape ask for 16 bytes"),
    "external nowhere": (external(offset="0"), "external data without a location"),
}

EXPANDING: dict[str, tuple[Maker, str]] = {
    "functions that double": (calling(30, "q = Relu (p)", TWICE), "expand to 536870912 nodes"),
    "functions in branches": (calling(30, "q = Relu (p)", BRANCHES), "nodes, and at most 250000 are made"),
    "without measure": (calling(300, "q = Relu (p)", TWICE), "expand to over 1000000000000000 nodes"),
    "deep": (
        calling(40, "q = Relu (p)", WITHIN),
        "expand to 39 graphs within graphs, and at most 30 are made",
    ),
}
"""What is small in its file and is not when its functions are inlined."""

REFUSED: dict[str, tuple[Maker, str]] = {
    "operator": (graph(node("Sin", "x", "a", "s1"), node("Cos", "a", "y", "c1")), "s1 (Sin): "),
    "unknown operator": (
        graph(node("Rellu", "x", "y", "act")),
        "act: no operator 'Rellu' in domain 'ai.onnx'; did you mean 'Relu'?",
    ),
    "unknown domain": (
        graph(helper.make_node("Foo", ["x"], ["y"], "foo1", domain="my.domain")),
        "foo1: no operator 'Foo' in domain 'my.domain'; load a plug-in that has it (--plugin FILE)",
    ),
    "operator of another domain": (
        graph(helper.make_node("BiasGelu", ["x", "x"], ["y"], "g1", domain="my.domain")),
        "g1: no operator 'BiasGelu' in domain 'my.domain'; 'com.microsoft' has 'BiasGelu'",
    ),
    "dilation": (
        conv((4, 4, 1, 2), dilations=[1, 33], pads=[0, 31, 0, 31]),
        "conv1 (Conv): dilations [1, 33] (the core takes up to 32)",
    ),
    "batch": (lambda folder: saved(folder, [node("Relu", "x", "y", "act")], shape=(4096, 4, 8, 8)), "16384"),
    "dynamic": (
        lambda folder: saved(folder, [node("Relu", "x", "y", "act")], shape=("N", 4, 8, 8)),
        "fix the shapes of the model's inputs, such as --input-shape x:1,4,8,8",
    ),
    "shapes": (
        conv((4, 5, 1, 1)),
        "conv1: Conv: Channel In (C) of input must be equal 2nd dim of weights times g",
    ),
}


def outputs(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.name.startswith(("out.", ".out.", ".model"))}


@pytest.mark.parametrize("name", [*UNREADABLE, *REFUSED])
def test_compile(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    make, message = (UNREADABLE | REFUSED)[name]
    model = make(tmp_path)
    assert driver.main(["compile", str(model), "-o", str(tmp_path / "out.nvdla")]) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""
    assert all(line.startswith("xonnc: ") for line in captured.err.splitlines())
    assert outputs(tmp_path) == set()


@pytest.mark.parametrize("name", EXPANDING)
@pytest.mark.parametrize("output", ["out.nvdla", "out.so"])
def test_expansion_is_bounded(name: str, output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    make, message = EXPANDING[name]
    model = make(tmp_path)
    assert driver.main(["compile", str(model), "-o", str(tmp_path / output)]) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert len(captured.err.splitlines()) == 1
    assert driver.main(["simplify", str(model), str(tmp_path / "same.onnx"), "-q"]) == 0


@pytest.mark.parametrize("name", UNREADABLE)
def test_translate(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    make, message = UNREADABLE[name]
    model = make(tmp_path)
    assert translate.main([str(model), "-o", str(tmp_path / "out.mlir")]) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert len(captured.err.splitlines()) == 1
    assert outputs(tmp_path) == set()


@pytest.mark.parametrize("output", ["out.nvdla", "out.xpkg"])
def test_all_operators_that_nothing_runs_are_named(
    output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    model = saved(
        tmp_path, [node("Rellu", "x", "a", "r1"), node("Sin", "a", "b", "s1"), node("Koss", "b", "y", "c1")]
    )
    assert driver.main(["compile", str(model), "-o", str(tmp_path / output)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "xonnc: r1: no operator 'Rellu' in domain 'ai.onnx'; did you mean 'Relu'?"
    assert lines[1].startswith("xonnc: c1: no operator 'Koss' in domain 'ai.onnx'; ")
    assert len(lines) == 2
    assert driver.main(["explain", str(model), "--package"]) == 1
    assert not (tmp_path / output).exists()


def test_operators_that_nothing_runs_stay_in_models(tmp_path: Path):
    model = saved(
        tmp_path,
        [node("Rellu", "x", "a", "r1"), node("Identity", "a", "b", "i1"), node("Abs", "b", "y", "a1")],
    )
    assert driver.main(["simplify", str(model), str(tmp_path / "simple.onnx"), "-q"]) == 0
    written = onnx.ModelProto.FromString((tmp_path / "simple.onnx").read_bytes())
    assert [each.op_type for each in written.graph.node] == ["Rellu", "Abs"]


def test_operators_of_onnxruntime_and_functions_are_run(tmp_path: Path):
    gelu = helper.make_node("BiasGelu", ["x", "w"], ["y"], "g1", domain="com.microsoft")
    weight = numpy_helper.from_array(np.ones(8, np.float32), "w")
    model = saved(tmp_path, [gelu], weights=[weight])
    assert driver.main(["compile", str(model), "-o", str(tmp_path / "out.xpkg"), "-q"]) == 0


def test_all_refusals_come_at_once_and_only_causes(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = saved(
        tmp_path, [node("Sin", "x", "a", "s1"), node("Relu", "a", "b", "r1"), node("Cos", "b", "y", "c1")]
    )
    assert driver.main(["compile", str(model), "--require-dla"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[1].strip() for line in lines] == ["s1 (Sin)", "c1 (Cos)"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @f( {", "error:"),
        ('"onnx.Relu"() : () -> ()', "error:"),
        ('%0 = "onnx.Nothing"() : () -> none', "onnx.Nothing"),
    ],
)
def test_opt(text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = tmp_path / "bad.mlir"
    source.write_text(text)
    assert opt.main([str(source), "-o", str(tmp_path / "out.mlir")]) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert outputs(tmp_path) == set()


def test_unknown_names_suggest(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert opt.main(["--constprop-onx", str(tmp_path / "a.mlir")]) == 2
    assert "did you mean 'constprop-onnx'?" in capsys.readouterr().err
    model = saved(tmp_path, [node("Relu", "x", "y", "act")])
    for command, message in (
        (["compile", str(model), "--target", "nv_ful"], "no target 'nv_ful'; did you mean 'nv_full'?"),
        (["run", str(model), "--target", "avx"], "no target 'avx'"),
        (["compile", str(model), "--stop-after", "onx"], "--stop-after onx: no such stage"),
        (["fuzz", "--level", "simplfy"], "--level simplfy: no such level"),
        (["targets", "nv_ful"], "no target 'nv_ful'"),
    ):
        assert driver.main(command) == 2
        assert message in capsys.readouterr().err
    assert driver.main(["targets", str(tmp_path / "none.toml")]) == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "no such file"),
        (b"", "the file is empty; it should be an NVDLA loadable"),
        (b"\x7fELF" + bytes(range(90)), "no NVDLA loadable: this is an ELF library or program"),
        (b"\xff" * 90, "the file is damaged or no NVDLA loadable"),
    ],
)
@pytest.mark.parametrize("command", ["simulate", "inspect"])
def test_loadables(
    data: bytes | None, message: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "bad.nvdla"
    if data is not None:
        path.write_bytes(data)
    assert driver.main([command, str(path)]) == 1
    assert message in capsys.readouterr().err


def test_an_output_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = saved(tmp_path, [node("Relu", "x", "y", "act")])
    assert driver.main(["compile", str(model), "-o", str(tmp_path / "no" / "out.nvdla")]) == 1
    assert "does not exist" in capsys.readouterr().err


def test_a_bug_of_ours_leaves_a_reproducer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("xonnc.packages.compile_package", broken)
    model = saved(tmp_path, [node("Relu", "x", "y", "act")])
    assert driver.main(["compile", str(model)]) == 3
    line = capsys.readouterr().err
    report = Path(line.rsplit(" ", 1)[1].strip())
    text = report.read_text()
    report.unlink()
    assert f"xonnc compile {model}" in text
    assert "ZeroDivisionError" in text


@pytest.mark.parametrize("value", ["99999999999999999999", "1e4000"])
def test_numbers_in_text_that_fit_no_type(value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "model.onnxtxt"
    text = f"g (float[2] x) => (float[2] y) {{ y = Elu <alpha = {value}> (x) }}"
    path.write_text(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    assert driver.main(["simplify", str(path), str(tmp_path / "out.onnx")]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith(f"xonnc: {path}: not ONNX text: ")
    assert len(captured.err.splitlines()) == 1
