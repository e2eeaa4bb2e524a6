"""The cost of nodes in float is what compiling them says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from onnx import numpy_helper
from xdsl.dialects.builtin import ModuleOp

from xonnc.calibration import calibrate_module
from xonnc.compiler import run_frontend
from xonnc.contexts import new_context
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.locations import node_name
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.lowering.onnx_to_dla.quantization.keep_float import computing_ops
from xonnc.lowering.onnx_to_dla.quantization.quantize_onnx import quantize
from xonnc.lowering.placement.float_costs import FloatCosts
from xonnc.lowering.placement.node_costs import (
    conversion_milliseconds,
    cpu_milliseconds,
    transfer_milliseconds,
)
from xonnc.packages import compile_package
from xonnc.targets import load_target

NETWORK = """
    <ir_version: 8, opset_import: ["": 17]>
    network (float[1, 16, 12, 12] x) => (float[1, 24, 12, 12] y) {
        [one] a = Conv <pads = [1, 1, 1, 1]> (x, w1)
        [two] b = Conv <pads = [1, 1, 1, 1]> (a, w2)
        [three] y = Conv <pads = [1, 1, 1, 1]> (b, w3)
    }
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    generator = np.random.default_rng(0)
    model = onnx.parser.parse_model(NETWORK)
    for name, shape in {"w1": (32, 16, 3, 3), "w2": (48, 32, 3, 3), "w3": (24, 48, 3, 3)}.items():
        values = generator.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
        model.graph.initializer.append(numpy_helper.from_array(values.astype(np.float32), name))
    found = tmp_path / "network.onnx"
    found.write_bytes(model.SerializeToString())
    return found


def ranges_of(module: ModuleOp) -> Ranges:
    sample = np.random.default_rng(1).standard_normal((1, 16, 12, 12)).astype(np.float32)
    return calibrate_module(module, [{"x": sample}])


def compiled_milliseconds(path: Path, target: str, is_integer: bool) -> float:
    package = compile_package(path, target, calibrate=ranges_of if is_integer else None)
    (compiled,) = package.compiled
    return compiled.report.milliseconds


@pytest.mark.parametrize("target", ["nv_full", "nv_small"])
def test_costs(path: Path, target: str):
    hardware, seen = load_target(target), list[bool]()

    def calibrate(module: ModuleOp) -> Ranges:
        ranges = ranges_of(module)
        cost = FloatCosts(
            module, target, new_context(), lambda twin: quantize(twin, ranges, DisposablePool())
        )
        ops = {node_name(op): op for op in computing_ops(module)}
        int8 = compiled_milliseconds(path, target, True)
        assert cost([]) == pytest.approx(int8, rel=1e-6)
        two, (a, b) = ops["two"], (ops[name].results[0] for name in ("one", "two"))
        if target == "nv_full":
            # All are in FP16, and nothing is converted.
            assert cost([*ops.values()]) == pytest.approx(
                compiled_milliseconds(path, target, False), rel=1e-6
            )
            bound = sum(conversion_milliseconds(value, hardware) for value in (a, b))
            assert bound < cost([two]) < int8 + bound + cpu_milliseconds(two)
        else:
            # The CPU computes the middle one, and two tensors go to and fro.
            moved = sum(transfer_milliseconds(value) for value in (a, b))
            assert cpu_milliseconds(two) + moved < cost([two]) < int8 + cpu_milliseconds(two) + moved
        seen.append(True)
        return ranges

    run_frontend(path, None, calibrate)
    assert seen == [True]


def test_another_runtime_has_transfers_alone(path: Path):
    def calibrate(module: ModuleOp) -> Ranges:
        cost = FloatCosts(module, "nv_full", new_context(), None)
        one, two, _ = computing_ops(module)
        assert cost([]) == 0
        crossing = sum(transfer_milliseconds(op.results[0]) for op in (one, two))
        assert cost([two]) == pytest.approx(cpu_milliseconds(two) + crossing)
        return ranges_of(module)

    run_frontend(path, None, calibrate)
