"""Gemm with a computed C: a convolution, and an addition of the SDP."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest
from onnx import numpy_helper
from xdsl.dialects.builtin import ModuleOp

from xonnc.calibration import calibrate_module
from xonnc.compiler import compile_model
from xonnc.explanation import explain_model
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.reference import ReferenceModel
from xonnc.targets import load_target

Array = npt.NDArray[np.float32]

NETWORKS = {
    "beta": "c = MatMul (x, v)  y = Gemm <alpha = 2.0, beta = 0.5> (x, w, c)",
    "added": "c = MatMul (x, v)  d = Gemm (x, w)  y = Add (d, c)",
    "one column": "d = Relu (x)  c = Gemm (d, s)  y = Gemm (x, w, c)",
    "one column, scaled": "d = Relu (x)  c = Gemm (d, s)  y = Gemm <beta = -0.5> (x, w, c)",
    "transposed": "c = MatMul (x, v)  y = Gemm <transB = 1> (x, u, c)",
}
SHAPES = {"v": (64, 40), "w": (64, 40), "u": (40, 64), "s": (64, 1)}


def written(folder: Path, nodes: str) -> Path:
    generator = np.random.default_rng(0)
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> network (float[1, 64] x) => (float[1, 40] y) {{ {nodes} }}'
    )
    for name, shape in SHAPES.items():
        values = (generator.standard_normal(shape) / 8).astype(np.float32)
        if any(name in node.input for node in model.graph.node):
            model.graph.initializer.append(numpy_helper.from_array(values, name))
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def images() -> list[dict[str, Array]]:
    generator = np.random.default_rng(1)
    found = [{"x": generator.standard_normal((1, 64)).astype(np.float32)} for _ in range(8)]
    return [*found, {"x": np.zeros((1, 64), np.float32)}]


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(
    ("target", "is_integer", "bound"),
    [("nv_full", False, 2e-3), ("nv_full", True, 0.04), ("nv_small", True, 0.04)],
)
def test_a_computed_addend(name: str, target: str, is_integer: bool, bound: float, tmp_path: Path):
    path = written(tmp_path, NETWORKS[name])

    def calibrate(module: ModuleOp) -> Ranges:
        return calibrate_module(module, images(), "minmax")

    compilation = compile_model(path, target, calibrate=calibrate if is_integer else None)
    simulator = Simulator(compilation.loadable, load_target(target), mode="exact")
    reference = ReferenceModel(path)
    for sample in images():
        (expected,) = reference.run(sample)
        (output,) = simulator.run([sample["x"].reshape(1, 64, 1, 1)])
        found = output.numbers.reshape(1, 40).astype(np.float32)
        error = np.abs(found - expected).max()
        assert error <= bound * max(np.abs(expected).max(), 1.0)


QUANTIZED = """
    qx = QuantizeLinear (x, sx, zx)       dx = DequantizeLinear (qx, sx, zx)
    dw = DequantizeLinear (qw, sw, z8)    dv = DequantizeLinear (qv, sw, z8)
    c = MatMul (dx, dv)
    qc = QuantizeLinear (c, sc, zc)       dc = DequantizeLinear (qc, sc, zc)
    g = Gemm <beta = BETA> (dx, dw, dc)
    qy = QuantizeLinear (g, sy, zy)       y = DequantizeLinear (qy, sy, zy)
"""


@pytest.mark.parametrize("columns", [40, 1])
@pytest.mark.parametrize("beta", [1.0, 0.5, -2.0])
def test_a_computed_addend_of_a_quantized_product(columns: int, beta: float, tmp_path: Path):
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> network (float[1, 64] x) => (float[1, 40] y)'
        f"{{ {QUANTIZED.replace('BETA', str(beta))} }}"
    )
    generator = np.random.default_rng(2)
    constants = {
        "sx": np.float32(0.03), "zx": np.uint8(120), "sw": np.float32(0.002), "z8": np.int8(0),
        "sc": np.float32(0.02), "zc": np.uint8(131), "sy": np.float32(0.05), "zy": np.uint8(126),
        "qw": generator.integers(-127, 128, (64, 40), np.int8),
        "qv": generator.integers(-127, 128, (64, columns), np.int8),
    }  # fmt: skip
    model.graph.initializer.extend(
        numpy_helper.from_array(np.asarray(each), name) for name, each in constants.items()
    )
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    simulator = Simulator(compile_model(path, "nv_small").loadable, load_target("nv_small"))
    reference = ReferenceModel(path)
    for sample in images():
        (expected,) = reference.run(sample)
        (output,) = simulator.run([sample["x"].reshape(1, 64, 1, 1)])
        steps = (output.numbers.reshape(1, 40) - expected) / 0.05
        # The addend is scaled and rounded to the unit of the sum, and beta times it to 8 bits.
        assert np.abs(steps).max() <= (1.01 if beta == 1.0 else 2.01)
        # One addend has one error for all.
        assert columns == 1 or np.abs(steps).mean() <= 0.25


def test_a_product_is_explained_as_it_is_compiled(tmp_path: Path):
    path = written(tmp_path, NETWORKS["one column"])
    assert explain_model(path, "nv_full").refusals == ()
    compile_model(path, "nv_full")
