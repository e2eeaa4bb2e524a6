"""
Networks whose input lies as an image: the simulator's integers against exact ones, made of the pixels here.

The converter's arithmetic is docs/internals/nvdla-hardware.md §3.3; the pass after the convolution is that
of the reference of quantized graphs, which knows nothing of the compiler.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, f16, f32
from xdsl.dialects.func import FuncOp

from oracles.nvdla.quantized_reference import QuantizedReference
from oracles.nvdla.requantization import Affine
from oracles.nvdla.requantization import QuantizationParameters as ExactQuantization
from oracles.nvdla.window_operators import SlidingWindow, convolve
from xonnc.compiler import compile_model
from xonnc.dialects.dla.types import ImageType
from xonnc.dialects.onnx.types import tensor_type
from xonnc.errors import RefusalError, XonncError
from xonnc.explanation import explain_model
from xonnc.formats.nvdla.calibration import Range, Ranges
from xonnc.formats.nvdla.enumerations import DataCategory, DataFormat, PixelFormat
from xonnc.formats.nvdla.pixel_normalization import Normalization, normalization_blob
from xonnc.formats.nvdla.quantization import QuantizationParameters
from xonnc.formats.nvdla.reader import parse_loadable
from xonnc.formats.nvdla.writer import to_bytes
from xonnc.lowering.dla_planning.surface_sizes import pixel_bytes
from xonnc.lowering.onnx_to_dla.builders.image_inputs import FORMATS, IMAGE_ATTRIBUTE, ImageInput, images_of
from xonnc.lowering.onnx_to_dla.builders.pixel_conversion import PIXELS, exact_conversion, nearest_conversion
from xonnc.packages import compile_package
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.runtime.package import load_package
from xonnc.runtime.reference import ReferenceModel
from xonnc.targets import load_target

Array = npt.NDArray[Any]
IMAGENET = ((123.675, 116.28, 103.53), (58.395, 57.12, 57.375))


@dataclass(frozen=True)
class Layer:
    """A convolution over an image, and its pixels."""

    channels: int = 3
    size: tuple[int, int] = (11, 13)
    kernel: tuple[int, int] = (3, 3)
    pads: tuple[int, int, int, int] = (1, 1, 1, 1)
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    groups: int = 1
    outputs: int = 12

    def weights(self) -> tuple[Array, Array]:
        """Kernels and biases."""
        generator = np.random.default_rng(7)
        shape = (self.outputs, self.channels // self.groups, *self.kernel)
        kernels = generator.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
        return kernels.astype(np.float32), generator.standard_normal(self.outputs).astype(np.float32)

    def pixels(self) -> Array:
        """Rows of bytes, all there are among them."""
        count = int(np.prod(self.size)) * self.channels
        found = np.random.default_rng(3).integers(0, 256, count).astype(np.uint8)
        found[: min(256, count)] = np.arange(256)[:count]
        return found.reshape(*self.size, self.channels)

    def node(self, source: str, weights: str, bias: str) -> onnx.NodeProto:
        """The convolution."""
        return helper.make_node(
            "Conv",
            [source, weights, bias],
            ["c"],
            "conv",
            pads=self.pads,
            strides=self.strides,
            dilations=self.dilations,
            group=self.groups,
        )


LAYERS = {
    "one": Layer(channels=1),
    "grey5": Layer(channels=1, kernel=(5, 5), pads=(0, 0, 0, 0), strides=(2, 1)),
    "colours": Layer(),
    "stem": Layer(size=(23, 30), kernel=(7, 7), pads=(3, 3, 3, 3), strides=(2, 2)),
    "uneven": Layer(kernel=(2, 4), pads=(0, 2, 1, 1)),
    "dilated": Layer(dilations=(2, 3), pads=(2, 3, 2, 3)),
    "alpha": Layer(channels=4, pads=(0, 0, 0, 0)),
    "depthwise": Layer(groups=3),
    "point": Layer(kernel=(1, 1), pads=(0, 0, 0, 0)),
    "rows": Layer(size=(40, 1030), outputs=3),
}


def saved(
    folder: Path,
    nodes: Sequence[onnx.NodeProto],
    shape: Sequence[int],
    constants: dict[str, Array],
    element: int = TensorProto.FLOAT,
    output: int = TensorProto.FLOAT,
) -> Path:
    """A model from `x` to `y`."""
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", element, shape)],
        [helper.make_tensor_value_info("y", output, None)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    path = folder / "model.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def floats(folder: Path, layer: Layer) -> Path:
    """The layer and a ReLU, in floats."""
    weights, bias = layer.weights()
    nodes = [layer.node("x", "w", "b"), helper.make_node("Relu", ["c"], ["y"], "relu")]
    return saved(folder, nodes, (1, layer.channels, *layer.size), {"w": weights, "b": bias})


def rounded(folder: Path, layer: Layer, scale: float, zero: int, *, takes_bytes: bool = False) -> Path:
    """The layer between QDQ pairs; the input is int8, or floats that are quantized to int8."""
    weights, bias = layer.weights()
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], "read"),
        layer.node("d", "w", "b"),
        helper.make_node("QuantizeLinear", ["c", "t", "n"], ["y"], "round"),
    ]
    if takes_bytes:
        nodes[0].input[0] = "x"
    else:
        nodes.insert(0, helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], "first"))
    constants = {"w": weights, "b": bias, "s": np.array(scale, np.float32), "z": np.array(zero, np.uint8)}
    constants |= {"t": np.array(0.05, np.float32), "n": np.array(3, np.int8)}
    element = TensorProto.UINT8 if takes_bytes else TensorProto.FLOAT
    return saved(folder, nodes, (1, layer.channels, *layer.size), constants, element, TensorProto.INT8)


def run(path: Path, target: str, image: ImageInput, fed: Sequence[Array], ranges: Ranges | None = None):
    """What the simulator gives for each of several ways to feed the same."""

    def calibrate(module: ModuleOp) -> Ranges:
        assert ranges is not None
        return ranges

    loadable = compile_model(path, target, None, None if ranges is None else calibrate, {"": image}).loadable
    simulator = Simulator(parse_loadable(to_bytes(loadable)), load_target(target))
    return [simulator.run([one])[0] for one in fed]


def planes(pixels: Array) -> Array:
    """Bytes `HxWxC` as `1xCxHxW`."""
    return pixels.transpose(2, 0, 1)[np.newaxis]


@pytest.mark.parametrize("target", ["nv_small", "nv_large", "nv_full"])
@pytest.mark.parametrize("name", LAYERS)
def test_the_integers_of_the_model(name: str, target: str, tmp_path: Path):
    """The converter makes the integers that QuantizeLinear makes: all is as in the model, bit for bit."""
    layer = LAYERS[name]
    path, pixels = rounded(tmp_path, layer, 1 / 255, 0), layer.pixels()
    numbers = (planes(pixels) / 255).astype(np.float32)
    image = ImageInput("R8" if layer.channels == 1 else "A8B8G8R8", (0.0,), (255.0,))
    by_rows, by_numbers, by_bytes = run(path, target, image, [pixels, numbers, planes(pixels)])
    model = onnx.ModelProto.FromString(path.read_bytes())
    # Over pixels all groups are one layer, whose multipliers share a shift.
    (expected,) = QuantizedReference(model, _OneLayer()).run({"x": numbers})
    for found in (by_rows, by_numbers, by_bytes):
        assert np.array_equal(found.tensor, expected)


class _OneLayer:
    """Convolutions are not cut along their groups."""

    def groups_at_once(self, source: Sequence[int], kernels: int, window: SlidingWindow, groups: int) -> int:
        """All of them."""
        return groups


@pytest.mark.parametrize(
    "name", [name for name in FORMATS if name.endswith(("8", "A8", "X8")) and name != "R8"]
)
def test_the_order_of_bytes(name: str, tmp_path: Path):
    channels = 4 if "A" in name else 3
    layer = replace(LAYERS["colours"], channels=channels)
    path, pixels = rounded(tmp_path, layer, 1 / 255, 0), layer.pixels()
    image = ImageInput(name, (0.0,), (255.0,))
    (found,) = run(path, "nv_small", image, [pixels])
    loadable = compile_model(path, "nv_small", None, None, {"x": image}).loadable
    desc = loadable.tensors[0]
    assert (desc.pixel_format, desc.data_format, desc.data_category) == (
        PixelFormat[name],
        DataFormat.NHWC,
        DataCategory.IMAGE,
    )
    # The bytes that a board would be given: components by their letters, the last of the name first.
    letters = [letter for letter in reversed(name) if letter.isalpha()]
    surface = np.zeros((layer.size[0], desc.stride_1), np.uint8)
    for index, letter in enumerate(letters):
        channel = "RGBA".find(letter)
        if 0 <= channel < channels:
            surface[:, index : 4 * layer.size[1] : 4] = pixels[:, :, channel]
    simulator = Simulator(parse_loadable(to_bytes(loadable)), load_target("nv_small"))
    assert np.array_equal(simulator.run([surface.tobytes()])[0].tensor, found.tensor)


@pytest.mark.parametrize("name", ["colours", "alpha", "one"])
def test_models_that_take_bytes(name: str, tmp_path: Path):
    layer = LAYERS[name]
    path, pixels = rounded(tmp_path, layer, 0.02, 117, takes_bytes=True), layer.pixels()
    image = ImageInput("R8" if layer.channels == 1 else "A8B8G8R8")
    (found,) = run(path, "nv_small", image, [pixels])
    (expected,) = QuantizedReference(onnx.ModelProto.FromString(path.read_bytes()), _OneLayer()).run(
        {"x": planes(pixels)}
    )
    assert np.array_equal(found.tensor, expected)


@pytest.mark.parametrize("target", ["nv_small", "nv_full"])
@pytest.mark.parametrize("name", ["colours", "stem", "point", "depthwise", "dilated"])
def test_pixels_in_steps_of_their_own(name: str, target: str, tmp_path: Path):
    """
    Deviations that differ: no converter has three factors, so that the kernels take them.

    The expected integers are made here, of the pixels, by the converter's own arithmetic.
    """
    layer = LAYERS[name]
    path, pixels = floats(tmp_path, layer), layer.pixels()
    mean, std = (np.array(numbers) for numbers in IMAGENET)
    numbers = ((pixels - mean) / std).astype(np.float32)
    expected = ReferenceModel(path).run({"x": planes(numbers)})[0]
    largest = float(expected.max())
    ranges = {"x": Range(float(numbers.min()), float(numbers.max())), "y": Range(0.0, largest)}
    by_pixels, by_numbers = run(
        path, target, ImageInput("A8B8G8R8", *IMAGENET), [pixels, planes(numbers)], ranges
    )
    assert np.array_equal(by_pixels.tensor, by_numbers.tensor)
    exact = _exact(layer, pixels, mean, std, largest)
    assert np.array_equal(by_pixels.tensor, exact)
    error = np.abs(np.subtract(by_pixels.numbers, expected, dtype=np.float64))
    assert error.max() <= 0.02 * largest


def _exact(layer: Layer, pixels: Array, mean: Array, std: Array, largest: float) -> Array:
    """The stored integers of the layer and its ReLU, in steps of `largest / 255` from -128 on."""
    if any(layer.pads):
        # Means around the image: offsets that lie as they do, and 0 means the mean but for the common part.
        means = np.rint(mean)
        moved = np.rint((255 - means.max() - means.min() + 1) / 2)
    else:
        means, moved = np.full(3, 128.0), 0.0
    offsets = means + moved
    factor = np.floor(min(127 / (255 - offsets.min()), 128 / offsets.max(), 1) * 2**14) / 2**14
    products = (pixels - offsets) * factor
    integers = np.clip(np.sign(products) * np.floor(np.abs(products) + 0.5), -128, 127).astype(np.int64)
    weights, bias = layer.weights()
    whole = np.zeros((layer.outputs, 3, *layer.kernel))
    step = layer.outputs // layer.groups
    for group in range(layer.groups):
        inputs = slice(group * 3 // layer.groups, (group + 1) * 3 // layer.groups)
        whole[group * step : (group + 1) * step, inputs] = weights[group * step : (group + 1) * step]
    numbers = whole * (1 / (factor * std)).reshape(1, 3, 1, 1)
    scales = np.abs(numbers).max(axis=(1, 2, 3)) / 127
    kernels = np.rint(numbers / scales.reshape(-1, 1, 1, 1)).astype(np.int64)
    window = SlidingWindow(layer.kernel, layer.strides, layer.pads, layer.dilations)
    sums = convolve(planes(integers), kernels, window, 1, int(np.rint(-moved * factor)))
    above = (kernels.sum(axis=(2, 3)) @ ((offsets - mean) * factor)) * scales
    affine = Affine(sums, scales, bias.astype(np.float64) + above, is_fine=True)
    found = affine.requantized(ExactQuantization(float(np.float32(largest / 255)), -128), [])
    return found


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_float16(channels: int, tmp_path: Path):
    layer = Layer(channels=channels)
    path = floats(tmp_path, layer)
    numbers = np.random.default_rng(2).standard_normal((1, channels, *layer.size)).astype(np.float32)
    image = ImageInput("R16_F" if channels == 1 else "A16B16G16R16_F")
    (found,) = run(path, "nv_full", image, [numbers])
    simulator = Simulator(
        parse_loadable(to_bytes(compile_model(path, "nv_full").loadable)), load_target("nv_full")
    )
    as_features = simulator.run([numbers])[0].tensor.astype(np.float64)
    # Another order of the same sums.
    error = np.abs(np.subtract(found.tensor, as_features, dtype=np.float64))
    assert error.max() <= 2**-9 * np.abs(as_features).max()


READINGS = {
    "unit": ((0.0,), (255.0,), QuantizationParameters(1 / 255, -128)),
    "bytes": ((0.0,), (1.0,), QuantizationParameters(1.0, -128)),
    "signed": ((128.0,), (128.0,), QuantizationParameters(1 / 128, 0)),
    "coarse": ((0.0,), (255.0,), QuantizationParameters(2 / 255, 0)),
    "halved": ((0.0, 0.0, 0.0), (255.0, 255.0, 255.0), QuantizationParameters(1 / 127, 0)),
}


@pytest.mark.parametrize("name", READINGS)
def test_readings_that_are_the_model_s(name: str):
    mean, std, grid = READINGS[name]
    pixels = Normalization(mean, std)
    conversion = exact_conversion(pixels, grid)
    if conversion is None:
        assert name in ("coarse", "halved")
        return
    for channel in range(pixels.channels):
        numbers = ((PIXELS - mean[channel]) / std[channel]).astype(np.float32)
        assert np.array_equal(conversion.integers(channel), grid.quantize(numbers))


def test_no_reading_has_two_factors():
    assert exact_conversion(Normalization(*IMAGENET), QuantizationParameters(0.02, 0)) is None


@pytest.mark.parametrize(
    "mean", [(0.0,), (127.5,), (255.0,), IMAGENET[0], (0.0, 255.0), (300.0,), (-40.0, 10.0)]
)
@pytest.mark.parametrize("is_padded", [True, False])
def test_readings_keep_all_pixels_and_the_mean(mean: tuple[float, ...], is_padded: bool):
    conversion = nearest_conversion(Normalization(mean, (1.0,) * len(mean)), is_padded=is_padded)
    assert conversion is not None
    assert -128 <= conversion.pad <= 127
    # No smaller scale gives the same factor.
    assert conversion.scale % 2 == 1 or conversion.truncate == 0
    for channel, middle in enumerate(mean):
        integers = conversion.integers(channel)
        exact = (PIXELS - conversion.offsets[channel]) * conversion.factor
        assert np.abs(integers - exact).max() <= 0.5 + 1e-9
        if is_padded:
            assert (
                abs(conversion.pad - (round(middle) - conversion.offsets[channel]) * conversion.factor) <= 0.5
            )


def test_means_far_from_all_pixels():
    assert nearest_conversion(Normalization((1e6,), (1.0,)), is_padded=True) is None


def broken(folder: Path, nodes: Sequence[onnx.NodeProto], shape: Sequence[int] = (1, 3, 8, 8)) -> Path:
    weights = np.ones((4, shape[1], 3, 3), np.float32)
    return saved(folder, nodes, shape, {"w": weights})


CONV = helper.make_node("Conv", ["x", "w"], ["y"], "conv")


@pytest.mark.parametrize(
    ("nodes", "shape", "image", "message"),
    [
        ([CONV], (1, 3, 8, 8), ImageInput("R16_F"), "as R16_F (1xCxHxW of 1 channels); take another format"),
        ([CONV], (1, 2, 8, 8), ImageInput("A16B16G16R16_F"), "(1xCxHxW of 3 or 4 channels)"),
        ([CONV], (2, 3, 8, 8), ImageInput("A16B16G16R16_F"), "[2, 3, 8, 8] as A16B16G16R16_F"),
        ([CONV], (1, 3, 8, 8), ImageInput("A8B8G8R8"), "A8B8G8R8 where convolutions compute in fp16"),
        (
            [CONV],
            (1, 3, 8, 8),
            ImageInput("A16B16G16R16_F", (1.0, 2.0)),
            "2 means and 1 deviations for 3 channels; give one or one for each",
        ),
        ([CONV], (1, 3, 8, 8), ImageInput("A16B16G16R16_F", (1.0,)), "(float16 pixels are read unchanged)"),
        (
            [helper.make_node("Relu", ["x"], ["y"], "relu")],
            (1, 3, 8, 8),
            ImageInput("A16B16G16R16_F"),
            "relu (Relu): the input has an image format, which only convolutions read",
        ),
        (
            [helper.make_node("Conv", ["x", "w"], ["y"], "conv", strides=[9, 1])],
            (1, 3, 20, 20),
            ImageInput("A16B16G16R16_F"),
            "stride 9",
        ),
        (
            [helper.make_node("Conv", ["x", "w"], ["y"], "conv", dilations=[5, 1])],
            (1, 3, 20, 8000),
            ImageInput("A16B16G16R16_F"),
            "a 11x3 kernel over 8000 pixels does not fit the convolution buffer",
        ),
    ],
)
def test_refusals(
    nodes: Sequence[onnx.NodeProto], shape: Sequence[int], image: ImageInput, message: str, tmp_path: Path
):
    path = broken(tmp_path, nodes, shape)
    with pytest.raises(RefusalError) as caught:
        compile_model(path, "nv_full", None, None, {"": image})
    assert message in str(caught.value)
    assert any(message in one for one in explain_model(path, "nv_full", None, {"": image}).refusals)


def test_refusals_in_integers(tmp_path: Path):
    layer = LAYERS["one"]
    path = rounded(tmp_path, layer, 0.02, 3, takes_bytes=True)
    with pytest.raises(RefusalError, match="with a mean or std"):
        compile_model(path, "nv_small", None, None, {"": ImageInput("R8", (3.0,))})
    path = rounded(tmp_path, layer, 0.02, 3)
    with pytest.raises(RefusalError, match=r"mean \[1000000.0\]"):
        compile_model(path, "nv_small", None, None, {"": ImageInput("R8", (1e6,))})
    with pytest.raises(RefusalError, match="R16_F where convolutions compute in int8"):
        compile_model(path, "nv_full", None, None, {"": ImageInput("R16_F")})


ROUND = helper.make_node("QuantizeLinear", ["c", "t", "z"], ["y"], "round")
FIRST = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], "first")
READ = helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], "read")


@pytest.mark.parametrize(
    ("nodes", "message", "element"),
    [
        (
            [FIRST, READ, helper.make_node("Relu", ["d"], ["c"], "relu"), ROUND],
            "relu (Relu): the input has an image format, which only convolutions read",
            TensorProto.FLOAT,
        ),
        (
            [helper.make_node("Conv", ["x", "w"], ["c"], "conv"), ROUND],
            "an image input that is not quantized",
            TensorProto.FLOAT,
        ),
        (
            [
                FIRST,
                READ,
                helper.make_node("QuantizeLinear", ["d", "t", "z"], ["p"], "again"),
                helper.make_node("DequantizeLinear", ["p", "t", "z"], ["e"], "then"),
                helper.make_node("Conv", ["e", "w"], ["c"], "conv"),
                ROUND,
            ],
            "an image input that is quantized twice; remove one QuantizeLinear",
            TensorProto.FLOAT,
        ),
        (
            [
                helper.make_node("DequantizeLinear", ["x", "s", "z"], ["d"], "read"),
                helper.make_node("Conv", ["d", "w"], ["c"], "conv"),
                ROUND,
            ],
            "as R8, which holds 8-bit pixels; feed floats or uint8",
            TensorProto.INT8,
        ),
    ],
)
def test_what_stands_before_the_convolution(
    nodes: Sequence[onnx.NodeProto], message: str, element: int, tmp_path: Path
):
    constants = {"s": np.array(1, np.float32), "t": np.array(3, np.float32), "z": np.array(0, np.int8)}
    constants["w"] = np.ones((2, 1, 3, 3), np.float32)
    path = saved(tmp_path, nodes, (1, 1, 8, 8), constants, element, TensorProto.INT8)
    with pytest.raises(RefusalError) as caught:
        compile_model(path, "nv_small", None, None, {"": ImageInput("R8")})
    assert message in str(caught.value)


def test_attributes_that_say_no_image():
    function = FuncOp("main_graph", ([f32], []))
    function.arg_attrs = ArrayAttr([DictionaryAttr({IMAGE_ATTRIBUTE: StringAttr("R8")})])
    with pytest.raises(XonncError, match="it has a format, means and deviations"):
        images_of(function)
    image = ImageType(StringAttr("R99"), tensor_type((1, 1, 8, 8), f16))
    with pytest.raises(XonncError, match="no pixel format of one plane"):
        pixel_bytes(image)


def test_pixels_are_said_of_images(tmp_path: Path):
    loadable = compile_model(broken(tmp_path, [CONV]), "nv_full").loadable
    said = replace(
        loadable, blobs=(*loadable.blobs, normalization_blob({"x": Normalization((0.0,), (1.0,))}))
    )
    refusal = "pixels of 1 channels are declared, the tensor has 3: a feature cube"
    with pytest.raises(XonncError, match=refusal):
        Simulator(parse_loadable(to_bytes(said)), load_target("nv_full"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ImageInput("R9"), "no image format 'R9'; there are R8, A8B8G8R8"),
        (lambda: ImageInput("R8", ()), "mean [] of an image"),
        (lambda: ImageInput("R8", (float("nan"),)), "one finite number"),
        (lambda: ImageInput("R8", (0.0,), (0.0,)), "std [0.0] of an image"),
    ],
)
def test_images_that_are_none(make: Any, message: str):
    with pytest.raises(XonncError) as caught:
        make()
    assert message in str(caught.value)


def test_inputs_that_are_not_there(tmp_path: Path):
    path = broken(tmp_path, [CONV])
    with pytest.raises(XonncError, match="no input 'z'"):
        compile_model(path, "nv_full", None, None, {"z": ImageInput("R16_F")})


def test_packages(tmp_path: Path):
    """The first convolution on the DLA, the rest on the CPU; fed with the model's numbers."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "conv"),
        helper.make_node("Det", ["c"], ["y"], "det"),
    ]
    path = broken(tmp_path, nodes)
    image = ImageInput("A16B16G16R16_F")
    package = compile_package(path, "nv_full", images={"x": image})
    package.write(tmp_path / "model.xpkg")
    numbers = np.random.default_rng(1).standard_normal((1, 3, 8, 8)).astype(np.float32)
    found = load_package(tmp_path / "model.xpkg").run({"x": numbers})["y"]
    expected = ReferenceModel(path).run({"x": numbers})[0]
    # Determinants of 6 x 6 nearly equal numbers: the error of float16 is of the size of the terms.
    assert found.shape == expected.shape
    (step, _) = package.manifest.steps
    assert step.kind == "dla"
    assert package.compiled[0].loadable.tensors[0].pixel_format == PixelFormat.A16B16G16R16_F
    nodes[0] = helper.make_node("Det", ["x"], ["y"], "det")
    path = broken(tmp_path, nodes[:1])
    with pytest.raises(XonncError, match="input 'x' as A16B16G16R16_F: convolutions on the DLA alone read"):
        compile_package(path, "nv_full", images={"x": image})


def test_what_is_fed(tmp_path: Path):
    layer = LAYERS["colours"]
    path, pixels = rounded(tmp_path, layer, 1 / 255, 0), layer.pixels()
    image = ImageInput("A8B8G8R8", (0.0,), (255.0,))
    with pytest.raises(XonncError, match=r"the loadable takes \[1, 3, 11, 13\], or uint8 \[11, 13, 3\]"):
        run(path, "nv_small", image, [pixels[:5]])
