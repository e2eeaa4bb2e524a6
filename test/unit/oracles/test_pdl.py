"""Structural rules as PDL: xDSL's own `apply-pdl` does what our driver does."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.dialects.pdl import PDL
from xdsl.ir import SSAValue
from xdsl.parser import Parser
from xdsl.transforms.apply_pdl import ApplyPDLPass

from oracles.pdl import NotStructuralError, is_structural, to_pdl
from xonnc.dialects.onnx import get_onnx
from xonnc.rewriting.driver import apply_rules
from xonnc.rewriting.onnx import Add, DepthToSpace, Identity, Mul, Neg, Relu, SpaceToDepth
from xonnc.rewriting.patterns import attr, const, fold, one_use, value, variable
from xonnc.rewriting.rules import Rule, rule, rules

x, y, z = value.x, value.y, value.z

FUNCTION = """
func.func @main_graph(%x: tensor<1x4x2x2xf32>, %y: tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32> {{
{body}
  "onnx.Return"(%r) : (tensor<1x4x2x2xf32>) -> ()
}}
"""
TYPE = "tensor<1x4x2x2xf32>"
WIDE = "tensor<1x1x4x4xf32>"

CASES: dict[str, tuple[Rule, str]] = {
    "relu_twice": (
        rule(Relu(Relu(x)), Relu(x)),
        f'%a = "onnx.Relu"(%x) : ({TYPE}) -> {TYPE}\n %r = "onnx.Relu"(%a) : ({TYPE}) -> {TYPE}',
    ),
    "identity": (rule(Identity(x), x), f'%r = "onnx.Identity"(%x) : ({TYPE}) -> {TYPE}'),
    "factor": (
        rule(Add(Mul(x, y), Mul(x, z)), Mul(x, Add(y, z))),
        f'%a = "onnx.Mul"(%x, %y) : ({TYPE}, {TYPE}) -> {TYPE}\n'
        f' %b = "onnx.Mul"(%x, %x) : ({TYPE}, {TYPE}) -> {TYPE}\n'
        f' %r = "onnx.Add"(%a, %b) : ({TYPE}, {TYPE}) -> {TYPE}',
    ),
    "properties": (
        rule(SpaceToDepth(DepthToSpace(x, blocksize=attr.block, mode="DCR"), blocksize=attr.block), x),
        f'%a = "onnx.DepthToSpace"(%x) <{{blocksize = 2 : si64, mode = "DCR"}}> : ({TYPE}) -> {WIDE}\n'
        f' %r = "onnx.SpaceToDepth"(%a) <{{blocksize = 2 : si64}}> : ({WIDE}) -> {TYPE}',
    ),
    "inner_kept": (
        rule(Neg(Neg(inner := Neg(x))), inner),
        f'%a = "onnx.Neg"(%x) : ({TYPE}) -> {TYPE}\n %b = "onnx.Neg"(%a) : ({TYPE}) -> {TYPE}\n'
        f' %r = "onnx.Neg"(%b) : ({TYPE}) -> {TYPE}',
    ),
}


def parsed(text: str) -> tuple[Context, ModuleOp]:
    context = Context()
    for dialect in (Builtin, Func, PDL, get_onnx()):
        context.load_dialect(dialect)
    return context, Parser(context, text).parse_module()


def without_dead_ops(module: ModuleOp, context: Context) -> str:
    """What is left of the function once unused results are removed, printed."""
    for op in [op for op in module.body.block.ops if op.name == "pdl.pattern"]:
        op.detach()
        op.erase()
    apply_rules(module, context, rules(), pass_name="test")
    return str(module)


@pytest.mark.parametrize("name", CASES)
def test_apply_pdl_agrees_with_our_driver(name: str) -> None:
    given, body = CASES[name]
    (named,) = rules(**{name: given}).values()
    text = FUNCTION.format(body=body)
    context, ours = parsed(text)
    assert apply_rules(ours, context, rules(**{name: given}), pass_name="test").fired == {name: 1}
    context, theirs = parsed(text + to_pdl(named))
    ApplyPDLPass().apply(context, theirs)
    assert without_dead_ops(theirs, context) == str(ours)


def test_the_pattern_has_the_name_and_weight_of_the_rule() -> None:
    (named,) = rules(relu_twice=CASES["relu_twice"][0]).values()
    assert to_pdl(named).startswith("pdl.pattern @relu_twice : benefit(2) {")


def never(x: SSAValue) -> str | None:
    return "never"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (rule(Neg(const.c), fold(np.negative)), "PDL does not know what is constant"),
        (rule(Neg(variable.x), variable.x), "what is constant"),
        (rule(Neg(one_use(Neg(x))), x), "PDL does not count readers"),
        (rule(Relu(x), Neg(x), where=never), "PDL has no conditions"),
    ],
)
def test_rules_that_pdl_cannot_say(given: Rule, problem: str) -> None:
    (named,) = rules(odd=given).values()
    assert not is_structural(named)
    with pytest.raises(NotStructuralError, match=f"odd: .*{problem}"):
        to_pdl(named)
