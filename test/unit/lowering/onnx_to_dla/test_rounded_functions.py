"""Activations whose parts are quantized too, as by onnxruntime: one exact lookup table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from xonnc.compiler import compile_model
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.reference import ReferenceModel
from xonnc.targets import load_target

HEAD = """<ir_version: 8, opset_import: ["": 17]> network (float[1, 16, 16, 2] x) => (int8[1, 16, 16, 2] y)
    <float s = {0.05}, int8 z = {11}, float t = {0.004}, int8 u = {-128}, float three = {3.0},
     float v = {0.045}, int8 w = {-60}, float sixth = {0.16667}, float none = {0.0}, float six = {6.0}> {
    q = QuantizeLinear (x, s, z)  d = DequantizeLinear (q, s, z)
"""
TAIL = " y = QuantizeLinear (m, v, w) }"

NETWORKS = {
    "SiLU": """
        g = Sigmoid (d)  qg = QuantizeLinear (g, t, u)  dg = DequantizeLinear (qg, t, u)
        m = Mul (d, dg)""",
    "quantized twice": """
        q2 = QuantizeLinear (d, s, z)  d2 = DequantizeLinear (q2, s, z)
        g = Sigmoid (d2)  qg = QuantizeLinear (g, t, u)  dg = DequantizeLinear (qg, t, u)
        m = Mul (d2, dg)""",
    "hard swish in parts": """
        a = Add (d, three)  qa = QuantizeLinear (a, s, z)  da = DequantizeLinear (qa, s, z)
        c = Clip (da, none, six)  qc = QuantizeLinear (c, v, u)  dc = DequantizeLinear (qc, v, u)
        p = Mul (d, dc)  qp = QuantizeLinear (p, v, w)  dp = DequantizeLinear (qp, v, w)
        m = Mul (dp, sixth)""",
    "a function of a rounded function": """
        g = Tanh (d)  qg = QuantizeLinear (g, t, z)  dg = DequantizeLinear (qg, t, z)
        h = Sigmoid (dg)  qh = QuantizeLinear (h, t, u)  dh = DequantizeLinear (qh, t, u)
        m = Mul (dg, dh)""",
}


def written(folder: Path, nodes: str) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(HEAD + nodes + TAIL).SerializeToString())
    return path


@pytest.mark.parametrize("target", ["nv_small", "nv_large", "nv_full"])
@pytest.mark.parametrize("name", NETWORKS)
def test_all_integers(name: str, target: str, tmp_path: Path):
    path = written(tmp_path, NETWORKS[name])
    x = np.linspace(-8, 7, 512, dtype=np.float32).reshape(1, 16, 16, 2)
    (expected,) = ReferenceModel(path).run({"x": x})
    (found,) = Simulator(compile_model(path, target).loadable, load_target(target)).run([x])
    steps = found.tensor.reshape(x.shape).astype(int) - expected
    # Products of the SDP round in fixed point.
    assert np.abs(steps).max() <= (0 if target == "nv_small" and name == "SiLU" else 1)
    assert np.mean(steps != 0) <= 0.05


def test_the_parts_are_not_computed(tmp_path: Path):
    report = compile_model(written(tmp_path, NETWORKS["SiLU"]), "nv_small").report
    assert report.layers_by_engine["CDP"] == 1


def test_products_of_what_differs_are_no_table(tmp_path: Path):
    """One factor gets zero point 0, and half as many steps."""
    nodes = """
        p = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (d)  g = Sigmoid (p)
        qg = QuantizeLinear (g, t, u)  dg = DequantizeLinear (qg, t, u)  m = Mul (d, dg)"""
    path = written(tmp_path, nodes)
    x = np.linspace(-8, 7, 512, dtype=np.float32).reshape(1, 16, 16, 2)
    (expected,) = ReferenceModel(path).run({"x": x})
    (found,) = Simulator(compile_model(path, "nv_small").loadable, load_target("nv_small")).run([x])
    assert np.abs(found.tensor.reshape(x.shape).astype(int) - expected).max() <= 2
