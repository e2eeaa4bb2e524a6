"""
Empirical bias correction [Nagel 2019, appendix D].

Quantization shifts the mean of each channel: by rounding and saturation, by weights, by a ReLU that rectifies
noise, and by zeros at image borders. The shift is small per element, but equal for every image. The quantized
model runs segment by segment, each up to a linear operator, whose bias subtracts the shift measured on the
samples before the next segment runs. A shift that differs between images is no property of the network: each
is reduced by its uncertainty (James and Stein). The engines' own rounding is unbiased and not modeled.

Where elementwise functions alone read the result, such as SiLU or a sigmoid, positions count by the squared
slopes of these, which makes the squared error behind them least. The background of a detector, where the
function is flat whatever the shift, would move the scores of objects.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from xonnc.dialects.onnx.ops.math import GemmOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.dialects.onnx.types import NONE
from xonnc.formats.nvdla.calibration import Range, Ranges
from xonnc.formats.onnx.exporter import export_proto
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import elements
from xonnc.lowering.onnx_to_dla.int8.saturation import squared_slopes
from xonnc.lowering.onnx_to_dla.quantization.quantize_onnx import CLAMPS, equalized_and_quantized
from xonnc.lowering.quantization_statistics.quantization_error import (
    with_initializers,
    with_quantized_weights,
)
from xonnc.runtime.calibration import MAX_SAMPLE_MEANS, RunModel, channel_means

Array = npt.NDArray[Any]
Sample = Mapping[str, Array]

LINEAR_OPS = ("Conv", "Gemm")

MIN_SAMPLES = 8
"""With fewer samples, properties of single images would be taken for systematic shifts."""

MAX_SAMPLES = MAX_SAMPLE_MEANS
"""More images add little, and activations of all of them are held at once."""

SLOPES = 4096
"""Points at which slopes are computed."""

MIN_WEIGHT = 1 / 1024
"""The weight of positions where functions are flat, relative to the largest: others may not be many."""

OpenParts = Callable[[onnx.ModelProto], Callable[[Sequence[str]], RunModel]]
"""
Makes a model ready to run part by part: names of outputs give a function that computes these from the inputs
that they depend on.
"""


def bias_corrections(
    module: ModuleOp,
    ranges: Ranges,
    samples: Sequence[Sample],
    open_parts: OpenParts,
    has_sums_lookup: bool = False,
) -> dict[str, tuple[float, ...]]:
    """
    Return what to subtract from the bias of each Conv and Gemm in `module`, by result name, one value per
    output in the channels' own scale, as a target rounds whose SDP looks up sums if `has_sums_lookup`.

    The float model runs again if functions read results of linear operators; for others `ranges` have the
    means of its channels in each sample. `module` is not modified. Empty for fewer samples than
    `MIN_SAMPLES`, or several functions. Raises `XonncError` if a model that `open_parts` is given does not
    run.
    """
    functions = [op for op in module.walk() if isinstance(op, FuncOp)]
    if len(samples) < MIN_SAMPLES or len(functions) != 1:
        return {}
    ((function, known),), rounded = equalized_and_quantized(module, ranges, has_sums_lookup)
    linear = [op for op in function.walk() if isinstance(op, ConvOp | GemmOp)]
    if not linear:
        return {}
    model = with_quantized_weights(export_proto(rounded))
    slopes = [_slopes(op.Y, known.of(op.Y)) for op in linear]
    given = samples[:MAX_SAMPLES]
    floats = None
    if any(each is not None for each in slopes):
        exact = function.parent_op()
        assert isinstance(exact, ModuleOp), "a function is in a module"
        floats = _PartitionedRun(with_initializers(export_proto(exact)), given, open_parts)
    run = _PartitionedRun(model, given, open_parts)
    biases = run.biases([_means(known.of(op.Y)) for op in linear], slopes, floats)
    return {
        known.name(op.Y): tuple(
            _in_own_scale(before - after, known.of(op.Y), ranges.get(known.name(op.Y))).tolist()
        )
        for op, after in zip(linear, biases, strict=True)
        if (before := _constant_bias(op)) is not None and after is not None
    }


def _in_own_scale(corrections: Array, scaled: Range | None, own: Range | None) -> Array:
    """Return corrections of channels that equalization scaled, 0 for channels that are always the same."""
    if scaled is None or own is None or not len(scaled.lows) == len(own.lows) == corrections.size:
        return corrections
    extents = [np.array(each.highs) - np.array(each.lows) for each in (own, scaled)]
    return np.divide(
        corrections * extents[0], extents[1], out=np.zeros(corrections.size), where=extents[1] > 0
    )


def _constant_bias(op: ConvOp | GemmOp) -> Array | None:
    """Return the bias of an op with constant weights, `None` for others."""
    if elements(op.operands[1]) is None:
        return None
    if op.operands[2].type == NONE:
        return np.zeros(1)
    found = elements(op.operands[2])
    return None if found is None else found.astype(np.float64).reshape(-1)


def _bias(node: onnx.NodeProto, initializers: Mapping[str, onnx.TensorProto]) -> Array | None:
    """Return the bias of an exported op with constant weights, `None` for others."""
    if node.input[1] not in initializers:
        return None
    if len(node.input) < 3 or not node.input[2]:
        return np.zeros(1)
    found = initializers.get(node.input[2])
    return None if found is None else numpy_helper.to_array(found).astype(np.float64).reshape(-1)


def _means(found: Range | None) -> Array | None:
    """Return the mean of each channel (columns) in each sample (rows); `None` if unknown."""
    return None if found is None or not found.sample_means else np.array(found.sample_means)


def james_stein_means(shifts: Array, weights: Array | None = None) -> Array:
    """
    Return the mean of each column, reduced by the variance of that mean relative to its square, at most to 0.

    This is the positive-part James-Stein estimate: means that are as small as their own uncertainty vanish.
    With `weights`, `shifts` are sums of weighted numbers, and their weights are those of the sums.
    """
    parts = np.ones_like(shifts) if weights is None else weights
    total = parts.sum(axis=0)
    mean = shifts.sum(axis=0) / total
    deviations = np.square(shifts - mean * parts).sum(axis=0) / np.square(total)
    variance = deviations * len(shifts) / (len(shifts) - 1)
    return mean * np.maximum(1 - variance / np.where(mean == 0, 1.0, np.square(mean)), 0.0)


@dataclass(frozen=True)
class _Slopes:
    """Squared slopes of the functions of a value, and the values where they are these."""

    points: Array
    squares: Array

    def at(self, numbers: Array) -> Array:
        """Return the squared slopes at numbers."""
        return np.interp(numbers, self.points, self.squares).astype(numbers.dtype)


def _slopes(value: SSAValue, found: Range | None) -> _Slopes | None:
    """
    Return the slopes of the functions that alone read a value; `None` for other readers, and for clamps,
    whose slopes do not tell what they make of noise at their corners.
    """
    if found is None or not found.least < found.largest:
        return None
    if any(isinstance(use.operation, CLAMPS) for use in value.uses):
        return None
    points = np.linspace(found.least, found.largest, SLOPES)
    squares = squared_slopes(value, points)
    if squares is None or not squares.max() > 0:
        return None
    return _Slopes(points, np.maximum(squares, MIN_WEIGHT * squares.max()))


@dataclass(frozen=True)
class _Segment:
    """
    Nodes up to a linear operator, the values they read from earlier segments, and those that later ones read.
    """

    nodes: tuple[onnx.NodeProto, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class _PartitionedRun:
    """A quantized model that runs on all samples segment by segment."""

    def __init__(self, model: onnx.ModelProto, samples: Sequence[Sample], open_parts: OpenParts):
        self._initializers = {one.name: one for one in model.graph.initializer}
        self._values: list[dict[str, Array]] = [dict(sample) for sample in samples]
        self._segments = list(_segments(model.graph, self._initializers))
        self._given = _names_of_inputs(model.graph, self._segments)
        self._open = open_parts(_separated(model, self._segments, self._given))

    def biases(
        self,
        means: Sequence[Array | None],
        slopes: Sequence[_Slopes | None],
        floats: _PartitionedRun | None,
    ) -> Iterator[Array | None]:
        """
        Run all segments; yield the bias of each linear operator with which its channels have these means in
        each sample, `None` if it has no constant one.

        Results with slopes are compared with those of the segments of `floats` instead, weighted by them.
        """
        for number, (segment, mean, slope) in enumerate(zip(self._segments, means, slopes, strict=True)):
            self._run(segment)
            exact = () if floats is None else floats.results(number)
            bias = _bias(segment.nodes[-1], self._initializers)
            name = segment.nodes[-1].output[0]
            if bias is not None and slope is not None:
                bias = bias - self._subtract(name, self._weighted_shift(name, exact, slope))
            elif bias is not None and mean is not None:
                found = np.stack([channel_means(values[name]) for values in self._values])
                bias = bias - self._subtract(name, james_stein_means(found - mean))
            yield bias
            self._forget(number)

    def results(self, number: int) -> list[Array]:
        """Run a segment after those before it; return the results of its linear operator."""
        segment = self._segments[number]
        self._run(segment)
        found = [values[segment.nodes[-1].output[0]] for values in self._values]
        self._forget(number)
        return found

    def _weighted_shift(self, name: str, exact: Sequence[Array], slope: _Slopes) -> Array:
        """Return the shift of each channel of a value, weighted by the slopes at the exact numbers."""
        weights = [slope.at(numbers) for numbers in exact]
        found = zip(weights, self._values, exact, strict=True)
        shifts = [channel_means(weight * (values[name] - numbers)) for weight, values, numbers in found]
        return james_stein_means(np.stack(shifts), np.stack([channel_means(each) for each in weights]))

    def _subtract(self, name: str, change: Array) -> Array:
        """Subtract a change from the channels of a value, and return it."""
        for values in self._values:
            numbers = values[name]
            values[name] = numbers - change.astype(numbers.dtype).reshape(-1, *(1,) * (numbers.ndim - 2))
        return change

    def _run(self, segment: _Segment) -> None:
        run = self._open(segment.outputs)
        for values in self._values:
            feeds = {self._given.get(name, name): values[name] for name in segment.inputs}
            values.update(zip(segment.outputs, run(feeds), strict=True))

    def _forget(self, number: int) -> None:
        """Drop values that no segment after this one reads."""
        live = {name for later in self._segments[number + 1 :] for name in later.inputs}
        self._values = [
            {name: one for name, one in values.items() if name in live} for values in self._values
        ]


def _segments(graph: onnx.GraphProto, initializers: Collection[str]) -> Iterator[_Segment]:
    nodes = list(graph.node)
    ends = [index + 1 for index, node in enumerate(nodes) if node.op_type in LINEAR_OPS]
    last = {name: index for index, node in enumerate(nodes) for name in node.input}
    for begin, end in zip([0, *ends], ends, strict=False):
        made = dict.fromkeys(name for node in nodes[begin:end] for name in node.output if name)
        read = dict.fromkeys(name for node in nodes[begin:end] for name in node.input if name)
        yield _Segment(
            tuple(nodes[begin:end]),
            tuple(name for name in read if name not in made and name not in initializers),
            tuple(name for name in made if name == nodes[end - 1].output[0] or last.get(name, end) >= end),
        )


def _names_of_inputs(graph: onnx.GraphProto, segments: Sequence[_Segment]) -> dict[str, str]:
    """Return the names of the inputs in place of values that a segment reads of an earlier one."""
    taken = {name for node in graph.node for name in (*node.input, *node.output)}
    given = {info.name for info in graph.input}
    found: dict[str, str] = {}
    for name in dict.fromkeys(name for segment in segments for name in segment.inputs if name not in given):
        found[name] = f"{name}_corrected"
        while found[name] in taken:
            found[name] += "_"
        taken.add(found[name])
    return found


def _separated(
    model: onnx.ModelProto, segments: Sequence[_Segment], given: Mapping[str, str]
) -> onnx.ModelProto:
    """Return the model with its segments beside each other: all that they exchange are inputs and outputs."""
    own = onnx.ModelProto()
    own.CopyFrom(model)
    graph = own.graph
    infos = {info.name: info for info in (*graph.value_info, *graph.output)}
    del graph.node[:]
    del graph.output[:]
    for segment in segments:
        for node in segment.nodes:
            copy = graph.node.add()
            copy.CopyFrom(node)
            for index, name in enumerate(node.input):
                copy.input[index] = given[name] if name in segment.inputs and name in given else name
        graph.output.extend(onnx.ValueInfoProto(name=name) for name in segment.outputs)
    for name, new in given.items():
        graph.input.add().CopyFrom(infos[name])
        graph.input[-1].name = new
    return own
