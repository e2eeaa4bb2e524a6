"""Uses of values before they are made; more in test/lit/tools/onnx-opt-dominance.mlir."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.ir import Operation

from xonnc.dialects.onnx import get_onnx
from xonnc.dialects.onnx.assembly import OnnxParser
from xonnc.tools.dominance import dominance_violations

TEXT = """
func.func @f(%c: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %1 = "onnx.Neg"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %0 = "onnx.If"(%c) ({
    onnx.Yield %x : tensor<2xf32>
  }, {
    %2 = "onnx.Abs"(%1) : (tensor<2xf32>) -> tensor<2xf32>
    onnx.Yield %2 : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  %3 = "onnx.Add"(%x, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %3 : tensor<2xf32>
}
"""


def parsed() -> tuple[Operation, dict[str, Operation]]:
    """The module, and its ops by name."""
    ctx = Context()
    for dialect in (Builtin, Func, get_onnx()):
        ctx.load_dialect(dialect)
    module = OnnxParser(ctx, TEXT).parse_module()
    return module, {op.name: op for op in module.walk()}


def test_what_is_in_order_is_right():
    module, _ = parsed()
    assert list(dominance_violations(module)) == []


def test_what_a_body_makes_is_not_seen_outside_of_it():
    module, ops = parsed()
    moved = ops["onnx.Neg"]
    moved.detach()
    first = ops["onnx.If"].regions[0].block
    assert first.first_op is not None
    first.insert_op_before(moved, first.first_op)
    found = [(op.name, index) for op, index in dominance_violations(module)]
    assert found == [("onnx.Abs", 0), ("onnx.Add", 1)]


def test_a_value_of_a_later_op_is_too_early():
    module, ops = parsed()
    moved, block = ops["onnx.Neg"], ops["onnx.Add"].parent
    assert block is not None
    moved.detach()
    block.insert_op_after(moved, ops["onnx.If"])
    assert [(op.name, index) for op, index in dominance_violations(module)] == [("onnx.Abs", 0)]
