"""Operators as models of old opsets have them, on the DLA: the same layers as for the newest ones."""

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
from xonnc.errors import RefusalError
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.packages import compile_package
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.package import load_package
from xonnc.runtime.reference import ReferenceModel
from xonnc.targets import load_target

RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal((1, 3, 8, 8)).astype(np.float32)
HELD = {
    "none": np.array([], np.float32),
    "twice": np.array([1, 1, 2, 2], np.float32),
    "uneven": np.array([1, 1, 3, 1], np.float32),
    "sizes": np.array([1, 3, 16, 24], np.int64),
    "w": RANDOM.standard_normal((4, 3, 3, 3)).astype(np.float32) / 5,
    "low": np.array(0.0, np.float32),
    "high": np.array(0.5, np.float32),
    "row": np.array([1, -2, 3], np.float32),
    "column": np.array([1, -2, 3], np.float32).reshape(3, 1, 1),
}

CASES = {
    "Upsample of opset 7": (7, 'y = Upsample<mode="nearest",scales=[1.0,1.0,2.0,3.0]>(x)'),
    "Upsample of opset 9": (9, 'y = Upsample<mode="linear">(x, twice)'),
    "Resize of opset 10": (10, 'y = Resize<mode="nearest">(x, uneven)'),
    "Resize of opset 10, linear": (10, 'y = Resize<mode="linear">(x, twice)'),
    "Resize of opset 11": (11, "y = Resize(x, none, twice)"),
    "Resize of opset 11, sizes": (11, "y = Resize(x, none, none, sizes)"),
    "Resize of opset 11, asymmetric": (
        11,
        'y = Resize<coordinate_transformation_mode="asymmetric",nearest_mode="floor">(x, none, uneven)',
    ),
    "Resize of opset 11, linear": (11, 'y = Resize<mode="linear">(x, none, twice)'),
    "Resize of opset 12": (
        12,
        'y = Resize<mode="linear",coordinate_transformation_mode="pytorch_half_pixel">(x, none, twice)',
    ),
    "Clip of opset 6": (6, "c = Conv(x, w) \n y = Clip<min=0.0,max=0.5>(c)"),
    "Clip of opset 11": (11, "c = Conv(x, w) \n y = Clip(c, low, high)"),
    "Add of opset 6": (6, "y = Add<broadcast=1,axis=1>(x, row)"),
    "Sigmoid of opset 5": (5, "c = Conv(x, w) \n y = Sigmoid(c)"),
    "Pad of opset 10": (10, "y = Pad<pads=[0,0,1,2,0,0,0,1]>(x)"),
    "Slice of opset 9": (9, "y = Slice<axes=[2],starts=[1],ends=[6]>(x)"),
    "Softmax of opset 11": (
        11,
        "t = Resize(x, none, twice) \n g = GlobalAveragePool(t) \n f = Flatten(g) \n y = Softmax<axis=1>(f)",
    ),
}


NEWER = {"Add of opset 6": "y = Add(x, column)", "Sigmoid of opset 5": CASES["Sigmoid of opset 5"][1]}
"""What onnxruntime has for forms that it does not know."""


def model(opset: int, nodes: str) -> onnx.ModelProto:
    parsed = [onnx_parser.parse_node(line.strip()) for line in nodes.splitlines()]
    used = {name for node in parsed for name in node.input}
    graph = helper.make_graph(
        parsed,
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, X.shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in HELD.items() if name in used],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def calibrate(module: ModuleOp) -> Ranges:
    return calibrate_module(module, [{"x": X}])


@pytest.mark.parametrize("is_integer", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_an_old_form_runs_on_the_dla(name: str, is_integer: bool, tmp_path: Path):
    path = tmp_path / "model.onnx"
    path.write_bytes(model(*CASES[name]).SerializeToString())
    compilation = compile_model(path, "nv_full", calibrate=calibrate if is_integer else None)
    (output,) = Simulator(compilation.loadable, load_target("nv_full")).run([X])
    if name in NEWER:
        path.write_bytes(model(13, NEWER[name]).SerializeToString())
    (expected,) = ReferenceModel(path).run({"x": X})
    allowed = (0.06 if is_integer else 0.004) * float(np.abs(expected).max())
    assert np.abs(output.numbers.reshape(-1) - expected.reshape(-1)).max() < allowed


def test_a_mode_that_newer_opsets_do_not_have_stays(tmp_path: Path):
    path = tmp_path / "model.onnx"
    nodes = 'y = Resize<coordinate_transformation_mode="tf_half_pixel_for_nn">(x, none, twice)'
    path.write_bytes(model(11, nodes).SerializeToString())
    with pytest.raises(RefusalError, match="the DLA has no such operator"):
        compile_model(path, "nv_full")


def test_a_package_has_an_opset_for_what_stays_on_the_cpu(tmp_path: Path):
    """Hardmax over a matrix of several axes ends with opset 13: beside it Resize must not become newer."""
    path = tmp_path / "model.onnx"
    nodes = "t = Resize(x, none, twice) \n s = Sin(t) \n y = Hardmax<axis=1>(s)"
    path.write_bytes(model(11, nodes).SerializeToString())
    compile_package(path, "nv_full").write(tmp_path / "model.xpkg")
    found = load_package(tmp_path / "model.xpkg").run({"x": X})["y"]
    assert np.array_equal(found, ReferenceModel(path).run({"x": X})[0])
