"""
What the NVDLA must give for a quantised model, bit for bit: the model's own graph in exact integers.

Nothing of the compiler's arithmetic or the simulator runs here: operators mean what ONNX says, and numbers
are rounded where a QuantizeLinear stands, as spec/nvdla.md §4 says the hardware rounds. Which groups of a
convolution are one layer is the planner's to choose, and is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import floor, log2, prod
from typing import Any, Protocol, TypeAlias

import numpy as np
import onnx
from onnx import helper, numpy_helper

from xonnc.errors import XonncError
from xonnc.fuzzing.dla_affine import (
    Affine,
    Bound,
    Grid,
    Joined,
    Moved,
    Reals,
    Stored,
    Tabled,
    bounded,
    side_by_side,
)
from xonnc.fuzzing.dla_arithmetic import Extreme, Product, Sloped
from xonnc.fuzzing.dla_functions import FUNCTIONS, Shares, raised
from xonnc.fuzzing.dla_interpolation import phases
from xonnc.fuzzing.dla_moves import MOVES, moved
from xonnc.fuzzing.dla_normalization import Normalized
from xonnc.fuzzing.dla_rounding import Array, Integers
from xonnc.fuzzing.dla_upsampling import Spread, dense_kernels
from xonnc.fuzzing.dla_windows import (
    LARGEST_POOL,
    Frame,
    averaged,
    convolved,
    counted,
    everywhere,
    frame_of,
    greatest,
)

LEAST, LARGEST = -128, 127


class Layers(Protocol):
    """How a target cuts convolutions into layers: multipliers of one layer share a shift."""

    def groups_at_once(self, source: Sequence[int], kernels: int, frame: Frame, groups: int) -> int:
        """How many groups of a convolution over channels, rows and columns are one layer."""
        ...


@dataclass(frozen=True)
class Quantized:
    """Integers of the model, `offset` more than what is stored."""

    integers: Integers
    offset: int


@dataclass(frozen=True)
class Constant:
    """Numbers of a constant; where a DequantizeLinear made them, its integers, scales and their axis too."""

    numbers: Array
    integers: Integers | None = None
    scales: Array | None = None
    axis: int = 0


Value: TypeAlias = "Constant | Quantized | Reals"
Attributes: TypeAlias = "dict[str, Any]"


class Unknown(XonncError):
    """The reference has no such operator."""


@dataclass
class Reference:
    """A quantised model, ready to run."""

    model: onnx.ModelProto
    layers: Layers
    worst: list[float] = field(default_factory=list[float])
    """How far roundings were from the exact numbers of their operands, in steps."""
    _node: onnx.NodeProto | None = None
    _values: dict[str, Value] = field(default_factory=dict[str, "Value"])
    _inputs: dict[str, Array] = field(default_factory=dict[str, Array])

    def run(self, feeds: Mapping[str, Array]) -> list[Integers]:
        """The stored integers of every output."""
        graph = self.model.graph
        self._inputs = dict(feeds)
        self._values = {one.name: Constant(numpy_helper.to_array(one)) for one in graph.initializer}
        for node in graph.node:
            if node.op_type in MOVES:
                self._move(node)
                continue
            operator = OPERATORS.get(node.op_type)
            if operator is None:
                raise Unknown(f"{node.name} ({node.op_type}): the reference has no such operator")
            attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
            self._node = node
            self._values[node.output[0]] = operator(self, node.input, attributes)
        return [self._stored_output(output.name) for output in graph.output]

    def _move(self, node: onnx.NodeProto) -> None:
        opset = next(one.version for one in self.model.opset_import if not one.domain)
        constants = {name: self.number(name) for name in node.input[1:] if name}

        def result(place: int, images: Integers) -> Integers:
            return moved(node, opset, images, constants)[place]

        for place, name in enumerate(node.output):
            self._values[name] = _reordered(self, node.input, partial(result, place))

    def _stored_output(self, name: str) -> Integers:
        match self._values[name]:
            case Quantized(integers=integers):
                return integers
            case Affine(stored=Stored(integers=integers)):
                return integers
            case _:
                raise Unknown(f"{name}: no QuantizeLinear rounds this output")

    def rounding_behind(self) -> Grid | None:
        """The grid of the one QuantizeLinear that reads the node at hand; `None` if something else does."""
        assert self._node is not None
        readers = [node for node in self.model.graph.node if self._node.output[0] in node.input]
        if len(readers) != 1 or readers[0].op_type != "QuantizeLinear":
            return None
        scale, zero = (self.number(name) for name in readers[0].input[1:])
        offset = 128 if zero.dtype == np.uint8 else 0
        return Grid(float(scale.reshape(())), int(zero.reshape(())) - offset)

    def input(self, name: str) -> Array | None:
        """The numbers of an input."""
        return self._inputs.get(name)

    def constant(self, name: str) -> Constant | None:
        """A constant, or `None` for what is computed."""
        found = self._values.get(name)
        return found if isinstance(found, Constant) else None

    def number(self, name: str) -> Array:
        """The numbers of what must be a constant."""
        found = self.constant(name)
        if found is None:
            raise Unknown(f"{name}: the reference needs a constant")
        return found.numbers

    def value(self, name: str) -> Value:
        """What has been computed, or a constant."""
        return self._values[name]

    def reals(self, name: str) -> Reals:
        """What is real numbers."""
        found = self._values[name]
        if isinstance(found, Constant | Quantized):
            raise Unknown(f"{name}: the reference needs computed real numbers")
        return found

    def affine(self, name: str) -> Affine:
        """What one pass of the SDP makes."""
        found = self.reals(name)
        if not isinstance(found, Affine):
            raise Unknown(f"{name}: the reference needs one pass of the SDP")
        return found

    def stored(self, name: str) -> Stored:
        """What lies in memory."""
        found = self.affine(name).stored
        if found is None:
            raise Unknown(f"{name}: the reference needs stored integers")
        return found

    def quantized(self, name: str) -> Quantized:
        """Integers of the model, or those of an input."""
        if name in self._inputs and name not in self._values:
            given = self._inputs[name]
            offset = 128 if given.dtype == np.uint8 else 0
            return Quantized(given.astype(np.int64) - offset, offset)
        found = self._values[name]
        assert isinstance(found, Quantized)
        return found


Operator: TypeAlias = "Callable[[Reference, Sequence[str], Attributes], Value]"


def _quantize(here: Reference, inputs: Sequence[str], attributes: Attributes) -> Value:
    scale, zeros = here.number(inputs[1]), here.number(inputs[2])
    offset = 128 if zeros.dtype == np.uint8 else 0
    numbers = here.input(inputs[0])
    constant = here.constant(inputs[0])
    if constant is not None:
        spread = _along(scale, attributes.get("axis", 1), constant.numbers.ndim)
        shift = _along(zeros.astype(np.int64), attributes.get("axis", 1), constant.numbers.ndim)
        places = np.rint(constant.numbers / spread) + shift
        return Constant(np.clip(places, LEAST + offset, LARGEST + offset).astype(zeros.dtype))
    grid = Grid(float(scale.reshape(())), int(zeros.reshape(())) - offset)
    if numbers is not None:
        places = np.rint(numbers / np.float32(scale.reshape(()))) + grid.zero
        return Quantized(np.clip(places, LEAST, LARGEST).astype(np.int64), offset)
    return Quantized(here.reals(inputs[0]).rounded(grid, here.worst), offset)


def _dequantize(here: Reference, inputs: Sequence[str], attributes: Attributes) -> Value:
    scale, zeros = here.number(inputs[1]), here.number(inputs[2]).astype(np.int64)
    constant = here.constant(inputs[0])
    if constant is None:
        found = here.quantized(inputs[0])
        grid = Grid(float(scale.reshape(())), int(zeros.reshape(())) - found.offset)
        return Affine.of(Stored(found.integers, grid))
    axis, rank = attributes.get("axis", 1), constant.numbers.ndim
    centred = constant.numbers.astype(np.int64) - _along(zeros, axis, rank)
    numbers = (centred * _along(scale.astype(np.float64), axis, rank)).astype(np.float32)
    return Constant(numbers, centred, scale.reshape(-1).astype(np.float64), axis % max(rank, 1))


def _along(numbers: Array, axis: int, rank: int) -> Array:
    if numbers.size == 1:
        return numbers.reshape(())
    return numbers.reshape([-1 if place == axis % rank else 1 for place in range(rank)])


def _kernels(constant: Constant, outputs: int) -> tuple[Integers, Array]:
    """Weights with the outputs first, and their scales: as given, or each output's largest to 127."""
    given, scales = constant.integers, constant.scales
    if given is not None and scales is not None and (scales.size == 1 or constant.axis == outputs):
        return np.moveaxis(given, outputs, 0), scales
    rows = np.moveaxis(constant.numbers, outputs, 0).astype(np.float64)
    largest = np.abs(rows).max(axis=tuple(range(1, rows.ndim)))
    scales = np.where(largest > 0, largest, 1.0) / LARGEST
    return np.rint(rows / scales.reshape(-1, *(1,) * (rows.ndim - 1))).astype(np.int64), scales


def _conv(here: Reference, inputs: Sequence[str], attributes: Attributes) -> Value:
    source = here.stored(inputs[0])
    constant = here.constant(inputs[1])
    if constant is None:
        raise Unknown(f"{inputs[1]}: the reference needs constant kernels")
    weights, scales = _kernels(constant, 0)
    bias = here.number(inputs[2]).astype(np.float64) if len(inputs) > 2 else np.zeros(1)
    frame = _frame(attributes, weights.shape[2:], source.integers.shape[2:])
    batch = len(source.integers)
    if batch > 1:
        # The images of a batch are groups of channels.
        scales, bias = (one if one.size == 1 else np.tile(one, batch) for one in (scales, bias))
        weights = np.tile(weights, (batch, 1, 1, 1))
    images = source.integers.reshape(1, -1, *source.integers.shape[2:])
    groups: int = attributes.get("group", 1) * batch
    sums = convolved(images, weights, frame, groups, source.grid.zero)
    per_group = sums.shape[1] // groups
    merged = here.layers.groups_at_once(images.shape[1:], sums.shape[1], frame, groups)
    step = merged * per_group
    parts: list[Reals] = [
        _products(sums[:, rows], weights[rows], _part(scales, rows), _part(bias, rows), source.grid)
        for rows in (slice(begin, begin + step) for begin in range(0, sums.shape[1], step))
    ]
    found = parts[0] if len(parts) == 1 else side_by_side(parts, 1)
    return found if batch == 1 else Moved(found, lambda y: y.reshape(batch, -1, *y.shape[2:]))


def _part(numbers: Array, rows: slice) -> Array:
    return numbers if numbers.size == 1 else numbers[rows]


def _products(sums: Integers, weights: Integers, scales: Array, bias: Array, grid: Grid) -> Affine:
    """Sums of products, each of whose sources lies `zero` above what it means."""
    scale = grid.scale * scales
    shift = scale * (grid.zero * weights.sum(axis=tuple(range(1, weights.ndim))))
    return Affine(sums, scale, bias - shift, is_fine=True)


def _conv_transpose(here: Reference, inputs: Sequence[str], attributes: Attributes) -> Value:
    source, constant = here.stored(inputs[0]), here.constant(inputs[1])
    if (
        constant is None
        or len(source.integers) > 1
        or attributes.get("output_shape")
        or attributes.get("auto_pad", b"NOTSET") != b"NOTSET"
    ):
        raise Unknown(f"{inputs[1]}: the reference needs constant kernels and pads")
    given, scales = _kernels(constant, 1)
    bias = here.number(inputs[2]).astype(np.float64) if len(inputs) > 2 else np.zeros(1)
    groups: int = attributes.get("group", 1)
    weights = dense_kernels(given, groups, attributes.get("dilations", (1, 1)))
    sy, sx = attributes.get("strides", (1, 1))
    pads, extra = attributes.get("pads", (0, 0, 0, 0)), attributes.get("output_padding", (0, 0))
    height, width = (
        (size - 1) * stride + reach + more - before - after
        for size, stride, reach, more, before, after in zip(
            source.integers.shape[2:], (sy, sx), weights.shape[2:], extra, pads[:2], pads[2:], strict=True
        )
    )
    # A single row or column is one layer, whatever the stride.
    rows, columns = source.integers.shape[2:]
    spread = Spread((sy if rows > 1 else 1, sx if columns > 1 else 1), (pads[0], pads[1]), (height, width))
    phases = spread.phases(source.integers, weights, source.grid.zero)
    return Joined(
        [_products(sums, kernels, scales, bias, source.grid) for sums, kernels in phases], spread.interleaved
    )


def _resize(here: Reference, inputs: Sequence[str], attributes: Attributes) -> Value:
    mode = attributes.get("mode", b"nearest")
    if mode not in (b"nearest", b"linear"):
        raise Unknown(f"{inputs[0]}: the reference repeats rows and columns, or draws lines between them")
    if attributes.get("axes") or attributes.get("keep_aspect_ratio_policy", b"stretch") != b"stretch":
        raise Unknown(f"{inputs[0]}: the reference takes a factor or a size for each axis")

    def counts(images: Integers) -> tuple[int, int]:
        sizes = here.number(inputs[3]) if len(inputs) > 3 else here.number(inputs[2]) * images.shape
        rows, columns = (int(sizes[axis]) // images.shape[axis] for axis in (2, 3))
        return rows, columns

    if mode == b"linear":
        source = here.stored(inputs[0])
        height, width = source.integers.shape[2:]
        if height * width > 1:
            factors = counts(source.integers)
            coordinates = attributes.get("coordinate_transformation_mode", b"half_pixel").decode()
            sums, unit = phases(source.integers, factors, coordinates)
            scale = np.array([source.grid.scale / unit])
            bias = -source.grid.zero * source.grid.scale * np.ones(1)
            spread = Spread(factors, (0, 0), (height * factors[0], width * factors[1]))
            return Joined([Affine(one, scale, bias, is_fine=True) for one in sums], spread.interleaved)

    def move(images: Integers) -> Integers:
        rows, columns = counts(images)
        return images.repeat(rows, axis=2).repeat(columns, axis=3)

    return Moved(here.reals(inputs[0]), move)


def _frame(attributes: Attributes, kernel: Sequence[int], sizes: Sequence[int]) -> Frame:
    if len(kernel) != 2:
        raise Unknown(f"{len(kernel)} dimensions; the reference has images")
    return frame_of(attributes, kernel, sizes)


def _gemm(here: Reference, inputs: Sequence[str], attributes: Attributes) -> Value:
    bias = here.number(inputs[2]) if len(inputs) > 2 else np.zeros(1, np.float32)
    bias = bias.reshape(-1) * np.float32(attributes.get("beta", 1.0))
    outputs = 0 if attributes.get("transB", 0) else 1
    if attributes.get("transA", 0):
        raise Unknown(f"{inputs[0]}: the reference multiplies rows")
    return _product(here, inputs, outputs, attributes.get("alpha", 1.0), bias)


def _matmul(here: Reference, inputs: Sequence[str], _: Attributes) -> Value:
    return _product(here, inputs, 1, 1.0, np.zeros(1))


def _product(here: Reference, inputs: Sequence[str], outputs: int, alpha: float, bias: Array) -> Value:
    source, constant = here.stored(inputs[0]), here.constant(inputs[1])
    if constant is None or constant.numbers.ndim != 2:
        raise Unknown(f"{inputs[1]}: the reference needs a constant matrix")
    weights, scales = _kernels(constant, outputs)
    if weights.ndim != 2 or bias.size not in (1, len(weights)):
        raise Unknown(f"{inputs[1]}: the reference needs a matrix, and one bias for each column")
    sums = source.integers.reshape(-1, weights.shape[1]) @ weights.T
    found = _products(sums, weights, scales * alpha, bias.astype(np.float64), source.grid)
    shape = (*source.integers.shape[:-1], len(weights))
    return found if sums.shape == shape else Moved(found, lambda y: y.reshape(shape))


def _add(here: Reference, inputs: Sequence[str], _: Attributes) -> Value:
    if len(inputs) == 2 and all(here.constant(name) is None for name in inputs):
        groups, other = (here.reals(name) for name in inputs)
        groups, other = (groups, other) if isinstance(groups, Joined) else (other, groups)
        if isinstance(groups, Joined) and isinstance(other, Affine) and other.stored is not None:
            return groups.plus(other.stored)
    constants = [found.numbers for name in inputs if (found := here.constant(name)) is not None]
    computed = [here.affine(name) for name in inputs if here.constant(name) is None]
    # The sum is formed in the units of what lies in memory: the last of the operands that do.
    computed.sort(key=lambda one: one.stored is not None)
    found = computed[0]
    for numbers in constants:
        found = found.plus(numbers.reshape(-1).astype(np.float64))
    if len(computed) == 1:
        return found
    other = computed[1].stored
    if other is None or len(computed) > 2:
        raise Unknown(f"{inputs[0]}: a sum of several passes")
    return found.then(other)


def _mul(here: Reference, inputs: Sequence[str], _: Attributes) -> Value:
    first, second = inputs if here.constant(inputs[0]) is None else (inputs[1], inputs[0])
    if here.constant(second) is None:
        a, b = here.stored(first), here.stored(second)
        if a.integers.ndim != b.integers.ndim or (a.integers.size, b.grid.zero) < (b.integers.size, 1):
            a, b = b, a
        return Product(a, b)
    return here.affine(first).times(here.number(second).reshape(-1).astype(np.float64))


def _sub(here: Reference, inputs: Sequence[str], _: Attributes) -> Value:
    first, second = inputs
    if (constant := here.constant(second)) is not None:
        return here.affine(first).plus(-constant.numbers.reshape(-1).astype(np.float64))
    negated = here.affine(second).times(np.array([-1.0]))
    if (constant := here.constant(first)) is not None:
        return negated.plus(constant.numbers.reshape(-1).astype(np.float64))
    return negated.then(here.stored(first))


def _mean_of(here: Reference, inputs: Sequence[str], _: Attributes) -> Value:
    if len(inputs) == 1:
        return here.value(inputs[0])
    if len(inputs) > 2:
        raise Unknown(f"{inputs[0]}: a mean of more than two")
    added = here.stored(inputs[1])
    halved = replace(added, grid=Grid(added.grid.scale / 2, added.grid.zero))
    return here.affine(inputs[0]).times(np.array([0.5])).then(halved)


def _extreme(here: Reference, inputs: Sequence[str], *, is_greatest: bool) -> Value:
    constants = [found.numbers for name in inputs if (found := here.constant(name)) is not None]
    parts = [here.reals(name) for name in inputs if here.constant(name) is None]
    return parts[0] if len(inputs) == 1 else Extreme(parts, constants, is_greatest)


def _max(here: Reference, inputs: Sequence[str], _: Attributes) -> Value:
    return _extreme(here, inputs, is_greatest=True)


def _min(here: Reference, inputs: Sequence[str], _: Attributes) -> Value:
    return _extreme(here, inputs, is_greatest=False)


def _prelu(here: Reference, inputs: Sequence[str], _: Attributes) -> Value:
    source, slopes = here.stored(inputs[0]), here.number(inputs[1]).astype(np.float64)
    if np.all(slopes == slopes.reshape(-1)[0]):
        alpha = float(slopes.reshape(-1)[0])
        return Tabled(source, lambda x: np.where(x > 0, x, alpha * x))
    spread = np.broadcast_to(slopes, source.integers.shape)
    first = spread[(slice(0, 1), slice(None), *(slice(0, 1),) * (spread.ndim - 2))]
    if np.any(spread != first):
        raise Unknown(f"{inputs[1]}: the reference needs one slope for each channel")
    return Sloped(source, first.reshape(-1))


def _power(here: Reference, inputs: Sequence[str], _: Attributes) -> Value:
    exponent = float(here.number(inputs[1]).reshape(()))
    return Tabled(here.stored(inputs[0]), lambda x: raised(x, exponent))


def _batch_normalization(here: Reference, inputs: Sequence[str], attributes: Attributes) -> Value:
    scale, shift, mean, variance = (here.number(name).astype(np.float64) for name in inputs[1:])
    factor = scale / np.sqrt(variance + attributes.get("epsilon", 1e-5))
    return here.affine(inputs[0]).times(factor).plus(shift - factor * mean)


def _normalization(here: Reference, inputs: Sequence[str], attributes: Attributes) -> Value:
    size: int = attributes["size"]
    scale = attributes.get("alpha", 1e-4) / size
    bias, beta = attributes.get("bias", 1.0), attributes.get("beta", 0.75)
    return Normalized(here.stored(inputs[0]), size, scale, bias, beta)


def _function(name: str) -> Operator:
    """The operator that looks a function up."""

    def look_up(here: Reference, inputs: Sequence[str], attributes: Attributes) -> Value:
        def result(numbers: Array) -> Array:
            with np.errstate(all="ignore"):
                return FUNCTIONS[name](numbers, attributes)

        return Tabled(here.stored(inputs[0]), result)

    return look_up


def _relu(here: Reference, inputs: Sequence[str], _: Attributes) -> Value:
    return bounded(here.reals(inputs[0]), Bound(0.0, True))


def _clip(here: Reference, inputs: Sequence[str], _: Attributes) -> Value:
    found = here.reals(inputs[0])
    for name, is_least in zip(inputs[1:], (True, False), strict=False):
        if name:
            found = bounded(found, Bound(float(here.number(name).reshape(())), is_least))
    return found


def _max_pool(here: Reference, inputs: Sequence[str], attributes: Attributes) -> Value:
    ceil = bool(attributes.get("ceil_mode", 0))

    def move(images: Integers) -> Integers:
        return greatest(images, _frame(attributes, attributes["kernel_shape"], images.shape[2:]), ceil=ceil)

    return Moved(here.reals(inputs[0]), move)


def _global_max_pool(here: Reference, inputs: Sequence[str], _: Attributes) -> Value:
    return Moved(here.reals(inputs[0]), lambda images: images.max(axis=(2, 3), keepdims=True))


def _average_pool(here: Reference, inputs: Sequence[str], attributes: Attributes) -> Value:
    source = here.stored(inputs[0])
    sizes = source.integers.shape[2:]
    frame, ceil = _frame(attributes, attributes["kernel_shape"], sizes), bool(attributes.get("ceil_mode", 0))
    if frame.kernel == tuple(sizes) and not any(frame.pads):
        return _global_average_pool(here, inputs, attributes)
    with_pads = bool(attributes.get("count_include_pad", 0))
    divided = counted(sizes, frame, ceil=ceil, with_pads=with_pads)
    means = averaged(source.integers, frame, ceil=ceil)
    return _mean(means, source.grid, np.float32(prod(frame.kernel)) / divided)


def _global_average_pool(here: Reference, inputs: Sequence[str], _: Attributes) -> Value:
    source, grid = here.stored(inputs[0]), here.rounding_behind()
    channels, rows, columns = source.integers.shape[1:]
    is_small = 1 < rows * columns and max(rows, columns) <= LARGEST_POOL
    if is_small and grid is not None and source.grid.scale > grid.scale:
        # Means in coarser steps than the result's would be rounded twice: the sums are exact.
        sums = source.integers.sum(axis=(2, 3), keepdims=True)
        ones = np.ones((channels, 1, rows, columns), np.int64)
        return _products(sums, ones, np.array([1 / (rows * columns)]), np.zeros(1), source.grid)
    means, factor = everywhere(source.integers)
    return _mean(means, source.grid, np.full((1, 1), factor))


def _mean(means: Integers, grid: Grid, factors: Array) -> Affine:
    """What the engine gives times a factor for each position; factors that differ have 7 bits."""
    largest, bias = float(factors.max()), np.array([-grid.zero * grid.scale])
    if np.all(factors == largest):
        return Affine(means, np.array([grid.scale]) * largest, bias)
    shift = floor(log2(LARGEST / largest))
    spread = np.rint(factors * 2.0**shift)
    return Affine(means, np.array([grid.scale]) * 2.0**-shift, bias, is_fine=True, spread=spread)


def _reduced(here: Reference, inputs: Sequence[str], attributes: Attributes, *, is_mean: bool) -> Value:
    source = here.stored(inputs[0])
    given = here.number(inputs[1]).tolist() if len(inputs) > 1 and inputs[1] else attributes.get("axes", [])
    axes = tuple(given) or tuple(
        () if attributes.get("noop_with_empty_axes") else range(source.integers.ndim)
    )
    if source.integers.size > 1024:
        raise Unknown(f"{inputs[0]}: the reference adds up what a small convolution can")
    sums = source.integers.sum(axis=axes, keepdims=bool(attributes.get("keepdims", 1)))
    count = source.integers.size // max(sums.size, 1)
    scale = np.array([source.grid.scale / count if is_mean else source.grid.scale])
    return Affine(sums, scale, -source.grid.zero * count * scale, is_fine=True)


def _sum_over(here: Reference, inputs: Sequence[str], attributes: Attributes) -> Value:
    return _reduced(here, inputs, attributes, is_mean=False)


def _mean_over(here: Reference, inputs: Sequence[str], attributes: Attributes) -> Value:
    return _reduced(here, inputs, attributes, is_mean=True)


def _concat(here: Reference, inputs: Sequence[str], attributes: Attributes) -> Value:
    return side_by_side([here.reals(name) for name in inputs], attributes["axis"])


def _reordered(here: Reference, inputs: Sequence[str], move: Callable[[Integers], Integers]) -> Value:
    found = here.value(inputs[0])
    match found:
        case Quantized():
            return Quantized(move(found.integers), found.offset)
        case Constant():
            return Constant(move(found.numbers))
        case Affine(stored=Stored(integers=integers, grid=grid)):
            return Affine.of(Stored(move(integers), grid))
        case _:
            return Moved(here.reals(inputs[0]), move)


def _reshape(here: Reference, inputs: Sequence[str], _: Attributes) -> Value:
    sizes = here.number(inputs[1])

    def move(images: Integers) -> Integers:
        return images.reshape([images.shape[i] if size == 0 else size for i, size in enumerate(sizes)])

    return _reordered(here, inputs, move)


def _flatten(here: Reference, inputs: Sequence[str], attributes: Attributes) -> Value:
    axis = attributes.get("axis", 1)
    return _reordered(here, inputs, lambda images: images.reshape(prod(images.shape[:axis]), -1))


def _transpose(here: Reference, inputs: Sequence[str], attributes: Attributes) -> Value:
    return _reordered(here, inputs, lambda images: images.transpose(attributes["perm"]))


def _identity(here: Reference, inputs: Sequence[str], _: Attributes) -> Value:
    return here.value(inputs[0])


def _constant(here: Reference, _: Sequence[str], attributes: Attributes) -> Value:
    return Constant(numpy_helper.to_array(attributes["value"]))


def _softmax(here: Reference, inputs: Sequence[str], _: Attributes) -> Value:
    return Shares(here.stored(inputs[0]))


OPERATORS: Mapping[str, Operator] = {
    "Add": _add,
    "AveragePool": _average_pool,
    "BatchNormalization": _batch_normalization,
    "Clip": _clip,
    "Concat": _concat,
    "Constant": _constant,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "DequantizeLinear": _dequantize,
    "Flatten": _flatten,
    "Gemm": _gemm,
    "GlobalAveragePool": _global_average_pool,
    "GlobalMaxPool": _global_max_pool,
    "Identity": _identity,
    "LRN": _normalization,
    "MatMul": _matmul,
    "Max": _max,
    "MaxPool": _max_pool,
    "Mean": _mean_of,
    "Min": _min,
    "Mul": _mul,
    "PRelu": _prelu,
    "Pow": _power,
    "QuantizeLinear": _quantize,
    "ReduceMean": _mean_over,
    "ReduceSum": _sum_over,
    "Relu": _relu,
    "Reshape": _reshape,
    "Resize": _resize,
    "Softmax": _softmax,
    "Sub": _sub,
    "Sum": _add,
    "Transpose": _transpose,
    **{name: _function(name) for name in FUNCTIONS},
}
"""What the reference computes, by ONNX's name."""
