"""Quantize a float model to INT8 with samples, and compile the result: `python quantize.py`."""

from __future__ import annotations

import numpy as np
import onnx.parser
from onnx import numpy_helper

import xonnc

MODEL = onnx.parser.parse_model(
    """<ir_version: 8, opset_import: ["": 17]>
    g (float[1, 8] x) => (float[1, 4] y) { [first] h = MatMul (x, w)  y = Relu (h) }"""
)
generator = np.random.default_rng(0)
weights = generator.standard_normal((8, 4)).astype(np.float32)
MODEL.graph.initializer.append(numpy_helper.from_array(weights, "w"))

samples = [{"x": generator.standard_normal((1, 8)).astype(np.float32)} for _ in range(16)]
quantized = xonnc.quantize(MODEL, samples)
for output in quantized.agreement:
    print(f"{output.output}: cosine {output.cosine:.5f} to the float model")
session = xonnc.compile(quantized.proto())
print("y =", session.run(None, samples[0])[0])
