"""
Quantization error per value: scale, saturation, and signal-to-noise ratio against the float model.

Both models run on the samples in onnxruntime, with float weights quantized as the lowering does. The engines'
own rounding, half a unit after each pass, is not included.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, log10, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from xonnc.errors import XonncError
from xonnc.lowering.onnx_to_dla.builders.kernels import quantize_kernels
from xonnc.runtime.calibration import RunModel

Array = npt.NDArray[Any]
Sample = Mapping[str, Array]

OpenModel = Callable[[onnx.ModelProto], RunModel]
"""Makes a model ready to run."""

OUTPUT_AXES = {"Conv": 0, "ConvTranspose": 1, "Gemm": 1, "MatMul": 1}
"""The output axis of weights by operator; a Gemm with `transB` has it first."""


HISTOGRAM_STEPS = 64


@dataclass(frozen=True)
class QuantizationError:
    """
    A quantized value: the operator that produces it, its parameters, and its error on samples.

    `saturated` is the fraction of elements beyond the int8 range. `signal_to_noise` is in decibels, infinite
    without error, and includes errors of preceding operators. `cosine` is the similarity of both models'
    values. The histograms count the values of the float and of the quantized model in equal steps of
    `histogram_range`, which the integers can represent; values outside are in the first and last step.
    """

    name: str
    operator: str
    element: str
    scale: float
    zero_point: int
    saturated: float
    signal_to_noise: float
    cosine: float
    histogram_range: tuple[float, float]
    histogram_float: tuple[int, ...]
    histogram_quantized: tuple[int, ...]


@dataclass(frozen=True)
class ActivationPair:
    """A QuantizeLinear and its DequantizeLinear: names of the value before, in the float model, and after."""

    before: str
    floats: str
    after: str
    operator: str
    scale: float
    zero: Array
    centre: float

    @property
    def real_range(self) -> tuple[float, float]:
        """The least and the largest number that the integers represent."""
        least, largest = ((limit - float(self.zero.reshape(()))) * self.scale for limit in self.limits)
        return least, largest

    @property
    def limits(self) -> tuple[int, int]:
        """The range of the integers."""
        found = np.iinfo(self.zero.dtype)
        return int(found.min), int(found.max)


@dataclass
class _ErrorSums:
    """Sums over all samples."""

    signal: float = 0.0
    noise: float = 0.0
    saturated: int = 0
    numbers: int = 0
    product: float = 0.0
    quantized_square: float = 0.0
    histograms: Array = field(default_factory=lambda: np.zeros((2, HISTOGRAM_STEPS), np.int64))
    """Of the float and of the quantized model."""

    def add(self, pair: ActivationPair, exact: Array, before: Array, after: Array) -> None:
        """Add one sample."""
        wide = exact.astype(np.float64) - pair.centre
        least, largest = pair.limits
        levels = before.astype(np.float64) / pair.scale + float(pair.zero.reshape(()))
        self.signal += float(np.square(wide).sum())
        self.noise += float(np.square(after.reshape(wide.shape) - wide).sum())
        self.saturated += int(((levels < least - 0.5) | (levels > largest + 0.5)).sum())
        self.numbers += wide.size
        rounded = after.reshape(wide.shape).astype(np.float64)
        self.product += float((wide * rounded).sum())
        self.quantized_square += float(np.square(rounded).sum())
        for histogram, values in zip(self.histograms, (wide, rounded), strict=True):
            histogram += np.histogram(np.clip(values, *pair.real_range), HISTOGRAM_STEPS, pair.real_range)[0]

    @property
    def cosine(self) -> float:
        """The cosine similarity; 1 if both are zero."""
        norms = sqrt(self.signal * self.quantized_square)
        return self.product / norms if norms else float(self.signal == self.quantized_square)

    @property
    def decibels(self) -> float:
        """The signal-to-noise ratio."""
        if not self.noise:
            return inf
        return 10 * log10(self.signal / self.noise) if self.signal else -inf


def measure_quantization_error(
    quantized: onnx.ModelProto,
    floats: onnx.ModelProto | None,
    samples: Sequence[Sample],
    open_model: OpenModel,
) -> list[QuantizationError]:
    """
    Return the error of each QDQ pair of `quantized` over all samples (arrays by input name), in model order.

    `floats` is the float model; without it, `quantized` without its pairs. Raises `XonncError` without
    samples or pairs, or if a model does not run.
    """
    if not samples:
        raise XonncError("no samples to measure the quantization error with")
    pairs = list(activation_pairs(quantized, floats))
    if not pairs:
        raise XonncError("the model has no QuantizeLinear; give a calibration, or a quantized model")
    exact_model = without_pairs(quantized) if floats is None else floats
    sums = [_ErrorSums() for _ in pairs]
    exact = _Run(exact_model, [pair.floats for pair in pairs], open_model)
    names = [name for pair in pairs for name in (pair.before, pair.after)]
    rounded = _Run(with_quantized_weights(quantized), names, open_model)
    for sample in samples:
        one, other = exact(sample), rounded(sample)
        for pair, total in zip(pairs, sums, strict=True):
            total.add(pair, one[pair.floats], other[pair.before], other[pair.after])
    return [
        QuantizationError(
            pair.floats,
            pair.operator,
            str(pair.zero.dtype),
            pair.scale,
            int(pair.zero.reshape(())),
            total.saturated / max(total.numbers, 1),
            total.decibels,
            total.cosine,
            pair.real_range,
            tuple(total.histograms[0].tolist()),
            tuple(total.histograms[1].tolist()),
        )
        for pair, total in zip(pairs, sums, strict=True)
    ]


def output_noise(
    quantized: onnx.ModelProto,
    floats: onnx.ModelProto,
    samples: Sequence[Sample],
    open_model: OpenModel,
) -> float:
    """
    Return the error of the worst output over all samples relative to the output, in decibels.

    It is minus infinity without any error.
    """
    run, run_exact = open_model(with_quantized_weights(quantized)), open_model(floats)
    count = len(floats.graph.output)
    noise, signal = np.zeros(count), np.zeros(count)
    for sample in samples:
        for index, (found, exact) in enumerate(zip(run(sample), run_exact(sample), strict=True)):
            if exact.dtype.kind == "f":
                wide = exact.astype(np.float64)
                signal[index] += np.square(wide).sum()
                noise[index] += np.square(found - wide).sum()
    ratios = [a / b if b else inf for a, b in zip(noise, signal, strict=True) if a]
    return 10 * log10(max(ratios)) if ratios and max(ratios) < inf else (inf if ratios else -inf)


def cosine(one: Array, other: Array) -> float:
    """Return the cosine similarity of two vectors; that of zeros with zeros is 1."""
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / lengths if lengths else float(np.array_equal(one, other))


class _Run:
    """A model with additional outputs."""

    def __init__(self, model: onnx.ModelProto, names: Sequence[str], open_model: OpenModel):
        own = onnx.ModelProto()
        own.CopyFrom(model)
        inputs = {one.name for one in own.graph.input}
        self._names = [name for name in dict.fromkeys(names) if name not in inputs]
        del own.graph.output[:]
        infos = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in self._names]
        own.graph.output.extend(infos)
        self._run = open_model(own) if self._names else None

    def __call__(self, sample: Sample) -> dict[str, Array]:
        """Return the values, inputs included."""
        found: Sequence[Array] = () if self._run is None else self._run(sample)
        return {**sample, **dict(zip(self._names, found, strict=True))}


def activation_pairs(quantized: onnx.ModelProto, floats: onnx.ModelProto | None) -> Iterator[ActivationPair]:
    """Yield the per-tensor pairs on computed values; those on constants belong to the model."""
    graph, constants = quantized.graph, _constants(quantized)
    makers = {name: node for node in graph.node for name in node.output}
    known = None if floats is None else _values(floats)
    for node in graph.node:
        maker = makers.get(node.input[0]) if node.op_type == "DequantizeLinear" else None
        if maker is None or maker.op_type != "QuantizeLinear" or maker.input[0] in constants:
            continue
        before, scale = maker.input[0], constants.get(maker.input[1])
        zero = constants.get(maker.input[2]) if len(maker.input) > 2 else np.zeros((), np.uint8)
        if scale is None or zero is None or scale.size != 1:
            continue
        source, centre = makers.get(before), 0.0
        name = next((each for each in (before, node.output[0]) if known is None or each in known), None)
        if name is None and source is not None and source.op_type == "Add":
            name, moved = source.input[0], constants.get(source.input[1])
            centre = 0.0 if moved is None else -float(moved.reshape(()))
            source = makers.get(name)
            name = name if known is not None and name in known else None
        if name is None:
            continue
        operator = "input" if source is None else source.op_type
        yield ActivationPair(before, name, node.output[0], operator, float(scale.reshape(())), zero, centre)


def _values(model: onnx.ModelProto) -> set[str]:
    return {name for node in model.graph.node for name in node.output} | {
        one.name for one in model.graph.input
    }


def _constants(model: onnx.ModelProto) -> dict[str, Array]:
    result = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            result[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    return result


def without_pairs(quantized: onnx.ModelProto, kept: Collection[str] = ()) -> onnx.ModelProto:
    """
    Return the float model of a quantized one; weights stay quantized, and so do values that are `kept`, by
    their names before a pair.
    """
    own = onnx.ModelProto()
    own.CopyFrom(quantized)
    constants = _constants(own)
    makers = {name: node for node in own.graph.node for name in node.output}
    passed: dict[str, str] = {}
    for node in own.graph.node:
        for index, name in enumerate(node.input):
            node.input[index] = passed.get(name, name)
        maker = makers.get(node.input[0]) if node.op_type == "DequantizeLinear" else None
        is_pair = maker is not None and maker.op_type == "QuantizeLinear"
        if maker is not None and is_pair and maker.input[0] not in (*constants, *kept):
            passed[node.output[0]] = maker.input[0]
    return own


def with_initializers(model: onnx.ModelProto) -> onnx.ModelProto:
    """
    Return the model with initializers, which all parts of the graph read, in place of Constant nodes of
    tensors and numbers.
    """
    own = onnx.ModelProto()
    own.CopyFrom(model)
    graph = own.graph
    nodes = list(graph.node)
    del graph.node[:]
    for node in nodes:
        number = None
        if node.op_type == "Constant" and not node.domain and len(node.attribute) == 1:
            number = _tensor_of(node.attribute[0])
        if number is None:
            graph.node.append(node)
        else:
            graph.initializer.add().CopyFrom(number)
            graph.initializer[-1].name = node.output[0]
    return own


def _tensor_of(attribute: onnx.AttributeProto) -> onnx.TensorProto | None:
    """Return the numbers of an attribute of Constant, `None` for a sparse tensor and for strings."""
    match attribute.name:
        case "value":
            return attribute.t
        case "value_float" | "value_floats":
            numbers = attribute.f if attribute.name == "value_float" else attribute.floats
            return numpy_helper.from_array(np.array(numbers, np.float32))
        case "value_int" | "value_ints":
            numbers = attribute.i if attribute.name == "value_int" else attribute.ints
            return numpy_helper.from_array(np.array(numbers, np.int64))
        case _:
            return None


def with_quantized_weights(quantized: onnx.ModelProto, floats: Collection[str] = ()) -> onnx.ModelProto:
    """
    Return the model with float weights quantized to int8 as the engines get them, and without Constant nodes.

    Nodes that give values in `floats` keep theirs.
    """
    own = with_initializers(quantized)
    initializers = {one.name: one for one in own.graph.initializer}
    for node in own.graph.node:
        if node.op_type not in OUTPUT_AXES or len(node.input) < 2 or node.input[1] not in initializers:
            continue
        if node.output[0] in floats:
            continue
        numbers = numpy_helper.to_array(initializers[node.input[1]])
        axis = (
            0 if any(one.name == "transB" and one.i for one in node.attribute) else OUTPUT_AXES[node.op_type]
        )
        if numbers.dtype.kind != "f" or numbers.ndim < 2:
            continue
        rounded = np.moveaxis(quantize_kernels(np.moveaxis(numbers, axis, 0)).numbers, 0, axis)
        initializers[node.input[1]].CopyFrom(
            numpy_helper.from_array(rounded.astype(numbers.dtype), node.input[1])
        )
    return own
