"""RoiAlign, MaxRoiPool and DeformConv: places between pixels, at and beyond the edges."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest
from native_nodes import Batch, Node, batches, check, check_batch

from xonnc.errors import XonncError
from xonnc.model_check import check_model
from xonnc.native import compile_native

RANDOM = np.random.default_rng(47)


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return RANDOM.normal(size=shape).astype(np.float32)


ROIS = np.array([[0, 0, 9, 9], [2.3, 1.1, 7.6, 5.2], [-4, 3, 14, 15], [6, 6, 2, 3], [3, 3, 3, 3]], np.float32)
IMAGES = np.array([1, 0, 1, -1, 0])
MODES: Sequence[Mapping[str, object]] = [
    {"mode": mode, "coordinate_transformation_mode": where}
    for mode in ("avg", "max")
    for where in ("half_pixel", "output_half_pixel")
]


def aligned() -> Iterator[Node]:
    x = floats(2, 3, 8, 11)
    for said in MODES:
        for ratio in (0, 1, 3):
            sizes = {"output_height": 3, "output_width": 2, "sampling_ratio": ratio, "spatial_scale": 0.8}
            yield Node("RoiAlign", [x, ROIS, IMAGES % 2], {**said, **sizes})
    sizes = {"output_height": 2, "output_width": 2, "sampling_ratio": 2}
    yield Node("RoiAlign", [x.astype(np.float64), ROIS.astype(np.float64), IMAGES % 2], sizes)
    float16s = Node("RoiAlign", [x.astype(np.float16), ROIS.astype(np.float16), IMAGES % 2], sizes, rtol=5e-3)
    yield float16s
    old = Node("RoiAlign", [x, ROIS, IMAGES % 2], {**MODES[1], **sizes})
    yield Node("RoiAlign", [x, ROIS, IMAGES % 2], sizes, opset=10, expected=old.wanted)


@pytest.mark.parametrize("batch", batches(aligned()), ids=str)
def test_regions_are_what_the_reference_makes_of_them(batch: Batch):
    check_batch(batch)


def test_the_last_image_is_also_minus_one():
    x, sizes = floats(2, 3, 8, 11), {"output_height": 2, "output_width": 2, "sampling_ratio": 2}
    requested = Node("RoiAlign", [x, ROIS, IMAGES % 2], sizes).wanted()
    check(Node("RoiAlign", [x, ROIS, IMAGES], sizes, expected=requested))


def test_no_image_of_that_number():
    node = Node("RoiAlign", [floats(2, 1, 4, 4), ROIS, IMAGES % 2], {"sampling_ratio": 1})
    with pytest.raises(XonncError, match="it: index 2 is out of range: axis 0 has 2 elements"):
        compile_native(node.model()).run(None, {**node.feeds, "x2": IMAGES + 1})


@pytest.mark.parametrize("far", [1e9, np.inf])
def test_a_region_larger_than_any_image_ends_the_run(far: float):
    node = Node("RoiAlign", [floats(2, 1, 4, 4), ROIS, IMAGES % 2])
    rois = ROIS.copy()
    rois[2, 3] = far
    with pytest.raises(XonncError, match="it: a region has 65 samples per bin and axis; at most 64"):
        compile_native(node.model()).run(None, {**node.feeds, "x1": rois})


def largest(x: npt.NDArray[np.float32], rois: npt.NDArray[np.float32], cells: tuple[int, int], scale: float):
    """MaxRoiPool as Fast R-CNN defines it; the reference evaluator has none."""
    made = np.zeros((len(rois), x.shape[1], *cells), np.float32)
    for number, (image, *corners) in enumerate(rois):
        x1, y1, x2, y2 = (int(np.floor(abs(each) * scale + 0.5) * np.sign(each)) for each in corners)
        spans: list[list[slice]] = []
        for count, start, end, size in ((cells[0], y1, y2, x.shape[2]), (cells[1], x1, x2, x.shape[3])):
            step = np.float32(max(end - start + 1, 1)) / np.float32(count)
            ends = [
                (int(np.floor(step * cell)) + start, int(np.ceil(step * (cell + 1))) + start)
                for cell in range(count)
            ]
            spans.append([slice(*np.clip(each, 0, size).tolist()) for each in ends])
        for row, rows in enumerate(spans[0]):
            for column, columns in enumerate(spans[1]):
                part = x[int(image)][:, rows, columns]
                if part.size:
                    made[number, :, row, column] = part.max((1, 2))
    return made


@pytest.mark.parametrize("scale", [1.0, 0.5])
@pytest.mark.parametrize("cells", [(1, 1), (2, 3), (5, 4)])
def test_the_largest_pixel_of_each_cell(cells: tuple[int, int], scale: float):
    x, rois = floats(2, 3, 8, 11), np.concatenate([(IMAGES % 2)[:, None], ROIS], 1).astype(np.float32)
    said = {"pooled_shape": list(cells), "spatial_scale": scale}
    check(Node("MaxRoiPool", [x, rois], said, expected=[largest(x, rois, cells, scale)]))


def test_the_largest_pixel_of_no_image():
    rois = np.array([[0, 0, 0, 3, 3], [1, 0, 0, 2, 2]], np.float32)
    node = Node(
        "MaxRoiPool", [floats(2, 1, 4, 4), rois], {"pooled_shape": [2, 2]}, expected=[floats(2, 1, 2, 2)]
    )
    with pytest.raises(XonncError, match="it: a region has batch index 2; there are 2 images"):
        compile_native(node.model()).run(None, {**node.feeds, "x1": rois + 1})


def in_bfloat16(node: Node) -> list[npt.NDArray[np.generic]]:
    return [each.astype(ml_dtypes.bfloat16) for each in node.wanted()]


def runtime_zero_point() -> Iterator[Node]:
    cases: list[tuple[Mapping[str, object], int, int, bool, bool]] = [
        ({}, 1, 1, False, False),
        ({"pads": [1, 0, 2, 1], "strides": [2, 1]}, 1, 1, True, True),
        ({"pads": [1, 1, 1, 1], "dilations": [1, 2]}, 2, 1, True, False),
        ({"strides": [1, 2]}, 2, 2, False, True),
    ]
    for said, groups, offset_groups, has_bias, has_mask in cases:
        for dtype in (np.float32, np.float64):
            pads, strides = np.array(said.get("pads", [0] * 4)), np.array(said.get("strides", [1, 1]))
            reach = (np.array([2, 3]) - 1) * np.array(said.get("dilations", [1, 1])) + 1
            out = (np.array([7, 8]) + pads[:2] + pads[2:] - reach) // strides + 1
            x, weights = floats(2, 4, 7, 8), floats(6, 4 // groups, 2, 3)
            offset = 2 * floats(2, offset_groups * 12, *out.tolist())
            bias = floats(6) if has_bias else None
            mask = floats(2, offset_groups * 6, *out.tolist()) if has_mask else None
            inputs = [x, weights, offset, bias, mask]
            attributes = {**said, "group": groups, "offset_group": offset_groups}
            held = [None if each is None else each.astype(dtype) for each in inputs]
            yield Node("DeformConv", held, attributes, rtol=2e-4)
            if dtype is np.float32 and has_mask:
                held = [None if each is None else each.astype(ml_dtypes.bfloat16) for each in inputs]
                exact = [None if each is None else each.astype(np.float32) for each in held]
                requested = partial(in_bfloat16, Node("DeformConv", exact, attributes))
                yield Node("DeformConv", held, attributes, rtol=1e-2, expected=requested, opset=22)


@pytest.mark.parametrize("batch", batches(runtime_zero_point()), ids=str)
def test_windows_are_moved_as_in_the_reference(batch: Batch):
    check_batch(batch)


@pytest.mark.parametrize(
    ("x", "offset", "message"),
    [
        ((1, 1, 5, 4), (1, 8, 3, 3), "offset is for [3, 3] positions of the window, which has [4, 3]"),
        ((1, 1, 4, 4), (1, 8, 3, 2), "offset is for [3, 2] positions of the window, which has [3, 3]"),
    ],
)
@pytest.mark.parametrize("is_dynamic", [False, True])
def test_offsets_of_another_size_are_refused(
    x: tuple[int, ...], offset: tuple[int, ...], message: str, is_dynamic: bool
):
    """They would be read beyond their end."""
    shapes = zip((x, offset), ("abcd", "pqrs"), strict=True)
    sizes = [",".join(names if is_dynamic else map(str, shape)) for shape, names in shapes]
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 19]> g (float[{sizes[0]}] x, float[{sizes[1]}] o)'
        " => (float[n,m,h,v] y) <float[1,1,2,2] w = {1,2,3,4}> { y = DeformConv(x, w, o) }"
    )
    feeds = {"x": np.ones(x, np.float32), "o": np.ones(offset, np.float32)}
    with pytest.raises(XonncError, match=re.escape(message)):
        compile_native(model).run(None, feeds)
    assert [message in str(each) for each in check_model(model)] == ([] if is_dynamic else [True])
