"""The model checker: everything that is wrong with a model, with the names of its nodes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from onnx import parser

from xonnc.formats.onnx.light import light_model
from xonnc.model_check import Problem, check_model
from xonnc.tools.driver import main

HEAD = '<ir_version: 10, opset_import: ["": 21]> g '

WRONG = """(float[1,3,8,8] x, float[4,2,3,3] w, int8[3,4] q, float[2] s) => (float y, float z) {
    [conv] a = Conv <group: int = 0> (x, w)
    [soft] y = Softmax <axis: int = 1> (a)
    [relu] b = Relu <slope: float = 0.5> (x)
    [scale] z = DequantizeLinear (q, s) }"""

PROBLEMS = [
    Problem("conv", "Conv", "conv: Conv: group must be strictly positive"),
    Problem("relu", "Relu", "relu: Relu: unknown attribute 'slope'; the operator's are: none"),
    Problem(
        "scale", "DequantizeLinear", "scale: DequantizeLinear: x_scale has 2 elements for the 4 of axis 1"
    ),
]


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "wrong.onnx"
    path.write_bytes(parser.parse_model(HEAD + WRONG).SerializeToString())
    return path


def test_everything_that_is_wrong_is_found(wrong: Path):
    assert check_model(wrong) == PROBLEMS


def test_a_valid_model_has_no_problems():
    assert check_model(light_model("squeezenet")) == []


def test_what_cannot_be_read_is_a_problem_too():
    model = parser.parse_model(HEAD + "(float[2] x) => (float[2] y) { [n] y = Add (x, nowhere) }")
    (problem,) = check_model(model)
    assert problem.message == "n: input 'nowhere' is made by no node, input or initializer"


def test_the_command_tells_all_and_exits_1(wrong: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["check", str(wrong)]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [f"xonnc: {wrong}: {problem}" for problem in PROBLEMS]
    assert main(["check", str(wrong), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [each["node"] for each in found["problems"]] == ["conv", "relu", "scale"]


def test_the_command_says_so_if_nothing_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "right.onnx"
    model = parser.parse_model(HEAD + "(float[2] x) => (float[2] y) { y = Relu (x) }")
    path.write_bytes(model.SerializeToString())
    assert main(["check", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}   nothing is wrong\n"
