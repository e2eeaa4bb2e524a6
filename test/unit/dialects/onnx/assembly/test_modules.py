"""Names, aliases, locations and regions as MLIR prints them."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from textwrap import dedent
from time import process_time

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp, UnknownLoc
from xdsl.ir import Operation
from xdsl.utils.exceptions import ParseError

from xonnc.dialects.onnx.assembly import OnnxParser, OnnxPrinter
from xonnc.dialects.onnx.locations import node_name, output_names

Parsed = Callable[[str], ModuleOp]
Again = Callable[..., str]


def first(module: ModuleOp) -> Operation:
    op = module.body.block.first_op
    assert op
    return op


def test_values_are_numbered_anew(again: Again):
    text = """
    func.func @f(%x: tensor<2xf32> {onnx.name = "x"}, %c: i1) -> (tensor<2xf32> {onnx.n = "y"}) {
      %a:2 = "t.two"(%x) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
      %r = "t.region"(%a#1) ({
      ^entry(%q: tensor<2xf32>):
        %i = "t.in"(%q, %a#0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
        "t.br"()[^next] : () -> ()
      ^next:
        "t.end"(%i) : (tensor<2xf32>) -> ()
      }, {
        %j = "t.in"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
        "t.end"(%j) : (tensor<2xf32>) -> ()
      }) : (tensor<2xf32>) -> tensor<2xf32>
      %last = "t.one"(%r) : (tensor<2xf32>) -> tensor<2xf32>
      return %last : tensor<2xf32>
    }
    """
    assert again(text) == dedent("""\
        module {
          func.func @f(%arg0: tensor<2xf32> {onnx.name = "x"}, %arg1: i1) -> (tensor<2xf32> {onnx.n = "y"}) {
            %0:2 = "t.two"(%arg0) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
            %1 = "t.region"(%0#1) ({
            ^bb0(%arg2: tensor<2xf32>):
              %3 = "t.in"(%arg2, %0#0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
              "t.br"() [^bb1] : () -> ()
            ^bb1:
              "t.end"(%3) : (tensor<2xf32>) -> ()
            }, {
              %3 = "t.in"(%arg0, %arg0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
              "t.end"(%3) : (tensor<2xf32>) -> ()
            }) : (tensor<2xf32>) -> tensor<2xf32>
            %2 = "t.one"(%1) : (tensor<2xf32>) -> tensor<2xf32>
            return %2 : tensor<2xf32>
          }
        }""")


def test_upstream_ops_name_their_results(again: Again):
    text = """
    func.func @f(%m: memref<?xf32>) {
      %a = arith.constant 1 : index
      %b = arith.constant 1 : i32
      %c = arith.constant 1 : i32
      %d = arith.constant true
      %e = arith.constant 1.5 : f32
      %n = memref.dim %m, %a : memref<?xf32>
      %o = memref.alloc() : memref<2xf32>
      return
    }
    """
    printed = again(text)
    names = [line.split(" = ")[0].strip() for line in printed.splitlines() if " = " in line]
    assert names == ["%c1", "%c1_i32", "%c1_i32_0", "%true", "%cst", "%dim", "%alloc"]


def test_attributes_are_sorted(again: Again):
    text = '"t.op"() <{b = 1 : si64, a = {z, c}}> {y = 2 : i32, "x y" = unit} : () -> ()'
    assert (
        again(text) == 'module {\n  "t.op"() <{a = {c, z}, b = 1 : si64}> {"x y", y = 2 : i32} : () -> ()\n}'
    )


def test_custom_and_generic_forms(parsed: Parsed, again: Again):
    text = """\
module {
  func.func @main_graph(%arg0: tensor<2xi64>, %arg1: tensor<2x3xf32>) -> tensor<?x?xf32> {
    %0 = onnx.Constant {value_int = 1 : si64} : tensor<i64>
    %1 = onnx.ConstantOfShape(%arg0) {value = dense<7> : tensor<1xi8>} : (tensor<2xi64>) -> tensor<*xi8>
    %2 = onnx.ConstantOfShape(%arg0) : (tensor<2xi64>) -> tensor<?x?xf32>
    %3 = "onnx.NoValue"() <{value}> : () -> none
    %4 = "onnx.Custom"() <{function_name = "f"}> {d, l = #onnx.layout<{dataLayout = "NCHW4C"}>} : () -> i8
    onnx.Return %2 : tensor<?x?xf32>
  }
  "onnx.EntryPoint"() <{func = @main_graph}> : () -> ()
}"""
    assert again(text) == text
    generic = again(text, print_generic_format=True)
    assert generic.startswith('"builtin.module"() ({\n  "func.func"() <{function_type = (tensor<2xi64>')
    assert '"onnx.Return"(%2) : (tensor<?x?xf32>) -> ()' in generic
    assert '%0 = "onnx.Constant"() <{value_int = 1 : si64}> : () -> tensor<i64>' in generic


@pytest.mark.parametrize(
    ("written", "printed_as"),
    [
        (
            "affine_map<(d0, d1)[s0] -> ((d0 + d1 * 2) - s0)>",
            "affine_map<(d0, d1)[s0] -> (d0 + d1 * 2 - s0)>",
        ),
        ("affine_map<(d0) -> ((d0 + 1) mod 3, -d0)>", "affine_map<(d0) -> ((d0 + 1) mod 3, -d0)>"),
        ("affine_map<(d0) -> (d0 floordiv 4 - d0 * 3)>", "affine_map<(d0) -> (d0 floordiv 4 - d0 * 3)>"),
        ("affine_map<(d0, d1) -> (d0 - (d1 + d0))>", "affine_map<(d0, d1) -> (d0 - d1 - d0)>"),
        ("affine_map<() -> (0)>", "affine_map<() -> (0)>"),
        ("affine_map<(d0) -> ((d0 ceildiv 2) * 4 - 1)>", "affine_map<(d0) -> ((d0 ceildiv 2) * 4 - 1)>"),
    ],
)
def test_affine_maps(written: str, printed_as: str, again: Again):
    text = f'"t.op"() {{m = {written}}} : () -> ()'
    assert again(text) == f'#map = {printed_as}\nmodule {{\n  "t.op"() {{m = #map}} : () -> ()\n}}'


def test_aliases_are_shared_and_numbered(again: Again):
    text = """
    "t.op"() {a = affine_map<(d0) -> (d0)>, b = affine_map<(d0) -> (d0 + 1)>, c = affine_map<(d0) -> (d0)>,
              d = affine_set<(d0) : (d0 - 1 >= 0, d0 == 0)>}
      : () -> memref<2xf32, affine_map<(d0) -> (d0 + 1)>>
    """
    assert again(text) == dedent("""\
        #map = affine_map<(d0) -> (d0)>
        #map1 = affine_map<(d0) -> (d0 + 1)>
        #set = affine_set<(d0) : (d0 - 1 >= 0, d0 == 0)>
        module {
          %0 = "t.op"() {a = #map, b = #map1, c = #map, d = #set} : () -> memref<2xf32, #map1>
        }""")


def test_locations_are_aliases_wherever_they_are_defined(parsed: Parsed, again: Again):
    text = dedent("""\
        #loc = loc(unknown)
        module {
          func.func @f(%arg0: i32 loc(#loc)) {
            "t.a"() : () -> () loc(#loc1)
            "t.b"() : () -> () loc(#loc5)
            return loc(#loc6)
          } loc(#loc)
        } loc(#loc)
        #loc1 = loc("conv1")
        #loc2 = loc("f":1:2)
        #loc3 = loc("f":3:4)
        #loc4 = loc("a")
        #loc5 = loc("f":1:2 to 3:4)
        #loc6 = loc(fused<["y"]>[#loc1, callsite(#loc4 at #loc7)])
        #loc7 = loc("b"(#loc2))
        """)
    printed = again(text, print_debuginfo=True)
    definitions, _, body = printed.partition("module {")
    assert definitions.startswith("#loc = loc(unknown)\n")
    assert body.splitlines()[1:6] == [
        "  func.func @f(%arg0: i32 loc(#loc)) {",
        '    "t.a"() : () -> () loc(#loc1)',
        '    "t.b"() : () -> () loc(#loc5)',
        "    return loc(#loc8)",
        "  } loc(#loc)",
    ]
    assert '#loc8 = loc(fused[#loc1, #loc7, "onnx.results"(fused["y"])])' in definitions
    names = [(node_name(op), output_names(op)) for op in parsed(text).walk() if node_name(op)]
    assert names == [("conv1", ()), ("conv1", ("y",))]


def test_a_range_within_a_line(again: Again):
    text = '"t.a"() : () -> () loc("f":1:2 to :9)'
    assert 'loc("f":1:2 to :9)' in again(text, print_debuginfo=True)


def test_an_op_is_where_it_is_written(parsed: Parsed):
    op = first(parsed('\n  %0 = "t.op"() : () -> i32'))
    assert isinstance(op.location, FileLineColLoc)
    location = op.location.filename.data, op.location.line.data, op.location.column.data
    assert location == ("t.mlir", 2, 8)
    assert isinstance(first(parsed('"t.op"() : () -> () loc(unknown)')).location, UnknownLoc)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"t.op"() : () -> () loc(#x)', "undefined symbol alias '#x'"),
        ('"t.op"() : () -> () loc(#x)\n#x = loc(#x)', "undefined symbol alias '#x'"),
        ("#x = 1 : i64\n#x = 2 : i64", "re-declaration of alias '#x'"),
        ('"t.op"() : () -> () loc(#x)\n#x = 1 : i64', "Expected location alias."),
        (
            '"t.op"() : () -> () loc(5)',
            "Expected a location: a string, 'unknown', 'callsite', 'fused' or an alias",
        ),
        ('"t.op"() : () -> () loc("f":1)', "between line and column"),
        ('"t.op"() : () -> (', "type"),
        ('"t.op"(%0) : (i32) -> ()', "values used but not defined: [%0]"),
    ],
)
def test_refuses(text: str, message: str, ctx: Context):
    with pytest.raises(ParseError) as caught:
        OnnxParser(ctx, text, "t.mlir").parse_module()
    assert message in caught.value.msg


def test_an_alias_may_stand_behind_its_use(again: Again):
    assert "{a = 7 : i32} : () -> tensor<2xf32>" in again(
        '%0 = "t.op"() {a = #seven} : () -> !t\n#seven = 7 : i32\n!t = tensor<2xf32>'
    )


def test_a_part_of_a_module_prints_alone(parsed: Parsed):
    text = 'func.func @f(%x: i32) {\n "t.a"(%x) : (i32) -> ()\n return\n}'
    function = first(parsed(text))
    inner = next(op for op in function.walk() if op is not function)
    stream = StringIO()
    OnnxPrinter(stream=stream).print_op(inner)
    assert stream.getvalue() == '"t.a"(%arg0) : (i32) -> ()'


def test_reading_is_linear(ctx: Context):
    def seconds(count: int) -> float:
        type_ = "tensor<4x8xf32>"
        lines = [f'%{i + 1} = "onnx.Add"(%{i}, %0) : ({type_}, {type_}) -> {type_}' for i in range(count)]
        text = "\n".join([f"func.func @f(%0: {type_}) {{", *lines, "return", "}"])
        begun = process_time()
        OnnxParser(ctx, text, "t").parse_module()
        return process_time() - begun

    seconds(100)
    small, large = seconds(500), seconds(4000)
    assert large < small * 8 * 2
