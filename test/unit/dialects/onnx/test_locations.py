"""Names of nodes in locations, one or several."""

from __future__ import annotations

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import ArrayAttr, FusedLoc, LocationAttr, NameLoc, NoneAttr, StringAttr, UnknownLoc
from xdsl.ir import Operation

from xonnc.dialects.onnx.locations import (
    derived,
    joined,
    node_location,
    node_name,
    node_names,
    output_names,
)


def at(location: UnknownLoc) -> Operation:
    op = test.TestOp()
    op.location = location
    return op


@pytest.mark.parametrize(("name", "outputs"), [("", ()), ("n", ()), ("", ("y",)), ("n", ("y", "", "z"))])
def test_locations_are_what_xdsl_would_make(name: str, outputs: tuple[str, ...]):
    made = node_location(name, outputs)
    expected: LocationAttr = NameLoc(StringAttr(name), NoneAttr()) if name else UnknownLoc()
    if outputs:
        expected = FusedLoc((expected,), ArrayAttr([StringAttr(output) for output in outputs]))
    made.verify()
    assert made == expected
    assert hash(made) == hash(expected)
    assert str(made) == str(expected)


def test_what_replaces_two_nodes_has_both_names_and_its_own_results():
    location = joined(node_location("relu", ["y"]), node_location("conv", ["c"]))
    op = test.TestOp()
    op.location = location
    assert node_names(op) == ("relu", "conv")
    assert node_name(op) == "relu"
    assert output_names(op) == ("y",)


def test_names_are_joined_once():
    location = joined(node_location("relu", ["y"]), node_location("conv"))
    assert joined(location, node_location("conv", ["c"])) == location
    assert joined(location, UnknownLoc()) == location


def test_a_plain_name_takes_another():
    op = test.TestOp()
    op.location = joined(node_location("a"), node_location("b"))
    assert node_names(op) == ("a", "b")


def test_an_op_without_a_name_has_none():
    assert node_names(at(UnknownLoc())) == ()


def test_what_is_derived_keeps_all_names_but_no_results():
    op = test.TestOp()
    op.location = derived(joined(node_location("relu", ["y"]), node_location("conv", ["c"])))
    assert node_names(op) == ("relu", "conv")
    assert output_names(op) == ()
    assert derived(node_location("relu", ["y"])) == node_location("relu")
