"""State of the reference while it evaluates a quantized model: integers, constants and float tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
import onnx

from oracles.nvdla.fixed_point import Array, Integers
from oracles.nvdla.requantization import (
    Affine,
    Dequantized,
    QuantizationParameters,
    StoredIntegers,
)
from oracles.nvdla.window_operators import (
    SlidingWindow,
)
from xonnc.errors import XonncError

INT8_MIN, INT8_MAX = -128, 127


class Layers(Protocol):
    """The way a target splits convolutions into layers: the multipliers of a layer share a shift."""

    def groups_at_once(self, source: Sequence[int], kernels: int, window: SlidingWindow, groups: int) -> int:
        """Return how many groups of a convolution are one layer."""
        ...


@dataclass(frozen=True)
class Quantized:
    """Integers of the model, `offset` more than the stored ones."""

    integers: Integers
    offset: int


@dataclass(frozen=True)
class Constant:
    """Values of a constant; after a DequantizeLinear also its integers, scales and their axis."""

    numbers: Array
    integers: Integers | None = None
    scales: Array | None = None
    axis: int = 0


Value: TypeAlias = "Constant | Quantized | Dequantized"
Attributes: TypeAlias = "dict[str, Any]"


class UnsupportedOperator(XonncError):
    """The reference does not support an operator."""


@dataclass
class Evaluation:
    """A quantized model under evaluation: its values so far."""

    model: onnx.ModelProto
    layers: Layers
    deviations: list[float] = field(default_factory=list[float])
    """
    The errors of quantized results relative to the exact value of their operands, in units of the scale.
    """
    _node: onnx.NodeProto | None = None
    _values: dict[str, Value] = field(default_factory=dict[str, "Value"])
    _inputs: dict[str, Array] = field(default_factory=dict[str, Array])

    def consumer_qparams(self) -> QuantizationParameters | None:
        """
        Return the parameters of the only QuantizeLinear that reads the current node, `None` if something else
        does.
        """
        assert self._node is not None
        readers = [node for node in self.model.graph.node if self._node.output[0] in node.input]
        if len(readers) != 1 or readers[0].op_type != "QuantizeLinear":
            return None
        scale, zero_point = (self.number(name) for name in readers[0].input[1:])
        offset = 128 if zero_point.dtype == np.uint8 else 0
        return QuantizationParameters(float(scale.reshape(())), int(zero_point.reshape(())) - offset)

    def input(self, name: str) -> Array | None:
        """Return the values of an input."""
        return self._inputs.get(name)

    def constant(self, name: str) -> Constant | None:
        """Return a constant, `None` for computed values."""
        found = self._values.get(name)
        return found if isinstance(found, Constant) else None

    def number(self, name: str) -> Array:
        """Return the values of what must be a constant."""
        found = self.constant(name)
        if found is None:
            raise UnsupportedOperator(f"{name}: the reference needs a constant")
        return found.numbers

    def value(self, name: str) -> Value:
        """Return a computed value or constant."""
        return self._values[name]

    def reals(self, name: str) -> Dequantized:
        """Return a float tensor."""
        result = self._values[name]
        if isinstance(result, Constant | Quantized):
            raise UnsupportedOperator(f"{name}: the reference needs computed real numbers")
        return result

    def affine(self, name: str) -> Affine:
        """Return a tensor that one SDP pass computes."""
        result = self.reals(name)
        if not isinstance(result, Affine):
            raise UnsupportedOperator(f"{name}: the reference needs one pass of the SDP")
        return result

    def stored(self, name: str) -> StoredIntegers:
        """Return stored integers."""
        result = self.affine(name).stored
        if result is None:
            raise UnsupportedOperator(f"{name}: the reference needs stored integers")
        return result

    def quantized(self, name: str) -> Quantized:
        """Return integers of the model, or of an input."""
        if name in self._inputs and name not in self._values:
            given = self._inputs[name]
            offset = 128 if given.dtype == np.uint8 else 0
            return Quantized(given.astype(np.int64) - offset, offset)
        result = self._values[name]
        assert isinstance(result, Quantized)
        return result


Operator: TypeAlias = "Callable[[Evaluation, Sequence[str], Attributes], Value]"
"""Computes a node from the names of its operands and its attributes."""


def broadcast_axis(numbers: Array, axis: int, rank: int) -> Array:
    """
    Reshape values of one axis for broadcasting over a tensor of `rank`; a single value becomes a scalar.
    """
    if numbers.size == 1:
        return numbers.reshape(())
    return numbers.reshape([-1 if index == axis % rank else 1 for index in range(rank)])
