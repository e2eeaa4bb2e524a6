"""Convolutions by Winograd's algorithm: where they are used, their descriptors, and their numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from golden_vectors import FEW
from onnx import helper, numpy_helper

from oracles.nvdla import winograd
from xonnc.compiler import Compilation, compile_model
from xonnc.formats.nvdla.checks.loadable_check import findings
from xonnc.formats.nvdla.enumerations import ConvMode
from xonnc.formats.nvdla.reader import read_loadable
from xonnc.formats.nvdla.records import ConvOp, SdpOp
from xonnc.formats.nvdla.tasks import DlaTask, decode_tasks
from xonnc.runtime.nvdla.simulator import Mode, Simulator
from xonnc.runtime.reference import ReferenceModel
from xonnc.targets import FOLDER, NvdlaTarget, load_target

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Layer:
    """A 3x3 convolution with a bias, and a 1x1 convolution after it that reads its result."""

    channels: int
    kernels: int
    size: tuple[int, int]
    pads: tuple[int, int, int, int] = (1, 1, 1, 1)
    attributes: tuple[tuple[str, Any], ...] = ()

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return 1, self.channels, *self.size

    def model(self, weights: Numbers, bias: Numbers) -> onnx.ModelProto:
        attributes: dict[str, Any] = {"pads": self.pads, **dict(self.attributes)}
        nodes = [
            helper.make_node("Conv", ["x", "w", "b"], ["h"], "conv", **attributes),
            helper.make_node("Relu", ["h"], ["r"], "relu"),
            helper.make_node("Conv", ["r", "v"], ["y"], "last"),
        ]
        constants = {"w": weights, "b": bias, "v": np.eye(self.kernels)[:, :, None, None]}
        graph = helper.make_graph(
            nodes,
            "network",
            [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
            [numpy_helper.from_array(each.astype(np.float32), name) for name, each in constants.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@dataclass(frozen=True)
class Numbered:
    """A layer with numbers, compiled."""

    layer: Layer
    weights: Numbers
    bias: Numbers
    compilation: Compilation
    target: NvdlaTarget

    @property
    def operations(self) -> list[ConvOp]:
        return of_kind(self.compilation, ConvOp)

    def run(self, image: Numbers, mode: Mode = "exact") -> Numbers:
        assert findings(self.compilation.loadable, self.target) == []
        simulator = Simulator(self.compilation.loadable, self.target, mode=mode)
        return simulator.run([image.astype(np.float16)])[0].tensor.astype(np.float64)

    def expected(self, image: Numbers) -> Numbers:
        sums = winograd.convolution(image[0], self.weights, self.layer.pads)
        return np.maximum(sums + self.bias[:, None, None], 0)[None].astype(np.float64)


class Builder:
    """Compiles layers for nv_full beside a memory that is never too slow for larger weights."""

    def __init__(self, folder: Path):
        self._model = folder / "model.onnx"
        self.target = folder / "fast.toml"
        text = (FOLDER / "nv_full.toml").read_text()
        text = text.replace("dram_gb_per_s = 10", "dram_gb_per_s = 64")
        self.target.write_text(text.replace("memory_latency_cycles = 1200", "memory_latency_cycles = 10"))

    def compile(self, layer: Layer, weights: Numbers, bias: Numbers, target: str = "") -> Numbered:
        self._model.write_bytes(layer.model(weights, bias).SerializeToString())
        name = target or str(self.target)
        return Numbered(layer, weights, bias, compile_model(self._model, name), load_target(name))

    def random(self, layer: Layer, target: str = "") -> Numbered:
        generator = np.random.default_rng(layer.kernels)
        weights = generator.standard_normal((layer.kernels, layer.channels, 3, 3)) / np.sqrt(
            9 * layer.channels
        )
        # The model holds them in float32.
        weights = weights.astype(np.float32).astype(np.float64)
        return self.compile(layer, weights, generator.standard_normal(layer.kernels) / 4, target)


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    return Builder(tmp_path)


def of_kind(compilation: Compilation, kind: type[Any]) -> list[Any]:
    return [
        operation.op
        for task in decode_tasks(compilation.loadable)
        if isinstance(task, DlaTask)
        for operation in task.operations
        if isinstance(operation.op, kind)
    ]


def sparse_weights(layer: Layer, generator: np.random.Generator, density: float) -> Numbers:
    """Return weights of -4, 0 and 4, whose transformed kernels are integers."""
    shape = (layer.kernels, layer.channels, 3, 3)
    signs = generator.integers(-1, 2, shape) * (generator.random(shape) < density)
    return 4 * signs.astype(np.float64)


def unrounded(values: Numbers, step: float) -> Numbers:
    return values


def modes(numbered: Numbered) -> list[int]:
    return [op.conv_mode for op in numbered.operations]


SHAPES = {
    "whole tiles": Layer(64, 32, (16, 16)),
    "rows and columns over": Layer(64, 33, (14, 13)),
    "one channel over": Layer(65, 16, (12, 12)),
    "few channels": Layer(3, 40, (24, 20)),
    "no padding": Layer(64, 32, (18, 22), pads=(0, 0, 0, 0)),
    "padding on one side": Layer(48, 16, (15, 16), pads=(0, 2, 2, 0)),
    "wide padding": Layer(32, 16, (9, 9), pads=(3, 4, 5, 6)),
    "tiles of rows": Layer(128, 16, (56, 56)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_integers_have_the_exact_results(name: str, builder: Builder):
    layer = SHAPES[name]
    generator = np.random.default_rng(1)
    weights = sparse_weights(layer, generator, 0.1)
    found = builder.compile(layer, weights, generator.integers(-9, 10, layer.kernels).astype(np.float64))
    assert ConvMode.WINOGRAD in modes(found)
    image = generator.integers(-7, 8, layer.shape).astype(np.float64)
    expected = found.expected(image).astype(np.float16)
    for mode in ("exact", "fast"):
        np.testing.assert_array_equal(found.run(image, mode).reshape(expected.shape), expected)


@pytest.mark.parametrize("name", ["whole tiles", "rows and columns over"])
def test_the_transformed_input_is_rounded(name: str, builder: Builder, monkeypatch: pytest.MonkeyPatch):
    layer = SHAPES[name]
    generator = np.random.default_rng(2)
    weights = sparse_weights(layer, generator, 0.01)
    found = builder.compile(layer, weights, np.zeros(layer.kernels))
    # 11 bits each: sums of two and of four have to be rounded.
    image = generator.integers(-2047, 2048, layer.shape).astype(np.float64)
    results = found.run(image)
    expected = found.expected(image).astype(np.float16).astype(np.float64).reshape(results.shape)
    # The cells truncate products, which can decide a tie of the last rounding.
    assert np.count_nonzero(results != expected) <= 1
    monkeypatch.setattr(winograd, "rounded", unrounded)
    exact = found.expected(image).astype(np.float16).astype(np.float64).reshape(results.shape)
    assert np.count_nonzero(results != exact) > 100


@pytest.mark.parametrize("name", SHAPES)
def test_numbers_within_a_unit_of_the_last_place(name: str, builder: Builder):
    found = builder.random(SHAPES[name])
    assert ConvMode.WINOGRAD in modes(found)
    image = np.random.default_rng(3).standard_normal(found.layer.shape).astype(np.float16).astype(np.float64)
    expected = found.expected(image)
    results = found.run(image).reshape(expected.shape)
    tolerance = np.maximum(np.spacing(expected.astype(np.float16)), 2.0**-11 * expected.max())
    assert np.all(np.abs(results - expected) <= tolerance)


def test_descriptors_are_those_of_the_golden_vector(builder: Builder):
    loadable = read_loadable(FEW / "nv_full" / "conv_winograd_fp16" / "loadable.nvdla")
    (golden,) = [
        operation
        for task in decode_tasks(loadable)
        if isinstance(task, DlaTask)
        for operation in task.operations
        if isinstance(operation.op, ConvOp)
    ]
    layer = Layer(16, 12, (8, 8))
    found = builder.random(layer)
    first = found.operations[0]
    ours, theirs = asdict(first), asdict(golden.op)
    differing = {name for name in ours if ours[name] != theirs[name]}
    assert differing == {"data_bank", "weight_bank"}
    assert [op.conv_mode for op in of_kind(found.compilation, SdpOp)] == [ConvMode.WINOGRAD, ConvMode.DIRECT]


def test_fewer_cycles_are_predicted(builder: Builder):
    layer = Layer(128, 128, (28, 28))
    winograd_cycles = builder.random(layer).compilation.report.cycles
    text = builder.target.read_text()
    builder.target.write_text(text.replace("winograd = true", "winograd = false"))
    direct = builder.random(layer)
    assert set(modes(direct)) == {ConvMode.DIRECT}
    assert winograd_cycles < 0.7 * direct.compilation.report.cycles


@pytest.mark.parametrize(
    "layer",
    [
        Layer(64, 64, (28, 28), attributes=(("strides", (2, 2)),)),
        Layer(64, 64, (28, 28), attributes=(("dilations", (1, 2)),)),
    ],
)
def test_other_convolutions_are_direct(layer: Layer, builder: Builder):
    weights = np.ones((layer.kernels, layer.channels, 3, 3))
    assert set(modes(builder.compile(layer, weights, np.zeros(layer.kernels)))) == {ConvMode.DIRECT}


def test_weights_that_would_take_longer_to_load_stay_as_they_are(builder: Builder):
    # 512 kernels of 512 channels on 7x7 are bound by their weights, of which Winograd has 16/9 as many.
    assert set(modes(builder.random(Layer(512, 512, (7, 7)), "nv_full"))) == {ConvMode.DIRECT}


def test_kernels_that_would_be_infinite_stay_as_they_are(builder: Builder):
    layer = Layer(64, 64, (28, 28))
    weights = np.zeros((64, 64, 3, 3))
    weights[0, 0] = 40000
    assert set(modes(builder.compile(layer, weights, np.zeros(64)))) == {ConvMode.DIRECT}
    weights[0, 0] = 20000
    assert ConvMode.WINOGRAD in modes(builder.compile(layer, weights, np.zeros(64)))


NETWORKS = {
    "groups": ("y = Conv<group = 2, pads = [1, 1, 1, 1]>(x, w)", (1, 64, 12, 12), {"w": (64, 32, 3, 3)}, 1),
    "output": ("y = Conv<pads = [1, 1, 1, 1]>(x, w)", (1, 64, 12, 12), {"w": (32, 64, 3, 3)}, 1),
    "pooled on the fly": (
        "h = Conv<pads = [1, 1, 1, 1]>(x, w)\ny = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(h)",
        (1, 64, 14, 14),
        {"w": (32, 64, 3, 3)},
        0,
    ),
    "pooled": (
        "h = Conv<pads = [1, 1, 1, 1]>(x, w)\ny = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(h)",
        (1, 64, 14, 54),
        {"w": (32, 64, 3, 3)},
        1,
    ),
    "concatenated": (
        "h = Conv<pads = [1, 1, 1, 1]>(x, w)\ng = Conv(x, v)\ny = Concat<axis = 1>(g, h)",
        (1, 64, 12, 12),
        {"w": (32, 64, 3, 3), "v": (16, 64, 1, 1)},
        1,
    ),
    "added": (
        "h = Conv<pads = [1, 1, 1, 1]>(x, w)\ng = Conv<pads = [1, 1, 1, 1]>(h, v)\ny = Add(g, h)",
        (1, 64, 12, 12),
        {"w": (64, 64, 3, 3), "v": (64, 64, 3, 3)},
        1,
    ),
    "sliced and added": (
        "h = Conv<pads = [1, 1, 1, 1]>(x, w)\ng = Conv(h, v)\ny = Add(g, h)",
        (1, 64, 14, 13),
        {"w": (64, 64, 3, 3), "v": (64, 64, 1, 1)},
        1,
    ),
    "in a row": (
        "h = Conv<pads = [1, 1, 1, 1]>(x, w)\ng = Conv<pads = [1, 1, 1, 1]>(h, v)\ny = Conv(g, u)",
        (1, 64, 14, 13),
        {"w": (64, 64, 3, 3), "v": (64, 64, 3, 3), "u": (8, 64, 1, 1)},
        2,
    ),
    "parametric activation": (
        "h = Conv<pads = [1, 1, 1, 1]>(x, w)\ny = PRelu(h, s)",
        (1, 64, 12, 12),
        {"w": (32, 64, 3, 3), "s": (32, 1, 1)},
        1,
    ),
    "lookup table": (
        "h = Conv<pads = [1, 1, 1, 1]>(x, w)\ny = Sigmoid(h)",
        (1, 64, 12, 12),
        {"w": (32, 64, 3, 3)},
        1,
    ),
    # The SDP reads no single position with gaps around it.
    "single position added": (
        "h = Conv(x, w)\ng = Conv(h, v)\ny = Add(g, h)",
        (1, 3, 3, 3),
        {"w": (33, 3, 3, 3), "v": (33, 33, 1, 1)},
        0,
    ),
    # Rows and columns over would have to be copied.
    "output with rows over": (
        "y = Conv<pads = [1, 1, 1, 1]>(x, w)",
        (1, 64, 14, 12),
        {"w": (32, 64, 3, 3)},
        0,
    ),
    "one result for two readers": (
        "h = Conv<pads = [1, 1, 1, 1]>(x, w)\ny = Concat<axis = 1>(h, h)",
        (1, 64, 14, 12),
        {"w": (32, 64, 3, 3)},
        0,
    ),
    "one constant of two convolutions": (
        "h = Conv<pads = [1, 1, 1, 1]>(x, w)\ny = Conv<pads = [1, 1, 1, 1]>(h, w)",
        (1, 64, 12, 12),
        {"w": (64, 64, 3, 3)},
        0,
    ),
}
"""Nodes, shape of the input, weights, and how many convolutions are Winograd's."""


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name: str, builder: Builder, build: Callable[..., onnx.ModelProto], tmp_path: Path):
    nodes, shape, weights, count = NETWORKS[name]
    path = tmp_path / "network.onnx"
    path.write_bytes(build(nodes, shape, weights).SerializeToString())
    target = load_target(str(builder.target))
    compilation = compile_model(path, str(builder.target))
    assert findings(compilation.loadable, target) == []
    layers = [layer for layer in compilation.report.layers if layer.is_winograd]
    assert len({layer.node for layer in layers}) == count
    assert all(layer.engine_text == "CONV (Winograd)+SDP" for layer in layers)
    image = np.random.default_rng(4).standard_normal(shape).astype(np.float32)
    simulator = Simulator(compilation.loadable, target, mode="exact")
    (expected,) = ReferenceModel(path).run({"x": image})
    for _ in range(2):
        # A run must not depend on what the one before left in memory.
        (output,) = simulator.run([image])
        error = np.abs(output.numbers.reshape(expected.shape) - expected).max()
        assert error <= 4e-3 * np.abs(expected).max()
