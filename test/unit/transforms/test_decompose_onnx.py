"""Decomposition: options, and what the reference does not judge rightly."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.ir import Operation

from xonnc.dialects.onnx import get_onnx
from xonnc.dialects.onnx.assembly import OnnxParser, OnnxPrinter
from xonnc.errors import XonncError
from xonnc.formats.onnx.exporter import export_proto
from xonnc.fuzzing.rules.instances import Example, Instance, evaluator
from xonnc.rewriting.driver import apply_rules
from xonnc.rewriting.onnx import LogSoftmax, ReduceLogSumExp
from xonnc.rewriting.patterns import Array, Node, attr, value
from xonnc.rewriting.statistics import tracing_rules
from xonnc.transforms.decompose_onnx import Decompose, all_rules, every_rule


def parsed(text: str) -> tuple[Context, ModuleOp]:
    """A module and its context."""
    context = Context()
    for dialect in (Builtin, Func, get_onnx()):
        context.load_dialect(dialect)
    return context, OnnxParser(context, text).parse_module()


def decomposed(text: str, options: Decompose | None = None) -> str:
    """What the pass makes of a module, as text."""
    return printed(options or Decompose(), *parsed(text))


def printed(options: Decompose, context: Context, module: ModuleOp) -> str:
    """A module after the pass, as text."""
    options.apply(context, module)
    module.verify()
    out = StringIO()
    OnnxPrinter(stream=out).print_op(module)
    return out.getvalue()


def result(pattern: Node, x: Array, **properties: int) -> Array:
    """The result of an op of x after the whole pass."""
    given = Example({"x": x, "axes": None}, properties, dtypes=[np.float32])
    instance = Instance(pattern, given, np.float32, specials=False, seed=0)
    Decompose().apply(instance.context, instance.module)
    with np.errstate(all="ignore"):
        return instance.run()[0]


def test_log_of_nothing_but_zeros_is_minus_infinity():
    pattern = ReduceLogSumExp(value.x, value.axes, keepdims=0, noop_with_empty_axes=0)
    assert result(pattern, np.array([-np.inf, -np.inf])) == -np.inf


def test_log_softmax_of_what_is_far_apart():
    logarithms = result(LogSoftmax(value.x, axis=attr.axis), np.array([[0.0, -200.0]]), axis=1)
    np.testing.assert_array_equal(logarithms, np.array([[0.0, -200.0]], np.float32))


DYNAMIC = [
    ("LogSoftmax", "axis = 0 : si64", ["?x?xf32"], "?x?xf32", [[(2, 3)], [(1, 5)]]),
    (
        "ReduceL2",
        "keepdims = 0 : si64",
        ["?x3x?xf32", "1xi64"],
        "?x?xf32",
        [[(2, 3, 4), (1,)], [(1, 3, 1), (1,)]],
    ),
    (
        "ReduceLogSumExp",
        "keepdims = 0 : si64",
        ["?x?xf32", "1xi64"],
        "?xf32",
        [[(2, 3), (1,)], [(4, 1), (1,)]],
    ),
    (
        "ReduceLogSumExp",
        "keepdims = 0 : si64",
        ["?x?xf32", "?xi64"],
        "*xf32",
        [[(2, 3), (1,)], [(4, 2), (0,)]],
    ),
    (
        "ReduceLogSumExp",
        "keepdims = 0 : si64, noop_with_empty_axes = 1 : si64",
        ["?x?xf32", "?xi64"],
        "*xf32",
        [[(2, 3), (1,)], [(4, 2), (0,)]],
    ),
    ("Sum", "", ["?x3xf32", "3xf32", "?x1xf32"], "?x3xf32", [[(2, 3), (3,), (2, 1)], [(1, 3), (3,), (1, 1)]]),
    (
        "SoftmaxCrossEntropyLoss",
        'reduction = "mean"',
        ["?x?x?xf32", "?x?xi64", "?xf32"],
        "f32",
        [[(2, 3, 4), (2, 4), (3,)], [(1, 2, 1), (1, 1), (2,)]],
    ),
    (
        "Conv",
        "",
        ["?x2x?x?xf32", "3x2x1x1xf32", "3xf32"],
        "?x3x?x?xf32",
        [[(2, 2, 3, 4), (3, 2, 1, 1), (3,)], [(1, 2, 1, 5), (3, 2, 1, 1), (3,)]],
    ),
]
"""Ops whose sizes are known when they run: properties, types and shapes to run them with."""


@pytest.mark.parametrize(("op", "properties", "operands", "result", "runs"), DYNAMIC)
def test_dynamic_sizes(
    op: str,
    properties: str,
    operands: Sequence[str],
    result: str,
    runs: Sequence[Sequence[tuple[int, ...]]],
):
    names = [f"x{index}" for index in range(len(operands))]
    types = [f"tensor<{operand}>" for operand in operands]
    pairs = list(zip(names, types, strict=True))
    arguments = ", ".join(f'%{name}: {type_} {{onnx.name = "{name}"}}' for name, type_ in pairs)
    count = 2 if op == "SoftmaxCrossEntropyLoss" else 1
    results = f"(tensor<{result}>{', none' if count == 2 else ''})"
    read = ", ".join(f"%{name}" for name in names)
    text = f"""
    func.func @main_graph({arguments}) -> tensor<{result}> {{
      %r:{count} = "onnx.{op}"({read}) <{{{properties}}}> : ({", ".join(types)}) -> {results}
      onnx.Return %r#0 : tensor<{result}>
    }}
    """
    context, module = parsed(text)
    before = export_proto(module)
    printed(Decompose(enable_conv_to_matmul=True), context, module)
    after = export_proto(module)
    assert op not in [node.op_type for node in after.graph.node]
    for shapes in runs:
        random = np.random.default_rng(len(shapes[0]))
        feeds = {
            name: np.ones(shape, np.int64) if "i64" in type_ else random.normal(size=shape).astype(np.float32)
            for (name, type_), shape in zip(pairs, shapes, strict=True)
        }
        (expected,) = evaluator(before, by_onnxruntime=False).run(None, feeds)
        (found,) = evaluator(after, by_onnxruntime=False).run(None, feeds)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


HARD_SWISH = """
func.func @main_graph(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "onnx.HardSwish"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  onnx.Return %0 : tensor<2xf32>
}
"""


def test_hard_swish_only_on_demand():
    assert "onnx.HardSwish" in decomposed(HARD_SWISH)
    assert "onnx.HardSwish" not in decomposed(HARD_SWISH, Decompose(decompose_op_in_onnx=("HardSwish",)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            Decompose(decompose_op_in_onnx=("HardSwich",)),
            "decompose-onnx: decompose-op-in-onnx has no 'HardSwich'; did you mean HardSwish?",
        ),
        (
            Decompose(decompose_op_in_onnx=("Relu",)),
            "decompose-onnx: decompose-op-in-onnx has no 'Relu'; known are HardSwish",
        ),
        (
            Decompose(target="tosa"),
            "decompose-onnx: target is 'tosa', it is either not given or stablehlo",
        ),
    ],
)
def test_wrong_options(options: Decompose, message: str):
    with pytest.raises(XonncError) as error:
        decomposed(HARD_SWISH, options)
    assert str(error.value) == message


MATRIX, IMAGE = "tensor<2x3xf32>", "tensor<1x4x3xf32>"


@pytest.mark.parametrize(
    ("op", "properties", "operands", "result", "reason"),
    [
        (
            "Einsum",
            'equation = "ij->"',
            ["tensor<2x3xi8>"],
            "tensor<i8>",
            "unsupported element type prevents Einsum decomposition",
        ),
        (
            "Einsum",
            'equation = "ij->"',
            ["tensor<?x3xf32>"],
            "tensor<f32>",
            "unknown shapes prevent Einsum decomposition",
        ),
        (
            "Einsum",
            'equation = "ij->ji"',
            [MATRIX],
            "tensor<?x2xf32>",
            "unknown result shape prevent Einsum decomposition",
        ),
        (
            "Einsum",
            'equation = "ii->"',
            ["tensor<1x3xf32>"],
            "tensor<f32>",
            "a diagonal is of axes of different sizes",
        ),
        ("ReduceLogSum", "", ["tensor<2xi32>", "tensor<1xi64>"], "tensor<1xi32>", "the data are no floats"),
        (
            "ConvTranspose",
            "group = 3 : si64",
            ["tensor<1x?x3xf32>", "tensor<4x2x2xf32>", "tensor<6xf32>"],
            "tensor<1x6x4xf32>",
            "the groups do not divide the channels",
        ),
        (
            "ConvTranspose",
            "pads = [2, 2]",
            [IMAGE, "tensor<4x2x2xf32>", "tensor<2xf32>"],
            "tensor<1x2x?xf32>",
            "more is cropped than the kernel size",
        ),
        (
            "ConvTranspose",
            "",
            ["tensor<1x4x?xf32>", "tensor<4x2x2xf32>", "tensor<2xf32>"],
            "tensor<1x2x?xf32>",
            "a size is not known",
        ),
        (
            "Conv",
            'auto_pad = "SAME_UPPER"',
            [IMAGE, "tensor<2x4x1xf32>", "tensor<2xf32>"],
            "tensor<1x2x3xf32>",
            "the weights are not of a known size and rank 4",
        ),
        (
            "Conv",
            "",
            ["tensor<*xf32>", "tensor<2x4x1xf32>", "tensor<2xf32>"],
            "tensor<*xf32>",
            "a rank is not known",
        ),
        (
            "SoftmaxCrossEntropyLoss",
            "",
            ["tensor<*xf32>", "tensor<?xi64>", "tensor<3xf32>"],
            "tensor<f32>, none",
            "the ranks are not known",
        ),
    ],
)
def test_what_is_not_sure_stays(op: str, properties: str, operands: Sequence[str], result: str, reason: str):
    names = [f"%{index}" for index in range(len(operands))]
    arguments = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, operands, strict=True))
    first = result.partition(", none")[0]
    results = f"({result})" if "none" in result else result
    made = "%r:2" if "none" in result else "%r"
    text = f"""
    func.func @main_graph({arguments}) -> {first} {{
      {made} = "onnx.{op}"({", ".join(names)}) <{{{properties}}}> : ({", ".join(operands)}) -> {results}
      onnx.Return %r{"#0" if "none" in result else ""} : {first}
    }}
    """
    heard: list[str] = []

    def tell(name: str, op: Operation, why: str) -> None:
        heard.append(why)

    with tracing_rules(list(every_rule()), tell):
        assert f"onnx.{op}" in decomposed(text, Decompose(enable_conv_to_matmul=True))
    assert reason in heard


def test_nothing_else_changes():
    """Constants stay where they are, and so do dead ops."""
    text = """
    func.func @main_graph(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>
      %1 = onnx.Constant dense<1.000000e+00> : tensor<f32>
      %2 = "onnx.Exp"(%0) : (tensor<2xf32>) -> tensor<2xf32>
      onnx.Return %0 : tensor<2xf32>
    }
    """
    made = decomposed(text)
    assert made.index("onnx.Relu") < made.index("onnx.Constant") < made.index("onnx.Exp")


def test_twice_is_once():
    text = HARD_SWISH.replace("HardSwish", "LogSoftmax").replace("tensor<2xf32>", "tensor<2x3xf32>")
    once = decomposed(text)
    assert "LogSoftmax" not in once
    assert decomposed(once) == once


def test_the_greedy_driver_takes_a_concatenation_away_too():
    text = """
    func.func @main_graph(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> (tensor<2xi64>, tensor<3x4xf32>) {
      %0 = "onnx.Concat"(%a, %b) <{axis = 0 : si64}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
      %1 = "onnx.Transpose"(%0) <{perm = [1, 0]}> : (tensor<4x3xf32>) -> tensor<3x4xf32>
      %2 = "onnx.Shape"(%0) : (tensor<4x3xf32>) -> tensor<2xi64>
      onnx.Return %2, %1 : tensor<2xi64>, tensor<3x4xf32>
    }
    """
    context, module = parsed(text)
    apply_rules(module, context, all_rules(), pass_name="test")
    module.verify()
    names = [op.name for op in module.walk()]
    assert names == ["builtin.module", "func.func", "onnx.ConcatShapeTranspose", "onnx.Return"]


def test_bfloat16_has_a_largest_number():
    text = HARD_SWISH.replace("HardSwish", "ReduceLogSumExp").replace("xf32", "xbf16")
    text = text.replace("(%x) :", "(%x, %none) :").replace("(tensor<2xbf16>) ->", "(tensor<2xbf16>, none) ->")
    text = text.replace("%0 =", '%none = "onnx.NoValue"() <{value}> : () -> none\n  %0 =')
    text = text.replace("-> tensor<2xbf16>", "-> tensor<1xbf16>").replace("%0 : tensor<2", "%0 : tensor<1")
    assert "dense<3.389530e+38> : tensor<bf16>" in decomposed(text)
