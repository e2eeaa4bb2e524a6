"""
What the operators of a quantised model are given while the reference runs it: integers, constants, and real
numbers that are not rounded yet.
"""

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
    """How a target cuts convolutions into layers: multipliers of one layer share a shift."""

    def groups_at_once(self, source: Sequence[int], kernels: int, window: SlidingWindow, groups: int) -> int:
        """How many groups of a convolution over channels, rows and columns are one layer."""
        ...


@dataclass(frozen=True)
class Quantized:
    """Integers of the model, `offset` more than what is stored."""

    integers: Integers
    offset: int


@dataclass(frozen=True)
class Constant:
    """Numbers of a constant; where a DequantizeLinear made them, its integers, scales and their axis too."""

    numbers: Array
    integers: Integers | None = None
    scales: Array | None = None
    axis: int = 0


Value: TypeAlias = "Constant | Quantized | Dequantized"
Attributes: TypeAlias = "dict[str, Any]"


class UnsupportedOperator(XonncError):
    """The reference has no such operator."""


@dataclass
class Evaluation:
    """A quantised model while it runs: what its operators are given, and what they have made."""

    model: onnx.ModelProto
    layers: Layers
    deviations: list[float] = field(default_factory=list[float])
    """How far roundings were from the exact numbers of their operands, in steps."""
    _node: onnx.NodeProto | None = None
    _values: dict[str, Value] = field(default_factory=dict[str, "Value"])
    _inputs: dict[str, Array] = field(default_factory=dict[str, Array])

    def consumer_qparams(self) -> QuantizationParameters | None:
        """The grid of the one QuantizeLinear that reads the node at hand; `None` if something else does."""
        assert self._node is not None
        readers = [node for node in self.model.graph.node if self._node.output[0] in node.input]
        if len(readers) != 1 or readers[0].op_type != "QuantizeLinear":
            return None
        scale, zero_point = (self.number(name) for name in readers[0].input[1:])
        offset = 128 if zero_point.dtype == np.uint8 else 0
        return QuantizationParameters(float(scale.reshape(())), int(zero_point.reshape(())) - offset)

    def input(self, name: str) -> Array | None:
        """The numbers of an input."""
        return self._inputs.get(name)

    def constant(self, name: str) -> Constant | None:
        """A constant, or `None` for what is computed."""
        found = self._values.get(name)
        return found if isinstance(found, Constant) else None

    def number(self, name: str) -> Array:
        """The numbers of what must be a constant."""
        found = self.constant(name)
        if found is None:
            raise UnsupportedOperator(f"{name}: the reference needs a constant")
        return found.numbers

    def value(self, name: str) -> Value:
        """What has been computed, or a constant."""
        return self._values[name]

    def reals(self, name: str) -> Dequantized:
        """What is real numbers."""
        result = self._values[name]
        if isinstance(result, Constant | Quantized):
            raise UnsupportedOperator(f"{name}: the reference needs computed real numbers")
        return result

    def affine(self, name: str) -> Affine:
        """What one pass of the SDP makes."""
        result = self.reals(name)
        if not isinstance(result, Affine):
            raise UnsupportedOperator(f"{name}: the reference needs one pass of the SDP")
        return result

    def stored(self, name: str) -> StoredIntegers:
        """What lies in memory."""
        result = self.affine(name).stored
        if result is None:
            raise UnsupportedOperator(f"{name}: the reference needs stored integers")
        return result

    def quantized(self, name: str) -> Quantized:
        """Integers of the model, or those of an input."""
        if name in self._inputs and name not in self._values:
            given = self._inputs[name]
            offset = 128 if given.dtype == np.uint8 else 0
            return Quantized(given.astype(np.int64) - offset, offset)
        result = self._values[name]
        assert isinstance(result, Quantized)
        return result


Operator: TypeAlias = "Callable[[Evaluation, Sequence[str], Attributes], Value]"
"""Computes a node of the names of its operands and of its attributes."""


def broadcast_axis(numbers: Array, axis: int, rank: int) -> Array:
    """Numbers of one axis, spread over a tensor of `rank`; a single one for all."""
    if numbers.size == 1:
        return numbers.reshape(())
    return numbers.reshape([-1 if index == axis % rank else 1 for index in range(rank)])
