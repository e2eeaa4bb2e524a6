"""Multiplications of nodes, counted by hand."""

from __future__ import annotations

import onnx.parser
import pytest

from xonnc.dialects.onnx.multiplications import multiplications_by_node
from xonnc.simplifier import simplify

HEADER = """<ir_version: 9, opset_import: ["" : 17]>
g (float[{x}] x{more}) => (float[] y) {{ [n] y{rest} = {node} }}"""


def count(node: str, x: str, more: str = "", rest: str = "") -> dict[str, int]:
    text = HEADER.format(x=x, more=more, node=node, rest=rest)
    return multiplications_by_node(simplify(onnx.parser.parse_model(text), level=0).module)


@pytest.mark.parametrize(
    ("node", "x", "more", "expected"),
    [
        ("Conv <pads = [1, 1, 1, 1]> (x, w)", "2,4,5,5", ", float[6,4,3,3] w", 2 * 6 * 25 * 4 * 9),
        ("Conv <group = 2> (x, w)", "1,4,5,5", ", float[6,2,3,3] w", 6 * 9 * 2 * 9),
        ("ConvTranspose <strides = [2, 2]> (x, w)", "1,4,5,5", ", float[4,6,2,2] w", 4 * 25 * 6 * 4),
        ("MatMul (x, w)", "3,4,5", ", float[5,6] w", 3 * 4 * 6 * 5),
        ("MatMul (x, w)", "5", ", float[5] w", 5),
        ("Gemm (x, w)", "4,5", ", float[5,6] w", 4 * 6 * 5),
        ("Gemm <transA = 1> (x, w)", "5,4", ", float[5,6] w", 4 * 6 * 5),
        ("MatMul (x, w)", "0,5", ", float[5,6] w", 0),
        ("MatMul (x, w)", "n,5", ", float[5,6] w", 0),
        ("Add (x, w)", "3,4,5", ", float[5] w", 0),
    ],
)
def test_products_are_counted(node: str, x: str, more: str, expected: int) -> None:
    assert count(node, x, more) == ({"n": expected} if expected else {})


def test_recurrent_networks_multiply_in_each_step_and_direction() -> None:
    more = ", float[2,12,5] w, float[2,12,3] r"
    node = 'LSTM <hidden_size = 3, direction = "bidirectional"> (x, w, r)'
    assert count(node, "7,4,5", more) == {"n": 7 * 4 * 2 * 12 * (5 + 3)}
    assert count("RNN <hidden_size = 3> (x, w, r)", "n,4,5", ", float[1,3,5] w, float[1,3,3] r") == {}


def test_integer_products_are_counted() -> None:
    text = """<ir_version: 9, opset_import: ["" : 17]>
    g (uint8[3,5] x, int8[5,6] w, uint8[1,2,4,4] i, int8[3,2,3,3] f) => (int32[] y, int32[] z)
    { [a] y = MatMulInteger (x, w)
      [b] z = ConvInteger (i, f) }"""
    found = multiplications_by_node(simplify(onnx.parser.parse_model(text), level=0).module)
    assert found == {"a": 3 * 6 * 5, "b": 3 * 4 * 2 * 9}
