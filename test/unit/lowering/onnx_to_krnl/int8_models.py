"""Small int8 models, what they compute on the targets that run here, and the ONNX reference of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

import numpy as np
import numpy.typing as npt
import onnx
from native_nodes import is_here
from onnx import numpy_helper
from onnx import parser as onnx_parser

from xonnc.native import compile_native

Array = npt.NDArray[np.generic]
Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]

RANDOM = np.random.default_rng(21)


class Evaluator(Protocol):
    """The reference evaluator, which has no types."""

    def run(self, output_names: None, feed_inputs: Mapping[str, object]) -> Sequence[object]: ...


TARGETS = [name for name in ("cpu", "avx512", "avxvnni", "avx2", "portable") if is_here(name)]


def model_of(nodes: str, inputs: str, constants: Mapping[str, Array], outputs: str = "y") -> onnx.ModelProto:
    """A model, its nodes as text."""
    given = ", ".join(f"uint8[] {name}" for name in outputs.split())
    text = f'<ir_version: 8, opset_import: ["": 19]> g ({inputs}) => ({given}) {{ {nodes} }}'
    model = onnx_parser.parse_model(text)
    for name, array in constants.items():
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    for output in model.graph.output:
        output.type.Clear()
    return onnx.shape_inference.infer_shapes(model)


def run(model: onnx.ModelProto, feeds: Mapping[str, Array], target: str = "cpu") -> tuple[Array, list[str]]:
    """The first output, and the kernels that ran."""
    session = compile_native(model, target, cache=False)
    (given, *_) = session.run(None, feeds)
    assert session.host_calls() == []
    assert isinstance(given, np.ndarray)
    return given, [name.rpartition("_")[0] for line in session.report() for name in line.what.split()]


def references(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """What the reference evaluator gives for all outputs."""
    evaluator: Evaluator = import_module("onnx.reference").ReferenceEvaluator(model)
    return [np.asarray(each) for each in evaluator.run(None, feeds)]


def reference(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Array:
    """What the reference evaluator gives for the first output."""
    return references(model, feeds)[0]


@dataclass(frozen=True)
class Step:
    """How real numbers are rounded to bytes."""

    scale: float
    zero: int
    dtype: str = "uint8"

    def constants(self, name: str) -> dict[str, Array]:
        """Scale and zero point as `NAME_scale` and `NAME_zero`."""
        return {
            f"{name}_scale": np.array(self.scale, np.float32),
            f"{name}_zero": np.array(self.zero, self.dtype),
        }

    def rounded(self, steps: Floats) -> Integers:
        """Steps as bytes."""
        ends = np.iinfo(self.dtype)
        low, high = np.float32(ends.min - self.zero), np.float32(ends.max - self.zero)
        return np.rint(np.clip(steps, low, high)).astype(np.int64) + self.zero

    def bytes_of(self, numbers: Floats) -> Integers:
        """Real numbers as bytes: times one over the scale, as the code does it."""
        return self.rounded(numbers * (np.float32(1) / np.float32(self.scale)))

    def reals(self, numbers: Integers) -> Floats:
        """Bytes as real numbers."""
        return ((numbers - self.zero).astype(np.float32) * np.float32(self.scale)).astype(np.float32)


def quantized(name: str, source: str, step: str) -> str:
    """A pair of QuantizeLinear and DequantizeLinear of `source`, to `NAME`."""
    return (
        f"{name}_q = QuantizeLinear({source}, {step}_scale, {step}_zero) "
        f"{name} = DequantizeLinear({name}_q, {step}_scale, {step}_zero) "
    )
