"""Builder of one kernel: a function of buffers made of krnl loops."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias, overload

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    FunctionType,
    IndexType,
    MemRefType,
    f16,
    f32,
    f64,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from xonnc.dialects.krnl.constants import ScalarAttribute, scalar_attribute
from xonnc.dialects.krnl.dynamic_shapes import ShapedOp, SubviewOp
from xonnc.dialects.krnl.loops import DefineLoopsOp, IterateOp, YieldOp
from xonnc.dialects.krnl.math import DecodeOp, EncodeOp, ToOddOp
from xonnc.dialects.krnl.memory import LoadOp, StoreOp, element_of, shape_of
from xonnc.dialects.krnl.types import buffer_of, is_integer
from xonnc.lowering.onnx_to_krnl.planning.element_types import (
    NARROW_FLOATS,
    is_sub_byte,
    is_unsigned_element,
    storage_type,
)
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import (
    Size,
    SymbolicSize,
    is_static,
    static_or_dynamic,
    volume,
)

INDEX = IndexType()


@dataclass(frozen=True)
class DynamicBuffer:
    """A buffer with dynamic dimensions."""

    shape: tuple[Size, ...]
    element: Attribute
    """The elements as they are stored."""

    @property
    def type(self) -> MemRefType:
        """Return its memref type."""
        return buffer_of(self.element, tuple(map(static_or_dynamic, self.shape)))


BufferType: TypeAlias = MemRefType | DynamicBuffer


@overload
def buffer_type(shape: Sequence[int], element: Attribute) -> MemRefType: ...
@overload
def buffer_type(shape: Sequence[Size], element: Attribute) -> BufferType: ...
def buffer_type(shape: Sequence[Size], element: Attribute) -> BufferType:
    """Return the type of a row-major buffer for elements of a type."""
    sizes = [size for size in shape if is_static(size)]
    if len(sizes) == len(shape):
        return buffer_of(storage_type(element), tuple(sizes))
    return DynamicBuffer(tuple(shape), storage_type(element))


class KernelBuilder:
    """
    A function of buffers and an insertion point.

    Written buffers come first.
    """

    def __init__(self, buffers: Sequence[BufferType]) -> None:
        self.types: list[Attribute] = [
            each if isinstance(each, MemRefType) else buffer_of(each.element, (DYNAMIC_INDEX,))
            for each in buffers
        ]
        self.entry = Block(arg_types=self.types)
        self.block = self.entry
        self._constants: dict[Attribute, SSAValue] = {}
        self.extents: dict[SymbolicSize, SSAValue] = {}
        """Dynamic dimensions, and the arguments that hold them."""
        self.buffers: Sequence[SSAValue] = [
            argument if isinstance(each, MemRefType) else self._shaped(argument, each)
            for argument, each in zip(tuple(self.entry.args), buffers, strict=True)
        ]
        """The buffers, in the given shapes."""

    def _shaped(self, argument: SSAValue, buffer: DynamicBuffer) -> SSAValue:
        sizes = [self.size(size) for size in buffer.shape if not is_static(size)]
        return self.add(ShapedOp(operands=[argument, sizes], result_types=[buffer.type]))

    def size(self, size: Size) -> SSAValue:
        """Return a size as an index: a constant, or an argument of the kernel."""
        if is_static(size):
            return self.index(size)
        assert isinstance(size, SymbolicSize)
        if size not in self.extents:
            self.types.append(INDEX)
            self.extents[size] = self.entry.insert_arg(INDEX, len(self.entry.args))
        return self.extents[size]

    def add_range_arguments(self) -> Sequence[SSAValue]:
        """Add the range of iterations to run as arguments: first, and end (exclusive)."""
        self.types += [INDEX, INDEX]
        return [self.entry.insert_arg(INDEX, len(self.entry.args)) for _ in range(2)]

    def add(self, op: Operation) -> SSAValue:
        """Insert an op; return its result."""
        self.block.add_op(op)
        return op.results[0]

    def load(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        """Load an element as stored."""
        return self.add(LoadOp(buffer, indices))

    def store(self, value: SSAValue, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
        """Store an element."""
        self.block.add_op(StoreOp(value, buffer, indices))

    def to_compute_type(self, value: SSAValue, element: Attribute) -> SSAValue:
        """Convert a stored element to the type that kernels compute in."""
        if element == f16:
            return self.add(arith.ExtFOp(value, f32))
        if element in NARROW_FLOATS:
            return self.add(DecodeOp(value, element))
        if is_integer(element) and is_sub_byte(element):
            rest = self.constant(8 - element.width.data, value.type)
            shift = arith.ShRUIOp if is_unsigned_element(element) else arith.ShRSIOp
            return self.add(shift(self.add(arith.ShLIOp(value, rest)), rest))
        return value

    def to_storage_type(
        self, number: SSAValue, element: Attribute, saturate: bool = True, round_mode: str = "up"
    ) -> SSAValue:
        """
        Convert a computed scalar to a stored element.

        f64 is rounded to odd in f32 first, so that narrowing again does not round twice.
        """
        if element in NARROW_FLOATS or element == f16:
            if number.type == f64:
                number = self.add(ToOddOp(number))
            if element == f16:
                return self.add(arith.TruncFOp(number, f16))
            return self.add(EncodeOp(number, element, storage_type(element), saturate, round_mode))
        if is_integer(element) and is_sub_byte(element):
            mask = self.constant((1 << element.width.data) - 1, number.type)
            return self.add(arith.AndIOp(number, mask))
        return number

    def read(self, buffer: SSAValue, indices: Sequence[SSAValue], element: Attribute) -> SSAValue:
        """Load an element and convert it to its compute type."""
        return self.to_compute_type(self.load(buffer, indices), element)

    def write(
        self, number: SSAValue, buffer: SSAValue, indices: Sequence[SSAValue], element: Attribute
    ) -> None:
        """Convert a scalar to the stored type and store it."""
        self.store(self.to_storage_type(number, element), buffer, indices)

    def subview(self, buffer: SSAValue, index: SSAValue, shape: Sequence[Size]) -> SSAValue:
        """Return the slice of a buffer at an index of its first axis; `shape` is that of the other axes."""
        type_ = buffer_type(shape, element_of(buffer))
        result_type = type_.type if isinstance(type_, DynamicBuffer) else type_
        sizes = [self.size(size) for size in shape if not is_static(size)]
        return self.add(SubviewOp(operands=[buffer, index, sizes], result_types=[result_type]))

    def rows(self, buffer: SSAValue, start: SSAValue, count: SSAValue) -> SSAValue:
        """Return consecutive rows of a matrix."""
        type_ = buffer_of(element_of(buffer), (DYNAMIC_INDEX, shape_of(buffer)[1]))
        return self.add(SubviewOp(operands=[buffer, start, [count]], result_types=[type_]))

    def index(self, value: int) -> SSAValue:
        """Return a constant index."""
        return self._constant(scalar_attribute(value, INDEX), INDEX)

    def constant(self, value: float, type_: Attribute) -> SSAValue:
        """Return a constant of a type."""
        return self._constant(scalar_attribute(value, type_), type_)

    def _constant(self, value: ScalarAttribute, type_: Attribute) -> SSAValue:
        """Return a constant, created once at the start of the kernel."""
        if value not in self._constants:
            op = arith.ConstantOp.create(result_types=[type_], properties={"value": value})
            first = self.entry.first_op
            if first is None:
                self.entry.add_op(op)
            else:
                self.entry.insert_op_before(op, first)
            self._constants[value] = op.result
        return self._constants[value]

    def plus(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Return the sum of two indices."""
        return self.add(arith.AddiOp.create(operands=[a, b], result_types=[a.type]))

    def affine(self, a: SSAValue, factor: Size, offset: Size = 0) -> SSAValue:
        """`factor a + offset`"""
        if factor != 1:
            a = self.add(arith.MuliOp.create(operands=[a, self.size(factor)], result_types=[a.type]))
        return a if offset == 0 else self.plus(a, self.size(offset))

    def count(self, sizes: Sequence[Size], type_: Attribute) -> SSAValue:
        """Return the number of elements of a shape as a scalar of a type."""
        total = volume(sizes)
        if is_static(total):
            return self.constant(total, type_)
        count = self.add(arith.IndexCastOp(self.size(total), i64))
        if isinstance(type_, AnyFloat):
            return self.add(arith.SIToFPOp(count, type_))
        assert is_integer(type_)
        return count if type_ == i64 else self.add(arith.TruncIOp(count, type_))

    @contextmanager
    def loops(self, sizes: Sequence[Size | SSAValue]) -> Generator[Sequence[SSAValue]]:
        """Open a loop nest over a shape; yield the indices. A size may be an SSA value."""
        op, indices = self._begin(sizes, [])
        outside, self.block = self.block, op.body.block
        yield indices
        self._end(op, [])
        self.block = outside

    @contextmanager
    def when(self, condition: SSAValue) -> Generator[None]:
        """Guard the ops added inside by a boolean: a loop of 0 or 1 iterations."""
        iterations = self.add(arith.IndexCastOp(self.add(arith.ExtUIOp(condition, i64)), INDEX))
        with self.loops([iterations]):
            yield

    @contextmanager
    def reducing(
        self, sizes: Sequence[Size | SSAValue], starts: Sequence[SSAValue]
    ) -> Generator[tuple[Sequence[SSAValue], Sequence[SSAValue], list[SSAValue]]]:
        """
        Open a loop nest with loop-carried values.

        Yields the indices, the carried values, and a list to be filled with the values for the next
        iteration; afterwards the list holds the final values.
        """
        op, indices = self._begin(sizes, starts)
        outside, self.block = self.block, op.body.block
        results: list[SSAValue] = []
        yield indices, op.body.block.args[len(indices) :], results
        self._end(op, results)
        self.block = outside
        results[:] = op.returned

    def _begin(
        self, sizes: Sequence[Size | SSAValue], starts: Sequence[SSAValue]
    ) -> tuple[IterateOp, Sequence[SSAValue]]:
        sizes = sizes or (1,)
        ends = [self.size(size) if isinstance(size, SymbolicSize) else size for size in sizes]
        loops = DefineLoopsOp(len(sizes))
        self.block.add_op(loops)
        body = Block(arg_types=[INDEX] * len(sizes) + [value.type for value in starts])
        # IterateOp adds a terminator where there is none; that of loops with carried values is set in `_end`.
        body.add_op(YieldOp.create(operands=list(starts)))
        op = IterateOp(loops.loops, [0] * len(sizes), ends, Region(body), starts)
        end = body.last_op
        assert end is not None
        end.detach()
        end.erase()
        self.block.add_op(op)
        return op, body.args[: len(sizes)]

    def _end(self, op: IterateOp, results: Sequence[SSAValue]) -> None:
        op.body.block.add_op(YieldOp.create(operands=list(results)))

    def function(self, name: str) -> FuncOp:
        """Return the finished kernel, dead ops removed."""
        for op in list(self.entry.walk(reverse=True)):
            if is_trivially_dead(op):
                op.detach()
                op.erase()
        self.entry.add_op(ReturnOp())
        return FuncOp(name, FunctionType.from_lists(self.types, []), Region(self.entry), "private")
