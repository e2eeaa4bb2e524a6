"""The cost of loadables, from their descriptors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from xonnc.compiler import compile_model
from xonnc.formats.nvdla.performance import HardwareLayer, performance
from xonnc.formats.nvdla.reader import read_loadable
from xonnc.targets import load_target

LAYER = HardwareLayer(
    task=0,
    operations=(0, 1),
    engines=("CONV", "SDP"),
    macs=1000,
    peak_macs=10,
    mac_cycles=150,
    sdp_cycles=40,
    pooling_cycles=0,
    read_bytes=900,
    written_bytes=100,
    memory_cycles=100,
    start_cycles=50,
)


def test_a_layer_lasts_as_long_as_its_slowest_part():
    assert (LAYER.compute_cycles, LAYER.cycles, LAYER.bound) == (150, 200, "conv")
    assert LAYER.utilisation == 1000 / (10 * 200)
    assert LAYER.traffic_bytes == 1000


def test_the_small_model_by_hand(small_model: Callable[..., Path]):
    """A 3x3 convolution of 3 to 8 channels on 8x8, pooled on the fly, a layer of 128 to 5, softmax."""
    compilation = compile_model(small_model("small.onnx"), "nv_full")
    cost = performance(compilation.loadable, load_target("nv_full"))
    conv, layer, softmax = cost.layers
    assert conv.engines == ("CONV", "SDP", "PDP")
    # 64 positions, 9 taps, 8 cells; 16, 16 and 32 at a time.
    assert conv.mac_cycles == 9 * 64 + 48 + 32
    assert conv.sdp_cycles == 64 * 16 // 16
    assert conv.pooling_cycles == 64 * 16 // 8
    # Input 8x8, output 4x4, both in one surface of 32-byte atoms; 432 bytes of kernels in whole entries;
    # a bias of 32 bytes.
    assert conv.read_bytes == 64 * 32 + 512 + 32
    assert conv.written_bytes == 16 * 32
    assert conv.macs == 8 * 3 * 9 * 64
    # One position, 16 taps of one block of 8 channels, 5 kernels in 5 cells.
    assert layer.mac_cycles == 16 * 5 + 48 + 1
    assert softmax.engines == ("EMU",)
    assert softmax.compute_cycles == softmax.start_cycles == 0
    assert cost.cycles == conv.cycles + layer.cycles + softmax.cycles
    assert cost.milliseconds == cost.cycles / 1e6
    assert cost.compulsory_bytes == cost.traffic_bytes


def test_the_compiler_reports_the_same(small_model: Callable[..., Path], tmp_path: Path):
    compilation = compile_model(small_model("small.onnx"), "nv_full")
    path = tmp_path / "small.nvdla"
    compilation.write(path)
    cost = performance(read_loadable(path), load_target("nv_full"))
    reported = compilation.report
    assert [layer.node for layer in reported.layers] == ["pool1", "fc1", "prob"]
    assert (reported.cycles, reported.macs) == (cost.cycles, cost.macs)
    assert reported.performance.compulsory_bytes == cost.compulsory_bytes


@pytest.mark.parametrize("configuration", ["nv_full", "nv_large", "nv_small"])
def test_every_golden_vector_has_a_cost(configuration: str, vectors: Path):
    target = load_target(configuration)
    for file in sorted((vectors / configuration).glob("*/loadable.nvdla"))[::5]:
        cost = performance(read_loadable(file), target)
        assert cost.traffic_bytes > 0, file
        assert cost.milliseconds > 0, file
        assert all(0 <= layer.utilisation <= 1 for layer in cost.layers), file
        assert cost.boundary_bytes <= cost.compulsory_bytes, file


def test_weights_that_stay_are_read_once(vectors: Path):
    """Two pieces of a convolution, the second with the weights of the first."""
    target = load_target("nv_small")
    found = [
        performance(read_loadable(file), target)
        for file in sorted((vectors / "nv_small").glob("*reuse*/loadable.nvdla"))
    ]
    assert found
    assert any(
        len(cost.layers) > 1 and cost.layers[1].read_bytes < cost.layers[0].read_bytes for cost in found
    )
