"""What we print, xDSL's own parser reads, with the dialects that the entry point `xdsl.universe` gives."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pytest
from ml_dtypes import bfloat16, float8_e4m3fn, int4
from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError

from xonnc.dialects.onnx.assembly import OnnxParser, OnnxPrinter
from xonnc.dialects.onnx.elements import DisposablePool, elements_array
from xonnc.dialects.onnx.locations import node_names, output_names
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.tools.universe import XONNC_UNIVERSE

ARRAYS = [
    np.array([[1.5, -0.0], [1e-40, 3e38]], np.float32),
    np.full(7, 2.5, np.float64),
    np.array(3.0, np.float16),
    np.array([1, 2], bfloat16),
    np.array([1, 2], float8_e4m3fn),
    np.array([-128, 127], np.int8),
    np.array([0, 255], np.uint8),
    np.array([-(2**63), 2**63 - 1]),
    np.array([True, False, True]),
    np.array([-8, 7, 1], int4),
    np.array([1 + 2j, -3j], np.complex64),
    np.zeros((0, 3), np.float32),
    np.arange(300, dtype=np.int32),
    np.array([np.inf, -np.inf, np.nan, 16777216.0], np.float32),
    np.full((2, 3), -np.inf, np.float32),
    np.array(np.nan),
    np.array([-np.inf, 65504], np.float16),
    np.full(4, np.inf, bfloat16),
    np.array([complex(np.inf, 1), complex(2, np.nan)], np.complex64),
    np.arange(300) % 3 == 1,
]

MODELS = {
    "nested regions": """
        func.func @f(%c: tensor<i1>, %x: tensor<2xf32> {onnx.name = "x"}) -> (tensor<*xf32>, none) {
          %none = "onnx.NoValue"() {value} : () -> none
          %0 = "onnx.If"(%c) ({
            %k = onnx.Constant dense<[1.0, 2.0]> : tensor<2xf32>
            %1 = "onnx.If"(%c) ({
              onnx.Yield %k : tensor<2xf32>
            }, {
              %2 = "onnx.Relu"(%x) {onnx_node_name = "r\\22"} : (tensor<2xf32>) -> tensor<2xf32>
              onnx.Yield %2 : tensor<2xf32>
            }) : (tensor<i1>) -> tensor<2xf32>
            onnx.Yield %1 : tensor<2xf32>
          }, {
            onnx.Yield %x : tensor<2xf32>
          }) : (tensor<i1>) -> tensor<*xf32>
          onnx.Return %0, %none : tensor<*xf32>, none
        }
        "onnx.EntryPoint"() {func = @f} : () -> ()""",
    "a loop with locations": """
        func.func @f(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<?xf32>) -> tensor<?xf32> {
          %0 = "onnx.Loop"(%n, %c, %x) ({
          ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<?xf32>):
            %1 = "onnx.Exp"(%v) : (tensor<?xf32>) -> tensor<?xf32> loc(#deep)
            onnx.Yield %go, %1 : tensor<i1>, tensor<?xf32>
          }) : (tensor<i64>, tensor<i1>, tensor<?xf32>) -> tensor<?xf32> loc("loop"("m.py":3:4))
          onnx.Return %0 : tensor<?xf32>
        }
        #inner = loc("exp")
        #deep = loc(fused[#inner, callsite("a" at "b")])""",
    "maps, layouts and values of attributes": """
        module attributes {a.map = affine_map<(d0)[s0] -> (d0 + s0)>, a.many = [1, 2.5, "x", unit]} {
          %0 = onnx.Constant {value_int = 3 : si64} : tensor<i64>
          %1 = onnx.Constant {value_floats = [1.0 : f32, 2.0 : f32]} : tensor<2xf32>
          %2 = onnx.ConstantOfShape(%0) {value = dense<2> : tensor<1xi64>} : (tensor<i64>) -> tensor<*xi64>
        }""",
}


def context() -> Context:
    ctx = Context()
    ctx.load_dialect(builtin.Builtin)
    ctx.load_dialect(func.Func)
    for name, factory in XONNC_UNIVERSE.all_dialects.items():
        ctx.register_dialect(name, factory)
    return ctx


def printed(module: ModuleOp, generic: bool, elide_larger: int | None = None) -> str:
    stream = StringIO()
    OnnxPrinter(
        stream=stream,
        print_generic_format=generic,
        number_disposables=generic,
        print_debuginfo=True,
        elide_larger=elide_larger,
        portable=True,
    ).print_op(module)
    return stream.getvalue()


@pytest.mark.parametrize("generic", [False, True], ids=["pretty", "generic"])
@pytest.mark.parametrize("name", MODELS)
def test_models_are_read_as_they_were(name: str, generic: bool) -> None:
    module = OnnxParser(context(), MODELS[name], "model.mlir").parse_module()
    read = Parser(context(), printed(module, generic)).parse_module()
    assert printed(read, False) == printed(module, False)


@pytest.mark.parametrize("generic", [False, True], ids=["pretty", "generic"])
@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{list(array.shape)}")
def test_constants_are_read_bit_for_bit(array: np.ndarray, generic: bool) -> None:
    module = ModuleOp([ConstantOp.from_attr(DisposablePool().create(array))])
    text = printed(module, generic)
    read = Parser(context(), text).parse_module()
    read.verify()
    assert printed(OnnxParser(context(), text).parse_module(), generic=False) == printed(
        module, generic=False
    )
    constant = read.body.block.first_op
    assert isinstance(constant, ConstantOp)
    assert constant.value is not None
    found = elements_array(constant.value)
    assert found is not None
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    # A byte holds an element of four bits, and what its other bits are says nothing.
    stored = np.int8 if array.dtype == int4 else array.dtype
    assert found.astype(stored).tobytes() == array.astype(stored).tobytes()


@pytest.mark.parametrize("reader", [Parser, OnnxParser])
def test_floats_without_a_number_in_lists_are_read(reader: type[Parser]) -> None:
    text = "module attributes {a = [0x7FF0000000000000 : f64, 1.0 : f64, 0x7FC00000 : f32, 2]} {}"
    module = OnnxParser(context(), text).parse_module()
    assert printed(reader(context(), printed(module, False)).parse_module(), False) == printed(module, False)


def test_names_of_nodes_and_results_go_through_xdsl() -> None:
    text = """
        %0 = "onnx.NoValue"() {value} : () -> none loc(fused<["y", ""]>["conv1", "bn"])
        %1 = "onnx.NoValue"() {value} : () -> none loc(fused<["z\\22"]>[unknown])
        %2 = "onnx.NoValue"() {value} : () -> none loc(fused<[]>["a"])"""
    module = OnnxParser(context(), text).parse_module()
    stream = StringIO()
    Printer(stream, print_debuginfo=True).print_op(Parser(context(), printed(module, False)).parse_module())
    again = OnnxParser(context(), stream.getvalue()).parse_module()
    named = [(node_names(op), output_names(op)) for op in again.body.block.ops]
    assert named == [(("conv1", "bn"), ("y", "")), ((), ('z"',)), (("a",), ())]


@pytest.mark.parametrize("generic", [False, True], ids=["pretty", "generic"])
def test_elided_constants_are_read(generic: bool) -> None:
    module = ModuleOp([ConstantOp.from_attr(DisposablePool().create(np.arange(9)))])
    read = Parser(context(), printed(module, generic, elide_larger=2)).parse_module()
    # xDSL gives a key that the process has seen before a number.
    assert "dense_resource<__elided__" in printed(read, generic)


def test_infinities_are_read_from_the_generic_form() -> None:
    """In the pretty form they are MLIR's bit patterns, which xDSL's parser takes for integers."""
    array = np.array([np.nan, np.inf, -np.inf], np.float32)
    module = ModuleOp([ConstantOp.from_attr(DisposablePool().create(array))])
    constant = Parser(context(), printed(module, True)).parse_module().body.block.first_op
    assert isinstance(constant, ConstantOp)
    assert constant.value is not None
    found = elements_array(constant.value)
    assert found is not None
    assert found.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<1:"0x00"> : tensor<2xf32>', "data size doesn't match"),
        ('<1:"00"> : tensor<1xi8>', "begins with 0x"),
        ('<1:"0x00"> : tensor<?xi8>', "no tensor of numbers of static shape"),
        ("<1:__elided__> : tensor<2xf32>", "left out of the text"),
        ('<"0x00"> : tensor<1xi8>', "nteger"),
    ],
)
def test_broken_disposable_constants_are_refused(text: str, message: str) -> None:
    source = f'"onnx.Constant"() <{{value = #onnx.dense_disposable{text}}}> : () -> tensor<*xf32>'
    with pytest.raises(ParseError, match=message):
        Parser(context(), source).parse_module()
