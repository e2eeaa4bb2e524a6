"""Compile a model for NVDLA and run it on the simulator: `python nvdla.py`."""

from __future__ import annotations

import numpy as np
import onnx.parser

import xonnc

MODEL = onnx.parser.parse_model(
    """<ir_version: 8, opset_import: ["": 17]>
    g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y) { y = Relu (x) }"""
)

model = xonnc.compile(MODEL, "nv_full")
x = np.linspace(-1, 1, 256, dtype=np.float32).reshape(1, 4, 8, 8)
y = np.asarray(model.run(None, {"x": x})[0], np.float32)
print("y:", y.shape, y.dtype, "from", y.min(), "to", y.max())
