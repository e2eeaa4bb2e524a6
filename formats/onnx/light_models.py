"""
The light models of the `onnx` package, with random weights of the original shapes.

The package ships well-known networks without weights: `ConstantOfShape(w__SHAPE)` replaces each. Here they
become initializers again, drawn from a seed such that activations neither vanish nor explode: He
initialisation for convolutions, statistics near (0, 1) with positive variances for batch normalisation, half
the scale at the end of a residual branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx

from xonnc.errors import XonncError
from xonnc.formats.onnx.tensors import TensorReader, element_count

_FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"

_SHAPE_SUFFIX = "__SHAPE"

_RESIDUAL = frozenset(("Sum", "Add"))
"""Operators that join the branches of a residual network."""


@dataclass(frozen=True)
class WeightRole:
    """The use of a weight: the operator and operand index that reads it, and the readers of that operator."""

    op_type: str
    operand: int
    feeds: frozenset[str] = frozenset()


def light_names() -> list[str]:
    """Return the names of the networks: `resnet50`, `squeezenet`, …"""
    return sorted(path.stem.removeprefix("light_") for path in _FOLDER.glob("light_*.onnx"))


def light_model(name: str, seed: int = 0) -> onnx.ModelProto:
    """Return a network with float32 weights drawn from `seed`, deterministically."""
    path = _FOLDER / f"light_{name}.onnx"
    if not path.exists():
        raise XonncError(f"no light model '{name}'; there are {', '.join(light_names())}")
    model = onnx.ModelProto.FromString(path.read_bytes())
    fill_weights(model, seed)
    return model


def fill_weights(model: onnx.ModelProto, seed: int = 0) -> None:
    """Replace the weights of a light model in place by random ones of the original shapes."""
    graph = model.graph
    roles = _roles(graph)
    shapes = dict(_weight_shapes(graph))
    integers = [tensor for tensor in graph.initializer if tensor.data_type != onnx.TensorProto.FLOAT]
    retained = [tensor for tensor in integers if not tensor.name.endswith(_SHAPE_SUFFIX)]
    inputs = [info for info in graph.input if not info.name.endswith(_SHAPE_SUFFIX)]
    listed = {info.name for info in inputs}
    nodes = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    for name in ("node", "initializer", "input"):
        graph.ClearField(name)
    graph.node.extend(nodes)
    graph.initializer.extend(retained)
    graph.input.extend(inputs)
    for index, (weight, shape) in enumerate(shapes.items()):
        values = _random_weights(roles.get(weight), shape, np.random.default_rng((seed, index)))
        graph.initializer.add(
            name=weight, data_type=onnx.TensorProto.FLOAT, dims=shape, raw_data=values.tobytes()
        )
        if weight not in listed and model.ir_version < 4:
            info = onnx.helper.make_tensor_value_info(weight, onnx.TensorProto.FLOAT, shape)
            graph.input.append(info)


def _weight_shapes(graph: onnx.GraphProto) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Name and real shape of every float weight, those that were taken out first."""
    reader = TensorReader()
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "ConstantOfShape" and node.input[0] in tensors:
            shape = tuple(int(extent) for extent in reader.array(tensors[node.input[0]]).reshape(-1))
            element_count(node.output[0], shape)
            yield node.output[0], shape
    for tensor in graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            yield tensor.name, tuple(tensor.dims)


def _roles(graph: onnx.GraphProto) -> dict[str, WeightRole]:
    """Return the role of each value; a reshaped weight has the role of the reshaped value."""
    readers: dict[str, set[str]] = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, set()).add(node.op_type)
    roles: dict[str, WeightRole] = {}
    for node in reversed(graph.node):
        feeds = frozenset(readers.get(node.output[0], ()))
        for operand, name in enumerate(node.input):
            if node.op_type in ("Unsqueeze", "Reshape") and operand == 0 and node.output[0] in roles:
                roles[name] = roles[node.output[0]]
            else:
                roles[name] = WeightRole(node.op_type, operand, feeds)
    return roles


def _random_weights(
    role: WeightRole | None, shape: tuple[int, ...], random: np.random.Generator
) -> npt.NDArray[np.float32]:
    normal = random.standard_normal(shape, np.float32)
    match role:
        case WeightRole("Conv", 1):
            return normal * np.float32(np.sqrt(2 / max(1, np.prod(shape[1:]))))
        case WeightRole("Gemm", 1):
            return normal * np.float32(np.sqrt((2 if "Relu" in role.feeds else 1) / max(1, shape[-1])))
        case WeightRole("BatchNormalization", 1):
            scale = 0.5 if role.feeds & _RESIDUAL else 1
            return np.float32(scale) + normal * np.float32(0.05)
        case WeightRole("BatchNormalization", 4):
            return random.uniform(0.8, 1.2, shape).astype(np.float32)
        case WeightRole("Mul", _):
            return 1 + normal * np.float32(0.05)
        case _:
            return normal * np.float32(0.1)
