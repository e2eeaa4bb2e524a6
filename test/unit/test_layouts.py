"""Inputs and outputs in another layout, with no more transposes than are needed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper, parser

from xonnc import compile as compile_session
from xonnc import compile_artifact, simplify
from xonnc.errors import XonncError
from xonnc.tools.driver import main

CHANNELS_FIRST = """<ir_version: 8, opset_import: ["" : 17]>
    first (float[N, 3, 9, 9] x, float[N, 8, 9, 9] z) => (float[N, 8, 9, 9] y, float[N, 8] p) {
        c = Conv <pads = [1, 1, 1, 1]> (x, w)
        s = Sigmoid (c)
        m = Mul (c, s)
        y = Add (m, z)
        g = GlobalAveragePool (y)
        p = Flatten (g)
    }"""

CHANNELS_LAST = """<ir_version: 8, opset_import: ["" : 17]>
    last (float[1, 9, 9, 3] x) => (float[1, 9, 9, 8] y) {
        t = Transpose <perm = [0, 3, 1, 2]> (x)
        c = Conv <pads = [1, 1, 1, 1]> (t, w)
        r = Relu (c)
        y = Transpose <perm = [0, 2, 3, 1]> (r)
    }"""

TO_LAST = (0, 2, 3, 1)
TO_FIRST = (0, 3, 1, 2)


def model_of(text: str) -> onnx.ModelProto:
    model = parser.parse_model(text)
    weights = np.random.default_rng(2).normal(size=(8, 3, 3, 3)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    return model


def floats(*shape: int) -> npt.NDArray[np.float32]:
    found = np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)
    found.reshape(-1)[:2] = 0, -1
    return found


def transposes(model: onnx.ModelProto, layouts: Mapping[str, str], level: int = 2) -> int:
    graph = simplify(model, layouts=layouts, level=level).proto().graph
    return [node.op_type for node in graph.node].count("Transpose")


def assert_close(found: object, expected: object) -> None:
    np.testing.assert_allclose(
        np.asarray(found, np.float64), np.asarray(expected, np.float64), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("level", [0, 1, 2, 3])
@pytest.mark.parametrize("images", [2, 0])
def test_a_session_takes_and_gives_other_layouts(level: int, images: int):
    model = model_of(CHANNELS_FIRST)
    x, z = floats(2, 3, 9, 9)[:images], floats(2, 8, 9, 9)[:images]
    expected = compile_session(model).run(None, {"x": x, "z": z})
    layouts = {"x": "NHWC", "y": "NHWC"}
    session = compile_session(model, layouts=layouts, level=level)
    assert session.inputs[0].shape == (None, 9, 9, 3)
    y, p = session.run(None, {"x": x.transpose(TO_LAST), "z": z})
    assert_close(y, np.asarray(expected[0]).transpose(TO_LAST))
    assert_close(p, expected[1])


def test_one_transpose_for_each_that_is_needed():
    model = model_of(CHANNELS_FIRST)
    assert transposes(model, {}) == 0
    assert transposes(model, {"x": "NHWC"}) == 1
    assert transposes(model, {"x": "NHWC", "y": "NHWC"}) == 2
    assert transposes(model, {"x": "NCHW"}) == 0
    assert transposes(model, {"y": "NHWC"}, level=0) == 1


def test_a_model_in_the_other_layout_loses_its_transposes():
    model = model_of(CHANNELS_LAST)
    assert transposes(model, {}) == 2
    assert transposes(model, {"x": "NCHW"}) == 1
    assert transposes(model, {"x": "NCHW", "y": "NCHW"}) == 0
    # What the model has already.
    assert transposes(model, {"x": "NHWC", "y": "NHWC"}) == 2
    x = floats(1, 3, 9, 9)
    (expected,) = compile_session(model).run(None, {"x": x.transpose(TO_LAST)})
    for layouts in ({"x": "NCHW", "y": "NCHW"}, {"x": "NHWC:NCHW", "y": "NHWC:NCHW"}):
        (found,) = compile_session(model, layouts=layouts).run(None, {"x": x})
        assert_close(found, np.asarray(expected).transpose(TO_FIRST))


def test_transposes_stay_where_their_pass_is_off():
    model = model_of(CHANNELS_LAST)
    disabled = ["move-transposes-onnx", "canonicalize-onnx"]
    graph = simplify(model, layouts={"x": "NCHW"}, disable_pass=disabled).proto().graph
    assert [node.op_type for node in graph.node].count("Transpose") == 3


def test_names_of_dimensions_move():
    graph = simplify(model_of(CHANNELS_FIRST), layouts={"x": "NHWC", "y": "NHWC"}).proto().graph
    shapes = {
        info.name: [size.dim_param or size.dim_value for size in info.type.tensor_type.shape.dim]
        for info in (*graph.input, *graph.output)
    }
    assert shapes["x"] == ["N", 9, 9, 3]
    assert shapes["y"] == ["N", 9, 9, 8]


@pytest.mark.parametrize(
    ("sizes", "own", "expected"), [([2, 3, 4], "NCW", "NWC"), ([2, 3, 4, 5, 6], "NCDHW", "NDHWC")]
)
def test_other_ranks(sizes: list[int], own: str, expected: str):
    shape = ", ".join(map(str, sizes))
    model = parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> g (float[{shape}] x) => (float[{shape}] y)'
        "{ y = Relu (x) }"
    )
    perm = [own.index(letter) for letter in expected]
    x = floats(*sizes)
    (found,) = compile_session(model, layouts={"x": expected, "y": expected}).run(
        None, {"x": x.transpose(perm)}
    )
    assert_close(found, np.maximum(x, 0).transpose(perm))
    assert transposes(model, {"x": expected, "y": expected}) == 0


@pytest.mark.parametrize(
    ("layouts", "said"),
    [
        ({"xx": "NHWC"}, "layout xx:NHWC: no input or output 'xx'; there are x, z, y, p"),
        ({"x": "NHC"}, "layout x:NHC: NHC has 3 axes, 'x' has 4"),
        ({"x": "NHHC"}, "layout x:NHHC: NHHC does not have the axes of NCHW, each once"),
        ({"x": "ABCD"}, "layout x:ABCD: ABCD does not have the axes of NCHW, each once"),
        ({"p": "CN"}, "layout p:CN: give the layout of the model too, as in p:CN:NC"),
    ],
)
def test_layouts_that_do_not_fit(layouts: Mapping[str, str], said: str, tmp_path: Path):
    model = model_of(CHANNELS_FIRST)
    for make in (
        lambda: simplify(model, layouts=layouts),
        lambda: compile_session(model, layouts=layouts),
        lambda: compile_artifact(model, tmp_path / "net.so", layouts=layouts),
    ):
        with pytest.raises(XonncError, match=said):
            make()
    assert not list(tmp_path.iterdir())


def test_inputs_without_a_layout():
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float x) => (float y) { y = Relu (x) }'
    model = parser.parse_model(text)
    model.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(XonncError, match="input 'x': it has no layout, since its rank is not known"):
        simplify(model, layouts={"x": "NHWC"})
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2, 2] x) => (float[2, 2] y)'
        "<float[2, 2] x = {1, 2, 3, 4}> { y = Relu (x) }"
    )
    with pytest.raises(XonncError, match="layout x:CN:NC: 'x' has an initializer; fold it"):
        simplify(model, layouts={"x": "CN:NC"})


def test_the_cache_tells_layouts_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XONNC_CACHE", str(tmp_path))
    model = model_of(CHANNELS_LAST)
    assert compile_session(model).inputs[0].shape == (1, 9, 9, 3)
    assert compile_session(model, layouts={"x": "NCHW"}).inputs[0].shape == (1, 3, 9, 9)


def saved(text: str, path: Path) -> Path:
    path.write_bytes(model_of(text).SerializeToString())
    return path


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path, output = saved(CHANNELS_FIRST, tmp_path / "m.onnx"), tmp_path / "net.ll"
    arguments = ["compile", str(path), "-o", str(output), "--layout", "x:NHWC", "--layout", "y:NCHW:NHWC"]
    assert main(arguments) == 0
    assert "x:NHWC, y:NCHW:NHWC (2 transposes in the model)" in capsys.readouterr().out
    assert "input 0: x, float32 [?, 9, 9, 3]" in (tmp_path / "net.h").read_text()
    assert main([*arguments, "--json", "--input-shape", "x:1,9,9,3"]) == 0
    assert json.loads(capsys.readouterr().out)["operators"]["Transpose"] == 2
    assert main(["simplify", str(path), str(tmp_path / "s.onnx"), "--layout", "x:NHWC", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["after"]["operators"]["Transpose"] == 1


@pytest.mark.parametrize("text", ["NHWC", ":NHWC", "x:", "x:nhwc", "x=NHWC"])
def test_what_is_no_layout(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = saved(CHANNELS_FIRST, tmp_path / "m.onnx")
    with pytest.raises(SystemExit) as stopped:
        main(["compile", str(path), "-o", str(tmp_path / "net.ll"), "--layout", text])
    assert stopped.value.code == 2
    assert f"layout '{text}' must be NAME:LAYOUT, such as x:NHWC" in capsys.readouterr().err


def test_layouts_are_for_native_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = saved(CHANNELS_FIRST, tmp_path / "m.onnx")
    assert main(["compile", str(path), "--layout", "x:NHWC"]) == 1
    assert "--layout is for native code" in capsys.readouterr().err
