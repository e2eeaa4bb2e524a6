"""Run models and single nodes through the interface of `onnx.backend`: `python onnx_backend.py`."""

from __future__ import annotations

import numpy as np
import onnx.helper
import onnx.parser

from xonnc import backend

MODEL = onnx.parser.parse_model(
    """<ir_version: 8, opset_import: ["": 17]>
    g (float[N, 3] x) => (float[N, 3] y) { y = Mul (x, x) }"""
)

x = np.array([[1, -2, 3], [0, 5, -1]], np.float32)
prepared = backend.prepare(MODEL)
for rows in (x, x[:1]):
    (y,) = prepared.run([rows])
    print("y =", np.asarray(y).tolist())

node = onnx.helper.make_node("TopK", ["x", "k"], ["values", "indices"], axis=0)
values, indices = backend.run_node(node, [x, np.array([1])])
print("the largest of each column:", values, "in row", indices)
