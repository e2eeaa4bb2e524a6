"""Branches in another order give the same bytes, in no more memory and fewer cycles by the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

from xonnc.compiler import Compilation, compile_model
from xonnc.formats.nvdla.calibration import Range, Ranges
from xonnc.formats.nvdla.checks.loadable_check import findings
from xonnc.lowering.dla import dla_order_branches
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.targets import load_target

TARGETS = {
    "nv_full": "fp16",
    "nv_large": "int8",
    "nv_medium_1024_full": "int8",
    "nv_medium_512": "int8",
    "nv_small_256": "int8",
    "nv_small_256_full": "int8",
    "nv_small": "int8",
}
REORDERED = ("nv_full", "nv_medium_512", "nv_small_256", "nv_small_256_full")
CHANNELS, SIDE = 195, 9
BRANCHES = ((13, 29), (21, 18), (8, 40))
"""Channels between the two convolutions of each branch, and of its result."""


def branching() -> onnx.ModelProto:
    """A convolution, three branches of two, their concatenation, and one more."""
    generator = np.random.default_rng(5)
    weights: dict[str, npt.NDArray[np.float32]] = {}

    def kernels(name: str, *shape: int) -> str:
        values = generator.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
        weights[name] = values.astype(np.float32)
        return name

    nodes = [
        helper.make_node("Conv", ["x", kernels("w", CHANNELS, 96, 1, 1)], ["a"], "wide"),
        helper.make_node("Conv", ["a", kernels("v", CHANNELS, CHANNELS, 1, 1)], ["b"], "first"),
    ]
    for index, (inner, outer) in enumerate(BRANCHES):
        name = f"branch{index}"
        reduced = kernels(f"{name}r", inner, CHANNELS, 1, 1)
        nodes += [
            helper.make_node("Conv", ["b", reduced], [f"{name}h"], f"{name}_reduce"),
            helper.make_node("Relu", [f"{name}h"], [f"{name}p"], f"{name}_relu"),
            helper.make_node(
                "Conv",
                [f"{name}p", kernels(f"{name}k", outer, inner, 3, 3)],
                [f"{name}y"],
                f"{name}_expand",
                pads=[1, 1, 1, 1],
            ),
        ]
    parts, total = [f"branch{index}y" for index in range(len(BRANCHES))], sum(o for _, o in BRANCHES)
    nodes += [
        helper.make_node("Concat", parts, ["c"], "joined", axis=1),
        helper.make_node("Conv", ["c", kernels("u", 11, total, 1, 1)], ["y"], "last"),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", 1, (1, 96, SIDE, SIDE - 2))],
        [helper.make_tensor_value_info("y", 1, None)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def compiled(path: Path, target: str) -> Compilation:
    names = ["x", "a", "b", "c", "y", *(f"branch{i}{part}" for i in range(len(BRANCHES)) for part in "hpy")]
    ranges: Ranges = {name: Range(-3.0, 3.0) for name in names}

    def calibrate(module: ModuleOp) -> Ranges:
        return ranges

    result = compile_model(path, target, calibrate=None if TARGETS[target] == "fp16" else calibrate)
    assert findings(result.loadable, load_target(target)) == []
    return result


def results(compilation: Compilation, target: str) -> npt.NDArray[np.generic]:
    simulator = Simulator(compilation.loadable, load_target(target), mode="exact")
    (bound,) = simulator.inputs
    values = np.random.default_rng(3).standard_normal(bound.model_shape)
    dtype = np.dtype(bound.element_types[0])
    feed = np.clip(values * 40, -128, 127).astype(dtype) if dtype.kind == "i" else values.astype(dtype)
    (output,) = simulator.run([feed])
    return output.tensor


@pytest.mark.parametrize("target", TARGETS)
def test_results_are_those_of_the_given_order(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "model.onnx"
    path.write_bytes(branching().SerializeToString())
    ordered = compiled(path, target)
    monkeypatch.setattr(dla_order_branches, "WINDOW", 1)
    given = compiled(path, target)
    nodes = [[layer.node for layer in each.report.layers] for each in (ordered, given)]
    if target in REORDERED:
        assert nodes[0] != nodes[1]
        assert ordered.report.cycles < given.report.cycles
    assert ordered.report.cycles <= given.report.cycles
    assert ordered.report.activation_bytes <= given.report.activation_bytes
    assert np.array_equal(results(ordered, target).view(np.uint8), results(given, target).view(np.uint8))
