"""What rounding a network of floats does beside putting in pairs: biases and scores."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import OpResult, SSAValue
from xdsl.parser import Parser

from xonnc.dialects.onnx.elements import DisposablePool, elements_array
from xonnc.dialects.onnx.locations import output_names
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.math import AddOp, GemmOp, MulOp, SigmoidOp
from xonnc.dialects.onnx.ops.nn import ConvOp
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp, QuantizeLinearOp
from xonnc.dialects.onnx.ops.tensor import TransposeOp
from xonnc.dialects.onnx.types import element_type
from xonnc.formats.nvdla.calibration import Range
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import pair_of
from xonnc.lowering.onnx_to_dla.quantization.quantize_onnx import name_values, quantize


def parsed(context: Context, text: str) -> ModuleOp:
    return Parser(context, text).parse_module()


def held(value: SSAValue) -> npt.NDArray[np.float64]:
    assert isinstance(value, OpResult)
    assert isinstance(value.op, ConstantOp)
    assert value.op.value is not None
    array = elements_array(value.op.value)
    assert array is not None
    return array.astype(np.float64)


def test_biases_take_away_what_rounding_weights_adds(context: Context):
    """A weight of 0.3 beside one of 1 becomes 38 / 127; the mean of its channel is 20."""
    module = parsed(
        context,
        """func.func @f(%x: tensor<1x2x1x1xf32> {onnx.name = "x"})
               -> (tensor<1x1x1x1xf32> {onnx.name = "y"}) {
             %w = onnx.Constant dense<[[[[0.3]], [[1.0]]]]> : tensor<1x2x1x1xf32>
             %b = onnx.Constant dense<0.5> : tensor<1xf32>
             %y = "onnx.Conv"(%x, %w, %b) : (tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1xf32>)
                -> tensor<1x1x1x1xf32>
             onnx.Return %y : tensor<1x1x1x1xf32> }""",
    )
    ranges = {"x": Range(0, 40, (20.0, 7.0)), "y": Range(-1, 1)}
    quantize(module, ranges, DisposablePool.of(context))
    (conv,) = (op for op in module.walk() if isinstance(op, ConvOp))
    assert held(conv.B).tolist() == pytest.approx([0.5 - 20 * (38 / 127 - 0.3)])


def test_kernels_of_dead_channels_become_zero(context: Context):
    """Products of up to 1e-17 do not show beside a bias of 3; those of the other channel do."""
    module = parsed(
        context,
        """func.func @f(%x: tensor<1x2x1x1xf32> {onnx.name = "x"})
               -> (tensor<1x3x1x1xf32> {onnx.name = "y"}) {
             %w = onnx.Constant dense<[[[[1.0e-18]], [[0.0]]], [[[0.3]], [[1.0]]], [[[1.0e-18]], [[0.0]]]]>
                : tensor<3x2x1x1xf32>
             %b = onnx.Constant dense<[-3.0, 0.5, 0.0]> : tensor<3xf32>
             %y = "onnx.Conv"(%x, %w, %b) : (tensor<1x2x1x1xf32>, tensor<3x2x1x1xf32>, tensor<3xf32>)
                -> tensor<1x3x1x1xf32>
             onnx.Return %y : tensor<1x3x1x1xf32> }""",
    )
    quantize(module, {"x": Range(0, 10), "y": Range(-4, 4)}, DisposablePool.of(context))
    (conv,) = (op for op in module.walk() if isinstance(op, ConvOp))
    assert held(conv.W).reshape(3, 2).tolist() == [
        [0, 0],
        pytest.approx([0.3, 1.0]),
        pytest.approx([1e-18, 0]),
    ]


def test_rows_of_a_gemm_that_its_bias_outweighs_become_zero(context: Context):
    module = parsed(
        context,
        """func.func @f(%x: tensor<1x2xf32> {onnx.name = "x"}) -> (tensor<1x3xf32> {onnx.name = "y"}) {
             %w = onnx.Constant dense<[[1.0e-7, 1.0, 2.0], [0.0, -1.0, 3.0]]> : tensor<2x3xf32>
             %b = onnx.Constant dense<[-3.0, 0.5, 4.0]> : tensor<3xf32>
             %y = "onnx.Gemm"(%x, %w, %b)
                : (tensor<1x2xf32>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<1x3xf32>
             onnx.Return %y : tensor<1x3xf32> }""",
    )
    quantize(module, {"x": Range(0, 10), "y": Range(-4, 4)}, DisposablePool.of(context))
    (gemm,) = (op for op in module.walk() if isinstance(op, GemmOp))
    assert held(gemm.B).tolist() == [[0, 1, 2], [0, -1, 3]]


def test_the_middle_of_scores_becomes_zero(context: Context):
    module = parsed(
        context,
        """func.func @f(%x: tensor<1x3xf32> {onnx.name = "x"}) -> (tensor<1x2xf32> {onnx.name = "y"}) {
             %w = onnx.Constant dense<1.0> : tensor<3x2xf32>
             %s = "onnx.MatMul"(%x, %w) : (tensor<1x3xf32>, tensor<3x2xf32>) -> tensor<1x2xf32> loc("s")
             %y = "onnx.Softmax"(%s) {axis = -1 : si64} : (tensor<1x2xf32>) -> tensor<1x2xf32>
             onnx.Return %y : tensor<1x2xf32> }""",
    )
    quantize(module, {"x": Range(0, 1), "s": Range(100, 108), "y": Range(0, 1)}, DisposablePool.of(context))
    (moved,) = (op for op in module.walk() if isinstance(op, AddOp))
    assert held(moved.B) == -104.0


@pytest.mark.parametrize(("other", "errors"), [("%x", 2), ("%c", 3)])
def test_sums_take_what_groups_make_unless_a_constant_is_added(other: str, errors: int, context: Context):
    module = parsed(
        context,
        f"""func.func @f(%x: tensor<1x2x1x1xf32> {{onnx.name = "x"}})
               -> (tensor<1x2x1x1xf32> {{onnx.name = "y"}}) {{
             %w = onnx.Constant dense<2.0> : tensor<2x1x1x1xf32>
             %c = onnx.Constant dense<2.0> : tensor<1x2x1x1xf32>
             %none = "onnx.NoValue"() {{value}} : () -> none
             %s = "onnx.Conv"(%x, %w, %none) {{group = 2 : si64}}
                : (tensor<1x2x1x1xf32>, tensor<2x1x1x1xf32>, none) -> tensor<1x2x1x1xf32> loc("s")
             %y = "onnx.Add"(%s, {other})
                : (tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xf32>
             onnx.Return %y : tensor<1x2x1x1xf32> }}""",
    )
    ranges = {"x": Range(-1, 1), "s": Range(-2, 2), "y": Range(-4, 4)}
    quantize(module, ranges, DisposablePool.of(context))
    assert sum(isinstance(op, QuantizeLinearOp) for op in module.walk()) == errors


def test_biases_take_away_what_was_measured(context: Context):
    module = parsed(
        context,
        """func.func @f(%x: tensor<1x1x1x1xf32> {onnx.name = "x"})
               -> (tensor<1x2x1x1xf32> {onnx.name = "y"}) {
             %w = onnx.Constant dense<0.3> : tensor<2x1x1x1xf32>
             %b = onnx.Constant dense<0.5> : tensor<2xf32>
             %y = "onnx.Conv"(%x, %w, %b) : (tensor<1x1x1x1xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>)
                -> tensor<1x2x1x1xf32>
             onnx.Return %y : tensor<1x2x1x1xf32> }""",
    )
    ranges = {"x": Range(0, 40, (20.0,)), "y": Range(-1, 1, bias_corrections=(0.25, -1.0))}
    quantize(module, ranges, DisposablePool.of(context))
    (conv,) = (op for op in module.walk() if isinstance(op, ConvOp))
    assert held(conv.B).tolist() == pytest.approx([0.25, 1.5])


def pairs(module: ModuleOp) -> list[tuple[float, float, str]]:
    """Return scale, zero point and type of each pair in order."""
    return [
        (held(op.y_scale).item(), held(op.y_zero_point).item(), str(element_type(op.y.type)))
        for op in module.walk()
        if isinstance(op, QuantizeLinearOp)
    ]


@pytest.mark.parametrize(
    ("least", "largest", "expected"),
    [
        (-1.0, 1.0, (1 / 127, 0, "i8")),
        (-0.9, 1.0, (1 / 127, 0, "i8")),
        (-0.375, 4.725, (0.02, 19, "ui8")),
        (-5.1, 0.0, (0.02, 255, "ui8")),
        (0.0, 5.1, (0.02, 0, "ui8")),
        (2.0, 5.1, (0.02, 0, "ui8")),
    ],
)
def test_zero_points_cover_ranges_that_are_not_symmetric(
    least: float, largest: float, expected: tuple[float, int, str], context: Context
):
    module = parsed(
        context,
        """func.func @f(%x: tensor<1x2xf32> {onnx.name = "x"}) -> (tensor<1x2xf32> {onnx.name = "y"}) {
             %y = "onnx.Neg"(%x) : (tensor<1x2xf32>) -> tensor<1x2xf32>
             onnx.Return %y : tensor<1x2xf32> }""",
    )
    quantize(module, {"x": Range(least, largest), "y": Range(-1, 1)}, DisposablePool.of(context))
    (scale, zero, name), _ = pairs(module)
    assert (pytest.approx(scale), zero, name) == expected


@pytest.mark.parametrize(
    ("gate", "expected"),
    [("1x2x1x1", ["ui8", "i8", "ui8"]), ("1x2x2x2", ["i8", "i8", "ui8"])],
    ids=["per channel", "of the same size"],
)
def test_of_two_factors_only_the_larger_has_a_zero_point(gate: str, expected: list[str], context: Context):
    module = parsed(
        context,
        f"""func.func @f(%x: tensor<1x2x2x2xf32> {{onnx.name = "x"}},
                         %g: tensor<{gate}xf32> {{onnx.name = "g"}})
               -> (tensor<1x2x2x2xf32> {{onnx.name = "y"}}) {{
             %y = "onnx.Mul"(%x, %g) : (tensor<1x2x2x2xf32>, tensor<{gate}xf32>) -> tensor<1x2x2x2xf32>
             onnx.Return %y : tensor<1x2x2x2xf32> }}""",
    )
    quantize(module, {name: Range(-0.375, 5.0) for name in "xgy"}, DisposablePool.of(context))
    # The pairs of arguments are put at the start, the last one first.
    assert sorted(name for _, _, name in pairs(module)) == sorted(expected)
    largest = next(op for op in module.walk() if isinstance(op, MulOp)).A
    assert isinstance(largest, OpResult)
    assert isinstance(largest.op, DequantizeLinearOp)
    assert str(element_type(largest.op.x.type)) == expected[0]


@pytest.mark.parametrize("constant", ["tensor<f32>", "tensor<1x2x1x1xf32>"])
def test_factors_of_constants_have_zero_points(constant: str, context: Context):
    module = parsed(
        context,
        f"""func.func @f(%x: tensor<1x2x2x2xf32> {{onnx.name = "x"}})
               -> (tensor<1x2x2x2xf32> {{onnx.name = "y"}}) {{
             %c = onnx.Constant dense<2.0> : {constant}
             %y = "onnx.Mul"(%c, %x) : ({constant}, tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
             onnx.Return %y : tensor<1x2x2x2xf32> }}""",
    )
    quantize(module, {"x": Range(-1, 4.1), "y": Range(-1, 1)}, DisposablePool.of(context))
    assert [name for _, _, name in pairs(module)] == ["ui8", "i8"]


def test_integers_before_an_activation_cover_where_it_varies(context: Context):
    """Hard swish is 0 below -3, whatever its operand; its product is a table and takes a zero point."""
    shape = "tensor<1x2x2x2xf32>"
    module = parsed(
        context,
        f"""func.func @f(%x: {shape} {{onnx.name = "x"}}) -> ({shape} {{onnx.name = "y"}}) {{
             %h = "onnx.HardSigmoid"(%x) {{alpha = 0.16666667 : f32, beta = 0.5 : f32}} : ({shape}) -> {shape}
             %y = "onnx.Mul"(%x, %h) : ({shape}, {shape}) -> {shape}
             onnx.Return %y : {shape} }}""",
    )
    quantize(module, {"x": Range(-20, 5), "y": Range(-0.375, 5)}, DisposablePool.of(context))
    assert pairs(module) == [
        (pytest.approx(8 / 255, rel=0.01), pytest.approx(96, abs=1), "ui8"),
        (pytest.approx(5.375 / 255), 18, "ui8"),
    ]


@pytest.mark.parametrize(
    ("last", "least", "largest", "score"),
    [
        ('%y = "onnx.Transpose"(%s) : ({0}) -> {0}', -6.1, 6.1, 1.0),
        ('%y = "onnx.Mul"(%s, %c) : ({0}, {0}) -> {0}', -5.0, 1.0, 0.5),
    ],
    ids=["scores", "gates"],
)
def test_samples_may_lack_scores(last: str, least: float, largest: float, score: float, context: Context):
    """The scores of the network are of objects that samples may not show; gates are as samples have them."""
    shape = "tensor<2x2xf32>"
    module = parsed(
        context,
        f"""func.func @f(%x: {shape} {{onnx.name = "x"}}, %c: {shape} {{onnx.name = "c"}})
               -> ({shape} {{onnx.name = "y"}}) {{
             %s = "onnx.Sigmoid"(%x) {{onnx.name = "s"}} : ({shape}) -> {shape} loc("s")
             {last.format(shape)}
             onnx.Return %y : {shape} }}""",
    )
    name_values(module)
    (name,) = (output_names(op)[0] for op in module.walk() if isinstance(op, SigmoidOp))
    ranges = {"x": Range(-5, 1), "c": Range(0, 2), "y": Range(0, 0.5), name: Range(0, 0.5)}
    quantize(module, ranges, DisposablePool.of(context))
    (logits, of_score) = (
        op.operands[0].owner for op in module.walk() if isinstance(op, SigmoidOp | TransposeOp | MulOp)
    )
    loads = [op for op in (logits, of_score) if isinstance(op, DequantizeLinearOp)]
    found = [pair.numbers for op in loads if (pair := pair_of(op)) is not None]
    assert [found[0][0], found[0][-1], found[1][-1]] == pytest.approx([least, largest, score], abs=0.1)
