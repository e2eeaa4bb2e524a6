"""Branches that give different ranks, and ranks that are declared of what follows from them."""

from __future__ import annotations

import warnings

import numpy as np
import onnx
import pytest
from onnx import parser

from xonnc.native import compile_native

HEAD = '<ir_version: 10, opset_import: ["": 17]> g '

BRANCHES = """t = If (c) <
        then_branch = a () => (float p) { ax = Constant <value_ints = [0]> () p = Squeeze (x, ax) },
        else_branch = b () => (float q) { q = Identity (x) }>
    u = Relu (t)
    w = Softmax (u)
    y = Transpose (w)"""

BY_SIZE = """(float[B,S,3] x) => (float[P,Q] y) <float[P,Q] u> {
    s = Shape (x)
    i = Constant <value_int = 0> ()
    d = Gather (s, i)
    one = Constant <value_int = 1> ()
    c = Equal (d, one)"""

BY_INPUT = "(bool c, float[B,2,3] x) => (float[P,Q] y) <float[P,Q] u> {"

BY_VALUE = """(float[B,2,3] x) => (float[P,Q] y) <float[P,Q] u> {
    s = ReduceSum <keepdims = 0> (x)
    z = Constant <value_float = 0.0> ()
    c = Greater (s, z)"""


def model(head: str) -> onnx.ModelProto:
    made = parser.parse_model(f"{HEAD}{head}\n{BRANCHES} }}")
    for node in made.graph.node:
        for attribute in node.attribute if node.op_type == "If" else ():
            attribute.g.output[0].type.tensor_type.ClearField("shape")
    return made


@pytest.mark.parametrize("declared", ["u", "t"])
@pytest.mark.parametrize(
    ("head", "is_native"),
    [(BY_SIZE, True), (BY_INPUT, True), (BY_VALUE, False)],
    ids=["size", "input", "value"],
)
def test_a_declared_rank_is_not_believed(head: str, is_native: bool, declared: str):
    more = "] u, float[P,Q] t>" if declared == "t" else "] u>"
    session = compile_native(model(head.replace("] u>", more)), cache=False)
    x = np.array([[[3, -1, 2], [0, 5, np.inf]]], np.float32)
    for negative in (False, True, False):
        count = 1 + (negative and head == BY_SIZE)
        fed = np.repeat(-x if negative else x, count, 0)
        feeds = {"c": np.array(not negative), "x": fed}
        shifted = np.maximum(fed if negative else fed[0], 0)
        with warnings.catch_warnings(), np.errstate(invalid="ignore"):
            warnings.simplefilter("ignore")
            (found,) = session.run(None, {port.name: feeds[port.name] for port in session.inputs})
            powers = np.exp(shifted - shifted.max(-1, keepdims=True))
        expected = (powers / powers.sum(-1, keepdims=True)).T
        np.testing.assert_allclose(np.asarray(found, np.float32), expected, rtol=1e-6)
        assert not (is_native and session.host_calls())
