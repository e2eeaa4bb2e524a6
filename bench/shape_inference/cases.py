"""Models for shape inference, without their `value_info` and output shapes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
import onnx
import onnx.backend.test.loader
import onnx.helper

from bench.models import MODELS, path_of

KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted")
"""Kinds of `onnx.backend.test`; the `real` models are part of `bench/models.py`."""

MAX_BYTES = 1 << 16
"""Larger tensors are weights, on whose values no shape depends."""


WEIGHT = "weight"
"""Doc string of inputs that replace weights."""

SIZE_SERIES = ("chain", "many")

INTEGERS = (onnx.TensorProto.INT32, onnx.TensorProto.INT64)


@dataclass(frozen=True)
class ShapeCase:
    """A model without inferred types."""

    name: str
    model: onnx.ModelProto
    observed: Mapping[str, Sequence[int]]
    """Shapes of the expected outputs, from the test data."""


def backend_cases() -> Iterator[ShapeCase]:
    """All models of `onnx.backend.test`."""
    for kind in KINDS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            cases = onnx.backend.test.loader.load_model_tests(kind=kind)
        for case in cases:
            model = case.model
            if model is None:
                assert case.model_dir is not None
                model = load_without_data(Path(case.model_dir) / "model.onnx")
            yield ShapeCase(case.name, without_types(model), _observed(model, case.data_sets))


def benchmark_names() -> list[str]:
    """The benchmark models, except the series that differ only in size."""
    return [name for name in MODELS if not name.startswith(SIZE_SERIES)]


def benchmark_cases() -> Iterator[ShapeCase]:
    """The benchmark models with inputs in place of large weights."""
    for name in benchmark_names():
        yield ShapeCase(name, without_types(without_weights(load_without_data(path_of(name)))), {})


def dynamic_cases() -> Iterator[ShapeCase]:
    """The benchmark models with dynamic batch size and sequence length."""
    for name in benchmark_names():
        model = without_types(without_weights(load_without_data(path_of(name))))
        weights = {tensor.name for tensor in model.graph.initializer}
        for port in model.graph.input:
            dims = port.type.tensor_type.shape.dim
            is_text = len(dims) == 2 and port.type.tensor_type.elem_type in INTEGERS
            if port.doc_string != WEIGHT and port.name not in weights and dims:
                dims[0].dim_param = "batch"
                if is_text:
                    dims[1].dim_param = "seq"
        yield ShapeCase(name, model, {})


def load_without_data(path: Path) -> onnx.ModelProto:
    """A model without its external data."""
    model = onnx.ModelProto()
    model.ParseFromString(path.read_bytes())
    return model


def without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """Replace large initializers by inputs, which come last."""
    retained = [tensor for tensor in model.graph.initializer if not _is_large(tensor)]
    inputs = {port.name for port in model.graph.input}
    for tensor in model.graph.initializer:
        if _is_large(tensor) and tensor.name not in inputs:
            port = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
            port.doc_string = WEIGHT
            model.graph.input.append(port)
    del model.graph.initializer[:]
    model.graph.initializer.extend(retained)
    return model


def _is_large(tensor: onnx.TensorProto) -> bool:
    return len(tensor.raw_data) > MAX_BYTES or tensor.data_location == onnx.TensorProto.EXTERNAL


def without_types(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy without `value_info` and without output shapes; element types stay."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.value_info[:]
    for output in copy.graph.output:
        _clear_shape(output.type)
    return copy


def _clear_shape(type_: onnx.TypeProto) -> None:
    match type_.WhichOneof("value"):
        case "tensor_type":
            type_.tensor_type.ClearField("shape")
        case "sequence_type":
            _clear_shape(type_.sequence_type.elem_type)
        case "optional_type":
            _clear_shape(type_.optional_type.elem_type)
        case _:
            pass


def _observed(model: onnx.ModelProto, data_sets: object) -> dict[str, Sequence[int]]:
    """The shapes of the expected outputs."""
    first = data_sets[0] if _is_list(data_sets) and data_sets else None
    outputs = first[1] if _is_list(first) else None
    if not _is_list(outputs):
        return {}
    pairs = zip(model.graph.output, outputs, strict=False)
    return {info.name: np.shape(value) for info, value in pairs if _is_array(value)}


def _is_array(value: object) -> TypeGuard[npt.NDArray[Any]]:
    return isinstance(value, np.ndarray)


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, list | tuple)
