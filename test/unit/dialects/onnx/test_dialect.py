"""The dialect object, its weight, and what its ops tell other passes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, Builtin, ModuleOp, f32
from xdsl.dialects.func import Func
from xdsl.parser import Parser
from xdsl.traits import Commutative, Pure, is_side_effect_free
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from xonnc.dialects.onnx import get_onnx, registry
from xonnc.dialects.onnx.attribute_builders import (
    float_array_attr,
    float_attr,
    int_array_attr,
    int_attr,
    int_values,
    string_array_attr,
    string_attr,
)
from xonnc.dialects.onnx.checks.verifier import Checks
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.ops.builtin import CustomOp, EntryPointOp, NoValueOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.generator import RandomNormalOp
from xonnc.dialects.onnx.ops.math import AddOp, SubOp
from xonnc.dialects.onnx.registry import op_class, op_classes
from xonnc.dialects.onnx.types import NONE, are_compatible, tensor_type, unranked


def context() -> Context:
    """A context with what a model needs."""
    ctx = Context()
    ctx.register_dialect("builtin", lambda: Builtin)
    ctx.register_dialect("func", lambda: Func)
    ctx.register_dialect("onnx", get_onnx)
    return ctx


def parse(source: str) -> tuple[Context, ModuleOp]:
    """A module in a context of its own."""
    ctx = context()
    return ctx, Parser(ctx, source).parse_module()


def run(code: str) -> str:
    """What a new interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_each_context_has_a_pool_of_its_own():
    one, other = get_onnx(), get_onnx()
    assert one.get_interface(DisposablePool) is not None
    assert one.get_interface(DisposablePool) is not other.get_interface(DisposablePool)


def test_the_package_itself_loads_nothing():
    loaded = run(
        "import sys, xonnc.dialects.onnx, xonnc.tools.universe\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('numpy', 'ml_dtypes', 'onnx')"
        " or name.startswith('xonnc.dialects.onnx.')])"
    )
    assert loaded.strip() == "[]"


def test_the_dialect_loads_without_the_onnx_package():
    code = "import sys; from xonnc.dialects.onnx import get_onnx; get_onnx(); print('onnx' in sys.modules)"
    assert run(code).strip() == "False"


def test_names_of_ops_are_unique_and_the_dialects():
    names = [op.name for op in op_classes()]
    assert len(names) == len(set(names))
    assert all(name.startswith("onnx.") for name in names)


def test_the_registry_knows_opsets():
    assert op_class("", "Add", 6) is op_class("ai.onnx", "Add", 6)
    add = op_class("", "Add", 13)
    assert add is AddOp
    assert op_class("", "Add", 99) is AddOp
    assert op_class("", "Gelu", 19) is None
    assert op_class("", "Nonsense", 13) is None
    assert op_class("org.example", "Add", 13) is None


@pytest.mark.parametrize(
    ("name", "opset", "expected"),
    [
        ("Pad", 1, "onnx.PadV1"),
        ("Pad", 10, "onnx.PadV2"),
        ("Pad", 13, "onnx.PadV13"),
        ("Pad", 20, "onnx.PadV19"),
        ("Pad", 21, "onnx.Pad"),
        ("Softmax", 12, "onnx.SoftmaxV11"),
        ("Softmax", 13, "onnx.Softmax"),
        ("BatchNormalization", 8, "onnx.BatchNormalizationV7"),
        ("Upsample", 9, "onnx.Upsample"),
    ],
)
def test_the_registry_finds_the_version(name: str, opset: int, expected: str):
    found = op_class("", name, opset)
    assert found is not None
    assert found.name == expected


def test_classes_of_one_operator_follow_each_other():
    for op in op_classes():
        if op.UNTIL is not None:
            following = op_class(op.DOMAIN, op.OP_TYPE, op.UNTIL)
            assert following is not None
            assert following.SINCE == op.UNTIL
            assert following is not op


def test_random_operators_are_not_merged_and_are_removed_if_unused():
    draw = '"onnx.RandomNormal"() <{shape = [2]}> : () -> tensor<2xf32>'
    ctx, module = parse(
        f"func.func @f() -> (tensor<2xf32>, tensor<2xf32>) {{\n %0 = {draw}\n %1 = {draw}\n %2 = {draw}\n"
        "onnx.Return %0, %1 : tensor<2xf32>, tensor<2xf32>\n}"
    )
    CommonSubexpressionElimination().apply(ctx, module)
    DeadCodeElimination().apply(ctx, module)
    assert sum(isinstance(op, RandomNormalOp) for op in module.walk()) == 2
    assert not is_side_effect_free(next(op for op in module.walk() if isinstance(op, RandomNormalOp)))


def test_equal_sums_become_one():
    add = '"onnx.Add"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>'
    ctx, module = parse(
        f"func.func @f(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {{\n %0 = {add}\n %1 = {add}\n"
        "onnx.Return %0, %1 : tensor<2xf32>, tensor<2xf32>\n}"
    )
    CommonSubexpressionElimination().apply(ctx, module)
    assert sum(isinstance(op, AddOp) for op in module.walk()) == 1


def test_traits():
    assert AddOp.has_trait(Pure())
    assert AddOp.has_trait(Commutative())
    assert not SubOp.has_trait(Commutative())
    assert AddOp.get_trait(Checks) is not None


def test_defaults_are_filled_in_however_an_op_is_made():
    made = op_class("", "Softmax", 13)
    assert made is not None
    operand = NoValueOp().none_val
    assert made.create(operands=[operand], result_types=[NONE]).properties == {"axis": int_attr(-1)}
    assert made.build(operands=[operand], result_types=[NONE]).properties == {"axis": int_attr(-1)}


def test_constants_are_made_from_their_tensor():
    ctx = context()
    value = Parser(ctx, "dense<[1.0, 2.0]> : tensor<2xf32>").parse_attribute()
    op = ConstantOp.from_attr(value)
    assert op.output.type == tensor_type((2,), f32)
    assert op.fold() == (value,)
    op.verify()


def test_custom_ops_and_entry_points():
    assert EntryPointOp("main_graph").func.root_reference.data == "main_graph"
    assert CustomOp.has_trait(Pure())


def test_literals():
    assert int_attr(1) is int_attr(1)
    assert float_attr(0.9).value.data == pytest.approx(0.9)
    assert float_attr(0.0) != float_attr(-0.0)
    assert float_array_attr(0.0) != float_array_attr(-0.0)
    assert string_attr("a").data == "a"
    assert string_array_attr("a", "b").data == (string_attr("a"), string_attr("b"))
    assert int_values(int_array_attr(1, 2)) == (1, 2)
    assert int_values(None) is None


def test_compatible_types():
    known, other = tensor_type((2, 3), f32), tensor_type((2, 4), f32)
    partly = tensor_type((DYNAMIC_INDEX, 3), f32)
    assert are_compatible(known, known)
    assert are_compatible(known, partly)
    assert are_compatible(known, unranked(f32))
    assert not are_compatible(known, other)
    assert not are_compatible(known, tensor_type((2,), f32))
    assert not are_compatible(known, NONE)


def test_a_look_up_loads_only_what_provides_the_operator(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registry, "_PROVIDERS", {})
    monkeypatch.setattr(registry, "_provided", set[tuple[str, str]]())
    loaded: list[str] = []
    registry.provide(lambda: loaded.append("one"), [("test.one", "A"), ("test.one", "B")])
    registry.provide(lambda: loaded.append("all of two"), [("test.two", "")])
    assert registry.op_class("test.one", "C", 1) is None
    assert not loaded
    registry.op_class("test.one", "B", 1)
    registry.versions_of("test.one", "A")
    assert loaded == ["one"]
    registry.op_class("test.two", "any", 1)
    registry.provide(lambda: loaded.append("again"), [("test.one", "A")])
    registry.op_class("test.one", "A", 1)
    assert loaded == ["one", "all of two"]
