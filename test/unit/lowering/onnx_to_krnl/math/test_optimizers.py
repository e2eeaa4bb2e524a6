"""Steps of training by their formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from onnx import TensorProto, helper

from xonnc.native import compile_native

DOMAIN = "ai.onnx.preview.training"
RANDOM = np.random.default_rng(19)
Floats = npt.NDArray[np.float32]


def floats(*shape: int) -> Floats:
    return RANDOM.normal(size=shape).astype(np.float32)


def run(
    operator: str, attributes: Mapping[str, object], iteration: int, groups: Sequence[Sequence[Floats]]
) -> list[Floats]:
    """One step for tensors in groups: of values, of gradients and so on."""
    tensors = [tensor for group in groups for tensor in group]
    names = [f"x{number}" for number in range(len(tensors))]
    kept = len(tensors) - len(groups[0])
    outputs = [f"y{number}" for number in range(kept)]
    node = helper.make_node(operator, ["r", "t", *names], outputs, domain=DOMAIN)
    node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
    ports = [
        helper.make_tensor_value_info("r", TensorProto.FLOAT, []),
        helper.make_tensor_value_info("t", TensorProto.INT64, []),
    ]
    for name, tensor in zip(names, tensors, strict=True):
        ports.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, tensor.shape))
    shapes = [tensor.shape for tensor in (*groups[0], *tensors[2 * len(groups[0]) :])]
    made = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in zip(outputs, shapes, strict=True)
    ]
    graph = helper.make_graph([node], "step", ports, made)
    imports = [helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 1)]
    session = compile_native(helper.make_model(graph, opset_imports=imports, ir_version=10))
    feeds: dict[str, object] = {"r": np.array(0.1, np.float32), "t": np.array(iteration)}
    given = session.run(None, feeds | dict(zip(names, tensors, strict=True)))
    assert session.host_calls() == []
    return [np.asarray(each, np.float32) for each in given]


def test_adagrad():
    x, g, h = ([floats(3, 4), floats(5)] for _ in range(3))
    h = [each**2 for each in h]
    given = run("Adagrad", {"decay_factor": 0.5, "norm_coefficient": 0.25, "epsilon": 0.01}, 3, [x, g, h])
    for number in range(2):
        gradient = 0.25 * x[number] + g[number]
        squares = h[number] + gradient**2
        expected = x[number] - 0.1 / (1 + 3 * 0.5) * gradient / (np.sqrt(squares) + 0.01)
        np.testing.assert_allclose(given[number], expected, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(given[2 + number], squares, rtol=1e-4)


@pytest.mark.parametrize("iteration", [0, 4])
def test_adam(iteration: int):
    x, g, v, h = (floats(3, 4) for _ in range(4))
    said = {"alpha": 0.75, "beta": 0.5, "norm_coefficient": 0.25, "norm_coefficient_post": 0.125}
    given = run("Adam", {**said, "epsilon": 0.01}, iteration, [[x], [g], [v], [h**2]])
    gradient = 0.25 * x + g
    mean, squares = 0.75 * v + 0.25 * gradient, 0.5 * h**2 + 0.5 * gradient**2
    rate = 0.1 * np.sqrt(1 - 0.5**iteration) / (1 - 0.75**iteration) if iteration else 0.1
    expected = (1 - 0.125) * (x - rate * mean / (np.sqrt(squares) + 0.01))
    for one, other in zip(given, (expected, mean, squares), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("iteration", [0, 4])
@pytest.mark.parametrize("mode", ["standard", "nesterov"])
def test_momentum(mode: str, iteration: int):
    x, g, v = (floats(3, 4) for _ in range(3))
    said = {"alpha": 0.75, "beta": 0.5, "norm_coefficient": 0.25, "mode": mode}
    given = run("Momentum", said, iteration, [[x], [g], [v]])
    gradient = 0.25 * x + g
    speed = 0.75 * v + (0.5 if iteration else 1.0) * gradient
    way = gradient + 0.75 * speed if mode == "nesterov" else speed
    for one, other in zip(given, (x - 0.1 * way, speed), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
