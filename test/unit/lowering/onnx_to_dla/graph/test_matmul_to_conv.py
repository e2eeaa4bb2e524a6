"""Text recognisers: layer normalisation and large products of rows, in packages for INT8 targets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import numpy_helper, parser
from xdsl.dialects.builtin import ModuleOp

from xonnc.calibration import calibrate_module
from xonnc.explanation import explain_package
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.packages import compile_package
from xonnc.runtime.package import load_package
from xonnc.runtime.reference import ReferenceModel

RANDOM = np.random.default_rng(5)
IMAGES = [RANDOM.standard_normal((1, 8, 1, 16)).astype(np.float32) for _ in range(3)]
OUTPUTS = 9000

TEXT = f"""<ir_version: 8, opset_import: ["": 13]>
g (float[1, 8, 1, 16] x) => (float[1, 16, {OUTPUTS}] y) <float three = {{3.0}}, float zero = {{0.0}},
    float six = {{6.0}}, float two = {{2.0}}, float tiny = {{0.00001}}, int64[1] axis = {{2}}> {{
    c = Conv(x, k)
    a = Add(c, three)
    b = Clip(a, zero, six)
    m = Mul(c, b)
    h = Div(m, six)
    s = Squeeze(h, axis)
    t = Transpose<perm = [0, 2, 1]>(s)
    mean = ReduceMean<axes = [-1]>(t)
    d = Sub(t, mean)
    p = Pow(d, two)
    v = ReduceMean<axes = [-1]>(p)
    e = Add(v, tiny)
    q = Sqrt(e)
    n = Div(d, q)
    g1 = Mul(n, gain)
    l = Add(g1, shift)
    f = MatMul(l, w)
    y = Add(f, bias)
}}"""


def saved(folder: Path) -> Path:
    """A convolution with hard-swish, layer normalisation and a product with 9000 outputs."""
    model = parser.parse_model(TEXT)
    weights: dict[str, npt.NDArray[Any]] = {
        "k": RANDOM.standard_normal((40, 8, 1, 1)) / 3,
        "gain": RANDOM.uniform(0.5, 2, 40),
        "shift": RANDOM.standard_normal(40) / 4,
        "w": RANDOM.standard_normal((40, OUTPUTS)) / 6,
        "bias": RANDOM.standard_normal(OUTPUTS),
    }
    model.graph.initializer.extend(
        numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()
    )
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def calibrate(module: ModuleOp) -> Ranges:
    return calibrate_module(module, [{"x": image} for image in IMAGES])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("text"))


def test_only_transposes_run_on_the_cpu(model: Path, tmp_path: Path):
    package = compile_package(model, "nv_small", None, calibrate)
    operators = {node.operator for node in package.cpu_nodes}
    assert operators == {"Transpose"}
    assert len(package.manifest.steps) <= 4
    package.write(tmp_path / "model.xpkg")
    (found,) = load_package(tmp_path / "model.xpkg").run({"x": IMAGES[0]}).values()
    (expected,) = ReferenceModel(model).run({"x": IMAGES[0]})
    assert np.corrcoef(found.reshape(-1), expected.reshape(-1))[0, 1] > 0.995


def test_explanations_show_the_same_nodes(model: Path):
    nodes = {each.operator: each.engine for each in explain_package(model, "nv_small", calibrate).nodes}
    assert nodes["Conv"] == "CONV"
