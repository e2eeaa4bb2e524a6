"""Products of int8 activations and weights of 4 and 8 bits, both with scales of blocks along K."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.helper
import pytest
from block_weights import KINDS, kernels, product, random_weights, tensor
from native_nodes import is_here

from xonnc.native import compile_native
from xonnc.runtime.native.session import Session

Array = npt.NDArray[Any]
Weights = tuple[str, Array, Array, Array | None]

RANDOM = np.random.default_rng(22)
DOT_TARGETS = [name for name in ("avx512vnni", "avxvnni") if is_here(name)]
needs_dot = pytest.mark.skipif(not DOT_TARGETS, reason="no dot products of bytes on this processor")


def integer_model(
    weights: Weights,
    block: int,
    *,
    products: int = 1,
    given: int = onnx.TensorProto.INT8,
    **attributes: Any,
) -> onnx.ModelProto:
    """Products of integers `q` with scales `f`, and weights times 1, 2, … as many as `products`."""
    name, values, scales, zeros = weights
    k, n = values.shape
    kind = KINDS[name][0]
    floats = onnx.TensorProto.FLOAT
    constants = [tensor(f"s{each}", floats, scales * (each + 1)) for each in range(products)]
    constants.append(tensor("w", kind, values))
    if zeros is not None:
        constants.append(tensor("z", kind, zeros))
    held: dict[str, Any] = {"axis": -1, "block_size": block, **attributes}
    make, info = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    nodes = [make("DequantizeLinear", ["q", "f"], ["a"], **held)]
    for number in range(products):
        operands = ["w", f"s{number}", *(["z"] if zeros is not None else [])]
        nodes.append(make("DequantizeLinear", operands, [f"b{number}"], axis=0, block_size=block))
        nodes.append(make("MatMul", ["a", f"b{number}"], [f"y{number}"]))
    graph = onnx.helper.make_graph(
        nodes,
        "g",
        [info("q", given, [1, "m", k]), info("f", onnx.TensorProto.FLOAT, [1, "m", None])],
        [info(f"y{number}", onnx.TensorProto.FLOAT, [1, "m", n]) for number in range(products)],
        constants,
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)


def activations(rows: int, k: int, block: int) -> tuple[dict[str, Array], Array]:
    """Random operands, and the activations that they stand for."""
    integers = RANDOM.integers(-128, 128, (1, rows, k)).astype(np.int8)
    scales = RANDOM.uniform(0.01, 2, (1, rows, k // block)).astype(np.float32)
    real = integers * np.repeat(scales.astype(np.float64), block, -1)
    return {"q": integers, "f": scales}, real


def check(session: Session, weights: Weights, block: int, rows: int) -> None:
    k = weights[1].shape[0]
    feeds, real = activations(rows, k, block)
    expected = product(real, weights)
    for number, y in enumerate(session.run(None, feeds)):
        np.testing.assert_allclose(np.asarray(y) / (number + 1), expected, rtol=1e-5, atol=1e-5 * k)


@needs_dot
@pytest.mark.parametrize("zero", ["none", "constant", "varied"])
@pytest.mark.parametrize(
    ("name", "k", "n", "block"),
    [("uint4", 48, 70, 16), ("int4", 64, 17, 32), ("uint8", 16, 3, 8), ("int8", 512, 16, 512)],
)
def test_any_number_of_rows_is_multiplied_in_integers(name: str, k: int, n: int, block: int, zero: str):
    weights = random_weights(name, k, n, block, zero)
    for target in DOT_TARGETS:
        session = compile_native(integer_model(weights, block), target=target)
        for rows in (1, 2, 3, 4, 7, 0):
            check(session, weights, block, rows)
        assert kernels(session) == ["quantized_gemm_0"]
        assert session.compiled == 1


@needs_dot
def test_extremes_do_not_overflow():
    weights = "uint8", np.full((512, 2), 255), np.ones((1, 2), np.float32), np.zeros((1, 2), np.uint8)
    session = compile_native(integer_model(weights, 512), target=DOT_TARGETS[0])
    feeds = {"q": np.full((1, 1, 512), -128, np.int8), "f": np.ones((1, 1, 1), np.float32)}
    (y,) = session.run(None, feeds)
    np.testing.assert_array_equal(np.asarray(y), np.full((1, 1, 2), -128.0 * 255 * 512))


@needs_dot
def test_products_of_the_same_activations_each_read_integers():
    weights = random_weights("uint4", 64, 40, 32, "varied")
    session = compile_native(integer_model(weights, 32, products=2), target=DOT_TARGETS[0])
    check(session, weights, 32, 3)
    assert [name.rpartition("_")[0] for name in kernels(session)] == ["quantized_gemm"] * 2


@needs_dot
def test_threads_compute_the_same_in_integers():
    weights = random_weights("uint4", 64, 300, 32, "varied")
    feeds, _ = activations(3, 64, 32)
    one, two = (
        compile_native(integer_model(weights, 32), target=DOT_TARGETS[0], threads=threads).run(None, feeds)[0]
        for threads in (1, 2)
    )
    np.testing.assert_array_equal(np.asarray(one), np.asarray(two))


@pytest.mark.parametrize("target", [name for name in ("avx512", "portable") if is_here(name)])
def test_processors_without_dot_products_multiply_floats(target: str):
    weights = random_weights("uint4", 64, 40, 32, "varied")
    session = compile_native(integer_model(weights, 32), target=target)
    check(session, weights, 32, 3)
    assert "dequantize_gemm" in " ".join(kernels(session))


@needs_dot
@pytest.mark.parametrize("why", ["unsigned", "axis", "block", "large block"])
def test_other_activations_are_floats(why: str):
    block = 1024 if why == "large block" else 32
    k = max(64, block)
    weights = random_weights("uint4", k, 40, block, "none")
    attributes: dict[str, Any] = {"block": {"block_size": 16}, "axis": {"axis": 1, "block_size": 1}}.get(
        why, {}
    )
    kind = onnx.TensorProto.UINT8 if why == "unsigned" else onnx.TensorProto.INT8
    session = compile_native(integer_model(weights, block, given=kind, **attributes), target=DOT_TARGETS[0])
    shape = (1, 3, k) if why == "axis" else (1, 3, k // attributes.get("block_size", block))
    scales = RANDOM.uniform(0.5, 2, shape).astype(np.float32)
    dtype = np.uint8 if why == "unsigned" else np.int8
    integers = RANDOM.integers(0, 100, (1, 3, k)).astype(dtype)
    real = integers * np.repeat(scales.astype(np.float64), k // shape[-1], -1)
    (y,) = session.run(None, {"q": integers, "f": scales})
    np.testing.assert_allclose(np.asarray(y), product(real, weights), rtol=1e-4, atol=1e-2)
    assert "quantized_gemm" not in " ".join(kernels(session))


def permitted_model(level: int, k: int = 64, n: int = 40, block: int = 32) -> onnx.ModelProto:
    """MatMulNBits with an accuracy level."""
    blocks, rng = k // block, np.random.default_rng(23)
    constants = [
        onnx.numpy_helper.from_array(rng.integers(0, 256, (n, blocks, block // 2), np.uint8), "w"),
        onnx.numpy_helper.from_array(rng.uniform(0.01, 0.1, n * blocks).astype(np.float32), "s"),
    ]
    given: dict[str, Any] = {"K": k, "N": n, "bits": 4, "block_size": block, "accuracy_level": level}
    node = onnx.helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", **given)
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [node],
        "g",
        [info("x", onnx.TensorProto.FLOAT, ["m", k])],
        [info("y", onnx.TensorProto.FLOAT, ["m", n])],
        constants,
    )
    opsets = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("com.microsoft", 1)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)


def test_accuracy_level_4_permits_int8_activations():
    session, precise = (compile_native(permitted_model(level)) for level in (4, 0))
    x = RANDOM.normal(size=(3, 64)).astype(np.float32)
    x[1] = 0
    x[2, 40] = np.nan
    y, expected = (np.asarray(each.run(None, {"x": x})[0]) for each in (session, precise))
    np.testing.assert_allclose(y[0], expected[0], atol=0.02 * np.abs(expected[0]).max())
    assert (y[0] != expected[0]).any()
    np.testing.assert_array_equal(y[1], np.zeros(40))
    assert np.isnan(y[2]).all()
    kernel = "quantized_gemm" if DOT_TARGETS else "dequantize_gemm"
    assert kernel in " ".join(kernels(session))
    assert "dequantize_gemm_0" in kernels(precise)
