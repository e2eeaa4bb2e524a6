"""Attributes of constants are those that xDSL makes, and equal ones are one."""

from __future__ import annotations

import struct

import pytest
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    f16,
    f32,
    f64,
    i1,
    i8,
    i64,
)
from xdsl.ir import Attribute

from xonnc.dialects.krnl.constants import constant_attribute, scalar_attribute

NAN, INF = float("nan"), float("inf")


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


@pytest.mark.parametrize("type_", [f16, f32, f64])
@pytest.mark.parametrize("value", [0.0, -0.0, NAN, -NAN, INF, -INF, 1.5, 3])
def test_floats(value: float, type_: AnyFloat):
    found = scalar_attribute(value, type_)
    assert isinstance(found, FloatAttr)
    assert found.type == type_
    assert bits(found.value.data) == bits(value)
    assert scalar_attribute(value, type_) is found


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        (True, i1, IntegerAttr(True, i1)),
        (0, i1, IntegerAttr(0, i1)),
        (-128, i8, IntegerAttr(-128, i8)),
        (2.0, i64, IntegerAttr(2, i64)),
        (2**63 - 1, i64, IntegerAttr(2**63 - 1, i64)),
        (7, IndexType(), IntegerAttr(7, IndexType())),
    ],
)
def test_integers(value: float, type_: Attribute, expected: Attribute):
    found = constant_attribute(value, type_)
    assert found == expected
    assert constant_attribute(value, type_) is found


def test_vectors():
    for value in (-0.0, 0.0, -NAN, 0.1):
        found = constant_attribute(value, VectorType(f32, [4]))
        assert found == DenseIntOrFPElementsAttr.from_list(VectorType(f32, [4]), [value] * 4)
    found = constant_attribute(-3, VectorType[IntegerType](i8, [3]))
    assert found == DenseIntOrFPElementsAttr.from_list(VectorType(i8, [3]), [-3] * 3)
    assert constant_attribute(-3, VectorType(i8, [3])) is found
    assert constant_attribute(0.0, VectorType(f32, [4])) != constant_attribute(-0.0, VectorType(f32, [4]))
