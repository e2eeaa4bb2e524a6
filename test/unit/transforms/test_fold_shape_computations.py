"""Models whose shapes are computed from dynamic sizes: what is left of that, and that the numbers stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol

import numpy as np
import onnx
import pytest
from onnx import checker, numpy_helper, parser

from xonnc.rewriting.patterns import Array
from xonnc.simplifier import simplify


class Session(Protocol):
    """onnxruntime, which has no types."""

    def run(self, output_names: None, input_feed: Mapping[str, Array]) -> Sequence[Array]: ...


def check(text: str, *shapes: Sequence[int]) -> onnx.GraphProto:
    """The graph simplified; it makes what the original makes of inputs of these shapes."""
    model = parser.parse_model(text)
    simplified = simplify(model).proto()
    vars(checker)["check_model"](simplified, full_check=True)
    old, new = (load(each) for each in (model, simplified))
    for shape in shapes:
        feeds = {"x": np.random.default_rng(0).normal(size=tuple(shape)).astype(np.float32)}
        for before, after in zip(old.run(None, feeds), new.run(None, feeds), strict=True):
            np.testing.assert_array_equal(after, before, strict=True)
    return simplified.graph


def load(model: onnx.ModelProto) -> Session:
    return import_module("onnxruntime").InferenceSession(model.SerializeToString())


def nodes(graph: onnx.GraphProto) -> list[str]:
    return [node.op_type for node in graph.node]


def constants(graph: onnx.GraphProto) -> list[list[int]]:
    return [numpy_helper.to_array(tensor).tolist() for tensor in graph.initializer]


HEADS = """
    <ir_version: 8, opset_import: ["" : 17]>
    heads (float[batch, seq, 12] x) => (float[batch, 3, seq, 4] y, float[batch, seq, 12] z) {
      zero = Constant <value = int64 {0}> ()
      one = Constant <value = int64 {1}> ()
      axis = Constant <value_ints = [0]> ()
      split = Constant <value_ints = [3, 4]> ()
      whole = Constant <value_ints = [12]> ()
      s = Shape (x)
      b0 = Gather (s, zero)
      n0 = Gather (s, one)
      b = Unsqueeze (b0, axis)
      n = Unsqueeze (n0, axis)
      t = Concat <axis = 0> (b, n, split)
      h = Reshape (x, t)
      y = Transpose <perm = [0, 2, 1, 3]> (h)
      back = Transpose <perm = [0, 2, 1, 3]> (y)
      s2 = Shape (back)
      b2 = Gather (s2, zero)
      n2 = Gather (s2, one)
      c = Unsqueeze (b2, axis)
      m = Unsqueeze (n2, axis)
      u = Concat <axis = 0> (c, m, whole)
      z0 = Reshape (back, u)
      z = Relu (z0)
    }
"""


def test_sizes_of_the_data_are_copied():
    graph = check(HEADS, (2, 5, 12), (1, 1, 12), (3, 2, 12))
    assert sorted(nodes(graph)) == ["Relu", "Reshape", "Transpose"]
    assert constants(graph) == [[0, 0, 3, 4]]


FLAT = """
    <ir_version: 8, opset_import: ["" : 17]>
    flat (float[batch, seq, 12] x) => (float[rows, 12] y) {
      i = Constant <value_ints = [0]> ()
      j = Constant <value_ints = [1]> ()
      last = Constant <value_ints = [12]> ()
      s = Shape (x)
      b = Gather (s, i)
      n = Gather (s, j)
      r = Mul (b, n)
      t = Concat <axis = 0> (r, last)
      y = Reshape (x, t)
    }
"""


def test_the_one_size_left_is_found():
    graph = check(FLAT, (2, 5, 12), (1, 1, 12), (0, 3, 12))
    assert nodes(graph) == ["Reshape"]
    assert constants(graph) == [[-1, 12]]


SWAPPED = """
    <ir_version: 8, opset_import: ["" : 17]>
    swapped (float[batch, seq, 12] x) => (float[seq, batch, 12] y) {
      order = Constant <value_ints = [1, 0, 2]> ()
      s = Shape (x)
      t = Gather (s, order)
      y = Reshape (x, t)
    }
"""


def test_two_sizes_cannot_be_found():
    assert nodes(check(SWAPPED, (2, 5, 12), (3, 1, 12))) == ["Shape", "Gather", "Reshape"]


COPIED_AND_FOUND = """
    <ir_version: 8, opset_import: ["" : 17]>
    both (float[batch, seq, 12] x) => (float[batch, twelve, seq] y) {
      order = Constant <value_ints = [0, 2, 1]> ()
      s = Shape (x)
      t = Gather (s, order)
      y = Reshape (x, t)
    }
"""


def test_beside_a_copied_size_that_may_be_zero_none_is_found():
    graph = check(COPIED_AND_FOUND, (2, 5, 12), (0, 3, 12))
    assert nodes(graph) == ["Shape", "Gather", "Reshape"]


SAME = """
    <ir_version: 8, opset_import: ["" : 17]>
    same (float[batch, 6] x) => (float[batch, 6] y, float[batch, 6] z) {
      s = Shape (x)
      a = Reshape (x, s)
      y = Relu (a)
      t = Shape (y)
      b = Expand (x, t)
      z = Neg (b)
    }
"""


def test_what_keeps_a_dynamic_shape_goes():
    assert nodes(check(SAME, (2, 6), (1, 6), (0, 6))) == ["Relu", "Neg"]


TWICE = """
    <ir_version: 8, opset_import: ["" : 17]>
    twice (float[n, 4] x) => (int64[2] a, int64[2] b, int64[1] c) {
      i = Constant <value_ints = [1]> ()
      y = Relu (x)
      s = Shape (x)
      t = Shape (y)
      two = Constant <value_ints = [2]> ()
      a = Mul (s, two)
      b = Add (t, two)
      c = Gather (t, i)
    }
"""


def test_equal_sizes_are_read_once_and_known_ones_not_at_all():
    graph = check(TWICE, (3, 4), (1, 4))
    assert nodes(graph) == ["Shape", "Mul", "Add"]
    assert [4] in constants(graph)


BRANCHES = """
    <ir_version: 8, opset_import: ["" : 17]>
    branches (float[n, 4] x) => (int64[2] y, int64[2] z) {
      y = Shape (x)
      total = ReduceSum <keepdims = 0> (x)
      zero = Constant <value = float {0}> ()
      positive = Greater (total, zero)
      z = If (positive) <
        then_branch = inside () => (int64[2] p) { q = Neg (x)  p = Shape (q) },
        else_branch = outside () => (int64[2] r) { r = Shape (x) }
      >
    }
"""


def test_a_branch_reads_what_is_known_outside_and_not_the_other_way_round():
    graph = check(BRANCHES, (3, 4), (1, 4))
    inner = [node.op_type for node in graph.node for held in node.attribute for node in held.g.node]
    assert nodes(graph).count("Shape") == 1
    assert "Neg" not in inner


@pytest.mark.parametrize("opset", [7, 9, 13])
def test_old_opsets_keep_their_forms(opset: int):
    text = FLAT.replace('"" : 17', f'"" : {opset}')
    for name, number in (("i", 0), ("j", 1), ("last", 12)):
        text = text.replace(
            f"{name} = Constant <value_ints = [{number}]> ()",
            f"{name} = Constant <value = int64[1] {{{number}}}> ()",
        )
    assert nodes(check(text, (2, 5, 12))) == ["Reshape"]


@pytest.mark.parametrize("factor", [7, 2**40])
def test_integers_that_wrap_around_are_no_sizes(factor: int) -> None:
    """What is computed modulo 2^64, or 2^32, is not what arithmetic on sizes gives."""
    check(
        f"""<ir_version: 8, opset_import: ["" : 17]>
        g (float[a, b] x) => (int64[2] y, int64[2] z)
        <int64[2] large = {{9223372036854775802, 3}}, int64 factor = {{{factor}}}> {{
          product = Mul (large, factor)  s = Shape (x)  y = Add (product, s)
          narrow = Cast <to = 6> (product)  wide = Cast <to = 7> (narrow)  z = Add (wide, s)
        }}""",
        (2, 3),
    )


def test_a_known_size_is_not_inferred_beside_copied_ones():
    """As torch writes `reshape(batch, sequence, -1)`: a batch of 0 leaves nothing to infer from."""
    graph = check(
        """
        <ir_version: 8, opset_import: ["" : 18]>
        merged (float[batch, seq, 3, 4] x) => (float[batch, seq, 12] y) {
          b = Shape <start = 0, end = 1> (x)
          n = Shape <start = 1, end = 2> (x)
          rest = Constant <value_ints = [-1]> ()
          t = Concat <axis = 0> (b, n, rest)
          z = Reshape <allowzero = 1> (x, t)
          y = Relu (z)
        }
        """,
        (2, 5, 3, 4),
        (0, 5, 3, 4),
        (2, 0, 3, 4),
    )
    assert sorted(nodes(graph)) == ["Relu", "Reshape"]
    assert constants(graph) == [[0, 0, 12]]
