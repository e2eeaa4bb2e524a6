"""The cost of loadables, from their descriptors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from xonnc.compiler import compile_model
from xonnc.formats.nvdla.cycles import ConvCycles, Demand
from xonnc.formats.nvdla.performance import CycleShares, HardwareLayer, cycle_shares, performance
from xonnc.formats.nvdla.reader import read_loadable
from xonnc.formats.nvdla.timeline import START_ACCESSES, Span
from xonnc.targets import load_target

LAYER = HardwareLayer(
    task=0,
    operations=(0, 1),
    engines=("CONV", "SDP"),
    macs=1000,
    peak_macs=10,
    read_bytes=900,
    written_bytes=100,
    prefetched_bytes=0,
    start=0,
    computes=50,
    end=200,
    cycles=200,
    compute_cycles=150,
    shares=CycleShares(load=50, multiply=120, credits=10, drain=20),
)


def test_what_most_cycles_go_to_bounds_a_layer():
    assert LAYER.bound == "multiply"
    assert LAYER.utilisation == 1000 / (10 * 200)
    assert LAYER.traffic_bytes == 1000


CYCLES = ConvCycles(multiply=100, compute=150, last_group=150, drain=20)


@pytest.mark.parametrize(
    ("demand", "span", "before", "expected"),
    [
        # After the end of all others at 10: loads until 60, computes 150 of which 50 lack places.
        (Demand(conv=CYCLES), Span(10, 60, 210, 230), 10, CycleShares(50, 100, 50, 0, 0, 20)),
        # Memory lengthens the computing by results, or by weights.
        (
            Demand(conv=CYCLES, results=90),
            Span(0, 0, 200, 220, 0, 100),
            0,
            CycleShares(0, 100, 50, 0, 50, 20),
        ),
        (Demand(conv=CYCLES, results=9), Span(0, 0, 200, 220, 0, 100), 0, CycleShares(50, 100, 50, 0, 0, 20)),
        # Half of it beside the layer before.
        (Demand(conv=CYCLES), Span(0, 50, 200, 220), 125, CycleShares(0, 50, 25, 0, 0, 20)),
        # Another engine, bound by itself and by memory.
        (Demand(elements=100), Span(0, 0, 150, 150), 0, CycleShares(elements=150)),
        (
            Demand(elements=100, streamed=300, results=100),
            Span(0, 0, 150, 400),
            0,
            CycleShares(load=300, results=100),
        ),
    ],
)
def test_shares_of_a_layer(demand: Demand, span: Span, before: float, expected: CycleShares):
    found = cycle_shares(demand, span, before)
    assert found == expected
    assert sum(found) == pytest.approx(span.end - before)


def test_the_small_model_by_hand(small_model: Callable[..., Path]):
    """A 3x3 convolution of 3 to 8 channels on 8x8, pooled on the fly, a layer of 128 to 5, softmax."""
    compilation = compile_model(small_model("small.onnx"), "nv_full")
    cost = performance(compilation.loadable, load_target("nv_full"))
    conv, layer, softmax = cost.layers
    assert conv.engines == ("CONV", "SDP", "PDP")
    # 64 positions in stripes of 16, 16 and 32, 9 taps, 8 cells.
    assert conv.compute_cycles == 9 * 64
    # Input 8x8, output 4x4, both in one surface of 32-byte atoms; 432 bytes of kernels in whole entries;
    # a bias of 32 bytes.
    assert conv.read_bytes == 64 * 32 + 512 + 32
    assert conv.written_bytes == 16 * 32
    assert conv.macs == 8 * 3 * 9 * 64
    # All but the bias is there before the first multiplication, at 10 bytes a cycle.
    assert conv.computes == round((64 * 32 + 512) / 10 + 1200 + 68)
    assert (conv.start, conv.cycles) == (0, conv.end)
    # One position, 16 taps of one block of 8 channels, 16 cells.
    assert layer.compute_cycles == 16 * 16
    assert layer.start == conv.end
    assert softmax.engines == ("EMU",)
    assert softmax.compute_cycles == 0
    assert cost.cycles == conv.cycles + layer.cycles + softmax.cycles == softmax.end
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


def test_the_firmware_takes_its_time(small_model: Callable[..., Path]):
    target = load_target("nv_full")
    loadable = compile_model(small_model("small.onnx"), "nv_full").loadable
    alone, with_firmware = performance(loadable, target), performance(loadable, target, register_cycles=10)
    # Between the two layers, the second of which reads the first's result.
    assert with_firmware.cycles - alone.cycles == START_ACCESSES * 10
    assert (alone.register_cycles, with_firmware.register_cycles) == (0, 10)
    assert not alone.is_measured
