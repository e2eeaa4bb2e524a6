"""
Empirical bias correction [Nagel 2019, appendix D].

Quantization shifts the mean of each channel: by rounding and saturation, by weights, by a ReLU that rectifies
noise, and by zeros at image borders. The shift is small per element, but equal for every image. The quantized
model runs segment by segment, each up to a linear operator, whose bias subtracts the shift measured on the
samples before the next segment runs. A shift that differs between images is no property of the network: each
is reduced by its uncertainty (James and Stein). The engines' own rounding is unbiased and not modeled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from xonnc.dialects.onnx.ops.math import GemmOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.formats.onnx.exporter import export_proto
from xonnc.lowering.onnx_to_dla.quantize_onnx import equalized_and_quantized
from xonnc.lowering.onnx_to_dla.value_ranges import ValueRanges
from xonnc.lowering.quantization_statistics.quantization_error import OpenModel, with_quantized_weights

Array = npt.NDArray[Any]
Sample = Mapping[str, Array]

LINEAR_OPS = ("Conv", "Gemm")

MIN_SAMPLES = 8
"""With fewer samples, properties of single images would be taken for systematic shifts."""

MAX_SAMPLES = 16
"""More images add little, and activations of all of them are held at once."""


def bias_corrections(
    module: ModuleOp, ranges: Ranges, samples: Sequence[Sample], open_model: OpenModel
) -> dict[str, tuple[float, ...]]:
    """
    Return what to subtract from the bias of each Conv and Gemm in `module`, by result name, one value per
    output in the channels' equalized scale.

    `module` is not modified. Empty for fewer samples than `MIN_SAMPLES`, or several functions. Raises
    `XonncError` if a model that `open_model` is given does not run.
    """
    functions = [op for op in module.walk() if isinstance(op, FuncOp)]
    if len(samples) < MIN_SAMPLES or len(functions) != 1:
        return {}
    samples = samples[:MAX_SAMPLES]
    exact, rounded = equalized_and_quantized(module, ranges)
    (function,) = (op for op in exact.walk() if isinstance(op, FuncOp))
    known = ValueRanges(function, ranges)
    names = [known.name(op.Y) for op in exact.walk() if isinstance(op, ConvOp | GemmOp)]
    if not names:
        return {}
    floats = export_proto(exact)
    corrected = _PartitionedRun(with_quantized_weights(export_proto(rounded)), samples, open_model)
    corrected.run(_means(floats, samples, open_model))
    given = [_bias(node, _initializers(floats)) for node in _linear_nodes(floats)]
    return {
        name: tuple((before - after).tolist())
        for name, before, after in zip(names, given, corrected.biases, strict=True)
        if before is not None and after is not None
    }


def _linear_nodes(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    return [node for node in model.graph.node if node.op_type in LINEAR_OPS]


def _initializers(model: onnx.ModelProto) -> dict[str, onnx.TensorProto]:
    return {one.name: one for one in model.graph.initializer}


def _bias(node: onnx.NodeProto, initializers: Mapping[str, onnx.TensorProto]) -> Array | None:
    """Return the bias of a linear operator with constant weights, `None` for others."""
    if node.input[1] not in initializers:
        return None
    if len(node.input) < 3 or not node.input[2]:
        return np.zeros(1)
    initializer = initializers.get(node.input[2])
    return None if initializer is None else numpy_helper.to_array(initializer).astype(np.float64).reshape(-1)


def _means(model: onnx.ModelProto, samples: Sequence[Sample], open_model: OpenModel) -> list[Array]:
    """Return the mean of each channel (columns) in each sample (rows), for each linear operator."""
    own = onnx.ModelProto()
    own.CopyFrom(model)
    del own.graph.output[:]
    own.graph.output.extend(onnx.ValueInfoProto(name=node.output[0]) for node in _linear_nodes(own))
    run = open_model(own)
    found = [[_channels(one) for one in run(sample)] for sample in samples]
    return [np.stack(each) for each in zip(*found, strict=True)]


def _channels(numbers: Array) -> Array:
    """Return the mean of each channel."""
    return numbers.mean(axis=tuple(axis for axis in range(numbers.ndim) if axis != 1), dtype=np.float64)


def james_stein_means(shifts: Array) -> Array:
    """
    Return the mean of each column, reduced by the variance of that mean relative to its square, at most to 0.

    This is the positive-part James-Stein estimate: means that are as small as their own uncertainty vanish.
    """
    mean, variance = shifts.mean(axis=0), shifts.var(axis=0, ddof=1) / len(shifts)
    return mean * np.maximum(1 - variance / np.where(mean == 0, 1.0, np.square(mean)), 0.0)


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

    def __init__(self, model: onnx.ModelProto, samples: Sequence[Sample], open_model: OpenModel):
        self._open_model = open_model
        self.biases: list[Array | None] = []
        """The corrected bias of each linear operator; `None` if it has no constant one."""
        self._model = model
        self._initializers = _initializers(model)
        self._values: list[dict[str, Array]] = [dict(sample) for sample in samples]

    def run(self, means: Sequence[Array]) -> None:
        """Run all segments, correcting biases so that the channels have these means in each sample."""
        for part, mean in zip(self._parts(), means, strict=True):
            self._run(part)
            sum_ = part.nodes[-1]
            shifts = np.stack([_channels(values[sum_.output[0]]) for values in self._values]) - mean
            change = james_stein_means(shifts)
            bias = _bias(sum_, self._initializers)
            self.biases.append(None if bias is None else bias - change)
            for values in self._values if bias is not None else ():
                numbers = values[sum_.output[0]]
                spread = change.astype(numbers.dtype).reshape(-1, *(1,) * (numbers.ndim - 2))
                values[sum_.output[0]] = numbers - spread
            self._forget(part)

    def _parts(self) -> Iterator[_Segment]:
        nodes = list(self._model.graph.node)
        ends = [index + 1 for index, node in enumerate(nodes) if node.op_type in LINEAR_OPS]
        last = {name: index for index, node in enumerate(nodes) for name in node.input}
        for begin, end in zip([0, *ends], ends, strict=False):
            made = dict.fromkeys(name for node in nodes[begin:end] for name in node.output if name)
            read = dict.fromkeys(name for node in nodes[begin:end] for name in node.input if name)
            yield _Segment(
                tuple(nodes[begin:end]),
                tuple(name for name in read if name not in made and name not in self._initializers),
                tuple(name for name in made if last.get(name, end) >= end),
            )

    def _run(self, part: _Segment) -> None:
        constants = {name for node in part.nodes for name in node.input if name in self._initializers}
        first = self._values[0]
        inputs = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(first[name].dtype), first[name].shape
            )
            for name in part.inputs
        ]
        outputs = [onnx.ValueInfoProto(name=name) for name in part.outputs]
        graph = helper.make_graph(
            part.nodes, "part", inputs, outputs, [self._initializers[name] for name in sorted(constants)]
        )
        model = helper.make_model(
            graph, opset_imports=self._model.opset_import, ir_version=self._model.ir_version
        )
        run = self._open_model(model)
        for values in self._values:
            feeds = {name: values[name] for name in part.inputs}
            values.update(zip(part.outputs, run(feeds), strict=True))

    def _forget(self, part: _Segment) -> None:
        """Drop values that no later segment reads."""
        nodes = list(self._model.graph.node)
        position = next(index for index, node in enumerate(nodes) if node is part.nodes[-1])
        live = {name for node in nodes[position + 1 :] for name in node.input}
        self._values = [
            {name: one for name, one in values.items() if name in live} for values in self._values
        ]
