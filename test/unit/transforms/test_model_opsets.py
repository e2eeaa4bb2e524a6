"""Models keep their opset: no rule makes an op that it does not have."""

from __future__ import annotations

import pytest
from onnx import checker, parser

from xonnc.dialects.onnx.ops.builtin import DimOp
from xonnc.dialects.onnx.ops.math.arithmetic import AddOp
from xonnc.dialects.onnx.registry import op_class
from xonnc.formats.onnx.light_models import light_model
from xonnc.simplifier import simplify
from xonnc.transforms.model_opsets import is_in


@pytest.mark.parametrize(
    ("name", "old", "new"), [("LayerNormalization", 16, 17), ("Softmax", 12, 13), ("Gelu", 19, 20)]
)
def test_an_op_is_in_the_opsets_of_its_class(name: str, old: int, new: int):
    kind = op_class("", name, new)
    assert kind is not None
    assert is_in(kind, (("", new),))
    assert not is_in(kind, (("", old),))


def test_an_older_form_ends():
    kind = op_class("", "Squeeze", 12)
    assert kind is not None
    assert is_in(kind, (("", 12),))
    assert not is_in(kind, (("", 13),))


def test_a_domain_that_is_not_imported_has_nothing():
    assert not is_in(AddOp, (("com.example", 3),))


def test_sizes_are_shapes_of_opset_15():
    assert not is_in(DimOp, (("", 14),))
    assert is_in(DimOp, (("", 15),))


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet", "inception_v1", "bvlc_alexnet"])
def test_light_models_stay_of_opset_9(name: str):
    model = simplify(light_model(name)).proto()
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 9)]
    vars(checker)["check_model"](model, full_check=True)


OLD = """
    <ir_version: 7, opset_import: ["" : {opset}]>
    old (float[2, 3, 4] x, float[2, 3, 1] z) => (float[2, 3, 4] a, float[2, 3, 4] b, float[2, 4, 3] c) {{
      s = Softmax <axis = 2> (x)
      r = Relu (s)
      a = Relu (r)
      t = Transpose (x)
      u = Transpose <perm = [2, 1, 0]> (t)
      b = Add (u, z)
      v = Transpose <perm = [0, 2, 1]> (b)
      w = Identity (v)
      c = Dropout (w)
    }}
"""


@pytest.mark.parametrize("opset", [7, 9, 11, 12, 13, 17, 21])
def test_each_opset_stays(opset: int):
    model = simplify(parser.parse_model(OLD.format(opset=opset))).proto()
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", opset)]
    vars(checker)["check_model"](model, full_check=True)
    assert sorted(node.op_type for node in model.graph.node) == ["Add", "Relu", "Softmax", "Transpose"]


LIMITED = """
    <ir_version: 7, opset_import: ["" : {opset}]>
    limited (float[2, 3] x) => (float[2, 3] y) {{
      low = Constant <value = float[1] {{-1}}> ()
      high = Constant <value = float[1] {{2}}> ()
      a = Max (x, low)
      y = Min (a, high)
    }}
"""


@pytest.mark.parametrize(("opset", "operands"), [(7, 1), (10, 1), (11, 3), (12, 3), (13, 3), (21, 3)])
def test_a_clip_has_the_form_of_the_opset(opset: int, operands: int):
    model = simplify(parser.parse_model(LIMITED.format(opset=opset))).proto()
    vars(checker)["check_model"](model, full_check=True)
    (clip,) = model.graph.node
    assert clip.op_type == "Clip"
    assert len(clip.input) == operands


DOUBLES = LIMITED.replace("float", "double")


def test_numbers_that_an_old_clip_does_not_take_stay():
    model = simplify(parser.parse_model(DOUBLES.format(opset=9))).proto()
    assert [node.op_type for node in model.graph.node] == ["Max", "Min"]


@pytest.mark.parametrize(("opset", "nodes"), [(13, 9), (16, 9), (17, 1), (18, 1), (23, 1)])
def test_a_layer_normalisation_is_found_where_the_opset_has_it(opset: int, nodes: int):
    if opset >= 18:
        mean, axes = "ReduceMean (x, axes)", "axes = Constant <value_ints = [-1]> ()"
        spread = "ReduceMean (d2, axes)"
    else:
        mean, axes = "ReduceMean <axes = [-1]> (x)", ""
        spread = "ReduceMean <axes = [-1]> (d2)"
    text = f"""
        <ir_version: 8, opset_import: ["" : {opset}]>
        norm (float[2, 3, 4] x) => (float[2, 3, 4] y)
          <float e = {{0.001}}, float[4] w = {{1, 2, 3, 4}}, float[4] b = {{4, 3, 2, 1}}> {{
          {axes}
          m = {mean}
          d = Sub (x, m)
          d2 = Mul (d, d)
          v = {spread}
          ve = Add (v, e)
          r = Sqrt (ve)
          n = Div (d, r)
          s = Mul (n, w)
          y = Add (s, b)
        }}
    """
    model = simplify(parser.parse_model(text)).proto()
    vars(checker)["check_model"](model, full_check=True)
    assert len(model.graph.node) == nodes
