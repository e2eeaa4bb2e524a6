"""Run a model on arrays bound once, and in the background, as with onnxruntime: `python binding.py`."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import numpy as np
import onnx.parser

import xonnc

MODEL = onnx.parser.parse_model(
    """<ir_version: 8, opset_import: ["": 17]>
    g (float[N, 4] x) => (float[N, 4] y, float[N, 1] sum)
    <int64[1] axis = {1}> { y = Relu (x)  sum = ReduceSum (y, axis) }"""
)

session = xonnc.compile(MODEL)

# Each run reads `x` and writes `y`; `sum` is bound to no array, so each run gives a new one.
x, y = np.empty((1, 4), np.float32), np.empty((1, 4), np.float32)
binding = session.io_binding()
binding.bind_cpu_input("x", x)
binding.bind_output("y", y)
binding.bind_output("sum")
for offset in (0, 10):
    x[:] = [[-3, 1, 2, 4]]
    x += offset
    session.run_with_iobinding(binding)
    print("y =", y, "sum =", binding.get_outputs()[1])

# The callback takes the outputs, the last argument of `run_async`, and the error message or "".
result: Future[list[Any]] = Future()


def finish(outputs: list[Any], name: str, error: str) -> None:
    if error:
        result.set_exception(RuntimeError(f"{name}: {error}"))
    else:
        result.set_result(outputs)


session.run_async(["sum"], {"x": np.ones((2, 4), np.float32)}, finish, "two rows")
print("in the background:", result.result(timeout=60)[0].tolist())
