"""Operators that move elements give what the reference gives, for elements of any type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from native_nodes import Batch, Node, batches, check, check_batch
from onnx import parser

from xonnc.native import compile_native
from xonnc.native_compilation import resolve_processor
from xonnc.runtime.native.session import MAX_VALUE_SPECIALIZATIONS

Array = npt.NDArray[np.generic]

RANDOM = np.random.default_rng(31)


def data(dtype: type[np.generic], *shape: int) -> Array:
    return (RANDOM.normal(size=shape) * 20).astype(dtype)


def int_values_of(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def pads() -> Iterator[Node]:
    x = data(np.float32, 3, 4, 5)
    for mode in ("constant", "edge", "reflect", "wrap"):
        for pad in (
            int_values_of(0, 1, 2, 0, 3, 1),
            int_values_of(1, 0, 0, 0, 0, 0),
            int_values_of(0, 2, 2, 2, 0, 2),
        ):
            for constant in ((), (1,)):
                yield Node("Pad", [x, pad], {"mode": mode}, constant=constant)
    shifted = np.zeros((3, 4, 4), np.float32)
    shifted[:, :, 1:] = np.asarray(x, np.float32)[:, :, :3]
    yield Node("Pad", [x, int_values_of(1, -2), None, int_values_of(-1)], constant=[1, 3], expected=[shifted])
    less = [x, int_values_of(-1, 0, 2, 0, -1, -3), np.array(7, np.float32)]
    known = np.full((2, 3, 4), 7, np.float32)
    known[:, :, 2:] = np.asarray(x, np.float32)[1:, :3, :2]
    yield Node("Pad", less, expected=[known])
    for dtype in (np.int8, np.float16, np.uint64, np.bool_, ml_dtypes.bfloat16):
        fill = np.array(1).astype(dtype)
        for constant in ((1,), (1, 2)):
            inputs = [data(np.float32, 2, 3).astype(dtype), int_values_of(1, 0, 0, 2), fill]
            yield Node("Pad", inputs, constant=constant)


@pytest.mark.parametrize("opset", [8, 11])
@pytest.mark.parametrize(
    ("mode", "row"),
    [
        ("constant", [1.5, 1.5, 1, 2, 3, 1.5]),
        ("edge", [1, 1, 1, 2, 3, 3]),
        ("reflect", [3, 2, 1, 2, 3, 2]),
    ],
)
def test_pads_of_old(opset: int, mode: str, row: Sequence[float]) -> None:
    x, pads, value = np.array([1, 2, 3], np.float32), [2, 1], 1.5
    expected = [np.array(row, np.float32)]
    if opset < 11:
        check(Node("Pad", [x], {"pads": pads, "value": value, "mode": mode}, opset=8, expected=expected))
    else:
        inputs = [x, int_values_of(*pads), np.array(value, np.float32)]
        check(Node("Pad", inputs, {"mode": mode}, constant=[1, 2], opset=11, expected=expected))


@pytest.mark.parametrize(
    ("pads", "row"),
    [
        ((-1, 3), [2, 3, 4, 2, 3, 4]),
        ((3, -2), [2, 1, 2, 1, 2]),
        ((-2, -1), [3]),
        ((1, 5), [4, *[1, 2, 3, 4] * 2, 1]),
    ],
)
def test_what_negative_pads_leave_wraps(pads: tuple[int, int], row: Sequence[float]) -> None:
    """As in onnxruntime."""
    x, expected = np.array([1, 2, 3, 4], np.float32), [np.array(row, np.float32)]
    check(Node("Pad", [x, int_values_of(*pads)], {"mode": "wrap"}, constant=[1], expected=expected))


@pytest.mark.parametrize("target", ["cpu", "portable"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.bool_, np.int64, np.complex64])
def test_squares_are_turned_in_registers(dtype: type[np.generic], target: str) -> None:
    """Rows and columns that fill squares, and that leave some for smaller ones or for none."""
    for shape in ((32, 48), (33, 21), (5, 64), (16, 3), (2, 31, 27)):
        x = RANDOM.integers(-99, 99, shape).astype(dtype)
        order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
        node = Node("Transpose", [x], {"perm": order})
        (given,) = compile_native(node.model(), target).run(None, node.feeds)
        np.testing.assert_array_equal(np.asarray(given), x.transpose(order))


def slices() -> Iterator[Node]:
    x = data(np.float32, 5, 6, 7)
    for constant in ((), (1, 2, 3, 4)):
        yield Node(
            "Slice",
            [x, int_values_of(4, 0), int_values_of(-9, 5), int_values_of(0, 2), int_values_of(-2, 3)],
            constant=constant,
        )
        yield Node(
            "Slice", [x, int_values_of(-3), int_values_of(2**62), int_values_of(-1)], constant=constant
        )
        yield Node("Slice", [x, int_values_of(3), int_values_of(3), int_values_of(1)], constant=constant)
    # Elements a few apart are read in vectors, of any length.
    for size in (2, 5, 9, 16, 17, 33, 47):
        for step in (2, 3, 4, 5):
            for dtype in (np.float32, np.int8, np.bool_):
                numbers = RANDOM.integers(-2, 3, (2, (size - 1) * step + 1))
                row = numbers.astype(dtype)
                yield Node(
                    "Slice",
                    [row, int_values_of(0), int_values_of(2**31), int_values_of(1), int_values_of(step)],
                    constant=(1, 2, 3, 4),
                )
    # Where a slice begins may be known to the run alone.
    yield Node(
        "Slice",
        [x, int_values_of(4, -4), int_values_of(-9, 5), int_values_of(0, 2), int_values_of(-2, 3)],
        constant=(3, 4),
    )
    yield Node("Slice", [x, int_values_of(-2, 1, -9), int_values_of(99, -1, 2)])
    yield Node(
        "Slice",
        [
            x,
            np.array([2], np.int32),
            np.array([-9], np.int32),
            np.array([2], np.int32),
            np.array([-1], np.int32),
        ],
        constant=(3, 4),
    )
    yield Node("Slice", [data(np.complex64, 4, 4), int_values_of(1), int_values_of(4), int_values_of(1)])


def arrangements() -> Iterator[Node]:
    for dtype in (np.int8, np.float16, ml_dtypes.bfloat16, np.complex64, np.bool_):
        x = data(np.float32, 2, 3, 4).astype(dtype)
        yield Node("Transpose", [x], {"perm": [2, 0, 1]})
        yield Node("Concat", [x, x[:, :1], x[:, :0]], {"axis": 1})
        yield Node("Tile", [x, int_values_of(1, 2, 3)], constant=[1])
        yield Node("Reshape", [x, int_values_of(4, -1)])
        yield Node("Split", [x, int_values_of(1, 0, 2)], {"axis": 1}, constant=[1], outputs=3)
        yield Node("Squeeze", [x[:, :1], int_values_of(1)])
        if dtype is not np.complex64:
            yield Node("Expand", [x[:, :1], int_values_of(2, 5, 4)])
            yield Node("Where", [np.array([True, False, True, True]), x, x[:, ::-1].copy()])
    image = data(np.float32, 2, 8, 4, 6)
    for mode in ("DCR", "CRD"):
        yield Node("DepthToSpace", [image], {"blocksize": 2, "mode": mode})
    yield Node("SpaceToDepth", [image], {"blocksize": 2})
    # The other order, which the reference lacks, is what DepthToSpace of that order undoes.
    rows = np.asarray(image, np.float32).reshape(2, 8, 2, 2, 3, 2).transpose(0, 1, 3, 5, 2, 4)
    attributes = {"blocksize": 2, "mode": "CRD"}
    yield Node("SpaceToDepth", [image], attributes, opset=28, expected=[rows.reshape(2, 32, 2, 3)])


@pytest.mark.parametrize("batch", batches([*pads(), *slices(), *arrangements()]), ids=str)
def test_native_nodes_give_what_the_reference_gives(batch: Batch):
    check_batch(batch)


def test_a_slice_of_another_size_is_told():
    x = data(np.float32, 5, 6)
    session = compile_native(
        Node("Slice", [x, int_values_of(1), int_values_of(3), int_values_of(1)], constant=(3,)).model()
    )
    feeds = {"x0": x, "x1": int_values_of(2), "x2": int_values_of(4)}
    np.testing.assert_array_equal(np.asarray(session.run(None, feeds)[0]), np.asarray(x)[:, 2:4])
    assert session.host_calls() == []
    with pytest.warns(UserWarning, match=r"^it: gives 4 elements along axis 1, the model says 2;"):
        found = session.run(None, feeds | {"x2": int_values_of(99)})
    np.testing.assert_array_equal(np.asarray(found[0]), np.asarray(x)[:, 2:])


def test_a_model_that_is_fed_ever_new_axes_is_compiled_no_more():
    x = data(np.float32, 3, 3)
    session = compile_native(Node("CumSum", [x, np.array(0, np.int64)], opset=14).model())
    fed = [np.array(axis, np.int64) for axis in (0, 1, -1, -2)]
    for axis in fed:
        given = np.asarray(session.run(None, {"x0": x, "x1": axis})[0], np.float32)
        np.testing.assert_allclose(given, np.asarray(x, np.float32).cumsum(int(axis)), rtol=1e-4, atol=1e-4)
        assert session.host_calls() == []
    dynamic = Node("Pad", [x, int_values_of(0, 0, 0, 0)], expected=[x]).model()
    dynamic.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "n"
    session = compile_native(dynamic)
    for begin in range(MAX_VALUE_SPECIALIZATIONS + 2):
        made = np.asarray(session.run(None, {"x0": x, "x1": int_values_of(begin, 0, 0, 0)})[0])
        assert made.shape == (3 + begin, 3)
    assert session.host_calls() == ["Pad"]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("shape", "order", "is_one"),
    [
        ((2, 56, 5, 60), (0, 2, 3, 1), True),
        ((3, 37, 41), (0, 2, 1), True),
        ((1, 37, 41), (0, 2, 1), False),
        ((37, 41), (1, 0), False),
        ((2, 19, 3, 21), (3, 0, 2, 1), False),
        ((2, 19, 3, 21), (0, 3, 1, 2), True),
        ((4, 3, 2), (0, 2, 1), True),
    ],
)
def test_one_kernel_transposes_tiles_of_all_sizes_in_a_loop_around_them(
    shape: Sequence[int], order: Sequence[int], is_one: bool, threads: int
):
    x = data(np.float32, *shape)
    model = Node("Transpose", [x], {"perm": list(order)}).model()
    session = compile_native(model, threads=threads)
    np.testing.assert_array_equal(np.asarray(session.run(None, {"x0": x})[0]), x.transpose(order))
    if resolve_processor("cpu").vector_bytes == 64:
        (line,) = session.report()
        assert (len(line.what.split()) == 1) == is_one


@pytest.mark.parametrize("body", ["y = Expand (x, t)", "e = Expand (x, t) y = Neg (e)"])
@pytest.mark.parametrize("dtype", ["float", "int8"])
def test_expand_of_dynamic_dimensions_by_a_constant_has_one_program(body: str, dtype: str):
    """As torch repeats pairs of angles for rotary embeddings (GLM-4, Cohere)."""
    session = compile_native(
        parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 17]> '
            f"g ({dtype}[b, 1, s, 2, 1] x) => ({dtype}[b, 3, s, 2, 2] y) "
            f"<int64[5] t = {{1, 3, 1, 1, 2}}> {{ {body} }}"
        )
    )
    for shape in ((2, 1, 3, 2, 1), (1, 1, 1, 2, 1), (3, 1, 0, 2, 1), (5, 1, 17, 2, 1)):
        x = data(np.float32 if dtype == "float" else np.int8, *shape)
        expected = np.broadcast_to(np.asarray(x), (shape[0], 3, shape[2], 2, 2))
        (found,) = session.run(None, {"x": x})
        np.testing.assert_array_equal(
            np.asarray(found), np.multiply(expected, -1) if "Neg" in body else expected
        )
    assert session.compiled == 1
    assert not session.host_calls()
