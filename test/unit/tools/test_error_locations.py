"""Errors of passes name the position of their op in the source text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import FusedLoc, ModuleOp, NameLoc, NoneAttr, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.universe import Universe

from xonnc.dialects.onnx.ops.math import NegOp
from xonnc.errors import RefusalError, XonncError
from xonnc.tools import opt
from xonnc.tools.opt import run_opt

TEXT = """func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "onnx.Exp"(%0) : (tensor<2xf32>) -> tensor<2xf32> loc("exp1")
  onnx.Return %1 : tensor<2xf32>
}
"""
RELU, EXP = "<stdin>:2:8: error: ", "<stdin>:3:8: error: "


@dataclass(frozen=True)
class Complain(ModulePass):
    """Finds something wrong with the first op of some name."""

    name = "complain"

    of: str = "onnx.Relu"
    how: str = "op"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        node = next(one for one in op.walk() if one.name == self.of)
        match self.how:
            case "op":
                raise XonncError("no good", node)
            case "name":
                raise XonncError("exp1 (Exp): no good")
            case "all":
                raise RefusalError(["no good", "nothing to say"], [node, None])
            case "new":
                raise XonncError("no good", replacement(node))
            case "fused":
                new = replacement(node)
                new.location = FusedLoc((NameLoc(StringAttr("n"), node.location),), NoneAttr())
                raise XonncError("no good", new)
            case _:
                raise XonncError("nowhere: no good")


def replacement(op: Operation) -> Operation:
    """Another op at the same location, in the same block."""
    new = NegOp.create(operands=op.operands, result_types=[result.type for result in op.results])
    new.location = op.location
    assert op.parent is not None
    op.parent.insert_op_after(new, op)
    return new


@pytest.fixture(autouse=True)
def with_complaints() -> Iterator[None]:
    """Every pass there is, and one more."""
    passes = Universe.get_multiverse().all_passes
    opt.universe().all_passes["complain"] = lambda: Complain
    yield
    opt.universe().all_passes.clear()
    opt.universe().all_passes.update(passes)


@pytest.mark.parametrize(
    ("options", "location"),
    [
        ("", RELU),
        ("of=onnx.Exp", EXP),
        ("how=new", RELU),
        ("how=fused", RELU),
        ("of=onnx.Exp how=new", EXP),
        ("of=onnx.Exp how=fused", EXP),
        ("how=name", EXP),
        ("how=all", RELU),
        ("how=nothing", "<stdin>: error: "),
    ],
)
def test_the_location_is_that_of_the_op(options: str, location: str):
    code, out, err = run_opt([f"--complain={options}"], TEXT)
    assert (code, out) == (1, "")
    assert err.startswith(location)


def test_the_line_is_shown():
    assert run_opt(["--complain"], TEXT)[2].splitlines() == [
        f"{RELU}no good",
        '  %0 = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>',
        "       ^",
    ]


def test_a_refusal_tells_each_reason():
    lines = run_opt(["--complain=how=all"], TEXT)[2].splitlines()
    assert [line for line in lines if "error: " in line] == [
        f"{RELU}no good",
        "<stdin>: error: nothing to say",
    ]


def test_locations_survive_other_passes_and_parts():
    text = f"func.func private @g()\n// -----\n{TEXT}"
    err = run_opt(["--split-input-file", "--canonicalize", "--cse", "--complain=of=func.func"], text)[2]
    assert "<stdin>:1:1: error: no good" in err
    assert "<stdin>:3:1: error: no good" in err


def test_an_error_is_expected_on_its_line_only():
    text = TEXT.replace("  %0 =", "  // expected-error@+1 {{no good}}\n  %0 =")
    assert run_opt(["--verify-diagnostics", "--complain"], text) == (0, "", "")
    code, _, err = run_opt(["--verify-diagnostics", "--complain=of=onnx.Exp"], text)
    assert code == 1
    assert "unexpected error: no good" in err
