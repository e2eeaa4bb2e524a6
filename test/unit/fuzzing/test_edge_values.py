"""Constant propagation and native code agree on values at the edge of ONNX, and with the page about them."""

from __future__ import annotations

from math import erf
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto

from xonnc.errors import XonncError
from xonnc.fuzzing.edge_values import CHOICES, EdgeNode, ImplementationChoice, is_same, page
from xonnc.fuzzing.random_models import Array
from xonnc.native import compile_native

ROOT = Path(__file__).resolve().parents[3]


def agree(node: EdgeNode, *expected: Array) -> None:
    """Folds and runs a node; both must give these very bits."""
    found = {"native": node.native(), "folded": node.folded()}
    for name, values in found.items():
        assert values is not None, f"{name}: {node.operator} stays"
        for value, requested in zip(values, expected, strict=True):
            assert is_same(value, requested), f"{name}: {value} is not {requested}"


@pytest.mark.parametrize(
    "choice", CHOICES, ids=lambda each: f"{each.node.operator}-{each.case}".replace(" ", "-")
)
def test_what_is_left_open_is_chosen_once(choice: ImplementationChoice):
    if choice.folds:
        agree(choice.node, *choice.expected)
    else:
        assert choice.node.folded() is None
        assert all(map(is_same, choice.node.native(), choice.expected))


def test_the_page_is_written_from_the_table():
    assert (ROOT / "docs" / "edge-values.md").read_text() == page()


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
def test_integers_become_doubles_exactly(dtype: type[np.integer[Any]]):
    """float32 has 24 bits: 123456789 would be 123456792."""
    largest = np.iinfo(dtype).max
    numbers = np.array([123456789, 16777217, 0, largest, largest - 1024], dtype)
    agree(EdgeNode("Cast", [numbers], {"to": TensorProto.DOUBLE}), numbers.astype(np.float64))


def test_the_sign_of_a_power_is_that_of_an_odd_exponent():
    """Exponents beyond 2^24 are even as float32, those beyond 2^53 as float64."""
    base = np.array([-1, -1, -1, -2, -0.0, -0.0, -np.inf, 2, np.nan, -1], np.float32)
    exponent = np.array([2**24 + 1, 2**53 + 1, 2**62, 3, -1, 2**62 + 1, -3, -1, 0, 2**24], np.int64)
    expected = np.array([-1, -1, 1, -8, -np.inf, -0.0, -0.0, 0.5, 1, 1], np.float32)
    agree(EdgeNode("Pow", [base, exponent]), expected)
    agree(EdgeNode("Pow", [base, exponent], constant=[1]), expected)


def test_a_power_is_computed_in_the_wider_type_of_both():
    base, exponent = np.array([-1, 2, -1], np.float32), np.array([2**24 + 1, 0.5, 2**53], np.float64)
    agree(EdgeNode("Pow", [base, exponent]), np.array([-1, np.sqrt(2), 1], np.float32))
    half_values = np.array([-1, 1.5], np.float16)
    agree(
        EdgeNode("Pow", [half_values, np.array([70001, 2.5], np.float32)]),
        (half_values ** [1, 2.5]).astype(np.float16),
    )


def test_powers_of_narrow_integers_take_all_bits_of_the_exponent():
    """Powers of 3 modulo 2^32 come back after 2^30."""
    base = np.array([3, -1, 2, 3], np.int32)
    exponent = np.array([2**32 + 1, 2**33, 2**32 + 300, 2**31], np.int64)
    agree(EdgeNode("Pow", [base, exponent]), np.array([3, 1, 0, 1], np.int32))


def test_powers_of_integers_that_do_not_fit():
    base, exponent = np.array([2, 3, -7], np.int32), np.array([31.5, np.inf, 0.5], np.float32)
    agree(EdgeNode("Pow", [base, exponent]), np.array([2**31 - 1, 2**31 - 1, 0], np.int32))


def test_indices_of_one_hot_have_no_sign_where_their_type_has_none():
    indices, depth, values = (
        np.array([255, 1], np.uint8),
        np.array(3, np.int64),
        np.array([0, 1], np.int8),
    )
    agree(
        EdgeNode("OneHot", [indices, depth, values], constant=[1]),
        np.array([[0, 0, 0], [0, 1, 0]], np.int8),
    )
    far = np.array([2**64 - 1, 2], np.uint64)
    agree(EdgeNode("OneHot", [far, depth, values], constant=[1]), np.array([[0, 0, 0], [0, 0, 1]], np.int8))


def test_one_hot_with_more_classes_than_its_indices_can_tell():
    indices, values = np.array([-1, 5], np.int8), np.array([0, 1], np.int8)
    expected = np.zeros((2, 300), np.int8)
    expected[0, 299] = expected[1, 5] = 1
    agree(EdgeNode("OneHot", [indices, np.array(300, np.int64), values], constant=[1]), expected)


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "NOTSET"])
@pytest.mark.parametrize("size", [5, 6, 7, 8, 10])
def test_zeros_follow_a_transposed_convolution_of_a_larger_shape(auto_pad: str, size: int):
    """`test_convtranspose_output_shape` and onnxruntime have them at the end."""
    x, w = (np.arange(1, 4, dtype=np.float32).reshape(1, 1, 3) for _ in range(2))
    whole = [1, 2, 5, 4, 9, 6, 9, 0, 0, 0]
    begin = 1 if size == 5 or (size == 6 and auto_pad != "SAME_UPPER") else 0
    expected = np.array(whole[begin : begin + size], np.float32).reshape(1, 1, size)
    attributes = {"auto_pad": auto_pad, "strides": [2], "output_shape": [size]}
    agree(EdgeNode("ConvTranspose", [x, w], attributes), expected)


UNARY = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Clip Cos Cosh Floor HardSigmoid HardSwish Identity IsInf "
    "IsNaN LeakyRelu Neg Reciprocal Relu Round Shrink Sign Sin Sinh Softsign Sqrt Tan ThresholdedRelu"
)

EDGES = np.array(
    [
        np.nan,
        np.inf,
        -np.inf,
        -0.0,
        0,
        1e-45,
        -1e-40,
        3.4028235e38,
        -3.4028235e38,
        1,
        -1,
        0.5,
        -0.5,
        2.5,
        88.8,
    ],
    np.float32,
)


@pytest.mark.parametrize("operator", UNARY.split())
def test_functions_of_one_number_agree_to_the_last_bit(operator: str):
    random = np.random.default_rng(3).uniform(-4, 4, 64).astype(np.float32)
    node = EdgeNode(operator, [np.concatenate([EDGES, random])])
    (folded,) = node.folded() or []
    agree(node, folded)


@pytest.mark.parametrize("operator", "Acos Asin Atan Cos Sin Tan".split())
def test_functions_of_doubles_agree_to_the_last_bit(operator: str):
    """NumPy's vectorized functions are not those of the C library."""
    random = np.random.default_rng(3).uniform(-4, 4, 64)
    node = EdgeNode(operator, [np.concatenate([EDGES, random, random / 4, [5e-324, 1e300]])])
    (folded,) = node.folded() or []
    agree(node, folded)


def test_the_sign_of_zero_is_zero():
    for dtype in (np.float16, np.float32, np.float64, ml_dtypes.bfloat16):
        x = np.array([-0.0, 0, -2, np.inf, np.nan], dtype)
        agree(EdgeNode("Sign", [x]), np.array([0, 0, -1, 1, np.nan], dtype))


@pytest.mark.parametrize("operator", "Exp Log Tanh Erf Sigmoid Softplus Mish".split())
def test_functions_that_are_approximated_agree_to_some_bits(operator: str):
    random = np.random.default_rng(3).uniform(-30, 30, 512).astype(np.float32)
    node = EdgeNode(operator, [np.concatenate([EDGES, random, random / 64])])
    (folded,) = node.folded() or []
    np.testing.assert_allclose(node.native()[0], folded, rtol=6e-7, atol=1.2e-38)


@pytest.mark.parametrize("operator", "Elu Selu Celu Gelu Swish".split())
def test_differences_of_powers_agree_to_a_rounding_of_1(operator: str):
    random = np.random.default_rng(3).uniform(-30, 30, 512).astype(np.float32)
    edges = EDGES[np.abs(EDGES) < 1e38]
    node = EdgeNode(operator, [np.concatenate([edges, random, random / 64])], opset=24)
    (folded,) = node.folded() or []
    np.testing.assert_allclose(node.native()[0], folded, rtol=1e-6, atol=4e-7)


BINARY = "Add And BitwiseAnd Div Equal Greater GreaterOrEqual Less LessOrEqual Max Min Mul Or PRelu Sub Xor"


@pytest.mark.parametrize("operator", BINARY.split())
def test_functions_of_two_numbers_agree_to_the_last_bit(operator: str):
    a, b = EDGES[:, None], EDGES[None, :]
    if operator in ("And", "Or", "Xor"):
        a, b = a > 0, b > 0
    elif operator == "BitwiseAnd":
        a, b = (np.nan_to_num(each, posinf=7, neginf=-7).clip(-9, 9).astype(np.int16) for each in (a, b))
    elif operator == "PRelu":
        a = np.broadcast_to(a, (15, 15)).copy()
    node = EdgeNode(operator, [a, b])
    (folded,) = node.folded() or []
    agree(node, folded)


@pytest.mark.parametrize("operator", ["Max", "Min", "Add", "Clip", "Relu"])
def test_scalars_and_nothing_agree(operator: str):
    count = 2 if operator in ("Max", "Min", "Add") else 1
    for array in (np.array(-0.0, np.float32), np.zeros((0, 3), np.float32), np.array([np.nan], np.float16)):
        node = EdgeNode(operator, [array] * count)
        (folded,) = node.folded() or []
        agree(node, folded)


def test_the_reference_is_not_asked_about_infinities():
    """It takes infinities times weights of 0 for the nearest element."""
    x = np.array([np.inf, 1], np.float32).reshape(1, 1, 2)
    node = EdgeNode("Resize", [x, np.zeros(0, np.float32), np.array([1, 1, 2], np.float32)])
    assert node.folded() is None
    finite = EdgeNode("Resize", [np.ones((1, 1, 2), np.float32), *node.inputs[1:]])
    assert finite.folded() is not None


@pytest.mark.parametrize("operator", ["ReduceL1", "ReduceLogSum", "ReduceSumSquare", "ReduceLogSumExp"])
def test_reductions_of_no_axes_still_do_their_steps(operator: str):
    """ "ReduceLogSum returns the Log of input tensor" where `noop_with_empty_axes` leaves all axes."""
    x = np.array([[1, 2], [3, 4]], np.float32)
    node = EdgeNode(operator, [x, np.zeros(0, np.int64)], {"noop_with_empty_axes": 1}, constant=[1])
    expected = {"ReduceLogSum": np.log(x), "ReduceSumSquare": x * x}.get(operator, x)
    (folded,) = node.folded() or []
    for found in (folded, *node.native()):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_old_batch_normalisations_are_not_computed_as_in_training():
    """The reference evaluator takes those of opsets before 14 to be in training: ours does not."""
    numbers = [np.array([each], np.float32) for each in (1, 1, -1.75, 0.75)]
    node = EdgeNode("BatchNormalization", [np.full((1, 1, 1), -0.75, np.float32), *numbers], opset=13)
    (old,) = node.folded() or []
    (new,) = EdgeNode("BatchNormalization", node.inputs, opset=15).folded() or []
    np.testing.assert_array_equal(old, new)


def test_the_error_function_of_doubles_is_one_of_doubles():
    """The reference evaluator rounds it to 32 bits."""
    x = np.concatenate([np.linspace(-7, 7, 2001), [np.nan, np.inf, -np.inf, -0.0, 5e-324, -1e-310, 1e308]])
    session = compile_native(EdgeNode("Erf", [x]).model(is_constant=False), cache=False)
    assert not session.host_calls()
    (found,) = session.run(None, {"x0": x})
    np.testing.assert_allclose(np.asarray(found), np.vectorize(erf)(x), rtol=4.5e-16, atol=0)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_of_doubles_is_one_of_doubles(approximate: str):
    node = EdgeNode("Gelu", [np.linspace(-9, 9, 301)], {"approximate": approximate})
    assert not compile_native(node.model(is_constant=False), cache=False).host_calls()
    (folded,) = node.folded() or []
    np.testing.assert_allclose(
        node.native()[0], folded, rtol=1e-6 if approximate == "tanh" else 0, atol=1e-15
    )


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_the_slope_of_hard_swish_is_a_sixth(dtype: type[np.floating[Any]]):
    x = np.linspace(-4, 4, 65).astype(dtype)
    wide = x.astype(np.float64)
    (folded,) = EdgeNode("HardSwish", [x]).folded() or []
    eps = float(np.finfo(dtype).eps)
    np.testing.assert_allclose(folded, wide * np.clip(wide / 6 + 0.5, 0, 1), rtol=2 * eps, atol=eps)
    np.testing.assert_allclose(EdgeNode("HardSwish", [x]).native()[0], folded, rtol=eps)


def test_an_element_that_is_moved_keeps_the_sign_of_zero():
    """By GridSample and Resize, of which the reference makes sums."""
    x = np.full((1, 1, 1, 2), -0.0, np.float32)
    grid = np.array([-0.5, 0, 0.5, 0], np.float32).reshape(1, 1, 2, 2)
    agree(EdgeNode("GridSample", [x, grid], {"mode": "nearest"}), x)
    node = EdgeNode("Resize", [x, None, np.array([1, 1, 1, 2], np.float32)], constant=[2])
    assert node.folded() is None
    assert is_same(node.native()[0], np.full((1, 1, 1, 4), -0.0, np.float32))


def test_the_reference_is_not_asked_about_small_norms():
    """It divides by no less than 1e-30."""
    x = np.array([[1e-40, -1e-40, 2e-40]], np.float32)
    node = EdgeNode("Normalizer", [x], {"norm": "L1"}, opset=1, domain="ai.onnx.ml")
    assert node.folded() is None
    np.testing.assert_allclose(node.native()[0], [[0.25, -0.25, 0.5]], rtol=1e-4)
    assert (
        EdgeNode("Normalizer", [x * 1e30], {"norm": "L1"}, opset=1, domain="ai.onnx.ml").folded() is not None
    )


def test_the_reference_is_not_asked_to_interpolate_doubles():
    """Its weights and coordinates have 32 bits."""
    x = np.array([0.5, -0.5]).reshape(1, 1, 2, 1)
    scales = np.array([1, 1, 1.5, 1], np.float32)
    node = EdgeNode("Resize", [x, None, scales], {"mode": "cubic"}, constant=[2])
    assert node.folded() is None
    np.testing.assert_allclose(
        node.native()[0].reshape(-1), [169 / 288, 0, -169 / 288], rtol=1e-14, atol=1e-14
    )
    grid = np.array([0.1, 0.7], np.float32).reshape(1, 1, 1, 2)
    node = EdgeNode("GridSample", [x, grid])
    assert node.folded() is None
    assert EdgeNode("GridSample", [x, grid.astype(np.float64)]).folded() is not None
    assert EdgeNode("GridSample", [x.astype(np.float32), grid]).folded() is not None


@pytest.mark.parametrize("size", [3, 33])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_normalization_over_neighboring_channels(dtype: type[np.floating[Any]], size: int):
    """The reference evaluator leaves channels out."""
    x = np.random.default_rng(0).normal(size=(2, 40, 1, 2)).astype(dtype) * dtype(3)
    attributes = {"size": size, "alpha": 0.5, "beta": 0.75, "bias": 2.0}
    node = EdgeNode("LRN", [x], attributes)
    assert not compile_native(node.model(is_constant=False), cache=False).host_calls()
    wide = x.astype(np.float64)
    expected = np.empty_like(wide)
    for channel in range(40):
        near = wide[:, max(0, channel - (size - 1) // 2) : channel + size // 2 + 1]
        expected[:, channel] = wide[:, channel] / (2 + 0.5 / size * (near**2).sum(1)) ** 0.75
    eps = float(np.finfo(dtype).eps)
    for found in (*node.native(), *(node.folded() or [])):
        np.testing.assert_allclose(found, expected, rtol=4 * eps)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_what_has_no_weight_is_not_read(mode: str):
    """Infinities beside an element that is taken as it is leave it alone."""
    x = np.array([1, np.inf, 3, np.nan, 5], np.float32).reshape(1, 1, 5)
    node = EdgeNode(
        "Resize",
        [x, None, None, np.array([1, 1, 9], np.int64)],
        {"mode": mode, "coordinate_transformation_mode": "align_corners"},
        constant=[3],
    )
    np.testing.assert_array_equal(node.native()[0][..., ::2], x)


def test_integers_without_sign_are_their_own_absolute_values():
    x = np.array([[2**32 - 1, 5], [7, 0]], np.uint32)
    agree(
        EdgeNode("ReduceL1", [x, np.array([1])], {"keepdims": 0}, constant=[1]), np.array([4, 7], np.uint32)
    )


def test_the_reference_is_not_asked_to_resize_what_doubles_cannot_hold():
    x = np.full((1, 1, 1, 2), 2**63 - 1, np.int64)
    node = EdgeNode("Resize", [x, None, np.array([1, 1, 1, 2], np.float32)], constant=[2])
    assert node.folded() is None
    assert is_same(node.native()[0], np.full((1, 1, 1, 4), 2**63 - 1, np.int64))


@pytest.mark.parametrize(
    ("operator", "domain", "attributes"),
    [("LRN", "", {"size": 3}), ("Normalizer", "ai.onnx.ml", {"norm": "L1"})],
)
def test_operators_of_rows_refuse_rank_0(operator: str, domain: str, attributes: dict[str, object]):
    x = np.array(1, np.float32)
    node = EdgeNode(operator, [x], attributes, opset=1 if domain else 13, domain=domain)
    with pytest.raises(XonncError, match=f"node: {operator}: operand 'X' has rank 0, rank should be"):
        node.native()
