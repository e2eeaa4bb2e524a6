"""Models with dynamic shapes: one program for all shapes, compared with the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser
from onnx.reference import ReferenceEvaluator

import xonnc
from xonnc.errors import XonncError
from xonnc.runtime.native.session import Session

Shapes = Mapping[str, tuple[int, ...]]


def model(inputs: str, outputs: str, body: str) -> onnx.ModelProto:
    return parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : 21]> g ({inputs}) => ({outputs}) {{ {body} }}'
    )


def is_open(session: Session) -> bool:
    """Whether nothing was compiled for certain sizes."""
    return session.compiled == 1 and session.host_calls() == []


def feeds_of(proto: onnx.ModelProto, shapes: Shapes) -> dict[str, np.ndarray[Any, Any]]:
    generator = np.random.default_rng(7)
    feeds: dict[str, np.ndarray[Any, Any]] = {}
    for port in proto.graph.input:
        element = port.type.tensor_type.elem_type
        dtype = onnx.helper.tensor_dtype_to_np_dtype(element)
        shape = shapes[port.name]
        feeds[port.name] = (
            generator.integers(0, 5, shape).astype(dtype)
            if np.issubdtype(dtype, np.integer)
            else generator.standard_normal(shape).astype(dtype)
        )
    return feeds


def check(proto: onnx.ModelProto, given: Sequence[Shapes], threads: int = 1) -> Session:
    session = xonnc.compile(proto, cache=False, threads=threads)
    reference: Any = ReferenceEvaluator(proto)
    for shapes in given:
        feeds = feeds_of(proto, shapes)
        expected, found = reference.run(None, feeds), session.run(None, feeds)
        for one, other in zip(expected, found, strict=True):
            assert isinstance(other, np.ndarray)
            assert other.shape == one.shape
            np.testing.assert_allclose(np.asarray(other, np.float64), one, rtol=2e-4, atol=2e-5)
    return session


WEIGHTS = "w = ConstantOfShape<value = float[1] {0.125}>(s)"

CASES = [
    (
        "sum",
        ("float[N, 4] x, float[N, 4] z", "float[N, 4] y"),
        "y = Add(x, z)",
        [{"x": (3, 4), "z": (3, 4)}, {"x": (40, 4), "z": (40, 4)}, {"x": (0, 4), "z": (0, 4)}],
    ),
    (
        "broadcast",
        ("float[N, S, 4] x, float[N, 1, 4] m, float[S, 1] b", "float[N, S, 4] y"),
        "a = Add(x, m) y = Mul(a, b)",
        [
            {"x": (3, 5, 4), "m": (3, 1, 4), "b": (5, 1)},
            {"x": (1, 1, 4), "m": (1, 1, 4), "b": (1, 1)},
            {"x": (2, 33, 4), "m": (2, 1, 4), "b": (33, 1)},
        ],
    ),
    (
        "a product with a constant, its bias and Relu",
        ("float[N, 8] x", "float[N, 20] y"),
        "s = Constant<value_ints = [8, 20]>() b = Constant<value_float = 0.5>() "
        f"{WEIGHTS} p = MatMul(x, w) q = Add(p, b) y = Relu(q)",
        [{"x": (rows, 8)} for rows in (1, 3, 4, 14, 15, 100)],
    ),
    (
        "Gemm",
        ("float[N, 8] x", "float[N, 20] y"),
        f"s = Constant<value_ints = [20, 8]>() {WEIGHTS} y = Gemm<transB = 1>(x, w)",
        [{"x": (rows, 8)} for rows in (1, 5, 30)],
    ),
    (
        "a product of open matrices",
        ("float[N, K] x, float[K, M] z", "float[N, M] y"),
        "y = MatMul(x, z)",
        [
            {"x": (3, 5), "z": (5, 7)},
            {"x": (17, 33), "z": (33, 65)},
            {"x": (1, 1), "z": (1, 1)},
            {"x": (50, 40), "z": (40, 130)},
        ],
    ),
    (
        "products in any number",
        ("float[B, 2, N, K] x, float[B, 2, K, M] z", "float[B, 2, N, M] y"),
        "y = MatMul(x, z)",
        [{"x": (2, 2, 3, 5), "z": (2, 2, 5, 7)}, {"x": (3, 2, 17, 33), "z": (3, 2, 33, 49)}],
    ),
    (
        "one matrix for all products",
        ("float[N, K] x, float[B, K, M] z", "float[B, N, M] y"),
        "y = MatMul(x, z)",
        [{"x": (3, 5), "z": (4, 5, 7)}, {"x": (17, 9), "z": (2, 9, 49)}],
    ),
    (
        "turned",
        ("float[B, N, K] x", "float[K, B, N] y"),
        "y = Transpose<perm = [2, 0, 1]>(x)",
        [{"x": (2, 3, 5)}, {"x": (5, 17, 33)}, {"x": (3, 64, 48)}, {"x": (1, 16, 1)}],
    ),
    (
        "sequences in reverse",
        ("float[N, S, K] x, int64[N] l", "float[N, S, K] y"),
        "y = ReverseSequence<batch_axis = 0, time_axis = 1>(x, l)",
        [{"x": (3, 5, 2), "l": (3,)}, {"x": (1, 4, 33), "l": (1,)}, {"x": (2, 4, 0), "l": (2,)}],
    ),
    (
        "sequences in reverse, time first",
        ("float[S, N] x, int64[N] l", "float[S, N] y"),
        "y = ReverseSequence(x, l)",
        [{"x": (5, 3), "l": (3,)}, {"x": (4, 70), "l": (70,)}, {"x": (4, 0), "l": (0,)}],
    ),
    (
        "repeated",
        ("float[N, K] x", "float[A, B] y"),
        "r = Constant<value_ints = [2, 3]>() y = Tile(x, r)",
        [{"x": shape} for shape in ((3, 5), (1, 1), (17, 33), (0, 4), (2, 0))],
    ),
    (
        "repeated as often as a size says",
        ("float[2, 3] x, float[N] z", "float[2, K] y"),
        "n = Shape(z) one = Constant<value_ints = [1]>() r = Concat<axis = 0>(one, n) y = Tile(x, r)",
        [{"x": (2, 3), "z": (number,)} for number in (4, 1, 0)],
    ),
    (
        "scattered elements",
        ("float[N, K] x, int64[M, L] i, float[M, L] u", "float[N, K] y"),
        'j = Abs(i) y = ScatterElements<axis = 1, reduction = "add">(x, j, u)',
        [
            {"x": (3, 7), "i": (2, 5), "u": (2, 5)},
            {"x": (1, 9), "i": (1, 1), "u": (1, 1)},
            {"x": (4, 6), "i": (4, 0), "u": (4, 0)},
            {"x": (4, 5), "i": (0, 3), "u": (0, 3)},
        ],
    ),
    (
        "scattered elements along the first axis",
        ("float[N, 3] x, int64[M, 2] i, float[M, 2] u", "float[N, 3] y"),
        'y = ScatterElements<reduction = "max">(x, i, u)',
        [{"x": (5, 3), "i": (9, 2), "u": (9, 2)}, {"x": (70, 3), "i": (1, 2), "u": (1, 2)}],
    ),
    (
        "softmax of rows",
        ("float[N, K] x", "float[N, K] y"),
        "y = Softmax(x)",
        [{"x": (3, 5)}, {"x": (17, 33)}, {"x": (64, 48)}, {"x": (16, 1)}],
    ),
    (
        "softmax of columns",
        ("float[N, K] x", "float[N, K] y"),
        "y = Softmax<axis = 0>(x)",
        [{"x": (3, 5)}, {"x": (17, 33)}],
    ),
    (
        "layers normalised",
        ("float[N, S, 8] x, float[8] a, float[8] b", "float[N, S, 8] y"),
        "y = LayerNormalization(x, a, b)",
        [{"x": (2, 3, 8), "a": (8,), "b": (8,)}],
    ),
    (
        "layers normalised over open axes",
        ("float[N, S] x, float[S] a", "float[N, S] y"),
        "y = LayerNormalization(x, a)",
        [{"x": (2, 3), "a": (3,)}, {"x": (3, 70), "a": (70,)}],
    ),
    (
        "means",
        ("float[N, K, L] x", "float[N, L] y"),
        "a = Constant<value_ints = [1]>() y = ReduceMean<keepdims = 0>(x, a)",
        [{"x": (3, 5, 2)}, {"x": (17, 33, 40)}],
    ),
    (
        "means of integers",
        ("int64[N, K] x", "int64[N] y"),
        "a = Constant<value_ints = [1]>() y = ReduceMean<keepdims = 0>(x, a)",
        [{"x": (3, 4)}, {"x": (7, 32)}],
    ),
    (
        "the largest",
        ("int32[N, K] x", "int32[K] y"),
        "a = Constant<value_ints = [0]>() y = ReduceMax<keepdims = 0>(x, a)",
        [{"x": (3, 5)}, {"x": (7, 31)}],
    ),
    (
        "one behind the other",
        ("float[N, K] x, float[N, L] z", "float[N, M] y"),
        "y = Concat<axis = 1>(x, z)",
        [{"x": (3, 5), "z": (3, 7)}, {"x": (17, 33), "z": (17, 1)}],
    ),
    (
        "parts",
        ("float[N, 6] x", "float[N, 2] y, float[N, 4] z"),
        "s = Constant<value_ints = [2, 4]>() y, z = Split<axis = 1>(x, s)",
        [{"x": (3, 6)}, {"x": (0, 6)}],
    ),
    (
        "rows that indices pick",
        ("int64[N, S] x", "float[N, S, 4] y"),
        "s = Constant<value_ints = [5, 4]>() w = ConstantOfShape<value = float[1] {0.5}>(s) y = Gather(w, x)",
        [{"x": (3, 5)}, {"x": (1, 1)}],
    ),
    (
        "sizes as numbers",
        ("float[N, S, 4] x", "int64[3] y, int64[S] z"),
        "y = Shape(x) i = Constant<value_int = 1>() n = Gather(y, i) o = Constant<value_int = 0>() "
        "e = Constant<value_int = 1>() z = Range(o, n, e)",
        [{"x": (3, 5, 4)}, {"x": (1, 40, 4)}],
    ),
    (
        "heads",
        ("float[N, S, 8] x", "float[N, 2, S, 4] y"),
        "s = Shape(x) zero = Constant<value_ints = [0]>() two = Constant<value_ints = [2]>() "
        "k = Slice(s, zero, two) e = Constant<value_ints = [2, 4]>() t = Concat<axis = 0>(k, e) "
        "r = Reshape(x, t) y = Transpose<perm = [0, 2, 1, 3]>(r)",
        [{"x": (3, 5, 8)}, {"x": (1, 1, 8)}],
    ),
    (
        "to known sizes",
        ("float[3, 1, N, 3] x", "uint8[3, 1, 6] y"),
        "a = Abs(x) c = Cast<to = 2>(a) k = Constant<value_ints = [3, 1, 6]>() y = Reshape(c, k)",
        [{"x": (3, 1, 2, 3)}],
    ),
    (
        "a mask of the longest text",
        ("float[N, S] x", "float[N, S] y"),
        "m = Constant<value_floats = [1.0, 2.0, 3.0, 4.0, 5.0]>() n = Shape<start = 1>(x) "
        "zero = Constant<value_ints = [0]>() c = Slice(m, zero, n) y = Mul(x, c)",
        [{"x": (3, 5)}, {"x": (2, 2)}],
    ),
    (
        "places of the largest, and of the last",
        ("float[N, K] x", "int64[N, 1] y, int64[1, K] z"),
        "y = ArgMax<axis = 1>(x) z = ArgMin<axis = 0, select_last_index = 1>(x)",
        [{"x": (3, 5)}, {"x": (17, 1)}],
    ),
    (
        "sums so far, forwards and backwards",
        ("float[N, K] x", "float[N, K] y, float[N, K] z"),
        "a = Constant<value_int = 1>() b = Constant<value_int = 0>() y = CumSum<reverse = 1>(x, a) "
        "z = CumSum<exclusive = 1>(x, b)",
        [{"x": (3, 5)}, {"x": (7, 40)}],
    ),
    (
        "the last of each text, and rows that indices pick of any number",
        ("float[N, S, 4] x, int64[M] i", "float[N, 4] y, float[M, S, 4] z"),
        "a = Constant<value_int = -1>() y = Gather<axis = 1>(x, a) z = Gather(x, i)",
        [{"x": (5, 3, 4), "i": (7,)}, {"x": (8, 1, 4), "i": (1,)}],
    ),
    (
        "elements that indices pick",
        ("float[N, S] x, int64[N, M] i", "float[N, M] y"),
        "y = GatherElements<axis = 1>(x, i)",
        [{"x": (5, 6), "i": (5, 2)}, {"x": (1, 5), "i": (1, 9)}],
    ),
    (
        "rows and columns in reverse order",
        ("float[N, M] x", "float[N, M] y"),
        """b = Constant<value_ints = [-1, 9223372036854775807]>() s = Constant<value_ints = [-1, -1]>()
        e = Constant<value_ints = [-9223372036854775808, -9223372036854775807]>()
        a = Constant<value_ints = [0, 1]>() y = Slice(x, b, e, a, s)""",
        [{"x": (3, 4)}, {"x": (1, 37)}, {"x": (0, 5)}, {"x": (20, 1)}],
    ),
    (
        "pads of dynamic dimensions",
        ("float[N, M] x", "float[A, B] y"),
        "p = Constant<value_ints = [1, 2, 0, 3]>() c = Constant<value_float = -7.5>() y = Pad(x, p, c)",
        [{"x": (3, 4)}, {"x": (1, 1)}, {"x": (0, 5)}, {"x": (20, 33)}, {"x": (0, 0)}],
    ),
    (
        "pads of a dynamic dimension with a computed value",
        ("int32[N, 3] x, int32 c", "int32[A, 6] y"),
        "p = Constant<value_ints = [0, 1, 2, 2]>() y = Pad(x, p, c)",
        [{"x": (3, 3), "c": ()}, {"x": (1, 3), "c": ()}, {"x": (0, 3), "c": ()}],
    ),
    (
        "pads",
        ("float[N, 3] x", "float[N, 6] y"),
        "p = Constant<value_ints = [0, 1, 0, 2]>() y = Pad(x, p)",
        [{"x": (3, 3)}, {"x": (20, 3)}],
    ),
    (
        "one side of a diagonal",
        ("float[N, S, S] x", "float[N, S, S] y"),
        "y = Trilu<upper = 0>(x)",
        [{"x": (2, 5, 5)}, {"x": (1, 33, 33)}],
    ),
    (
        "channels of each image by themselves",
        ("float[N, 3, H, W] x, float[3] a, float[3] b", "float[N, 3, H, W] y"),
        "y = InstanceNormalization(x, a, b)",
        [{"x": (2, 3, 5, 7), "a": (3,), "b": (3,)}, {"x": (1, 3, 20, 1), "a": (3,), "b": (3,)}],
    ),
    (
        "states over any number of steps",
        ("float[S, N, 6] x, float[1, N, 5] h, float[1, N, 5] c", "float[S, 1, N, 5] y, float[1, N, 5] z"),
        "s = Constant<value_ints = [1, 20, 6]>() t = Constant<value_ints = [1, 20, 5]>() "
        "u = Constant<value_ints = [1, 40]>() w = ConstantOfShape<value = float[1] {0.2}>(s) "
        "r = ConstantOfShape<value = float[1] {-0.3}>(t) b = ConstantOfShape<value = float[1] {0.1}>(u) "
        "y, z, q = LSTM<hidden_size = 5>(x, w, r, b, , h, c)",
        [{"x": (s, n, 6), "h": (1, n, 5), "c": (1, n, 5)} for s, n in ((4, 2), (1, 1), (9, 3))],
    ),
    (
        "states over steps backwards, from nothing",
        ("float[S, 3, 6] x", "float[S, 1, 3, 5] y, float[1, 3, 5] z, float[1, 3, 5] q"),
        "s = Constant<value_ints = [1, 20, 6]>() t = Constant<value_ints = [1, 20, 5]>() "
        "w = ConstantOfShape<value = float[1] {0.2}>(s) r = ConstantOfShape<value = float[1] {-0.3}>(t) "
        'y, z, q = LSTM<hidden_size = 5, direction = "reverse">(x, w, r)',
        [{"x": (s, 3, 6)} for s in (4, 1, 17)],
    ),
    (
        "images",
        ("float[N, 16, 5, 5] x", "float[N, 40] y"),
        "s = Constant<value_ints = [40, 16, 3, 3]>() "
        f"{WEIGHTS} c = Conv<pads = [1, 1, 1, 1]>(x, w) r = Relu(c) "
        "p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(r) g = GlobalAveragePool(p) y = Flatten(g)",
        [{"x": (images, 16, 5, 5)} for images in (1, 2, 5)],
    ),
    (
        "channels that the weights of a normalization tell, one of them constant",
        ("float[N, C, 3] x, float[D] s", "float[N, C, 3] y"),
        "b = Constant<value_floats = [0.5, -1.0]>() y = InstanceNormalization(x, s, b)",
        [{"x": (images, 2, 3), "s": (2,)} for images in (1, 3)],
    ),
    (
        "images of few channels, each by itself, joined",
        ("float[N, 3, 6, 6] x", "float[N, 48, 6, 6] y"),
        "s = Constant<value_ints = [16, 3, 1, 1]>() t = Constant<value_ints = [16, 1, 3, 3]>() "
        f"{WEIGHTS} v = ConstantOfShape<value = float[1] {{0.25}}>(t) a = Conv(x, w) "
        "b = Conv<group = 16, pads = [1, 1, 1, 1]>(a, v) c = AveragePool<kernel_shape = [3, 3], "
        "pads = [1, 1, 1, 1]>(b) y = Concat<axis = 1>(a, b, c)",
        [{"x": (images, 3, 6, 6)} for images in (1, 3)],
    ),
    (
        "images in rows",
        ("float[N, 3, 6, 6] x", "float[N, 2, 6, 6] y"),
        f"s = Constant<value_ints = [2, 3, 3, 3]>() {WEIGHTS} y = Conv<pads = [1, 1, 1, 1]>(x, w)",
        [{"x": (images, 3, 6, 6)} for images in (1, 3)],
    ),
]


@pytest.mark.parametrize(("name", "ports", "body", "given"), CASES, ids=[case[0] for case in CASES])
@pytest.mark.parametrize("threads", [1, 2])
def test_one_program_for_all_sizes(
    name: str, ports: tuple[str, str], body: str, given: Sequence[Shapes], threads: int
):
    session = check(model(*ports, body), given, threads)
    # The products of each step of an LSTM are parallel, if the number of steps is static.
    assert is_open(session) == (threads == 1 or "LSTM" not in body)


def test_products_of_other_floats():
    proto = model("double[N, K] x, double[K, M] z", "double[N, M] y", "y = MatMul(x, z)")
    assert is_open(check(proto, [{"x": (9, 20), "z": (20, 33)}]))


@pytest.mark.parametrize(
    ("ports", "body", "shapes", "message"),
    [
        (
            ("float[N, 4] x", "float[1, 4] y"),
            "k = Constant<value_ints = [1, 4]>() y = Reshape(x, k)",
            {"x": (2, 4)},
            "does not reshape",
        ),
        (
            ("float[N, K] x, float[L, M] z", "float[N, M] y"),
            "y = MatMul(x, z)",
            {"x": (3, 5), "z": (6, 7)},
            "MatMul: reduction dimension must be the same",
        ),
        (
            ("float[N, 3] x, float[M, 3] z", "float[A, 6] y"),
            "s = Shape<start = 0, end = 1>(x) two = Constant<value_ints = [2]>() h = Div(s, two) "
            "zero = Constant<value_ints = [0]>() p = Slice(x, zero, h, zero) "
            "t = Shape<start = 0, end = 1>(z) q = Div(t, two) r = Slice(z, zero, q, zero) "
            "y = Concat<axis = 1>(p, r)",
            {"x": (4, 3), "z": (6, 3)},
            r"operand 'inputs\[1\]' has dimension at index 0 with value 3, value should be 2",
        ),
        (
            ("float[2, 3] x, float[N, 3] z", "float[2, 6] y"),
            "y = Concat<axis = 1>(x, z)",
            {"x": (2, 3), "z": (5, 3)},
            "",
        ),
        (
            ("float[N, 3] x, float[3, 2] z", "float[6, 2] y"),
            "t = Transpose<perm = [1, 0]>(x) y = Concat<axis = 0>(t, z)",
            {"x": (9, 3), "z": (3, 2)},
            "",
        ),
        (
            ("float[S, N] x, int64[M] l", "float[S, N] y"),
            "y = ReverseSequence(x, l)",
            {"x": (5, 3), "l": (2,)},
            "sizeof batch axis of the input: 2 for 3",
        ),
        (
            ("float[N, 3] x, int64[M, 3] i", "float[M, 3] y"),
            "y = GatherElements<axis = 1>(x, i)",
            {"x": (2, 3), "i": (5000, 3)},
            "indices has 5000 elements along axis 0, data has 2",
        ),
        (
            ("float[N, 3] x, int64[M, 3] i, float[M, 3] u", "float[N, 3] y"),
            "y = ScatterElements<axis = 1>(x, i, u)",
            {"x": (2, 3), "i": (5000, 3), "u": (5000, 3)},
            "indices has 5000 elements along axis 0, data has 2",
        ),
        (
            ("float[N, 3] x, int64[M, 3] i, float[K, 3] u", "float[N, 3] y"),
            "y = ScatterElements(x, i, u)",
            {"x": (6, 3), "i": (5000, 3), "u": (1, 3)},
            r"indices has the shape \[5000, 3\], updates has \[1, 3\]",
        ),
        (
            ("float[5, 3] x, int64[M, 1] i, float[K, 3] u", "float[5, 3] y"),
            "y = ScatterND(x, i, u)",
            {"x": (5, 3), "i": (5000, 1), "u": (1, 3)},
            "'updates' has dimension at index 0 with value 1, value should be 5000",
        ),
        (
            ("float[N, 5, 3] x, int64[M, 1] i", "float[M, 3] y"),
            "y = GatherND<batch_dims = 1>(x, i)",
            {"x": (2, 5, 3), "i": (5000, 1)},
            "'indices' has dimension at index 0 with value 5000, value should be 2",
        ),
        (
            ("float[N, S] x", "float[N, S] y"),
            "m = Constant<value_floats = [1.0, 2.0, 3.0]>() n = Shape<start = 1>(x) "
            "zero = Constant<value_ints = [0]>() c = Slice(m, zero, n) y = Mul(x, c)",
            {"x": (2, 4)},
            "incompatible shapes: 2x4, 3",
        ),
    ],
)
def test_sizes_that_do_not_fit_are_told(ports: tuple[str, str], body: str, shapes: Shapes, message: str):
    proto = model(*ports, body)
    session = xonnc.compile(proto, cache=False)
    with pytest.raises(XonncError, match=message):
        session.run(None, feeds_of(proto, shapes))


@pytest.mark.parametrize(
    ("ports", "body", "shapes", "message"),
    [
        (
            ("float[B, 1, 4, 2] x, float[C, 1, 1, 2] u, int64[D] w", "float[B, 1, 4, 2] y"),
            "y = TensorScatter(x, u, w)",
            {"x": (3000, 1, 4, 2), "u": (1, 1, 1, 2), "w": (3000,)},
            "update has 1 elements along axis 0, past_cache has 3000",
        ),
        (
            ("float[B, 1, 8, 2] x, float[C, 1, 1, 2] u, int64[D] w", "float[B, 1, 8, 2] y"),
            "y = TensorScatter(x, u, w)",
            {"x": (3000, 1, 8, 2), "u": (3000, 1, 1, 2), "w": (1,)},
            "write_indices has 1 elements for 3000 batches",
        ),
        (
            ("float[B, 1, S, 8] x, float[P, 4] c, int64[C, D] i", "float[B, 1, S, 8] y"),
            "y = RotaryEmbedding(x, c, c, i)",
            {"x": (30, 1, 100, 8), "c": (5, 4), "i": (1, 1)},
            r"position_ids has entries for \[1, 1\] positions; \[30, 100\] are needed",
        ),
        (
            ("float[B, 1, S, 8] x, float[P, 4] c, float[Q, 4] s, int64[B, S] i", "float[B, 1, S, 8] y"),
            "y = RotaryEmbedding(x, c, s, i)",
            {"x": (2, 1, 3, 8), "c": (5, 4), "s": (1, 4), "i": (2, 3)},
            "they must be the same",
        ),
    ],
)
def test_sizes_of_caches_that_do_not_fit_are_told(
    ports: tuple[str, str], body: str, shapes: Shapes, message: str
):
    proto = model(*ports, body)
    proto.opset_import[0].version = 24
    session = xonnc.compile(proto, cache=False)
    with pytest.raises(XonncError, match=message):
        session.run(None, feeds_of(proto, shapes))


@pytest.mark.parametrize(("index", "size"), [(3, 3), (-4, 3), (0, 0)])
def test_indices_beyond_an_open_axis_are_told(index: int, size: int):
    proto = model("float[N] x, int64[M] i", "float[M] y", "pick = Gather(x, i) y = Exp(pick)")
    session = xonnc.compile(proto, cache=False)
    x = np.zeros(3, np.float32)
    session.run(None, {"x": x, "i": np.array([2, -3])})
    assert session.compiled == 1
    with pytest.raises(XonncError, match="pick: an index is out of range of axis 0"):
        session.run(None, {"x": x[:size], "i": np.array([0, index])})


def test_data_dependent_results_beside_dynamic_shapes_are_cut_by_the_session():
    proto = model(
        "float[4] x, float[N] z",
        "float[K] y, float[N] w",
        "c = Cast<to = 9>(x) y = Compress(x, c) w = Exp(z)",
    )
    session = check(proto, [{"x": (4,), "z": (3,)}, {"x": (4,), "z": (70,)}])
    assert is_open(session)


def test_data_dependent_results_after_a_loop_without_iterations_have_their_size():
    """The body says another size than is fed, so that the model runs as it is."""
    proto = model(
        "int32[4, W] x, int64 n, bool[2] c",
        "int64[A, B] y",
        "t = Constant<value = bool {1}>() k = Constant<value_ints = [2]>() "
        "l, o = Loop(n, t, x) <body = b (int64 i, bool g, int32[4, 1] p) => (bool h, int32[4, 1] q, float r) "
        "{ q = Add(p, p) r = Cast<to = 1>(i) h = Identity(g) }> "
        "m = ArgMin(l) u, v = TopK<largest = 0>(m, k) w = Compress<axis = 1>(v, c) y = ReduceMean(w)",
    )
    x = np.array([[-20, 76], [20, -88], [-51, 28], [15, 34]], np.int32)
    for picked, expected in (([True, False], 1), ([False, True], 0)):
        feeds = {"x": x, "n": np.array(0), "c": np.array(picked)}
        (found,) = xonnc.compile(proto, cache=False).run(None, feeds)
        assert np.asarray(found, np.int64).tolist() == [[expected]]


def test_groups_of_images_in_any_number_are_compiled_for_those_that_are_fed():
    body = f"s = Constant<value_ints = [6, 2, 3, 3]>() {WEIGHTS} y = Conv<group = 3>(x, w)"
    session = check(model("float[N, 6, 6, 6] x", "float[N, 6, 4, 4] y", body), [{"x": (2, 6, 6, 6)}])
    assert session.compiled == 2


def test_operators_without_dynamic_kernels_are_compiled_for_the_shapes_fed():
    session = check(model("float[N, 3] x", "float[N, 3] y", "y = Hardmax(x)"), [{"x": (4, 3)}, {"x": (2, 3)}])
    assert session.compiled == 3
    assert session.host_calls() == []


def test_an_output_has_its_type_where_a_product_tells_its_shape():
    """The product tells that `n` is 1; the bytes of `y` have no sign all the same."""
    proto = model(
        "uint64[n] x, float[n, 1] z", "uint8[m] y, float[p, q] w", "y = Cast<to = 2>(x) w = MatMul(z, z)"
    )
    session = xonnc.compile(proto, cache=False)
    feeds = {"x": np.array([200], np.uint64), "z": np.array([[3]], np.float32)}
    y, w = (np.asarray(value) for value in session.run(None, feeds))
    assert (y.dtype, y.tolist(), w.tolist()) == (np.uint8, [200], [[9]])


def test_range_of_a_size_that_another_operator_requires():
    """The product requires that size is 1; the range's limit, a size too, is not computed."""
    body = """
        c = Constant <value = uint8 {1}> ()
        s = Constant <value = float {0.5}> ()
        first = Constant <value = int64 {0}> ()
        step = Constant <value = int64 {1}> ()
        y = QLinearMatMul (a, s, c, b, s, c, s, c)
        sizes = Shape (x)
        count = Squeeze (sizes)
        r = Range (first, count, step)"""
    proto = model("int64[size] x, uint8[1, size] a, uint8[1, 1] b", "int64[n] r, uint8[1, 1] y", body)
    check(proto, [{"x": (1,), "a": (1, 1), "b": (1, 1)}])


def test_static_dimensions_are_cropped_where_dynamic_ones_are_padded() -> None:
    """The reference does not crop."""
    proto = model(
        "float[N, 3] x", "float[A, 4] y", "p = Constant<value_ints = [1, -1, 0, 2]>() y = Pad(x, p)"
    )
    session = xonnc.compile(proto, cache=False)
    for rows in (3, 0, 20):
        x = np.random.default_rng(rows).standard_normal((rows, 3)).astype(np.float32)
        found = np.asarray(session.run(None, {"x": x})[0], np.float32)
        np.testing.assert_array_equal(found, np.pad(x[:, 1:], ((1, 0), (0, 2))))
    assert is_open(session)


TORCH_PADS = """
    flat = Constant<value_ints = [-1]>() pairs = Constant<value_ints = [-1, 2]>()
    zero = Constant<value_ints = [0]>() far = Constant<value_ints = [-9223372036854775807]>()
    zeros = Constant<value_ints = [0, 0]>() given = Concat<axis = 0>(own, zeros)
    pair = Reshape(given, pairs) back = Slice(pair, flat, far, zero, flat)
    turned = Transpose<perm = [1, 0]>(back) pads = Reshape(turned, flat)"""
"""As torch exports them, for an image of rank 3: `own` has (begin, end) of the last axis, then of rows."""


def test_pads_that_follow_from_sizes():
    """Rows get H - 3 pads, columns 6 - W, which crop some images."""
    body = f"""h = Shape<start = 1, end = 2>(x) w = Shape<start = 2, end = 3>(x)
        one = Constant<value_ints = [1]>() three = Constant<value_ints = [3]>()
        six = Constant<value_ints = [6]>() right = Sub(six, w) top = Sub(h, three)
        own = Concat<axis = 0>(one, right, top, one) {TORCH_PADS} c = Constant<value_float = -7.5>()
        a = Pad(x, pads, c) b = Pad<mode = "edge">(x, pads) d = Pad<mode = "reflect">(x, pads)
        e = Pad<mode = "wrap">(x, pads)"""
    modes = {"a": "constant", "b": "edge", "d": "reflect", "e": "wrap"}
    outputs = ", ".join(f"float[N, P{name}, Q{name}] {name}" for name in modes)
    session = xonnc.compile(model("float[N, H, W] x", outputs, body), cache=False)
    for shape in ((2, 3, 6), (1, 5, 2), (2, 4, 9), (1, 2, 5), (0, 2, 2)):
        x = np.random.default_rng(shape).standard_normal(shape).astype(np.float32)
        top, right = shape[1] - 3, 6 - shape[2]
        cut = np.s_[:, max(-top, 0) :, : right if right < 0 else None]
        pads = [(0, 0), (max(top, 0), 1), (1, max(right, 0))]
        expected = {
            "constant": np.pad(x[cut], pads, constant_values=-7.5),
            "edge": np.pad(x, pads, "edge")[cut],
            "reflect": np.pad(x, pads, "reflect")[cut],
            "wrap": np.pad(x[cut], pads, "wrap"),
        }
        for mode, found in zip(modes.values(), session.run(None, {"x": x}), strict=True):
            np.testing.assert_array_equal(np.asarray(found), expected[mode], f"{mode} of {shape}")
    assert is_open(session)


def test_sizes_that_broadcast_are_assumed_equal():
    """Others are compiled for themselves; sizes that depend on data are broadcast as they are."""
    proto = model(
        "float[A, 4] x, float[B, 4] z, float[C, 4] v", "float[D, 4] y", "t = Add(x, z) y = Mul(t, v)"
    )
    equal: Shapes = {"x": (3, 4), "z": (3, 4), "v": (3, 4)}
    session = check(proto, [equal, {"x": (7, 4), "z": (7, 4), "v": (7, 4)}])
    assert is_open(session)
    assert check(proto, [equal, {"x": (1, 4), "z": (1, 4), "v": (5, 4)}]).compiled == 2
    counted = model("float[5] x, float[1] z", "int64[1, C] y", "n = NonZero(x) m = NonZero(z) y = Add(n, m)")
    check(counted, [{"x": (5,), "z": (1,)}])


def test_slices_of_constant_bounds():
    """Their lengths follow from the sizes that they cut, also where these are smaller."""
    bounds = [(1, 5, 1), (0, 9, 2), (1, -1, 1), (0, -2, 3), (2, 1 << 40, 2), (-3, 1 << 40, 2), (4, 2, 1)]
    names = [f"y{number}" for number in range(len(bounds))]
    body = "zero = Constant<value_ints = [0]>() "
    for name, (start, end, step) in zip(names, bounds, strict=True):
        body += "".join(
            f"{part}_{name} = Constant<value_ints = [{value}]>() "
            for part, value in (("a", start), ("b", end), ("s", step))
        )
        body += f"{name} = Slice(x, a_{name}, b_{name}, zero, s_{name}) "
    proto = model("float[A, 2] x", ", ".join(f"float[{name}n, 2] {name}" for name in names), body)
    assert is_open(check(proto, [{"x": (size, 2)} for size in (7, 1, 3, 12, 0)]))


def test_quotients_are_of_what_is_not_negative():
    """(A - 1) / 3 is rounded towards zero: an input of no rows is compiled for itself."""
    body = """one = Constant<value_ints = [1]>() three = Constant<value_ints = [3]>() s = Shape<end = 1>(x)
        d = Sub(s, one) q = Div(d, three) m = Mod(d, three) p = Concat<axis = 0>(q, m) o = Add(p, one)
        z = ConstantOfShape<value = float[1] {2}>(o) y = Neg(z)"""
    proto = model("float[A] x", "float[B, C] y", body)
    assert is_open(check(proto, [{"x": (size,)} for size in (1, 2, 3, 4, 11)]))
    assert check(proto, [{"x": (0,)}]).compiled == 2


def test_ends_of_slices_are_assumed_not_to_count_from_the_end():
    """The rows from 1 to A - 4: an image of fewer than 4 is compiled for itself."""
    body = """zero = Constant<value_ints = [0]>() one = Constant<value_ints = [1]>()
        four = Constant<value_ints = [4]>() s = Shape<end = 1>(x) e = Sub(s, four)
        y = Slice(x, one, e, zero)"""
    proto = model("float[A, 2] x", "float[B, 2] y", body)
    assert is_open(check(proto, [{"x": (size, 2)} for size in (9, 4, 5, 7)]))
    assert check(proto, [{"x": (9, 2)}, {"x": (3, 2)}]).compiled == 2
