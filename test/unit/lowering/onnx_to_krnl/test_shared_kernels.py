"""Kernels that compute the same become one function."""

from __future__ import annotations

import pytest
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import FloatAttr, FunctionType, f32, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region

from xonnc.lowering.onnx_to_krnl.shared_kernels import SharedKernels


def kernel(name: str, value: float, argument: Attribute = f32) -> FuncOp:
    block = Block(arg_types=[argument])
    block.add_ops([ConstantOp(FloatAttr(value, f32)), ReturnOp()])
    return FuncOp(name, FunctionType.from_lists([argument], []), Region(block), "private")


def test_equal_kernels_are_the_first_of_them():
    kernels = SharedKernels()
    first, other = kernel("a", 1), kernel("b", 2)
    assert kernels.shared(first) is first
    assert kernels.shared(other) is other
    assert kernels.shared(kernel("c", 2)) is other
    assert kernels.shared(kernel("d", 1)) is first
    assert kernels.count == 2


@pytest.mark.parametrize("other", [kernel("b", -0.0), kernel("b", float("nan")), kernel("b", 0.0, f64)])
def test_different_kernels_stay(other: FuncOp):
    kernels = SharedKernels()
    kernels.shared(kernel("a", 0.0))
    assert kernels.shared(other) is other
    assert kernels.count == 2
