"""Zeros are dropped or distributed only where nothing shows the sign of a zero: -0 + 0 = +0."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

import xonnc
from xonnc.verification_models import open_proto

SEEN = "y = Reciprocal (a)"
UNSEEN = "y = Sigmoid (a)"
SCALED = "k = Constant <value_float = 1.5> () p = Mul (x, k) q = Add (p, k) a = Mul (q, z)"


def operators(body: str, zero: str) -> list[str]:
    """The operators after simplification, which must not change the outputs."""
    signature = f"(float[3] x) => (float[3] y) <float z = {{{zero}}}>"
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> m {signature} {{ {body} }}')
    made = xonnc.simplify(model).proto()
    feeds = {"x": np.array([-0.0, 0.0, -2.0]).astype(np.float32)}
    for one, other in zip(open_proto(model).run(feeds), open_proto(made).run(feeds), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    return [node.op_type for node in made.graph.node]


@pytest.mark.parametrize(
    ("body", "zero", "expected"),
    [
        (f"a = Add (x, z) {SEEN}", "0", ["Add", "Reciprocal"]),
        (f"a = Add (x, z) {SEEN}", "-0.0", ["Reciprocal"]),
        (f"a = Sub (x, z) {SEEN}", "0", ["Reciprocal"]),
        (f"a = Sub (x, z) {SEEN}", "-0.0", ["Add", "Reciprocal"]),
        (f"a = Add (x, z) {UNSEEN}", "0", ["Sigmoid"]),
        ("a = Add (x, z) b = Neg (a) y = Div (x, b)", "0", ["Add", "Neg", "Div"]),
        ("a = Add (x, z) b = Exp (a) y = Div (x, b)", "0", ["Exp", "Div"]),
        (
            "a = Add (x, z) k = Constant <value_float = 1.0> () b = Add (a, k) y = Reciprocal (b)",
            "0",
            ["Add", "Reciprocal"],
        ),
        (
            "a = Add (x, z) k = Constant <value_float = 1.0> () b = Sub (k, a) y = Reciprocal (b)",
            "0",
            ["Sub", "Reciprocal"],
        ),
        ("a = Add (x, z) y = Div (a, x)", "0", ["Div"]),
        ("y = Add (x, z)", "0", ["Identity"]),
        (f"{SCALED} {SEEN}", "0", ["Mul", "Add", "Mul", "Reciprocal"]),
        (f"{SCALED} {SEEN}", "3", ["Mul", "Add", "Reciprocal"]),
        (f"{SCALED} {UNSEEN}", "0", ["Mul", "Sigmoid"]),
    ],
)
def test_zeros(body: str, zero: str, expected: list[str]):
    assert operators(body, zero) == expected
