"""Channels that come to use the steps of 8 bits alike: the network computes what it did, with less noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper, parser
from xdsl.dialects.builtin import ModuleOp

from xonnc.calibration import calibrate_module, open_model
from xonnc.compiler import run_frontend
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.ops.math import GemmOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.formats.nvdla.calibration import Range, Ranges
from xonnc.formats.onnx.exporter import export_proto
from xonnc.lowering.onnx_to_dla.quantization.quantize_onnx import equalized, equalized_and_quantized, quantize
from xonnc.lowering.quantization_statistics.quantization_error import measure_quantization_error
from xonnc.runtime.reference import ReferenceModel
from xonnc.simplifier import simplify

Array = npt.NDArray[Any]
Sample = Mapping[str, Array]

LOUD = np.array([1.0, 0.02, 7.0, 0.3, 0.1, 2.0], np.float32)
"""Channels that differ much."""

BRANCHES = """
    <ir_version: 8, opset_import: ["" : 17]>
    network (float[1, 3, 8, 8] x) => (float[1, 4] y) {
      a = Conv <pads = [1, 1, 1, 1]> (x, w1, b1)
      b = Relu (a)
      c = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (b)
      d = Reshape (c, s1)
      e = Transpose <perm = [0, 2, 1, 3, 4]> (d)
      f = Reshape (e, s2)
      g = Conv <group = 6, pads = [1, 1, 1, 1]> (f, w2)
      h = Conv (g, w3)
      i = Conv <group = 2> (g, w4)
      j = Add (h, i)
      k = GlobalAveragePool (j)
      l = Flatten (k)
      m = Gemm (l, w5, b5)
      n = Relu (m)
      y = Gemm <transB = 1> (n, w6)
    }
"""


def drawn(*shape: int, seed: int, scale: float | Array = 1.0) -> npt.NDArray[np.float32]:
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def by_output(shape: tuple[int, ...], seed: int) -> npt.NDArray[np.float32]:
    return drawn(*shape, seed=seed, scale=LOUD.reshape(-1, *(1,) * (len(shape) - 1)))


WEIGHTS: dict[str, Array] = {
    "w1": by_output((6, 3, 3, 3), 1),
    "b1": LOUD,
    "w2": by_output((6, 1, 3, 3), 2),
    "w3": drawn(6, 6, 1, 1, seed=3),
    "w4": drawn(6, 3, 1, 1, seed=4),
    "w5": drawn(6, 6, seed=5, scale=LOUD),
    "b5": LOUD + 1,
    "w6": drawn(4, 6, seed=6),
    "s1": np.array([1, 2, 3, 4, 4]),
    "s2": np.array([1, 6, 4, 4]),
}


def model(text: str, weights: Mapping[str, Array]) -> onnx.ModelProto:
    found = parser.parse_model(text)
    for name, array in weights.items():
        found.graph.initializer.append(numpy_helper.from_array(array, name))
    return found


def images(count: int, *shape: int) -> list[Sample]:
    generator = np.random.default_rng(9)
    return [{"x": generator.standard_normal(shape).astype(np.float32)} for _ in range(count)]


class Rounded:
    """A model before and after rounding, with the ranges that samples show, or those without channels."""

    def __init__(self, path: Path, samples: Sequence[Sample], *, tells_channels: bool = True):
        self.protos: dict[str, onnx.ModelProto] = {}
        self.ranges: Ranges = {}
        self._samples, self._tells = samples, tells_channels
        self.protos["rounded"] = export_proto(run_frontend(path, None, self._calibrate).module)

    def _calibrate(self, module: ModuleOp) -> Ranges:
        found = calibrate_module(module, self._samples, "minmax")
        if not self._tells:
            found = {name: Range(one.least, one.largest, one.means) for name, one in found.items()}
        self.ranges = found
        self.protos["floats"] = export_proto(module)
        self.protos["equalized"] = export_proto(equalized(module, found))
        return found

    def decibels(self, name: str, others: Sequence[Sample] = ()) -> float:
        """Signal to noise of a value, on the samples or others."""
        found = measure_quantization_error(
            self.protos["rounded"], self.protos["equalized"], others or self._samples, open_model
        )
        return next(one.signal_to_noise for one in found if one.name == name)

    def values(self, stage: str, name: str) -> Array:
        """What a value is for all samples."""
        proto = onnx.ModelProto()
        proto.CopyFrom(self.protos[stage])
        del proto.graph.output[:]
        proto.graph.output.append(onnx.ValueInfoProto(name=name))
        run = open_model(proto)
        return np.concatenate([run(sample)[0] for sample in self._samples])

    def run(self, stage: str, sample: Sample, path: Path) -> Array:
        """What the model gives."""
        path.write_bytes(self.protos[stage].SerializeToString())
        return ReferenceModel(path).run(sample)[0]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "model.onnx"
    found.write_bytes(model(BRANCHES, WEIGHTS).SerializeToString())
    return found


def test_the_network_computes_what_it_did(path: Path, tmp_path: Path):
    samples = images(4, 1, 3, 8, 8)
    found = Rounded(path, samples)
    for sample in samples:
        expected = found.run("floats", sample, tmp_path / "floats.onnx")
        changed = found.run("equalized", sample, tmp_path / "equalized.onnx")
        np.testing.assert_allclose(changed, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


def test_there_is_less_noise(path: Path):
    samples = images(16, 1, 3, 8, 8)
    plain = Rounded(path, samples, tells_channels=False).decibels("y")
    assert Rounded(path, samples).decibels("y") > plain + 6


def test_channels_become_alike(path: Path):
    """Each channel that a kernel of its own reads, and each mean, around zero, uses all steps."""
    found = Rounded(path, images(16, 1, 3, 8, 8))
    twin = {one.name: numpy_helper.to_array(one) for one in found.protos["equalized"].graph.initializer}
    nodes = {node.output[0]: node for node in found.protos["equalized"].graph.node}
    loudness = twin[nodes["a"].input[1]] / WEIGHTS["w1"]
    factors = loudness[:, 0, 0, 0]
    assert np.allclose(loudness, factors.reshape(-1, 1, 1, 1))
    peaks = factors * np.maximum(found.ranges["b"].highs, max(found.ranges["b"].highs) / 64)
    np.testing.assert_allclose(peaks, peaks.max(), rtol=1e-2)
    assert nodes["k"].op_type == "Conv"
    means = found.values("equalized", "k")
    np.testing.assert_allclose(means.min(axis=0), -means.max(axis=0), rtol=1e-3)


def test_channels_of_a_sum_become_alike(path: Path):
    """The operands of `j` share factors; what reads it has the inverse ones."""
    found = Rounded(path, images(16, 1, 3, 8, 8))
    peaks = np.abs(found.values("equalized", "j")).max(axis=(0, 2, 3))
    before = np.abs(found.values("floats", "j")).max(axis=(0, 2, 3))
    assert peaks.min() > 0.95 * peaks.max()
    assert before.min() < 0.5 * before.max()


ONE_PIXEL = """
    <ir_version: 8, opset_import: ["" : 17]>
    head (float[1, 32, 5, 5] x) => (float[1, 6, 1, 1] y) {{
      a = Conv <group = 32> (x, w1)
      b = {} (a)
      y = Conv (b, w2)
    }}
"""
PIXEL_WEIGHTS = {"w1": drawn(32, 1, 5, 5, seed=1), "w2": drawn(6, 32, 1, 1, seed=2)}


@pytest.mark.parametrize("op", ["Identity", "Relu"])
def test_channels_of_a_few_values_are_not_clipped_on_other_images(op: str, tmp_path: Path):
    """
    Four images give four values per channel, which other images exceed.

    Scaled by these values alone, the channels are clipped: 7 dB, and 8 with a ReLU.
    """
    (tmp_path / "head.onnx").write_bytes(model(ONE_PIXEL.format(op), PIXEL_WEIGHTS).SerializeToString())
    samples = images(64, 1, 32, 5, 5)
    assert Rounded(tmp_path / "head.onnx", samples[:4]).decibels("y", samples[4:]) > 16


KEPT = """
    <ir_version: 8, opset_import: ["" : 17]>
    network (float[1, 3, 8, 8] x) => (float[1, 6, 8, 8] y, float[1, 6, 8, 8] {0}) {{
      a = Conv <pads = [1, 1, 1, 1]> (x, w1, b1)
      b = {1}
      y = Conv <pads = [1, 1, 1, 1], group = 6> (b, w2)
      z = Neg (y)
    }}
"""


@pytest.mark.parametrize(
    ("output", "op", "stays"), [("z", "Relu (a)", False), ("b", "Relu (a)", True), ("z", "Sigmoid (a)", True)]
)
def test_what_others_read_and_what_bends_otherwise_stays(output: str, op: str, stays: bool, tmp_path: Path):
    path = tmp_path / "kept.onnx"
    path.write_bytes(model(KEPT.format(output, op), WEIGHTS).SerializeToString())
    found = Rounded(path, images(2, 1, 3, 8, 8)).protos["equalized"].graph
    (first,) = (node for node in found.node if node.output[0] == "a")
    held = {one.name: numpy_helper.to_array(one) for one in found.initializer}
    assert np.array_equal(held[first.input[1]], WEIGHTS["w1"]) == stays


def test_what_is_equalized_once_is_quantized_as_by_itself(path: Path):
    module = simplify(path).module
    ranges = calibrate_module(module, images(4, 1, 3, 8, 8), "minmax")
    ((function, _),), rounded = equalized_and_quantized(module, ranges)
    apart = module.clone()
    quantize(apart, ranges, DisposablePool())
    exact = function.parent_op()
    assert isinstance(exact, ModuleOp)
    assert export_proto(exact) == export_proto(equalized(module, ranges))
    assert export_proto(rounded) == export_proto(apart)


def test_means_of_samples_are_those_of_equalized_channels(path: Path):
    module = simplify(path).module
    samples = images(4, 1, 3, 8, 8)
    ((function, known),), _ = equalized_and_quantized(module, calibrate_module(module, samples))
    exact = function.parent_op()
    assert isinstance(exact, ModuleOp)
    linear = [op for op in function.walk() if isinstance(op, ConvOp | GemmOp)]
    proto = export_proto(exact)
    del proto.graph.output[:]
    proto.graph.output.extend(onnx.ValueInfoProto(name=known.name(op.Y)) for op in linear)
    results = list(zip(*map(open_model(proto), samples), strict=True))
    # The mean over the image has become a convolution.
    assert len(results) == len(linear) == 7
    for op, arrays in zip(linear, results, strict=True):
        means = known.of(op.Y)
        assert means is not None
        expected = [array.reshape(array.shape[1], -1).mean(axis=1) for array in arrays]
        np.testing.assert_allclose(means.sample_means, expected, rtol=1e-5, atol=1e-5)


JOINED = """
    <ir_version: 8, opset_import: ["" : 17]>
    network (float[1, 3, 8, 8] x) => (float[1, 4, 4, 4] y, float[1, 2, 4, 4] kept) {
      a = Conv <pads = [1, 1, 1, 1]> (x, w1, b1)
      b = LeakyRelu <alpha = 0.2> (a)
      c = Conv (b, w2)
      d = GlobalAveragePool (b)
      e = Conv (d, w2)
      f = Sigmoid (e)
      g = Mul (c, f)
      h = Add (g, b)
      i = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (h)
      j = Conv <strides = [2, 2]> (h, w3)
      kept = Relu (j)
      k = Concat <axis = 1> (i, j)
      y = Conv (k, w4)
    }
"""
JOINED_WEIGHTS: dict[str, Array] = {
    "w1": WEIGHTS["w1"],
    "b1": LOUD,
    "w2": drawn(6, 6, 1, 1, seed=2),
    "w3": drawn(2, 6, 2, 2, seed=3),
    "w4": drawn(4, 8, 1, 1, seed=4),
}


def test_channels_that_others_read_keep_their_scale(tmp_path: Path):
    """`b` and `h` share factors; `e`, of which a gate is made, and `j`, an output, have none."""
    path = tmp_path / "joined.onnx"
    path.write_bytes(model(JOINED, JOINED_WEIGHTS).SerializeToString())
    found = Rounded(path, images(8, 1, 3, 8, 8))
    for name in ("y", "kept", "e", "j"):
        expected, changed = (found.values(stage, name) for stage in ("floats", "equalized"))
        np.testing.assert_allclose(changed, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
    factors = found.values("equalized", "h") / found.values("floats", "h")
    assert np.ptp(np.median(factors, axis=(0, 2, 3))) > 1
    np.testing.assert_allclose(
        factors, found.values("equalized", "b") / found.values("floats", "b"), rtol=1e-3
    )


def test_corrections_of_biases_are_scaled_with_their_channels(tmp_path: Path):
    path = tmp_path / "joined.onnx"
    path.write_bytes(model(JOINED, JOINED_WEIGHTS).SerializeToString())
    module = simplify(path).module
    ranges = dict(calibrate_module(module, images(2, 1, 3, 8, 8)))
    ranges["a"] = replace(ranges["a"], bias_corrections=tuple((LOUD / 8).tolist()))
    biases: list[Array] = []
    for twin in (equalized(module, ranges), module):
        if twin is module:
            quantize(module, ranges, DisposablePool())
        graph = export_proto(twin).graph
        held = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
        biases.append(next(held[one.input[2]] for one in graph.node if one.output[0] == "a"))
    assert np.ptp(biases[0] / LOUD) > 1
    np.testing.assert_allclose(biases[1], biases[0] * 7 / 8, rtol=1e-4)


MEANS = """
    <ir_version: 8, opset_import: ["" : 17]>
    network (float[1, 4, 9, 9] x) => (float[1, 4, 9, 9] y) {{
      a = Conv (x, w)
      b = Relu (a)
      c = AveragePool <kernel_shape = [{0}, {0}], pads = [{1}, {1}, {1}, {1}], count_include_pad = {2}> (b)
      y = Relu (c)
    }}
"""


@pytest.mark.parametrize(
    ("size", "counts", "has_zero_point"), [(3, 0, True), (3, 1, True), (5, 0, False), (1, 1, True)]
)
def test_means_leave_a_zero_point_where_their_factors_are_exact(
    size: int, counts: int, has_zero_point: bool, tmp_path: Path
):
    """Means of 3x3 are divided by 4, 6 and 9, those of 5x5 by 15 also: 25 / 15 is rounded in 8 bits."""
    path = tmp_path / "means.onnx"
    given = model(MEANS.format(size, size // 2, counts), {"w": drawn(4, 4, 1, 1, seed=1)})
    path.write_bytes(given.SerializeToString())
    rounded = Rounded(path, images(2, 1, 4, 9, 9)).protos["rounded"].graph
    held = {one.name: numpy_helper.to_array(one) for one in rounded.initializer}
    held |= {
        one.output[0]: numpy_helper.to_array(one.attribute[0].t) for one in rounded.node if not one.input
    }
    (read,) = (one for one in rounded.node if one.op_type == "AveragePool")
    (pair,) = (one for one in rounded.node if one.output[0] == read.input[0])
    assert (held[pair.input[2]].dtype == np.uint8) == has_zero_point
