"""Products with constant weights of 4 and 8 bits, which kernels read packed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.helper
import pytest
from block_weights import KINDS, RANDOM, kernels, product, random_weights, tensor
from native_nodes import is_here

from xonnc.native import compile_native
from xonnc.runtime.native.session import Session

Array = npt.NDArray[Any]


def weights_model(
    integers: tuple[str, Array, Array, Array | None],
    *,
    block: int,
    rows: int | str = "m",
) -> onnx.ModelProto:
    """A product of `x` and weights: their type, integers, scales, and zero points."""
    name, values, scales, zeros = integers
    kind = KINDS[name][0]
    k, n = values.shape
    constants = [tensor("w", kind, values), tensor("s", onnx.TensorProto.FLOAT, scales)]
    if zeros is not None:
        constants.append(tensor("z", kind, zeros))
    nodes = [
        onnx.helper.make_node(
            "DequantizeLinear", [each.name for each in constants], ["b"], axis=0, block_size=block
        ),
        onnx.helper.make_node("MatMul", ["x", "b"], ["y"]),
    ]
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes,
        "g",
        [info("x", onnx.TensorProto.FLOAT, [rows, k])],
        [info("y", onnx.TensorProto.FLOAT, [rows, n])],
        constants,
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)


def result(session: Session, x: Array) -> Array:
    return np.asarray(session.run(None, {"x": x})[0])


@pytest.mark.parametrize("zero", ["none", "constant", "varied"])
@pytest.mark.parametrize(
    ("name", "k", "n", "block"),
    [("uint4", 48, 70, 16), ("int4", 64, 17, 32), ("uint8", 12, 3, 4), ("int8", 256, 16, 128)],
)
def test_weights_stay_packed_for_any_number_of_rows(name: str, k: int, n: int, block: int, zero: str):
    integers = random_weights(name, k, n, block, zero)
    session = compile_native(weights_model(integers, block=block))
    for rows in (1, 2, 3, 7, 0, 23, 24, 31):
        x = RANDOM.normal(size=(rows, k)).astype(np.float32)
        y = result(session, x)
        np.testing.assert_allclose(y, product(x, integers), rtol=1e-4, atol=1e-4)
    assert kernels(session) == ["dequantize_gemm_0"]
    assert session.compiled == 1


@pytest.mark.parametrize("target", [name for name in ("avx512", "avx2", "portable") if is_here(name)])
def test_every_vector_width(target: str):
    integers = random_weights("uint4", 64, 37, 32, "varied")
    session = compile_native(weights_model(integers, block=32), target=target)
    for rows in (5, 27):
        x = RANDOM.normal(size=(rows, 64)).astype(np.float32)
        np.testing.assert_allclose(result(session, x), product(x, integers), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("k", "block"), [(256, 128), (96, 32), (192, 16), (40, 8)])
def test_many_rows_read_weights_unpacked_in_pieces(k: int, block: int):
    integers = random_weights("uint4", k, 37, block, "varied")
    session = compile_native(weights_model(integers, block=block, rows=25))
    x = RANDOM.normal(size=(25, k)).astype(np.float32)
    np.testing.assert_allclose(result(session, x), product(x, integers), rtol=1e-4, atol=1e-4)


def test_blocks_that_fill_no_words_are_dequantized_first():
    integers = random_weights("uint4", 12, 5, 4, "none")
    session = compile_native(weights_model(integers, block=4, rows=2))
    x = RANDOM.normal(size=(2, 12)).astype(np.float32)
    np.testing.assert_allclose(result(session, x), product(x, integers), rtol=1e-4, atol=1e-4)
    assert "dequantizelinear_0" in kernels(session)


def test_nan_and_infinity_reach_only_their_own_row():
    integers = random_weights("uint4", 32, 5, 16, "constant")
    values = integers[1]
    values[3] = 0
    x = np.zeros((3, 32), np.float32)
    x[0, 3], x[2, 3] = np.nan, np.inf
    session = compile_native(weights_model(integers, block=16, rows=3))
    (y,) = session.run(None, {"x": x})
    assert isinstance(y, np.ndarray)
    assert np.isnan(y[0]).all()
    np.testing.assert_array_equal(y[1:], [[0.0] * 5, [-np.inf] * 5])


def bounded(x: Array, integers: tuple[str, Array, Array, Array | None], y: Array) -> None:
    """Each result differs from the exact one by little, relative to the largest sum of 32 products."""
    _, values, scales, _ = integers
    exact = product(x.astype(np.float64), integers)
    block = values.shape[0] // scales.shape[0]
    largest = np.abs(x.astype(np.float64)).reshape(len(x), -1, 32).max(-1).repeat(32, -1)
    most = largest @ (15 * np.abs(scales.astype(np.float64)).repeat(block, 0))
    assert (np.abs(y - exact) <= 2.0**-23 * most + 1e-37).all()


@pytest.mark.parametrize(("k", "n", "block"), [(64, 17, 32), (256, 70, 128), (96, 1, 96)])
@pytest.mark.parametrize("spread", [0, 3, 10])
def test_one_row_is_as_exact_as_its_largest_activations(k: int, n: int, block: int, spread: int):
    integers = random_weights("int4", k, n, block, "constant")
    session = compile_native(weights_model(integers, block=block))
    for scale in (1e-40, 1e-30, 1.0, 1e15):
        x = (RANDOM.normal(size=(1, k)) * np.exp(spread * RANDOM.normal(size=(1, k)))) * scale
        x[0, ::7] = 0
        bounded(x.astype(np.float32), integers, result(session, x.astype(np.float32)))
    assert not result(session, np.zeros((1, k), np.float32)).any()


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_one_row_with_nan_or_infinity(special: float):
    integers = random_weights("uint4", 64, 16, 32, "constant")
    values = integers[1]
    values[3] = np.arange(16)
    x = RANDOM.normal(size=(1, 64)).astype(np.float32)
    x[0, 3] = special
    session = compile_native(weights_model(integers, block=32, rows=1))
    with np.errstate(invalid="ignore"):
        expected = product(x, integers)
    np.testing.assert_array_equal(result(session, x), expected)


def test_threads_compute_the_same():
    integers = random_weights("uint4", 64, 300, 32, "varied")
    one, two = (compile_native(weights_model(integers, block=32), threads=threads) for threads in (1, 2))
    for rows in (3, 30):
        x = RANDOM.normal(size=(rows, 64)).astype(np.float32)
        np.testing.assert_array_equal(result(one, x), result(two, x))
