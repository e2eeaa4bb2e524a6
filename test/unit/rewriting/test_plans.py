"""What a pass may ask of the results of rules before they are made."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.ir import Operation
from xdsl.parser import Parser

from xonnc.dialects.onnx import get_onnx
from xonnc.rewriting.driver import apply_rules
from xonnc.rewriting.onnx import Abs, Add, Neg, Relu, Sub
from xonnc.rewriting.patterns import const, value
from xonnc.rewriting.plans import PlannedValue, no_more_ops, non_constant_ops
from xonnc.rewriting.rules import rule, rules

x, y, c = value.x, value.y, const.c

RULES = rules(
    Spread=rule(Neg(Add(x, y)), Sub(Neg(x), y)),
    Twice=rule(Relu(x), Add(Abs(x), Abs(x))),
    Folding=rule(Neg(Sub(x, c)), Sub(Add(c, Neg(c)), x)),
)

HEAD = "func.func @main_graph(%x: tensor<2xf32>, %y: tensor<2xf32>) -> {results} {{\n"
SUM = '%0 = "onnx.Add"(%x, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>\n'
NEG = '%1 = "onnx.Neg"(%0) : (tensor<2xf32>) -> tensor<2xf32>\n'


def fired(body: str, *returned: str) -> tuple[set[str], ModuleOp]:
    context = Context()
    for dialect in (Builtin, Func, get_onnx()):
        context.load_dialect(dialect)
    types = ", ".join(["tensor<2xf32>"] * len(returned))
    text = HEAD.format(results=f"({types})") + body
    module = Parser(context, f"{text}onnx.Return {', '.join(returned)} : {types}\n}}").parse_module()
    report = apply_rules(module, context, RULES.checked(no_more_ops), pass_name="test")
    module.verify()
    return set(report.fired), module


def test_two_ops_take_the_place_of_two():
    assert fired(SUM + NEG, "%1")[0] == {"Spread"}


def test_what_others_read_does_not_go():
    assert fired(SUM + NEG, "%0", "%1")[0] == set()


def test_one_op_is_not_replaced_by_three():
    relu = '%0 = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>\n'
    assert fired(relu, "%0")[0] == set()


def test_ops_on_constants_do_not_count():
    body = "%c = onnx.Constant dense<1.0> : tensor<2xf32>\n" + SUM.replace("Add", "Sub").replace("%y", "%c")
    found, module = fired(body + NEG, "%1")
    assert found == {"Folding"}
    assert sum(op.name == "onnx.Sub" for op in module.walk()) == 1


def test_a_check_sees_what_lasts():
    seen: list[list[str]] = []

    def note(root: Operation, plan: tuple[PlannedValue, ...]) -> str:
        seen.append([made.node.template.name for made in non_constant_ops(plan)])
        return "only looking"

    context = Context()
    for dialect in (Builtin, Func, get_onnx()):
        context.load_dialect(dialect)
    text = HEAD.format(results="tensor<2xf32>") + SUM + NEG + "onnx.Return %1 : tensor<2xf32>\n}"
    module = Parser(context, text).parse_module()
    assert not apply_rules(module, context, RULES.checked(note), pass_name="test").changed
    assert seen == [["Neg", "Sub"]]


@pytest.mark.parametrize("name", ["Spread", "Twice"])
def test_a_rule_may_be_left_unchecked(name: str):
    assert not RULES.checked(no_more_ops, except_for=[name])[name].checks
    assert RULES.checked(no_more_ops)[name].checks
