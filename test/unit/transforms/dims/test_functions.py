"""Names of dimensions at the interface of functions, of complete functions and others."""

from __future__ import annotations

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, StringAttr, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from xonnc.transforms.dims.functions import DIM_PARAMS, names_of, read_dim_params, returned


def function(region: Region) -> FuncOp:
    return FuncOp("f", FunctionType.from_lists([f32], [f32]), region)


def test_returned_values_are_those_of_a_terminator():
    block = Block(arg_types=[f32])
    made = function(Region(block))
    assert list(returned(made)) == []
    block.add_op(test.TestOp(block.args))
    assert list(returned(made)) == []
    block.add_op(ReturnOp(block.args[0]))
    assert list(returned(made)) == [*block.args]
    assert list(returned(FuncOp.external("g", [f32], [f32]))) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", {}),
        ("0:batch", {0: "batch"}),
        ("0:batch,12:seq", {0: "batch", 12: "seq"}),
        ("0:a,b,1:c:d", {0: "a,b", 1: "c:d"}),
    ],
)
def test_names_by_axis(text: str, names: dict[int, str]):
    assert read_dim_params(text) == names


def test_values_without_attributes_have_no_names():
    block = Block(arg_types=[f32, f32, f32])
    attributes = ArrayAttr([DictionaryAttr({DIM_PARAMS: StringAttr("0:n")}), DictionaryAttr({})])
    assert [names for _, names in names_of(block.args, attributes)] == [{0: "n"}, {}, {}]
    assert [value for value, _ in names_of(block.args, attributes)] == [*block.args]
    assert [names for _, names in names_of(block.args, None)] == [{}, {}, {}]
