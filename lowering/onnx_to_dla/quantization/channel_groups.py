"""
Groups of channels whose factors depend on each other: those of values that are added, concatenated or pooled
between linear operators, such as the residual stream of a network.

Channels that an addition joins share a factor. A channel that anything else makes or reads, such as a result
of the network or an operand of a Sigmoid, keeps its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.attribute_builders import int_values
from xonnc.dialects.onnx.ops.extra import MaxPoolSingleOutOp
from xonnc.dialects.onnx.ops.math import AddOp, LeakyReluOp, MulOp, ReluOp, SumOp
from xonnc.dialects.onnx.ops.nn import AveragePoolOp, FlattenOp, GlobalAveragePoolOp
from xonnc.dialects.onnx.ops.tensor import ConcatOp, IdentityOp, ReshapeOp, TransposeOp
from xonnc.dialects.onnx.types import static_shape
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import elements
from xonnc.lowering.onnx_to_dla.quantization.linear_operators import LinearOp, is_plain

Array = npt.NDArray[Any]

MOVES = (FlattenOp, IdentityOp, MaxPoolSingleOutOp, ReshapeOp, TransposeOp)
"""Operators whose results are elements of their operand, on its grid of integers."""


@dataclass(frozen=True)
class ChannelGroup:
    """
    Linear operators that make channels, those that read them, and the values in between.

    Factors are counted over the whole group: with each operator and value are those along axis 1.
    """

    fixed: npt.NDArray[np.bool_]
    """The factors that are 1."""
    producers: tuple[tuple[LinearOp, Array], ...]
    consumers: tuple[tuple[LinearOp, SSAValue, Array], ...]
    """Each with the value whose integers it reads: the last that is computed, not moved."""
    values: tuple[tuple[SSAValue, Array], ...]
    """The values with one factor for each index of axis 1."""


def channel_groups(function: FuncOp) -> Iterator[ChannelGroup]:
    """Yield the groups of a function in which any channel may be scaled."""
    found = _Channels()
    for op in function.body.block.ops:
        found.add(op)
    return found.groups()


def channels_after(op: Operation, channels: Array, shape: tuple[int, ...]) -> Array | None:
    """
    Return the channel of each element of the result, of this shape, of an operator with one operand that
    commutes with scaling; `None` for other operators.
    """
    match op:
        case ReluOp() | IdentityOp():
            return channels
        case MaxPoolSingleOutOp():
            return _spread(columns_of(channels), shape)
        case ReshapeOp() | FlattenOp():
            return channels.reshape(shape)
        case TransposeOp() if op.perm is not None:
            return channels.transpose([int(axis) for axis in int_values(op.perm) or ()])
        case _:
            return None


def columns_of(channels: Array) -> Array:
    """Return the channel of each index of axis 1; empty if an index has several."""
    if channels.ndim < 2 or channels.shape[0] != 1 or not channels.size:
        return np.zeros(0, np.int64)
    if not any(channels.strides[2:]):
        # One number for each index, repeated: without a copy of all.
        return channels[(0, slice(None), *(0,) * (channels.ndim - 2))].copy()
    rows = channels.reshape(channels.shape[1], -1)
    return rows[:, 0].copy() if np.all(rows == rows[:, :1]) else np.zeros(0, np.int64)


def _spread(columns: Array, shape: tuple[int, ...]) -> Array | None:
    """Return the channel of each element of a value of this shape; `None` without channels."""
    if not columns.size:
        return None
    return np.broadcast_to(columns.reshape(1, -1, *(1,) * (len(shape) - 2)), shape)


class _Sets:
    """Disjoint sets of the integers from 0."""

    def __init__(self) -> None:
        self._parents: list[int] = []

    def add(self, count: int) -> Array:
        first = len(self._parents)
        self._parents.extend(range(first, first + count))
        return np.arange(first, first + count)

    def root(self, one: int) -> int:
        while self._parents[one] != one:
            self._parents[one] = one = self._parents[self._parents[one]]
        return one

    def join(self, ones: Array, others: Array) -> None:
        for one, other in zip(ones.tolist(), others.tolist(), strict=True):
            self._parents[self.root(other)] = self.root(one)

    def roots(self) -> Array:
        return np.array([self.root(one) for one in range(len(self._parents))], np.int64)


class _Channels:
    """The channels of the values of a function, as operators are added in order."""

    def __init__(self) -> None:
        self._equal = _Sets()
        """Channels with the same factor."""
        self._together = _Sets()
        """Channels of a group: those of a value have one scale."""
        self._channels: dict[SSAValue, Array] = {}
        """The channel of each element, for values that are made of results of linear operators alone."""
        self._computed: dict[SSAValue, SSAValue] = {}
        """By value: the one from which it is moved."""
        self._fixed: set[int] = set()
        self._producers: list[tuple[LinearOp, Array]] = []
        self._consumers: list[tuple[LinearOp, SSAValue, Array]] = []

    def add(self, op: Operation) -> None:
        """Add an operator."""
        if isinstance(op, LinearOp) and is_plain(op):
            self._read(op)
            self._make(op)
            return
        scaled = self._link(op)
        for operand in op.operands:
            if operand not in scaled:
                self._fix(operand)

    def groups(self) -> Iterator[ChannelGroup]:
        """Yield the groups in which any channel is free."""
        equal, together = self._equal.roots(), self._together.roots()
        fixed = np.zeros(len(equal), np.bool_)
        fixed[equal[sorted(self._fixed)]] = True
        values = [(value, columns_of(each)) for value, each in self._channels.items()]
        for group in dict.fromkeys(int(together[channels[0]]) for _, channels in self._producers):
            used = np.unique(equal[together == group])
            if fixed[used].all():
                continue
            numbers = np.searchsorted(used, equal)

            def is_own(channels: Array, group: int = group) -> bool:
                return bool(channels.size) and int(together[channels[0]]) == group

            yield ChannelGroup(
                fixed[used],
                tuple((op, numbers[each]) for op, each in self._producers if is_own(each)),
                tuple((op, value, numbers[each]) for op, value, each in self._consumers if is_own(each)),
                tuple((value, numbers[each]) for value, each in values if is_own(each)),
            )

    def _make(self, op: LinearOp) -> None:
        shape = static_shape(op.results[0].type)
        if shape is None or len(shape) < 2 or shape[0] != 1 or 0 in shape:
            return
        channels = self._equal.add(shape[1])
        self._together.add(shape[1])
        self._producers.append((op, channels))
        spread = _spread(channels, shape)
        assert spread is not None, "there are channels"
        self._set(op.results[0], spread)
        self._computed[op.results[0]] = op.results[0]

    def _read(self, op: LinearOp) -> None:
        value = op.operands[0]
        if value not in self._channels:
            return
        columns = columns_of(self._channels[value])
        if columns.size:
            self._consumers.append((op, self._computed[value], columns))
        else:
            self._fix(value)

    def _fix(self, value: SSAValue) -> None:
        if value in self._channels:
            self._fixed.update(np.unique(self._channels[value]).tolist())

    def _set(self, value: SSAValue, channels: Array) -> None:
        columns = columns_of(channels)
        # Repeated along the other axes without memory for it.
        spread = _spread(columns, channels.shape)
        self._channels[value] = channels if spread is None else spread
        used = np.unique(channels if spread is None else columns)
        self._together.join(used[:-1], used[1:])

    def _link(self, op: Operation) -> Sequence[SSAValue]:
        """Set the channels of a result that is scaled as operands are; return these, if any."""
        shape = static_shape(op.results[0].type) if len(op.results) == 1 else None
        if shape is None or not any(value in self._channels for value in op.operands):
            return ()
        operands = self._scaled(op, shape)
        known = [self._channels[value] for value in operands if value in self._channels]
        if not operands or len(known) < len(operands):
            return ()
        match op:
            case AddOp() | SumOp():
                channels = known[0]
                for other in known[1:]:
                    self._equate(channels, other)
            case ConcatOp():
                channels = np.concatenate(known, axis=op.axis.value.data)
            case LeakyReluOp() | MulOp():
                channels = known[0]
            case AveragePoolOp() | GlobalAveragePoolOp():
                channels = _spread(columns_of(known[0]), shape)
            case _:
                channels = channels_after(op, known[0], shape)
        if channels is None:
            return ()
        self._set(op.results[0], channels)
        self._computed[op.results[0]] = (
            self._computed[operands[0]] if isinstance(op, MOVES) else op.results[0]
        )
        return operands

    def _scaled(self, op: Operation, shape: tuple[int, ...]) -> Sequence[SSAValue]:
        """Return the operands with which a result of this shape would be scaled."""
        match op:
            case AddOp() | SumOp():
                is_plain_sum = all(static_shape(value.type) == shape for value in op.operands)
                return op.operands if is_plain_sum else ()
            case ConcatOp():
                return op.operands
            case MulOp():
                # By a smaller computed factor, such as that of squeeze and excitation.
                images = [value for value in op.operands if static_shape(value.type) == shape]
                others = [value for value in op.operands if value not in images]
                return images if len(images) == len(others) == 1 and elements(others[0]) is None else ()
            case _:
                return op.operands[:1]

    def _equate(self, one: Array, other: Array) -> None:
        """Give the channels of two values of the same shape equal factors."""
        columns = columns_of(one), columns_of(other)
        if not columns[0].size or not columns[1].size:
            columns = np.unique(np.stack([one.reshape(-1), other.reshape(-1)]), axis=1)
        for sets in (self._equal, self._together):
            sets.join(columns[0], columns[1])
