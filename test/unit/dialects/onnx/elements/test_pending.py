"""Elementwise functions are deferred, run once, and in the elements' own types."""

from __future__ import annotations

import io
import os
import tracemalloc
from collections.abc import Callable
from math import prod
from pathlib import Path

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import IntegerType, bf16, f16, f32, i32
from xdsl.ir import Attribute

from xonnc.dialects.onnx.elements import DisposableElementsAttr, DisposablePool, elements_array
from xonnc.dialects.onnx.elements.blocks import BLOCK, block_indices
from xonnc.dialects.onnx.elements.buffers import Array
from xonnc.dialects.onnx.elements.payload import MAX_STEPS

LARGE = 200_000
"""More than three blocks."""


def constant(pool: DisposablePool, array: Array) -> DisposableElementsAttr:
    return disposable(pool.create(array))


def disposable(attr: Attribute) -> DisposableElementsAttr:
    assert isinstance(attr, DisposableElementsAttr)
    return attr


def above_three(array: Array) -> Array:
    return array > 3


class Counted:
    """An addition of one that counts the elements it was called for."""

    def __init__(self) -> None:
        self.elements = 0

    def __call__(self, array: Array) -> Array:
        self.elements += array.size
        return array + array.dtype.type(1)


def test_work_is_deferred_until_the_first_read_and_runs_once():
    pool = DisposablePool()
    work = Counted()
    source = constant(pool, np.arange(LARGE, dtype=np.int32))
    result = source.map(work)
    assert work.elements == 0
    assert result.payload.is_pending
    assert pool.live_bytes == LARGE * 4
    first = result.array()
    assert first is result.array()
    assert work.elements == LARGE
    np.testing.assert_array_equal(first, np.arange(1, LARGE + 1))


def test_the_expression_lets_its_sources_go():
    pool = DisposablePool()
    result = constant(pool, np.arange(LARGE, dtype=np.int32)).map(Counted()).map(Counted())
    assert pool.live_bytes == LARGE * 4
    assert result.array()[0] == 2
    assert pool.live_bytes == LARGE * 4
    assert pool.peak_bytes == LARGE * 8


def test_a_chain_makes_one_output_block_by_block():
    pool = DisposablePool()
    source = constant(pool, np.zeros(4_000_000, np.float32))
    result = source
    for _ in range(4):
        result = result.map(np.exp)
    tracemalloc.start()
    result.array()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16_000_000 + 20 * BLOCK * 4


def test_views_of_pending_work_are_read_through_it():
    pool = DisposablePool()
    work = Counted()
    table = constant(pool, np.arange(LARGE, dtype=np.int32).reshape(400, 500)).map(work)
    turned = table.transpose([1, 0]).slice([slice(None, None, -1)])
    assert work.elements == 0
    np.testing.assert_array_equal(turned.array(), (np.arange(LARGE).reshape(400, 500) + 1).T[::-1])
    assert np.shares_memory(turned.array(), table.array())
    assert work.elements == LARGE


def test_work_that_many_read_is_not_repeated():
    pool = DisposablePool()
    work = Counted()
    shared = constant(pool, np.arange(LARGE, dtype=np.int32)).map(work)
    readers = [shared.map(np.negative) for _ in range(10)]
    for reader in readers:
        assert reader.array()[-1] == -LARGE
    assert work.elements <= 2 * LARGE


def test_a_diamond_is_computed_once_per_block():
    work = Counted()
    pool = DisposablePool()
    shared = constant(pool, np.arange(LARGE, dtype=np.int32)).map(work)
    result = disposable(pool.combine(np.multiply, shared, shared))
    np.testing.assert_array_equal(result.array()[:3], [1, 4, 9])
    assert work.elements == LARGE


def test_expressions_stay_short():
    pool = DisposablePool()
    result = constant(pool, np.zeros(LARGE, np.int32))
    for _ in range(100):
        result = result.map(Counted())
        assert result.payload.steps <= MAX_STEPS
    assert result.array()[0] == 100


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((300, 700), (700,)),
        ((300, 1, 7), (1, 90, 1)),
        ((3, 70_000), (3, 1)),
        ((1, 1, 200_000), (2, 1, 1)),
        ((LARGE,), ()),
    ],
)
def test_operands_broadcast(left: tuple[int, ...], right: tuple[int, ...]):
    generator = np.random.default_rng(1)
    a = generator.standard_normal(left).astype(np.float32)
    b = generator.standard_normal(right).astype(np.float32)
    pool = DisposablePool()
    result = disposable(pool.combine(np.subtract, pool.create(a), pool.create(b)))
    np.testing.assert_array_equal(np.concatenate(list(result.blocks())), (a - b).reshape(-1))
    assert result.payload.is_pending
    np.testing.assert_array_equal(result.array(), a - b)


def test_axes_along_which_nothing_changes_are_computed_once():
    pool = DisposablePool()
    row = constant(pool, np.arange(3000, dtype=np.int32)).expand([1000, 3000])
    work = Counted()
    assert row.map(work).array()[999, 2999] == 3000
    assert work.elements == 3000


def test_shapes_that_do_not_broadcast_are_refused():
    pool = DisposablePool()
    with pytest.raises(ValueError, match="broadcast"):
        pool.combine(np.add, pool.create(np.zeros(2)), pool.create(np.zeros(3)))
    with pytest.raises(ValueError, match="holds no elements"):
        pool.combine(np.add, i32, i32)


def test_integers_wrap_at_each_step():
    pool = DisposablePool()
    largest = constant(pool, np.full((LARGE,), 255, np.uint8))
    one, two = (pool.create(np.array(value, np.uint8)) for value in (1, 2))
    halved = disposable(pool.combine(np.floor_divide, pool.combine(np.add, largest, one), two))
    assert halved.payload.is_pending
    assert (halved.array() == 0).all()
    splat = disposable(pool.combine(np.add, largest.slice([slice(0, 1)]), one))
    assert splat.splat() == 0
    nibble = constant(pool, np.array([7, -8], ml_dtypes.int4))
    assert disposable(
        pool.combine(np.add, nibble, pool.create(np.array(1, ml_dtypes.int4)))
    ).array().tolist() == [-8, -7]


@pytest.mark.parametrize(("element_type", "dtype"), [(f16, np.float16), (bf16, ml_dtypes.bfloat16)])
def test_narrow_floats_round_at_each_step(element_type: Attribute, dtype: npt.DTypeLike):
    values: Array = np.linspace(0.1, 3, LARGE).astype(dtype)
    pool = DisposablePool()
    attr = constant(pool, values)
    product = disposable(pool.combine(np.multiply, pool.combine(np.multiply, attr, attr), attr))
    assert product.get_element_type() == element_type
    expected = np.multiply(np.multiply(values, values), values)
    assert product.array().tobytes() == expected.tobytes()


def test_casts_wait_and_wrap():
    pool = DisposablePool()
    wide = constant(pool, np.arange(LARGE, dtype=np.int32))
    assert wide.cast(i32) is wide
    narrow = wide.cast(IntegerType(8))
    assert narrow.payload.is_pending
    assert str(narrow.type) == f"tensor<{LARGE}xi8>"
    np.testing.assert_array_equal(narrow.array(), np.arange(LARGE).astype(np.int8))
    mapped = wide.map(above_three, f32)
    assert mapped.array()[:6].tolist() == [0, 0, 0, 0, 1, 1]


def test_splat_with_splat_stays_a_splat():
    pool = DisposablePool()
    two = constant(pool, np.array(2, np.float32)).expand([1000, 1000])
    three = constant(pool, np.array(3, np.float32)).expand([1000, 1000])
    product = disposable(pool.combine(np.multiply, two, three))
    assert product.payload.is_structural_splat()
    assert product.splat() == 6
    assert pool.live_bytes == 12


def test_zero_dimensional_operands():
    pool = DisposablePool()
    two = pool.create(np.array(2, np.float16))
    assert disposable(pool.combine(np.multiply, two, two)).array().shape == ()
    text = pool.create(np.array("ab", object))
    assert disposable(pool.combine(np.add, text, text)).splat() == "abab"
    assert disposable(pool.combine(np.equal, text, text)).dtype == np.bool_


def test_nan_payloads_survive():
    bits = np.array([0x7FC01234, 0xFF800001, 0x7F800000, 0x80000000], np.uint32)
    attr = constant(DisposablePool(), bits.view(np.float32))
    out = io.BytesIO()
    turned = attr.slice([slice(None, None, -1)]).reshape([2, 2]).transpose([1, 0])
    assert turned.write_to(out) == 16
    expected = bits[::-1].reshape(2, 2).T
    assert out.getvalue() == expected.tobytes()


def test_streaming_holds_blocks_only():
    pool = DisposablePool()
    source = constant(pool, np.arange(2_000_000, dtype=np.int32))

    for attr in (source, source.map(np.negative), source.reshape([2000, 1000]).transpose([1, 0])):
        tracemalloc.start()
        with Path(os.devnull).open("wb") as sink:
            written = attr.write_to(sink)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert written == 8_000_000
        assert peak < 1_500_000
    strings = constant(pool, np.array(["a"], object))
    with pytest.raises(TypeError, match="strings"):
        strings.write_to(io.BytesIO())


@pytest.mark.parametrize("shape", [(), (5,), (0, 3), (3, 70_000), (7, 1, 11, 1000), (300_000, 2)])
def test_blocks_cover_a_tensor_in_order(shape: tuple[int, ...]):
    array = np.arange(prod(shape)).reshape(shape)
    blocks = [array[index].reshape(-1) for index in block_indices(shape)]
    assert all(block.size <= BLOCK for block in blocks)
    np.testing.assert_array_equal(np.concatenate([np.empty(0, int), *blocks]), array.reshape(-1))


def test_a_sample_is_computed_alone_and_says_what_the_whole_says():
    pool, work = DisposablePool(), Counted()
    rows = constant(pool, np.arange(400, dtype=np.float32).reshape(400, 1))
    columns = constant(pool, np.arange(1000, dtype=np.float32))
    table = disposable(pool.combine(np.multiply, rows.map(work), columns)).map(work)
    before = work.elements
    index = (slice(None, None, 50), slice(500, 501))
    found = table.sample(index)
    assert work.elements - before <= 8 + 8
    assert table.payload.is_pending
    np.testing.assert_array_equal(found, table.array()[index])
    np.testing.assert_array_equal(
        table.transpose((1, 0)).sample((slice(3, 4), slice(0, 9, 4))), table.array().T[3:4, 0:9:4]
    )


Elements = DisposableElementsAttr


def transposed(table: Elements) -> Elements:
    return table.transpose((1, 0))


def transposed_anew(table: Elements) -> Elements:
    return table.reshape((200, 2000)).transpose((1, 0))


def sliced(table: Elements) -> Elements:
    return table.slice((slice(None, None, -3), slice(10, 500)))


def expanded(table: Elements) -> Elements:
    return table.reshape((1, 400, 1000)).expand((5, 400, 1000)).map(np.negative)


@pytest.mark.parametrize("view", [transposed, transposed_anew, sliced, expanded])
def test_a_sample_of_a_view_is_computed_alone(view: Callable[[Elements], Elements]):
    pool, work = DisposablePool(), Counted()
    rows = constant(pool, np.arange(400, dtype=np.float32).reshape(400, 1))
    columns = constant(pool, np.arange(1000, dtype=np.float32))
    table = disposable(pool.combine(np.multiply, rows, columns)).map(work)
    seen = view(table)
    index = tuple(slice(None, None, max(1, size // 3)) for size in seen.shape)
    found = seen.sample(index)
    assert work.elements <= 5**3
    assert seen.payload.is_pending
    np.testing.assert_array_equal(found, seen.array()[index])


def test_a_sample_of_what_repeats_or_is_empty():
    pool = DisposablePool()
    wide = constant(pool, np.ones((2, 0, 3), np.int64)).map(Counted())
    assert wide.sample((slice(1, 2), slice(0, 1), slice(None))).shape == (1, 0, 3)
    scalar = constant(pool, np.asarray(4, np.int64)).map(Counted())
    assert scalar.sample(()).tolist() == 5


def test_a_deferred_constant_is_computed_at_the_first_read():
    pool, calls = DisposablePool(), list[int]()

    def make() -> npt.NDArray[np.float32]:
        calls.append(1)
        return np.arange(4096, dtype=np.float32).reshape(64, 64)

    made = disposable(pool.create_deferred((64, 64), np.dtype(np.float32), make))
    assert (made.get_shape(), calls, pool.live_bytes) == ((64, 64), [], 0)
    moved = made.transpose((1, 0))
    total = pool.combine(np.add, moved, made)
    assert calls == []
    assert np.array_equal(disposable(total).array(), make() + make().T)
    assert np.array_equal(made.array(), make())
    # Three by this test, one by the constant.
    assert len(calls) == 4


def test_elements_of_a_deferred_constant():
    pool = DisposablePool()
    made = disposable(pool.create_deferred((3, 5), np.dtype(np.int64), lambda: np.arange(15).reshape(3, 5)))
    assert np.array_equal(made.payload.sample((slice(1, 2), slice(0, 5, 2))), [[5, 7, 9]])
    assert np.array_equal(np.concatenate(list(made.payload.blocks())), np.arange(15))
    assert not made.payload.is_splat()


def test_a_closed_pool_computes_deferred_constants():
    pool = DisposablePool()
    pool.close()
    made = pool.create_deferred((2,), np.dtype(np.float32), lambda: np.ones(2, np.float32))
    assert not isinstance(made, DisposableElementsAttr)
    array = elements_array(made)
    assert array is not None
    assert np.array_equal(array, [1, 1])
