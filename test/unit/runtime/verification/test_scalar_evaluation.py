"""Scalar operations on NumPy scalars: predicates, signedness, saturation."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects import arith, math
from xdsl.dialects import test as test_dialect
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32, i1, i8, i32
from xdsl.ir import Attribute, Operation

from xonnc.runtime.verification.scalar_evaluation import NotInterpretedError, Scalar, evaluate_scalar


def constant(value: float, type_: Attribute) -> arith.ConstantOp:
    attribute = FloatAttr(value, f32) if type_ == f32 else IntegerAttr(int(value), i32)
    return arith.ConstantOp(attribute)


FLOATS = constant(0.0, f32), constant(0.0, f32)
INTEGERS = constant(0, i32), constant(0, i32)
NAN, ONE, TWO = np.float32(np.nan), np.float32(1), np.float32(2)


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        # equal, less, greater, unordered
        ("false", (0, 0, 0, 0)),
        ("oeq", (1, 0, 0, 0)),
        ("ogt", (0, 0, 1, 0)),
        ("oge", (1, 0, 1, 0)),
        ("olt", (0, 1, 0, 0)),
        ("ole", (1, 1, 0, 0)),
        ("one", (0, 1, 1, 0)),
        ("ord", (1, 1, 1, 0)),
        ("ueq", (1, 0, 0, 1)),
        ("ugt", (0, 0, 1, 1)),
        ("uge", (1, 0, 1, 1)),
        ("ult", (0, 1, 0, 1)),
        ("ule", (1, 1, 0, 1)),
        ("une", (0, 1, 1, 1)),
        ("uno", (0, 0, 0, 1)),
        ("true", (1, 1, 1, 1)),
    ],
)
def test_comparisons_of_floats(predicate: str, expected: tuple[int, ...]):
    op = arith.CmpfOp(*FLOATS, predicate)
    pairs = ((ONE, ONE), (ONE, TWO), (TWO, ONE), (ONE, NAN))
    assert tuple(int(evaluate_scalar(op, pair)) for pair in pairs) == expected


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        # The product alone would be rounded, and so would it and the sum in double precision.
        ((1 + 2**-23, 1 - 2**-23, -1), -(2.0**-46)),
        ((1 + 2**-12, 1 + 2**-12, 2**-80), 1 + 2**-11 + 2**-23),
        ((1 + 2**-12, 1 + 2**-12, -(2**-80)), 1 + 2**-11),
        ((2**100, 2**100, -np.inf), -np.inf),
        ((-0.0, 1, -0.0), -0.0),
    ],
)
def test_a_product_and_a_sum_are_rounded_once(numbers: tuple[float, float, float], expected: float):
    op = math.FmaOp(*FLOATS, constant(0.0, f32))
    with np.errstate(over="ignore"):
        given = evaluate_scalar(op, [np.float32(number) for number in numbers])
    assert given.dtype == np.float32
    assert given.tobytes() == np.float32(expected).tobytes()


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("eq", False),
        ("ne", True),
        ("slt", True),
        ("sle", True),
        ("sgt", False),
        ("sge", False),
        ("ult", False),
        ("ule", False),
        ("ugt", True),
        ("uge", True),
    ],
)
def test_comparisons_of_integers(predicate: str, expected: bool):
    op = arith.CmpiOp(*INTEGERS, predicate)
    assert evaluate_scalar(op, (np.int32(-1), np.int32(1))) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (arith.DivSIOp, -3),
        (arith.DivUIOp, (2**32 - 7) // 2),
        (arith.RemSIOp, -1),
        (arith.RemUIOp, (2**32 - 7) % 2),
        (arith.MaxUIOp, -7),
        (arith.MinUIOp, 2),
        (arith.ShRSIOp, -2),
        (arith.ShRUIOp, (2**32 - 7) >> 2),
    ],
)
def test_signed_and_unsigned_integers(kind: type[Operation], expected: int):
    op = kind.create(operands=[each.result for each in INTEGERS], result_types=[i32])
    found = evaluate_scalar(op, (np.int32(-7), np.int32(2)))
    assert found == expected
    assert found.dtype == np.int32


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (arith.FPToSIOp, np.nan, 0),
        (arith.FPToSIOp, np.inf, 127),
        (arith.FPToSIOp, -1e9, -128),
        (arith.FPToSIOp, -2.9, -2),
        (arith.FPToUIOp, -2.9, 0),
        (arith.FPToUIOp, 200.0, -56),
        (arith.FPToUIOp, -np.inf, 0),
    ],
)
def test_conversions_to_integers_saturate(kind: type[Operation], value: float, expected: int):
    op = kind.create(operands=[FLOATS[0].result], result_types=[i8])
    assert evaluate_scalar(op, (np.float32(value),)) == expected


@pytest.mark.parametrize(
    ("kind", "value", "type_", "expected"),
    [
        (arith.TruncIOp, np.int32(2), i1, False),
        (arith.TruncIOp, np.int32(257), i8, 1),
        (arith.ExtSIOp, np.bool_(True), i32, -1),
        (arith.ExtUIOp, np.bool_(True), i32, 1),
        (arith.ExtUIOp, np.int8(-1), i32, 255),
        (arith.SIToFPOp, np.int32(-3), f32, -3.0),
        (arith.UIToFPOp, np.int8(-1), f32, 255.0),
        (arith.BitcastOp, np.float32(1.0), i32, 0x3F800000),
    ],
)
def test_conversions(kind: type[Operation], value: Scalar, type_: Attribute, expected: float):
    op = kind.create(operands=[INTEGERS[0].result], result_types=[type_])
    assert evaluate_scalar(op, (value,)) == expected


def test_an_unknown_operation_is_refused():
    op = test_dialect.TestOp(operands=[INTEGERS[0].result], result_types=[i32])
    with pytest.raises(NotInterpretedError, match=r"test\.op"):
        evaluate_scalar(op, (np.int32(1),))
