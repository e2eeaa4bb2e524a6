"""Conversion: each op once, nothing tidied, no circles."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.ir import Operation

from xonnc.dialects.onnx import get_onnx
from xonnc.dialects.onnx.assembly import OnnxParser
from xonnc.errors import XonncError
from xonnc.rewriting.conversion import convert
from xonnc.rewriting.onnx import Abs, Exp, Neg, Relu
from xonnc.rewriting.patterns import value
from xonnc.rewriting.rules import RuleSet, rule, rules
from xonnc.rewriting.statistics import collecting, tracing_rules

TEXT = """
func.func @main_graph(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "onnx.Exp"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "onnx.Abs"(%0) : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %1 : tensor<2xf32>
}
"""

x = value.x


def converted(table: RuleSet) -> list[str]:
    """The names of the ops in the function after a conversion."""
    context = Context()
    for dialect in (Builtin, Func, get_onnx()):
        context.load_dialect(dialect)
    module: ModuleOp = OnnxParser(context, TEXT).parse_module()
    convert(module, context, table, pass_name="test")
    module.verify()
    function = module.body.block.first_op
    assert function is not None
    return [op.name.removeprefix("onnx.") for op in function.walk() if op is not function]


def test_new_ops_are_tried_in_their_turn():
    table = rules(First=rule(Abs(x), Neg(Relu(x))), Second=rule(Relu(x), Exp(Exp(x))))
    with collecting() as ledger:
        assert converted(table) == ["Exp", "Exp", "Exp", "Neg", "Return"]
    assert ledger.counts["test"] == {"First": 1, "Second": 1}


def test_a_circle_is_an_error():
    table = rules(There=rule(Abs(x), Neg(x)), Back=rule(Neg(x), Abs(x)))
    with pytest.raises(XonncError) as error:
        converted(table)
    assert str(error.value) == "onnx.Neg: rules replace onnx.Abs without end; disable one"


def test_watchers_hear_why_not():
    heard: list[tuple[str, str, str]] = []

    def tell(name: str, op: Operation, why: str) -> None:
        heard.append((name, op.name, why))

    with tracing_rules(["Rule"], tell):
        converted(rules(Rule=rule(Abs(Neg(x)), Neg(x))))
    assert heard == [("Rule", "onnx.Abs", "operand 0 is not made by Neg")]
