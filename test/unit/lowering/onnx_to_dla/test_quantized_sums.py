"""Sums of many, factors of zero, products of numbers with zeros: bit for bit, or against floats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

from oracles.nvdla.quantized_reference import QuantizedReference
from oracles.nvdla.sweep import PlannedLayers
from xonnc.calibration import calibrate_module
from xonnc.compiler import compile_model
from xonnc.errors import RefusalError
from xonnc.explanation import explain_model
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.formats.nvdla.reader import parse_loadable
from xonnc.formats.nvdla.writer import to_bytes
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.reference import ReferenceModel as Onnxruntime
from xonnc.targets import load_target

Array = npt.NDArray[Any]
SHAPE = (1, 5, 4, 3)


def saved(
    folder: Path,
    nodes: Sequence[onnx.NodeProto],
    inputs: dict[str, Sequence[int]],
    constants: dict[str, Array],
) -> Path:
    """A model that gives `y`."""
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def rounded(
    folder: Path,
    nodes: Sequence[onnx.NodeProto],
    inputs: dict[str, tuple[Sequence[int], int]],
    constants: dict[str, Array] | None = None,
) -> Path:
    """Inputs with their zeros as `a`, `b` …, from what is read as `da`, `db` … to `c`, which is rounded."""
    held = {"s": np.array(0.03, np.float32), "t": np.array(0.021, np.float32), "n": np.array(5, np.int8)}
    around: list[onnx.NodeProto] = []
    for name, (_, zero) in inputs.items():
        held[f"z{name}"] = np.array(zero, np.int8)
        grid = ["s", f"z{name}"]
        around += [
            helper.make_node("QuantizeLinear", [name, *grid], [f"q{name}"], f"quantize_{name}"),
            helper.make_node("DequantizeLinear", [f"q{name}", *grid], [f"d{name}"], f"read_{name}"),
        ]
    after = [
        helper.make_node("QuantizeLinear", ["c", "t", "n"], ["r"], "round"),
        helper.make_node("DequantizeLinear", ["r", "t", "n"], ["y"], "give"),
    ]
    shapes = {name: shape for name, (shape, _) in inputs.items()}
    return saved(folder, [*around, *nodes, *after], shapes, held | (constants or {}))


def is_exact(path: Path, target: str) -> bool:
    """Whether the simulator gives the integers of the reference; that one is near onnxruntime's numbers."""
    hardware = load_target(target)
    simulator = Simulator(parse_loadable(to_bytes(compile_model(path, target).loadable)), hardware)
    model = onnx.ModelProto.FromString(path.read_bytes())
    generator = np.random.default_rng(4)
    feeds = {
        port.name: generator.standard_normal([one.dim_value for one in port.type.tensor_type.shape.dim])
        for port in model.graph.input
    }
    feeds = {name: array.astype(np.float32) for name, array in feeds.items()}
    (found,) = simulator.run([feeds[port.name].reshape(port.shape) for port in simulator.inputs])
    (expected,) = QuantizedReference(model, PlannedLayers(hardware)).run(feeds)
    (floats,) = Onnxruntime(path).run(feeds)
    assert np.abs((expected - 5) * 0.021 - floats).max() <= 0.0211
    return np.array_equal(found.tensor.reshape(expected.shape), expected)


MUL = helper.make_node("Mul", ["da", "db"], ["c"], "mul")


@pytest.mark.parametrize("zeros", [(3, 4), (-128, 127), (0, -9), (-20, 0)])
@pytest.mark.parametrize("other", [SHAPE, (1, 5, 1, 1)])
@pytest.mark.parametrize("target", ["nv_large", "nv_full", "nv_medium_1024_full"])
def test_products_of_numbers_with_zeros(
    zeros: tuple[int, int], other: tuple[int, ...], target: str, tmp_path: Path
):
    path = rounded(tmp_path, [MUL], {"a": (SHAPE, zeros[0]), "b": (other, zeros[1])})
    assert is_exact(path, target)


@pytest.mark.parametrize("target", ["nv_small", "nv_full"])
def test_a_sum_in_the_pass_of_a_product(target: str, tmp_path: Path):
    """What is added has 32 times the unit of the product."""
    nodes = [
        helper.make_node("Mul", ["da", "db"], ["m"], "mul"),
        helper.make_node("Add", ["m", "dd"], ["c"], "add"),
    ]
    inputs: dict[str, tuple[Sequence[int], int]] = dict.fromkeys("abd", (SHAPE, 0))
    assert is_exact(rounded(tmp_path, nodes, inputs, {"s": np.array(2**-5, np.float32)}), target)


FACTORS = np.array([0.5, 0.0, -1.2, 0.0, 2.0], np.float32)


@pytest.mark.parametrize("factors", [FACTORS.reshape(5, 1, 1), np.array(0, np.float32)])
@pytest.mark.parametrize("target", ["nv_small", "nv_full"])
def test_factors_of_zero(factors: Array, target: str, tmp_path: Path):
    nodes = [
        helper.make_node("Mul", ["da", "f"], ["m"], "mul"),
        helper.make_node("Add", ["m", "g"], ["c"], "add"),
    ]
    constants = {"f": factors, "g": np.linspace(-1, 1, 5).astype(np.float32).reshape(5, 1, 1)}
    assert is_exact(rounded(tmp_path, nodes, {"a": (SHAPE, 7)}, constants), target)


@pytest.mark.parametrize("target", ["nv_small", "nv_full"])
def test_normalisations_that_scale_by_zero(target: str, tmp_path: Path):
    names = ["f", "g", "m", "v"]
    node = helper.make_node("BatchNormalization", ["da", *names], ["c"], "norm")
    numbers = [FACTORS, FACTORS + 1, FACTORS / 2, np.abs(FACTORS) + 1]
    constants = {name: array.astype(np.float32) for name, array in zip(names, numbers, strict=True)}
    assert is_exact(rounded(tmp_path, [node], {"a": (SHAPE, -4)}, constants), target)


def test_a_factor_of_zero_before_a_sum(tmp_path: Path):
    nodes = [
        helper.make_node("Mul", ["da", "f"], ["m"], "mul"),
        helper.make_node("Add", ["m", "db"], ["c"], "add"),
    ]
    path = rounded(tmp_path, nodes, {"a": (SHAPE, 0), "b": (SHAPE, 0)}, {"f": FACTORS.reshape(5, 1, 1)})
    with pytest.raises(RefusalError, match="a multiplication by zero before an addition"):
        compile_model(path, "nv_small")


@pytest.mark.parametrize("factor", [0.5, 1.7])
@pytest.mark.parametrize("target", ["nv_small", "nv_full"])
def test_a_positive_factor_after_a_sum(factor: float, target: str, tmp_path: Path):
    nodes = [
        helper.make_node("Add", ["da", "db"], ["m"], "add"),
        helper.make_node("Mul", ["m", "f"], ["c"], "mul"),
    ]
    path = rounded(tmp_path, nodes, {"a": (SHAPE, 3), "b": (SHAPE, -20)}, {"f": np.array(factor, np.float32)})
    assert is_exact(path, target)


@pytest.mark.parametrize("factors", [np.array(-0.5, np.float32), FACTORS.reshape(5, 1, 1)])
def test_other_factors_after_a_sum(factors: Array, tmp_path: Path):
    nodes = [
        helper.make_node("Add", ["da", "db"], ["m"], "add"),
        helper.make_node("Mul", ["m", "f"], ["c"], "mul"),
    ]
    path = rounded(tmp_path, nodes, {"a": (SHAPE, 0), "b": (SHAPE, 0)}, {"f": factors})
    with pytest.raises(RefusalError, match="a factor after a clamp or a sum"):
        compile_model(path, "nv_small")


@pytest.mark.parametrize("target", ["nv_small", "nv_full"])
@pytest.mark.parametrize("op", ["Sum", "Mean"])
def test_sums_of_many(op: str, target: str, tmp_path: Path):
    """Each sum of two is rounded by a range of its own."""
    inputs: dict[str, Sequence[int]] = {"a": SHAPE, "b": SHAPE, "d": SHAPE, "e": SHAPE}
    nodes = [
        helper.make_node(op, list(inputs), ["c"], "many"),
        helper.make_node("Relu", ["c"], ["y"], "relu"),
    ]
    path = saved(tmp_path, nodes, inputs, {})
    generator = np.random.default_rng(4)
    feeds = {name: generator.standard_normal(shape).astype(np.float32) for name, shape in inputs.items()}

    def calibrate(module: ModuleOp) -> Ranges:
        return calibrate_module(module, [feeds])

    loadable = compile_model(path, target, None, calibrate).loadable
    simulator = Simulator(parse_loadable(to_bytes(loadable)), load_target(target))
    (found,) = simulator.run([feeds[port.name] for port in simulator.inputs])
    (expected,) = Onnxruntime(path).run(feeds)
    assert np.abs(found.numbers - expected).max() <= 0.02 * np.abs(expected).max()
    assert explain_model(path, target, calibrate).refusals == ()


def test_products_of_two_computed_matrices(tmp_path: Path):
    node = helper.make_node("MatMul", ["da", "db"], ["c"], "product")
    path = rounded(tmp_path, [node], {"a": ((2, 3), 0), "b": ((3, 4), 0)})
    with pytest.raises(RefusalError, match=r"A of shape \[2, 3\] is computed"):
        compile_model(path, "nv_small")
