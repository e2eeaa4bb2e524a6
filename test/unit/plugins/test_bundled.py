"""Bundled plug-ins: loaded by the first operator of their domain, in models and in text, and not before."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import onnx
import onnx.parser

import xonnc
from xonnc.tools.opt import run_opt

GELU = """<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>
    g (float[n, 3] x, float[3] y) => (float[n, 3] z) { z = com.microsoft.BiasGelu (x, y) }"""


def loaded_modules(code: str) -> str:
    code = f"import sys, onnx.parser, xonnc; {code}; print('xonnc.contrib' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.strip()


def test_models_without_its_operators_do_not_load_it():
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[3] x) => (float[3] z) { z = Relu (x) }'
    assert loaded_modules(f"xonnc.simplify(onnx.parser.parse_model({text!r}))") == "False"


def test_models_with_its_operators_do():
    assert loaded_modules(f"xonnc.simplify(onnx.parser.parse_model({GELU!r}))") == "True"


def test_text_with_its_dialect_loads_it():
    text = """func.func @main(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<*xf32> {
      %z = "microsoft.BiasGelu"(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<*xf32>
      func.return %z : tensor<*xf32>
    }"""
    code, out, err = run_opt(["--shape-inference-onnx"], text)
    assert code == 0, err
    assert "-> tensor<2x3xf32>" in out


def test_native_code_needs_no_flag():
    session = xonnc.compile(onnx.parser.parse_model(GELU))
    (z,) = session.run(None, {"x": np.zeros((2, 3), np.float32), "y": np.array([-1, 0, 1], np.float32)})
    np.testing.assert_allclose(np.asarray(z), np.tile([[-0.15865525, 0, 0.8413447]], (2, 1)), rtol=1e-5)
    assert not session.host_calls()
