"""Operators without a kernel equal the reference after their function bodies are inlined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Protocol

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

from xonnc.contexts import new_context
from xonnc.dialects.onnx.ops import nn
from xonnc.formats.onnx.importer import import_proto
from xonnc.native import compile_native
from xonnc.transforms.models.standard_functions import inline_standard_functions

Floats = npt.NDArray[np.float32]

RANDOM = np.random.default_rng(3)


class Reference(Protocol):
    """The reference evaluator, which has no types."""

    def run(self, output_names: None, feed_inputs: Mapping[str, object]) -> Sequence[object]: ...


def model_of(operator: str, opset: int, attributes: Mapping[str, object] | None = None):
    """A model from `x`, f32[2, 3, 4], to `y`."""
    node = helper.make_node(operator, ["x"], ["y"], name="it")
    node.attribute.extend(helper.make_attribute(name, value) for name, value in (attributes or {}).items())
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "model", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.mark.parametrize(
    ("operator", "opset", "attributes"),
    [
        ("MeanVarianceNormalization", 13, {"axes": [0, 2]}),
        ("MeanVarianceNormalization", 13, {"axes": [1]}),
    ],
)
def test_bodies_give_what_operators_give(operator: str, opset: int, attributes: Mapping[str, object]):
    model = model_of(operator, opset, attributes)
    x = RANDOM.normal(size=(2, 3, 4)).astype(np.float32)
    requested: Reference = import_module("onnx.reference").ReferenceEvaluator(model)
    session = compile_native(model)
    given = np.asarray(session.run(None, {"x": x})[0], np.float32)
    expected = np.asarray(requested.run(None, {"x": x})[0], np.float32)
    np.testing.assert_allclose(given, expected, rtol=2e-5, atol=1e-6)
    assert operator not in session.host_calls()


@pytest.mark.parametrize(
    ("element", "opset", "mean", "tolerance"),
    [
        (TensorProto.FLOAT, 9, 1e3, 1e-3),
        (TensorProto.FLOAT16, 18, 40.0, 2e-3),
        (TensorProto.BFLOAT16, 18, 40.0, 1e-2),
        (TensorProto.DOUBLE, 13, 1e5, 1e-9),
    ],
)
def test_mean_variance_is_exact_far_from_zero(element: int, opset: int, mean: float, tolerance: float):
    model = model_of("MeanVarianceNormalization", opset, {"axes": [2]})
    for port in (model.graph.input[0], model.graph.output[0]):
        port.type.tensor_type.elem_type = element
    kind = helper.tensor_dtype_to_np_dtype(element)
    x = (mean + RANDOM.normal(size=(2, 3, 4))).astype(kind)
    given = np.asarray(compile_native(model).run(None, {"x": x})[0])
    assert given.dtype == kind
    exact = x.astype(np.float64)
    centred = exact - exact.mean(2, keepdims=True)
    expected = centred / (np.sqrt((centred**2).mean(2, keepdims=True)) + 1e-9)
    np.testing.assert_allclose(given.astype(np.float64), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("element", "opset", "stash", "mean", "tolerance"),
    [
        (TensorProto.FLOAT, 18, None, 1e3, 1e-3),
        (TensorProto.FLOAT16, 18, None, 40.0, 3e-3),
        (TensorProto.DOUBLE, 18, None, 1e5, 1e-9),
        (TensorProto.FLOAT, 21, TensorProto.FLOAT, 1e3, 1e-3),
        (TensorProto.BFLOAT16, 21, TensorProto.FLOAT, 40.0, 2e-2),
        (TensorProto.FLOAT16, 21, TensorProto.BFLOAT16, 1.0, 2e-2),
        (TensorProto.DOUBLE, 21, TensorProto.DOUBLE, 1e5, 1e-9),
    ],
)
def test_group_normalization_is_exact_far_from_zero(
    element: int, opset: int, stash: int | None, mean: float, tolerance: float
):
    kind = helper.tensor_dtype_to_np_dtype(element)
    count = 2 if stash is None else 4
    factors, terms = np.arange(1, 1 + count), np.arange(count) - 1
    attributes = {"num_groups": 2} | ({} if stash is None else {"stash_type": stash})
    model = model_of("GroupNormalization", opset, attributes)
    model.graph.node[0].input.extend(["scale", "bias"])
    model.graph.initializer.extend(
        numpy_helper.from_array(each.astype(kind), name)
        for name, each in (("scale", factors), ("bias", terms))
    )
    for port in (model.graph.input[0], model.graph.output[0]):
        port.type.tensor_type.elem_type = element
    sizes = model.graph.input[0].type.tensor_type.shape.dim
    for axis, name in enumerate(("n", "", "w")):
        if name:
            sizes[axis].dim_param = name
    sizes[1].dim_value = 4
    session = compile_native(model)
    for shape in ((2, 4, 5), (1, 4, 1), (0, 4, 3)):
        x = (mean + RANDOM.normal(size=shape)).astype(kind)
        given = np.asarray(session.run(None, {"x": x})[0])
        assert given.dtype == kind
        assert given.shape == shape
        groups = x.astype(np.float64).reshape((shape[0], 2, 2 * shape[2]))
        centred = groups - groups.mean(2, keepdims=True)
        normal = centred / np.sqrt((centred**2).mean(2, keepdims=True) + 1e-5)
        # By group in opset 18, by channel since.
        rows = normal.reshape((shape[0], count, 4 // count * shape[2]))
        expected = (rows * factors[:, None] + terms[:, None]).reshape(shape)
        numbers = given.astype(np.float64)
        np.testing.assert_allclose(numbers, expected, rtol=tolerance, atol=4 * tolerance)


def imported(operator: str, opset: int) -> ModuleOp:
    return import_proto(model_of(operator, opset), new_context())


def test_what_is_not_wanted_stays():
    module = imported("MeanVarianceNormalization", 13)
    inline_standard_functions(module, new_context(), lambda op: False)
    assert any(isinstance(op, nn.MeanVarianceNormalizationOp) for op in module.walk())


def test_operators_without_a_body_stay():
    module = imported("GlobalLpPool", 13)
    before = str(module)
    inline_standard_functions(module, new_context(), lambda op: True)
    assert str(module) == before


@pytest.mark.parametrize("opset", [27, 28])
def test_inputs_may_be_left_out_in_the_middle(opset: int):
    shapes = {"x": [1, 2, 5], "w": [2, 1, 3], "past": [1, 2, 2]}
    feeds = {name: RANDOM.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    node = helper.make_node("CausalConvWithState", ["x", "w", "", "past"], ["y", "present"], name="it")
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, each) for name, each in shapes.items()]
    outputs = [helper.make_empty_tensor_value_info(name) for name in ("y", "present")]
    graph = helper.make_graph([node], "model", ports, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=11)
    reference: Reference = import_module("onnx.reference").ReferenceEvaluator(model)
    session = compile_native(model)
    for given, expected in zip(session.run(None, feeds), reference.run(None, feeds), strict=True):
        numbers = np.asarray(given, np.float32), np.asarray(expected, np.float32)
        np.testing.assert_allclose(*numbers, rtol=2e-5, atol=1e-6)
    assert session.host_calls() == []


SCORED = """
<ir_version: 13, opset_import: ["" : 26, "ai.onnx.preview" : 1]>
m (float[2,H,3,4] q, float[2,G,5,4] k, float[2,G,5,6] v) => (float[2,H,3,6] y) {
  b = Constant<value = float[3,1] {0.5, -1.0, 2.0}>()
  y = ai.onnx.preview.FlexAttention<scale = 0.3, softmax_precision = PRECISION,
    score_mod = more (float[B,N,L,S] s) => (float[B,N,L,S] t) { t = Add(s, b) },
    prob_mod = less (float[B,N,L,S] s) => (float[B,N,L,S] t) {
      c = Constant<value = float {0.5}>()
      t = Mul(s, c)
    }
  >(q, k, v)
}
"""


@pytest.mark.parametrize(("heads", "pairs"), [(2, 2), (4, 2), (3, 1)])
@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("scale", [0.3, None])
def test_attention_with_bodies_is_products_and_a_softmax(
    heads: int, pairs: int, is_open: bool, scale: float | None
):
    text = SCORED.replace("PRECISION", "1")
    if scale is None:
        text, scale = text.replace("scale = 0.3, ", ""), 4**-0.5
    text = text if is_open else text.replace("H,", f"{heads},").replace("G,", f"{pairs},")
    shapes = {"q": (2, heads, 3, 4), "k": (2, pairs, 5, 4), "v": (2, pairs, 5, 6)}
    feeds = {name: RANDOM.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    session = compile_native(onnx.parser.parse_model(text))
    given = np.asarray(session.run(None, feeds)[0], np.float64)
    q, k, v = (np.repeat(each, heads // each.shape[1], 1) for each in feeds.values())
    scores = scale * q @ k.swapaxes(2, 3) + np.array([[0.5], [-1.0], [2.0]])
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    expected = shares / shares.sum(-1, keepdims=True) * 0.5 @ v
    np.testing.assert_allclose(given, expected, rtol=1e-4, atol=1e-6)
    assert session.host_calls() == []


def test_attention_of_heads_that_do_not_fit_stays():
    text = SCORED.replace("PRECISION", "1").replace("H,", "3,").replace("G,", "2,")
    module = import_proto(onnx.parser.parse_model(text), new_context())
    inline_standard_functions(module, new_context(), lambda op: True)
    assert any(op.name == "onnx.FlexAttention" for op in module.walk())


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("is_aligned", [0, 1])
def test_grids_of_a_batch_of_one_in_two_dimensions(batch: int, is_aligned: int):
    """The body of onnx 1.23 squeezes a batch of one away."""
    theta = RANDOM.normal(size=(batch, 2, 3)).astype(np.float32)
    rows, columns = (
        np.linspace(-1, 1, size) if is_aligned else (np.arange(size) * 2 + 1) / size - 1 for size in (2, 3)
    )
    corners = np.stack([*np.meshgrid(columns, rows), np.ones((2, 3))], axis=-1)
    np.testing.assert_allclose(
        grid(theta, [batch, 1, 2, 3], is_aligned),
        np.einsum("nij,hwj->nhwi", theta, corners),
        rtol=1e-5,
        atol=1e-6,
    )


def test_aligned_corners_of_axes_of_one_element_are_finite():
    """They are -1: the body of onnx 1.23 says so of the depth, and divides by 0 for height and width."""
    theta = np.array([[[1, 2, 0], [0, 4, 8]]], np.float32)
    np.testing.assert_array_equal(grid(theta, [1, 1, 1, 1], 1), [[[[-3, 4]]]])
    cube = np.eye(3, 4, dtype=np.float32)[None]
    np.testing.assert_array_equal(grid(cube, [1, 1, 1, 1, 1], 1), np.full((1, 1, 1, 1, 3), -1))


def grid(theta: Floats, size: Sequence[int], is_aligned: int) -> Floats:
    """What AffineGrid gives, by native code."""
    node = helper.make_node("AffineGrid", ["theta", "size"], ["y"], align_corners=is_aligned)
    x = helper.make_tensor_value_info("theta", TensorProto.FLOAT, theta.shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    sizes = helper.make_tensor("size", TensorProto.INT64, [len(size)], size)
    graph = helper.make_graph([node], "model", [x], [y], [sizes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=8)
    session = compile_native(model)
    assert "AffineGrid" not in session.host_calls()
    return np.asarray(session.run(None, {"theta": theta})[0], np.float32)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_the_variance_of_other_floats(dtype: type[np.floating]):
    """The body of onnx 1.23 adds a number of 32 bits to them."""
    x = RANDOM.normal(size=(2, 3, 4)).astype(dtype)
    model = model_of("MeanVarianceNormalization", 13, {"axes": [2]})
    for port in (*model.graph.input, *model.graph.output):
        port.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    session = compile_native(model)
    assert "MeanVarianceNormalization" not in session.host_calls()
    wide = x.astype(np.float64)
    expected = (wide - wide.mean(2, keepdims=True)) / wide.std(2, keepdims=True)
    found = np.asarray(session.run(None, {"x": x})[0], np.float64)
    np.testing.assert_allclose(found, expected, atol=1e-2 if dtype is np.float16 else 1e-7)


@pytest.mark.parametrize("opset", [23, 24])
def test_normalized_numbers_take_the_type_of_their_scale(opset: int):
    """The body of onnx 1.23 multiplies one by the other; it has none in opset 24, which has a newer Cast."""
    x, scale = RANDOM.normal(size=(2, 4)).astype(np.float16), np.arange(4, dtype=np.float32)
    ports = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT16, x.shape),
        helper.make_tensor_value_info("scale", TensorProto.FLOAT, scale.shape),
    ]
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    node = helper.make_node("RMSNormalization", ["x", "scale"], ["y"])
    graph = helper.make_graph([node], "model", ports, [y])
    session = compile_native(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    )
    assert "RMSNormalization" not in session.host_calls()
    (found,) = session.run(None, {"x": x, "scale": scale})
    wide = x.astype(np.float64)
    expected = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5) * scale
    np.testing.assert_allclose(np.asarray(found, np.float32), expected, rtol=2e-3)


def test_attention_without_bodies_takes_the_sizes_of_a_run():
    """Its regions are optional, unlike the branches of `If`, which are checked one by one for a run."""
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 26, "ai.onnx.preview" : 1]>
        g (float[B,H,L,4] q, float[B,H,S,4] k, float[B,H,S,4] v) => (float[B,H,L,4] y)
        { y = ai.onnx.preview.FlexAttention (q, k, v) }""")
    session = compile_native(model, cache=False)
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(1, 2, 3, 4)
    (found,) = session.run(None, {"q": x[:, :, :1], "k": x, "v": x})
    scores = np.exp(x[:, :, :1] @ x.swapaxes(2, 3) / 2)
    expected = scores / scores.sum(axis=-1, keepdims=True) @ x
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5)
