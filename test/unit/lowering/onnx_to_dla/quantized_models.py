"""Models of operators between QDQ pairs, simulated beside the exact reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from oracles.nvdla.quantized_reference import QuantizedReference
from oracles.nvdla.sweep import PlannedLayers
from xonnc.compiler import compile_model
from xonnc.formats.nvdla.reader import parse_loadable
from xonnc.formats.nvdla.writer import to_bytes
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.targets import load_target


def quantized_model(
    inner: list[onnx.NodeProto], shape: tuple[int, ...], zero: int, **constants: npt.NDArray[Any]
) -> onnx.ModelProto:
    """Return a model of nodes from `d` to `c` between QDQ pairs."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], "first"),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], "read"),
        *inner,
        helper.make_node("QuantizeLinear", ["c", "t", "z"], ["r"], "round"),
        helper.make_node("DequantizeLinear", ["r", "t", "z"], ["y"], "give"),
    ]
    scales = {"s": np.array(0.03, np.float32), "t": np.array(0.017, np.float32), "z": np.array(zero, np.int8)}
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in (scales | constants).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def simulated(
    model: onnx.ModelProto, target: str, folder: Path
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.float32]]:
    """Return the output of the simulator, that of the exact reference, and the input."""
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    hardware = load_target(target)
    simulator = Simulator(parse_loadable(to_bytes(compile_model(path, target).loadable)), hardware)
    shape = [size.dim_value for size in model.graph.input[0].type.tensor_type.shape.dim]
    numbers = np.random.default_rng(8).standard_normal(shape).astype(np.float32)
    (found,) = simulator.run([numbers.reshape(simulator.inputs[0].shape)])
    (expected,) = QuantizedReference(model, PlannedLayers(hardware)).run({"x": numbers})
    return found.tensor.reshape(expected.shape), expected, numbers
