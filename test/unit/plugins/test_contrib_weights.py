"""Products with constant weights of 2, 4 and 8 bits, as quantizers of language models write them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.helper
import onnx.numpy_helper
import onnx.parser
import pytest

import xonnc
from xonnc.contexts import new_context
from xonnc.dialects.onnx.ops.quantization import DequantizeLinearOp
from xonnc.errors import XonncError
from xonnc.formats.onnx.importer import import_proto
from xonnc.plugins import bundled
from xonnc.plugins.operators import bind
from xonnc.plugins.registration import run_reference
from xonnc.tools.plugin_checks import with_absent
from xonnc.transforms.decompose_onnx import Decompose
from xonnc.transforms.shape_inference_onnx import infer_shapes

Array = npt.NDArray[Any]


def weights_model(rows: int | str, bits: int, block: int, has_zero_points: bool) -> onnx.ModelProto:
    rng = np.random.default_rng(bits * block)
    k, n = 2 * block, 5
    blocks, size = k // block, block * bits // 8
    initializers = {
        "w": rng.integers(0, 256, (n, blocks, size), np.uint8),
        "s": rng.uniform(0.01, 0.1, n * blocks).astype(np.float32),
    }
    if has_zero_points:
        initializers["z"] = rng.integers(0, 256, n * ((blocks * bits + 7) // 8), np.uint8)
    node = onnx.helper.make_node(
        "MatMulNBits",
        ["x", *initializers],
        ["y"],
        "n",
        domain="com.microsoft",
        K=k,
        N=n,
        bits=bits,
        block_size=block,
    )
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [node],
        "g",
        [info("x", onnx.TensorProto.FLOAT, [rows, k])],
        [info("y", onnx.TensorProto.FLOAT, [rows, n])],
        [onnx.numpy_helper.from_array(held, name) for name, held in initializers.items()],
    )
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)


def onnxruntime_result(model: onnx.ModelProto, x: Array) -> Array:
    session = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    return np.asarray(session.run(None, {"x": x})[0])


@pytest.mark.covering(2)
@pytest.mark.parametrize("rows", [3, "m"])
@pytest.mark.parametrize("has_zero_points", [False, True])
@pytest.mark.parametrize(("bits", "block"), [(4, 16), (4, 32), (4, 128), (8, 32)])
def test_constant_weights(bits: int, block: int, has_zero_points: bool, rows: int | str):
    model = weights_model(rows, bits, block, has_zero_points)
    x = np.random.default_rng(1).normal(size=(3, 2 * block)).astype(np.float32)
    session = xonnc.compile(model)
    found = np.asarray(session.run(None, {"x": x})[0])
    expected = onnxruntime_result(model, x)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * float(np.abs(expected).max()))
    assert not session.host_calls()


@pytest.mark.covering(2)
@pytest.mark.parametrize("rows", [1, 3, 0])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    ("bits", "zero_points"),
    [(2, ""), (2, "packed"), (4, "packed"), (4, "integers"), (4, "reals"), (8, "reals")],
)
def test_weights_stay_packed(bits: int, zero_points: str, dtype: str, rows: int):
    model = weights_model("m", bits, 32, zero_points == "packed")
    node, initializers, rng = model.graph.node[0], model.graph.initializer, np.random.default_rng(2)
    if zero_points in ("integers", "reals"):
        zeros = rng.uniform(0, 15, (5, 2))
        zeros = np.rint(zeros) if zero_points == "integers" else zeros
        initializers.append(onnx.numpy_helper.from_array(zeros.astype(np.float32), "z"))
        node.input.append("z")
    for index, held in enumerate(initializers):
        array = onnx.numpy_helper.to_array(held)
        if array.dtype == np.float32:
            initializers[index].CopyFrom(onnx.numpy_helper.from_array(array.astype(dtype), held.name))
    for port in (*model.graph.input, *model.graph.output):
        port.type.tensor_type.elem_type = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    context = new_context()
    module = import_proto(model, context)
    infer_shapes(module)
    Decompose().apply(context, module)
    assert any(isinstance(op, DequantizeLinearOp) for op in module.walk())
    x = rng.normal(size=(rows, 64)).astype(dtype)
    session = xonnc.compile(model)
    found = np.asarray(session.run(None, {"x": x})[0])
    expected = reference_result(model, x)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape == (rows, 5)
    tolerance = 1e-4 if dtype == "float32" else 5e-3
    largest = float(np.abs(expected).max(initial=0))
    np.testing.assert_allclose(found.astype(float), expected.astype(float), atol=tolerance * largest)
    assert not session.host_calls()


INDICES = {"in order": np.arange(64) // 32, "spread": np.arange(64) % 2, "unequal": np.arange(64) // 48}
"""Blocks of the rows of B: of neighbours, of every second row, and not of the same size."""


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("has_constants", [True, False])
def test_indices_of_blocks_as_gptq_writes_them(index: str, has_constants: bool):
    model = weights_model("m", 4, 32, has_zero_points=False)
    node, graph = model.graph.node[0], model.graph
    node.input.extend(["", "i"])
    # With indices onnxruntime rounds no activations.
    node.attribute.append(onnx.helper.make_attribute("accuracy_level", 4))
    graph.initializer.append(onnx.numpy_helper.from_array(INDICES[index].astype(np.int32), "i"))
    context = new_context()
    module = import_proto(model, context)
    infer_shapes(module)
    Decompose().apply(context, module)
    stays_packed = any(isinstance(op, DequantizeLinearOp) for op in module.walk())
    assert stays_packed == (index != "unequal")
    x = np.random.default_rng(1).normal(size=(3, 64)).astype(np.float32)
    expected, feeds = onnxruntime_result(model, x), dict[str, Array](x=x)
    if not has_constants:
        for held in graph.initializer:
            feeds[held.name] = onnx.numpy_helper.to_array(held)
            graph.input.append(onnx.helper.make_tensor_value_info(held.name, held.data_type, held.dims))
        del graph.initializer[:]
    session = xonnc.compile(model)
    np.testing.assert_allclose(np.asarray(session.run(None, feeds)[0]), expected, rtol=1e-4, atol=1e-5)
    assert not session.host_calls()


@pytest.mark.parametrize("has_constants", [True, False])
def test_integer_zero_points_with_indices_of_blocks(has_constants: bool):
    """Compared with the product of the reordered model: onnxruntime ignores the zero points of such."""
    model = weights_model("m", 4, 32, has_zero_points=True)
    x = np.random.default_rng(1).normal(size=(3, 64)).astype(np.float32)
    expected = onnxruntime_result(model, x)
    order, graph = np.argsort(INDICES["spread"], kind="stable"), model.graph
    feeds = dict[str, Array](x=np.empty_like(x))
    feeds["x"][:, order] = x
    weights = onnx.numpy_helper.to_array(graph.initializer[0])
    rows = np.stack([weights & 15, weights >> 4], -1).reshape(5, 64)
    rows[:, order] = rows.copy()
    packed = (rows[:, ::2] | rows[:, 1::2] << 4).reshape(weights.shape)
    graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(packed, "w"))
    model.graph.node[0].input.append("i")
    if has_constants:
        graph.initializer.append(onnx.numpy_helper.from_array(INDICES["spread"].astype(np.int32), "i"))
    else:
        feeds["i"] = INDICES["spread"].astype(np.int32)
        graph.input.append(onnx.helper.make_tensor_value_info("i", onnx.TensorProto.INT32, [64]))
    found = np.asarray(xonnc.compile(model).run(None, feeds)[0])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("index", [np.full(64, 2), np.full(64, -1), np.zeros(63)])
def test_indices_of_no_block_are_refused(index: Array):
    model = weights_model(3, 4, 32, has_zero_points=False)
    model.graph.node[0].input.extend(["", "i"])
    model.graph.initializer.append(onnx.numpy_helper.from_array(index.astype(np.int32), "i"))
    with pytest.raises(XonncError, match="g_idx has an index from 0 to 1 for each of 64 rows, found"):
        xonnc.compile(model)


def test_zero_points_of_all_columns_in_one_row_of_bytes_are_refused():
    """As Neural Compressor writes them where a block is a whole column; onnxruntime refuses them too."""
    model = weights_model("m", 4, 64, has_zero_points=True)
    zeros = next(each for each in model.graph.initializer if each.name == "z")
    zeros.CopyFrom(onnx.numpy_helper.from_array(np.zeros(3, np.uint8), "z"))
    with pytest.raises(XonncError, match="zero_points has 3 elements; N = 5 columns need 1 each"):
        xonnc.compile(model)


def reference_result(model: onnx.ModelProto, x: Array) -> Array:
    """The product by the plug-in's NumPy reference: onnxruntime has not all types of zero points."""
    spec = next(each for each in bundled.load("microsoft").operators if each.name == "MatMulNBits")
    given = [x, *(onnx.numpy_helper.to_array(held) for held in model.graph.initializer)]
    attributes = {each.name: onnx.helper.get_attribute_value(each) for each in model.graph.node[0].attribute}
    operands = with_absent(spec, given)
    return run_reference(spec, bind(spec, "n", operands, attributes), operands, 1)[0]


@pytest.mark.parametrize("seed", range(4))
def test_activations_of_8_bits_as_in_onnxruntime(seed: int):
    rng = np.random.default_rng(seed)
    bits, block = int(rng.choice([4, 4, 8])), int(rng.choice([16, 32, 64, 128]))
    rows, scale = int(rng.integers(1, 6)), 10.0 ** float(rng.integers(-3, 4))
    model = weights_model("m", bits, block, bool(rng.integers(2)))
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("accuracy_level", 4))
    x = (scale * rng.normal(size=(rows, 2 * block))).astype(np.float32)
    # A block of zeros has no scale, one large value leaves little of the others.
    x[0, :block] = 0
    x[-1, 0] = 50 * scale
    session = xonnc.compile(model)
    found, expected = np.asarray(session.run(None, {"x": x})[0]), onnxruntime_result(model, x)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * float(np.abs(expected).max()))
    # The rounding is what both do: without it the product differs by more.
    exact = reference_result(model, x)
    assert np.abs(exact - expected).max() > 1e-4 * np.abs(expected).max()
    assert not session.host_calls()


def test_dequantized_weights_stay_quantized():
    """As 4-bit and 16-bit QDQ models have them: onnxruntime would quantize float weights again."""
    text = """<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>
        g (float[2, 3] x) => (float[2, 2] y) <int8[3, 2] w = {1, -2, 3, 4, 5, -6}, float s = {0.5}> {
        f = com.microsoft.DequantizeLinear (w, s)
        y = MatMul (x, f)
    }"""
    model = onnx.parser.parse_model(text)
    ops = [op.name for op in xonnc.simplify(model).module.walk()]
    assert "microsoft.DequantizeLinear" in ops
    x = np.array([[1, 2, -3], [0, 4, 5]], np.float32)
    (found,) = xonnc.compile(model, cache=False).run(None, {"x": x})
    np.testing.assert_allclose(np.asarray(found), x @ np.array([[0.5, -1], [1.5, 2], [2.5, -3]], np.float32))


def test_one_program_gathers_any_number_of_quantized_rows():
    """As tied embeddings of onnxruntime-genai: the scales have another shape than the result."""
    text = """<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>
        g (int64[b, s] i, uint8[6, 16] w, float[6, 2] scales) => (float[b, s, 32] y) {
        y = com.microsoft.GatherBlockQuantized <bits = 4, block_size = 16, quantize_axis = 1>
            (w, i, scales) }"""
    model, rng = onnx.parser.parse_model(text), np.random.default_rng(5)
    arrays = {"w": rng.integers(0, 256, (6, 16), np.uint8), "scales": rng.random((6, 2)).astype(np.float32)}
    for port in list(model.graph.input)[1:]:
        model.graph.input.remove(port)
        model.graph.initializer.append(onnx.numpy_helper.from_array(arrays[port.name], port.name))
    session = xonnc.compile(model)
    peer = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    for shape in ((1, 5), (2, 1), (1, 0)):
        feeds = {"i": rng.integers(0, 6, shape)}
        np.testing.assert_array_equal(session.run(None, feeds)[0], peer.run(None, feeds)[0])
    assert session.compiled == 1
