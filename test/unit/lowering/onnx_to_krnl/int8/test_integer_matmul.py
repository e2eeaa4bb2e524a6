"""Products and convolutions of 8 bit integers give what exact integers give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest
from native_nodes import Node, check, check_all, is_here
from onnx import numpy_helper

from xonnc.native import compile_native

Array = npt.NDArray[np.generic]

RANDOM = np.random.default_rng(12)


OTHERS = [name for name in ("avx2", "portable") if is_here(name)]


def integers(dtype: str, *shape: int) -> Array:
    """Over the whole range."""
    known = np.iinfo(dtype)
    return RANDOM.integers(known.min, known.max + 1, shape).astype(dtype)


def scale(*shape: int) -> Array:
    return RANDOM.uniform(0.01, 0.1, shape).astype(np.float32)


PRODUCTS: Sequence[tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]]] = (
    ((3, 4), (4, 5), (), ()),
    ((5, 33), (33, 17), (), (17,)),
    ((6, 7), (7, 2), (6,), ()),
    ((2, 3, 4), (2, 4, 5), (), ()),
    ((2, 1, 3, 9), (4, 9, 6), (), ()),
    ((2, 3, 9), (9, 6), (), (6,)),
    ((4,), (4,), (), ()),
    ((1, 1), (1, 1), (), ()),
    ((2, 3, 700), (2, 700, 5), (), ()),
    ((3, 300), (300, 4), (3,), (4,)),
)
"""Shapes of both factors and of their zero points."""


@pytest.mark.parametrize("dtypes", [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8")])
def test_products(dtypes: tuple[str, str]):
    check_all(node for case in PRODUCTS for node in products(dtypes, case))


def products(
    dtypes: tuple[str, str], case: tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]]
) -> Iterator[Node]:
    """With zero points known only at run time, and with none."""
    a, b = (integers(dtype, *shape) for dtype, shape in zip(dtypes, case[:2], strict=True))
    zeros = [integers(dtype, *shape) for dtype, shape in zip(dtypes, case[2:], strict=True)]
    zeros = [zero.reshape(-1, 1) if index == 0 and zero.ndim else zero for index, zero in enumerate(zeros)]
    left, right = a.astype(np.int32), b.astype(np.int32)
    requested = np.matmul(left - zeros[0].astype(np.int32), right - zeros[1].astype(np.int32))
    given = [zeros[0].reshape(case[2]), zeros[1]]
    yield Node("MatMulInteger", [a, b, *given], expected=[requested])
    yield Node("MatMulInteger", [a, b], constant=[1], expected=[np.matmul(left, right)])


@pytest.mark.parametrize("terms", [258, 259, 4128, 4129])
def test_sums_of_the_largest_products_are_exact(terms: int):
    """float32 has every integer up to 2^24 only; and products of too many parts are summed as integers."""
    a, b = np.full((4, terms), 255, np.uint8), np.full((terms, 3), 255, np.uint8)
    a[1:, 0] = 254, 3, 0
    zero = np.array(0, np.uint8)
    requested = np.matmul(a.astype(np.int32), b.astype(np.int32))
    session = compile_native(Node("MatMulInteger", [a, b, zero, zero]).model())
    feeds = {"x0": a, "x1": b, "x2": zero, "x3": zero}
    np.testing.assert_array_equal(np.asarray(session.run(None, feeds)[0]), requested)
    kernels = " ".join(line.what for line in session.report())
    assert ("gemm" in kernels) == (terms <= 258 * 16)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("columns", [(), (6,)])
def test_rescaled_products(dtype: str, columns: Sequence[int]):
    a, b = integers(dtype, 2, 5, 19), integers(dtype, 19, 6)
    inputs = [a, scale(), integers(dtype), b, scale(*columns), integers(dtype, *columns)]
    check(Node("QLinearMatMul", [*inputs, np.array(6.5, np.float32), integers(dtype)]))


def test_scales_and_zero_points_of_fewer_dimensions_than_the_product():
    a, b = integers("int8", 3, 4, 9), integers("int8", 2, 3, 9, 5)
    zeros = integers("int8", 3, 4, 1), integers("int8", 2, 3, 1, 5)
    scales = scale(3, 4, 1), scale(2, 3, 1, 5)
    left, right = (np.subtract(each, zero, dtype=np.int32) for each, zero in zip((a, b), zeros, strict=True))
    sums = np.matmul(left, right)
    check(Node("MatMulInteger", [a, b, *zeros], expected=[sums]))
    step, zero = np.array(6.5, np.float32), np.array(3, np.int8)
    factors = np.divide(np.multiply(*scales, dtype=np.float32), step, dtype=np.float32)
    numbers = np.multiply(sums, factors, dtype=np.float64)
    expected = np.clip(np.rint(numbers) + 3, -128, 127).astype(np.int8)
    check(
        Node(
            "QLinearMatMul", [a, scales[0], zeros[0], b, scales[1], zeros[1], step, zero], expected=[expected]
        )
    )


@pytest.mark.parametrize("of_floats", [(True, False), (False, True), (True, True), (False, False)])
def test_products_of_8_bit_floats_have_no_kernel(of_floats: tuple[bool, bool]):
    kinds = ["float8e4m3fn" if is_float else "int8" for is_float in of_floats]
    model = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["": 21]>
        g ({kinds[0]}[2, 3] a, {kinds[0]} za, {kinds[1]}[3, 4] b, {kinds[1]} zb, int8 z) => (int8[2, 4] y)
        <float s = {{0.5}}> {{ y = QLinearMatMul(a, s, za, b, s, zb, s, z) }}""")
    assert bool(compile_native(model).host_calls()) == any(of_floats)


def test_rescaled_products_of_many_terms():
    a, b = integers("uint8", 2, 3, 600), integers("uint8", 2, 600, 4)
    inputs = [a, scale(), integers("uint8"), b, scale(), integers("uint8")]
    check(Node("QLinearMatMul", [*inputs, np.array(50, np.float32), integers("uint8")]))


def test_ties_round_to_even_before_the_zero_point_and_large_numbers_saturate():
    a, b = np.array([[1], [3], [5], [-1]], np.int8), np.array([[1]], np.int8)
    one, zero = np.array(1, np.float32), np.array(0, np.int8)
    node = Node(
        "QLinearMatMul",
        [a, one, zero, b, one, zero, np.array(2, np.float32), np.array(1, np.int8)],
        expected=[np.array([[1], [3], [3], [1]], np.int8)],
    )
    check(node)
    large = Node(
        "QLinearMatMul",
        [a, one, zero, b, one, zero, np.array(1e-12, np.float32), np.array(1, np.int8)],
        expected=[np.array([[127], [127], [127], [-128]], np.int8)],
    )
    check(large)


CONVOLUTIONS: dict[str, tuple[Sequence[int], Sequence[int], Mapping[str, object]]] = {
    "plain": ((2, 3, 6, 7), (5, 3, 3, 3), {}),
    "padded": ((1, 2, 5, 5), (3, 2, 3, 3), {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
    "grouped": ((1, 4, 5, 5), (6, 2, 2, 2), {"group": 2, "pads": [0, 1, 0, 1]}),
    "of each channel": ((1, 4, 5, 5), (4, 1, 3, 3), {"group": 4}),
    "of a row": ((1, 2, 9), (3, 2, 3), {"dilations": [2]}),
    # More terms than float32 adds exactly.
    "of many terms": ((2, 70, 4, 4), (3, 70, 3, 3), {}),
    "same": ((1, 2, 7, 7), (3, 2, 3, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
}


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions(case: str):
    shape, weights, attributes = CONVOLUTIONS[case]
    x, w = integers("uint8", *shape), integers("int8", *weights)
    check(Node("ConvInteger", [x, w, integers("uint8")], attributes))


# The reference evaluator of onnx 1.23 takes scales of filters of images alone.
@pytest.mark.parametrize(
    ("case", "per_filter"),
    [(case, each) for case in CONVOLUTIONS for each in (False, True) if not (each and case == "of a row")],
)
def test_rescaled_convolutions(case: str, per_filter: bool):
    shape, weights, attributes = CONVOLUTIONS[case]
    x, w = integers("uint8", *shape), integers("int8", *weights)
    filters = [weights[0]] if per_filter else []
    inputs = [x, scale(), integers("uint8"), w, scale(*filters), integers("int8", *filters)]
    bias = RANDOM.integers(-5000, 5000, weights[0]).astype(np.int32)
    check(Node("QLinearConv", [*inputs, np.array(0.9, np.float32), integers("uint8"), bias], attributes))


def convolved(x: Array, w: Array, zeros: Sequence[Array], attributes: Mapping[str, object]) -> Array:
    """What exact integers give: sums below 2^53 are exact in doubles."""
    centred = x.astype(np.float64) - zeros[0].astype(np.float64)
    weights = w.astype(np.float64) - zeros[1].reshape([-1] + [1] * (w.ndim - 1)).astype(np.float64)
    return np.asarray(Node("Conv", [centred, weights], attributes).wanted()[0]).astype(np.int32)


DYNAMIC: dict[str, tuple[Sequence[int], Sequence[int], Mapping[str, object]]] = {
    **CONVOLUTIONS,
    "of one pixel": ((2, 20, 3, 5), (18, 20, 1, 1), {}),
    "dilated": ((1, 5, 9, 8), (20, 5, 3, 2), {"dilations": [2, 3], "pads": [2, 1, 1, 3]}),
    "of few channels": ((1, 3, 12, 12), (16, 3, 5, 5), {"pads": [2, 2, 2, 2], "strides": [2, 2]}),
    "nothing": ((0, 3, 6, 6), (16, 3, 3, 3), {"pads": [1, 1, 1, 1]}),
}
"""Convolutions of bytes whose zero point is known only at run time."""


@pytest.mark.parametrize("dtypes", [("uint8", "int8"), ("uint8", "uint8"), ("int8", "uint8")])
def test_dynamically_quantized_convolutions(dtypes: tuple[str, str]):
    check_all(dynamically_quantized(case, dtypes) for case in DYNAMIC)


def dynamically_quantized(case: str, dtypes: tuple[str, str]) -> Node:
    per_filter = dtypes[0] == "int8"
    shape, weights, attributes = DYNAMIC[case]
    x, w = (integers(dtype, *sizes) for dtype, sizes in zip(dtypes, (shape, weights), strict=True))
    w.reshape(-1)[:2] = np.iinfo(dtypes[1]).min, np.iinfo(dtypes[1]).max
    zeros = [integers(dtypes[0]), integers(dtypes[1], *([weights[0]] if per_filter else []))]
    requested = convolved(x, w, zeros, attributes) if x.size else np.zeros((0, 16, 6, 6), np.int32)
    return Node("ConvInteger", [x, w, *zeros], attributes, constant=[1, 3], expected=[requested])


@pytest.mark.parametrize("target", OTHERS)
def test_weights_without_sign_on_other_processors(target: str):
    x, w = integers("uint8", 1, 6, 7, 9), integers("uint8", 20, 6, 3, 3)
    zeros, attributes = [integers("uint8"), integers("uint8", 20)], {"pads": [1, 1, 1, 1]}
    requested = convolved(x, w, zeros, attributes)
    node = Node("ConvInteger", [x, w, *zeros], attributes, constant=[1, 3], expected=[requested])
    session = compile_native(node.model(), target, profile=True)
    np.testing.assert_array_equal(session.run(None, node.feeds)[0], requested)
    assert [line.kernel for line in session.profile() if "conv" in line.kernel] == ["int8_conv"]


@pytest.mark.parametrize("rows", [1, 9])
@pytest.mark.parametrize("dtypes", [("uint8", "int8"), ("uint8", "uint8"), ("int8", "uint8")])
def test_dynamically_quantized_products(dtypes: tuple[str, str], rows: int):
    a, b = integers(dtypes[0], 2, rows, 37), integers(dtypes[1], 37, 18)
    zeros = [integers(dtypes[0]), integers(dtypes[1], 18)]
    requested = np.matmul(
        a.astype(np.int32) - zeros[0].astype(np.int32), b.astype(np.int32) - zeros[1].astype(np.int32)
    )
    check(Node("MatMulInteger", [a, b, *zeros], constant=[1, 3], expected=[requested.astype(np.int32)]))


def test_products_as_deep_as_32_bits_allow_are_computed_in_bytes():
    """255 · 127 · 60000 fits; the zero point takes away no more than the sum of the bytes."""
    a, b = np.full((2, 60000), 255, np.uint8), np.full((60000, 16), 127, np.int8)
    zero = np.array(1, np.uint8)
    requested = np.full((2, 16), 254 * 127 * 60000, np.int32)
    node = Node("MatMulInteger", [a, b, zero], constant=[1], expected=[requested])
    session = compile_native(node.model(), profile=True)
    np.testing.assert_array_equal(session.run(None, node.feeds)[0], requested)
    assert "int8_gemm" in {line.kernel for line in session.profile()}


def test_a_zero_point_that_is_known_too_late_for_the_pads():
    """The image lies there, with its pads, before the zero point does: other kernels take it."""
    x, w = integers("uint8", 1, 4, 5, 5), integers("int8", 16, 4, 3, 3)
    zero = np.array(7, np.uint8)
    nodes = "z = Add(o, o) y = ConvInteger<pads=[1,1,1,1]>(x, w, z)"
    ends = "(uint8[1,4,5,5] x, uint8[] o) => (int32[1,16,5,5] y)"
    text = f'<ir_version: 8, opset_import: ["": 17]> g {ends} {{ {nodes} }}'
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(numpy_helper.from_array(w, "w"))
    expected = convolved(x, w, [2 * zero, np.array(0, np.int8)], {"pads": [1, 1, 1, 1]})
    given = compile_native(model).run(None, {"x": x, "o": zero})[0]
    np.testing.assert_array_equal(given, expected)


OPENED: dict[str, tuple[str, Sequence[int], Sequence[int]]] = {
    "convolution": ("c = ConvInteger<pads=[1,1,1,1]>(q, w, z, wz)", (3, 6, 5), (20, 3, 3, 3)),
    "rows": ("c = MatMulInteger(q, w, z, wz)", (33,), (33, 20)),
    "tokens": ("c = MatMulInteger(q, w, z, wz)", (7, 33), (33, 20)),
}


@pytest.mark.parametrize("case", OPENED)
def test_a_dynamic_batch_is_quantized_dynamically_in_one_program(case: str):
    node, sizes, weights = OPENED[case]
    body = f"q, s, z = DynamicQuantizeLinear(x) {node} f = Cast<to=1>(c) y = Mul(f, s)"
    constants = {"w": integers("uint8", *weights), "wz": np.array(117, np.uint8)}

    def model_for(batch: object) -> onnx.ModelProto:
        shape = ", ".join(map(str, (batch, *sizes)))
        text = f'<ir_version: 8, opset_import: ["": 17]> g (float[{shape}] x) => (float[] y) {{ {body} }}'
        model = onnx.parser.parse_model(text)
        model.graph.output[0].type.tensor_type.ClearField("shape")
        model.graph.initializer.extend(
            numpy_helper.from_array(each, name) for name, each in constants.items()
        )
        return model

    session = compile_native(model_for("N"), cache=False)
    for batch in (3, 1, 17):
        x = RANDOM.normal(size=(batch, *sizes)).astype(np.float32)
        given = np.asarray(session.run(None, {"x": x})[0])
        expected = compile_native(model_for(batch), cache=False).run(None, {"x": x})[0]
        np.testing.assert_array_equal(given, np.asarray(expected))
    assert session.compiled == 1
    assert session.host_calls() == []
