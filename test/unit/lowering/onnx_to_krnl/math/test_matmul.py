"""Gemm, MatMul, Einsum and ConvTranspose in the forms that tiles are not made for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from native_nodes import Array, Node, check, is_here, session_of
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from xonnc.artifacts import compile_artifact
from xonnc.dialects.krnl.tiles import batch_axes
from xonnc.native import compile_native
from xonnc.runtime.native.session import Session

RANDOM = np.random.default_rng(14)


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return RANDOM.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("c", [None, (), (1,), (6,), (5, 1), (1, 6), (5, 6)])
@pytest.mark.parametrize("turned", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_gemm(turned: tuple[int, int], c: Sequence[int] | None):
    a, b = floats(5, 9), floats(9, 6)
    inputs: list[Array | None] = [np.ascontiguousarray(a.T) if turned[0] else a]
    inputs.append(np.ascontiguousarray(b.T) if turned[1] else b)
    inputs.append(None if c is None else floats(*c))
    attributes = {"transA": turned[0], "transB": turned[1], "alpha": 0.5, "beta": -1.5}
    check(Node("Gemm", inputs, attributes, rtol=1e-4))


@pytest.mark.parametrize("constant", [(), (1,), (1, 2)])
@pytest.mark.parametrize("turned", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_gemm_of_many_tiles(turned: tuple[int, int], constant: Sequence[int]):
    a, b = floats(70, 130), floats(130, 67)
    a[3, 4], b[5, 6] = np.inf, np.nan
    inputs = [a.T.copy() if turned[0] else a, b.T.copy() if turned[1] else b, floats(70, 67)]
    attributes = {"transA": turned[0], "transB": turned[1]}
    with np.errstate(invalid="ignore"):
        wanted = a @ b
    for more, expected in (({}, wanted + inputs[2]), ({"alpha": 0.5, "beta": 0.0}, wanted * np.float32(0.5))):
        check(Node("Gemm", inputs, attributes | more, constant, rtol=2e-4, expected=[expected]))
    check(Node("Gemm", inputs[:2], attributes, constant[:1], rtol=2e-4, expected=[wanted]))


def test_gemm_without_its_c_does_not_read_it():
    check(
        Node("Gemm", [floats(3, 5), floats(5, 4), np.full(4, np.nan, np.float32)], {"beta": 0.0}, rtol=1e-5)
    )


def test_gemm_of_float64_and_float16():
    # Numbers of its own: a sum near zero, as other numbers give, is all rounding of float16 in the reference.
    random = np.random.default_rng(14)
    for dtype, rtol in ((np.float64, 1e-6), (np.float16, 2e-3)):
        inputs = [random.normal(size=size).astype(dtype) for size in ((3, 17), (17, 4), 4)]
        check(Node("Gemm", inputs, {"alpha": 0.5}, rtol=rtol))


FORMS: Sequence[tuple[Sequence[int], Sequence[int]]] = (
    ((7,), (7,)),
    ((7,), (7, 3)),
    ((3, 7), (7,)),
    ((2, 5, 7), (7,)),
    ((2, 1, 5, 7), (3, 7, 2)),
    ((3, 2, 5, 7), (1, 2, 7, 2)),
)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "uint64"])
@pytest.mark.parametrize("form", FORMS)
def test_matmul(form: tuple[Sequence[int], Sequence[int]], dtype: str):
    known: dict[str, type[np.generic]] = {"bfloat16": ml_dtypes.bfloat16}
    to = known.get(dtype) or np.dtype(dtype)
    a, b = (np.round(np.abs(floats(*shape)) * 4).astype(to) for shape in form)
    check(Node("MatMul", [a, b], rtol=1e-5))


BROADCAST: Sequence[tuple[Sequence[int], Sequence[int]]] = (
    ((5, 1, 3, 7), (1, 6, 7, 2)),
    ((5, 1, 9, 7), (6, 7, 33)),
    ((4, 3, 1, 2, 5, 7), (1, 3, 6, 1, 7, 2)),
    ((1, 3, 1, 5, 7), (4, 1, 6, 7, 2)),
    ((9, 10, 1, 4), (9, 1, 4, 5)),
)
"""Shapes of products whose matrices are not equally spaced."""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", BROADCAST)
def test_matmul_of_broadcast_matrices(
    form: tuple[Sequence[int], Sequence[int]], dtype: type[np.floating], threads: int
):
    a, b = (floats(*shape).astype(dtype) for shape in form)
    a.reshape(-1)[::17] = 0.0
    a.reshape(-1)[3], a.reshape(-1)[-2], b.reshape(-1)[-1] = np.nan, -np.inf, np.inf
    node = Node("MatMul", [a, b])
    (found,) = session_of(node.model(), threads).run(None, node.feeds)
    assert isinstance(found, np.ndarray)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(np.asarray(found, np.float64), np.matmul(a, b), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", [((2, 1, 5, 7), (1, 3, 7, 9)), ((40, 1, 5, 7), (1, 50, 7, 9))])
def test_products_of_a_batch_share_their_code(form: tuple[Sequence[int], Sequence[int]], tmp_path: Path):
    a, b = (floats(*shape) for shape in form)
    compile_artifact(Node("MatMul", [a, b]).model(), tmp_path / "product.ll", "portable")
    assert (tmp_path / "product.ll").read_text().count("@llvm.fmuladd") < 40


def test_grouped_convolutions_of_a_batch_share_their_code(tmp_path: Path):
    for images in (2, 60):
        node = Node("Conv", [floats(images, 18, 9), floats(36, 3, 4)], {"group": 6}, [1])
        check(node)
        compile_artifact(node.model(), tmp_path / f"{images}.ll", "portable")
    few, many = ((tmp_path / f"{images}.ll").stat().st_size for images in (2, 60))
    assert many < 1.1 * few


def test_axes_of_a_batch():
    assert batch_axes([0]) == []
    assert batch_axes([0, 6, 12]) == [(3, 6)]
    assert batch_axes([0, 0, 6, 6, 12, 12]) == [(2, 0), (3, 6)]
    assert batch_axes([0, 6, 0, 6]) == [(2, 6), (2, 0)]
    assert batch_axes([0, 1, 3]) is None
    assert batch_axes([6, 12]) is None
    for full in product((1, 2, 3), repeat=4):
        for is_kept in product((False, True), repeat=4):
            shape = [size if keep else 1 for size, keep in zip(full, is_kept, strict=True)]
            starts = np.broadcast_to(4 * np.arange(np.prod(shape)).reshape(shape), full).reshape(-1)
            axes = batch_axes(starts.tolist())
            assert axes is not None
            numbers, found = np.arange(starts.size), np.zeros(starts.size, int)
            for count, distance in axes:
                found += numbers % count * distance
                numbers //= count
            assert np.array_equal(found, starts)


EQUATIONS: Sequence[tuple[str, Sequence[Sequence[int]]]] = (
    ("ij->ji", [(3, 4)]),
    ("ij->", [(3, 4)]),
    ("ii->i", [(4, 4)]),
    ("ii", [(4, 4)]),
    ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]),
    ("bij, bjk", [(2, 3, 4), (2, 4, 5)]),
    ("i,i", [(5,), (5,)]),
    ("abc,cde->abde", [(2, 3, 4), (4, 5, 6)]),
    ("bnts,bsnh->btnh", [(2, 3, 4, 5), (2, 5, 3, 6)]),
    ("i,ij->j", [(4,), (4, 5)]),
    ("ij,j->i", [(3, 4), (4,)]),
    ("i,ij,jk->k", [(3,), (3, 4), (4, 5)]),
    ("i,j,k->kij", [(2,), (3,), (4,)]),
    ("b...d,d->...b", [(2, 3, 4, 5), (5,)]),
    ("...ij,...jk->...ik", [(3, 1, 2, 4), (1, 3, 4, 5)]),
    ("ij,jk->ik", [(2, 1), (3, 4)]),
)


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS)
def test_einsum(equation: str, shapes: Sequence[Sequence[int]]):
    arrays = [floats(*shape) for shape in shapes]
    requested = np.asarray(np.einsum(equation.replace(" ", ""), *arrays), np.float32)
    check(Node("Einsum", arrays, {"equation": equation}, expected=[requested], rtol=1e-4))


SPREADS: dict[str, tuple[Sequence[int], Sequence[int], Mapping[str, object]]] = {
    "plain": ((1, 2, 3, 4), (2, 3, 3, 3), {}),
    "strides and pads": ((2, 2, 4, 3), (2, 3, 3, 2), {"strides": [2, 3], "pads": [1, 0, 1, 1]}),
    "dilated": ((1, 1, 3, 3), (1, 1, 2, 2), {"dilations": [2, 2]}),
    "of a row": ((1, 3, 5), (3, 2, 4), {"strides": [2], "output_padding": [1]}),
    "of a volume": ((1, 1, 2, 3, 2), (1, 2, 2, 2, 2), {}),
    "of many pixels": ((2, 3, 5, 17), (3, 4, 3, 3), {"strides": [2, 2]}),
    "of a shape": ((1, 1, 3, 3), (1, 2, 3, 3), {"strides": [3, 2], "output_shape": [10, 8]}),
    "same": ((1, 1, 3, 3), (1, 2, 3, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
}


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("case", SPREADS)
def test_conv_transpose(case: str, has_bias: bool):
    shape, weights, attributes = SPREADS[case]
    inputs = [floats(*shape), floats(*weights)]
    if has_bias:
        inputs.append(floats(weights[1]))
    check(Node("ConvTranspose", inputs, attributes, rtol=1e-4))


def test_groups_of_conv_transpose():
    """Group by group: the reference evaluator of onnx 1.23 takes one group alone."""
    x, w = floats(2, 4, 3, 3), floats(4, 2, 2, 2)
    parts = [Node("ConvTranspose", [x[:, at], w[at]]).wanted()[0] for at in (slice(0, 2), slice(2, 4))]
    check(Node("ConvTranspose", [x, w], {"group": 2}, expected=[np.concatenate(parts, axis=1)], rtol=1e-4))


@pytest.mark.parametrize(
    ("shape", "image", "block", "attributes"),
    [
        ((1, 5, 5), (5, 5), (1, 5), {}),
        ((2, 12, 6), (5, 5), (2, 3), {"strides": [2, 1], "pads": [0, 0, 0, 0], "dilations": [1, 1]}),
        ((1, 9, 16), (4, 4), (3, 3), {"pads": [1, 1, 1, 1]}),
    ],
)
def test_col2im(
    shape: Sequence[int], image: Sequence[int], block: Sequence[int], attributes: Mapping[str, object]
):
    inputs = [floats(*shape), np.array(image), np.array(block)]
    check(Node("Col2Im", inputs, attributes, constant=[1, 2]))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [None, 523])
def test_large_results_of_a_small_depth(size: int | None, threads: int):
    """Tiles of rows are the outer loop; sizes are no multiples of those of tiles."""
    a, b = floats(3, 523, 21), floats(3, 21, 523)
    a[0, 0, 0], b[1, 2, 3] = np.nan, np.inf
    shapes = {"a": [3, size or "m", 21], "b": [3, 21, size or "n"]}
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["a", "b"], ["y"])],
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    session = compile_native(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), threads=threads
    )
    (y,) = session.run(None, {"a": a, "b": b})
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(np.asarray(y), a @ b, rtol=1e-3, atol=1e-4)
    assert session.host_calls() == []


@pytest.mark.covering(2)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rows", ["m", 1, 3])
@pytest.mark.parametrize("forms", [("nmk", "nkp"), ("mk", "nkp"), ("nmk", "kp"), ("mk", "kp")])
def test_few_rows_known_at_run_time(forms: tuple[str, str], rows: str | int, threads: int):
    """A matrix is packed for many rows only; one program serves all numbers of rows, none too."""
    dims = {"m": rows, "k": "k", "n": "n", "p": "p"}
    shapes = {name: [dims[each] for each in form] for name, form in zip("ab", forms, strict=True)}
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["a", "b"], ["c"]), helper.make_node("Relu", ["c"], ["y"])],
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    session = compile_native(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), threads=threads
    )
    for count in (1, 2, 5, 6, 7, 8, 9, 23, 0) if rows == "m" else (rows,):
        for n, k, p in ((1, 64, 1), (3, 5, 67), (2, 130, 48), (4, 1, 200), (2, 33, 79), (1, 9, 15)):
            sizes = {"m": int(count), "n": n, "k": k, "p": p}
            a, b = (floats(*(sizes[each] for each in form)) for form in forms)
            if k == 130 and count:
                a[..., 0, 3], b[..., 7, 2] = np.inf, np.nan
            (y,) = session.run(None, {"a": a, "b": b})
            with np.errstate(invalid="ignore"):
                expected = np.maximum(a @ b, np.float32(0))
            np.testing.assert_allclose(np.asarray(y), expected, rtol=1e-4, atol=1e-4)
    assert session.host_calls() == []
    assert session.compiled == 1


Shape: TypeAlias = Sequence[int | str]
Floats: TypeAlias = npt.NDArray[np.floating[Any]]


def products_with_transposed(shapes: Sequence[tuple[Shape, Shape]], element: int) -> ModelProto:
    """A model of `Relu(A Bᵀ)` for each pair of shapes."""
    nodes, inputs = list[NodeProto](), list[ValueInfoProto]()
    for number, pair in enumerate(shapes):
        axes = list(range(len(pair[1])))
        axes[-2:] = axes[:-3:-1]
        nodes += [
            helper.make_node("Transpose", [f"b{number}"], [f"t{number}"], perm=axes),
            helper.make_node("MatMul", [f"a{number}", f"t{number}"], [f"c{number}"]),
            helper.make_node("Relu", [f"c{number}"], [f"y{number}"]),
        ]
        inputs += [
            helper.make_tensor_value_info(f"{name}{number}", element, shape)
            for name, shape in zip("ab", pair, strict=True)
        ]
    outputs = [helper.make_tensor_value_info(f"y{each}", element, None) for each in range(len(shapes))]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def check_products_with_transposed(session: Session, pairs: Sequence[tuple[Floats, Floats]]) -> None:
    feeds = {
        f"{name}{i}": each for i, pair in enumerate(pairs) for name, each in zip("ab", pair, strict=True)
    }
    for given, (a, b) in zip(session.run(None, feeds), pairs, strict=True):
        with np.errstate(invalid="ignore"):
            expected = np.maximum(a @ b.swapaxes(-1, -2), 0)
        np.testing.assert_allclose(np.asarray(given), expected, rtol=1e-4, atol=1e-4)
    assert session.host_calls() == []
    assert not any("transpose" in line.what for line in session.report())


TRANSPOSED: Sequence[tuple[Sequence[int], Sequence[int]]] = (
    ((1, 16), (1, 16)),
    ((3, 2, 1, 64), (3, 2, 37, 64)),
    ((2, 3, 19), (5, 1, 23, 19)),
    ((16, 33), (67, 33)),
    ((17, 20), (21, 20)),
    ((2, 5, 70), (9, 70)),
)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("target", [name for name in ("cpu", "avx2", "portable") if is_here(name)])
def test_products_with_a_transposed_matrix(target: str, dtype: type[np.float32 | np.float64]):
    pairs: list[tuple[Floats, Floats]] = []
    for shapes in TRANSPOSED:
        a, b = (np.asarray(RANDOM.normal(size=shape), dtype) for shape in shapes)
        if shapes[0][-1] > 60:
            a[..., 0, 3], b[..., 7, 65 % shapes[0][-1]] = np.inf, np.nan
        pairs.append((a, b))
    element = TensorProto.FLOAT if dtype is np.float32 else TensorProto.DOUBLE
    model = products_with_transposed([(a.shape, b.shape) for a, b in pairs], element)
    check_products_with_transposed(compile_native(model, target), pairs)


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_of_products_with_a_transposed_matrix_are_known_at_run_time(threads: int):
    shapes = [(["h", "m", 20], ["h", "n", 20]), (["h", 2, 64], ["n", 64])]
    session = compile_native(products_with_transposed(shapes, TensorProto.FLOAT), threads=threads)
    for m in (1, 2, 7, 16, 17, 40, 0):
        for h, n in ((1, 1), (3, 67)):
            pairs = [(floats(h, m, 20), floats(h, n, 20)), (floats(h, 2, 64), floats(n, 64))]
            check_products_with_transposed(session, pairs)
    assert session.compiled == 1
