"""Pairs that the engines do not take: a scale for each channel, and products with two zero points."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper, parser

from xonnc.calibration import calibrate_module
from xonnc.compiler import run_frontend
from xonnc.dialects.onnx.ops.math import ClipOp
from xonnc.dialects.onnx.ops.quantization import QuantizeLinearOp
from xonnc.formats.onnx.exporter import export_proto
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Array
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import elements
from xonnc.packages import compile_package
from xonnc.runtime.package import load_package
from xonnc.runtime.reference import ReferenceModel
from xonnc.targets import load_target

EXPORTS = Path(__file__).parents[4] / "data" / "exports"

CHANNELS = 4

HEAD = """<ir_version: 8, opset_import: ["" : 14]>
network (float[1, 4, 5, 5] x) => (float[1, 4, 5, 5] y)
    <float s = {{0.0625}}, int8 z = {{0}}, float zero = {{0}}, float six = {{6}}, float[1] ws = {{0.01}}> {{
  q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z)
  dw = DequantizeLinear<axis = 0>(w, {scale}, {weight_zero}) db = DequantizeLinear<axis = 0>(b, bs, )
  {body}
  r = QuantizeLinear(last, s, z) y = DequantizeLinear(r, s, z)
}}"""

FIRST = "c = Conv<pads = [1, 1, 1, 1]>(d, dw, db) "
CHANNEL_PAIR = "pq = QuantizeLinear<axis = 1>(a, cs, cz) p = DequantizeLinear<axis = 1>(pq, cs, cz) "
DEPTHWISE = "last = Conv<group = 4, pads = [1, 1, 1, 1]>(p, dv)"


def _write(path: Path, body: str, zeros: Array, scales: Array, is_wide: bool = True) -> None:
    """Write a network; `is_wide` gives the first weights a scale for each output."""
    random = np.random.default_rng(5)
    head = ("sw", "wz") if is_wide else ("ws", "z")
    model = parser.parse_model(HEAD.format(body=body, scale=head[0], weight_zero=head[1]))
    arrays: Mapping[str, Array] = {
        "w": random.integers(-100, 100, (CHANNELS, CHANNELS, 3, 3)).astype(np.int8),
        "sw": random.uniform(0.002, 0.01, CHANNELS).astype(np.float32),
        "wz": np.zeros(CHANNELS, np.int8),
        "b": random.integers(-200, 200, CHANNELS).astype(np.int32),
        "bs": random.uniform(0.002, 0.01, CHANNELS).astype(np.float32),
        "dv": random.uniform(-1, 1, (CHANNELS, 1, 3, 3)).astype(np.float32),
        "dense": random.uniform(-1, 1, (CHANNELS, CHANNELS, 3, 3)).astype(np.float32),
        "cs": scales.astype(np.float32),
        "cz": zeros,
        "us": np.array(1 / 255, np.float32),
        "uz": np.array(0, np.uint8),
    }
    model.graph.initializer.extend(numpy_helper.from_array(each, name) for name, each in arrays.items())
    path.write_bytes(model.SerializeToString())


SCALES = np.array([0.01, 0.022, 0.005, 0.0235])
ZEROS = np.zeros(CHANNELS, np.uint8)

EXACT = {
    "a bound that the integers have anyway": (f"{FIRST} a = Clip(c, zero, six)", ZEROS),
    "ReLU": (f"{FIRST} a = Relu(c)", ZEROS),
    "nothing": (f"{FIRST} a = Identity(c)", np.full(CHANNELS, 3, np.int8)),
}
"""Between a convolution and a pair with scales of channels; its zero points."""


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("is_wide", [False, True])
def test_factors_move_into_weights_exactly(name: str, is_wide: bool, tmp_path: Path):
    """The module, as ONNX again, gives the results of the model: integers do not change."""
    body, zeros = EXACT[name]
    path, legal = tmp_path / "model.onnx", tmp_path / "legal.onnx"
    _write(path, f"{body} {CHANNEL_PAIR} {DEPTHWISE}", zeros, SCALES, is_wide)
    front = run_frontend(path, nvdla=load_target("nv_small"))
    pairs = [op for op in front.module.walk() if isinstance(op, QuantizeLinearOp)]
    assert [_size(op) for op in pairs] == [1, 1, 1]
    assert not any(isinstance(op, ClipOp) for op in front.module.walk())
    legal.write_bytes(export_proto(front.module).SerializeToString())
    x = (np.random.default_rng(1).integers(-100, 100, (1, CHANNELS, 5, 5)) * 0.0625).astype(np.float32)
    (found,), (expected,) = ReferenceModel(legal).run({"x": x}), ReferenceModel(path).run({"x": x})
    assert len(np.unique(expected)) > 50
    np.testing.assert_array_equal(found, expected)


def _size(op: QuantizeLinearOp) -> int:
    scale = elements(op.y_scale)
    assert scale is not None
    return scale.size


WIDE = 10 * SCALES
"""Scales of ranges that cover the values."""

COVERED = {
    "a bound within the range": (f"{FIRST} a = Clip(c, zero, six)", DEPTHWISE, ZEROS, WIDE),
    "zero points of channels": (
        f"{FIRST} a = Relu(c)",
        DEPTHWISE,
        np.array([0, 9, 4, 30], np.uint8),
        WIDE,
    ),
    "a function": (f"{FIRST} a = HardSwish(c)", DEPTHWISE, ZEROS, WIDE),
    "a second reader": (
        f"{FIRST} a = Relu(c)",
        "e = Conv<group = 4, pads = [1, 1, 1, 1]>(p, dv) last = Add(e, c)",
        ZEROS,
        WIDE,
    ),
    "a reader of all channels": (
        f"{FIRST} a = Relu(c)",
        "last = Conv<pads = [1, 1, 1, 1]>(p, dense)",
        ZEROS,
        WIDE,
    ),
    "an input": ("a = Relu(x)", DEPTHWISE, ZEROS, WIDE),
    "a channel without values": (
        f"{FIRST} a = Relu(c)",
        DEPTHWISE,
        ZEROS,
        np.array([0.1, 0.22, 1e-9, 0.24]),
    ),
}
"""What is quantized and what reads it, where one scale makes a difference; zero points and scales."""


@pytest.mark.parametrize("name", COVERED)
def test_one_scale_covers_all_channels(name: str, tmp_path: Path):
    body, reader, zeros, scales = COVERED[name]
    path, package = tmp_path / "model.onnx", tmp_path / "model.xpkg"
    _write(path, f"{body} {CHANNEL_PAIR} {reader}", zeros, scales)
    xs = [(np.random.default_rng(1).integers(-60, 60, (1, CHANNELS, 5, 5)) * 0.0625).astype(np.float32)]
    measured = [{"x": x} for x in xs]
    compiled = compile_package(path, "nv_small", calibrate=lambda module: calibrate_module(module, measured))
    assert not compiled.cpu_nodes
    compiled.write(package)
    (expected,) = ReferenceModel(path).run({"x": xs[0]})
    difference = np.abs(load_package(package).run({"x": xs[0]})["y"] - expected)
    assert difference.mean() <= 0.02 * np.ptp(expected)


OTHERS = {
    "other scales to dequantize with": f"{FIRST} pq = QuantizeLinear<axis = 1>(c, cs, cz) "
    "p = DequantizeLinear<axis = 1>(pq, sw, cz) last = Neg(p)",
    "integers that are read": f"{FIRST} pq = QuantizeLinear<axis = 1>(c, cs, cz) p = Cast<to = 1>(pq) "
    "last = Neg(p)",
}
"""Pairs that stay as they are."""


@pytest.mark.parametrize("name", OTHERS)
def test_pairs_that_are_read_otherwise_stay(name: str, tmp_path: Path):
    path = tmp_path / "model.onnx"
    _write(path, OTHERS[name], ZEROS, SCALES)
    front = run_frontend(path, nvdla=load_target("nv_small"))
    sizes = {_size(op) for op in front.module.walk() if isinstance(op, QuantizeLinearOp)}
    assert sizes == {1, CHANNELS}


PRODUCTS = {
    "a gate of channels": "g = GlobalAveragePool(d) h = Sigmoid(g) gq = QuantizeLinear(h, us, uz) "
    "gd = DequantizeLinear(gq, us, uz) last = Mul(e, gd)",
    "a gate": "h = Sigmoid(d) gq = QuantizeLinear(h, us, uz) gd = DequantizeLinear(gq, us, uz) "
    "last = Mul(e, gd)",
    "a gate that is read twice": "h = Sigmoid(d) gq = QuantizeLinear(h, us, uz) "
    "gd = DequantizeLinear(gq, us, uz) m = Mul(gd, gd) mq = QuantizeLinear(m, s, z) "
    "md = DequantizeLinear(mq, s, z) n = Mul(e, gd) nq = QuantizeLinear(n, s, z) "
    "nd = DequantizeLinear(nq, s, z) last = Add(md, nd)",
}
"""Products of `e`, which has a zero point, and a sigmoid in uint8."""

OFFSET = "a = Relu(d) eq = QuantizeLinear(a, s, uz) e = DequantizeLinear(eq, s, uz) "


@pytest.mark.parametrize("name", PRODUCTS)
def test_one_factor_gets_zero_point_0(name: str, tmp_path: Path):
    path, package = tmp_path / "model.onnx", tmp_path / "model.xpkg"
    _write(path, OFFSET + PRODUCTS[name], ZEROS, SCALES)
    compiled = compile_package(path, "nv_small")
    assert not compiled.cpu_nodes
    compiled.write(package)
    x = (np.random.default_rng(1).integers(-60, 60, (1, CHANNELS, 5, 5)) * 0.0625).astype(np.float32)
    (expected,) = ReferenceModel(path).run({"x": x})
    difference = np.abs(load_package(package).run({"x": x})["y"] - expected)
    # Two steps of the result, and half a step of a gate that has half as many.
    assert difference.max() <= 2.01 * 0.0625
