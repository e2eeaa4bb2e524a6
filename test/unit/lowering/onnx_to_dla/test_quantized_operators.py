"""Models of operators on quantized integers on the simulator, held against onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper, numpy_helper

from xonnc.compiler import compile_model
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.reference import ReferenceModel
from xonnc.targets import load_target

MICROSOFT = "com.microsoft"


@dataclass
class Net:
    """A model that is being written; values are called by their names."""

    generator: np.random.Generator = field(default_factory=lambda: np.random.default_rng(8))
    nodes: list[onnx.NodeProto] = field(default_factory=list[onnx.NodeProto])
    held: list[onnx.TensorProto] = field(default_factory=list[onnx.TensorProto])

    def __call__(self, op: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def constant(self, array: npt.ArrayLike) -> str:
        """An initialiser."""
        self.held.append(numpy_helper.from_array(np.asarray(array), f"c{len(self.held)}"))
        return self.held[-1].name

    def grid(self, scale: float, zero: int, kind: type[np.generic] = np.uint8) -> tuple[str, str]:
        """A scale and a zero point."""
        return self.constant(np.float32(scale)), self.constant(np.array(zero, kind))

    def weights(self, *shape: int, zero: int = 0, outputs: int | None = 0) -> tuple[str, str, str]:
        """Integers, their scale, one for each output unless `None`, and their zero point."""
        kind = np.uint8 if zero else np.int8
        integers = self.generator.integers(-60 + zero, 60 + zero, shape).astype(kind)
        reach = float(np.prod(shape)) / shape[outputs or 0]
        count = () if outputs is None else (shape[outputs],)
        scales = self.generator.uniform(0.5, 1.5, count) / (40 * np.sqrt(reach))
        scale = self.constant(scales.astype(np.float32))
        return self.constant(integers), scale, self.constant(np.full(count, zero, kind))

    def bias(self, count: int) -> str:
        """A bias in steps of the sums."""
        return self.constant(self.generator.integers(-4000, 4000, count, np.int32))

    def model(self, output: str, shape: tuple[int, ...]) -> onnx.ModelProto:
        """The model whose input is `x`."""
        graph = helper.make_graph(
            self.nodes,
            "integers",
            [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(output, onnx.TensorProto.FLOAT, None)],
            self.held,
        )
        opsets = [helper.make_opsetid("", 13), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def convolutions(net: Net) -> onnx.ModelProto:
    """As onnxruntime's static quantization writes networks in the form of operators."""
    here = net.grid(0.02, 120)
    x = net("QuantizeLinear", "x", *here)
    there = net.grid(0.02, 0)
    y = net("QLinearConv", x, *here, *net.weights(12, 5, 3, 3), *there, net.bias(12), pads=[1] * 4)
    y = net("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2])
    sums = net.grid(0.03, 100)
    z = net("QLinearConv", y, *there, *net.weights(12, 12, 1, 1, zero=128, outputs=None), *sums)
    added = net.grid(0.035, 90)
    z = net("QLinearAdd", z, *sums, y, *there, *added, domain=MICROSOFT)
    both = net.grid(0.035, 60)
    z = net("QLinearConcat", *both, z, *added, y, *there, axis=1, domain=MICROSOFT)
    mean = net.grid(0.01, 20)
    z = net("QLinearGlobalAveragePool", z, *both, *mean, channels_last=0, domain=MICROSOFT)
    z = net("Reshape", z, net.constant(np.array([1, 24])))
    hidden = net.grid(0.01, 128)
    z = net("QGemm", z, *mean, *net.weights(10, 24), net.bias(10), *hidden, transB=1, domain=MICROSOFT)
    end = net.grid(0.01, 128)
    z = net("QLinearMatMul", z, *hidden, *net.weights(10, 7, outputs=None), *end)
    return net.model(net("DequantizeLinear", z, *end), (1, 5, 8, 8))


def sums_of_integers(net: Net) -> onnx.ModelProto:
    """As models are whose 32-bit sums are scaled by hand."""
    here = net.grid(0.02, 120)
    weights, scale, zero = net.weights(6, 5, 3, 3, zero=130, outputs=None)
    y = net("ConvInteger", net("QuantizeLinear", "x", *here), weights, here[1], zero)
    y = net("Mul", net("Cast", y, to=onnx.TensorProto.FLOAT), net("Mul", here[0], scale))
    y = net("Relu", net("Add", y, net.constant(np.linspace(-1, 1, 6, dtype=np.float32).reshape(6, 1, 1))))
    there = net.grid(0.015, 0)
    y = net("DequantizeLinear", net("QuantizeLinear", y, *there), *there)
    y = net("Flatten", net("GlobalAveragePool", y))
    mean = net.grid(0.005, 3, np.int8)
    weights, scale, _ = net.weights(6, 4, outputs=None)
    y = net("MatMulInteger", net("QuantizeLinear", y, *mean), weights, mean[1])
    y = net("Mul", net("Cast", y, to=onnx.TensorProto.FLOAT), net("Mul", mean[0], scale))
    end = net.grid(0.01, 0, np.int8)
    return net.model(net("DequantizeLinear", net("QuantizeLinear", y, *end), *end), (1, 5, 6, 6))


def functions(net: Net) -> onnx.ModelProto:
    here = net.grid(0.02, 120)
    x = net("QuantizeLinear", "x", *here)
    bent = net.grid(0.02, 128)
    y = net("QLinearLeakyRelu", x, *here, *bent, alpha=0.2, domain=MICROSOFT)
    gate = net.grid(1 / 255, 0)
    z = net("QLinearSigmoid", x, *here, *gate, domain=MICROSOFT)
    end = net.grid(0.02, 60)
    y = net("QLinearMul", y, *bent, z, *gate, *end, domain=MICROSOFT)
    return net.model(net("DequantizeLinear", y, *end), (1, 5, 6, 6))


@pytest.mark.parametrize(
    ("make", "target"),
    [
        (convolutions, "nv_small"),
        (convolutions, "nv_large"),
        (sums_of_integers, "nv_small"),
        (sums_of_integers, "nv_full"),
        (functions, "nv_large"),
    ],
)
def test_steps_from_onnxruntime(make: Callable[[Net], onnx.ModelProto], target: str, tmp_path: Path):
    model = make(Net())
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    reference = ReferenceModel(path)
    (port,) = reference.inputs()
    shape = [size or 1 for size in port.shape]
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    (expected,) = reference.run({"x": x})
    simulator = Simulator(compile_model(path, target).loadable, load_target(target))
    (output,) = simulator.run([x.reshape(simulator.inputs[0].shape)])
    assert output.grid is not None
    steps = np.abs(output.numbers.reshape(-1) - expected.reshape(-1)) / output.grid.scale
    assert expected.std() / output.grid.scale > 5
    assert steps.max() < 2.5
    assert steps.mean() < 0.7
