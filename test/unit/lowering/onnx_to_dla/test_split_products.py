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
from xonnc.errors import RefusalError
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.reference import ReferenceModel
from xonnc.targets import load_target

Array = npt.NDArray[np.float32]

NETWORKS = {
    "beta": "c = MatMul (x, v)  y = Gemm <alpha = 2.0, beta = 0.5> (x, w, c)",
    "added": "c = MatMul (x, v)  d = Gemm (x, w)  y = Add (d, c)",
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


def test_an_addend_of_another_shape_is_refused(tmp_path: Path):
    path = written(tmp_path, "d = Relu (x)  c = Gemm (d, s)  y = Gemm (x, w, c)")
    with pytest.raises(RefusalError, match=r"y \(Gemm\): C must be a constant, found a computed value"):
        compile_model(path, "nv_full")
