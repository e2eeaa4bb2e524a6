"""
Random layers and small networks for NVDLA, as recipes that can be reduced, and as models.

Each layer of a recipe has a seed of its own, so that the others stay the same when one is removed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

Array = npt.NDArray[Any]

CHANNELS = (1, 2, 3, 5, 8, 16, 17, 31, 32, 33, 40, 64, 70)
SIDES = (1, 2, 3, 5, 7, 8, 9, 13, 16, 19, 28)
MAX_MACS = 4_000_000
"""Multiply-accumulate operations per convolution; larger ones get fewer kernels."""

MAX_CHANNELS = 300


@dataclass(frozen=True)
class RecipeLayer:
    """One layer of a recipe."""

    kind: str
    seed: int


@dataclass(frozen=True)
class NetworkRecipe:
    """A network: shape of its image, its layers, and whether it is quantized."""

    seed: int
    shape: tuple[int, int, int]
    layers: tuple[RecipeLayer, ...]
    is_integer: bool

    def __str__(self) -> str:
        layers = " ".join(f"{layer.kind}:{layer.seed}" for layer in self.layers)
        kind = "int8" if self.is_integer else "fp16"
        return f"{kind} seed {self.seed} {'x'.join(map(str, self.shape))} {layers}"


def random_recipe(seed: int, *, is_integer: bool, layers: int | None = None) -> NetworkRecipe:
    """Return a recipe with `layers` layers, by default two to six."""
    generator = np.random.default_rng(seed)
    shape = tuple(int(generator.choice(choices)) for choices in (CHANNELS, SIDES, SIDES))
    count = int(generator.integers(2, 7)) if layers is None else layers
    kinds = [*LAYERS] if is_integer else [*LAYERS, *FLOAT_LAYERS]
    drawn = [
        RecipeLayer(kinds[int(generator.integers(len(kinds)))], int(generator.integers(1 << 20)))
        for _ in range(count)
    ]
    return NetworkRecipe(seed, (shape[0], shape[1], shape[2]), tuple(drawn), is_integer)


@dataclass(frozen=True)
class RecipeValue:
    """A value that later layers may read: its shape and the approximate spread of its elements."""

    name: str
    shape: tuple[int, ...]
    spread: float
    zero_point: int


@dataclass
class NetworkDraft:
    """A model under construction; `here` is the value that the next layer reads."""

    generator: np.random.Generator
    is_integer: bool
    kind: type[np.int8 | np.uint8]
    here: RecipeValue
    nodes: list[onnx.NodeProto] = field(default_factory=list[onnx.NodeProto])
    constants: list[onnx.TensorProto] = field(default_factory=list[onnx.TensorProto])
    earlier: list[RecipeValue] = field(default_factory=list[RecipeValue])

    def number(self, low: int, high: int) -> int:
        """Return a random integer from `low` to `high`, both included."""
        return int(self.generator.integers(low, high + 1))

    def chance(self, one_in: int) -> bool:
        """Return True with probability `1 / one_in`."""
        return self.number(1, one_in) == 1

    def pick(self, choices: Sequence[int]) -> int:
        """Return a random choice."""
        return choices[self.number(0, len(choices) - 1)]

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Add a node; return the name of its result."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], f"{op}_{len(self.nodes)}", **attributes))
        return name

    def constant(self, array: npt.ArrayLike) -> str:
        """Add an initializer."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weights(self, *shape: int, outputs: int = 0) -> str:
        """Add weights that keep the spread: int8 with DequantizeLinear, or floats."""
        reach = prod(shape) / shape[outputs]
        if not self.is_integer:
            return self.constant((self.generator.standard_normal(shape) / np.sqrt(reach)).astype(np.float32))
        integers = self.generator.integers(-127, 128, shape, np.int8)
        by_channel = not self.chance(4)
        count = shape[outputs] if by_channel else 1
        scales = (self.generator.uniform(0.5, 1.5, count) / (73 * np.sqrt(reach))).astype(np.float32)
        scale = self.constant(scales if by_channel else scales[0])
        zero_point = self.constant(np.zeros(count if by_channel else (), np.int8))
        axis = {"axis": outputs} if by_channel else {}
        return self.node("DequantizeLinear", self.constant(integers), scale, zero_point, **axis)

    def floats(self, *shape: int) -> str:
        """Add a constant with about the spread of the current value."""
        numbers = self.generator.standard_normal(shape) * self.here.spread / 2
        return self.constant(numbers.astype(np.float32))

    def becomes(self, name: str, shape: tuple[int, ...], spread: float) -> None:
        """Set the current value, in integers after a QDQ pair."""
        spread = max(spread, 1e-3)
        if not self.is_integer:
            self.here = RecipeValue(name, shape, spread, self.here.zero_point)
        else:
            scale = np.float32(spread * self.generator.uniform(1.5, 4) / 127)
            zero_point = 0 if self.chance(2) else self.number(-60, 60)
            middle = 128 if self.kind is np.uint8 else 0
            qparams = self.constant(scale), self.constant(self.kind(middle + zero_point))
            requantized = self.node("DequantizeLinear", self.node("QuantizeLinear", name, *qparams), *qparams)
            self.here = RecipeValue(requantized, shape, spread, zero_point)
        self.earlier.append(self.here)

    def image(self) -> tuple[int, int, int]:
        """Return channels, rows and columns of the current value, after a Reshape if it is a vector."""
        if len(self.here.shape) == 2:
            shape = (*self.here.shape, 1, 1)
            sizes = self.constant(np.array(shape, np.int64))
            self.here = RecipeValue(
                self.node("Reshape", self.here.name, sizes), shape, self.here.spread, self.here.zero_point
            )
        _, channels, height, width = self.here.shape
        return channels, height, width


def model_of(recipe: NetworkRecipe) -> onnx.ModelProto:
    """Return the model of a recipe; its input is `x`."""
    generator = np.random.default_rng((recipe.seed, 1))
    kind = np.uint8 if generator.integers(2) else np.int8
    shape = (1, *recipe.shape)
    draft = NetworkDraft(generator, recipe.is_integer, kind, RecipeValue("x", shape, 1.0, 0))
    draft.becomes("x", shape, 1.0)
    for layer in recipe.layers:
        draft.generator = np.random.default_rng(layer.seed)
        (LAYERS | FLOAT_LAYERS)[layer.kind](draft)
    last = draft.here.name
    graph = helper.make_graph(
        draft.nodes,
        "random",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(last, onnx.TensorProto.FLOAT, draft.here.shape)],
        draft.constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def image_of(recipe: NetworkRecipe, index: int = 0) -> Array:
    """Return a seeded input."""
    generator = np.random.default_rng((recipe.seed, 2, index))
    return generator.standard_normal((1, *recipe.shape)).astype(np.float32)


def conv(draft: NetworkDraft) -> None:
    """Add a convolution with random attributes, and possibly a clamp."""
    channels = draft.image()[0]
    groups = draft.pick([count for count in range(1, channels + 1) if channels % count == 0])
    _conv(draft, groups if draft.chance(3) else 1, draft.pick((1, 2, 3)))


def depthwise(draft: NetworkDraft) -> None:
    """Add a depthwise convolution."""
    _conv(draft, draft.image()[0], 1)


def _conv(draft: NetworkDraft, groups: int, most_dilation: int) -> None:
    channels, height, width = draft.image()
    kernel, strides, pads, dilations = zip(
        *(_side(draft, size, most_dilation) for size in (height, width)), strict=True
    )
    rows, columns = (
        (size + sum(pad) - (over - 1) * dilation - 1) // stride + 1
        for size, over, stride, pad, dilation in zip(
            (height, width), kernel, strides, pads, dilations, strict=True
        )
    )
    each = rows * columns * prod(kernel) * channels // groups
    kernels = draft.pick((1, 3, 5, 8, 16, 17, 32, 33, 48))
    kernels = max(1, min(kernels, MAX_MACS // each // groups or 1, MAX_CHANNELS // groups)) * groups
    inputs = [draft.here.name, draft.weights(kernels, channels // groups, *kernel)]
    if draft.chance(2):
        inputs.append(draft.floats(kernels))
    begins, ends = zip(*pads, strict=True)
    name = draft.node(
        "Conv", *inputs, strides=strides, pads=[*begins, *ends], dilations=dilations, group=groups
    )
    _end(draft, name, (1, kernels, rows, columns), draft.here.spread)


def square(draft: NetworkDraft) -> None:
    """Add a convolution that Winograd's algorithm can compute: 3x3 kernels without strides and dilation."""
    channels, height, width = draft.image()
    pads = [draft.number(0, 2) for _ in range(4)]
    if min(height + pads[0] + pads[2], width + pads[1] + pads[3]) < 3:
        pads = [1, 1, 1, 1]
    if draft.chance(2):
        # Rows and columns in multiples of 4, as the algorithm gives them.
        pads[2:] = (
            pads[2] + (2 - height - pads[0] - pads[2]) % 4,
            pads[3] + (2 - width - pads[1] - pads[3]) % 4,
        )
    kernels = draft.pick((1, 16, 33, 64, 100))
    name = draft.node(
        "Conv", draft.here.name, draft.weights(kernels, channels, 3, 3), draft.floats(kernels), pads=pads
    )
    shape = (1, kernels, height + pads[0] + pads[2] - 2, width + pads[1] + pads[3] - 2)
    _end(draft, name, shape, draft.here.spread)


def long_kernel(draft: NetworkDraft) -> None:
    """Add a convolution whose kernel is longer than the core's, with pads where the image is shorter."""
    channels, height, width = draft.image()
    taps, dilation, is_column = draft.number(33, 70), draft.number(1, 2), draft.chance(2)
    reach, size = (taps - 1) * dilation + 1, height if is_column else width
    total = max(reach - size, 0) + draft.number(0, 8)
    begin = draft.number(total // 4, total // 2)
    pads, stride = (begin, total - begin), draft.number(1, 3)
    kernels = draft.pick((1, 5, 16))
    results = (size + total - reach) // stride + 1

    def side(value: Any, other: Any) -> list[Any]:
        return [value, other] if is_column else [other, value]

    weights = draft.weights(kernels, channels, *side(taps, 1))
    begins, ends = (side(pad, 0) for pad in pads)
    name = draft.node(
        "Conv",
        draft.here.name,
        weights,
        strides=side(stride, 1),
        pads=[*begins, *ends],
        dilations=side(dilation, 1),
    )
    _end(draft, name, (1, kernels, *side(results, width if is_column else height)), draft.here.spread)


def added_product(draft: NetworkDraft) -> None:
    """Add a product of a vector and constant weights, and a computed vector or scalar to it."""
    flat = draft.node("Flatten", draft.here.name) if len(draft.here.shape) == 4 else draft.here.name
    elements, outputs, before = prod(draft.here.shape), draft.pick((5, 17, 32)), draft.here
    columns = 1 if draft.chance(2) else outputs
    draft.becomes(
        draft.node("MatMul", flat, draft.weights(elements, columns, outputs=1)), (1, columns), before.spread
    )
    addend = draft.here
    weights = draft.weights(elements, outputs, outputs=1)
    draft.here = before
    name = draft.node("Gemm", flat, weights, addend.name)
    _end(draft, name, (1, outputs), 1.4 * before.spread)


def _side(draft: NetworkDraft, size: int, most_dilation: int) -> tuple[int, int, tuple[int, int], int]:
    """Return kernel, stride, pads and dilation of one dimension."""
    over, dilation = draft.pick((1, 1, 2, 3, 3, 4, 5, 7)), draft.number(1, most_dilation)
    reach = (over - 1) * dilation + 1
    most = min(reach - 1, 12)
    pads = (0, 0) if draft.chance(3) else (draft.number(0, most), draft.number(0, most))
    if size + sum(pads) < reach:
        over, dilation, pads = 1, 1, (0, 0)
    return over, draft.pick((1, 1, 1, 2, 2, 3, 4)), pads, dilation


def _end(
    draft: NetworkDraft, name: str, shape: tuple[int, ...], spread: float, *, may_clip: bool = True
) -> None:
    """Possibly add a clamp and a MaxPool, then quantize."""
    match draft.number(0, 3):
        case 0:
            name = draft.node("Relu", name)
        case 1 if may_clip:
            low, high = (draft.constant(np.float32(bound)) for bound in (0.0, 1.2 * spread))
            name = draft.node("Clip", name, low, high)
        case _:
            pass
    if len(shape) == 4 and min(shape[2:]) > 2 and draft.chance(4):
        name = draft.node("MaxPool", name, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 0, 0])
        shape = (*shape[:2], (shape[2] - 2) // 2 + 1, shape[3] - 1)
    draft.becomes(name, shape, spread)


def gemm(draft: NetworkDraft) -> None:
    """A fully connected layer."""
    shape = draft.here.shape
    elements, outputs = prod(shape), draft.pick((1, 3, 10, 17, 33))
    flat = draft.node("Flatten", draft.here.name) if len(shape) == 4 else draft.here.name
    match draft.number(0, 2):
        case 0:
            name = draft.node("MatMul", flat, draft.weights(elements, outputs, outputs=1))
        case 1:
            weights = draft.weights(elements, outputs, outputs=1)
            name = draft.node("Gemm", flat, weights, draft.floats(outputs))
        case _:
            weights = draft.weights(outputs, elements)
            name = draft.node("Gemm", flat, weights, draft.floats(1, outputs), transB=1)
    _end(draft, name, (1, outputs), draft.here.spread)


def softmax(draft: NetworkDraft) -> None:
    """Add a Softmax of a vector."""
    flat = draft.node("Flatten", draft.here.name) if len(draft.here.shape) == 4 else draft.here.name
    elements = prod(draft.here.shape)
    if elements != draft.here.shape[1]:
        flat = draft.node("MatMul", flat, draft.weights(elements, 20, outputs=1))
        draft.becomes(flat, (1, 20), draft.here.spread)
        flat, elements = draft.here.name, 20
    draft.becomes(draft.node("Softmax", flat, axis=1), (1, elements), 3 / elements)


def pool(draft: NetworkDraft) -> None:
    """Add a MaxPool or AveragePool."""
    channels, height, width = draft.image()
    is_mean = draft.chance(2)
    # Padding that does not count is stored as 0: no mean may read it beside another stored zero.
    must_count = is_mean and draft.is_integer and draft.here.zero_point
    kernel, strides, pads = zip(*(_window(draft, size) for size in (height, width)), strict=True)
    counts_pads = 1 if must_count else draft.number(0, 1)
    if is_mean and min(height, width) > 8 and draft.chance(3):
        counts_pads, (kernel, strides, pads) = 1, _wide_windows(draft, height, width)
    begins, ends = zip(*pads, strict=True)
    rows, columns = (
        (size + sum(pad) - over) // stride + 1
        for size, over, stride, pad in zip((height, width), kernel, strides, pads, strict=True)
    )
    attributes = {"kernel_shape": kernel, "strides": strides, "pads": [*begins, *ends]}
    shape = (1, channels, rows, columns)
    if not is_mean:
        draft.becomes(draft.node("MaxPool", draft.here.name, **attributes), shape, draft.here.spread)
        return
    name = draft.node("AveragePool", draft.here.name, **attributes, count_include_pad=counts_pads)
    draft.becomes(name, shape, draft.here.spread / np.sqrt(prod(kernel)))


def _wide_windows(draft: NetworkDraft, height: int, width: int) -> Any:
    """Windows that exceed the PDP's, side by side or not: kernels, strides and pads of rows and columns."""
    kernel = draft.number(2, height), draft.number(9, width)
    if draft.chance(2):
        return kernel, kernel, ((0, 0), (0, 0))
    strides = draft.number(1, 8), draft.number(1, 8)
    pads = [(draft.number(0, over - 1), draft.number(0, over - 1)) for over in kernel]
    return kernel, strides, pads


def _window(draft: NetworkDraft, size: int) -> tuple[int, int, tuple[int, int]]:
    over = draft.number(1, min(8, size)) if draft.chance(3) else draft.number(1, min(3, size))
    pads = (draft.number(0, over - 1), draft.number(0, over - 1)) if draft.chance(2) else (0, 0)
    return over, draft.number(1, 3), pads


def global_pool(draft: NetworkDraft) -> None:
    """Add a GlobalAveragePool or GlobalMaxPool."""
    channels, height, width = draft.image()
    shape = (1, channels, 1, 1)
    if draft.chance(3):
        draft.becomes(draft.node("GlobalMaxPool", draft.here.name), shape, 2 * draft.here.spread)
    else:
        name = draft.node("GlobalAveragePool", draft.here.name)
        draft.becomes(name, shape, draft.here.spread / np.sqrt(height * width))


def residual(draft: NetworkDraft) -> None:
    """Add an earlier value of the same shape, or a convolution of the current one."""
    channels, _, _ = draft.image()
    here = draft.here
    others = [one for one in draft.earlier if one.shape == here.shape and one.name != here.name]
    if others and draft.chance(2):
        other = others[draft.number(0, len(others) - 1)]
        operands = [here.name, other.name]
    else:
        groups = 1
        if draft.chance(3):
            groups = draft.pick([count for count in range(1, channels + 1) if channels % count == 0])
        weights = draft.weights(channels, channels // groups, 1, 1)
        branch = draft.node("Conv", here.name, weights, draft.floats(channels), group=groups)
        operands = [branch, here.name]
    draft.generator.shuffle(operands)
    _end(draft, draft.node("Add", *operands), here.shape, 1.4 * here.spread, may_clip=False)


def concat(draft: NetworkDraft) -> None:
    """Concatenate with earlier values of the same rows and columns, or with a convolution."""
    channels, height, width = draft.image()
    here, parts, total = draft.here, [draft.here.name], channels
    for one in [one for one in draft.earlier if len(one.shape) == 4 and one.shape[2:] == here.shape[2:]][-2:]:
        if draft.chance(2) and total + one.shape[1] <= MAX_CHANNELS:
            parts.append(one.name)
            total += one.shape[1]
    if len(parts) == 1 or draft.chance(2):
        kernels = draft.pick((1, 5, 16, 32))
        parts.append(draft.node("Conv", here.name, draft.weights(kernels, channels, 1, 1)))
        total += kernels
    draft.generator.shuffle(parts)
    draft.becomes(draft.node("Concat", *parts, axis=1), (1, total, height, width), here.spread)


def scale(draft: NetworkDraft) -> None:
    """Add a Mul and possibly an Add, per channel or scalar."""
    channels, _, _ = draft.image()
    here, shape = draft.here, (channels, 1, 1) if draft.chance(2) else (1,)
    factors = draft.generator.uniform(0.4, 1.6, shape) * draft.generator.choice([-1, 1], shape)
    name = draft.node("Mul", here.name, draft.constant(factors.astype(np.float32)))
    if draft.chance(2):
        name = draft.node("Add", name, draft.floats(*shape))
    draft.becomes(name, here.shape, here.spread)


def bound(draft: NetworkDraft) -> None:
    """Add a clamp."""
    low, high = (draft.constant(np.float32(each * draft.here.spread)) for each in (-0.8, 1.1))
    operands = [draft.here.name, low] if draft.chance(2) else [draft.here.name, "", high]
    name = draft.node("Relu", draft.here.name) if draft.chance(2) else draft.node("Clip", *operands)
    draft.becomes(name, draft.here.shape, draft.here.spread)


def shuffle(draft: NetworkDraft) -> None:
    """Add a channel shuffle."""
    channels, height, width = draft.image()
    groups = draft.pick([count for count in range(1, channels + 1) if channels % count == 0])
    split = draft.constant(np.array([1, groups, channels // groups, height, width], np.int64))
    name = draft.node("Reshape", draft.here.name, split)
    name = draft.node("Transpose", name, perm=[0, 2, 1, 3, 4])
    shape_constant = draft.constant(np.array([1, channels, height, width], np.int64))
    draft.here = RecipeValue(
        draft.node("Reshape", name, shape_constant),
        draft.here.shape,
        draft.here.spread,
        draft.here.zero_point,
    )
    draft.earlier.append(draft.here)


def transposed(draft: NetworkDraft) -> None:
    """Add a ConvTranspose with one or two phases per dimension."""
    channels, height, width = draft.image()
    outputs = draft.pick((1, 3, 8, 17))
    kernel, strides = [draft.number(1, 3) for _ in range(2)], [draft.number(1, 2) for _ in range(2)]
    pads = [draft.number(0, size // 2) for size in (*kernel, *kernel)]
    sizes = [
        (size - 1) * stride + reach - before - after
        for size, stride, reach, before, after in zip(
            (height, width), strides, kernel, pads[:2], pads[2:], strict=True
        )
    ]
    if min(sizes) < 1 or outputs * channels * prod(kernel) * height * width > MAX_MACS:
        return
    operands = [draft.here.name, draft.weights(channels, outputs, *kernel, outputs=1)]
    name = draft.node("ConvTranspose", *operands, draft.floats(outputs), strides=strides, pads=pads)
    _end(draft, name, (1, outputs, *sizes), 1.0)


def nearest(draft: NetworkDraft) -> None:
    """Add a nearest Resize."""
    coordinates = ("asymmetric", "align_corners", "half_pixel", "pytorch_half_pixel")[draft.number(0, 3)]
    rounding = ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")[draft.number(0, 3)]
    resized = _resize(draft, coordinate_transformation_mode=coordinates, nearest_mode=rounding)
    if resized is not None:
        draft.becomes(*resized, draft.here.spread)


def linear(draft: NetworkDraft) -> None:
    """Add a linear Resize."""
    coordinates = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")[draft.number(0, 3)]
    if draft.image()[0] > 24:
        return
    resized = _resize(draft, mode="linear", coordinate_transformation_mode=coordinates)
    if resized is not None:
        _end(draft, *resized, draft.here.spread)


def _resize(draft: NetworkDraft, **attributes: str) -> tuple[str, tuple[int, ...]] | None:
    """Add a Resize by integers, by quarters, or to a size; return its result, `None` if that is too large."""
    channels, height, width = draft.image()
    if draft.chance(3):
        after = tuple(draft.number(1, min(2 * size + 1, 28)) for size in (height, width))
        given = ["", draft.constant(np.array([1, channels, *after]))]
    else:
        unit = draft.pick((1, 4))
        rows, columns = (draft.number(1, 3 * unit) / unit for _ in range(2))
        after = int(height * rows), int(width * columns)
        given = [draft.constant(np.array([1, 1, rows, columns], np.float32))]
        # onnxruntime rounds a length before it enters these coordinates, ONNX's evaluator does not.
        by_length = attributes["coordinate_transformation_mode"] in ("align_corners", "pytorch_half_pixel")
        if by_length and after != (height * rows, width * columns):
            return None
    if min(after) < 1 or max(after) > 28:
        return None
    return draft.node("Resize", draft.here.name, "", *given, **attributes), (1, channels, *after)


def unary(draft: NetworkDraft) -> None:
    """Add a unary operator."""
    calls: tuple[tuple[str, dict[str, float]], ...] = (
        ("LeakyRelu", {"alpha": 0.2}),
        ("HardSigmoid", {"alpha": 0.3}),
        ("Neg", {}),
    )
    op, attributes = calls[draft.number(0, 2)]
    draft.becomes(draft.node(op, draft.here.name, **attributes), draft.here.shape, draft.here.spread)


def binary(draft: NetworkDraft) -> None:
    """Add a binary operator on two computed values."""
    here = draft.here
    others = [one for one in draft.earlier if one.shape == here.shape]
    other = others[draft.number(0, len(others) - 1)]
    op = ("Mul", "Sub", "Max")[draft.number(0, 2)]
    draft.becomes(draft.node(op, here.name, other.name), here.shape, here.spread)


def normalized(draft: NetworkDraft) -> None:
    """Add an LRN."""
    draft.image()
    size, alpha = draft.pick((3, 5, 7, 9)), float(draft.generator.uniform(1e-4, 0.5))
    name = draft.node("LRN", draft.here.name, size=size, alpha=alpha, beta=0.75, bias=1.0)
    draft.becomes(name, draft.here.shape, draft.here.spread)


def batch_normalized(draft: NetworkDraft) -> None:
    """Add a BatchNormalization."""
    channels, _, _ = draft.image()
    generator, spread = draft.generator, draft.here.spread
    factors = generator.uniform(0.5, 1.5, channels) * generator.choice([-1, 1], channels)
    variances = generator.uniform(0.4, 1.6, channels) * spread**2
    means = generator.uniform(-0.3, 0.3, channels) * spread
    shifts = generator.uniform(-0.3, 0.3, channels)
    operands = [draft.constant(each.astype(np.float32)) for each in (factors, shifts, means, variances)]
    name = draft.node("BatchNormalization", draft.here.name, *operands)
    _end(draft, name, draft.here.shape, 1.2)


def weighed(draft: NetworkDraft) -> None:
    """Weigh by a softmax over two to four branches."""
    channels, height, width = draft.image()
    here, count = draft.here, draft.number(2, 4)
    logits = draft.node("Conv", here.name, draft.weights(count * channels, channels, 1, 1))
    sizes = draft.constant(np.array((1, count, channels, height, width), np.int64))
    shares = draft.node("Softmax", draft.node("Reshape", logits, sizes), axis=1)
    chosen = draft.constant(np.array(draft.number(-count, count - 1), np.int64))
    share = draft.node("Gather", shares, chosen, axis=1)
    _end(draft, draft.node("Mul", here.name, share), here.shape, here.spread / count)


def by_channel(draft: NetworkDraft) -> None:
    """Combine with the mean of each channel, or with a product of the means: a gate, a mean to subtract."""
    channels, height, width = draft.image()
    here, shape = draft.here, (1, channels, 1, 1)
    draft.becomes(draft.node("GlobalAveragePool", here.name), shape, here.spread / np.sqrt(height * width))
    if draft.chance(2):
        weights = draft.weights(channels, channels, 1, 1)
        name = draft.node("Conv", draft.here.name, weights, draft.floats(channels))
        draft.becomes(name, shape, 1.2 * draft.here.spread)
    operands = [here.name, draft.here.name]
    draft.generator.shuffle(operands)
    # Without its third stage the SDP multiplies by integers without a zero point only.
    op = ("Add", "Max", "Mul")[draft.number(0, 1 if draft.here.zero_point else 2)]
    _end(draft, draft.node(op, *operands), here.shape, here.spread)


def by_position(draft: NetworkDraft) -> None:
    """Combine with the maximum or mean of the channels at each position, as spatial attention does."""
    channels, height, width = draft.image()
    here, shape = draft.here, (1, 1, height, width)
    op = ("ReduceMax", "ReduceMean")[draft.number(0, 1)]
    draft.becomes(draft.node(op, here.name, axes=[1]), shape, here.spread / np.sqrt(channels))
    if draft.chance(2):
        weights = draft.weights(1, 1, 3, 3)
        name = draft.node("Conv", draft.here.name, weights, draft.floats(1), pads=[1] * 4)
        draft.becomes(name, shape, 1.2 * draft.here.spread)
    operands = [here.name, draft.here.name]
    draft.generator.shuffle(operands)
    # Without its third stage the SDP multiplies by integers without a zero point only.
    op = ("Add", "Max", "Sub", "Mul")[draft.number(0, 2 if draft.here.zero_point else 3)]
    _end(draft, draft.node(op, *operands), here.shape, here.spread)


AddLayer = Callable[[NetworkDraft], None]

LAYERS: dict[str, AddLayer] = {
    "conv": conv,
    "conv2": conv,
    "conv3": conv,
    "depthwise": depthwise,
    "gemm": gemm,
    "pool": pool,
    "global_pool": global_pool,
    "softmax": softmax,
    "residual": residual,
    "concat": concat,
    "scale": scale,
    "batch_normalized": batch_normalized,
    "bound": bound,
    "normalized": normalized,
    "linear": linear,
    "nearest": nearest,
    "shuffle": shuffle,
    "transposed": transposed,
    "long_kernel": long_kernel,
    "added_product": added_product,
    "by_channel": by_channel,
    "by_position": by_position,
}
"""Layers that every configuration supports; convolutions are the most frequent."""

FLOAT_LAYERS: dict[str, AddLayer] = {
    "unary": unary,
    "binary": binary,
    "square": square,
    "weighed": weighed,
}
"""Layers that only FP16 supports, or computes in a way of its own."""
