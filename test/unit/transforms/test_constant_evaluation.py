"""Operators taken out of a model, to be evaluated by themselves."""

from __future__ import annotations

import onnx.parser

from xonnc.contexts import new_context
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.formats.onnx.importer import import_proto
from xonnc.transforms.constant_evaluation import captured, module_of_op


def test_constants_that_a_body_captures_are_copied_once_into_it():
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[2] init, float[3, 2] xs) => (float[3, 2] y, float[2] f)
        <float[2] w = {2, 3}, float[2] v = {4, 5}> {
          f, y = Scan<num_scan_inputs = 1, body = b (float[2] s, float[2] x) => (float[2] t, float[2] u) {
            m = Mul(x, w) n = Add(m, v) t = Add(s, n) u = Mul(t, w)
          }>(init, xs)
        }""")
    module = import_proto(model, new_context())
    (scan,) = (op for op in module.walk() if op.regions and op.name.startswith("onnx.Scan"))
    assert len(captured(scan)) == 2
    made = module_of_op(scan, list(scan.operands))
    made.verify()
    (copy,) = (op for op in made.walk() if op.regions and op.name.startswith("onnx.Scan"))
    assert captured(copy) == []
    assert len([op for op in copy.walk() if isinstance(op, ConstantOp)]) == 2
    # The original is as it was.
    assert len(captured(scan)) == 2
