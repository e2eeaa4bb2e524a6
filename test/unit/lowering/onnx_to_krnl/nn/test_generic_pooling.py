"""Pools of other types, large windows, places of the largest, powers, and the way back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest
from native_nodes import Array, Node, check, check_all, opened
from onnx import TensorProto, helper, numpy_helper

from xonnc.errors import XonncError
from xonnc.native import compile_native
from xonnc.transforms.rules.legalize_pooling import is_cheaper_by_axis

RANDOM = np.random.default_rng(16)


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return RANDOM.normal(size=shape).astype(np.float32)


WINDOWS: dict[str, tuple[Sequence[int], Mapping[str, list[int] | str]]] = {
    "plain": ((2, 3, 7, 8), {"kernel_shape": [2, 3]}),
    "padded": ((1, 2, 6, 6), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}),
    "dilated": ((1, 1, 7, 7), {"kernel_shape": [2, 2], "dilations": [2, 3]}),
    "of a row": ((1, 3, 12), {"kernel_shape": [4], "strides": [3]}),
    "of a volume": ((1, 1, 4, 5, 4), {"kernel_shape": [2, 2, 2]}),
    "large": ((1, 1, 12, 12), {"kernel_shape": [9, 9], "pads": [3, 3, 2, 2]}),
    "same": ((1, 1, 7, 7), {"kernel_shape": [3, 3], "auto_pad": "SAME_LOWER", "strides": [2, 2]}),
}


def largest(x: Array, said: Mapping[str, list[int] | str]) -> tuple[Array, Array]:
    """By the definition, places in rows: the reference evaluator of onnx 1.23 has other shapes."""
    size = integers(said, "kernel_shape", 1, x.ndim - 2)
    pads = [1] * 4 if "auto_pad" in said else integers(said, "pads", 0, 2 * len(size))
    strides, dilations = integers(said, "strides", 1, len(size)), integers(said, "dilations", 1, len(size))
    around = [(0, 0), (0, 0), *zip(pads[: len(size)], pads[len(size) :], strict=True)]
    numbers = np.pad(x.astype(np.float64), around, constant_values=-np.inf)
    indices = np.pad(np.arange(x.size).reshape(x.shape), around)
    best, found = None, np.zeros(())
    for step in np.ndindex(*size):
        at = tuple(
            slice(a * d, whole - (k - 1 - a) * d, stride)
            for a, d, whole, k, stride in zip(step, dilations, numbers.shape[2:], size, strides, strict=True)
        )
        here, index = numbers[(slice(None), slice(None), *at)], indices[(slice(None), slice(None), *at)]
        found = index if best is None else np.where(here > best, index, found)
        best = here if best is None else np.maximum(best, here)
    assert best is not None
    return best.astype(x.dtype), found.astype(np.int64)


def integers(said: Mapping[str, list[int] | str], name: str, default: int, count: int) -> list[int]:
    given = said.get(name)
    return given if isinstance(given, list) else [default] * count


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float16", "float64"])
def test_the_largest_of_other_types(dtype: str):
    arrays = [
        ((np.abs(floats(*shape)) * 30 % 100).astype(dtype), attributes)
        for shape, attributes in WINDOWS.values()
    ]
    check_all(
        Node("MaxPool", [x], attributes, opset=12, expected=[largest(x, attributes)[0]])
        for x, attributes in arrays
    )


LARGE: dict[str, tuple[Sequence[int], Mapping[str, list[int] | str | int]]] = {
    "5x5": ((2, 3, 9, 20), {"kernel_shape": [5, 5], "pads": [2, 2, 2, 2]}),
    "13x13": ((1, 2, 20, 20), {"kernel_shape": [13, 13], "pads": [6, 6, 6, 6]}),
    "uneven": ((1, 2, 11, 9), {"kernel_shape": [6, 5], "pads": [1, 3, 4, 0], "strides": [1, 2]}),
    "dilated": ((1, 2, 15, 13), {"kernel_shape": [5, 6], "dilations": [3, 2], "pads": [2, 1, 0, 3]}),
    "ceil": ((1, 1, 10, 12), {"kernel_shape": [7, 7], "strides": [2, 2], "ceil_mode": 1}),
    "same": ((1, 1, 10, 12), {"kernel_shape": [7, 6], "auto_pad": "SAME_UPPER"}),
    "of a volume": ((1, 2, 6, 1, 7), {"kernel_shape": [5, 1, 6]}),
    "no elements": ((0, 2, 9, 9), {"kernel_shape": [5, 5]}),
}
"""Windows that are cheaper as one pool an axis."""


@pytest.mark.parametrize("case", LARGE)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_large_windows_are_pools_of_one_axis(case: str, dtype: str):
    shape, attributes = LARGE[case]
    x = (floats(*shape) * 10).astype(dtype)
    # A pool whose places are read stays one.
    out = x[..., *[slice(1)] * (x.ndim - 2)]
    both = Node("MaxPool", [x], attributes, opset=12, outputs=2, expected=[out, out.astype(np.int64)])
    requested = compile_native(opened(both.model())).run(None, both.feeds)[0]
    node = Node("MaxPool", [x], attributes, opset=12, expected=[np.asarray(requested)])
    check(node)
    session = compile_native(node.model(), profile=True)
    session.run(None, node.feeds)
    assert [line.kernel for line in session.profile()].count("maxpool") == (2 if x.size else 0)


BEYOND: dict[str, tuple[Sequence[int], Mapping[str, list[int]]]] = {
    "as in EfficientNet": ((2, 3, 7, 7), {"kernel_shape": [320, 320], "strides": [320, 320]}),
    "of a row": ((1, 3, 2), {"kernel_shape": [7], "strides": [7]}),
    "of a volume": ((1, 1, 2, 3, 2), {"kernel_shape": [7, 7, 7], "strides": [6, 6, 6]}),
    "padded": ((1, 2, 2, 3), {"kernel_shape": [7, 6], "strides": [4, 4], "pads": [1, 1, 1, 0]}),
    "padded at the end": ((1, 2, 3, 3), {"kernel_shape": [4, 5], "strides": [5, 5], "pads": [1, 1, 1, 2]}),
}
"""With ceil_mode: single windows that are larger than the data."""


@pytest.mark.parametrize("case", BEYOND)
def test_a_single_window_beyond_the_data_takes_them_all(case: str):
    shape, attributes = BEYOND[case]
    said, x = {**attributes, "ceil_mode": 1}, floats(*shape)
    axes = tuple(range(2, x.ndim))
    mean, most = x.mean(axes, keepdims=True), x.max(axes, keepdims=True)
    size = np.sqrt((x * x).sum(axes, keepdims=True))
    for counts in {0, int("pads" not in said)}:
        check(Node("AveragePool", [x], {**said, "count_include_pad": counts}, opset=19, expected=[mean]))
    check(Node("MaxPool", [x], said, opset=12, expected=[most]))
    check(Node("LpPool", [x], said, opset=22, expected=[size]))


def test_what_no_window_needs_costs_no_time():
    """As EfficientNet of transformers ends: 10^6 taps would be read for each of the channels."""
    x = floats(1, 512, 7, 7)
    said = {"kernel_shape": [1280, 1280], "strides": [1280, 1280], "ceil_mode": 1, "count_include_pad": 1}
    node = Node("AveragePool", [x], said, opset=19, expected=[x.mean((2, 3), keepdims=True)])
    session = check(node)
    start = process_time()
    session.run(None, node.feeds)
    assert process_time() - start < 0.1


def test_counted_padding_stays_in_a_single_window_beyond_the_data():
    x = np.ones((1, 2, 2, 2), np.float32)
    said = {"kernel_shape": [5, 5], "strides": [4, 4], "ceil_mode": 1, "count_include_pad": 1}
    # Of 3 padded rows and columns; what the window is beyond these does not count.
    whole = np.full((1, 2, 1, 1), 4 / 9, np.float32)
    check(Node("AveragePool", [x], {**said, "pads": [1, 0, 0, 1]}, opset=19, expected=[whole]))


@pytest.mark.parametrize("said", [{"ceil_mode": 1, "strides": [3, 3]}, {"strides": [4, 4]}])
def test_a_window_beyond_the_data_and_its_stride_is_invalid(said: Mapping[str, int | list[int]]):
    node = Node("MaxPool", [floats(1, 2, 2, 2)], {"kernel_shape": [5, 5], **said}, opset=12)
    with pytest.raises(XonncError, match="a window of 5 does not fit into axis 2 of 2"):
        compile_native(node.model())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_that_are_none_are_left_out_of_large_windows(dtype: str):
    x = np.full((1, 1, 9, 10), -np.inf, dtype)
    x[0, 0, 2:7, 3:6] = np.nan
    x[0, 0, 8, 9], x[0, 0, 0, 0] = -3, np.inf
    requested = np.full((1, 1, 5, 6), -np.inf, dtype)
    requested[0, 0, 4, 5], requested[0, 0, 0, 0] = -3, np.inf
    check(Node("MaxPool", [x], {"kernel_shape": [5, 5]}, expected=[requested]))


@pytest.mark.parametrize(
    ("kernel", "strides", "is_cheaper"),
    [
        ([5, 5], [1, 1], True),
        ([3, 3], [1, 1], False),
        ([13], [1], False),
        ([1, 13], [1, 1], False),
        ([7, 7], [2, 2], True),
        ([4, 4], [4, 4], False),
        ([5, 5, 5], [1, 1, 1], True),
    ],
)
def test_which_windows_are_cheaper_by_axis(kernel: list[int], strides: list[int], is_cheaper: bool):
    assert is_cheaper_by_axis(kernel, strides) is is_cheaper


def test_a_large_window_whose_places_are_read_stays():
    x = floats(1, 1, 9, 9)
    attributes: Mapping[str, list[int] | str] = {"kernel_shape": [5, 5]}
    check(Node("MaxPool", [x], attributes, outputs=2, expected=largest(x, attributes)))


@pytest.mark.parametrize("order", [0, 1])
def test_the_place_of_the_largest(order: int):
    check_all(with_places(shape, attributes, order) for shape, attributes in WINDOWS.values())


def with_places(shape: Sequence[int], attributes: Mapping[str, list[int] | str], order: int) -> Node:
    x = floats(*shape)
    values, indices = largest(x, attributes)
    if order:
        spatial = np.arange(int(np.prod(shape[2:]))).reshape(tuple(reversed(shape[2:])))
        turned, size = spatial.transpose().reshape(-1), spatial.size
        indices = np.asarray(indices, np.int64) // size * size + turned[np.asarray(indices, np.int64) % size]
    return Node("MaxPool", [x], {**attributes, "storage_order": order}, outputs=2, expected=[values, indices])


@pytest.mark.parametrize("counts_pads", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_means(counts_pads: int, dtype: type[np.generic]):
    rtol = 2e-3 if dtype is np.float16 else 1e-4
    check_all(
        Node(
            "AveragePool",
            [floats(*shape).astype(dtype)],
            {**attributes, "count_include_pad": counts_pads},
            opset=19,
            rtol=rtol,
        )
        for shape, attributes in WINDOWS.values()
    )


@pytest.mark.parametrize("p", [1, 2, 3])
def test_roots_of_sums_of_powers(p: int):
    windows = [WINDOWS[case] for case in ("plain", "dilated", "of a row", "of a volume")]
    check_all(
        Node("LpPool", [floats(*shape)], {**attributes, "p": p}, rtol=1e-4) for shape, attributes in windows
    )


def test_pads_add_nothing_to_powers():
    x = np.full((1, 1, 2), 3, np.float32)
    attributes = {"kernel_shape": [2], "pads": [1, 1]}
    check(Node("LpPool", [x], attributes, expected=[np.array([[[3, 18**0.5, 3]]], np.float32)]))


@pytest.mark.parametrize("p", [1, 2, 3])
def test_roots_of_whole_channels(p: int):
    x = floats(2, 3, 4, 5)
    requested = np.sum(np.abs(x) ** p, axis=(2, 3), keepdims=True) ** np.float32(1 / p)
    check(Node("GlobalLpPool", [x], {"p": p}, expected=[np.asarray(requested, np.float32)], rtol=1e-4))


@pytest.mark.parametrize("larger", [False, True])
def test_the_way_back(larger: bool):
    x = floats(1, 2, 4, 6)
    attributes = {"kernel_shape": [2, 2], "strides": [2, 2]}
    pooled, indices = Node("MaxPool", [x], attributes, outputs=2).wanted()
    inputs = [pooled, indices, np.array([1, 2, 5, 7])] if larger else [pooled, indices]
    check(Node("MaxUnpool", inputs, attributes, constant=[2] if larger else []))


@pytest.mark.parametrize("index", [-7, 8, 10**12])
def test_places_outside_are_refused(index: int):
    inputs = [np.ones((1, 1, 1, 2), np.float32), np.array([[[[0, index]]]])]
    requested = np.zeros((1, 1, 2, 4), np.float32)
    node = Node("MaxUnpool", inputs, {"kernel_shape": [2, 2], "strides": [2, 2]}, expected=[requested])
    with pytest.raises(XonncError, match=f"it: an index is {index}; 0 to 7 are in range"):
        compile_native(node.model()).run(None, node.feeds)


@pytest.mark.covering(2)
@pytest.mark.parametrize("channels", [1, 32])
@pytest.mark.parametrize("size", [2, 3, 9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_nan_is_skipped(dtype: type[np.floating], size: int, channels: int):
    x = floats(1, channels, 14, 14)
    x[RANDOM.random(x.shape) < 0.4] = np.nan
    x[:, :, :9, :9] = np.nan
    x = x.astype(dtype)
    said = {"kernel_shape": [size, size], "strides": [2, 2]}
    least = np.where(np.isnan(x), dtype(-np.inf), x)
    requested, indices = largest(least, said)
    assert np.any(np.isneginf(np.asarray(requested, np.float64)))
    check(Node("MaxPool", [x], said, opset=12, outputs=2, expected=[requested, indices]))
    for more in ({}, {"pads": [1, 1, 1, 1]}):
        check(
            Node("MaxPool", [x], {**said, **more}, opset=12, expected=[largest(least, {**said, **more})[0]])
        )


def test_channel_blocked_images_skip_nan():
    # Between convolutions a pool reads blocks of channels.
    x, weights = floats(1, 16, 10, 10), np.eye(16, dtype=np.float32)[:, :, None, None]
    x[0, :, 2:5, 3] = np.nan
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"]),
        helper.make_node("MaxPool", ["a"], ["b"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["b", "w"], ["y"]),
    ]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("x", "y")]
    ports[0] = helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)
    held = [numpy_helper.from_array(weights, "w")]
    graph = helper.make_graph(nodes, "net", ports[:1], ports[1:], held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    given = np.asarray(compile_native(model).run(None, {"x": x})[0])
    expected = np.nan_to_num(x, nan=-9.0).reshape(1, 16, 5, 2, 5, 2).max((3, 5))
    np.testing.assert_allclose(given, expected, rtol=1e-6)


@pytest.mark.parametrize("sizes", ["h, w", "5, 6"])
@pytest.mark.parametrize(
    "pool",
    [
        "MaxPool<kernel_shape=[2, 2], dilations=[2, 2], pads=[1, 1, 1, 1]>",
        "MaxPool<kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1>",
        "AveragePool<kernel_shape=[3, 2], strides=[2, 2], pads=[2, 1, 0, 0]>",
        "AveragePool<kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 0, 0], ceil_mode=1>",
    ],
)
def test_no_padded_image_is_written(pool: str, sizes: str):
    """With dilations, a window in the pads may miss the row at the edge, so that none stands for another."""
    text = f'<ir_version: 9, opset_import: ["": 19]> g (float[2, 3, {sizes}] x) => (float[a, b, c, d] y)'
    model = onnx.parser.parse_model(f"{text} {{ y = {pool}(x) }}")
    session = compile_native(model, cache=False)
    peer: Any = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    for shape in ((5, 6), (3, 4)) if sizes == "h, w" else ((5, 6),):
        x = floats(2, 3, *shape) - np.float32(3)
        found: Any = session.run(None, {"x": x})[0]
        np.testing.assert_allclose(found, peer.run(None, {"x": x})[0], rtol=1e-5)
    assert session.host_calls() == []
    assert session.compiled <= 1
    assert not any("pad" in line.what for line in session.report())
