"""Writes the llvm dialect: numbers, vectors of numbers, memory and loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    AnyFloat,
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

from xonnc.dialects.krnl.types import is_buffer, is_integer, is_vector, size_of
from xonnc.dialects.krnl.vector_llvm import FCmpOp, SelectOp

POINTER = llvm.LLVMPointerType()


@cache
def vector_of(element: Attribute, lanes: int) -> Attribute:
    """The type of `lanes` numbers; 0 lanes mean one number that is no vector."""
    return VectorType(element, [lanes]) if lanes else element


def lanes_of(value: SSAValue) -> int:
    """Numbers in a vector; 0 for a number."""
    return value.type.get_shape()[0] if is_vector(value.type) else 0


def element_of(value: SSAValue) -> Attribute:
    """The type of a number, or of those in a vector."""
    return value.type.element_type if is_vector(value.type) else value.type


def lowered_type(type_: Attribute) -> Attribute:
    """What a value of krnl becomes: buffers are pointers, indices have 64 bits."""
    if is_buffer(type_):
        return POINTER
    return i64 if type_ == IndexType() else type_


def returned_type(types: Iterable[Attribute]) -> Attribute | None:
    """The one type that a function of LLVM gives for all results; several are the fields of a structure."""
    lowered = [lowered_type(each) for each in types]
    if len(lowered) > 1:
        return llvm.LLVMStructType.from_type_list(lowered)
    return lowered[0] if lowered else None


PREFETCH = "llvm.prefetch.p0"
"""LLVM's function that brings memory into the caches."""


MOST_CONSTANT_INDEX = (1 << 31) - 1
"""The largest index that `llvm.getelementptr` holds itself."""


class Emitter:
    """Adds ops at the end of a block of one function; `loop` moves on to the block behind the loop."""

    def __init__(self, function: Region) -> None:
        self.region = function
        self.entry = function.block
        self.block = self.entry
        self._constants: dict[tuple[Attribute, str], SSAValue] = {}

    def add(self, op: Operation) -> SSAValue:
        """Adds an op; its result."""
        self.block.add_op(op)
        return op.results[0]

    def do(self, op: Operation) -> None:
        """Adds an op without a result."""
        self.block.add_op(op)

    def packed(self, values: Sequence[SSAValue]) -> SSAValue | None:
        """All results of a function as the one value that it gives."""
        if len(values) < 2:
            return values[0] if values else None
        type_ = llvm.LLVMStructType.from_type_list([each.type for each in values])
        whole = self.add(llvm.UndefOp(type_))
        for place, value in enumerate(values):
            whole = self.add(llvm.InsertValueOp(DenseArrayBase.from_list(i64, [place]), whole, value))
        return whole

    def called(
        self, name: str, arguments: Sequence[SSAValue], results: Sequence[Attribute]
    ) -> list[SSAValue]:
        """Calls a function; its results, each by itself."""
        types = [lowered_type(each) for each in results]
        call = llvm.CallOp(name, *arguments, return_type=returned_type(results))
        self.do(call)
        if len(types) < 2:
            return list(call.results)
        return [
            self.add(llvm.ExtractValueOp(DenseArrayBase.from_list(i64, [place]), call.results[0], type_))
            for place, type_ in enumerate(types)
        ]

    def number(self, value: float, type_: Attribute = i64) -> SSAValue:
        """A constant, in all lanes of a vector; made once, at the start of the function."""
        key = type_, repr(value)
        if key not in self._constants:
            self._constants[key] = self._constant(value, type_)
        return self._constants[key]

    def _constant(self, value: float, type_: Attribute) -> SSAValue:
        attribute: Attribute
        if is_vector(type_):
            element, lanes = type_.element_type, type_.get_shape()[0]
            attribute = _splat(value, element, lanes)
        elif isinstance(type_, AnyFloat):
            attribute = FloatAttr[AnyFloat](float(value), type_)
        else:
            assert is_integer(type_)
            attribute = IntegerAttr[IntegerType](int(value), type_)
        op = llvm.ConstantOp(attribute, type_)
        first = self.entry.first_op
        if first is None:
            self.entry.add_op(op)
        else:
            self.entry.insert_op_before(op, first)
        return op.result

    def splat(self, value: SSAValue, lanes: int) -> SSAValue:
        """A number in all lanes; what is a vector stays."""
        if not lanes or lanes_of(value):
            return value
        type_ = vector_of(value.type, lanes)
        if isinstance(owner := value.owner, llvm.ConstantOp):
            match owner.value:
                case FloatAttr(value=held) | IntegerAttr(value=held):
                    return self.number(held.data, type_)
                case _:
                    pass
        empty = self.add(llvm.UndefOp(type_))
        first = self.add(llvm.InsertElementOp(empty, value, self.number(0, i32)))
        return self.shuffle(first, [0] * lanes)

    def shuffle(self, value: SSAValue, lanes: Sequence[int]) -> SSAValue:
        """These lanes of a vector, in this order."""
        mask = DenseArrayBase.from_list(i32, list(lanes))
        return self.add(llvm.ShuffleVectorOp(value, value, mask, vector_of(element_of(value), len(lanes))))

    def lane(self, value: SSAValue, lane: int) -> SSAValue:
        """One number of a vector."""
        return self.add(llvm.BitcastOp(self.shuffle(value, [lane]), element_of(value)))

    def fadd(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`a + b`"""
        return self.add(llvm.FAddOp(a, b))

    def fsub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`a - b`"""
        return self.add(llvm.FSubOp(a, b))

    def fmul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`a b`"""
        return self.add(llvm.FMulOp(a, b))

    def fma(self, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
        """`a b + c`, rounded once."""
        return self.add(llvm.FMAOp(a, b, c))

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """`a` where the condition holds, else `b`."""
        return self.add(SelectOp(condition, a, b))

    def fcmp(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """Floats compared."""
        return self.add(FCmpOp(a, b, predicate))

    def icmp(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """Integers compared."""
        flag = llvm.ICmpPredicateFlag(predicate).to_int()
        return self.add(llvm.ICmpOp(a, b, IntegerAttr(flag, i64)))

    def intrinsic(self, name: str, *values: SSAValue, result: Attribute | None = None) -> SSAValue:
        """A function that LLVM knows, of values of one type."""
        suffix = _suffix(values[0].type)
        if result is not None:
            suffix = f"{_suffix(result)}.{suffix}"
        return self.add(llvm.CallIntrinsicOp(f"llvm.{name}.{suffix}", values, [result or values[0].type]))

    def size(self, size: int | SSAValue) -> SSAValue:
        """A size, known now or not, as a number of the run."""
        return self.number(size) if isinstance(size, int) else size

    def scaled(self, index: SSAValue, factor: int | SSAValue) -> SSAValue:
        """`factor index`"""
        if isinstance(factor, int) and factor == 1:
            return index
        return self.add(llvm.MulOp(index, self.size(factor)))

    def times(self, a: int | SSAValue, b: int | SSAValue) -> int | SSAValue:
        """The product of two sizes, known if both are."""
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if isinstance(a, int):
            a, b = b, a
        if isinstance(b, int) and b == 0:
            return 0
        return self.scaled(self.size(a), b)

    def plus(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`a + b` of indices."""
        return self.add(llvm.AddOp(a, b))

    def parts(self, index: SSAValue, size: int) -> tuple[SSAValue, SSAValue]:
        """An index of two axes as one of each: `index / size` and the rest."""
        if size == 1:
            return index, self.number(0)
        whole = self.add(llvm.UDivOp(index, self.number(size)))
        return whole, self.add(llvm.SubOp(index, self.scaled(whole, size)))

    def address(self, buffer: SSAValue, place: SSAValue | int, element: Attribute) -> SSAValue:
        """Where element `place` of a buffer is."""
        element = IntegerType(8) if element == i1 else element
        if place == 0:
            return buffer
        if isinstance(place, int) and place <= MOST_CONSTANT_INDEX:
            return self.add(llvm.GEPOp(buffer, [place], element, inbounds=True))
        place = self.size(place)
        return self.add(
            llvm.GEPOp(buffer, [llvm.GEP_USE_SSA_VAL], element, ssa_indices=[place], inbounds=True)
        )

    def load(self, pointer: SSAValue, element: Attribute, lanes: int = 0) -> SSAValue:
        """One element, or that many that lie side by side; a truth value lies in a byte."""
        stored = IntegerType(8) if element == i1 else element
        found = self.add(llvm.LoadOp(pointer, vector_of(stored, lanes), alignment=size_of(element)))
        return self.icmp("ne", found, self.number(0, found.type)) if element == i1 else found

    def prefetch(self, pointer: SSAValue, distance: int) -> None:
        """Has the bytes so far behind a place brought into the caches, if there are any."""
        # Not `inbounds`: the last ones are behind the buffer.
        ahead = self.add(llvm.GEPOp(pointer, [distance], IntegerType(8)))
        reading, near, data = (self.number(number, i32) for number in (0, 3, 1))
        self.do(llvm.CallIntrinsicOp(PREFETCH, [ahead, reading, near, data], []))

    def load_stepped(
        self, pointer: SSAValue, element: Attribute, lanes: int, step: int | Fraction
    ) -> SSAValue:
        """A vector of elements `step` apart; of a step of `1/n` each element n times."""
        repeat = step.denominator
        if repeat == 1:
            return self.load_apart(pointer, element, lanes, step.numerator)
        if lanes == repeat:
            return self.splat(self.load(pointer, element), lanes)
        found = self.load(pointer, element, lanes // repeat)
        return self.shuffle(found, [lane // repeat for lane in range(lanes)])

    def load_apart(self, pointer: SSAValue, element: Attribute, lanes: int, step: int) -> SSAValue:
        """As many elements as lanes, `step` apart: all between are loaded too, none behind the last."""
        found = self.load(pointer, element, lanes)
        for number in range(1, step):
            # The last part ends with the last element.
            first = min(number * lanes, (step - 1) * (lanes - 1))
            part = self.load(self.address(pointer, first, element), element, lanes)
            mask: list[int] = []
            for lane in range(lanes):
                place = lane * step
                before = min(place, lanes - 1) if number == 1 else lane
                mask.append(lanes + place - first if first <= place < first + lanes else before)
            found = self.merge(found, part, mask)
        return found

    def merge(self, a: SSAValue, b: SSAValue, lanes: Sequence[int]) -> SSAValue:
        """These lanes of two vectors one behind the other, in this order."""
        mask = DenseArrayBase.from_list(i32, list(lanes))
        return self.add(llvm.ShuffleVectorOp(a, b, mask, vector_of(element_of(a), len(lanes))))

    def store(self, value: SSAValue, pointer: SSAValue) -> None:
        """The opposite of `load`."""
        element = element_of(value)
        if element == i1:
            value = self.add(llvm.ZExtOp(value, vector_of(IntegerType(8), lanes_of(value))))
        self.do(llvm.StoreOp(value, pointer, alignment=size_of(element)))

    def enter(self, block: Block) -> None:
        """Adds a block behind the others, and ops to that from now on."""
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
        """From `lower` to below `upper`; `body` gives for an index and what is carried what comes next."""
        head = Block(arg_types=[i64, *(value.type for value in carried)])
        inside, behind = Block(), Block()
        self.do(llvm.BrOp(head, lower, *carried))
        self.enter(head)
        index, *held = head.args
        self.do(llvm.CondBrOp(self.icmp("slt", index, upper), inside, [], behind, []))
        self.enter(inside)
        results = body(index, held)
        following = self.add(llvm.AddOp(index, self.number(step)))
        self.do(llvm.BrOp(head, following, *results))
        self.enter(behind)
        return held


def _splat(value: float, element: Attribute, lanes: int) -> Attribute:
    """A number in all lanes of a constant."""
    if isinstance(element, AnyFloat):
        floats = VectorType[AnyFloat](element, [lanes])
        return DenseIntOrFPElementsAttr.from_list(floats, [float(value)] * lanes)
    assert is_integer(element)
    integers = VectorType[IntegerType](element, [lanes])
    return DenseIntOrFPElementsAttr.from_list(integers, [int(value)] * lanes)


def _suffix(type_: Attribute) -> str:
    if is_vector(type_):
        return f"v{type_.get_shape()[0]}{_suffix(type_.element_type)}"
    return f"i{type_.width.data}" if is_integer(type_) else type_.name
