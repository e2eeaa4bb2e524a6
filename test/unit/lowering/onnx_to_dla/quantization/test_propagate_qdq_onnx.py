"""Networks that lack QDQ pairs, as tools for training and calibration write them, on NVDLA."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser
from xdsl.dialects.builtin import ModuleOp

from xonnc.calibration import calibrate_module
from xonnc.compiler import run_frontend
from xonnc.dialects.onnx.ops.math import ClipOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array
from xonnc.packages import compile_package
from xonnc.runtime.package import load_package
from xonnc.runtime.reference import ReferenceModel
from xonnc.targets import load_target

EXPORTS = Path(__file__).parents[4] / "data" / "exports"
DEMO = Path(__file__).parents[5] / "tools" / "demo_data"

STEP = 0.0625

HEAD = """<ir_version: 8, opset_import: ["" : 13]>
network (float[1, 8, 6, 6] x) => (float[N] y)
    <float s = {{0.0625}}, float ws = {{0.002}}, int8 z = {{0}}, int8 third = {{3}}, float zero = {{0}},
     float six = {{6}}, int64[2] parts = {{4, 4}}, float[4] twice = {{1, 1, 2, 2}}> {{
  dw = DequantizeLinear(w, ws, z) dv = DequantizeLinear(v, ws, z) du = DequantizeLinear(u, ws, z)
  q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z)
  {body}
  r = QuantizeLinear(last, s, z) y = DequantizeLinear(r, s, z)
}}"""

CONV = "{1} = Conv<pads = [1, 1, 1, 1]>({0}, dw)"
PAIR = "{1}q = QuantizeLinear({0}, s, z) {1} = DequantizeLinear({1}q, s, z)"


def conv(source: str, result: str) -> str:
    """A convolution."""
    return CONV.format(source, result)


def pair(source: str, result: str) -> str:
    """A QDQ pair."""
    return PAIR.format(source, result)


FIRST = f"{conv('d', 'c')} {pair('c', 'p')} "
"""What fake quantization leaves: a convolution with a pair after it."""

LAST = conv("a", "last")

BODIES: Mapping[str, tuple[str, float]] = {
    "a Relu after a pair": (f"{FIRST} a = Relu(p) {LAST}", 1),
    "a Relu after the input's pair": (f"a = Relu(d) {LAST}", 1),
    "a Relu after the input's pair with a zero point": (
        f"xq = QuantizeLinear(x, s, third) b = DequantizeLinear(xq, s, third) a = Relu(b) {LAST}",
        1,
    ),
    "a Relu before a function": (f"{conv('d', 'c')} e = Relu(c) g = Tanh(e) {pair('g', 'a')} {LAST}", 4),
    "a Relu, and a second reader": (f"{FIRST} a = Relu(p) {conv('a', 'b')} last = Add(b, p)", 1),
    "a Relu in a residual": (f"{FIRST} a = Relu(p) {conv('a', 'b')} {pair('b', 'e')} last = Add(e, a)", 1),
    "a bound between two numbers": (f"{FIRST} a = Clip(p, zero, six) {LAST}", 2),
    "MaxPool": (f"{FIRST} a = MaxPool<kernel_shape = [2, 2], strides = [1, 1]>(p) {LAST}", 1),
    "DepthToSpace": (
        f"{FIRST} b = DepthToSpace<blocksize = 2>(p) last = Conv<pads = [1, 1, 1, 1]>(b, dv)",
        1,
    ),
    "Resize": (
        f'{FIRST} a = Resize<mode = "nearest", nearest_mode = "floor", '
        f'coordinate_transformation_mode = "asymmetric">(p, , twice) {LAST}',
        1,
    ),
    "AveragePool": (f"{FIRST} a = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(p) {LAST}", 2),
    "a mean and Flatten": (
        f"{FIRST} g = GlobalAveragePool(p) f = Flatten(g) last = Gemm<transB = 1>(f, du)",
        2,
    ),
    "Split": (
        f"{FIRST} e, f = Split<axis = 1>(p, parts) g = Relu(f) "
        f"h = Conv<pads = [1, 1, 1, 1]>(g, dv) {pair('h', 'k')} l = Conv<pads = [1, 1, 1, 1]>(e, dv) "
        "last = Add(l, k)",
        2,
    ),
    "SiLU": (f"{FIRST} g = Sigmoid(p) a = Mul(p, g) {LAST}", 3),
    "SiLU before its pair": (f"{conv('d', 'c')} g = Sigmoid(c) b = Mul(c, g) {pair('b', 'a')} {LAST}", 4),
    "LeakyRelu": (f"{FIRST} a = LeakyRelu<alpha = 0.1>(p) {LAST}", 3),
    "a gate": (
        f"{FIRST} g = GlobalAveragePool(p) h = Sigmoid(g) a = Mul(p, h) {pair('a', 'b')} {conv('b', 'last')}",
        3,
    ),
    "a concatenation": (
        f"{FIRST} e = Relu(p) f = Neg(p) g = Concat<axis = 1>(e, f) last = Conv<pads = [1, 1, 1, 1]>(g, dx)",
        3,
    ),
    "a normalization of a concatenation": (
        f"{FIRST} e = Relu(p) f = Concat<axis = 1>(e, p) "
        "g = BatchNormalization<epsilon = 0.0>(f, gamma, beta, beta, gamma) h = Relu(g) "
        f"{pair('h', 'i')} last = Conv<pads = [1, 1, 1, 1]>(i, dx)",
        2,
    ),
    "a normalization without a pair": (
        f"{FIRST} e = Relu(p) f = Concat<axis = 1>(e, p) "
        "g = BatchNormalization<epsilon = 0.5>(f, gamma, beta, beta, gamma) "
        "last = Conv<pads = [1, 1, 1, 1]>(g, dx)",
        4,
    ),
    "a residual before pairs": (
        f"{conv('d', 'c')} e = Relu(c) {pair('e', 'f')} {conv('f', 'g')} h = Add(g, e) {pair('h', 'a')} "
        f"{LAST}",
        3,
    ),
    "a transpose before its pair": (
        f"{conv('d', 'c')} e = Transpose<perm = [0, 1, 3, 2]>(c) f = Transpose<perm = [0, 1, 3, 2]>(e) "
        f"{pair('f', 'a')} {LAST}",
        1,
    ),
    "an input with two readers": (f"{conv('d', 'b')} last = Add(b, x)", 1),
    "an input that is clamped": (f"e = Clip(x, zero, six) {pair('e', 'a')} {LAST}", 2),
}
"""Networks that compile as a whole, and by how many steps of the result they may differ from ONNX."""


def _write(body: str, path: Path, random: np.random.Generator, more: str = "") -> None:
    model = parser.parse_model(HEAD.format(body=body).replace("<float s", f"<{more}float s"))
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    weights = {"w": (8, 8, 3, 3), "v": (8, 4, 3, 3) if "Split" in body else (8, 2, 3, 3), "u": (4, 8)}
    if "dx" in body:
        weights["dx_integers"] = (8, 16, 3, 3)
        model.graph.node.insert(0, helper.make_node("DequantizeLinear", ["dx_integers", "ws", "z"], ["dx"]))
    model.graph.initializer.extend(
        numpy_helper.from_array(random.integers(-100, 100, shape).astype(np.int8), name)
        for name, shape in weights.items()
    )
    if "gamma" in body:
        given = {"gamma": random.uniform(0.5, 1.5, 16), "beta": random.uniform(-1, 1, 16)}
        initializers = (
            numpy_helper.from_array(each.astype(np.float32), name) for name, each in given.items()
        )
        model.graph.initializer.extend(initializers)
    path.write_bytes(onnx.shape_inference.infer_shapes(model).SerializeToString())


@pytest.mark.parametrize("target", ["nv_small", "nv_full"])
@pytest.mark.parametrize("name", BODIES)
def test_the_whole_network_runs_on_the_engines(name: str, target: str, tmp_path: Path):
    body, steps = BODIES[name]
    random = np.random.default_rng(7)
    path, package = tmp_path / "model.onnx", tmp_path / "model.xpkg"
    _write(body, path, random)
    compiled = compile_package(path, target)
    assert not compiled.cpu_nodes
    compiled.write(package)
    loaded, reference = load_package(package), ReferenceModel(path)
    for _ in range(2):
        x = (random.integers(-40, 40, (1, 8, 6, 6)) * STEP).astype(np.float32)
        (expected,) = reference.run({"x": x})
        difference = np.abs(loaded.run({"x": x})["y"] - expected)
        assert difference.max() <= (steps + 0.01) * STEP
        assert difference.mean() <= 0.5 * STEP


def _measure(xs: Sequence[Array]) -> Callable[[ModuleOp], Ranges]:
    return lambda module: calibrate_module(module, [{"x": x} for x in xs])


BETWEEN = f"{FIRST} a = Clip(p, zero, six) {LAST}"


def test_a_clip_at_no_integer_stays_behind_its_pair(tmp_path: Path):
    """Six is between two steps of a quarter more: before the pair, a clip would give other numbers."""
    path = tmp_path / "model.onnx"
    for scale, first in (("0.0625", "Clip"), ("0.078125", "QuantizeLinear")):
        _write(BETWEEN.replace("s, z", "t, z", 2), path, np.random.default_rng(7), f"float t = {{{scale}}}, ")
        front = run_frontend(path, nvdla=load_target("nv_small"))
        (clip,) = (op for op in front.module.walk() if isinstance(op, ClipOp))
        maker = clip.input.owner
        assert isinstance(maker, ConvOp if first == "Clip" else DequantizeLinearOp)


def test_other_targets_have_the_pairs_of_the_model(tmp_path: Path):
    path = tmp_path / "model.onnx"
    _write(BODIES["a residual before pairs"][0], path, np.random.default_rng(7))
    assert run_frontend(path).inserted_pairs == 0
    assert run_frontend(path, nvdla=load_target("nv_small")).inserted_pairs == 1


UNKNOWN = {
    "a mean of what has no pair": (
        f"{conv('d', 'c')} g = GlobalAveragePool(c) f = Flatten(g) last = Gemm<transB = 1>(f, du)"
    ),
    "a slope that reaches far": f"{conv('d', 'c')} b = LeakyRelu<alpha = 0.05>(c) {pair('b', 'a')} {LAST}",
    "two convolutions, added": f"{conv('d', 'c')} e = Conv<pads = [1, 1, 1, 1]>(d, dw) a = Add(c, e) {LAST}",
}
"""Networks with a value whose range only a calibration tells."""


@pytest.mark.parametrize("name", UNKNOWN)
def test_only_calibration_tells_a_range(name: str, tmp_path: Path):
    random = np.random.default_rng(7)
    path, package = tmp_path / "model.onnx", tmp_path / "model.xpkg"
    _write(UNKNOWN[name], path, random)
    refused = compile_package(path, "nv_small")
    assert any("not quantized" in node.reason and "or calibrate" in node.reason for node in refused.cpu_nodes)
    xs = [(random.integers(-40, 40, (1, 8, 6, 6)) * STEP).astype(np.float32) for _ in range(4)]
    compiled = compile_package(path, "nv_small", calibrate=_measure(xs))
    assert not compiled.cpu_nodes
    compiled.write(package)
    (expected,) = ReferenceModel(path).run({"x": xs[0]})
    difference = np.abs(load_package(package).run({"x": xs[0]})["y"] - expected)
    assert difference.mean() <= 2 * STEP


REAL = {
    "torch_qat": (0, 0.03),
    "modelopt_torch": (1, 0.03),
    "modelopt_torch_silu": (1, 0.03),
    "modelopt_onnx": (2, 0.03),
    "brevitas": (1, 0.02),
    "nncf_depthwise": (1, 0.02),
    "nncf_gate": (28, 0.02),
}
"""
What tools write (`test/data/exports/README.md`): the nodes on the CPU without calibration, a Gemm whose
result is a float and gates without pairs, and the largest mean difference from ONNX, relative to the spread
of the results.
"""


@pytest.mark.parametrize("name", REAL)
def test_exports_run_on_the_engines(name: str, tmp_path: Path):
    on_cpu, tolerance = REAL[name]
    path, package = EXPORTS / f"{name}.onnx", tmp_path / "model.xpkg"
    random = np.random.default_rng(3)
    size = 16 if name == "torch_qat" else 32
    xs = [random.standard_normal((1, 3, size, size)).astype(np.float32) for _ in range(4)]
    for given in (None, _measure(xs)):
        compiled = compile_package(path, "nv_small", calibrate=given)
        assert len(compiled.cpu_nodes) == (0 if given else on_cpu)
        assert len(compiled.compiled) == 1 or not given
        compiled.write(package)
        loaded, reference = load_package(package), ReferenceModel(path)
        expected = np.concatenate([reference.run({"x": x})[0] for x in xs])
        found = np.concatenate([loaded.run({"x": x})["y"] for x in xs])
        assert np.abs(found - expected).mean() <= tolerance * expected.std()


def test_what_an_inserted_pair_ends_is_refused_with_the_reason(tmp_path: Path):
    text = """<ir_version: 8, opset_import: ["" : 13]>
    network (float[1, 8] x) => (float[1, 4] y)
        <float s = {0.0625}, float ws = {1e-17}, int8 z = {0}, float[4] b = {1, 2, 3, 4}> {
      dw = DequantizeLinear(w, ws, z) q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z)
      y = Gemm<transB = 1>(d, dw, b)
    }"""
    model = parser.parse_model(text)
    model.graph.initializer.append(numpy_helper.from_array(np.ones((4, 8), np.int8), "w"))
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    compiled = compile_package(path, "nv_small", calibrate=_measure([np.ones((1, 8), np.float32)]))
    reasons = {node.operator: node.reason for node in compiled.cpu_nodes}
    assert "a bias of" in reasons["Gemm"]


def test_a_trained_network_that_modelopt_quantized(tmp_path: Path):
    """Handwritten digits: the classes are those of the float network, with all of it on the engines."""
    data = np.load(DEMO / "digits.npz")
    images, labels = data["images"][:60].astype(np.float32), data["labels"][:60]
    calibration = [{"image": each[None].astype(np.float32)} for each in data["calibration"]]
    path, package = EXPORTS / "modelopt_digits.onnx", tmp_path / "model.xpkg"
    compiled = compile_package(
        path, "nv_small", calibrate=lambda module: calibrate_module(module, calibration)
    )
    assert not compiled.cpu_nodes
    compiled.write(package)
    loaded, floats = load_package(package), ReferenceModel(DEMO / "digits.onnx")
    found = [int(np.argmax(next(iter(loaded.run({"image": each[None]}).values())))) for each in images]
    exact = [int(np.argmax(floats.run({"image": each[None]})[0])) for each in images]
    assert np.mean(np.equal(found, exact)) >= 0.98
    assert np.mean(np.equal(found, labels)) >= 0.97
