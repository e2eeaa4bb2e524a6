"""The memory map of a loadable beside the plan of which it was made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx.parser

from xonnc.compiler import compile_model
from xonnc.lowering.dla.loadable_memory_map import memory_map
from xonnc.targets import load_target

SmallModel = Callable[..., Path]


def test_results_live_until_their_last_reader_and_stay_apart(small_model: SmallModel):
    compiled = compile_model(small_model("small.onnx"), "nv_full")
    found = memory_map(compiled.loadable, load_target("nv_full"))
    report = compiled.report
    assert found.peak is not None
    assert 0 < found.peak <= report.activation_peak
    assert found.peak <= found.size
    assert found.size - report.activation_bytes in range(4096), "whole pages"
    assert [step.split(": ")[1] for step in found.steps] == ["CONV+SDP+PDP", "CONV+SDP", "EMU"]
    for one in found.buffers:
        for other in found.buffers:
            is_together = one.first < other.last and other.first < one.last
            is_over = one.offset < other.offset + other.size and other.offset < one.offset + one.size
            assert one is other or not (is_together and is_over)


def test_memory_that_is_overwritten_is_another_result(tmp_path: Path):
    pools = [f"v{n + 1} = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (v{n})" for n in range(5)]
    graph = f"g (float[1,8,9,9] v0) => (float[1,8,9,9] v5) {{ {' '.join(pools)} }}"
    path = tmp_path / "chain.onnx"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 13]> {graph}')
    path.write_bytes(model.SerializeToString())
    found = memory_map(compile_model(path, "nv_full").loadable, load_target("nv_full"))
    assert [(each.first, each.last) for each in found.buffers] == [(0, 1), (1, 2), (2, 3), (3, 4)]
    first, second, third, fourth = (each.offset for each in found.buffers)
    assert (first, second) == (third, fourth)
    assert found.peak == 2 * found.buffers[0].size
