"""Operations of the llvm dialect are those that the constructors of xDSL make."""

from __future__ import annotations

import pytest
from xdsl.dialects import llvm, test
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, VectorType, f32, i1, i8, i32, i64
from xdsl.ir import Block, Operation

from xonnc.dialects.krnl.vector_llvm import FCmpOp, SelectOp
from xonnc.lowering.krnl_to_llvm import llvm_ops

VECTOR = VectorType(f32, [4])
A, B, POINTER, X, Y, V, C = test.TestOp.create(
    result_types=[i64, i64, llvm.LLVMPointerType(), f32, f32, VECTOR, i1]
).results
HERE, THERE = Block(), Block(arg_types=[i64])
MASK = DenseArrayBase.from_list(i32, [0, 5])
LESS = IntegerAttr(llvm.ICmpPredicateFlag("slt").to_int(), i64)
DYNAMIC = [llvm.GEP_USE_SSA_VAL]

PAIRS = [
    *(
        (llvm_ops.binary(kind, A, B), kind(A, B))
        for kind in (llvm.AddOp, llvm.UDivOp, llvm.OrOp, llvm.LShrOp)
    ),
    (llvm_ops.binary(llvm.FAddOp, V, V), llvm.FAddOp(V, V)),
    (llvm_ops.cast(llvm.ZExtOp, A, IntegerType(128)), llvm.ZExtOp(A, IntegerType(128))),
    (llvm_ops.constant(LESS, i64), llvm.ConstantOp(LESS, i64)),
    (llvm_ops.undefined(VECTOR), llvm.UndefOp(VECTOR)),
    (llvm_ops.insert_element(V, X, A), llvm.InsertElementOp(V, X, A)),
    (llvm_ops.shuffle(V, V, [0, 5]), llvm.ShuffleVectorOp(V, V, MASK, VectorType(f32, [2]))),
    (llvm_ops.fma(V, V, V), llvm.FMAOp(V, V, V)),
    (llvm_ops.select(C, X, Y), SelectOp(C, X, Y)),
    (llvm_ops.icmp("slt", A, B), llvm.ICmpOp(A, B, LESS)),
    (llvm_ops.fcmp("oeq", V, V), FCmpOp(V, V, "oeq")),
    (llvm_ops.intrinsic("llvm.sqrt.f32", [X], [f32]), llvm.CallIntrinsicOp("llvm.sqrt.f32", [X], [f32])),
    (llvm_ops.intrinsic("llvm.assume", [C], []), llvm.CallIntrinsicOp("llvm.assume", [C], [])),
    (llvm_ops.call("f", [A, POINTER]), llvm.CallOp("f", A, POINTER)),
    (llvm_ops.call("f", [], i64), llvm.CallOp("f", return_type=i64)),
    (llvm_ops.address(POINTER, 3, f32), llvm.GEPOp(POINTER, [3], f32, inbounds=True)),
    (llvm_ops.address(POINTER, -3, i8, inbounds=False), llvm.GEPOp(POINTER, [-3], i8)),
    (llvm_ops.address(POINTER, A, f32), llvm.GEPOp(POINTER, DYNAMIC, f32, ssa_indices=[A], inbounds=True)),
    (llvm_ops.load(POINTER, VECTOR, 4), llvm.LoadOp(POINTER, VECTOR, alignment=4)),
    (llvm_ops.load(POINTER, i64), llvm.LoadOp(POINTER, i64)),
    (llvm_ops.store(X, POINTER, 4), llvm.StoreOp(X, POINTER, alignment=4)),
    (llvm_ops.branch(HERE), llvm.BrOp(HERE)),
    (llvm_ops.branch(THERE, [A]), llvm.BrOp(THERE, A)),
    (llvm_ops.conditional_branch(C, HERE, HERE), llvm.CondBrOp(C, HERE, [], HERE, [])),
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=[ours.name for ours, _ in PAIRS])
def test_equal_to_what_constructors_make(ours: Operation, theirs: Operation):
    assert type(ours) is type(theirs)
    assert list(ours.operands) == list(theirs.operands)
    assert [result.type for result in ours.results] == [result.type for result in theirs.results]
    assert ours.properties == theirs.properties
    assert ours.attributes == theirs.attributes
    assert list(ours.successors) == list(theirs.successors)


def test_properties_are_not_shared():
    """A property that is changed later is that of one operation."""
    one, other = (llvm_ops.load(POINTER, i64, 8) for _ in range(2))
    del one.properties["alignment"]
    assert "alignment" in other.properties
