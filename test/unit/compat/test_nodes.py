"""Types and attributes of nodes, as the optimizer's passes read and write them."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from xonnc.compat.onnxoptimizer.nodes import (
    UNKNOWN,
    ValueType,
    attribute,
    drop_attribute,
    is_op,
    set_attribute,
    value_type,
)


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        ((2, 0), (2, 0)),
        (("n", 3), ("n", 3)),
        ((None, 3), (None, 3)),
        ((-1,), (None,)),
        ((), ()),
        (None, None),
    ],
)
def test_types_of_tensors(dims: tuple[int | str | None, ...] | None, expected: tuple[int | str | None, ...]):
    made = helper.make_tensor_type_proto(TensorProto.INT8, dims)
    assert value_type(made) == ValueType(TensorProto.INT8, expected)


def test_types_that_are_no_tensors_are_unknown():
    made = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.INT8, (2,)))
    assert value_type(made) == UNKNOWN
    assert value_type(onnx.TypeProto()) == UNKNOWN


def test_operators_are_those_of_the_default_domain():
    node = helper.make_node("Relu", ["x"], ["y"])
    assert is_op(node, "Abs", "Relu")
    assert not is_op(node, "Abs")
    assert not is_op(None, "Relu")
    node.domain = "ai.onnx"
    assert is_op(node, "Relu")
    node.domain = "com.acme"
    assert not is_op(node, "Relu")


def test_attributes_are_replaced_and_removed():
    node = helper.make_node("Conv", ["x", "w"], ["y"], auto_pad="VALID", group=2)
    assert (attribute(node, "auto_pad"), attribute(node, "group")) == ("VALID", 2)
    assert (attribute(node, "pads"), attribute(node, "pads", [0])) == (None, [0])
    set_attribute(node, "group", 3)
    set_attribute(node, "pads", [1, 1])
    assert [each.name for each in node.attribute] == ["auto_pad", "group", "pads"]
    assert (attribute(node, "group"), attribute(node, "pads")) == (3, [1, 1])
    drop_attribute(node, "group")
    drop_attribute(node, "dilations")
    assert [each.name for each in node.attribute] == ["auto_pad", "pads"]
