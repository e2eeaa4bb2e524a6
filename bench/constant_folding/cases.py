"""The node tests of `onnx.backend.test` with their inputs as constants."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt
import onnx
import onnx.backend.test.loader
import onnx.helper
import onnx.numpy_helper

Array: TypeAlias = npt.NDArray[Any]
OnnxValue: TypeAlias = "Array | tuple[Array, ...] | None"
"""A tensor, a sequence of tensors, or an optional that is empty."""

RANDOM = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)
"""Nondeterministic operators."""

QUANTIZATION = frozenset({"QuantizeLinear", "DequantizeLinear"})


@dataclass(frozen=True)
class FoldingCase:
    """A model without inputs, and its expected outputs."""

    name: str
    model: onnx.ModelProto
    expected: Sequence[OnnxValue]
    rtol: float
    atol: float
    is_random: bool
    """Whether an operator samples random values, as Dropout does in training mode."""
    has_quantization: bool
    """Whether it contains QuantizeLinear or DequantizeLinear, which are never folded."""


def backend_cases() -> Iterator[FoldingCase]:
    """All node tests, operators expanded by their function bodies included."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = onnx.backend.test.loader.load_model_tests(kind="node")
    for case in found:
        if case.model is None or not case.data_sets:
            continue
        inputs, outputs = (_objects(each) for each in case.data_sets[0])
        operators = set(_operators(case.model.graph))
        training = "Dropout" in operators and "training" in case.name
        yield FoldingCase(
            case.name,
            inputs_as_constants(
                case.model, [_to_value(each) for each in inputs], zlib.crc32(case.name.encode()) % 2 == 0
            ),
            [_to_value(each) for each in outputs],
            case.rtol,
            case.atol,
            bool(operators & RANDOM) or training,
            bool(operators & QUANTIZATION),
        )


def inputs_as_constants(
    model: onnx.ModelProto, inputs: Sequence[OnnxValue], as_nodes: bool
) -> onnx.ModelProto:
    """The model with constants in place of its inputs: initializers, or Constant nodes."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    infos, nodes = list(graph.input), list(graph.node)
    del graph.input[len(inputs) :]
    del graph.input[:], graph.node[:]
    for info, value in zip(infos, inputs, strict=False):
        _add(graph, info.name, info.type, value, as_nodes)
    graph.node.extend(nodes)
    return made


def _add(graph: onnx.GraphProto, name: str, type_: onnx.TypeProto, value: OnnxValue, as_nodes: bool) -> None:
    kind = type_.WhichOneof("value")
    if kind == "optional_type":
        inner = f"{name}_value"
        if value is None:
            node = onnx.helper.make_node("Optional", [], [name], type=type_.optional_type.elem_type)
        else:
            _add(graph, inner, type_.optional_type.elem_type, value, as_nodes)
            node = onnx.helper.make_node("Optional", [inner], [name])
        graph.node.append(node)
    elif isinstance(value, tuple):
        elements = [f"{name}_{index}" for index in range(len(value))]
        for element, array in zip(elements, value, strict=True):
            _add(graph, element, type_.sequence_type.elem_type, array, as_nodes)
        code = type_.sequence_type.elem_type.tensor_type.elem_type
        empty = onnx.helper.make_node("SequenceEmpty", [], [name], dtype=code)
        graph.node.append(onnx.helper.make_node("SequenceConstruct", elements, [name]) if elements else empty)
    elif value is not None:
        tensor = onnx.numpy_helper.from_array(value, name)
        if as_nodes:
            graph.node.append(onnx.helper.make_node("Constant", [], [name], value=tensor))
        else:
            graph.initializer.append(tensor)


def _operators(graph: onnx.GraphProto) -> Iterator[str]:
    for node in graph.node:
        yield node.op_type
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _operators(attribute.g)


def _to_value(value: object) -> OnnxValue:
    if value is None:
        return None
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    if _is_list(value):
        return tuple(_array(each) for each in value)
    return _array(value)


def _array(value: object) -> Array:
    element = onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
    array: Array = np.asarray(element)
    return array.astype(np.object_) if array.dtype.kind == "U" else array


def _objects(values: object) -> list[object]:
    assert _is_list(values)
    return list(values)


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, list | tuple)
