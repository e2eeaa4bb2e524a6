"""Compile a model in this process and run it, as with onnxruntime: `python session.py`."""

from __future__ import annotations

import numpy as np
import onnx.parser

import xonnc

MODEL = onnx.parser.parse_model(
    """<ir_version: 8, opset_import: ["": 17]>
    g (float[N, 4] x) => (float[N, 4] y) { a = Relu (x)  y = Neg (a) }"""
)

session = xonnc.compile(MODEL, threads=2)
x = np.array([[1, -2, 3, -4]], np.float32)
(y,) = session.run(None, {"x": x})
print("y =", y)
print("every value:", sorted(session.run(None, {"x": x}, debug=True)))
