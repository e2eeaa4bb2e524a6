"""Views share memory with what they show."""

from __future__ import annotations

import mmap
import tracemalloc
from pathlib import Path

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import i8

from xonnc.dialects.onnx.elements import DisposableElementsAttr, DisposablePool
from xonnc.dialects.onnx.elements.buffers import Array
from xonnc.dialects.onnx.types import tensor_type


def constant(pool: DisposablePool, array: Array) -> DisposableElementsAttr:
    attr = pool.create(array)
    assert isinstance(attr, DisposableElementsAttr)
    return attr


def cube(pool: DisposablePool) -> DisposableElementsAttr:
    return constant(pool, np.arange(24, dtype=np.int32).reshape(2, 3, 4))


def test_create_shows_the_array_itself():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    attr = constant(DisposablePool(), array)
    assert np.shares_memory(attr.array(), array)
    assert not attr.array().flags.writeable
    assert str(attr.type) == "tensor<2x3xf32>"
    assert attr.dtype == np.float32
    assert attr.shape == (2, 3)


def test_every_view_shares_memory():
    pool = DisposablePool()
    source = cube(pool)
    whole = source.array()
    views = {
        "transpose": (source.transpose([2, 0, 1]), whole.transpose(2, 0, 1)),
        "reshape": (source.reshape([6, 4]), whole.reshape(6, 4)),
        "expand": (source.expand([5, 2, 3, 4]), np.broadcast_to(whole, (5, 2, 3, 4))),
        "slice": (source.slice([slice(None), slice(0, 2)]), whole[:, 0:2]),
        "reverse": (source.slice([slice(None, None, -1), slice(2, None, -2)]), whole[::-1, 2::-2]),
        "unsqueeze": (source.unsqueeze([0, -1]), whole[None, ..., None]),
        "squeeze": (source.unsqueeze([0, -1]).squeeze([-1, 0]), whole),
        "split": (source.split(-1, [1, 3])[1], whole[..., 1:]),
    }
    for name, (view, expected) in views.items():
        assert np.shares_memory(view.array(), whole), name
        assert view.type.get_shape() == expected.shape, name
        np.testing.assert_array_equal(view.array(), expected, err_msg=name)
    assert pool.live_bytes == whole.nbytes


def test_a_reshape_that_strides_forbid_copies_once():
    pool = DisposablePool()
    source = cube(pool)
    turned = source.transpose([2, 1, 0]).reshape([24])
    np.testing.assert_array_equal(turned.array(), source.array().T.reshape(24))
    assert not np.shares_memory(turned.array(), source.array())
    assert pool.live_bytes == 2 * source.array().nbytes


@pytest.mark.parametrize(
    ("shape", "wrong"),
    [((2, 3, 4), "reshape"), ((2, 3, 4), "expand"), ((2, 3, 4), "split"), ((2, 3, 4), "squeeze")],
)
def test_impossible_views_are_refused(shape: tuple[int, ...], wrong: str):
    attr = constant(DisposablePool(), np.zeros(shape, np.int8))
    calls = {
        "reshape": lambda: attr.reshape([5]),
        "expand": lambda: attr.expand([3, 1]),
        "split": lambda: attr.split(0, [1, 2]),
        "squeeze": lambda: attr.squeeze([0]),
    }
    with pytest.raises(ValueError, match=f"constant {attr.number}"):
        calls[wrong]()


def test_a_type_that_does_not_fit_is_refused():
    pool = DisposablePool()
    with pytest.raises(ValueError, match=r"tensor<3xi8> cannot hold int8 elements of shape \[2\]"):
        pool.create(np.zeros(2, np.int8), tensor_type((3,), i8))
    with pytest.raises(ValueError, match="strings are arrays of str objects"):
        pool.create(np.array(["a"]))


def test_a_gigabyte_splat_costs_an_element():
    pool = DisposablePool()
    tracemalloc.start()
    one = constant(pool, np.array(1.5, np.float32))
    huge = one.expand([1 << 28])
    also = huge.reshape([1 << 14, 1 << 14]).transpose([1, 0])
    sum_ = pool.combine(np.add, also, one)
    assert isinstance(sum_, DisposableElementsAttr)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 1_000_000
    assert pool.peak_bytes < 100
    assert sum_.is_splat
    assert sum_.splat() == 3
    assert sum_.shape == (1 << 14, 1 << 14)


def test_zero_dimensions_and_zero_elements():
    pool = DisposablePool()
    scalar = constant(pool, np.array(7, np.int64))
    assert scalar.array().shape == ()
    assert scalar.is_splat
    assert scalar.splat() == 7
    assert [block.tolist() for block in scalar.blocks()] == [[7]]
    empty = constant(pool, np.zeros((0, 3), np.float32))
    assert not empty.is_splat
    assert list(empty.blocks()) == []
    assert empty.transpose([1, 0]).shape == (3, 0)
    with pytest.raises(ValueError, match="no splat"):
        empty.splat()


def test_a_uniform_tensor_shrinks_once_a_reader_detects_it():
    pool = DisposablePool()
    attr = constant(pool, np.full((1 << 20,), 3, np.int32))
    assert pool.live_bytes == 4 << 20
    assert attr.is_splat
    assert pool.live_bytes == 4
    assert attr.array().sum() == 3 << 20


@pytest.mark.parametrize(
    "dtype",
    [np.float16, np.float32, np.float64, np.complex64, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2],
    ids=str,
)
def test_splats_are_compared_bit_for_bit(dtype: npt.DTypeLike):
    pool = DisposablePool()
    assert constant(pool, np.full(5, np.nan, np.float32).astype(dtype)).is_splat
    assert not constant(pool, np.array([0.0, -0.0], np.float32).astype(dtype)).is_splat
    assert not constant(pool, np.array([0.0] * 70_000 + [1]).astype(dtype)).is_splat


def test_the_unused_half_of_a_nibbles_byte_does_not_count():
    pool = DisposablePool()
    assert constant(pool, np.array([0x0F, 0xFF], np.uint8).view(ml_dtypes.int4)).is_splat
    assert not constant(pool, np.array([0x0F, 0xFE], np.uint8).view(ml_dtypes.int4)).is_splat


def test_a_scalar_cut_from_a_large_tensor_lets_it_go():
    pool = DisposablePool()
    corner = constant(pool, np.arange(1 << 20, dtype=np.int32)).slice([slice(5, 6)])
    assert pool.live_bytes == 4
    assert corner.array().tolist() == [5]


def test_windows_over_an_array_count_the_array():
    pool = DisposablePool()
    array = np.arange(1 << 16, dtype=np.int32)
    windows = constant(pool, np.lib.stride_tricks.sliding_window_view(array, 1000))
    assert windows.shape == ((1 << 16) - 999, 1000)
    assert pool.live_bytes == 4 << 16
    same = constant(pool, array)
    assert pool.live_bytes == 4 << 16
    assert np.shares_memory(same.array(), windows.array())


def test_mapped_files_are_counted_apart(tmp_path: Path):
    path = tmp_path / "weights.bin"
    np.arange(1 << 18, dtype=np.float32).tofile(path)
    pool = DisposablePool()
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    whole = constant(pool, np.frombuffer(mapped, np.float32))
    part = constant(pool, np.frombuffer(mapped, np.float32, count=16, offset=64))
    assert part.array()[0] == 16
    assert np.shares_memory(part.array(), whole.array())
    assert (pool.live_bytes, pool.mapped_bytes) == (0, 1 << 20)
    del whole, part
    assert pool.mapped_bytes == 0
    mapped.close()


def test_strings():
    attr = constant(DisposablePool(), np.array([["a", "bc"], ["", "ä"]], object))
    assert str(attr.type) == "tensor<2x2x!onnx.String>"
    assert attr.transpose([1, 0]).array().tolist() == [["a", ""], ["bc", "ä"]]
    assert not attr.is_splat
    assert attr.slice([slice(0, 1), slice(0, 1)]).splat() == "a"
