"""Compile a model in this process and run it, as with onnxruntime: `python session.py`."""

from __future__ import annotations

import pickle
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx.parser

import xonnc

MODEL = onnx.parser.parse_model(
    """<ir_version: 8, opset_import: ["": 17]>
    g (float[N, 4] x, float[4] b) => (float[N, 4] y) <float[4] b = {0, 0, 0, 0}>
    { s = Add (x, b)  a = Relu (s)  y = Neg (a) }"""
)

session = xonnc.compile(MODEL, threads=2)
print(session, session.get_providers())
x = np.array([[1, -2, 3, -4]], np.float32)
(y,) = session.run(None, {"x": x})
print("y =", y)
print("every value:", sorted(session.run(None, {"x": x}, debug=True)))

# An input with an initializer may be fed; tensors of other libraries come by dlpack or __array__.
(y,) = session.run(["y"], {"x": x, "b": np.ones(4, np.float32)})
print("with b =", y)

# In another process, or without the model: pickled, or saved to a folder. As a shared library: m.so.
(y,) = pickle.loads(pickle.dumps(session)).run(None, {"x": x})
with TemporaryDirectory() as name:
    session.save(name)
    (z,) = xonnc.load(name, threads=1).run(None, {"x": x})
    session.save(Path(name) / "m.so")
    (v,) = xonnc.Library(Path(name) / "m.so").run(None, {"x": x})
print("the same:", all(np.array_equal(np.asarray(each), np.minimum(-x, 0)) for each in (y, z, v)))
