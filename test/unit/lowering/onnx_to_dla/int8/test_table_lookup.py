"""Decomposed activations: one lookup table each in INT8, of no greater error than quantization."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx import parser as onnx_parser
from xdsl.dialects.builtin import ModuleOp

from xonnc.calibration import calibrate_module
from xonnc.compiler import compile_model
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.packages import compile_package
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.reference import ReferenceModel
from xonnc.targets import load_target

RANDOM = np.random.default_rng(4)
X = (2 * RANDOM.standard_normal((1, 8, 7, 6))).astype(np.float32)
NUMBERS = {
    "three": 3.0,
    "zero": 0.0,
    "six": 6.0,
    "sixth": 1 / 6,
    "half": 0.5,
    "one": 1.0,
    "root": 2**0.5,
    "c": 0.044715,
    "d": (2 / np.pi) ** 0.5,
    "e": 1.702,
}

HARD = "a = Add(v, three) \n b = Clip(a, zero, six) \n"
CASES = {
    "hard swish, divided last": HARD + "m = Mul(v, b) \n y = Div(m, six)",
    "hard swish, divided first": HARD + "m = Div(b, six) \n y = Mul(v, m)",
    "hard swish, multiplied": HARD + "m = Mul(v, b) \n y = Mul(m, sixth)",
    "hard swish by hard sigmoid": "s = HardSigmoid<alpha=0.1666667,beta=0.5>(v) \n y = Mul(s, v)",
    "SiLU": "s = Sigmoid(v) \n y = Mul(v, s)",
    "swish with a constant": "t = Mul(v, e) \n s = Sigmoid(t) \n y = Mul(v, s)",
    "Mish": "s = Softplus(v) \n t = Tanh(s) \n y = Mul(v, t)",
    "GELU by the error function": (
        "a = Div(v, root) \n b = Erf(a) \n c1 = Add(b, one) \n m = Mul(v, c1) \n y = Mul(m, half)"
    ),
    "GELU by the hyperbolic tangent": (
        "a = Mul(v, v) \n b = Mul(v, a) \n c1 = Mul(b, c) \n d1 = Add(v, c1) \n e1 = Mul(d1, d) \n"
        "t = Tanh(e1) \n u = Add(t, one) \n m = Mul(v, u) \n y = Mul(m, half)"
    ),
    "two tables in a row": "s = Sigmoid(v) \n w1 = Mul(v, s) \n t = Tanh(w1) \n y = Mul(w1, t)",
}


def saved(folder: Path, nodes: str) -> Path:
    text = "v = Conv(x, w) \n" + nodes.replace("y =", "r =") + "\n y = Conv(r, u0)"
    parsed = [onnx_parser.parse_node(line.strip()) for line in text.splitlines()]
    used = {name for node in parsed for name in node.input}
    held = {name: np.array(number, np.float32) for name, number in NUMBERS.items()}
    held |= {name: (RANDOM.standard_normal((8, 8, 1, 1)) / 3).astype(np.float32) for name in ("w", "u0")}
    graph = helper.make_graph(
        parsed,
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, X.shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in held.items() if name in used],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def calibrate(module: ModuleOp) -> Ranges:
    return calibrate_module(module, [{"x": X}])


@pytest.mark.parametrize("target", ["nv_small", "nv_full"])
@pytest.mark.parametrize("name", CASES)
def test_an_activation_is_one_table(name: str, target: str, tmp_path: Path):
    path = saved(tmp_path, CASES[name])
    compilation = compile_model(path, target, calibrate=calibrate)
    tables = 2 if name.startswith("two") else 1
    # The first is looked up in the SDP, of the convolution's sums, where that has a table.
    in_cdp = tables - 1 if load_target(target).sdp_y else tables
    assert compilation.report.layers_by_engine.get("CDP", 0) == in_cdp
    (output,) = Simulator(compilation.loadable, load_target(target)).run([X])
    (expected,) = ReferenceModel(path).run({"x": X})
    assert np.abs(output.numbers - expected).max() < 0.03 * np.abs(expected).max()


def test_what_has_another_reader_is_rounded(tmp_path: Path):
    path = saved(tmp_path, "s = Sigmoid(v) \n m = Mul(v, s) \n y = Add(m, s)")
    compilation = compile_model(path, "nv_full", calibrate=calibrate)
    (output,) = Simulator(compilation.loadable, load_target("nv_full")).run([X])
    (expected,) = ReferenceModel(path).run({"x": X})
    assert np.abs(output.numbers - expected).max() < 0.03 * np.abs(expected).max()


@pytest.mark.parametrize("name", [name for name in CASES if "Div" in CASES[name]])
def test_packages_keep_divisions_by_constants_on_the_dla(name: str, tmp_path: Path):
    package = compile_package(saved(tmp_path, CASES[name]), "nv_small", None, calibrate)
    assert package.cpu_nodes == ()
