"""The reference evaluator computes old operator versions that the onnx package has no class for."""

import numpy as np
import onnx.parser
import pytest

import xonnc
from xonnc.formats.onnx.reference_evaluator import reference_of

HEAD = '<ir_version: 8, opset_import: ["" : {}]> graph '


@pytest.mark.parametrize(
    ("opset", "attributes", "scales", "zero_points", "expected"),
    [
        (10, "", np.float32(2), np.uint8(1), [[0, 2], [4, 6]]),
        (13, "<axis=0>", np.array([2, 0.5], np.float32), np.array([1, 3], np.uint8), [[0, 2], [0, 0.5]]),
        (18, "<axis=1>", np.array([2, 0.5], np.float32), np.array([1, 3], np.uint8), [[0, -0.5], [4, 0.5]]),
    ],
)
def test_dequantize_linear(
    opset: int, attributes: str, scales: object, zero_points: object, expected: object
) -> None:
    shape = "[2]" if attributes else ""
    text = (
        f"(uint8[2, 2] x, float{shape} scale, uint8{shape} zero) => (float[2, 2] y) "
        f"{{ y = DequantizeLinear {attributes} (x, scale, zero) }}"
    )
    model = onnx.parser.parse_model(HEAD.format(opset) + text)
    feeds = {"x": np.array([[1, 2], [3, 4]], np.uint8), "scale": scales, "zero": zero_points}
    np.testing.assert_array_equal(reference_of(model)(feeds)[0], np.array(expected, np.float32))


@pytest.mark.parametrize("opset", [9, 10])
def test_scatter(opset: int) -> None:
    text = "(float[3] x, int64[2] i, float[2] u) => (float[3] y) { y = Scatter (x, i, u) }"
    model = onnx.parser.parse_model(HEAD.format(opset) + text)
    feeds = {"x": np.zeros(3, np.float32), "i": np.array([2, 0]), "u": np.array([5, 6], np.float32)}
    np.testing.assert_array_equal(reference_of(model)(feeds)[0], np.array([6, 0, 5], np.float32))


def test_unknown_rank_in_native_code() -> None:
    """A tensor that comes out of a sequence has a rank only at run time: it is dequantized on the host."""
    text = """(float[1, 2] x, int64 at) => (float[?, ?] y)
        <float[2, 2] other = {0, 0, 0, 0}, float[2] scale = {0.5, 0.03125}>
        {
           both = SequenceConstruct (x, other)
           one = SequenceAt (both, at)
           q = QuantizeLinear (one, scale)
           y = DequantizeLinear (q, scale)
        }"""
    model = onnx.parser.parse_model(HEAD.format(18) + text)
    feeds = {"x": np.array([[3.2, -1]], np.float32), "at": np.array(0)}
    np.testing.assert_array_equal(
        xonnc.compile(model, cache=False).run(None, feeds)[0], np.array([[3, 0]], np.float32)
    )
