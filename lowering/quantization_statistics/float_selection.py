"""
Selection of nodes to keep in float, so that a quantized model is as accurate as asked for.

Nodes that no QDQ pair separates are kept together, as a unit: an engine's pass, or what a runtime fuses.
Three orders of the units are tried: from the inputs on, from the outputs back (both cut the model once), and
by the noise that a unit adds to that of its inputs. Of each order the shortest prefix is sought in doubling
steps and by bisection, and the cheapest of the three is taken. What is taken was always measured; that it is
the least of its order is not proven, since a longer prefix may be less accurate.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.locations import describe
from xonnc.formats.nvdla.calibration import Ranges
from xonnc.formats.onnx.exporter import export_proto
from xonnc.lowering.onnx_to_dla.quantization.keep_float import computing_ops, mark_float
from xonnc.lowering.onnx_to_dla.quantization.value_ranges import ValueRanges
from xonnc.lowering.quantization_statistics.quantization_error import (
    OpenModel,
    cosine,
    measure_quantization_error,
)

Array = npt.NDArray[Any]
Sample = Mapping[str, Array]

RANKING_SAMPLES = 4
"""Samples on which units are ranked by noise; the accuracy is measured on all."""


@dataclass(frozen=True)
class FloatSelection:
    """The nodes to keep in float, and the accuracy with them."""

    indices: tuple[int, ...]
    """Of `computing_ops` of the module."""
    nodes: tuple[str, ...]
    accuracy: float
    """The lowest cosine similarity of an output with the float model's, over all samples."""
    quantized_accuracy: float
    """The same with all nodes quantized."""


@dataclass(frozen=True)
class Quantizer:
    """A way to quantize a model, as the search needs it."""

    ranges: Ranges
    quantize: Callable[[ModuleOp], onnx.ModelProto]
    """Quantizes a module in place, but for marked nodes; returns its model, with weights as integers."""
    exact: Callable[[ModuleOp], onnx.ModelProto]
    """The float model with the same values as the quantized one, to compare values with."""


def select_float_nodes(
    module: ModuleOp,
    quantizer: Quantizer,
    samples: Sequence[Sample],
    accuracy: float,
    open_model: OpenModel,
    cost: Callable[[Collection[Operation]], float],
    step: Callable[[int, int, str], None] | None = None,
) -> FloatSelection:
    """
    Return the nodes of a float model to keep in float for an accuracy, the cheapest found.

    `module` is not modified. `cost` is that of the network with some operators in float; `step` is called
    with the models measured, the most there may be, and a label. Raises `XonncError` if a model does not run.
    """
    return _Search(module, quantizer, samples, open_model, step).run(accuracy, cost)


class _Search:
    def __init__(
        self,
        module: ModuleOp,
        quantizer: Quantizer,
        samples: Sequence[Sample],
        open_model: OpenModel,
        step: Callable[[int, int, str], None] | None,
    ):
        self._module = module
        self._quantizer = quantizer
        self._samples = samples
        self._open_model = open_model
        self._step = step
        self._ops = computing_ops(module)
        run = open_model(export_proto(module))
        self._expected = [run(sample) for sample in samples]
        self._measured: dict[frozenset[int], float] = {}
        self._units = self._separated()
        # All in integers, all in float, and for each order doubling steps and a bisection.
        self._most = 2 + 6 * (1 + int(log2(len(self._units) or 1)))

    def run(self, goal: float, cost: Callable[[Collection[Operation]], float]) -> FloatSelection:
        """Try the orders; return the cheapest selection that reaches the goal."""
        quantized = self._accuracy(())
        if quantized >= goal:
            return FloatSelection((), (), quantized, quantized)
        best = range(len(self._units))
        least = self._cost(best, cost)
        for order in self._orders():
            costs = [self._cost(order[:count], cost) for count in range(len(order) + 1)]
            cheaper = [count for count in range(1, len(order) + 1) if costs[count] < least]
            count = self._shortest(order, cheaper, goal)
            if count is not None:
                best, least = order[:count], costs[count]
        indices = tuple(sorted(index for unit in best for index in self._units[unit]))
        names = tuple(dict.fromkeys(describe(self._ops[index]) for index in indices))
        return FloatSelection(indices, names, self._accuracy(best), quantized)

    def _shortest(self, order: Sequence[int], counts: Sequence[int], goal: float) -> int | None:
        """Return the first of the lengths of a prefix that reaches the goal, `None` if none does."""
        return first_that(counts, lambda count: self._accuracy(order[:count]) >= goal)

    def _quantized(self, kept: Collection[int]) -> tuple[list[Operation], onnx.ModelProto]:
        """Return the ops of a quantized copy in which some are kept in float, and its model."""
        twin = self._module.clone()
        ops: list[Operation] = list(computing_ops(twin))
        mark_float([ops[index] for index in kept])
        return ops, self._quantizer.quantize(twin)

    def _accuracy(self, units: Sequence[int]) -> float:
        """Return the lowest cosine of an output with some units in float."""
        kept = frozenset(index for unit in units for index in self._units[unit])
        if kept not in self._measured:
            run = self._open_model(self._quantized(kept)[1])
            found = [run(sample) for sample in self._samples]
            self._measured[kept] = lowest_cosine(self._expected, found)
            if self._step is not None:
                self._step(min(len(self._measured), self._most), self._most, "accuracy")
        return self._measured[kept]

    def _separated(self) -> list[list[int]]:
        """Return the indices of ops in groups that QDQ pairs separate, in the model's order."""
        ops, _ = self._quantized(())
        indices = {op: index for index, op in enumerate(ops)}
        group = list(range(len(ops)))

        def root(index: int) -> int:
            while group[index] != index:
                index = group[index]
            return index

        for op, index in indices.items():
            for value in op.operands:
                if (
                    made := indices.get(value.owner) if isinstance(value.owner, Operation) else None
                ) is not None:
                    first, second = sorted((root(index), root(made)))
                    group[second] = first
        found: dict[int, list[int]] = {}
        for index in range(len(ops)):
            found.setdefault(root(index), []).append(index)
        return list(found.values())

    def _orders(self) -> list[Sequence[int]]:
        forward = range(len(self._units))
        noise = self._noise()
        by_noise = sorted(forward, key=lambda unit: -noise[unit])
        # The finest first: of the others, only prefixes are measured that cost less than what it takes.
        return [by_noise, forward[::-1], forward]

    def _noise(self) -> list[float]:
        """Return the noise that each unit adds to that of its inputs, relative to the signal."""
        errors = measure_quantization_error(
            self._quantized(())[1],
            self._quantizer.exact(self._module),
            self._samples[:RANKING_SAMPLES],
            self._open_model,
        )
        ratios = {error.name: 10 ** (-error.signal_to_noise / 10) for error in errors}
        (function,) = (op for op in self._module.ops if isinstance(op, FuncOp) and op.body.blocks)
        named = ValueRanges(function, self._quantizer.ranges)

        def noise(values: Collection[SSAValue]) -> float:
            return max((ratios.get(named.name(value), 0.0) for value in values), default=0.0)

        return [
            noise([result for index in unit for result in self._ops[index].results])
            - noise(self._operands(unit))
            for unit in self._units
        ]

    def _operands(self, unit: Sequence[int]) -> list[SSAValue]:
        """Return the values from outside that the ops of a unit read."""
        inside: set[object] = {self._ops[index] for index in unit}
        return [value for index in unit for value in self._ops[index].operands if value.owner not in inside]

    def _cost(self, units: Sequence[int], cost: Callable[[Collection[Operation]], float]) -> float:
        return cost([self._ops[index] for unit in units for index in self._units[unit]])


def lowest_cosine(expected: Sequence[Sequence[Array]], found: Sequence[Sequence[Array]]) -> float:
    """Return the lowest cosine similarity of an output, over all samples; 1 if sizes depend on data."""
    lowest = 1.0
    for index in range(len(expected[0]) if expected else 0):
        one, other = (
            np.concatenate([np.ravel(sample[index]) for sample in side]).astype(np.float64)
            for side in (expected, found)
        )
        if one.size == other.size:
            lowest = min(lowest, cosine(one, other))
    return lowest


def first_that(counts: Sequence[int], reaches: Callable[[int], bool]) -> int | None:
    """
    Return the first of ascending counts that reaches a goal if all after it do, `None` if none does.

    Short ones are tried first, in doubling steps: what a long one adds may take away, and costs more to
    measure.
    """
    low, high = 0, 0
    while high < len(counts) and not reaches(counts[high]):
        low, high = high + 1, 2 * high + 1
    if high >= len(counts):
        if low >= len(counts) or not reaches(counts[-1]):
            return None
        high = len(counts) - 1
    while low < high:
        middle = (low + high) // 2
        if reaches(counts[middle]):
            high = middle
        else:
            low = middle + 1
    return counts[high]
