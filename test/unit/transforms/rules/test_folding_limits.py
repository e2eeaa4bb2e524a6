"""Constant folding stops at its limits: what is just within them is folded, what is just above is not."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, i8
from xdsl.dialects.test import TestOp as AnyOp

from xonnc.transforms.rules.folding_limits import (
    GROWTH,
    MAX_BYTES,
    MAX_INTEGER_PRODUCTS,
    MAX_PRODUCTS,
    bytes_of,
    modest,
    too_large,
    too_much_work,
)


def op_of(result: int, *operands: int) -> AnyOp:
    """An op of one-byte elements with these numbers of them."""
    values = AnyOp(result_types=[TensorType(i8, [size]) for size in operands]).results
    return AnyOp(operands=values, result_types=[TensorType(i8, [result])])


def test_constants_up_to_the_limit_are_folded_from_anything():
    assert modest(op_of(MAX_BYTES)) is None
    assert modest(op_of(MAX_BYTES + 1)) == f"the result takes {MAX_BYTES + 1} bytes, {MAX_BYTES} are allowed"
    assert modest(op_of(MAX_BYTES + 1, 1)) is not None


def test_larger_constants_are_folded_from_large_operands():
    assert modest(op_of(GROWTH * MAX_BYTES, MAX_BYTES)) is None
    assert modest(op_of(GROWTH * MAX_BYTES, MAX_BYTES - 5, 5)) is None
    allowed = f"the result takes {GROWTH * MAX_BYTES + 1} bytes, {GROWTH * MAX_BYTES} are allowed"
    assert modest(op_of(GROWTH * MAX_BYTES + 1, MAX_BYTES)) == allowed


def test_operands_of_unknown_size_allow_nothing():
    dynamic = AnyOp(result_types=[TensorType(i8, [DYNAMIC_INDEX])]).results
    op = AnyOp(operands=dynamic, result_types=[TensorType(i8, [MAX_BYTES + 1])])
    assert modest(op) == f"the result takes {MAX_BYTES + 1} bytes, {MAX_BYTES} are allowed"


def test_results_of_unknown_size_are_not_limited_here():
    assert modest(AnyOp(result_types=[TensorType(i8, [DYNAMIC_INDEX])])) is None


def test_sizes_in_bytes():
    assert bytes_of(TensorType(f32, [3, 5])) == 60
    assert bytes_of(TensorType(f32, [])) == 4
    assert bytes_of(TensorType(f32, [3, 0])) == 0
    assert bytes_of(TensorType(f32, [3, DYNAMIC_INDEX])) is None


def test_shapes_up_to_the_limit():
    floats = MAX_BYTES // 4
    assert too_large((floats,), np.dtype(np.float32)) is None
    failure = too_large((floats + 1,), np.dtype(np.float32))
    assert failure is not None
    assert failure.reason == f"the result takes {MAX_BYTES + 4} bytes, {MAX_BYTES} are allowed"
    assert too_large((floats + 1,), np.dtype(np.float32), MAX_BYTES // GROWTH) is not None
    assert too_large((GROWTH, floats), np.dtype(np.float32), MAX_BYTES) is None
    assert too_large((GROWTH, floats + 1), np.dtype(np.float32), MAX_BYTES) is not None


@pytest.mark.parametrize(("is_float", "allowed"), [(True, MAX_PRODUCTS), (False, MAX_INTEGER_PRODUCTS)])
def test_products_up_to_the_limit(is_float: bool, allowed: int):
    side = 1 << 8
    depth = allowed // side // side
    assert too_much_work((side, depth), (depth, side), is_float) is None
    failure = too_much_work((side + 1, depth), (depth, side), is_float)
    assert failure is not None
    assert failure.reason == f"{(side + 1) * depth * side} products to sum, {allowed} are allowed"
    assert too_much_work((2, side, depth), (depth, side), is_float) is not None
    assert too_much_work((2, side, depth), (1, depth, side // 2), is_float) is None
    assert too_much_work((3, 1, side, depth), (2, depth, side // 8), is_float) is None
    assert too_much_work((3, 1, side, depth), (3, depth, side // 8), is_float) is not None


def test_products_with_vectors():
    allowed = MAX_INTEGER_PRODUCTS
    depth = 1 << 14
    assert too_much_work((depth,), (depth, allowed // depth), is_float=False) is None
    assert too_much_work((depth,), (depth, allowed // depth + 1), is_float=False) is not None
    assert too_much_work((allowed // depth, depth), (depth,), is_float=False) is None
    assert too_much_work((allowed // depth + 1, depth), (depth,), is_float=False) is not None
    assert too_much_work((allowed,), (allowed,), is_float=False) is None
    assert too_much_work((allowed + 1,), (allowed + 1,), is_float=False) is not None
