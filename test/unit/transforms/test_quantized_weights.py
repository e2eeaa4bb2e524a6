"""Weights that a model quantizes itself, and factors that meet them, as training tools export them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from xonnc import simplify
from xonnc.runtime.reference import ReferenceModel
from xonnc.transforms.rules.constprop_quantization import quantized_array
from xonnc.transforms.rules.fuse_dequantized import mirrored


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_the_integers_are_those_of_onnxruntime(kind: type[np.integer[Any]], axis: int | None, tmp_path: Path):
    random = np.random.default_rng(4)
    x = np.concatenate([random.normal(0, 100, 34), [0.0, -0.0, 0.5, 1.5, -2.5, 1e9, -1e9, 3e38]])
    x = x.reshape(6, 7).astype(np.float32)
    count = () if axis is None else x.shape[axis]
    scale = random.uniform(0.01, 3, count).astype(np.float32)
    zero = random.integers(np.iinfo(kind).min, np.iinfo(kind).max, count).astype(kind)
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
    node = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"], **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", element, x.shape)],
        [numpy_helper.from_array(scale, "s"), numpy_helper.from_array(zero, "z")],
    )
    opset = helper.make_opsetid("", 21)
    path = tmp_path / "model.onnx"
    model = helper.make_model(graph, opset_imports=[opset], ir_version=10)
    path.write_bytes(model.SerializeToString())
    (expected,) = ReferenceModel(path).run({"x": x})
    found = quantized_array(x, scale, zero, axis)
    assert found.dtype == kind
    assert np.array_equal(found, expected)


NETWORK = """<ir_version: 9, opset_import: ["" : 19]>
network (float[1, 3, 5, 6] x) => (float[1, 4, 3, 4] y)
    <float s = {0.03}, int8 z = {0}, float t = {0.05}> {
  q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z)
  w = DequantizeLinear<axis = 0>(wq, ws, wz)
  c = Conv(d, w)
  n = BatchNormalization(c, gamma, beta, mean, var)
  r = QuantizeLinear(n, t, z) y = DequantizeLinear(r, t, z)
}"""


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("count", [0, 4])
@pytest.mark.parametrize("least", [0.5, -1.5])
def test_batch_normalization_goes_to_the_scales(
    kind: type[np.integer[Any]], count: int, least: float, tmp_path: Path
):
    """Also for negative factors, zero points, and one scale or several."""
    random = np.random.default_rng(5)
    model = parser.parse_model(NETWORK)
    low, high, zero = (10, 240, 130) if kind().dtype == np.uint8 else (-127, 127, 0)
    arrays = {
        "wq": random.integers(low, high, (4, 3, 3, 3)).astype(kind),
        "ws": random.uniform(0.01, 0.02, count or ()).astype(np.float32),
        "wz": np.full(count or (), zero, kind),
        "gamma": random.uniform(least, least + 1, 4).astype(np.float32),
        "beta": random.normal(size=4).astype(np.float32),
        "mean": random.normal(size=4).astype(np.float32),
        "var": random.uniform(0.5, 2, 4).astype(np.float32),
    }
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    path, made = tmp_path / "model.onnx", tmp_path / "simplified.onnx"
    path.write_bytes(model.SerializeToString())
    simplified = simplify(path)
    simplified.write(made)
    nodes = [node.op_type for node in simplified.proto().graph.node]
    assert sorted(set(nodes)) == ["Conv", "DequantizeLinear", "QuantizeLinear"]
    assert len(nodes) == 6
    x = random.normal(size=(1, 3, 5, 6)).astype(np.float32)
    (expected,), (found,) = (ReferenceModel(each).run({"x": x}) for each in (path, made))
    # A sum that is near half a step may be rounded the other way.
    np.testing.assert_allclose(found, expected, atol=0.0501)
    assert (np.abs(found - expected) > 1e-6).mean() < 0.05


def test_before_opset_13_scales_are_of_the_whole_tensor(tmp_path: Path):
    """DequantizeLinear has no axis there: the factors of a batch normalization stay a product."""
    model = parser.parse_model(NETWORK.replace('"" : 19', '"" : 10').replace("<axis = 0>(wq", "(wq"))
    channels = dict.fromkeys(("gamma", "beta", "mean", "var"), np.array([1, 2, 3, 4], np.float32))
    weights = {"wq": np.ones((4, 3, 3, 3), np.int8), "ws": np.float32(0.01), "wz": np.int8(0)}
    arrays = {**channels, **{name: np.asarray(array) for name, array in weights.items()}}
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    simplified, made = simplify(path), tmp_path / "simplified.onnx"
    simplified.write(made)
    assert [node.op_type for node in simplified.proto().graph.node].count("Mul") == 1
    x = np.random.default_rng(0).normal(size=(1, 3, 5, 6)).astype(np.float32)
    # onnxruntime refuses an attribute that the opset does not have.
    (expected,), (found,) = (ReferenceModel(each).run({"x": x}) for each in (path, made))
    np.testing.assert_allclose(found, expected, atol=0.0501)


@pytest.mark.parametrize(
    ("x", "zero", "expected"),
    [([-128], 0, None), ([-127], 0, [127]), ([0], 130, None), ([5], 130, [255]), ([255], 255, [255])],
)
def test_integers_mirrored_at_the_zero_point_stay_in_their_type(
    x: list[int], zero: int, expected: list[int] | None
):
    kind = np.int8 if zero == 0 else np.uint8
    found = mirrored(np.array(x, kind), np.array([zero], kind), np.array([True]), 0)
    assert (None if found is None else found.tolist()) == expected


@pytest.mark.parametrize(("opset", "is_folded"), [(12, False), (13, True)])
def test_factors_along_an_axis_need_an_opset_with_scales_along_it(opset: int, is_folded: bool):
    model = parser.parse_model(f"""<ir_version: 8, opset_import: ["": {opset}]>
        network (float[3, 2] x) => (float[3, 2] y)
        <int8[2, 2] q = {{1, 2, 3, 4}}, float s = {{0.5}}, float[2] c = {{2, 4}}> {{
          d = DequantizeLinear(q, s) w = Mul(d, c) y = MatMul(x, w)
        }}""")
    nodes = [node.op_type for node in simplify(model).proto().graph.node]
    assert ("Mul" in nodes) != is_folded
