"""A fingerprint changes with everything that a pass may change, and with nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, IntegerAttr, ModuleOp, StringAttr, f32
from xdsl.dialects.func import Func
from xdsl.ir import Operation

from xonnc.dialects.onnx import get_onnx
from xonnc.dialects.onnx.assembly import OnnxParser
from xonnc.dialects.onnx.attribute_builders import SI64
from xonnc.dialects.onnx.types import unranked
from xonnc.rewriting.editing import retype
from xonnc.transforms.fingerprint import fingerprint

TEXT = """
func.func @f(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "onnx.Sub"(%x, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = "onnx.Softmax"(%0) <{axis = 0 : si64}> : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %1 : tensor<2xf32>
}
"""


def parsed() -> tuple[ModuleOp, Operation, Operation]:
    """The module, its difference and its softmax."""
    context = Context()
    for dialect in (Builtin, Func, get_onnx()):
        context.load_dialect(dialect)
    module = OnnxParser(context, TEXT, "t").parse_module()
    sub, softmax = (op for op in module.walk() if op.name in ("onnx.Sub", "onnx.Softmax"))
    return module, sub, softmax


def swap(sub: Operation, softmax: Operation) -> None:
    sub.operands = list(reversed(sub.operands))


def change_property(sub: Operation, softmax: Operation) -> None:
    softmax.properties["axis"] = IntegerAttr(-1, SI64)


def add_attribute(sub: Operation, softmax: Operation) -> None:
    sub.attributes["onnx_node_name"] = StringAttr("n")


def forget_type(sub: Operation, softmax: Operation) -> None:
    retype(sub.results[0], unranked(f32))


def remove(sub: Operation, softmax: Operation) -> None:
    softmax.results[0].replace_all_uses_with(sub.results[0])
    softmax.detach()
    softmax.erase()


def test_two_readings_of_a_text_are_the_same():
    assert fingerprint(parsed()[0]) == fingerprint(parsed()[0])


@pytest.mark.parametrize("change", [swap, change_property, add_attribute, forget_type, remove])
def test_every_change_shows(change: Callable[[Operation, Operation], None]):
    module, sub, softmax = parsed()
    before = fingerprint(module)
    assert fingerprint(module) == before
    change(sub, softmax)
    assert fingerprint(module) != before
