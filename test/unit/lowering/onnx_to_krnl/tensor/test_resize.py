"""Resize, Upsample and GridSample: modes, coordinates, policies, what is beyond the ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pytest
from native_nodes import Array, Node, check, check_all

from xonnc.errors import XonncError
from xonnc.native import compile_native

RANDOM = np.random.default_rng(13)


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return RANDOM.normal(size=shape).astype(np.float32)


def scales(*numbers: float) -> Array:
    return np.array(numbers, np.float32)


COORDINATES = ("align_corners", "asymmetric", "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel")


@pytest.mark.parametrize("is_constant", [False, True])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_scales(mode: str, is_constant: bool):
    check_all(
        Node(
            "Resize",
            [floats(1, 2, 5, 7), None, scales(*factors)],
            {"mode": mode, "coordinate_transformation_mode": coordinates},
            constant=[2] if is_constant else [],
        )
        for coordinates in COORDINATES
        for factors in ((1, 1, 2.0, 1.7), (1, 1, 0.6, 0.9))
    )


def test_sizes_are_of_exact_products():
    x = floats(1, 15)
    inputs = [x, None, scales(1, 31 / 15)]
    # 31 elements where the product is rounded to float32 before floor.
    expected = [x[:, np.arange(30) * 15 // 31]]
    attributes = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    check(Node("Resize", inputs, attributes, constant=[2], expected=expected))


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_of_an_axis_without_elements_nothing_is_made(mode: str):
    def run(*sizes: int) -> tuple[int, ...]:
        expected = [np.zeros(sizes, np.float32)]
        node = Node(
            "Resize", [floats(2, 0, 3), None, None, np.array(sizes)], {"mode": mode}, expected=expected
        )
        return np.asarray(compile_native(node.model()).run(None, node.feeds)[0]).shape

    assert run(2, 0, 5) == (2, 0, 5)
    # As for a batch of no images in a model that makes one image.
    with pytest.raises(XonncError, match="non-empty"):
        run(2, 4, 5)


NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.int64, np.uint8])
def test_nearest_of_any_type(dtype: type[np.generic]):
    x = RANDOM.integers(0, 100, (2, 4, 6)).astype(dtype)
    inputs = [x, None, None, np.array([2, 7, 3])]
    check_all(Node("Resize", inputs, {"mode": "nearest", "nearest_mode": nearest}) for nearest in NEAREST)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_nearest_of_whole_scales(coordinates: str):
    x = floats(2, 3, 5, 11)
    check_all(
        Node(
            "Resize",
            [x, None, scales(*factors)],
            {"nearest_mode": nearest, "coordinate_transformation_mode": coordinates},
            constant=[2],
        )
        for nearest in NEAREST
        for factors in ((1, 1, 2, 2), (1, 3, 1, 4), (1, 1, 1, 3))
    )


@pytest.mark.parametrize("dtype", [np.bool_, np.float64, np.int8, np.int64])
def test_nearest_of_whole_scales_of_any_type(dtype: type[np.generic]):
    x = RANDOM.integers(0, 2 if dtype is np.bool_ else 100, (2, 40)).astype(dtype)
    if dtype is np.float64:
        x[0, :4] = np.nan, np.inf, -np.inf, -0.0
    attributes = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    requested = [x.repeat(3, axis=0).repeat(2, axis=1)]
    check(Node("Resize", [x, None, None, np.array([6, 80])], attributes, constant=[3], expected=requested))


@pytest.mark.parametrize("opset", [11, 12, 13, 18])
def test_old_versions(opset: int):
    check_all(
        node
        for mode in ("nearest", "linear", "cubic")
        for factors in ((1, 1, 2, 2), (1, 1, 0.6, 1.7))
        for node in of_old_version(mode, opset, factors)
    )


def of_old_version(mode: str, opset: int, factors: tuple[float, ...]) -> Iterator[Node]:
    """By scales, and by the sizes that these give."""
    empty = np.zeros(0, np.float32)
    inputs = [floats(1, 2, 5, 7), empty, scales(*factors)]
    attributes = {"mode": mode, "coordinate_transformation_mode": "half_pixel"}
    requested = Node("Resize", [inputs[0], None, inputs[2]], attributes).wanted()
    yield Node("Resize", inputs, attributes, constant=[1, 2], opset=opset, expected=requested)
    sizes = [inputs[0], empty, empty, np.array(requested[0].shape)]
    requested = Node("Resize", [inputs[0], None, None, sizes[3]], attributes).wanted()
    yield Node("Resize", sizes, attributes, constant=[1, 2, 3], opset=opset, expected=requested)


@pytest.mark.parametrize("opset", [11, 12])
@pytest.mark.parametrize("factor", [2.0, 1.7, 0.6])
def test_the_half_pixels_of_tensorflow(factor: float, opset: int):
    """Samples at `(i + 1/2) / scale`, of the nearest below: opsets 11 and 12 alone have them."""
    x = floats(1, 1, 3, 9)
    positions = [min(int((i + 0.5) / np.float64(np.float32(factor))), 8) for i in range(int(9 * factor))]
    attributes = {"coordinate_transformation_mode": "tf_half_pixel_for_nn", "nearest_mode": "floor"}
    inputs = [x, np.zeros(0, np.float32), scales(1, 1, 1, factor)]
    check(Node("Resize", inputs, attributes, constant=[1, 2], opset=opset, expected=[x[..., positions]]))


@pytest.mark.parametrize("factor", [3.0, 2.5, 1.0, 0.6, 0.35])
def test_the_first_resize(factor: float):
    """The nearest before, or (as onnxruntime has it) behind on an axis that becomes shorter."""
    x = floats(1, 2, 3, 11)
    along = np.arange(int(11 * np.float32(factor))) / np.float64(np.float32(factor))
    positions = np.minimum(np.ceil(along) if factor < 1 else np.floor(along), 10).astype(int)
    inputs = [x, scales(1, 1, 1, factor)]
    check(Node("Resize", inputs, {"mode": "nearest"}, constant=[1], opset=10, expected=[x[..., positions]]))


CASES: dict[str, Mapping[str, object]] = {
    "fewer, smoothed": {"mode": "linear", "antialias": 1},
    "fewer, smoothed by cubics": {"mode": "cubic", "antialias": 1, "cubic_coeff_a": -0.5},
    "nothing from outside": {"mode": "cubic", "exclude_outside": 1},
    "not larger": {"mode": "linear", "keep_aspect_ratio_policy": "not_larger"},
    "not smaller": {"mode": "nearest", "keep_aspect_ratio_policy": "not_smaller"},
}


@pytest.mark.parametrize("case", CASES)
def test_sizes_of_some_axes(case: str):
    attributes = {"axes": [3, 1], **CASES[case]}
    check_all(
        Node("Resize", [floats(2, 8, 3, 9), None, None, np.array(sizes)], attributes)
        for sizes in ((4, 5), (3, 20), (13, 9))
    )


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_windows_of_many_elements(mode: str):
    """Unrolled, row by row, and along the last axis."""
    check_all(
        Node("Resize", [floats(1, 2, 70, 36), None, scales(1, 1, *factors)], {"mode": mode, "antialias": 1})
        for factors in ((0.25, 1), (0.0625, 0.5), (1, 0.03125))
    )


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_a_crop(mode: str):
    attributes = {
        "mode": mode,
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "extrapolation_value": 7.5,
    }
    roi = scales(0, 0, -0.3, 0.2, 1, 1, 0.8, 1.4)
    check(Node("Resize", [floats(1, 1, 6, 5), roi, None, np.array([1, 1, 4, 7])], attributes))


def test_integers_between_others_are_left_to_the_host():
    node = Node(
        "Resize",
        [np.ones((2,), np.int8), None, scales(2)],
        {"mode": "linear"},
        constant=[2],
        expected=[np.ones((4,), np.int8)],
    )
    session = compile_native(node.model())
    assert session.report()[0].reason == "interpolation of integers"


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_upsample(mode: str):
    inputs = [floats(1, 2, 3, 4), scales(1, 1, 2, 3)]
    positions = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor", "mode": mode}
    requested = Node("Resize", [inputs[0], None, inputs[1]], positions).wanted()
    check(Node("Upsample", inputs, {"mode": mode}, opset=9, constant=[1], expected=requested))


def sampled(size: int, factor: float) -> npt.NDArray[np.int64]:
    """What onnxruntime takes at opset 10: at `i / scale` in f32, the one above where it shrinks."""
    scale = np.float32(factor)
    positions = np.arange(int(size * float(scale)), dtype=np.float32) / scale
    return np.minimum((np.ceil if factor < 1 else np.floor)(positions).astype(np.int64), size - 1)


@pytest.mark.parametrize("is_constant", [False, True])
@pytest.mark.parametrize("factors", [(0.6, 0.75), (0.34, 1), (2.5, 0.5), (1.3, 1.5), (0.7, 0.9)])
def test_the_nearest_of_opset_10(factors: tuple[float, float], is_constant: bool):
    x = floats(1, 2, 12, 7)
    rows, columns = (sampled(size, factor) for size, factor in zip((12, 7), factors, strict=True))
    inputs = [x, scales(1, 1, *factors)]
    requested = [x[:, :, rows][..., columns]]
    constant = [1] if is_constant else []
    check(Node("Resize", inputs, {"mode": "nearest"}, opset=10, constant=constant, expected=requested))


def test_a_tensor_that_keeps_its_shape_stays_at_opset_10():
    """onnxruntime copies it, whatever the scales are."""
    x = floats(1, 1, 3, 3)
    check(Node("Resize", [x, scales(1, 1, 1.3, 1.2)], opset=10, constant=[1], expected=[x]))


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_samples_of_a_grid(mode: str):
    grid = RANDOM.uniform(-1.8, 1.8, (2, 3, 4, 2)).astype(np.float32)
    check_all(
        Node(
            "GridSample",
            [floats(2, 3, 5, 4), grid],
            {"mode": mode, "padding_mode": padding, "align_corners": align},
            rtol=2e-4,
        )
        for padding in ("zeros", "border", "reflection")
        for align in (0, 1)
        if (mode, padding) != ("cubic", "border")
    )


def test_cubic_weights_beyond_the_border_are_those_of_the_coordinate():
    """As in PyTorch and onnxruntime; the reference evaluator moves coordinates to the border first."""
    image, grid = floats(2, 3, 5, 4), RANDOM.uniform(-1.8, 1.8, (2, 3, 4, 2)).astype(np.float32)
    # The same positions in an image whose borders are repeated up to the farthest taps.
    padded = np.pad(image, ((0, 0), (0, 0), (8, 8), (8, 8)), mode="edge")
    nodes: list[Node] = []
    for align in (0, 1):
        inner, outer = np.array([4, 5]) - align, np.array([20, 21]) - align
        mapped = (grid * inner / outer).astype(np.float32)
        attributes = {"mode": "cubic", "align_corners": align}
        wanted = Node("GridSample", [padded, mapped], attributes).wanted()
        border = {**attributes, "padding_mode": "border"}
        nodes.append(Node("GridSample", [image, grid], border, rtol=2e-4, expected=wanted))
    check_all(nodes)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_samples_of_a_volume(mode: str):
    grid = RANDOM.uniform(-1.2, 1.2, (1, 2, 3, 2, 3)).astype(np.float32)
    check(Node("GridSample", [floats(1, 2, 3, 4, 5), grid], {"mode": mode}, rtol=1e-4))


def test_a_nan_coordinate_reads_no_memory_outside():
    grid = np.array([np.nan, np.inf, -np.inf, 1e30], np.float32).reshape(1, 1, 2, 2)
    node = Node("GridSample", [floats(1, 1, 3, 3), grid], expected=[np.zeros((1, 1, 1, 2), np.float32)])
    session = compile_native(node.model())
    given = session.run(None, node.feeds)[0]
    assert isinstance(given, np.ndarray)
    assert given.shape == (1, 1, 1, 2)
