"""A builder for the llvm dialect: scalars, vectors, memory accesses and loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from xonnc.dialects.krnl.constants import constant_attribute
from xonnc.dialects.krnl.types import is_buffer, is_integer, is_vector, size_of
from xonnc.lowering.krnl_to_llvm import llvm_ops
from xonnc.lowering.krnl_to_llvm.llvm_ops import POINTER, vector_of

INDEX = IndexType()
BYTE = IntegerType(8)


def lanes_of(value: SSAValue) -> int:
    """Return the number of lanes of a vector; 0 for a scalar."""
    return value.type.get_shape()[0] if is_vector(value.type) else 0


def element_of(value: SSAValue) -> Attribute:
    """Return the type of a scalar, or the element type of a vector."""
    return value.type.element_type if is_vector(value.type) else value.type


def lowered_type(type_: Attribute) -> Attribute:
    """Return the LLVM type of a krnl value: buffers become pointers, indices i64."""
    if is_buffer(type_):
        return POINTER
    return i64 if type_ == INDEX else type_


def returned_type(types: Iterable[Attribute]) -> Attribute | None:
    """Return the LLVM return type for some results: `None`, the type of the only one, or a struct."""
    lowered = [lowered_type(each) for each in types]
    if len(lowered) > 1:
        return llvm.LLVMStructType.from_type_list(lowered)
    return lowered[0] if lowered else None


PREFETCH = "llvm.prefetch.p0"
"""The LLVM intrinsic for a software prefetch."""

POINTER_MASK = "llvm.ptrmask.p0.i64"
"""The LLVM intrinsic that clears bits of a pointer."""


MAX_CONSTANT_INDEX = (1 << 31) - 1
"""The largest constant index of `llvm.getelementptr`, whose attribute has 32 bits."""


class LLVMBuilder:
    """Append operations to the current block of a function; `loop` continues in the block after the loop."""

    def __init__(self, function: Region) -> None:
        self.region = function
        self.entry = function.block
        self.block = self.entry
        self._constants: dict[tuple[Attribute, str], SSAValue] = {}

    def add(self, op: Operation) -> SSAValue:
        """Append an operation and return its result."""
        self.block.add_op(op)
        return op.results[0]

    def insert(self, op: Operation) -> None:
        """Append an operation without a result."""
        self.block.add_op(op)

    def pack_struct(self, values: Sequence[SSAValue]) -> SSAValue | None:
        """Pack the results of a function into the value that it returns; `None` for no results."""
        if len(values) < 2:
            return values[0] if values else None
        type_ = llvm.LLVMStructType.from_type_list([each.type for each in values])
        packed = self.add(llvm_ops.undefined(type_))
        for index, value in enumerate(values):
            packed = self.add(llvm.InsertValueOp(DenseArrayBase.from_list(i64, [index]), packed, value))
        return packed

    def call_function(
        self, name: str, arguments: Sequence[SSAValue], results: Sequence[Attribute]
    ) -> list[SSAValue]:
        """Call a function and return its results, unpacked."""
        types = [lowered_type(each) for each in results]
        call = llvm_ops.call(name, arguments, returned_type(results))
        self.insert(call)
        if len(types) < 2:
            return list(call.results)
        return [
            self.add(llvm.ExtractValueOp(DenseArrayBase.from_list(i64, [index]), call.results[0], type_))
            for index, type_ in enumerate(types)
        ]

    def constant(self, value: float, type_: Attribute = i64) -> SSAValue:
        """Return a constant, broadcast for a vector type; each is defined once, in the entry block."""
        key = type_, repr(value)
        if key not in self._constants:
            self._constants[key] = self._constant(value, type_)
        return self._constants[key]

    def constants(self, numbers: Sequence[int], element: Attribute) -> SSAValue:
        """Return a constant vector of integers; each is defined once, in the entry block."""
        assert is_integer(element)
        type_ = VectorType(element, [len(numbers)])
        key = type_, repr(numbers)
        if key not in self._constants:
            held = DenseIntOrFPElementsAttr.from_list(type_, numbers)
            self._constants[key] = self._first_in_entry(llvm_ops.constant(held, type_))
        return self._constants[key]

    def _constant(self, value: float, type_: Attribute) -> SSAValue:
        return self._first_in_entry(llvm_ops.constant(constant_attribute(value, type_), type_))

    def _first_in_entry(self, op: llvm.ConstantOp) -> SSAValue:
        first = self.entry.first_op
        if first is None:
            self.entry.add_op(op)
        else:
            self.entry.insert_op_before(op, first)
        return op.result

    def stack_space(self, count: int, element: Attribute) -> SSAValue:
        """Return space for elements on the stack, from a cache line on, for the whole function."""
        size = self.constant(count)
        made = llvm.AllocaOp(size, element, alignment=64)
        assert isinstance(size.owner, Operation)
        self.entry.insert_op_after(made, size.owner)
        return made.res

    def splat(self, value: SSAValue, lanes: int) -> SSAValue:
        """Broadcast a scalar to all lanes; a vector is returned as it is."""
        if not lanes or lanes_of(value):
            return value
        type_ = vector_of(value.type, lanes)
        if isinstance(owner := value.owner, llvm.ConstantOp):
            match owner.value:
                case FloatAttr(value=held) | IntegerAttr(value=held):
                    return self.constant(held.data, type_)
                case _:
                    pass
        empty = self.add(llvm_ops.undefined(type_))
        first = self.add(llvm_ops.insert_element(empty, value, self.constant(0, i32)))
        return self.shuffle(first, [0] * lanes)

    def shuffle(self, value: SSAValue, lanes: Sequence[int]) -> SSAValue:
        """Shuffle: return these lanes of a vector, in this order."""
        return self.add(llvm_ops.shuffle(value, value, lanes))

    def lane(self, value: SSAValue, lane: int) -> SSAValue:
        """Extract one lane of a vector."""
        return self.add(llvm_ops.cast(llvm.BitcastOp, self.shuffle(value, [lane]), element_of(value)))

    def fadd(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`a + b`"""
        return self.add(llvm_ops.binary(llvm.FAddOp, a, b))

    def fsub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`a - b`"""
        return self.add(llvm_ops.binary(llvm.FSubOp, a, b))

    def fmul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`a * b`"""
        return self.add(llvm_ops.binary(llvm.FMulOp, a, b))

    def fma(self, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
        """Fused multiply-add: `a * b + c` with one rounding."""
        return self.add(llvm_ops.fma(a, b, c))

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """Select `a` in lanes where the condition is true, else `b`."""
        return self.add(llvm_ops.select(condition, a, b))

    def fcmp(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """Compare floats, by the name of an LLVM predicate."""
        return self.add(llvm_ops.fcmp(predicate, a, b))

    def icmp(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """Compare integers, by the name of an LLVM predicate."""
        return self.add(llvm_ops.icmp(predicate, a, b))

    def intrinsic(self, name: str, *values: SSAValue, result: Attribute | None = None) -> SSAValue:
        """Call an LLVM intrinsic that is overloaded on the type of its operands, and on `result` if given."""
        suffix = intrinsic_suffix(values[0].type)
        if result is not None:
            suffix = f"{intrinsic_suffix(result)}.{suffix}"
        return self.add(llvm_ops.intrinsic(f"llvm.{name}.{suffix}", values, [result or values[0].type]))

    def size(self, size: int | SSAValue) -> SSAValue:
        """Return a static or dynamic size as an i64 value."""
        return self.constant(size) if isinstance(size, int) else size

    def imul(self, index: SSAValue, factor: int | SSAValue) -> SSAValue:
        """`index * factor` of integers; a factor of 1 is folded."""
        if isinstance(factor, int) and factor == 1:
            return index
        return self.add(llvm_ops.binary(llvm.MulOp, index, self.size(factor)))

    def mul_sizes(self, a: int | SSAValue, b: int | SSAValue) -> int | SSAValue:
        """Return the product of two sizes, static if both are."""
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if isinstance(a, int):
            a, b = b, a
        if isinstance(b, int) and b == 0:
            return 0
        return self.imul(self.size(a), b)

    def ceil_div(self, size: int | SSAValue, step: int | SSAValue) -> int | SSAValue:
        """Return how many steps cover a size, static if both are."""
        if isinstance(size, int) and isinstance(step, int):
            return -(-size // step)
        before = step - 1 if isinstance(step, int) else self.iadd(step, self.constant(-1))
        rounded = self.iadd(self.size(size), self.size(before))
        return self.add(llvm_ops.binary(llvm.SDivOp, rounded, self.size(step)))

    def iadd(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`a + b` of integers."""
        return self.add(llvm_ops.binary(llvm.AddOp, a, b))

    def delinearize(self, index: SSAValue, size: int | SSAValue) -> tuple[SSAValue, SSAValue]:
        """Split a linear index over two axes: quotient and remainder by `size`, the inner extent."""
        if size == 1:
            return index, self.constant(0)
        quotient = self.add(llvm_ops.binary(llvm.UDivOp, index, self.size(size)))
        return quotient, self.add(llvm_ops.binary(llvm.SubOp, index, self.imul(quotient, size)))

    def address(self, buffer: SSAValue, index: SSAValue | int, element: Attribute) -> SSAValue:
        """Return the address of element `index` of a buffer."""
        if index == 0:
            return buffer
        if isinstance(index, int) and index > MAX_CONSTANT_INDEX:
            index = self.size(index)
        return self.add(llvm_ops.address(buffer, index, BYTE if element == i1 else element))

    def opaque(self, pointer: SSAValue) -> SSAValue:
        """
        Return an equal pointer whose computation LLVM's loop strength reduction does not analyze.

        Addresses at constant distances from it remain displacements in the loads. Otherwise each may become
        a loop-carried pointer of its own, and a tile of many pixels has more of them than there are
        registers.
        """
        all_ones = self.constant(-1)
        return self.add(llvm_ops.intrinsic(POINTER_MASK, [pointer, all_ones], [pointer.type]))

    def load(self, pointer: SSAValue, element: Attribute, lanes: int = 0) -> SSAValue:
        """Load one element, or `lanes` contiguous ones; a boolean is stored as a byte."""
        if element == i1:
            found = self.load(pointer, BYTE, lanes)
            return self.icmp("ne", found, self.constant(0, found.type))
        return self.add(llvm_ops.load(pointer, vector_of(element, lanes), size_of(element)))

    def prefetch(self, pointer: SSAValue, distance: int, is_written: bool = False, level: int = 1) -> None:
        """Prefetch the cache line `distance` bytes after an address into a cache, for reading or writing."""
        # Not `inbounds`: the last prefetches of a loop are past the end of the buffer, where a prefetch of
        # unmapped memory has no effect, but an inbounds address would be poison.
        ahead = self.add(llvm_ops.address(pointer, distance, BYTE, inbounds=False)) if distance else pointer
        access, near, data = (self.constant(number, i32) for number in (int(is_written), 4 - level, 1))
        self.insert(llvm_ops.intrinsic(PREFETCH, [ahead, access, near, data], []))

    def load_strided(
        self, pointer: SSAValue, element: Attribute, lanes: int, step: int | Fraction
    ) -> SSAValue:
        """Load a vector of elements with stride `step`; a stride of `1/n` repeats each element n times."""
        repeat = step.denominator
        if repeat == 1:
            return self.load_deinterleaved(pointer, element, lanes, step.numerator)
        if lanes == repeat:
            return self.splat(self.load(pointer, element), lanes)
        found = self.load(pointer, element, lanes // repeat)
        return self.shuffle(found, [lane // repeat for lane in range(lanes)])

    def load_deinterleaved(self, pointer: SSAValue, element: Attribute, lanes: int, step: int) -> SSAValue:
        """Load `lanes` elements with stride `step` by contiguous loads and shuffles."""
        found = self.load(pointer, element, lanes)
        for number in range(1, step):
            # The last contiguous load is moved back so that it ends with the last element: no load may cross
            # the end of the buffer. It overlaps the one before, so lanes are picked from the first that fits.
            first = min(number * lanes, (step - 1) * (lanes - 1))
            part = self.load(self.address(pointer, first, element), element, lanes)
            mask: list[int] = []
            for lane in range(lanes):
                index = lane * step
                before = min(index, lanes - 1) if number == 1 else lane
                mask.append(lanes + index - first if first <= index < first + lanes else before)
            found = self.shuffle_pair(found, part, mask)
        return found

    def shuffle_pair(self, a: SSAValue, b: SSAValue, lanes: Sequence[int]) -> SSAValue:
        """Shuffle: return these lanes of the concatenation of two vectors, in this order."""
        return self.add(llvm_ops.shuffle(a, b, lanes))

    def store(self, value: SSAValue, pointer: SSAValue) -> None:
        """Store a scalar, or a vector to contiguous elements; a boolean is stored as a byte."""
        element = element_of(value)
        if element == i1:
            value = self.add(llvm_ops.cast(llvm.ZExtOp, value, vector_of(BYTE, lanes_of(value))))
        self.insert(llvm_ops.store(value, pointer, size_of(element)))

    def start_block(self, block: Block) -> None:
        """Append a block to the function and make it the current one."""
        self.region.add_block(block)
        self.block = block

    def loop(
        self,
        lower: SSAValue,
        upper: SSAValue,
        step: int,
        carried: Sequence[SSAValue],
        body: Callable[[SSAValue, Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> Sequence[SSAValue]:
        """
        Emit a counted loop over `[lower, upper)`; return the loop-carried values after it.

        `body` is called with the index and the carried values, and returns those of the next iteration.
        """
        head = Block(arg_types=[i64, *(value.type for value in carried)])
        inside, after = Block(), Block()
        self.insert(llvm_ops.branch(head, [lower, *carried]))
        self.start_block(head)
        index, *iter_args = head.args
        self.insert(llvm_ops.conditional_branch(self.icmp("slt", index, upper), inside, after))
        self.start_block(inside)
        results = body(index, iter_args)
        following = self.iadd(index, self.constant(step))
        self.insert(llvm_ops.branch(head, [following, *results]))
        self.start_block(after)
        return iter_args


def intrinsic_suffix(type_: Attribute) -> str:
    if is_vector(type_):
        return f"v{type_.get_shape()[0]}{intrinsic_suffix(type_.element_type)}"
    return f"i{type_.width.data}" if is_integer(type_) else type_.name
