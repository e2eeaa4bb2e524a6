"""What passes leave becomes models that the checker, shape inference and onnxruntime take."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, checker, helper, parser, shape_inference
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func

from xonnc.dialects.onnx import get_onnx
from xonnc.dialects.onnx.assembly import OnnxParser
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.importer import import_proto
from xonnc.formats.onnx.onnx_shape_inference import infer_results
from xonnc.runtime.reference import open_session


def context() -> Context:
    made = Context()
    for dialect in (Builtin, Func, get_onnx()):
        made.load_dialect(dialect)
    return made


def parsed(text: str) -> ModuleOp:
    module = OnnxParser(context(), text, "text").parse_module()
    module.verify()
    return module


def check(model: onnx.ModelProto) -> None:
    vars(checker)["check_model"](model, full_check=True)


def test_a_body_copies_what_it_takes_from_around_it():
    model = export_proto(
        parsed(
            """
            builtin.module attributes {onnx.ir_version = 8 : i64, onnx.opset_imports = {"" = 17 : i64}} {
            func.func @main_graph(%c: tensor<i1> {onnx.name = "c"}, %x: tensor<2xf32> {onnx.name = "x"})
                -> (tensor<2xf32> {onnx.name = "y"}) {
              %two = onnx.Constant dense<2.0> : tensor<2xf32> loc(fused<["then_out"]>[unknown])
              %0 = "onnx.If"(%c) ({
                onnx.Yield %two : tensor<2xf32>
              }, {
                onnx.Yield %x : tensor<2xf32>
              }) {onnx.then_branch = {name = "then", output = ["then_out"]},
                  onnx.else_branch = {name = "else"}} : (tensor<i1>) -> tensor<2xf32>
              onnx.Return %0 : tensor<2xf32>
            }
            }
            """
        )
    )
    check(model)
    bodies = {attribute.name: attribute.g for attribute in model.graph.node[0].attribute}
    assert [(node.op_type, *node.input) for node in bodies["then_branch"].node] == [("Identity", "then_out")]
    assert [(node.op_type, *node.input) for node in bodies["else_branch"].node] == [("Identity", "x")]
    assert bodies["then_branch"].output[0].name != "then_out"


def test_an_output_keeps_its_name_though_another_value_would_like_it():
    model = export_proto(
        parsed(
            """
            func.func @main_graph(%x: tensor<2xf32> {onnx.name = "x"})
                -> (tensor<2xf32> {onnx.name = "y"}, tensor<2xf32> {onnx.name = "z"}) {
              %0 = "onnx.Neg"(%x) : (tensor<2xf32>) -> tensor<2xf32> loc(fused<["y"]>[unknown])
              onnx.Return %x, %0 : tensor<2xf32>, tensor<2xf32>
            }
            """
        )
    )
    check(model)
    assert [output.name for output in model.graph.output] == ["y", "z"]
    assert [(node.op_type, *node.output) for node in model.graph.node] == [("Neg", "z"), ("Identity", "y")]


@pytest.mark.parametrize(("ir_version", "inputs"), [(3, ["x", "c"]), (4, ["x"])])
def test_old_models_list_their_initializers(ir_version: int, inputs: list[str]):
    model = export_proto(
        parsed(
            f"""
            builtin.module attributes {{onnx.ir_version = {ir_version} : i64,
                                        onnx.opset_imports = {{"" = 8 : i64}}}} {{
            func.func @main_graph(%x: tensor<2xf32> {{onnx.name = "x"}})
                -> (tensor<2xf32> {{onnx.name = "y"}}) {{
              %c = onnx.Constant dense<2.0> : tensor<2xf32> loc(fused<["c"]>[unknown])
              %0 = "onnx.Add"(%x, %c) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
              onnx.Return %0 : tensor<2xf32>
            }}
            }}
            """
        )
    )
    check(model)
    assert [info.name for info in model.graph.input] == inputs


def test_initializers_ask_for_no_opset():
    model = parser.parse_model(
        """
        <ir_version: 9, opset_import: ["ai.onnx.ml" : 4]>
        labels () => (int64[1] y) <string[1] x = {"a"}> {
          y = ai.onnx.ml.LabelEncoder <keys_strings: strings = ["a"], values_int64s: ints = [7]> (x)
        }
        """
    )
    back = export_proto(import_proto(model, context()))
    assert [(entry.domain, entry.version) for entry in back.opset_import] == [("ai.onnx.ml", 4)]
    only = export_proto(
        parsed(
            """
            func.func @main_graph() -> tensor<2xf32> {
              %c = onnx.Constant dense<2.0> : tensor<2xf32>
              onnx.Return %c : tensor<2xf32>
            }
            """
        )
    )
    check(only)
    assert [entry.domain for entry in only.opset_import] == [""]


def test_stft_says_that_it_is_one_sided():
    node = helper.make_node("STFT", ["x", "step", "", "length"], ["y"], onesided=1)
    scalars = [helper.make_tensor(name, TensorProto.INT64, [], [16]) for name in ("step", "length")]
    graph = helper.make_graph(
        [node],
        "stft",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 128, 1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 9, 2])],
        scalars,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    back = export_proto(import_proto(model, context()))
    shape_inference.infer_shapes(back, check_type=True, strict_mode=True, data_prop=True)
    assert [(attribute.name, attribute.i) for attribute in back.graph.node[0].attribute] == [("onesided", 1)]


def test_nothing_follows_for_an_op_that_its_schema_does_not_admit():
    text = """
        func.func @main_graph(%x: tensor<2xf32>) -> none {
          %0 = "onnx.Gradient"(%x) <{xs = ["x"], y = "y"}> : (tensor<2xf32>) -> none
          onnx.Return %0 : none
        }
        """
    module = OnnxParser(context(), text, "text").parse_module()
    gradient = next(op for op in module.walk() if isinstance(op, OnnxOp))
    assert infer_results(gradient, lambda _: None) == [None]


def test_nothing_follows_where_the_onnx_package_finds_no_type():
    text = """
        func.func @main_graph(%x: tensor<2xf32>) -> tensor<2xf32> {
          %0 = "onnx.Gradient"(%x) <{xs = ["x"], y = "y"}> : (tensor<2xf32>) -> tensor<2xf32>
          onnx.Return %0 : tensor<2xf32>
        }
        """
    gradient = next(op for op in parsed(text).walk() if isinstance(op, OnnxOp))
    assert infer_results(gradient, lambda _: None) == [None]


def test_a_name_that_is_an_attribute_is_the_nodes_name():
    model = export_proto(
        parsed(
            """
            func.func @main_graph(%x: tensor<2xf32> {onnx.name = "x"}) -> tensor<2xf32> {
              %0 = "onnx.Neg"(%x) {onnx_node_name = "said"} : (tensor<2xf32>) -> tensor<2xf32> loc("other")
              onnx.Return %0 : tensor<2xf32>
            }
            """
        )
    )
    check(model)
    assert model.graph.node[0].name == "said"


def test_nodes_that_came_from_one_have_names_of_their_own():
    model = export_proto(
        parsed(
            """
            func.func @main_graph(%x: tensor<2xf32> {onnx.name = "x"}) -> (tensor<2xf32> {onnx.name = "y"}) {
              %c = onnx.Constant dense<2.0> : tensor<2xf32> loc("a")
              %0 = "onnx.Add"(%x, %c) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("a")
              %1 = "onnx.Neg"(%0) : (tensor<2xf32>) -> tensor<2xf32> loc("a_1")
              %2 = "onnx.Abs"(%1) : (tensor<2xf32>) -> tensor<2xf32> loc(fused<["v"]>["a"])
              %3 = "onnx.Exp"(%2) : (tensor<2xf32>) -> tensor<2xf32> loc(fused<["v"]>["a"])
              %4 = "onnx.Log"(%3) : (tensor<2xf32>) -> tensor<2xf32> loc("b")
              %5 = "onnx.Cos"(%4) : (tensor<2xf32>) -> tensor<2xf32> loc("b")
              onnx.Return %5 : tensor<2xf32>
            }
            """
        )
    )
    check(model)
    assert [(node.op_type, node.name) for node in model.graph.node] == [
        ("Add", "a_2"),
        ("Neg", "a_1"),
        ("Abs", "a"),
        ("Exp", "a_3"),
        ("Log", "b"),
        ("Cos", "b_1"),
    ]


def test_names_that_were_given_twice_come_back():
    node = [helper.make_node("Neg", [a], [b], "twice") for a, b in (("x", "v"), ("v", "y"))]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
    model = helper.make_model(helper.make_graph(node, "g", infos[:1], infos[1:]))
    back = export_proto(import_proto(model, context()))
    assert [node.name for node in back.graph.node] == ["twice", "twice"]


@pytest.mark.parametrize(
    ("auto_pad", "attributes"),
    [("VALID", {"auto_pad"}), ("SAME_UPPER", {"auto_pad"}), ("NOTSET", {"pads"})],
)
def test_pads_are_not_beside_auto_pad(auto_pad: str, attributes: set[str]):
    model = export_proto(
        parsed(
            f"""
            func.func @main_graph(%x: tensor<1x1x4xf32>, %w: tensor<1x1x1xf32>) -> tensor<1x1x4xf32> {{
              %none = "onnx.NoValue"() <{{value}}> : () -> none
              %0 = "onnx.Conv"(%x, %w, %none) <{{auto_pad = "{auto_pad}", group = 1 : si64, pads = [0, 0]}}>
                : (tensor<1x1x4xf32>, tensor<1x1x1xf32>, none) -> tensor<1x1x4xf32>
              onnx.Return %0 : tensor<1x1x4xf32>
            }}
            """
        )
    )
    check(model)
    found = {attribute.name for attribute in model.graph.node[0].attribute}
    assert found & {"auto_pad", "pads"} == attributes
    open_session(model.SerializeToString(), "model")


def test_a_loop_that_carries_nothing_lists_its_absent_condition():
    model = export_proto(
        parsed(
            """
            builtin.module attributes {onnx.ir_version = 8 : i64, onnx.opset_imports = {"" = 17 : i64}} {
            func.func @main_graph(%n: tensor<i64> {onnx.name = "n"}) -> (tensor<?xi64> {onnx.name = "y"}) {
              %none = "onnx.NoValue"() <{value}> : () -> none
              %0 = "onnx.Loop"(%n, %none) ({
              ^bb0(%i: tensor<i64>, %c: tensor<i1>):
                %1 = "onnx.Neg"(%i) : (tensor<i64>) -> tensor<i64>
                onnx.Yield %c, %1 : tensor<i1>, tensor<i64>
              }) : (tensor<i64>, none) -> tensor<?xi64>
              onnx.Return %0 : tensor<?xi64>
            }
            }
            """
        )
    )
    check(model)
    assert list(model.graph.node[0].input) == ["n", ""]
