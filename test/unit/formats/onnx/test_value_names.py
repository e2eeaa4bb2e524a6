"""Names of values of a graph, none of which an enclosing graph has too."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import f32
from xdsl.ir import Block

from xonnc.formats.onnx.value_names import ValueNames

VALUES = Block(arg_types=[f32] * 6).args


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        (["a", "b"], ["a", "b"]),
        (["a", "a", "a"], ["a", "a_1", "a_2"]),
        (["", "", "a"], ["value_1", "value_2", "a"]),
        (["a_1", "a", "a"], ["a_1", "a", "a_2"]),
        (["value_1", ""], ["value_1", "value_2"]),
    ],
)
def test_taken_and_missing_names_get_a_number(asked: list[str], given: list[str]):
    names = ValueNames()
    assert [names.give(value, name) for value, name in zip(VALUES, asked, strict=False)] == given
    assert list(names.own()) == given
    assert all(names[value] == name for value, name in zip(VALUES, given, strict=False))
    assert not any(names.is_free(name) for name in given)


def test_names_of_enclosing_graphs_are_taken_and_visible():
    outer = ValueNames()
    inner = ValueNames(outer)
    innermost = ValueNames(inner)
    outer.give(VALUES[0], "x")
    inner.give(VALUES[1], "y")
    inner.reserve("z")
    assert [innermost.give(value, name) for value, name in zip(VALUES[2:], "xyzw", strict=True)] == [
        "x_1",
        "y_1",
        "z_1",
        "w",
    ]
    assert (innermost[VALUES[0]], innermost[VALUES[1]]) == ("x", "y")
    assert VALUES[0] in innermost
    assert VALUES[2] not in inner
    assert [innermost.is_own(value) for value in VALUES[:3]] == [False, False, True]
    assert outer.is_free("y")
    assert not innermost.is_free("x")
    with pytest.raises(KeyError):
        _ = outer[VALUES[1]]
