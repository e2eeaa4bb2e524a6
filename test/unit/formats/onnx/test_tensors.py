"""Tensors of every element type, stored in every way."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from xonnc.errors import XonncError
from xonnc.formats.onnx.tensors import DTYPES, PACKED_BITS, TensorReader, pack, proto, stored_size, unpack

T = onnx.TensorProto
NUMERIC = sorted(number for number in DTYPES if number != T.STRING)


@pytest.mark.parametrize("number", NUMERIC, ids=T.DataType.Name)
@pytest.mark.parametrize("shape", [(), (3,), (2, 5), (0, 4)])
def test_raw_data_agrees_with_the_reference(number: int, shape: tuple[int, ...]) -> None:
    count = int(np.prod(shape, dtype=int))
    data = np.random.default_rng(number).bytes(stored_size(number, count))
    if number == T.BOOL:
        data = bytes(byte & 1 for byte in data)
    tensor = T(name="t", dims=shape, data_type=number, raw_data=data)
    array = TensorReader().array(tensor)
    assert array.dtype == DTYPES[number]
    assert array.tobytes() == onnx.numpy_helper.to_array(tensor).tobytes()
    back = proto(array, "t")
    assert onnx.numpy_helper.to_array(back).tobytes() == array.tobytes()
    assert list(back.dims) == list(shape)


@pytest.mark.parametrize("number", NUMERIC, ids=T.DataType.Name)
def test_typed_fields_agree_with_the_reference(number: int) -> None:
    values = np.array([0, 1, 1, 0, 1, 1, 1, 0], np.float32).astype(DTYPES[number])
    tensor = onnx.helper.make_tensor("t", number, [8], values)
    assert not tensor.HasField("raw_data")
    array = TensorReader().array(tensor)
    assert array.dtype == DTYPES[number]
    assert array.tobytes() == onnx.numpy_helper.to_array(tensor).tobytes()


def test_strings_survive_even_if_they_are_not_utf8() -> None:
    tensor = T(name="t", dims=[2], data_type=T.STRING, string_data=["ä".encode(), b"\xff\x00"])
    assert list(proto(TensorReader().array(tensor)).string_data) == list(tensor.string_data)


@pytest.mark.parametrize("bits", [2, 4, 6])
def test_packing_is_undone_by_unpacking(bits: int) -> None:
    values = np.random.default_rng(0).integers(0, 1 << bits, 13).astype(np.uint8)
    packed = pack(values, bits)
    assert packed.size == -(-13 * bits // 8)
    np.testing.assert_array_equal(unpack(packed, bits, 13), values)
    assert set(PACKED_BITS.values()) == {2, 4, 6}


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (T(dims=[2], data_type=99), "element type 99"),
        (T(dims=[-1], data_type=1), "dimension -1"),
        (T(dims=[1 << 32, 1 << 32], data_type=1, raw_data=b"1234"), "overflows"),
        (
            T(dims=[1 << 40], data_type=1, float_data=[1]),
            "1 elements of data, but the shape asks for 1099511627776",
        ),
        (T(dims=[1 << 40], data_type=8), "0 strings"),
        (T(dims=[2], data_type=1, raw_data=b"1234"), "4 bytes of data, but type and shape ask for 8"),
        (T(dims=[3], data_type=22, raw_data=b"1"), "1 bytes of data, but type and shape ask for 2"),
    ],
)
def test_sizes_are_checked_before_anything_is_allocated(tensor: onnx.TensorProto, message: str) -> None:
    tensor.name = "w"
    with pytest.raises(XonncError, match=f"tensor 'w': .*{message}"):
        TensorReader().array(tensor)
