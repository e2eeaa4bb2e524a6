"""
Create operations of the llvm dialect.

The constructors of xDSL sort operands into segments and build each attribute anew, which takes several times
as long as `create`. A kernel has thousands of operations, and few different attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xonnc.dialects.krnl.types import is_vector
from xonnc.dialects.krnl.vector_llvm import FCmpOp, SelectOp

POINTER = llvm.LLVMPointerType()
ORDERING = IntegerAttr(0, i64)
"""The ordering of accesses that are not atomic."""
NO_FAST_MATH = llvm.FastMathAttr(None)
SEGMENTS = "operandSegmentSizes"
NO_PROPERTIES: Mapping[str, Attribute] = MappingProxyType({})


@cache
def vector_of(element: Attribute, lanes: int) -> Attribute:
    """Return the type of a vector of `lanes` elements; 0 lanes mean a scalar."""
    return VectorType(element, [lanes]) if lanes else element


@cache
def integers(type_: IntegerType, numbers: tuple[int, ...]) -> DenseArrayBase:
    """Return an array attribute."""
    return DenseArrayBase.from_list(type_, numbers)


@cache
def _fixed_properties(kind: type[Operation]) -> Mapping[str, Attribute]:
    """Return the properties of binary operations that have no default of their own."""
    if issubclass(kind, llvm.ArithmeticBinOpOverflow):
        return {"overflowFlags": IntegerAttr(0, i32)}
    return NO_PROPERTIES


def binary(kind: type[Operation], a: SSAValue, b: SSAValue) -> Operation:
    """Create an operation on two values of the type of its result."""
    return kind.create(operands=(a, b), result_types=(a.type,), properties=_fixed_properties(kind))


def cast(kind: type[Operation], value: SSAValue, type_: Attribute) -> Operation:
    """Create a conversion."""
    return kind.create(operands=(value,), result_types=(type_,))


def constant(value: Attribute, type_: Attribute) -> llvm.ConstantOp:
    """Create a constant."""
    return llvm.ConstantOp.create(result_types=(type_,), properties={"value": value})


def undefined(type_: Attribute) -> Operation:
    """Create an undefined value."""
    return llvm.UndefOp.create(result_types=(type_,))


def insert_element(vector: SSAValue, value: SSAValue, index: SSAValue) -> Operation:
    """Create the insertion of a scalar into a vector."""
    return llvm.InsertElementOp.create(operands=(vector, value, index), result_types=(vector.type,))


def shuffle(a: SSAValue, b: SSAValue, lanes: Sequence[int]) -> Operation:
    """Create a vector of these lanes of the concatenation of two vectors, in this order."""
    assert is_vector(a.type)
    type_ = vector_of(a.type.element_type, len(lanes))
    mask = integers(i32, tuple(lanes))
    return llvm.ShuffleVectorOp.create(operands=(a, b), result_types=(type_,), properties={"mask": mask})


def fma(a: SSAValue, b: SSAValue, c: SSAValue) -> Operation:
    """Create a fused multiply-add."""
    return llvm.FMAOp.create(operands=(a, b, c), result_types=(a.type,))


def select(condition: SSAValue, a: SSAValue, b: SSAValue) -> Operation:
    """Create a selection."""
    return SelectOp.create(operands=(condition, a, b), result_types=(a.type,))


def icmp(predicate: str, a: SSAValue, b: SSAValue) -> Operation:
    """Create a comparison of integers, by the name of an LLVM predicate."""
    return llvm.ICmpOp.create(
        operands=(a, b), result_types=(_conditions(a.type),), properties=_integer_order(predicate)
    )


def fcmp(predicate: str, a: SSAValue, b: SSAValue) -> Operation:
    """Create a comparison of floats, by the name of an LLVM predicate."""
    return FCmpOp.create(
        operands=(a, b), result_types=(_conditions(a.type),), properties=_float_order(predicate)
    )


@cache
def _integer_order(predicate: str) -> Mapping[str, Attribute]:
    return {"predicate": IntegerAttr(llvm.ICmpPredicateFlag(predicate).to_int(), i64)}


@cache
def _float_order(predicate: str) -> Mapping[str, Attribute]:
    return {"predicate": IntegerAttr(llvm.FCmpPredicateFlag(predicate).to_int(), i64)}


def _conditions(compared: Attribute) -> Attribute:
    return vector_of(i1, compared.get_shape()[0]) if is_vector(compared) else i1


@cache
def _intrinsic_properties(name: str, operands: int) -> Mapping[str, Attribute]:
    return {"intrin": StringAttr(name), SEGMENTS: integers(i32, (operands, 0))}


def intrinsic(name: str, operands: Sequence[SSAValue], results: Sequence[Attribute]) -> Operation:
    """Create a call of an LLVM intrinsic."""
    return llvm.CallIntrinsicOp.create(
        operands=operands, result_types=results, properties=_intrinsic_properties(name, len(operands))
    )


def call(name: str, arguments: Sequence[SSAValue], returned: Attribute | None = None) -> Operation:
    """Create a call of a function."""
    return llvm.CallOp.create(
        operands=arguments,
        result_types=() if returned is None else (returned,),
        properties={
            "callee": SymbolRefAttr(name),
            "fastmathFlags": NO_FAST_MATH,
            SEGMENTS: integers(i32, (len(arguments), 0)),
        },
    )


@cache
def _address_properties(index: int, element: Attribute, inbounds: bool) -> Mapping[str, Attribute]:
    properties: dict[str, Attribute] = {
        "rawConstantIndices": integers(i32, (index,)),
        "elem_type": element,
        "noWrapFlags": IntegerAttr(0, i32),
    }
    return {**properties, "inbounds": UnitAttr()} if inbounds else properties


def address(pointer: SSAValue, index: int | SSAValue, element: Attribute, inbounds: bool = True) -> Operation:
    """Create the address of an element; a constant index has 32 bits."""
    if isinstance(index, int):
        properties, operands = _address_properties(index, element, inbounds), (pointer,)
    else:
        properties = _address_properties(llvm.GEP_USE_SSA_VAL, element, inbounds)
        operands = pointer, index
    return llvm.GEPOp.create(operands=operands, result_types=(POINTER,), properties=properties)


@cache
def _access_properties(alignment: int | None) -> Mapping[str, Attribute]:
    aligned = {} if alignment is None else {"alignment": IntegerAttr(alignment, i64)}
    return {"ordering": ORDERING, **aligned}


def load(pointer: SSAValue, type_: Attribute, alignment: int | None = None) -> Operation:
    """Create a load."""
    return llvm.LoadOp.create(
        operands=(pointer,), result_types=(type_,), properties=_access_properties(alignment)
    )


def store(value: SSAValue, pointer: SSAValue, alignment: int) -> Operation:
    """Create a store."""
    return llvm.StoreOp.create(operands=(value, pointer), properties=_access_properties(alignment))


def branch(target: Block, arguments: Sequence[SSAValue] = ()) -> Operation:
    """Create a jump to a block."""
    return llvm.BrOp.create(operands=arguments, successors=(target,))


def conditional_branch(condition: SSAValue, then: Block, otherwise: Block) -> Operation:
    """Create a jump to one of two blocks without arguments."""
    return llvm.CondBrOp.create(
        operands=(condition,),
        successors=(then, otherwise),
        properties={SEGMENTS: integers(i32, (1, 0, 0))},
    )
