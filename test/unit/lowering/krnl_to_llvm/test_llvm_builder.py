"""What ops of the llvm dialect the emitter writes."""

from __future__ import annotations

import pytest
from xdsl.dialects import llvm
from xdsl.dialects.builtin import f32
from xdsl.ir import Block, Region

from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder
from xonnc.lowering.krnl_to_llvm.llvm_ops import POINTER


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (1, "[1] : (!llvm.ptr)"),
        ((1 << 31) - 1, "[2147483647] : (!llvm.ptr)"),
        (1 << 31, "[%1] : (!llvm.ptr, i64)"),
        (1 << 42, "[%1] : (!llvm.ptr, i64)"),
    ],
)
def test_places_past_the_indices_that_an_address_holds_are_numbers(index: int, expected: str):
    region = Region(Block(arg_types=[POINTER]))
    builder = LLVMBuilder(region)
    builder.address(region.block.args[0], index, f32)
    builder.insert(llvm.ReturnOp())
    text = str(llvm.FuncOp("far", llvm.LLVMFunctionType([POINTER]), body=region))
    assert f"{expected} -> !llvm.ptr, f32" in text
    assert index < 1 << 31 or f"llvm.mlir.constant({index}) : i64" in text


def test_the_first_place_is_the_buffer():
    region = Region(Block(arg_types=[POINTER]))
    assert LLVMBuilder(region).address(region.block.args[0], 0, f32) is region.block.args[0]
