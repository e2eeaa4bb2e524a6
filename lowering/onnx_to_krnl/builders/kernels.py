"""
Kernels of known operands, written as expressions on scalars.

`y = max(x, 0)`, over all elements:

    kernel = Kernel(builder, "relu", [(op.Y, [count])], [(op.X, [count])])
    out, source = kernel.buffers
    with kernel.loops([count]) as (index,):
        out[index] = source[index].maximum(0)
    kernel.call()
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

import numpy as np
from xdsl.dialects.builtin import MemRefType, i64
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.memory import CallOp
from xonnc.dialects.onnx.types import element_type_of
from xonnc.lowering.onnx_to_krnl.builders.kernel_builder import KernelBuilder, buffer_type
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.builders.scalars import INDEX, Number, Scalar
from xonnc.lowering.onnx_to_krnl.planning.element_types import compute_type, is_unsigned_element
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size
from xonnc.rewriting.patterns import Array

Value: TypeAlias = SSAValue | Array
"""A tensor, a buffer, or the elements of a constant."""

Operand: TypeAlias = Value | tuple[Value, Sequence[Size]]
"""A value in its own shape, or in another one of as many elements."""

Index: TypeAlias = SSAValue | Scalar | int

Indices: TypeAlias = Index | tuple[Index, ...]


@dataclass(frozen=True)
class Buffer:
    """A buffer in a kernel: `buffer[i, j]` is an element, in the type that kernels compute in."""

    kernel: KernelBuilder
    value: SSAValue
    shape: Sequence[Size]
    element: Attribute
    """The type of the tensor's elements, as which they are stored."""

    def __getitem__(self, indices: Indices) -> Scalar:
        return Scalar(self.kernel, self.kernel.read(self.value, self._at(indices), self.element))

    def __setitem__(self, indices: Indices, number: Number) -> None:
        kind = compute_type(self.element)
        made = number.to(kind).value if isinstance(number, Scalar) else self.kernel.constant(number, kind)
        self.kernel.write(made, self.value, self._at(indices), self.element)

    def read_as(self, kind: Attribute, *indices: Index) -> Scalar:
        """Return an element, converted to another type."""
        return self[indices].to(kind, is_unsigned_element(self.element))

    def broadcast(self, indices: Sequence[Index]) -> tuple[Index, ...]:
        """Return the indices of an element that is broadcast along axes of size 1."""
        return tuple(0 if size == 1 else index for index, size in zip(indices, self.shape, strict=True))

    def load(self, *indices: Index) -> Scalar:
        """Return an element as stored."""
        return Scalar(self.kernel, self.kernel.load(self.value, self._at(indices)))

    def store(self, number: Scalar, *indices: Index) -> None:
        """Store an element as it is."""
        self.kernel.store(number.value, self.value, self._at(indices))

    def copy(self, indices: Indices, source: Buffer, source_indices: Indices) -> None:
        """Store an element of a buffer of the same type, unchanged."""
        stored = self.kernel.load(source.value, self._at(source_indices))
        self.kernel.store(stored, self.value, self._at(indices))

    def _at(self, indices: Indices) -> list[SSAValue]:
        return [
            index_value(self.kernel, each) for each in (indices if isinstance(indices, tuple) else (indices,))
        ]


def index_value(kernel: KernelBuilder, index: Index) -> SSAValue:
    """Return an index as an SSA value."""
    if isinstance(index, int):
        return kernel.index(index)
    return index.to(INDEX).value if isinstance(index, Scalar) else index


class Kernel:
    """
    A kernel that reads and writes certain values, and its call.

    `outputs` that are tensors are allocated by the call.
    """

    def __init__(
        self, builder: LoweringBuilder, name: str, outputs: Sequence[Operand], inputs: Sequence[Operand]
    ) -> None:
        self._builder = builder
        self._name = name
        self._outputs = [_value_of(each) for each in outputs]
        self._inputs = [_value_of(each) for each in inputs]
        operands = [_shape_and_element(each, builder) for each in (*outputs, *inputs)]
        self.ssa = KernelBuilder([buffer_type(shape, element) for shape, element in operands])
        """The builder of its ops."""
        self.buffers: Sequence[Buffer] = [
            Buffer(self.ssa, value, shape, element)
            for value, (shape, element) in zip(self.ssa.buffers, operands, strict=True)
        ]
        """The outputs, then the inputs."""

    def call(self, iterations: Size = 0) -> CallOp:
        """Insert the call; `iterations` is their number in a kernel that takes a range of them."""
        outputs = [self._builder.result(each) if _is_tensor(each) else each for each in self._outputs]
        return self._builder.call(
            self._name,
            self.ssa,
            [self._buffer(each) for each in outputs],
            [self._buffer(each) for each in self._inputs],
            iterations,
        )

    def _buffer(self, value: Value) -> SSAValue:
        if isinstance(value, np.ndarray):
            return self._builder.constant_buffer(value)
        return self._builder.buffer(value) if _is_tensor(value) else value

    def constant(self, value: float, kind: Attribute) -> Scalar:
        """Return a constant of a type."""
        return Scalar(self.ssa, self.ssa.constant(value, kind))

    def index(self, value: int) -> Scalar:
        """Return a constant index."""
        return Scalar(self.ssa, self.ssa.index(value))

    def size(self, size: Size) -> Scalar:
        """Return a size as an index."""
        return Scalar(self.ssa, self.ssa.size(size))

    def count(self, sizes: Sequence[Size], kind: Attribute = i64) -> Scalar:
        """Return the number of elements of a shape as a scalar of a type."""
        return Scalar(self.ssa, self.ssa.count(sizes, kind))

    @contextmanager
    def loops(self, sizes: Sequence[Size | Scalar]) -> Generator[Sequence[Scalar]]:
        """Open a loop nest over a shape; yield the indices."""
        with self.ssa.loops(self._ends(sizes)) as indices:
            yield [Scalar(self.ssa, each) for each in indices]

    @contextmanager
    def reducing(
        self, sizes: Sequence[Size | Scalar], starts: Sequence[Scalar]
    ) -> Generator[tuple[Sequence[Scalar], Sequence[Scalar], list[Scalar]]]:
        """
        Open a loop nest with loop-carried values.

        Yields the indices, the carried values, and a list to be filled with the values for the next
        iteration; afterwards the list holds the final values.
        """
        results: list[Scalar] = []
        with self.ssa.reducing(self._ends(sizes), [each.value for each in starts]) as (
            indices,
            carried,
            values,
        ):
            yield (
                [Scalar(self.ssa, each) for each in indices],
                [Scalar(self.ssa, each) for each in carried],
                results,
            )
            values += [each.value for each in results]
        results[:] = [Scalar(self.ssa, each) for each in values]

    def reduce(self, size: Size | Scalar, start: Scalar, step: Callable[[Scalar, Scalar], Scalar]) -> Scalar:
        """Return the last of the values `step(value, index)`, of which `start` is the first."""
        with self.reducing([size], [start]) as ((index,), (value,), results):
            results.append(step(value, index))
        return results[0]

    def when(self, condition: Scalar) -> AbstractContextManager[None]:
        """Guard the ops added inside by a boolean."""
        return self.ssa.when(condition.value)

    def _ends(self, sizes: Sequence[Size | Scalar]) -> list[Size | SSAValue]:
        return [each.to(INDEX).value if isinstance(each, Scalar) else each for each in sizes]


def _value_of(operand: Operand) -> Value:
    return operand[0] if isinstance(operand, tuple) else operand


def _is_tensor(value: Value) -> TypeGuard[SSAValue]:
    """Whether a value is a tensor of the model; the others are buffers and constants."""
    return isinstance(value, SSAValue) and not isinstance(value.type, MemRefType)


def _shape_and_element(operand: Operand, builder: LoweringBuilder) -> tuple[Sequence[Size], Attribute]:
    value = _value_of(operand)
    if isinstance(value, np.ndarray):
        own, element = value.shape, element_type_of(value.dtype)
    elif _is_tensor(value):
        own, element = builder.sizes(value), builder.element(value)
    else:
        own, element = builder.contents(value)
    return operand[1] if isinstance(operand, tuple) else own, element
