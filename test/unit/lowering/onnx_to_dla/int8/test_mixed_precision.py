"""Nodes of INT8 networks that nv_full computes in FP16, on the simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import numpy_helper, parser
from xdsl.dialects.builtin import ModuleOp

from xonnc.calibration import calibrate_module
from xonnc.compiler import compile_model
from xonnc.explanation import explain_model
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.lowering.onnx_to_dla.quantization.keep_float import keep_float
from xonnc.packages import CompiledPackage, compile_package
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.package import load_package
from xonnc.runtime.reference import ReferenceModel
from xonnc.targets import load_target

Array = npt.NDArray[Any]

NORMALIZED = """<ir_version: 8, opset_import: ["" : 13]>
network (float[{shape}] x) => (float[{shape}] y)
    <float s = {{{scale}}}, {kind} z = {{{zero}}}, float t = {{0.02}}, int8 zero = {{0}}> {{
  q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z)
  n = InstanceNormalization(d, gain, offset)
  r = QuantizeLinear(n, t, zero) y = DequantizeLinear(r, t, zero)
}}"""
"""INT8 has no InstanceNormalization."""

CONVOLUTIONS = """<ir_version: 8, opset_import: ["" : 13]>
network (float[1, 16, 9, 7] x) => (float[1, 24, 9, 7] y) {
  a = Conv<pads = [1, 1, 1, 1]>(x, w)
  b = Relu(a)
  c = Conv<pads = [1, 1, 1, 1]>(b, v)
  d = Relu(c)
  e = Conv<pads = [1, 1, 1, 1]>(d, u)
  f = MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(b)
  y = Add(e, f)
}"""


BRANCHES = """<ir_version: 8, opset_import: ["" : 13]>
network (float[1, 16, 9, 7] x) => (float[1, 8, 1, 1] y) {
  a = Conv<pads = [1, 1, 1, 1]>(x, w)
  b = Conv<pads = [1, 1, 1, 1]>(x, v)
  c = Concat<axis = 1>(a, b)
  d = Sigmoid(c)
  e = Conv(d, u)
  f = Add(e, a)
  r = Relu(f)
  g = GlobalAveragePool(r)
  y = Conv(g, t)
}"""
"""8 and 24 channels are no whole atoms of FP16 or INT8: the concatenation is gathered by a convolution."""


def write_normalization(
    path: Path, shape: tuple[int, ...], scale: float, zero: int = 0, kind: str = "int8"
) -> Path:
    sizes = ", ".join(map(str, shape))
    model = parser.parse_model(NORMALIZED.format(shape=sizes, scale=scale, zero=zero, kind=kind))
    generator = np.random.default_rng(4)
    for name in ("gain", "offset"):
        numbers = generator.uniform(0.2, 0.8, shape[1]).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(numbers, name))
    path.write_bytes(model.SerializeToString())
    return path


SHAPES = {"w": (24, 16, 3, 3), "v": (40, 24, 3, 3), "u": (24, 40, 3, 3)}
"""The weights of `CONVOLUTIONS`."""

BRANCH_SHAPES = {"w": (8, 16, 3, 3), "v": (24, 16, 3, 3), "u": (8, 32, 1, 1), "t": (8, 8, 1, 1)}


def write_convolutions(
    path: Path, text: str = CONVOLUTIONS, shapes: Mapping[str, tuple[int, ...]] = SHAPES
) -> Path:
    model, generator = parser.parse_model(text), np.random.default_rng(7)
    for name, shape in shapes.items():
        numbers = (generator.standard_normal(shape) / 12).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(numbers, name))
    path.write_bytes(model.SerializeToString())
    return path


def samples(count: int = 4) -> list[dict[str, Array]]:
    generator = np.random.default_rng(0)
    return [{"x": generator.standard_normal((1, 16, 9, 7)).astype(np.float32)} for _ in range(count)]


def compiled(path: Path, kept: Sequence[str] = (), target: str = "nv_full") -> CompiledPackage:
    def ranges(module: ModuleOp) -> Ranges:
        keep_float(module, kept)
        return calibrate_module(module, samples())

    return compile_package(path, target, calibrate=ranges)


def cosine(one: Array, other: Array) -> float:
    one, other = one.astype(np.float64), other.astype(np.float64)
    return float(np.vdot(one, other) / (np.linalg.norm(one) * np.linalg.norm(other)))


@pytest.mark.parametrize("channels", [1, 16, 17, 32, 40])
@pytest.mark.parametrize(
    ("scale", "zero", "kind"),
    [(0.05, 0, "int8"), (1e-5, 0, "int8"), (0.02, -100, "int8"), (0.3, 200, "uint8"), (0.9, 255, "uint8")],
)
def test_integers_become_reals_and_integers_again(
    channels: int, scale: float, zero: int, kind: str, tmp_path: Path
):
    shape = (1, channels, 6, 5)
    path = write_normalization(tmp_path / "m.onnx", shape, scale, zero, kind)
    compilation = compile_model(path)
    assert compilation.report.nodes_by_precision == {"fp16": 1}
    least = (-128 if kind == "int8" else 0) - zero
    x = np.random.default_rng(1).uniform(least * scale, (least + 255) * scale, shape).astype(np.float32)
    x[0, 0, 0, :3] = 0, least * scale * 2, (least + 255) * scale * 2
    (found,) = Simulator(compilation.loadable, load_target("nv_full"), mode="exact").run([x])
    (expected,) = ReferenceModel(path).run({"x": x})
    steps = np.abs(found.numbers - expected) / 0.02
    # FP16 has 11 bits: a result between two integers may go to the other one.
    assert steps.max() < 1.5
    assert (steps < 0.5).mean() > 0.9


def test_an_infinite_input_is_the_largest_integer(tmp_path: Path):
    path = write_normalization(tmp_path / "m.onnx", (1, 16, 2, 2), 0.05)
    x = np.zeros((1, 16, 2, 2), np.float32)
    x[0, 0, 0] = np.inf, -np.inf
    (found,) = Simulator(compile_model(path).loadable, load_target("nv_full")).run([x])
    (expected,) = ReferenceModel(path).run({"x": x})
    assert np.abs(found.numbers - expected).max() < 0.021


@pytest.mark.parametrize("scale", [10.0, 600.0])
def test_squares_beyond_float16_stay_on_the_cpu(scale: float, tmp_path: Path):
    package = compile_package(write_normalization(tmp_path / "m.onnx", (1, 16, 4, 4), scale), "nv_full")
    reasons = {node.name: node.reason for node in package.cpu_nodes}
    assert reasons["n"] == "the DLA has no int8 form of this operator"


def test_a_target_without_fp16_leaves_the_node_to_the_cpu(tmp_path: Path):
    package = compile_package(write_normalization(tmp_path / "m.onnx", (1, 16, 4, 4), 0.05), "nv_small")
    assert "n" in {node.name for node in package.cpu_nodes}


@pytest.mark.parametrize("kept", [["a", "b"], ["c", "d"], ["f"], ["e"], ["a", "b", "c", "d"], ["y"]])
def test_kept_nodes_run_in_fp16_in_one_loadable(kept: list[str], tmp_path: Path):
    path, feeds = write_convolutions(tmp_path / "m.onnx"), samples()[0]
    package = compiled(path, kept)
    assert package.whole is not None
    counts = package.whole.report.nodes_by_precision
    assert counts["fp16"] == len(kept)
    assert counts["int8"] == 7 - len(kept)
    precisions = {layer.precision for layer in package.whole.report.layers}
    assert "int8" in precisions
    assert precisions & {"fp16", "fp16 to int16"}
    package.write(tmp_path / "m.xpkg")
    (expected,) = ReferenceModel(path).run(feeds)
    for mode in ("fast", "exact"):
        found = load_package(tmp_path / "m.xpkg", mode=mode).run(feeds)["y"]
        assert cosine(found, expected) > 0.9995


@pytest.mark.parametrize("kept", ["a", "b", "c", "d", "e", "f", "r", "g", "y", "acf", "bdg"])
def test_any_node_may_run_in_fp16(kept: str, tmp_path: Path):
    path, feeds = write_convolutions(tmp_path / "m.onnx", BRANCHES, BRANCH_SHAPES), samples()[0]
    package = compiled(path, list(kept))
    assert package.whole is not None
    assert package.whole.report.nodes_by_precision == {"fp16": len(kept), "int8": 9 - len(kept)}
    package.write(tmp_path / "m.xpkg")
    (expected,) = ReferenceModel(path).run(feeds)
    found = load_package(tmp_path / "m.xpkg", mode="exact").run(feeds)["y"]
    assert cosine(found, expected) > 0.999


def test_more_nodes_in_fp16_are_more_accurate(tmp_path: Path):
    path, feeds = write_convolutions(tmp_path / "m.onnx"), samples()[0]
    (expected,) = ReferenceModel(path).run(feeds)
    errors: list[float] = []
    for kept in ([], ["a", "b", "c", "d", "e", "f", "y"]):
        compiled(path, kept).write(tmp_path / "m.xpkg")
        found = load_package(tmp_path / "m.xpkg").run(feeds)["y"]
        errors.append(float(np.abs(found - expected).max()))
    assert errors[1] < errors[0] / 10


def test_kept_nodes_run_on_the_cpu_without_fp16(tmp_path: Path):
    package = compiled(write_convolutions(tmp_path / "m.onnx"), ["c", "d"], "nv_small")
    assert {node.name: node.reason for node in package.cpu_nodes}["c"] == "it is kept in float"


def test_the_largest_integers_do_not_overflow_in_winograd(tmp_path: Path):
    """Its transform adds four numbers in FP16, before the convolution's pass scales the sums."""
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 13]>
        network (float[1, 128, 28, 28] x) => (float[1, 128, 28, 28] y) {
          a = Relu(x)
          y = Conv<pads = [1, 1, 1, 1]>(a, w)
        }"""
    )
    generator = np.random.default_rng(5)
    weights = (generator.standard_normal((128, 128, 3, 3)) / 34).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    feeds = {"x": np.where(generator.uniform(size=(1, 128, 28, 28)) < 0.1, 0, 12.7).astype(np.float32)}

    def ranges(module: ModuleOp) -> Ranges:
        keep_float(module, ["y"])
        return calibrate_module(module, [feeds])

    compilation = compile_model(tmp_path / "m.onnx", calibrate=ranges)
    assert any(layer.is_winograd for layer in compilation.report.layers)
    (found,) = Simulator(compilation.loadable, load_target("nv_full")).run([feeds["x"]])
    (expected,) = ReferenceModel(tmp_path / "m.onnx").run(feeds)
    assert cosine(found.numbers, expected) > 0.9999


def test_rows_times_a_matrix_are_faster_on_the_cpu(tmp_path: Path):
    """Each of the 20 rows would take a layer with weights of its own."""
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 13]>
        network (float[1, 20, 120] x) => (float[1, 20, 360] y) { a = Relu(x) y = MatMul(a, w) }"""
    )
    weights = np.random.default_rng(2).standard_normal((120, 360)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())

    def ranges(module: ModuleOp) -> Ranges:
        keep_float(module, ["y"])
        return calibrate_module(module, [{"x": np.ones((1, 20, 120), np.float32)}])

    package = compile_package(tmp_path / "m.onnx", "nv_full", calibrate=ranges)
    reasons = [node.reason for node in package.cpu_nodes]
    assert any("in fp16 it takes" in reason and "more than the CPU needs" in reason for reason in reasons)


def test_the_explanation_names_precisions(tmp_path: Path):
    path = write_normalization(tmp_path / "m.onnx", (1, 32, 4, 4), 0.05)
    nodes = {node.node: node for node in explain_model(path).nodes}
    assert nodes["n"].precision == "fp16"
    assert nodes["q"].precision is None
