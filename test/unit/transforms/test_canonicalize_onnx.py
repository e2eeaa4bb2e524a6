"""Canonicalisations that the shared test of all rules has no instances of, and where they must not apply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import prod

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import Func, FuncOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx import get_onnx
from xonnc.dialects.onnx.assembly import OnnxParser
from xonnc.dialects.onnx.ops.extra import ShapeTransformOp
from xonnc.dialects.onnx.types import static_shape
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.onnx_shape_inference import infer_results
from xonnc.fuzzing.rules.instances import evaluator
from xonnc.rewriting.driver import apply_rules
from xonnc.rewriting.patterns import Array
from xonnc.rewriting.rules import RuleSet
from xonnc.transforms.canonicalize_onnx import all_rules
from xonnc.transforms.onnx_package_hooks import use_inference
from xonnc.transforms.rules import fuse_elementwise
from xonnc.transforms.shape_inference_onnx import infer_shapes

use_inference(infer_results)

ENTRY = '\n"onnx.EntryPoint"() <{func = @main_graph}> : () -> ()'


def module(text: str) -> tuple[Context, ModuleOp]:
    context = Context()
    for dialect in (Builtin, Func, get_onnx()):
        context.load_dialect(dialect)
    return context, OnnxParser(context, text + ENTRY).parse_module()


def rewritten(text: str, *names: str) -> tuple[ModuleOp, int]:
    """The module after the rules named, and how often they fired."""
    context, made = module(text)
    known = {**all_rules().rules, **fuse_elementwise.RULES.rules}
    alone = RuleSet({name: known[name] for name in names})
    fired = apply_rules(made, context, alone, pass_name="test").fired.total()
    infer_shapes(made)
    made.verify()
    return made, fired


def ops(made: ModuleOp) -> list[Operation]:
    function = made.body.block.first_op
    assert isinstance(function, FuncOp)
    return list(function.body.block.ops)


def run(made: ModuleOp, feeds: Mapping[str, Array], by_onnxruntime: bool = False) -> list[Array]:
    if by_onnxruntime:
        made.attributes["onnx.opset_imports"] = DictionaryAttr({"": IntegerAttr(13, i64)})
    results = evaluator(export_proto(made), by_onnxruntime).run(None, feeds)
    return [np.asarray(result) for result in results]


LOOP = """
func.func @main_graph(%x: tensor<2xf32> {{onnx.name = "x"}}, %go: tensor<i1> {{onnx.name = "go"}})
    -> (tensor<{type}>, tensor<2xf32>, tensor<?x2xf32>) {{
  %most = onnx.Constant dense<{most}> : tensor<i64>
  %start = onnx.Constant dense<{start}> : tensor<{type}>
  %step = onnx.Constant dense<{step}> : tensor<{type}>
  %limit = onnx.Constant dense<{limit}> : tensor<{type}>
  %r:4 = "onnx.Loop"(%most, %go, %start, %limit, %x) ({{
  ^bb0(%i: tensor<i64>, %cond: tensor<i1>, %n: tensor<{type}>, %end: tensor<{type}>, %sum: tensor<2xf32>):
    %next = "onnx.Add"(%n, %step) : (tensor<{type}>, tensor<{type}>) -> tensor<{type}>
    %again = "onnx.Less"(%next, %{bound}) : (tensor<{type}>, tensor<{type}>) -> tensor<i1>
    %more = "onnx.Add"(%sum, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    onnx.Yield %again, %next, %end, %more, %sum
      : tensor<i1>, tensor<{type}>, tensor<{type}>, tensor<2xf32>, tensor<2xf32>
  }}) : (tensor<i64>, tensor<i1>, tensor<{type}>, tensor<{type}>, tensor<2xf32>)
    -> (tensor<{type}>, tensor<{type}>, tensor<2xf32>, tensor<?x2xf32>)
  onnx.Return %r#0, %r#2, %r#3 : tensor<{type}>, tensor<2xf32>, tensor<?x2xf32>
}}"""


@pytest.mark.parametrize("bound", ["limit", "end"])
@pytest.mark.parametrize(
    ("start", "step", "limit", "most", "trip_count"),
    [
        (0, 1, 4, 100, 4),
        (0, 3, 10, 100, 4),
        (-5, 2, 0, 100, 3),
        (0, 1, 9, 5, 5),
        (7, 1, 3, 100, 1),
        (3, 1, 3, 100, 1),
        (0, 1, 9, 0, 0),
    ],
)
def test_counted_loop(bound: str, start: int, step: int, limit: int, most: int, trip_count: int) -> None:
    text = LOOP.format(type="i32", start=start, step=step, limit=limit, most=most, bound=bound)
    made, fired = rewritten(text, "LoopOpRewriteMaxTripCountPattern")
    assert fired == 1
    x = np.array([1.5, -np.inf], np.float32)
    for go in (True, False):
        feeds = {"x": x, "go": np.array(go)}
        # The reference cannot do loops without iterations.
        before, after = run(module(text)[1], feeds, True), run(made, feeds, True)
        for old, new in zip(before, after, strict=True):
            np.testing.assert_array_equal(new, old)
        assert len(after[2]) == (trip_count if go else 0)


@pytest.mark.parametrize(
    ("start", "step", "limit", "type_"),
    [(0, -1, 5, "i32"), (0, 0, 5, "i64"), (100, 20, 127, "i8"), (0, 1, 5, "f32")],
)
def test_loop_that_is_not_counted(start: int, step: int, limit: int, type_: str) -> None:
    text = LOOP.format(type=type_, start=start, step=step, limit=limit, most=9, bound="end")
    assert rewritten(text, "LoopOpRewriteMaxTripCountPattern")[1] == 0


FLOAT_LOOP = """
func.func @main_graph(%x: tensor<2xf32> {{onnx.name = "x"}}, %go: tensor<i1> {{onnx.name = "go"}})
    -> (tensor<i32>, tensor<2xf32>) {{
  %most = "onnx.NoValue"() <{{value}}> : () -> none
  %start = onnx.Constant dense<{start}> : tensor<i32>
  %step = onnx.Constant dense<1> : tensor<i32>
  %limit = onnx.Constant dense<{limit}> : tensor<i32>
  %float_limit = onnx.Constant dense<{float_limit}> : tensor<{type}>
  %r:3 = "onnx.Loop"(%most, %go, %start, %limit, %x) ({{
  ^bb0(%i: tensor<i64>, %cond: tensor<i1>, %n: tensor<i32>, %end: tensor<i32>, %sum: tensor<2xf32>):
    %next = "onnx.Add"(%n, %step) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %float_next = "onnx.Cast"(%next) <{{to = {type}}}> : (tensor<i32>) -> tensor<{type}>
    %float_end = "onnx.Cast"(%end) <{{to = {type}}}> : (tensor<i32>) -> tensor<{type}>
    %again = "onnx.Less"(%float_next, %{bound}) : (tensor<{type}>, tensor<{type}>) -> tensor<i1>
    %more = "onnx.Add"(%sum, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    onnx.Yield %again, %next, %end, %more : tensor<i1>, tensor<i32>, tensor<i32>, tensor<2xf32>
  }}) : (none, tensor<i1>, tensor<i32>, tensor<i32>, tensor<2xf32>)
    -> (tensor<i32>, tensor<i32>, tensor<2xf32>)
  onnx.Return %r#0, %r#2 : tensor<i32>, tensor<2xf32>
}}"""


@pytest.mark.parametrize(
    ("bound", "start", "limit", "float_limit", "type_", "trip_count"),
    [
        ("float_end", 0, 4, 9.0, "f32", 4),
        ("float_limit", 0, 9, 4.0, "f32", 4),
        ("float_limit", -3, 9, -2.0, "f32", 1),
        ("float_end", (1 << 24) - 3, 1 << 24, 9.0, "f32", 3),
        ("float_end", 1 << 24, (1 << 24) + 3, 9.0, "f64", 3),
    ],
)
def test_loop_that_counts_in_floats(
    bound: str, start: int, limit: int, float_limit: float, type_: str, trip_count: int
) -> None:
    text = FLOAT_LOOP.format(bound=bound, start=start, limit=limit, float_limit=float_limit, type=type_)
    made, fired = rewritten(text, "LoopOpRewriteMaxTripCountPattern")
    assert fired == 1
    for go in (True, False):
        feeds = {"x": np.array([1.5, -2], np.float32), "go": np.array(go)}
        before, after = run(module(text)[1], feeds, True), run(made, feeds, True)
        for old, new in zip(before, after, strict=True):
            np.testing.assert_array_equal(new, old)
        assert after[0] == start + (trip_count if go else 0)


@pytest.mark.parametrize(
    ("bound", "start", "limit", "float_limit", "type_"),
    [
        # 2^24 + 1 is 2^24 in float32: the loop ends an iteration later than in integers.
        ("float_end", (1 << 24) - 1, (1 << 24) + 1, 9.0, "f32"),
        ("float_end", 2047, 2050, 9.0, "f16"),
        ("float_limit", -(1 << 24) - 3, 9, -16777217.0, "f32"),
        ("float_limit", 0, 9, 4.5, "f32"),
        ("float_limit", 0, 9, "0x7FC00000", "f32"),
        ("float_limit", 0, 9, "0x7F800000", "f32"),
    ],
)
def test_loop_whose_comparison_rounds_is_not_counted(
    bound: str, start: int, limit: int, float_limit: float | str, type_: str
) -> None:
    text = FLOAT_LOOP.format(bound=bound, start=start, limit=limit, float_limit=float_limit, type=type_)
    assert rewritten(text, "LoopOpRewriteMaxTripCountPattern")[1] == 0


INVARIANT = """
func.func @main_graph(
  %x: tensor<2x3xf32> {onnx.name = "x"}, %w: tensor<3x3xf32> {onnx.name = "w"},
  %trips: tensor<i64> {onnx.name = "trips"}
) -> (tensor<2x3xf32>, tensor<3x3xf32>, tensor<?x3xf32>, tensor<3xf32>) {
  %n = "onnx.NoValue"() <{value}> : () -> none
  %b = onnx.Constant dense<[1.0, -2.0, 0.5]> : tensor<3xf32>
  %r:4 = "onnx.Loop"(%trips, %n, %w, %x, %b) ({
  ^bb0(%i: tensor<i64>, %cond: tensor<i1>, %v: tensor<3x3xf32>, %h: tensor<2x3xf32>, %c: tensor<3xf32>):
    %0 = "onnx.MatMul"(%h, %v) : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    %1 = "onnx.Add"(%0, %c) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    onnx.Yield %cond, %v, %1, %c, %c
      : tensor<i1>, tensor<3x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>
  }) : (tensor<i64>, none, tensor<3x3xf32>, tensor<2x3xf32>, tensor<3xf32>)
    -> (tensor<3x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<?x3xf32>)
  onnx.Return %r#1, %r#0, %r#3, %r#2 : tensor<2x3xf32>, tensor<3x3xf32>, tensor<?x3xf32>, tensor<3xf32>
}"""


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_values_that_a_loop_passes_on(trips: int) -> None:
    made, fired = rewritten(INVARIANT, "LoopInvariantCarriedValuePattern")
    assert fired == 1
    (loop,) = (op for op in ops(made) if op.name == "onnx.Loop")
    # The number of iterations, the condition, and the value that changes.
    assert len(loop.operands) == 3
    assert len(loop.results) == 2
    random = np.random.default_rng(0)
    feeds: dict[str, Array] = {
        "x": random.normal(size=(2, 3)).astype(np.float32),
        "w": random.normal(size=(3, 3)).astype(np.float32),
        "trips": np.array(trips),
    }
    before, after = run(module(INVARIANT)[1], feeds, True), run(made, feeds, True)
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(new, old)


def test_values_that_change_places_stay_carried() -> None:
    text = """
func.func @main_graph(%x: tensor<2xf32> {onnx.name = "x"}, %trips: tensor<i64> {onnx.name = "trips"})
    -> (tensor<2xf32>, tensor<2xf32>) {
  %n = "onnx.NoValue"() <{value}> : () -> none
  %y = "onnx.Neg"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %r:2 = "onnx.Loop"(%trips, %n, %x, %y) ({
  ^bb0(%i: tensor<i64>, %cond: tensor<i1>, %a: tensor<2xf32>, %b: tensor<2xf32>):
    onnx.Yield %cond, %b, %a : tensor<i1>, tensor<2xf32>, tensor<2xf32>
  }) : (tensor<i64>, none, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  onnx.Return %r#0, %r#1 : tensor<2xf32>, tensor<2xf32>
}"""
    assert rewritten(text, "LoopInvariantCarriedValuePattern")[1] == 0


def test_a_loop_without_invariants_keeps_names_of_its_results() -> None:
    """Export gives the results that are left the names that they had."""
    text = INVARIANT.replace(
        "(tensor<3x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<?x3xf32>)\n  onnx.Return",
        "(tensor<3x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<?x3xf32>)"
        ' loc(fused<["weights", "state", "bias", "rows"]>["loop"])\n  onnx.Return',
    )
    made, _ = rewritten(text, "LoopInvariantCarriedValuePattern")
    (loop,) = (node for node in export_proto(made).graph.node if node.op_type == "Loop")
    assert (loop.name, list(loop.output)) == ("loop", ["state", "rows"])


ALIGNED = """
func.func @main_graph(
  %a: tensor<2x3x4x5x{type}> {{onnx.name = "a"}}, %b: tensor<{b}x{type}> {{onnx.name = "b"}}
) -> tensor<2x3x4x5x{made}> {{
  %0 = "onnx.{name}"(%a, %b) {{axis = {axis} : si64, broadcast = 1 : si64}}
    : (tensor<2x3x4x5x{type}>, tensor<{b}x{type}>) -> tensor<2x3x4x5x{made}>
  onnx.Return %0 : tensor<2x3x4x5x{made}>
}}"""

FUNCTIONS = {
    "Add": np.add,
    "Div": np.divide,
    "Equal": np.equal,
    "Greater": np.greater,
    "Less": np.less,
    "Mul": np.multiply,
    "Pow": np.power,
    "Sub": np.subtract,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Xor": np.logical_xor,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("b", "axis"), [((3, 4), 1), ((2,), 0), ((5,), 3), ((4, 5), 2)])
def test_operands_aligned_by_an_axis(name: str, b: tuple[int, ...], axis: int) -> None:
    logical = name in ("And", "Or", "Xor")
    made = "i1" if logical or name in ("Equal", "Greater", "Less") else "f32"
    type_ = "i1" if logical else "f32"
    text = ALIGNED.format(name=name, b="x".join(map(str, b)), axis=axis, type=type_, made=made)
    result, fired = rewritten(text, f"BinaryOpBroadcastAxisPattern{name}")
    assert fired == 1
    random = np.random.default_rng(axis)
    shapes = {"a": (2, 3, 4, 5), "b": b}
    feeds = {key: np.abs(random.normal(size=shape)).astype(np.float32) for key, shape in shapes.items()}
    if logical:
        feeds = {key: array < 0.5 for key, array in feeds.items()}
    wide = feeds["b"].reshape(b + (1,) * (4 - axis - len(b)))
    np.testing.assert_allclose(run(result, feeds)[0], FUNCTIONS[name](feeds["a"], wide), rtol=1e-5)


def test_operands_without_both_attributes_must_broadcast() -> None:
    text = ALIGNED.format(name="Add", b="3", axis=1, type="f32", made="f32").replace("broadcast", "other")
    with pytest.raises(VerifyException, match="Broadcast op with incompatible shapes: 2x3x4x5, 3"):
        module(text)[1].verify()


@pytest.mark.parametrize(("b", "axis"), [("3x4", 3), ("3", 5), ("3", -1)])
def test_operands_that_no_axis_aligns(b: str, axis: int) -> None:
    text = ALIGNED.format(name="Add", b=b, axis=axis, type="f32", made="f32")
    context, made = module(text)
    alone = RuleSet({"a": all_rules()["BinaryOpBroadcastAxisPatternAdd"]})
    assert not apply_rules(made, context, alone, pass_name="test").changed


NORM = """
func.func @main_graph(%x: tensor<2x4xf32>, %s: tensor<4xf32>, %b: tensor<{b}xf32>) -> ({made}) {{
  %none = "onnx.NoValue"() <{{value}}> : () -> none
  %0:{count} = "onnx.{name}"(%x, %s, %none) <{{axis = -1 : si64, epsilon = 2.0 : f32, stash_type = 1 : si64}}>
    : (tensor<2x4xf32>, tensor<4xf32>, none) -> ({types})
  %1 = "onnx.Add"({operands}) : ({added}) -> tensor<2x4xf32>
  onnx.Return {returned} : {made}
}}"""


@pytest.mark.parametrize("name", ["LayerNormalization", "RMSLayerNormalization"])
@pytest.mark.parametrize("swapped", [False, True])
def test_bias_goes_into_norm(name: str, swapped: bool) -> None:
    more = ["none"] * (2 if name == "LayerNormalization" else 1)
    types = ["tensor<2x4xf32>", "tensor<4xf32>"]
    text = NORM.format(
        name=name,
        b=4,
        count=1 + len(more),
        types=", ".join(["tensor<2x4xf32>", *more]),
        operands="%b, %0#0" if swapped else "%0#0, %b",
        added=", ".join(reversed(types) if swapped else types),
        made="tensor<2x4xf32>",
        returned="%1",
    )
    rule = f"PropagateBiasIntoLayerNormRewritePattern{name}{'Rhs' if swapped else ''}"
    made, fired = rewritten(text, rule)
    assert fired == 1
    norm = next(op for op in ops(made) if op.name == f"onnx.{name}")
    function = made.body.block.first_op
    assert isinstance(function, FuncOp)
    assert list(norm.operands) == list(function.args)
    assert not any(op.name == "onnx.Add" for op in ops(made))


def test_bias_stays_if_another_result_is_read() -> None:
    text = NORM.format(
        name="LayerNormalization",
        b=4,
        count=3,
        types="tensor<2x4xf32>, tensor<2x1xf32>, none",
        operands="%0#0, %b",
        added="tensor<2x4xf32>, tensor<4xf32>",
        made="tensor<2x4xf32>, tensor<2x1xf32>",
        returned="%1, %0#1",
    )
    assert rewritten(text, "PropagateBiasIntoLayerNormRewritePatternLayerNormalization")[1] == 0


MAPS = """
func.func @main_graph(%x: tensor<4x6xf32>) -> tensor<{last}xf32> {{
  %0 = "onnx.ShapeTransform"(%x) <{{index_map = affine_map<{first}>}}>
    : (tensor<4x6xf32>) -> tensor<{middle}xf32>
  %1 = "onnx.ShapeTransform"(%0) <{{index_map = affine_map<{second}>}}>
    : (tensor<{middle}xf32>) -> tensor<{last}xf32>
  onnx.Return %1 : tensor<{last}xf32>
}}"""


def moved(data: Array, transform: ShapeTransformOp) -> Array:
    shape = static_shape(transform.results[0].type)
    assert shape is not None
    result = np.zeros(prod(shape)).reshape(shape)
    for index in np.ndindex(*data.shape):
        result[tuple(transform.index_map.data.eval(list(index), []))] = data[index]
    return result


@pytest.mark.parametrize(
    ("first", "middle", "second", "last"),
    [
        ("(i, j) -> (j, i)", "6x4", "(i, j) -> (i * 4 + j)", "24"),
        ("(i, j) -> (i * 6 + j)", "24", "(i) -> (i floordiv 8, i mod 8)", "3x8"),
        ("(i, j) -> (i, j floordiv 2, j mod 2)", "4x3x2", "(i, j, k) -> (k, i, j)", "2x4x3"),
    ],
)
def test_maps_compose(first: str, middle: str, second: str, last: str) -> None:
    text = MAPS.format(first=first, middle=middle, second=second, last=last)
    both = [op for op in ops(module(text)[1]) if isinstance(op, ShapeTransformOp)]
    made, fired = rewritten(text, "ShapeTransformComposePattern")
    one = [op for op in ops(made) if isinstance(op, ShapeTransformOp)]
    assert (fired, len(both), len(one)) == (1, 2, 1)
    data = np.arange(24.0).reshape(4, 6)
    np.testing.assert_array_equal(moved(data, one[0]), moved(moved(data, both[0]), both[1]))


def test_map_to_the_same_place_goes() -> None:
    same = "(i, j) -> (i, j)"
    text = MAPS.format(first=same, middle="4x6", second=same, last="4x6")
    made, fired = rewritten(text, "ShapeTransformIdentityPattern")
    assert fired == 2
    assert [op.name for op in ops(made)] == ["onnx.Return"]


REFUSED = {
    # A cast that makes two numbers one.
    "LessOpSameCastPattern": [
        f"""
func.func @main_graph(%a: tensor<2x{narrow}>, %b: tensor<2x{narrow}>) -> tensor<2xi1> {{
  %0 = "onnx.Cast"(%a) <{{saturate = 1 : si64, to = {wide}}}> : (tensor<2x{narrow}>) -> tensor<2x{wide}>
  %1 = "onnx.Cast"(%b) <{{saturate = 1 : si64, to = {wide}}}> : (tensor<2x{narrow}>) -> tensor<2x{wide}>
  %2 = "onnx.Less"(%0, %1) : (tensor<2x{wide}>, tensor<2x{wide}>) -> tensor<2xi1>
  onnx.Return %2 : tensor<2xi1>
}}"""
        for narrow, wide in (
            ("i32", "f32"),
            ("i64", "f64"),
            ("f32", "i32"),
            ("f32", "f16"),
            ("i32", "i8"),
            ("ui32", "i32"),
        )
    ],
    # The size may be -1 or, if it is 0, another one.
    "DimOpFromReshapeInputPattern": [
        """
func.func @main_graph(%x: tensor<?x6xf32>, %n: tensor<1xi64>) -> tensor<1xi64> {
  %s = "onnx.Concat"(%n, %n) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %0 = "onnx.Reshape"(%x, %s) <{allowzero = 0 : si64}> : (tensor<?x6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %1 = "onnx.Dim"(%0) <{axis = 0 : si64}> : (tensor<?x?xf32>) -> tensor<1xi64>
  onnx.Return %1 : tensor<1xi64>
}"""
    ],
    # The size in the second place is that of the first axis, which may be 0 and thus copied from another.
    "FuseTwoReshapesPattern": [
        """
func.func @main_graph(%x: tensor<?x6xf32>) -> tensor<3x?x2xf32> {
  %d = "onnx.Dim"(%x) <{axis = 0 : si64}> : (tensor<?x6xf32>) -> tensor<1xi64>
  %3 = onnx.Constant dense<3> : tensor<1xi64>
  %2 = onnx.Constant dense<2> : tensor<1xi64>
  %s = "onnx.Concat"(%d, %3, %2) <{axis = 0 : si64}>
    : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
  %t = "onnx.Concat"(%3, %d, %2) <{axis = 0 : si64}>
    : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
  %0 = "onnx.Reshape"(%x, %s) <{allowzero = 0 : si64}> : (tensor<?x6xf32>, tensor<3xi64>) -> tensor<?x3x2xf32>
  %1 = "onnx.Reshape"(%0, %t) <{allowzero = 0 : si64}>
    : (tensor<?x3x2xf32>, tensor<3xi64>) -> tensor<3x?x2xf32>
  onnx.Return %1 : tensor<3x?x2xf32>
}"""
    ],
    # A size that is not constant may be 0; what is compared is not what is kept.
    "RemoveWhereEqualPattern": [
        """
func.func @main_graph(%x: tensor<?x6xf32>) -> tensor<2xi64> {
  %d = "onnx.Dim"(%x) <{axis = 0 : si64}> : (tensor<?x6xf32>) -> tensor<1xi64>
  %n = onnx.Constant dense<0> : tensor<2xi64>
  %k = onnx.Constant dense<7> : tensor<2xi64>
  %s = "onnx.Concat"(%d, %d) <{axis = 0 : si64}> : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %0 = "onnx.Equal"(%s, %n) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  %1 = "onnx.Where"(%0, %k, %s) : (tensor<2xi1>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  onnx.Return %1 : tensor<2xi64>
}"""
    ],
    # One sequence of the batch is shorter than the data.
    "RNNOpRewriteSeqLenPatternRNN": [
        """
func.func @main_graph(%x: tensor<5x1x2xf32>, %w: tensor<1x4x2xf32>, %r: tensor<1x4x4xf32>)
    -> tensor<5x1x1x4xf32> {
  %none = "onnx.NoValue"() <{value}> : () -> none
  %n = onnx.Constant dense<3> : tensor<1xi32>
  %0, %1 = "onnx.RNN"(%x, %w, %r, %none, %n, %none) <{hidden_size = 4 : si64}>
    : (tensor<5x1x2xf32>, tensor<1x4x2xf32>, tensor<1x4x4xf32>, none, tensor<1xi32>, none)
    -> (tensor<5x1x1x4xf32>, none)
  onnx.Return %0 : tensor<5x1x1x4xf32>
}"""
    ],
    # Half of what the split gives is read by something else.
    "PullOpThroughSplitPatternRelu": [
        """
func.func @main_graph(%x: tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %n = onnx.Constant dense<2> : tensor<2xi64>
  %0:2 = "onnx.Split"(%x, %n) <{axis = 1 : si64}>
    : (tensor<2x4xf32>, tensor<2xi64>) -> (tensor<2x2xf32>, tensor<2x2xf32>)
  %1 = "onnx.Relu"(%0#0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  onnx.Return %1, %0#1 : tensor<2x2xf32>, tensor<2x2xf32>
}"""
    ],
    # Layer normalisations compute in single precision.
    "RemoveInstanceNormPattern": [
        """
func.func @main_graph(%x: tensor<1x2x4xf64>, %s: tensor<2xf64>) -> tensor<1x2x4xf64> {
  %0 = "onnx.InstanceNormalization"(%x, %s, %s)
    : (tensor<1x2x4xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<1x2x4xf64>
  onnx.Return %0 : tensor<1x2x4xf64>
}"""
    ],
    # 1/0 and infinity would meet the zeros of the weights.
    "PropagateConstantScalingInAttentionLayerPatternDiv": [
        f"""
func.func @main_graph(%x: tensor<2x3xf32>, %y: tensor<4x2xf32>) -> tensor<2x2xf32> {{
  %none = "onnx.NoValue"() <{{value}}> : () -> none
  %w = onnx.Constant dense<0.5> : tensor<3x4xf32>
  %c = onnx.Constant dense<{factor}> : tensor<f32>
  %0 = "onnx.Gemm"(%x, %w, %none) : (tensor<2x3xf32>, tensor<3x4xf32>, none) -> tensor<2x4xf32>
  %1 = "onnx.MatMul"(%0, %y) : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  %2 = "onnx.Div"(%1, %c) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  onnx.Return %2 : tensor<2x2xf32>
}}"""
        for factor in ("0.0", "0x7F800000")
    ],
}


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in REFUSED.items() for text in texts]
)
def test_unsound_cases_stay(name: str, text: str) -> None:
    context, made = module(text)
    alone = RuleSet({name: all_rules()[name]})
    assert not apply_rules(made, context, alone, pass_name="test").changed


@pytest.mark.parametrize(
    ("name", "inner"),
    [
        (
            "KeepReducedAxes",
            '"onnx.ReduceSum"(%x, %a) {keepdims = 0 : si64, noop_with_empty_axes = 0 : si64}',
        ),
        ("RemoveUnsqueezeSqueezePattern", '"onnx.Squeeze"(%x, %a)'),
    ],
)
@pytest.mark.parametrize("size", [1, 2])
def test_axes_of_unsqueeze_count_in_its_result(name: str, inner: str, size: int):
    """[0, -1] are two axes of a result of rank 2, and would be one axis of rank 1."""

    def text(removed: Sequence[int], added: Sequence[int]) -> str:
        sizes = "x".join(["1"] * size)
        left = "x".join([*["1"] * (size - len(removed)), "f32"])
        made = "x".join([*["1"] * (size - len(removed) + len(added)), "f32"])
        return f"""func.func @main_graph(%x: tensor<{sizes}xf32>) -> tensor<{made}> {{
          %a = onnx.Constant dense<{list(removed)}> : tensor<{len(removed)}xi64>
          %b = onnx.Constant dense<{list(added)}> : tensor<{len(added)}xi64>
          %r = {inner} : (tensor<{sizes}xf32>, tensor<{len(removed)}xi64>) -> tensor<{left}>
          %y = "onnx.Unsqueeze"(%r, %b) : (tensor<{left}>, tensor<{len(added)}xi64>) -> tensor<{made}>
          onnx.Return %y : tensor<{made}> }}"""

    for removed in (axes for count in range(1, size + 1) for axes in combinations(range(size), count)):
        for count in (1, 2, 3):
            larger = size - len(removed) + count
            for added in combinations(range(-larger, larger), count):
                if len({axis % larger for axis in added}) < count:
                    continue
                _, fired = rewritten(text(removed, added), name)
                assert fired == (sorted(axis % larger for axis in added) == list(removed)), (removed, added)
