"""Pad of the reference evaluator equals onnxruntime for negative pads too."""

import numpy as np
import onnx.parser
import pytest

import xonnc
from xonnc.errors import XonncError
from xonnc.formats.onnx.reference_evaluator import reference_of
from xonnc.runtime.verification.reference_engines import Engine
from xonnc.runtime.verification.trial_inputs import Array

HEAD = '<ir_version: 8, opset_import: ["" : {}]> g '
PADS = [(0, 0), (2, 1), (-1, 2), (2, -1), (-1, -2), (-2, 3), (2, -3)]


def padded(model: onnx.ModelProto, **feeds: Array) -> Array:
    """What the evaluator gives, after a comparison with onnxruntime."""
    found = np.asarray(reference_of(model)(feeds)[0])
    np.testing.assert_array_equal(found, Engine(model).run(feeds)["y"], strict=True)
    return found


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
@pytest.mark.parametrize("opset", [8, 11, 18, 19])
def test_pads_of_either_sign(opset: int, mode: str) -> None:
    if mode == "wrap" and opset < 19:
        return
    x = np.arange(24, dtype=np.float32).reshape(6, 4)
    for begin, end in PADS:
        if opset == 8:
            text = f"""(float[6,4] x) => (float[?,?] y)
                {{ y = Pad <pads = [{begin},0,{end},1], mode = "{mode}"> (x) }}"""
        else:
            text = f"""(float[6,4] x) => (float[?,?] y) <int64[4] p = {{{begin},0,{end},1}}>
                {{ y = Pad <mode = "{mode}"> (x, p) }}"""
        padded(onnx.parser.parse_model(HEAD.format(opset) + text), x=x)


def test_a_constant_and_axes() -> None:
    text = """(int32[2,5] x, int32 c) => (int32[?,?] y) <int64[2] p = {-1, 2}, int64[1] axes = {-1}>
        { y = Pad (x, p, c, axes) }"""
    x = np.arange(10, dtype=np.int32).reshape(2, 5)
    found = padded(onnx.parser.parse_model(HEAD.format(18) + text), x=x, c=np.array(9, np.int32))
    assert found.tolist() == [[1, 2, 3, 4, 9, 9], [6, 7, 8, 9, 9, 9]]


def test_pads_that_remove_more_than_there_is() -> None:
    text = "(float[n] x) => (float[?] y) <int64[2] p = {-3, 4}> { y = Pad (x, p) }"
    model = onnx.parser.parse_model(HEAD.format(18) + text)
    assert padded(model, x=np.ones(1, np.float32)).tolist() == [0, 0]
    assert padded(model, x=np.ones(0, np.float32)).tolist() == [0]


def test_no_element_to_repeat_is_an_error() -> None:
    text = '(float[2] x) => (float[?] y) <int64[2] p = {-2, 1}> { y = Pad <mode = "edge"> (x, p) }'
    with pytest.raises(XonncError, match="can't extend empty axis"):
        reference_of(onnx.parser.parse_model(HEAD.format(18) + text))({"x": np.ones(2, np.float32)})


def test_negative_pads_of_a_size_known_at_run_time_only() -> None:
    """The evaluator computes Pad of a dimension that follows from data."""
    text = """(int64 n, float x) => (float[?] y) <int64[2] p = {-1, 1}> {
        last, rows = Loop (n, "", x) <body = b (int64 i, bool was, float v) => (bool on, float w, float row)
            { on = Identity (was)  w = Identity (v)  row = Identity (v) }>
        y = Pad (rows, p)
    }"""
    session = xonnc.compile(onnx.parser.parse_model(HEAD.format(18) + text), cache=False)
    for count in (1, 3):
        found = session.run(None, {"n": np.array(count), "x": np.array(7, np.float32)})[0]
        assert np.asarray(found).tolist() == [7] * (count - 1) + [0]
