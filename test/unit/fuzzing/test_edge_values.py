"""Constant propagation and native code agree on values at the edge of ONNX, and with the page about them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto

from xonnc.fuzzing.edge_values import CHOICES, Choice, EdgeNode, is_same, page
from xonnc.fuzzing.generate import Array

ROOT = Path(__file__).resolve().parents[3]


def agree(node: EdgeNode, *expected: Array) -> None:
    """Folds and runs a node; both must give these very bits."""
    found = {"native": node.native(), "folded": node.folded()}
    for name, values in found.items():
        assert values is not None, f"{name}: {node.operator} stays"
        for value, wanted in zip(values, expected, strict=True):
            assert is_same(value, wanted), f"{name}: {value} is not {wanted}"


@pytest.mark.parametrize(
    "choice", CHOICES, ids=lambda each: f"{each.node.operator}-{each.case}".replace(" ", "-")
)
def test_what_is_left_open_is_chosen_once(choice: Choice):
    agree(choice.node, *choice.expected)


def test_the_page_is_written_from_the_table():
    assert (ROOT / "docs" / "edge-values.md").read_text() == page()


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
def test_integers_become_doubles_exactly(dtype: type[np.generic]):
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
    halves = np.array([-1, 1.5], np.float16)
    agree(
        EdgeNode("Pow", [halves, np.array([70001, 2.5], np.float32)]), (halves ** [1, 2.5]).astype(np.float16)
    )


def test_powers_of_narrow_integers_take_all_bits_of_the_exponent():
    base, exponent = np.array([3, -1, 2, 3], np.int8), np.array([257, 256, 300, 128], np.int64)
    agree(EdgeNode("Pow", [base, exponent]), np.array([3, 1, 0, 1], np.int8))


def test_powers_of_integers_that_do_not_fit():
    base, exponent = np.array([2, 3, -7], np.int32), np.array([31.5, np.inf, 0.5], np.float32)
    agree(EdgeNode("Pow", [base, exponent]), np.array([2**31 - 1, 2**31 - 1, 0], np.int32))


def test_indices_of_one_hot_have_no_sign_where_their_type_has_none():
    places, depth, values = np.array([255, 1], np.uint8), np.array(3, np.int64), np.array([0, 1], np.int8)
    agree(
        EdgeNode("OneHot", [places, depth, values], constant=[1]), np.array([[0, 0, 0], [0, 1, 0]], np.int8)
    )
    far = np.array([2**64 - 1, 2], np.uint64)
    agree(EdgeNode("OneHot", [far, depth, values], constant=[1]), np.array([[0, 0, 0], [0, 0, 1]], np.int8))


def test_one_hot_with_more_classes_than_its_indices_can_tell():
    places, values = np.array([-1, 5], np.int8), np.array([0, 1], np.int8)
    expected = np.zeros((2, 300), np.int8)
    expected[0, 299] = expected[1, 5] = 1
    agree(EdgeNode("OneHot", [places, np.array(300, np.int64), values], constant=[1]), expected)


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
