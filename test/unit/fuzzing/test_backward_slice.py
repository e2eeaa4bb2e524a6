"""An output's own part of a model has the nodes that it is made of, and no others."""

from __future__ import annotations

import onnx.parser
import pytest

from xonnc.runtime.verification.backward_slice import backward_slice, walk_nodes

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
m (bool c, float[2] x) => (float[2] y, float[2] z) {
  a = Neg(x)
  b = Abs(x)
  y = If(c) <
    then_branch = left () => (float[2] p) { p = Exp(a) },
    else_branch = right () => (float[2] q) { q = Identity(x) }
  >
  z = Sqrt(b)
}
"""


@pytest.mark.parametrize(
    ("output", "expected"),
    [("y", ["Neg", "If", "Identity", "Exp"]), ("z", ["Abs", "Sqrt"])],
)
def test_a_part_has_what_its_output_is_made_of(output: str, expected: list[str]) -> None:
    part = backward_slice(onnx.parser.parse_model(MODEL), output)
    assert sorted(node.op_type for node in walk_nodes(part)) == sorted(expected)
    assert [port.name for port in part.graph.output] == [output]
    assert [port.name for port in part.graph.input] == ["c", "x"]
