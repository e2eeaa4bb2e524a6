"""The model checker: everything that is wrong with a model, with the names of its nodes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from onnx import parser

from xonnc.formats.onnx import import_diagnostics
from xonnc.formats.onnx.light_models import light_model
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
        "scale",
        "DequantizeLinear",
        "scale: DequantizeLinear: x_scale and x_zero_point 1-D tensor length must match the input axis dim "
        "size: 2 for 4",
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
    assert problem.message == "n (Add): input 'nowhere' is made by no node, input or initializer"


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


FUNCTION_HEAD = '<ir_version: 10, opset_import: ["": 21, "l": 1]> g '

FAULTY = {
    "main graph": (
        """(float[2] x, float[1,3,8,8] i) => (float[2] y, float[2] z) <float[2] w = {1, 2}> {
            [sum] a = Add (x, nowhere)
            [after] b = Mul (a, w)
            [kinds] c = LeakyRelu <alpha = "a", beta: int = 1> (x, x)
            [cast] d = Cast <to = 77> (c)
            [reader] e = Relu <slope: float = 0.5> (d)
            [conv] f = Conv <group: int = 0> (i, i)
            [again] a = Neg (w)
            [second] h = Sub (nowhere, w)
            [ranks] r = Concat <axis: int = 0> (i, x)
            [other] o = MatMul (i, w)
            [left] y = Add (x, z)
            [right] z = Abs (y) }""",
        [
            "the graph has a cycle: right -> left -> right",
            "sum (Add): input 'nowhere' is made by no node, input or initializer",
            "kinds (LeakyRelu): 2 inputs where the operator takes at most 1",
            "kinds (LeakyRelu): attribute 'alpha' is of kind STRING; the operator takes FLOAT",
            "cast (Cast): attribute 'to': 77 is not an element type, 1 to 28",
            "again (Neg): value 'a' is defined twice; names of values must be unique",
            "reader: Relu: unknown attribute 'slope'; the operator's are: none",
            "conv: Conv: group must be strictly positive",
            "ranks: Concat: operand 'inputs[1]' has rank 1, rank should be 4",
            "other: MatMul: reduction dimension mu",
        ],
    ),
    "subgraphs": (
        """(bool c, float[2] x, float[3] v) => (float[2] y, float[2] z) {
            [choice] t = If (c) <
                then_branch = t () => (float[2] p) { [in] q = LeakyRelu <alpha = "a"> (x) },
                else_branch = e () => (float[2] p) {
                    [deep] p0 = Add (x, nope)
                    [abs] p = Abs <k: int = 2> (p0) }>
            [loop] y = Loop (, c, t) <body = b (int64 n, bool go, float[2] s) => (bool stop, float[2] r) {
                stop = Identity (go)
                [no_to] k = Cast (s)
                [fits] f = Add (x, v)
                [state] r = Relu <k: int = 3> (s) }>
            [half] z = If (c) <then_branch = h () => (float[2] p) { p = Abs (x) }> }""",
        [
            "in (LeakyRelu): attribute 'alpha' is of kind STRING; the operator takes FLOAT",
            "choice (If): then_branch: output 'p' is made by no node, input or initializer",
            "deep (Add): input 'nope' is made by no node, input or initializer",
            "no_to (Cast): attribute 'to' is missing; the operator requires it",
            "half (If): attribute 'else_branch' is missing; it must be a graph",
            "abs: Abs: unknown attribute 'k'; the operator's are: none",
            "fits: ",
            "state: Relu: unknown attribute 'k'; the operator's are: none",
        ],
    ),
    "functions": (
        """(float[2] x, float[3] v) => (float[2] y) {
            [call] s = l.f (x, v)
            [scaled] t = l.scaled <a = 0.5> (s)
            [end] y = Add (t, none) }
        <domain: "l", opset_import: ["" : 21]> f (p, q) => (r) {
            [fits] a = Add (p, q)
            [bad] b = LeakyRelu <alpha = "a"> (p)
            [slope] c = Relu <slope: float = 0.5> (p)
            r = Sum (a, b, c) }
        <domain: "l", opset_import: ["" : 21]> scaled <a> (p) => (r) {
            [ref] b = LeakyRelu <alpha: float = @a> (p)
            [lost] r = Mul (b, gone) }""",
        [
            "end (Add): input 'none' is made by no node, input or initializer",
            "function f: bad (LeakyRelu): attribute 'alpha' is of kind STRING; the operator takes FLOAT",
            "function f: fits: ",
            "function f: slope: Relu: unknown attribute 'slope'; the operator's are: none",
            "function scaled: lost (Mul): input 'gone' is made by no node, input or initializer",
        ],
    ),
}


@pytest.mark.parametrize("case", FAULTY)
def test_reading_goes_on_after_a_fault(case: str):
    text, expected = FAULTY[case]
    told = [problem.message for problem in check_model(parser.parse_model(FUNCTION_HEAD + text))]
    assert [found[: len(message)] for found, message in zip(told, expected, strict=True)] == expected


def test_functions_of_functions_and_of_several_types_are_valid():
    text = """(float[2] x, int32[2] k) => (float[2] y, int32[2] z) {
            y = l.outer (x)
            z = l.inner (k)
            w = l.inner (x) }
        <domain: "l", opset_import: ["" : 21, "l" : 1]> outer (p) => (q) { r = l.deep (p)  q = l.inner (r) }
        <domain: "l", opset_import: ["" : 21]> inner (p) => (q) { q = Abs (p) }
        <domain: "l", opset_import: ["" : 21]> deep (p) => (q) { q = Relu (p) }"""
    assert check_model(parser.parse_model(FUNCTION_HEAD + text)) == []


def test_other_commands_tell_the_first_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "faulty.onnx"
    path.write_bytes(parser.parse_model(FUNCTION_HEAD + FAULTY["main graph"][0]).SerializeToString())
    for arguments in (
        ["simplify", str(path), str(tmp_path / "o.onnx")],
        ["compile", str(path), "-o", "x.so"],
    ):
        assert main(arguments) == 1
        told = capsys.readouterr().err.splitlines()
        assert told[:5] == [f"xonnc: {path}: {line}" for line in FAULTY["main graph"][1][:5]]
        assert told[5:] == ["xonnc: and 1 more; 'xonnc check' lists them"]
    assert list(tmp_path.iterdir()) == [path]


def test_faults_past_a_limit_are_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(import_diagnostics, "MAX_DIAGNOSTICS", 2)
    problems = check_model(parser.parse_model(FUNCTION_HEAD + FAULTY["main graph"][0]))
    assert problems[2] == Problem("", "", "and 4 more that cannot be read")


def test_a_node_that_cannot_be_read_is_named():
    problems = check_model(parser.parse_model(FUNCTION_HEAD + FAULTY["main graph"][0]))
    assert [(each.node, each.operator) for each in problems[:3]] == [
        ("", ""),
        ("sum", "Add"),
        ("kinds", "LeakyRelu"),
    ]


def test_an_operator_that_the_standard_does_not_have() -> None:
    text = (
        '<ir_version: 8, opset_import: ["": 17, "own": 1]> m (float[2] x) => (float[2] y)'
        "{ a = Relux (x) y = own.Thing (a) }"
    )
    (problem,) = check_model(parser.parse_model(text))
    assert problem.operator == "Relux"
    assert str(problem) == "a: no operator 'Relux' in domain 'ai.onnx'; did you mean 'Relu'?"


def test_errors_of_the_onnx_packages_inference_are_problems_too() -> None:
    """Of an operator without a shape function of ours; what else is wrong is told as well."""
    body = """(float[2,5,1] x) => (float[] y, float[] z) <int64 a = {9}, int64 n = {5}>
        { y = DFT(x, n, a)  z = Relu <slope = 0.5> (x) }"""
    found = [str(each) for each in check_model(parser.parse_model(HEAD + body))]
    assert found[0].startswith("y: DFT: axis attribute value 9 is invalid for a tensor of rank 3")
    assert found[1:] == ["z: Relu: unknown attribute 'slope'; the operator's are: none"]
