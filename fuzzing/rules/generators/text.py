"""Generators of instances that patterns cannot express: control flow, several uses, layouts, affine maps."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import AffineMapAttr, StringAttr, TensorType, f32
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineExpr, AffineMap

from xonnc.dialects.onnx.layout import LayoutAttr
from xonnc.dialects.onnx.types import element_type_of, tensor_type
from xonnc.fuzzing.rules.draws import Draw, Generator, Shape
from xonnc.fuzzing.rules.instances import Example
from xonnc.fuzzing.rules.texts import Text
from xonnc.fuzzing.rules.values import Kind
from xonnc.rewriting.onnx import LayoutTransform, ShapeTransform
from xonnc.rewriting.patterns import AnyValue, Node, value

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

INVARIANT_LOOP = """
func.func @main_graph(
  %x: tensor<{shape}{type}> {{onnx.name = "x"}}, %w: tensor<{shape}{type}> {{onnx.name = "w"}}
) -> (tensor<{shape}{type}>, tensor<{shape}{type}>, tensor<?x{shape}{type}>) {{
  %most = onnx.Constant dense<{most}> : tensor<i64>
  %n = "onnx.NoValue"() <{{value}}> : () -> none
  %r:3 = "onnx.Loop"(%most, %n, %{first}, %{second}) ({{
  ^bb0(%i: tensor<i64>, %cond: tensor<i1>, %a: tensor<{shape}{type}>, %b: tensor<{shape}{type}>):
    %0 = "onnx.{name}"(%a, %b) : (tensor<{shape}{type}>, tensor<{shape}{type}>) -> tensor<{shape}{type}>
    onnx.Yield %cond, {given}, %{row}
      : tensor<i1>, tensor<{shape}{type}>, tensor<{shape}{type}>, tensor<{shape}{type}>
  }}) : (tensor<i64>, none, tensor<{shape}{type}>, tensor<{shape}{type}>)
    -> (tensor<{shape}{type}>, tensor<{shape}{type}>, tensor<?x{shape}{type}>)
  onnx.Return %r#0, %r#1, %r#2 : tensor<{shape}{type}>, tensor<{shape}{type}>, tensor<?x{shape}{type}>
}}"""

IF = """
func.func @main_graph(%x: {type} {{onnx.name = "x"}}) -> {type} {{
  %0 = onnx.Constant dense<{condition}> : tensor<i1>
  %1 = "onnx.If"(%0) ({{
    %2 = "onnx.{first}"(%x, %x) : ({type}, {type}) -> {type}
    %3 = "onnx.{second}"(%2, %x) : ({type}, {type}) -> {type}
    onnx.Yield %3 : {type}
  }}, {{
    %2 = "onnx.{second}"(%x, %x) : ({type}, {type}) -> {type}
    onnx.Yield %2 : {type}
  }}) : (tensor<i1>) -> {type}
  %4 = "onnx.{first}"(%1, %x) : ({type}, {type}) -> {type}
  onnx.Return %4 : {type}
}}"""

CONCAT = """
func.func @main_graph(%a: {a} {{onnx.name = "a"}}, %b: {b} {{onnx.name = "b"}}) -> ({shape}, {transposed}) {{
  %0 = "onnx.Concat"(%a, %b) <{{axis = {axis} : si64}}> : ({a}, {b}) -> {whole}
  %1 = "onnx.Shape"(%0) <{{start = {start} : si64}}> : ({whole}) -> {shape}
  %2 = "onnx.Transpose"(%0) <{{perm = {perm}}}> : ({whole}) -> {transposed}
  onnx.Return %1, %2 : {shape}, {transposed}
}}"""


def loop(draw: Draw) -> Text:
    """A loop that runs to its trip count, or stops before; the reference fails for loops of 0 iterations."""
    text = LOOP.format(
        type=element_type_of(draw.dtype),
        most=draw.pick(0, 3, 100),
        start=draw.number_in(-9, 9),
        step=draw.number_in(1, 4),
        limit=draw.number_in(-9, 12),
        bound=draw.pick("limit", "end"),
    )
    x = draw.random.normal(0, 2, 2).astype(np.float32)
    return Text(text, {"x": x, "go": np.array(bool(draw.flag()))}, opset=13)


def invariant_loop(draw: Draw) -> Text:
    """A loop that passes one of its values on, or both; the reference fails for loops of 0 iterations."""
    type_, shape = element_type_of(draw.dtype), draw.shape()
    text = INVARIANT_LOOP.format(
        type=type_,
        shape="".join(f"{size}x" for size in shape),
        most=draw.pick(1, 2, 3),
        first=draw.pick("x", "w"),
        second=draw.pick("x", "w"),
        name=draw.pick("Add", "Sub", "Mul"),
        given=draw.pick("%a, %0", "%0, %b", "%a, %b"),
        row=draw.pick("a", "b", "0"),
    )
    return Text(text, {"x": draw.array(shape, special=True), "w": draw.array(shape)}, opset=14)


def if_known(draw: Draw) -> Text:
    """Branches that use an outer value, and a use of the result."""
    type_ = tensor_type(draw.shape(), element_type_of(draw.dtype))
    text = IF.format(
        type=type_,
        condition=draw.pick("true", "false"),
        first=draw.pick("Add", "Mul"),
        second=draw.pick("Sub", "Add"),
    )
    return Text(text, {"x": draw.array(type_.get_shape(), special=True)})


def read_twice(draw: Draw) -> Text:
    """A Concat whose shape and transpose are used."""
    shape = list(draw.shape(1, empty=False))
    axis, element = draw.axis(len(shape), negative=False), element_type_of(draw.dtype)
    first, second = tuple(shape), (*shape[:axis], draw.size(), *shape[axis + 1 :])
    joined_shape = (*shape[:axis], first[axis] + second[axis], *shape[axis + 1 :])
    perm, start = draw.perm(len(shape)), draw.number_in(0, len(shape))
    text = CONCAT.format(
        a=tensor_type(first, element),
        b=tensor_type(second, element),
        whole=tensor_type(joined_shape, element),
        transposed=tensor_type(tuple(joined_shape[axis] for axis in perm), element),
        shape=f"tensor<{len(shape) - start}xi64>",
        axis=axis,
        start=start,
        perm=perm,
    )
    return Text(text, {"a": draw.array(first, special=True), "b": draw.array(second, special=True)})


def transposed(perm: Sequence[int]) -> AffineMap:
    """An affine map of a transpose: axis i of the result is axis perm[i]."""
    return AffineMap(len(perm), 0, tuple(AffineExpr.dimension(axis) for axis in perm))


def flat(shape: Shape) -> AffineMap:
    """An affine map that flattens all axes."""
    offset = AffineExpr.constant(0)
    for axis, size in enumerate(shape):
        offset = offset * size + AffineExpr.dimension(axis)
    return AffineMap(len(shape), 0, (offset,))


def moved(draw: Draw, shape: Shape) -> tuple[AffineMap, Shape]:
    """Return an affine map of a tensor's indices, and the shape of the result."""
    if draw.flag():
        perm = draw.perm(len(shape))
        return transposed(perm), tuple(shape[axis] for axis in perm)
    return flat(shape), (prod(shape),)


def two_maps(draw: Draw) -> Example:
    """Two affine maps in sequence."""
    shape = draw.shape(1, 3, empty=False)
    (first, middle), element = moved(draw, shape), f32
    second, last = moved(draw, middle)
    inner = ShapeTransform(value.x, index_map=AffineMapAttr(first)).typed(tensor_type(middle, element))
    pattern = ShapeTransform(inner, index_map=AffineMapAttr(second))
    return Example({"x": shape}, pattern=pattern, types=[tensor_type(last, element)])


def identity_map(draw: Draw) -> Example:
    """The identity map."""
    shape = draw.shape(1, empty=False)
    index_map = AffineMapAttr(transposed(range(len(shape))))
    return Example({"x": shape}, {"index_map": index_map}, types=[tensor_type(shape, f32)])


LAYOUTS = (None, LayoutAttr(StringAttr("NCHW4C")), LayoutAttr(StringAttr("KCMN4C4K")))
"""The default memory layout, and two others."""


def laid_out(shape: Shape, layout: LayoutAttr | None, draw: Draw) -> TensorType[Attribute]:
    """Return a type with a memory layout."""
    element = element_type_of(draw.dtype)
    return TensorType(element, shape) if layout is None else TensorType(element, shape, layout)


def in_layout(inner: AnyValue | Node, layout: LayoutAttr | None) -> Node:
    """A LayoutTransform to some layout."""
    return LayoutTransform(inner) if layout is None else LayoutTransform(inner, target_layout=layout)


def two_layouts(draw: Draw) -> Example:
    """Two LayoutTransforms in sequence."""
    shape = (draw.size(), draw.size(), draw.size(), draw.size())
    first, second = draw.pick(*LAYOUTS), draw.pick(*LAYOUTS)
    inner = in_layout(value.x, first).typed(laid_out(shape, first, draw))
    return Example({"x": shape}, pattern=in_layout(inner, second), types=[laid_out(shape, second, draw)])


def same_layout(draw: Draw) -> Example:
    """A LayoutTransform to the layout that the data already have."""
    shape = (draw.size(), draw.size(), draw.size(), draw.size())
    return Example({"x": shape}, types=[laid_out(shape, None, draw)])


CANONICALIZE: dict[str, Generator] = {
    "LoopOpRewriteMaxTripCountPattern": loop,
    "LoopInvariantCarriedValuePattern": invariant_loop,
    "ONNXLayoutTransformFusionPattern": two_layouts,
    "ONNXLayoutTransformEliminationPattern": same_layout,
    "ShapeTransformComposePattern": two_maps,
    "ShapeTransformIdentityPattern": identity_map,
}

CANONICALIZE_KINDS: dict[str, tuple[Kind, ...]] = {
    # The type of the counter.
    "LoopOpRewriteMaxTripCountPattern": (np.int32, np.int64),
    "LoopInvariantCarriedValuePattern": (np.float32, np.float64, np.int32, np.int8),
    **{f"ONNXLayoutTransform{name}Pattern": (np.float32, np.float16) for name in ("Fusion", "Elimination")},
    **{f"ShapeTransform{name}Pattern": (np.float32,) for name in ("Compose", "Identity")},
}

CONSTPROP: dict[str, Generator] = {"IfOfConst": if_known}

DECOMPOSE: dict[str, Generator] = {"ConcatFuse": read_twice}
