"""
Selection of the layers whose rounding errors are kept (`widen-activations-onnx`), within a budget of time.

Layers are taken in the order of the error that each makes alone, all others in float, for what it costs to be
wide, as many as the budget allows; of the numbers of layers tried, the one with the least measured error is
taken. Beside the errors of all others, what a single layer changes would be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from xonnc.lowering.quantization_statistics.quantization_error import OpenModel, activation_pairs

Array = npt.NDArray[Any]
Sample = Mapping[str, Array]


@dataclass(frozen=True)
class WideSelection:
    """The layers that are wide, and what that gains and takes."""

    layers: tuple[int, ...]
    error: float
    """Noise relative to the signal, summed over outputs."""
    narrow_error: float
    """The same without wide layers."""
    cost: float
    """The time relative to that without wide layers."""


def select_wide_layers(
    shares: Sequence[float],
    estimates: Sequence[float],
    error: Callable[[Collection[int]], float],
    cost: Callable[[Collection[int]], float],
    budget: float,
) -> WideSelection:
    """
    Return the layers to be wide.

    `shares` are the errors that layers make alone, and `estimates` what each adds to the time, as far as its
    shapes tell; `cost` is the time of the network with some layers wide, of which `budget` times that without
    may be taken. `error` is that of the outputs.
    """
    narrow, narrow_cost = error(()), cost(())
    order = sorted(range(len(shares)), key=lambda index: -shares[index] / estimates[index])
    most = _longest(order, lambda layers: cost(layers) <= budget * narrow_cost)
    tried = {(): narrow} | {layers: error(layers) for layers in _prefixes(order[:most])}
    best = min(tried, key=lambda layers: tried[layers])
    ratio = cost(best) / narrow_cost if best else 1.0
    return WideSelection(tuple(sorted(best)), tried[best], narrow, ratio)


def _longest(order: Sequence[int], fits: Callable[[Sequence[int]], bool]) -> int:
    """Return the length of the longest prefix that fits, by bisection: each layer adds to the cost."""
    low, high = 0, len(order)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(order[:middle]) else (low, middle - 1)
    return low


def _prefixes(order: Sequence[int]) -> list[tuple[int, ...]]:
    """Return prefixes of doubling lengths, and all."""
    lengths = {min(2**power, len(order)) for power in range(len(order).bit_length() + 1)}
    return [tuple(order[:length]) for length in sorted(lengths - {0})]


class NoiseOfOutputs:
    """The noise of a quantized model relative to the signal, summed over outputs and their branches."""

    def __init__(
        self,
        exact: onnx.ModelProto,
        branches: Sequence[str],
        samples: Sequence[Sample],
        open_model: OpenModel,
    ):
        """
        `branches` are values of the float model that count as outputs do: a detector's scores between 0 and
        1 are lost in the noise of boxes of hundreds of pixels that they are joined with.
        """
        self._branches, self._samples, self._open_model = branches, samples, open_model
        run = open_model(_with_outputs(exact, branches))
        self._expected = [run(sample) for sample in samples]

    def __call__(self, quantized: onnx.ModelProto) -> float:
        """Return the error of a model."""
        read = {name for node in quantized.graph.node for name in node.input}
        pairs = activation_pairs(quantized, None)
        after = {pair.floats: pair.after for pair in pairs if pair.after in read}
        run = self._open_model(_with_outputs(quantized, [after.get(name, name) for name in self._branches]))
        noise, signal = 0.0, 0.0
        for sample, expected in zip(self._samples, self._expected, strict=True):
            found = list(zip(run(sample), expected, strict=True))
            noise += np.array([_square(one.astype(np.float64) - other) for one, other in found])
            signal += np.array([_square(other.astype(np.float64)) for _, other in found])
        return float(np.divide(noise, signal, out=np.zeros_like(signal), where=signal > 0).sum())


def _square(array: Array) -> float:
    return float(np.square(array).sum())


def _with_outputs(model: onnx.ModelProto, names: Sequence[str]) -> onnx.ModelProto:
    """Return a model with more outputs."""
    own = onnx.ModelProto()
    own.CopyFrom(model)
    infos = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names]
    own.graph.output.extend(infos)
    return own
