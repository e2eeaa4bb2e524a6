"""Models that break rules are refused before anything is made of them, with all that is wrong at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from xonnc.errors import InvalidModelError, XonncError
from xonnc.native import compile_native
from xonnc.simplifier import simplify
from xonnc.tools.driver import main

HEAD = '<ir_version: 10, opset_import: ["": 21]>'

INVALID = {
    "unknown attribute": (
        "(float[2] x) => (float[2] y) { [n] y = Relu <slope: float = 1.0> (x) }",
        "n: Relu: unknown attribute 'slope'; the operator's are: none",
    ),
    "an attribute that became an input": (
        "(float[2,3] x) => (float[2,1] y) { [n] y = ReduceMean <axes: ints = [1]> (x) }",
        "n (ReduceMean): the operator has attribute 'axes' up to opset 17; the model's opset is 21",
    ),
    "no weights": (
        "(float[1,2,3,3] x) => (float[1,2,3,3] y) { [n] y = Conv (x) }",
        "n: Conv: input 'W' is missing; the operator requires it",
    ),
    "two element types": (
        "(float[3] x, int64[3] i) => (float[3] y) { [n] y = Add (x, i) }",
        "n: Add: input 'B' is int64, but input 'A' is float32; the operator needs one type for both",
    ),
    "two element types in a list": (
        "(float[3] x, int64[3] i) => (float[9] y) { [n] y = Concat <axis: int = 0> (x, x, i) }",
        "n: Concat: input 'inputs[2]' is int64, but input 'inputs[0]' is float32; "
        "the operator needs one type for both",
    ),
    "an empty list": (
        "(float[3] x) => (float[3] y) { [n] y = Concat <axis: int = 0> () }",
        "n: Concat: there are no inputs; the operator needs at least one",
    ),
    "another element type": (
        "(float[3] x) => (float[3] y) { [n] y = Gather (x, x) }",
        "n: Gather: input 'indices' is float32; the operator takes int32 or int64",
    ),
    "a string": (
        "(string[3] x) => (string[3] y) { [n] y = Relu (x) }",
        "n: Relu: input 'X' is string; the operator takes signed integers, bfloat16, float16, float32 "
        "or float64",
    ),
    "an output of another type": (
        "(float[3] x) => (int64[3] y) { [n] y = Relu (x) }",
        "n: Relu: output 'Y' is declared int64, but input 'X' is float32; "
        "the operator needs one type for both",
    ),
    "a result that cannot be": (
        "(float[3] x, float s) => (float[3] y) { [n] y = QuantizeLinear (x, s) }",
        "n: QuantizeLinear: output 'y' is declared float32; the operator gives 4-bit integers, "
        "2-bit integers, 8-bit floats, 6-bit floats, float4_e2m1fn, int8, int16, uint8 or uint16",
    ),
    "no sequence": (
        "(float[3] x, int64 i) => (float[3] y) { [n] y = SequenceAt (x, i) }",
        "n: SequenceAt: input 'input_sequence' is float32; the operator takes sequences",
    ),
    "a sequence": (
        "(seq(float[3]) x) => (seq(float[3]) y) { [n] y = Relu (x) }",
        "n: Relu: input 'X' is a sequence of float32; the operator takes signed integers, bfloat16, float16, "
        "float32 or float64",
    ),
    "a sequence of others": (
        "(seq(float[3]) x) => (float[3] y) { [n] y = SequenceErase (x, x) }",
        "n: SequenceErase: input 'position' is a sequence of float32; the operator takes int32 or int64",
    ),
    "a sequence that is not one of text": (
        "(seq(float[3]) x) => (seq(int64[3]) y) { [n] y = SequenceErase (x) }",
        "n: SequenceErase: output 'output_sequence' is declared a sequence of int64, "
        "but input 'input_sequence' is a sequence of float32; the operator needs one type for both",
    ),
    "a batch normalization": (
        "(float[1,2,3] x, int64[2] i) => (float[1,2,3] y) { [n] y = BatchNormalization (x, i, i, i, i) }",
        "n: BatchNormalization: input 'scale' is int64; the operator takes bfloat16, float16, float32 "
        "or float64",
    ),
    "a constant without a value": (
        "(float[3] x) => (float[3] y) { [n] y = Constant () }",
        "n: Constant: takes one value, found none",
    ),
    "too few scales": (
        "(int8[3,4] x, float[2] s) => (float[3,4] y) { [n] y = DequantizeLinear (x, s) }",
        "n: DequantizeLinear: x_scale and x_zero_point 1-D tensor length must match the input axis dim size: "
        "2 for 4",
    ),
    "too few updates": (
        "(float[4,3] x, int64[2,1] i, float[1,3] u) => (float[4,3] y) { [n] y = ScatterND (x, i, u) }",
        "n: ScatterND: operand 'updates' has dimension at index 0 with value 1, value should be 2",
    ),
    "a mode that there is not": (
        "(float[1,1,4,4] x, float[1,2,2,2] g) => (float[1,1,2,2] y) "
        '{ [n] y = GridSample <mode: string = "bilinear"> (x, g) }',
        "n: GridSample: mode needs to be linear, bilinear, trilinear, nearest or cubic; "
        "since opset 20 linear, nearest or cubic, not bilinear",
    ),
    "no heads": (
        "(float[1,4,8] x) => (float[1,4,8] y) "
        "{ [n] y = Attention <q_num_heads: int = 2, kv_num_heads: int = 0> (x, x, x) }",
        "n: Attention: K has 0 heads; there is at least 1",
    ),
}


def model(text: str) -> onnx.ModelProto:
    """The model that a text in ONNX's own syntax is."""
    head = HEAD.replace("21", "23") if "Attention" in text else HEAD
    return parser.parse_model(f"{head} g {text}")


def test_the_default_of_another_opset_is_accepted():
    norm = "BatchNormalization <spatial: int = 1> (x, s, s, s, s)"
    model = parser.parse_model(f"{HEAD} g (float[1,2,3] x, float[2] s) => (float[1,2,3] y) {{ y = {norm} }}")
    assert [node.op_type for node in simplify(model).proto().graph.node] == ["BatchNormalization"]


@pytest.mark.parametrize("case", INVALID)
def test_an_invalid_model_is_no_more_simplified_than_compiled(case: str):
    text, message = INVALID[case]
    with pytest.raises(InvalidModelError) as found:
        simplify(model(text))
    assert found.value.reasons == [f"model: {message}"]
    with pytest.raises(InvalidModelError):
        compile_native(model(text), cache=False)


def test_older_versions_need_the_inputs_that_newer_ones_leave_out():
    body = "b (int64 i, bool c) => (bool d, float[2] s) { d = Identity(c) s = Neg(x) }"
    nodes = f"[g] y = Gemm(w, w) [l] z = Loop <body = {body}> (n, c)"
    text = f"(float[2] x, float[2,2] w, int64 n, bool c) => (float[2,2] y, float[k,2] z) {{ {nodes} }}"
    newer = parser.parse_model(f"{HEAD.replace('21', '11')} g {text}")
    assert [node.op_type for node in simplify(newer).proto().graph.node] == ["Gemm", "Loop"]
    with pytest.raises(InvalidModelError) as found:
        simplify(parser.parse_model(f"{HEAD.replace('21', '10')} g {text}"))
    few = "there are 2 inputs; the operator needs at least 3"
    assert found.value.reasons == [f"model: g (Gemm): {few}", f"model: l (Loop): {few}"]


def test_everything_that_is_wrong_is_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text = (
        "(float[1,3,8,8] x, float[4,2,3,3] w) => (float y) {"
        ' [a] c = Conv <group: int = 0> (x, w)\n [b] d = Pad <mode: string = "mirror"> (c, p)\n'
        " [c] y = Softmax <axis: int = 0> (d)\n [d] z = Relu <no: int = 1> (x) }"
    ).replace("(c, p)", "(c, x)")
    path = tmp_path / "m.onnx"
    path.write_bytes(model(text).SerializeToString())
    assert main(["simplify", str(path), str(tmp_path / "s.onnx"), "-q"]) == 1
    told = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[2] for line in told] == ["a", "b", "d"]
    assert not (tmp_path / "s.onnx").exists()


def test_what_follows_from_a_wrong_op_is_not_looked_at():
    """`Cast` without `to` says nothing of the integers that `Where` reads."""
    text = (
        "(int64[2] x, bool[2] c) => (float[?] y) {"
        " [a] s = Cast (x)\n [b] t = Where (c, s, x)\n [d] y = ConstantOfShape (t) }"
    )
    with pytest.raises(XonncError, match=r"a \(Cast\): attribute 'to' is missing; the operator requires it"):
        simplify(model(text))


def test_shapes_that_are_fed_are_held_to_the_rules_too():
    text = "(int8[N,M] x, float[K] s) => (float[N,M] y) { [n] y = DequantizeLinear (x, s) }"
    session = compile_native(model(text), cache=False)
    feeds = {"x": np.zeros((3, 4), np.int8), "s": np.ones(2, np.float32)}
    with pytest.raises(
        InvalidModelError, match=r"n: DequantizeLinear: .*must match the input axis dim size: 2 for 4"
    ):
        session.run(None, feeds)
    feeds["s"] = np.ones(4, np.float32)
    (y,) = session.run(None, feeds)
    assert np.asarray(y).shape == (3, 4)
