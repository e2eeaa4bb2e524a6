"""Dense attributes as arrays, arrays as dense attributes, and the text both print."""

from __future__ import annotations

from io import StringIO

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import (
    Builtin,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FloatTF32Type,
    IndexType,
    IntegerType,
    Signedness,
    TensorType,
    f32,
    i1,
    i32,
)
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer

from xonnc.dialects.onnx.builtin_attributes import StringElementsAttr
from xonnc.dialects.onnx.elements import DisposableElementsAttr, DisposablePool, elements_array
from xonnc.dialects.onnx.elements.buffers import Array
from xonnc.dialects.onnx.elements.dense import plain_attribute
from xonnc.dialects.onnx.types import ELEMENT_DTYPES
from xonnc.errors import XonncError

FIXED_WIDTH = [dtype for dtype in ELEMENT_DTYPES.values() if dtype != np.object_]


def disposable(array: Array) -> DisposableElementsAttr:
    attr = DisposablePool().create(array)
    assert isinstance(attr, DisposableElementsAttr)
    return attr


def read(attr: Attribute) -> Array:
    array = elements_array(attr)
    assert array is not None
    assert not array.flags.writeable
    return array


def sample(dtype: npt.DTypeLike, size: int) -> Array:
    """Elements of every sort of bit pattern that prints alike in both (no NaN: they equal nothing)."""
    generator = np.random.default_rng(size)
    if np.dtype(dtype) == np.bool_:
        return generator.integers(0, 2, size).astype(np.bool_)
    return generator.integers(1, 4, size).astype(np.float32).astype(dtype)


@pytest.mark.parametrize("dtype", FIXED_WIDTH, ids=str)
@pytest.mark.parametrize("size", [1, 12, 100, 101, 70_000])
def test_dense_there_and_back_and_the_text_of_both(dtype: npt.DTypeLike, size: int):
    array = sample(dtype, size)
    attr = disposable(array)
    dense = plain_attribute(attr.payload, attr.type)
    np.testing.assert_array_equal(read(dense), array)
    assert read(dense).dtype == array.dtype
    assert str(attr) == str(dense)


def test_the_text_of_lists_splats_and_nothing():
    assert str(disposable(np.arange(6, dtype=np.int8).reshape(2, 3))) == (
        "dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi8>"
    )
    assert str(disposable(np.full((4000, 3), 1.5, np.float32))) == "dense<1.500000e+00> : tensor<4000x3xf32>"
    assert str(disposable(np.array(True))) == "dense<true> : tensor<i1>"
    assert str(disposable(np.zeros((0, 2), np.float32))) == "dense<> : tensor<0x2xf32>"
    assert str(disposable(np.array([-1, 7], ml_dtypes.int4))) == "dense<[-1, 7]> : tensor<2xi4>"
    strings = disposable(np.array([['a"', "b"], ["\n", "ä"]], object))
    assert str(strings) == r'dense<[["a\22", "b"], ["\0A", "\C3\A4"]]> : tensor<2x2x!onnx.String>'
    assert str(disposable(np.array(["x", "x"], object))) == 'dense<"x"> : tensor<2x!onnx.String>'
    assert str(disposable(np.array([], object))) == "dense<> : tensor<0x!onnx.String>"


def test_what_prints_parses():
    array = np.linspace(-3, 3, 1000).astype(np.float32)
    ctx = Context()
    ctx.load_dialect(Builtin)
    parsed = Parser(ctx, str(disposable(array))).parse_attribute()
    np.testing.assert_array_equal(read(parsed), array)


def test_the_memory_form_is_read_with_the_dialect_alone():
    ctx = Context()
    ctx.load_attr_or_type(DisposableElementsAttr)
    with pytest.raises(Exception, match="belongs to the onnx dialect, which is not loaded"):
        Parser(ctx, "#onnx.dense_disposable<>").parse_attribute()


def test_printing_streams():
    class Longest(StringIO):
        longest = 0

        def write(self, text: str, /) -> int:
            self.longest = max(self.longest, len(text))
            return len(text)

    out = Longest()
    Printer(stream=out).print_attribute(disposable(np.arange(1_000_000, dtype=np.float32)))
    assert 100_000 < out.longest <= 64 * 1024 * 8


def test_dense_bytes_are_not_copied():
    dense = DenseIntOrFPElementsAttr.from_list(TensorType(f32, [3, 2]), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert np.shares_memory(read(dense), np.frombuffer(dense.data.data, np.float32))
    assert read(dense).tolist() == [[1, 2], [3, 4], [5, 6]]


def test_truth_is_stored_as_all_ones_and_read_as_one():
    stored = DenseIntOrFPElementsAttr.from_list(TensorType(i1, [3]), [1, 0, 1])
    assert stored.data.data == b"\xff\0\xff"
    assert read(stored).view(np.uint8).tolist() == [1, 0, 1]
    ones = DenseIntOrFPElementsAttr(TensorType(i1, [3]), BytesAttr(b"\1\0\1"))
    assert np.shares_memory(read(ones), np.frombuffer(ones.data.data, np.uint8))


def test_nibbles_are_sign_extended():
    four = IntegerType(4)
    dense = DenseIntOrFPElementsAttr.from_list(TensorType(four, [3]), [-1, 15, 7])
    assert read(dense).astype(np.int8).tolist() == [-1, -1, 7]
    back = plain_attribute(
        disposable(read(dense) + np.array(1, ml_dtypes.int4)).payload, TensorType(four, [3])
    )
    assert isinstance(back, DenseIntOrFPElementsAttr)
    assert back.get_values() == (0, 0, -8)


@pytest.mark.parametrize("element", [IndexType(), IntegerType(64, Signedness.SIGNED)])
def test_other_integers_read_too(element: IndexType | IntegerType):
    dense = DenseIntOrFPElementsAttr.from_list(TensorType(element, [2]), [1, -2])
    assert read(dense).tolist() == [1, -2]


def test_one_stored_element_is_a_splat():
    dense = DenseIntOrFPElementsAttr(TensorType(i32, [1000, 1000]), BytesAttr(b"\5\0\0\0"))
    assert read(dense).strides == (0, 0)
    assert read(dense)[999, 999] == 5


def test_splats_become_full_plain_attributes():
    attr = disposable(np.array(2, np.int32)).expand([300, 2])
    dense = plain_attribute(attr.payload, attr.type)
    assert isinstance(dense, DenseIntOrFPElementsAttr)
    assert dense.get_values() == (2,) * 600


def test_pending_work_goes_straight_into_the_plain_attribute():
    attr = disposable(np.arange(100_000, dtype=np.int32)).map(np.negative)
    dense = plain_attribute(attr.payload, attr.type)
    assert attr.payload.is_pending
    np.testing.assert_array_equal(read(dense), -np.arange(100_000))


def test_wrong_byte_counts_are_refused():
    dense = DenseIntOrFPElementsAttr(TensorType(i32, [3]), BytesAttr(bytes(8)))
    with pytest.raises(XonncError, match="tensor<3xi32>: 12 bytes of elements expected, found 8"):
        elements_array(dense)


def test_element_types_without_numpy_form_are_refused():
    dense = DenseIntOrFPElementsAttr(TensorType(FloatTF32Type(), [1]), BytesAttr(bytes(3)))
    with pytest.raises(XonncError, match="tf32 is no element type"):
        elements_array(dense)


def test_resources():
    ctx = Context()
    ctx.load_dialect(Builtin)
    text = (
        '"builtin.module"() ({}) {v = dense_resource<weights_of_test> : tensor<2xf32>,'
        " w = dense_resource<absent_in_test> : tensor<2xf32>} : () -> ()\n"
        '{-# dialect_resources: { builtin: { weights_of_test: "0x040000000000803F00000040" } } #-}'
    )
    module = Parser(ctx, text).parse_module()
    assert read(module.attributes["v"]).tolist() == [1, 2]
    with pytest.raises(XonncError, match="dense_resource<absent_in_test>: no data"):
        elements_array(module.attributes["w"])


def test_strings_there_and_back():
    strings = np.array([["a", b"\xff"], ["", "ä"]], object)
    attr = disposable(strings)
    plain = plain_attribute(attr.payload, attr.type)
    assert isinstance(plain, StringElementsAttr)
    assert read(plain).tolist() == strings.tolist()
    assert str(plain) == str(attr)
    one = disposable(np.array("x", object))
    assert str(plain_attribute(one.payload, one.type)) == str(one) == 'dense<"x"> : tensor<!onnx.String>'
    splat = disposable(np.array(["x"], object)).expand([50])
    assert read(plain_attribute(splat.payload, splat.type)).tolist() == ["x"] * 50


def test_other_attributes_hold_no_elements():
    assert elements_array(i32) is None
    assert isinstance(DenseResourceAttr.from_params("k", TensorType(f32, [1])), Attribute)
