"""What values and properties of ops may be."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import (
    ArrayAttr,
    IndexType,
    IntegerAttr,
    StringAttr,
    bf16,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint, VerificationContext
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.attribute_builders import (
    float_array_attr,
    float_attr,
    int_array_attr,
    int_attr,
    string_array_attr,
    string_attr,
)
from xonnc.dialects.onnx.constraints import (
    ELEMENTS_ATTR,
    FLOAT_ARRAY_ATTR,
    FLOAT_ATTR,
    GROUPS,
    INT_ARRAY_ATTR,
    INT_ATTR,
    STRING_ARRAY_ATTR,
    STRING_ATTR,
    TENSOR,
    TYPE_ATTR,
    erase_shapes,
    types,
)
from xonnc.dialects.onnx.types import (
    ELEMENT_DTYPES,
    ELEMENT_TYPES_BY_CODE,
    NONE,
    MapType,
    OptType,
    SeqType,
    StringType,
    tensor_type,
    unranked,
)

VECTOR = tensor_type((2,), f32)


def refusal(constraint: AttrConstraint[Attribute], *attributes: Attribute) -> str | None:
    """Why the last attribute is refused after the others; `None` if it is not."""
    context = VerificationContext()
    for attribute in attributes[:-1]:
        constraint.verify(attribute, context)
    try:
        constraint.verify(attributes[-1], context)
    except VerifyException as error:
        return str(error)
    return None


def test_constraints_are_shared():
    assert types("T", "floats") is types("T", "floats")
    assert types("T", "floats").optional is types("T", "floats").optional
    assert types("T", "floats").independent is types("T", "floats").independent


def test_shapes_do_not_matter():
    constraint = types("T", "floats")
    assert refusal(constraint, VECTOR, tensor_type((3, 4), f32), unranked(f32)) is None


def test_one_type_parameter_is_one_element_type():
    assert refusal(types("T", "floats"), VECTOR, unranked(f64)) == (
        "tensor<*xf64> has element type f64, but T is f32 in an earlier value"
    )
    assert refusal(types("T", "floats").independent, VECTOR, unranked(f64)) is None
    assert refusal(types("", "floats"), VECTOR, unranked(f64)) is None


def test_a_type_outside_the_set():
    assert refusal(types("T", "floats bf16"), unranked(i1)) == "tensor<*xi1> is not a tensor of floats, bf16"
    assert refusal(types("T", "floats bf16"), unranked(bf16)) is None
    assert refusal(types("T", "i64").optional, unranked(i1)) == "tensor<*xi1> is not a tensor of i64 or none"
    assert refusal(TENSOR, f32) is not None
    assert refusal(types("S", "seq<floats>"), SeqType(f32)) is not None
    assert refusal(TENSOR, tensor_type((2,), IndexType())) is not None


def test_absent_values():
    assert refusal(types("T", "floats"), NONE) == "none is not a tensor of floats"
    assert refusal(types("T", "floats").optional, VECTOR, NONE) is None
    # An absent value binds nothing.
    assert refusal(types("T", "floats").optional, NONE, unranked(f64)) is None


def test_sequences_optionals_and_maps():
    constraint = types("S", "floats seq<floats> opt<i64 seq<i64>> map<i64, f32>")
    for attribute in (
        unranked(f32),
        SeqType(unranked(f32)),
        OptType(tensor_type((2,), i64)),
        OptType(SeqType(unranked(i64))),
        MapType(i64, f32),
        MapType(i64, tensor_type((), f32)),
    ):
        assert refusal(constraint, attribute) is None
    assert refusal(constraint, SeqType(unranked(i64))) == (
        "!onnx.Seq<tensor<*xi64>> is not one of: floats seq<floats> opt<i64 seq<i64>> map<i64, f32>"
    )
    assert refusal(constraint, MapType(f32, i64)) is not None
    assert refusal(constraint, SeqType(unranked(f32)), SeqType(unranked(f64))) is not None


def test_kinds():
    assert erase_shapes(VECTOR) == f32
    assert erase_shapes(SeqType(OptType(VECTOR))) == SeqType(OptType(unranked(f32)))
    assert erase_shapes(MapType(i64, VECTOR)) == MapType(i64, f32)
    assert erase_shapes(NONE) == NONE


def test_some_means_one_at_least():
    constraint = types("T", "floats").one_or_more
    constraint.verify((VECTOR,), VerificationContext())
    with pytest.raises(VerifyException):
        constraint.verify((), VerificationContext())


def test_words_name_every_element_type():
    assert TENSOR.kinds == set(ELEMENT_DTYPES) == set(ELEMENT_TYPES_BY_CODE.values())
    assert all(types("", name).kinds <= TENSOR.kinds for name in GROUPS)
    assert types("", "string").kinds == {StringType()}


@pytest.mark.parametrize(
    ("constraint", "right", "wrong"),
    [
        (INT_ATTR, int_attr(1), IntegerAttr(1, i64)),
        (FLOAT_ATTR, float_attr(1.0), int_attr(1)),
        (STRING_ATTR, string_attr("a"), int_attr(1)),
        (INT_ARRAY_ATTR, int_array_attr(1, 2), ArrayAttr([IntegerAttr(1, i32)])),
        (INT_ARRAY_ATTR, int_array_attr(), int_attr(1)),
        (FLOAT_ARRAY_ATTR, float_array_attr(1.0), int_array_attr(1)),
        (STRING_ARRAY_ATTR, string_array_attr("a"), ArrayAttr([int_attr(1)])),
        (TYPE_ATTR, VECTOR, StringAttr("f32")),
    ],
)
def test_properties(constraint: AttrConstraint[Attribute], right: Attribute, wrong: Attribute):
    assert refusal(constraint, right) is None
    message = refusal(constraint, wrong)
    assert message is not None
    assert " is not a" in message


def test_constants():
    assert (
        refusal(ELEMENTS_ATTR, int_attr(1))
        == "1 : si64 is not a constant tensor such as dense<0> : tensor<1xi64>"
    )
