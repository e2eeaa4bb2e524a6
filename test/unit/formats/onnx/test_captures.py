"""What graphs of operators that ONNX does not have read from around them."""

from __future__ import annotations

import onnx
from onnx import parser
from xdsl.dialects.builtin import UnknownLoc

from xonnc.contexts import new_context
from xonnc.formats.onnx.captures import captured_names, names_defined_in, rename_captures
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.importer import import_proto

NESTED = """
    <ir_version: 8, opset_import: ["" : 17, "org.example" : 1]>
    g (float[3] x, bool flag) => (float[3] y) <float[3] w = {1, 2, 3}> {
      y = org.example.Repeat (x) <body = inner (float[3] a) => (float[3] w2, float[3] x) {
        b = Mul (a, w)
        w2 = If (flag) <
          then_branch = left () => (float[3] l) { l = Add (b, w) },
          else_branch = right () => (float[3] r) { w3 = Neg (b) r = Mul (w3, x) }>
      }>
    }
"""


def node() -> onnx.NodeProto:
    return parser.parse_model(NESTED).graph.node[0]


def test_names_from_around_a_graph():
    assert list(dict.fromkeys(captured_names(node()))) == ["w", "flag", "x"]
    assert list(names_defined_in(node())) == ["a", "b", "w2", "l", "w3", "r"]


def test_names_that_a_graph_makes_itself_stay():
    changed = node()
    rename_captures(changed, {"w": "weight", "x": "given", "b": "never", "l": "never"})
    assert list(dict.fromkeys(captured_names(changed))) == ["weight", "flag", "given"]
    assert list(names_defined_in(changed)) == list(names_defined_in(node()))
    assert [info.name for info in changed.attribute[0].g.output] == ["w2", "given"]


def test_a_value_without_a_name_is_not_called_as_one_in_a_graph():
    model = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17, "org.example" : 1]>
        g (float[3] x) => (float[3] y) {
          [Relu] r = Relu (x)
          y = org.example.Repeat (r) <body = inner (float[3] a) => (float[3] Relu_1) { Relu_1 = Add (a, r) }>
        }
    """)
    module = import_proto(model, new_context())
    # Without its location the value has no name, and gets one after its op.
    for op in module.walk():
        if op.name == "onnx.Relu":
            op.location = UnknownLoc()
    made = export_proto(module).graph.node
    body = made[1].attribute[0].g
    assert made[0].output[0] not in ("Relu_1", "")
    assert list(body.node[0].input) == ["a", made[0].output[0]]
    assert list(body.node[0].output) == ["Relu_1"]
