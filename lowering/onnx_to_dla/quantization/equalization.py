"""
Cross-layer equalization and bias absorption before quantization to int8 [Nagel 2019, §4.1].

An activation tensor has one scale for all channels, so channels of a small range, or a range far from zero,
use few of the 256 levels. Between two linear operators with at most ReLUs and data movement in between, a
channel may be multiplied by any positive factor if the weights that read it are divided by it, since `relu(f
x) = f relu(x)`. Weights are quantized per output channel, so the factor is free for the producer; the
consumers' input channels share a scale. The factors are powers between none and full equalization of the
channels, chosen for the least expected quantization noise. (Nagel et al. use one scale per weight tensor, and
factors from the weights alone.) Without a ReLU in between the center of each channel is subtracted as well,
and `W m` moves into the consumers' biases.

A global average pooling counts as a linear operator: it becomes a depthwise convolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, log, pi, prod, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.builder import Builder
from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xonnc.dialects.onnx.attribute_builders import int_attr, int_values
from xonnc.dialects.onnx.elements import DisposablePool, elements_array
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.ops.builtin import NoValueOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.extra import MaxPoolSingleOutOp
from xonnc.dialects.onnx.ops.math import GemmOp, ReluOp
from xonnc.dialects.onnx.ops.nn import AveragePoolOp, ConvOp, FlattenOp, GlobalAveragePoolOp
from xonnc.dialects.onnx.ops.tensor import IdentityOp, ReshapeOp, TransposeOp
from xonnc.dialects.onnx.types import NONE, element_type, element_type_of, static_shape, tensor_type
from xonnc.formats.nvdla.calibration import Range
from xonnc.formats.nvdla.geometry import MAX_POOL
from xonnc.formats.nvdla.quantization import INT8_MAX, covering
from xonnc.lowering.onnx_to_dla.quantization.value_ranges import ValueRanges

Array = npt.NDArray[Any]
LinearOp = ConvOp | GemmOp
SpatialMean = AveragePoolOp | GlobalAveragePoolOp

EXPONENTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Candidate degrees of equalization: 0 leaves the channels unchanged, 1 equalizes them fully."""

MAX_RATIO = 64.0
"""
The largest ratio between factors of two channels. SDP multipliers share a shift: the smallest keeps 9 of 15
bits.
"""

PEAK_TO_RMS = 6.0
"""Assumed ratio of a channel's largest magnitude to its root mean square."""

EULER = 0.5772156649
"""The Euler-Mascheroni constant."""

REACH = 3.5
"""Standard deviations from the middle of a channel that its range must cover."""

PRIOR_VALUES = 4
"""
The number of values with which a channel's variance counts three quarters in its estimate, and the mean of
all channels' variances one quarter. With more values that quarter falls by the square of their number, since
channels may differ by orders of magnitude.
"""

ASSUMED_IMAGES = 32
"""The number of images behind ranges that do not say it: tables of other tools or earlier versions."""


def equalize(function: FuncOp, ranges: ValueRanges, pool: DisposablePool) -> None:
    """
    Scale the weights of `function` so that the channels between linear operators use the int8 range equally.

    Updates `ranges` to the scaled values. Values without ranges per channel stay unchanged.
    """
    for op in list(function.body.block.ops):
        path = _path_from(op) if isinstance(op, LinearOp | SpatialMean) else None
        if path is not None:
            _equalize(path, ranges, pool)


@dataclass(frozen=True)
class _Path:
    """The way from a linear operator to its consumers: the values, and where each channel goes."""

    producer: LinearOp | SpatialMean
    values: tuple[SSAValue, ...]
    channel_maps: tuple[Array, ...]
    """For each value and each index of its axis 1, the producer's channel; empty if channels are mixed."""
    consumers: tuple[LinearOp, ...]

    def is_rectified(self, value: SSAValue) -> bool:
        """Whether a value of the path is a ReLU's result, or moved from it."""
        before = self.values[: self.values.index(value) + 1]
        return any(isinstance(each.owner, ReluOp) for each in before)

    @property
    def may_shift(self) -> bool:
        """Whether a constant may be added to channels: no ReLU in between, and no zero padding."""
        return not self.is_rectified(self.values[-1]) and not any(
            isinstance(consumer, ConvOp) and _pads(consumer) for consumer in self.consumers
        )


@dataclass(frozen=True)
class _Change:
    """Per-channel shift and scale of the producer's result: `(x - center) * factor`."""

    path: _Path
    centers: Array
    factors: Array

    def of(self, value: SSAValue, found: Range, channel_map: Array) -> Range:
        """Return a value's range after the change; unchanged if it has no ranges per channel."""
        if not channel_map.size or len(found.lows) != channel_map.size:
            return found
        centers, factors = self.centers[channel_map], self.factors[channel_map]
        means, lows, highs, *sample_means = (
            tuple(((np.array(values) - centers) * factors).tolist()) if values else ()
            for values in (found.means, found.lows, found.highs, *found.sample_means)
        )
        least, largest = _ends(self.path, value, found)
        return replace(
            found,
            least=float(((least - centers) * factors).min()),
            largest=float(((largest - centers) * factors).max()),
            means=means,
            lows=lows,
            highs=highs,
            sample_means=tuple(sample_means),
        )


def _ends(path: _Path, value: SSAValue, found: Range) -> tuple[Array, Array]:
    """
    Return lower and upper ends of the channels, clipped to the range of the tensor before they are widened.

    Samples show less of a channel the fewer values it has: those of a 1x1 result of four images reach one
    standard deviation on average. So each channel's range covers `REACH` standard deviations, estimated from
    its own values and, if these are few, from those of all channels. Many values show the whole range, and
    nothing is widened.
    """
    least, largest = (np.clip(each, found.least, found.largest) for each in (found.lows, found.highs))
    shape = static_shape(value.type)
    assert shape is not None, "paths have static shapes"
    count = (found.images or ASSUMED_IMAGES) * prod(shape[2:])
    # A ReLU's results are the upper half of a distribution around zero.
    lower = -largest if path.is_rectified(value) else least
    middle, half = (lower + largest) / 2, (largest - lower) / 2
    squares = np.square(half / _expected_maximum(count))
    common = (PRIOR_VALUES / (PRIOR_VALUES + count)) ** 2
    deviation = np.sqrt((1 - common) * squares + common * squares.mean())
    reach = np.maximum(half, REACH * deviation) if _expected_maximum(count) < REACH else half
    return least if path.is_rectified(value) else middle - reach, middle + reach


def _expected_maximum(count: int) -> float:
    """Return the mean of the largest of `count` normal numbers, in standard deviations (Fisher, Tippett)."""
    root = sqrt(2 * log(max(count, 2)))
    return root - (log(log(max(count, 2))) + log(4 * pi)) / (2 * root) + EULER / root


def _path_from(producer: LinearOp | SpatialMean) -> _Path | None:
    """
    Return the path from a linear operator or mean if only linear operators read its result, else `None`.
    """
    shape = static_shape(producer.results[0].type)
    if shape is None or len(shape) < 2 or shape[0] != 1 or not _scales_outputs(producer):
        return None
    value: SSAValue = producer.results[0]
    spread = np.arange(shape[1], dtype=np.int32).reshape(1, -1, *(1,) * (len(shape) - 2))
    channels: Array = np.broadcast_to(spread, shape)
    values, channel_maps = [value], [_order(channels)]
    while True:
        users = [use.operation for use in value.uses]
        if all(isinstance(user, LinearOp) for user in users):
            break
        moved = _channels_after(users[0], value, channels) if len(users) == 1 else None
        if moved is None:
            return None
        value, channels = users[0].results[0], moved
        values.append(value)
        channel_maps.append(_order(channels))
    consumers = tuple(user for user in users if isinstance(user, LinearOp))
    if (
        not consumers
        or not channel_maps[-1].size
        or not all(_is_consumer(consumer, value) for consumer in consumers)
    ):
        return None
    return _Path(producer, tuple(values), tuple(channel_maps), consumers)


def _channels_after(user: Operation, value: SSAValue, channels: Array) -> Array | None:
    """
    Return the producer's channel of each element after an op that commutes with scaling, `None` for other
    ops.
    """
    shape = static_shape(user.results[0].type) if user.results and user.operands[0] == value else None
    if shape is None:
        return None
    match user:
        case ReluOp() | IdentityOp():
            return channels
        case MaxPoolSingleOutOp():
            channel_map = _order(channels)
            first = channel_map.reshape(1, -1, *(1,) * (len(shape) - 2))
            return np.broadcast_to(first, shape) if channel_map.size else None
        case ReshapeOp() | FlattenOp():
            return channels.reshape(shape)
        case TransposeOp() if user.perm is not None:
            return channels.transpose([int(axis) for axis in int_values(user.perm) or ()])
        case _:
            return None


def _order(channels: Array) -> Array:
    """Return the producer's channel of each index of axis 1; empty if an index has several."""
    if channels.ndim < 2 or channels.shape[0] != 1:
        return np.zeros(0, np.int32)
    rows = channels.reshape(channels.shape[1], -1)
    return rows[:, 0].copy() if np.all(rows == rows[:, :1]) else np.zeros(0, np.int32)


def _scales_outputs(op: LinearOp | SpatialMean) -> bool:
    """Whether the channels of an op's result can be scaled through its weights."""
    if isinstance(op, SpatialMean):
        return _window(op) is not None
    return _is_plain(op)


def _window(op: SpatialMean) -> tuple[int, int] | None:
    """
    Return rows and columns of a mean over the whole image that one convolution can compute exactly, else
    `None`.
    """
    shape = static_shape(op.X.type)
    if shape is None or len(shape) != 4 or element_type(op.X.type) != f32:
        return None
    window = (shape[2], shape[3])
    if isinstance(op, AveragePoolOp) and (
        int_values(op.kernel_shape) != window or any(int_values(op.pads) or ())
    ):
        return None
    return window if max(window) <= MAX_POOL and window != (1, 1) else None


def _is_plain(op: LinearOp) -> bool:
    """Whether an op has constant float32 weights and a constant bias."""
    weights, bias = _numbers(op.operands[1]), _numbers(op.operands[2])
    if weights is None or weights.dtype != np.float32 or (bias is None and op.operands[2].type != NONE):
        return False
    if bias is not None and bias.size != weights.shape[_output_axis(op)]:
        return False
    if isinstance(op, ConvOp):
        return True
    return op.alpha.value.data == op.beta.value.data == 1.0 and not op.transA.value.data


def _is_consumer(consumer: LinearOp, value: SSAValue) -> bool:
    return _is_plain(consumer) and consumer.operands[0] == value and value not in consumer.operands[1:]


def _pads(op: ConvOp) -> bool:
    return any(int_values(op.pads) or ()) or op.auto_pad.data not in ("NOTSET", "VALID")


def _equalize(path: _Path, ranges: ValueRanges, pool: DisposablePool) -> None:
    # What is rounded is the last value that is computed: moves stay on its grid.
    # Quantization happens at the last computed value; data movement after it keeps its scale.
    computed = (LinearOp, SpatialMean, ReluOp)
    position = max(index for index, value in enumerate(path.values) if isinstance(value.owner, computed))
    found, channel_map = ranges.of(path.values[position]), path.channel_maps[position]
    if found is None or not channel_map.size or len(found.lows) != channel_map.size:
        return
    least, largest = np.full(path.channel_maps[0].size, inf), np.full(path.channel_maps[0].size, -inf)
    lows, highs = _ends(path, path.values[position], found)
    np.minimum.at(least, channel_map, lows)
    np.maximum.at(largest, channel_map, highs)
    centers = (least + largest) / 2 if path.may_shift else np.zeros(least.size)
    peaks = np.maximum(np.abs(least - centers), np.abs(largest - centers))
    if not peaks.any():
        return
    # Channels that are almost zero would get huge factors, and their small multipliers lose precision.
    peaks = np.maximum(peaks, peaks.max() / MAX_RATIO)
    ends = least - centers, largest - centers
    choices = [_Change(path, centers, (peaks / peaks.max()) ** -exponent) for exponent in EXPONENTS]
    read = [_ReadKernels.of(consumer, peaks[path.channel_maps[-1]]) for consumer in path.consumers]
    best = min(choices, key=lambda one: _noise(path, read, peaks, one.factors, ends))
    if np.all(best.factors == 1.0) and not centers.any():
        return
    made = _change(path, best, pool)
    for value, old, channel_map in zip((made, *path.values[1:]), path.values, path.channel_maps, strict=True):
        if (known := ranges.of(value)) is not None:
            ranges.set(value, best.of(old, known, channel_map))


@dataclass(frozen=True)
class _ReadKernels:
    """The kernels of a consumer, with what does not depend on the factors of the channels that it reads."""

    kernels: Array
    largest: Array
    """The largest magnitude of each kernel's taps, by input channel."""
    signal: Array
    """The power of each kernel's result."""

    @staticmethod
    def of(consumer: LinearOp, peaks: Array) -> _ReadKernels:
        """Return those of an operator whose input channels have these peaks."""
        kernels = _kernels(consumer)
        heights = peaks.reshape(kernels.shape[0], 1, -1, 1)
        signal = np.square(kernels * heights).sum(axis=(2, 3)) / PEAK_TO_RMS**2
        return _ReadKernels(kernels, np.abs(kernels).max(axis=3, keepdims=True), signal)


def _noise(
    path: _Path, read: Sequence[_ReadKernels], peaks: Array, factors: Array, ends: tuple[Array, Array]
) -> float:
    """
    Return the mean noise-to-signal ratio of the consumers' results due to quantizing activations and weights,
    for the given factors. `ends` are the channels' lower and upper ends.
    """
    channel_map = path.channel_maps[-1]
    step = covering(float((ends[0] * factors).min()), float((ends[1] * factors).max())).scale
    greatest = (peaks * factors)[channel_map]
    total, count = 0.0, 0
    for one in read:
        weights, signal = one.kernels, one.signal
        scales, reach = (
            each.reshape(weights.shape[0], 1, -1, 1) for each in (factors[channel_map], greatest)
        )
        scaled = weights / scales
        # Rounding to a step s adds noise of variance s^2 / 12; the constant cancels in the comparison.
        # `by_kernels` is weight rounding times the activations' power, `by_channels` activation rounding
        # times the weights' power.
        weight_steps = (one.largest / scales).max(axis=(2, 3)) / INT8_MAX
        by_kernels = (
            np.square(weight_steps) * np.square(reach).sum(axis=(2, 3)) * weights.shape[3] / PEAK_TO_RMS**2
        )
        by_channels = step**2 * np.square(scaled, out=scaled).sum(axis=(2, 3))
        has_signal = signal > 0
        total += float(((by_kernels + by_channels)[has_signal] / signal[has_signal]).sum())
        count += int(has_signal.sum())
    return total / count if count else inf


def _change(path: _Path, change: _Change, pool: DisposablePool) -> SSAValue:
    """Apply a change to the producer and the inverse to the consumers; return the new value."""
    channel_map = path.channel_maps[-1]
    for consumer in path.consumers:
        kernels = _kernels(consumer)
        broadcast = (kernels.shape[0], 1, -1, 1)
        if change.centers.any():
            added = (kernels * change.centers[channel_map].reshape(broadcast)).sum(axis=(2, 3)).reshape(-1)
            _replace(consumer, 2, _bias(consumer) + added, pool)
        _set_kernels(consumer, kernels / change.factors[channel_map].reshape(broadcast), pool)
    producer = path.producer if isinstance(path.producer, LinearOp) else _as_sum(path.producer, pool)
    if change.centers.any() or producer.operands[2].type != NONE:
        _replace(producer, 2, (_bias(producer) - change.centers) * change.factors, pool)
    kernels = _kernels(producer)
    _set_kernels(producer, kernels * change.factors.reshape(kernels.shape[0], -1, 1, 1), pool)
    return producer.Y


def _as_sum(mean: SpatialMean, pool: DisposablePool) -> ConvOp:
    """Replace a mean over the whole image by the equivalent depthwise convolution."""
    window, shape = _window(mean), static_shape(mean.X.type)
    assert window is not None, "means that are made paths of have one"
    assert shape is not None, "a window has a shape"
    weights = np.full((shape[1], 1, *window), 1 / prod(window), np.float32)
    none = NoValueOp(derived(mean.location))
    constant = _constant(weights, mean, pool)
    conv = ConvOp.create(
        operands=[mean.X, constant.output, none.none_val],
        properties={"group": int_attr(shape[1])},
        attributes=mean.attributes,
        result_types=[mean.Y.type],
        location=mean.location,
    )
    Rewriter.replace_op(mean, [none, constant, conv], [conv.Y])
    return conv


def _output_axis(op: LinearOp) -> int:
    return 0 if isinstance(op, ConvOp) or op.transB.value.data else 1


def _kernels(op: LinearOp) -> Array:
    """Return weights as [groups, kernels per group, input channels, taps]."""
    groups = op.group.value.data if isinstance(op, ConvOp) else 1
    rows = np.moveaxis(_weights(op), _output_axis(op), 0).astype(np.float64)
    return rows.reshape(groups, rows.shape[0] // groups, rows.shape[1], -1)


def _set_kernels(op: LinearOp, kernels: Array, pool: DisposablePool) -> None:
    weights, axis = _weights(op), _output_axis(op)
    rows = kernels.reshape(np.moveaxis(weights, axis, 0).shape)
    _replace(op, 1, np.moveaxis(rows, 0, axis), pool)


def _bias(op: LinearOp) -> Array:
    found = _numbers(op.operands[2])
    if found is None:
        found = np.zeros(_weights(op).shape[_output_axis(op)], np.float32)
    return found.reshape(-1)


def _replace(op: Operation, index: int, values: Array, pool: DisposablePool) -> None:
    constant = _constant(values, op, pool)
    Builder(InsertPoint.before(op)).insert(constant)
    op.operands[index] = constant.output


def _constant(values: Array, before: Operation, pool: DisposablePool) -> ConstantOp:
    array = np.ascontiguousarray(values, np.float32)
    return ConstantOp.create(
        properties={"value": pool.create(array)},
        result_types=[tensor_type(array.shape, element_type_of(array.dtype))],
        location=derived(before.location),
    )


def _weights(op: LinearOp) -> Array:
    result = _numbers(op.operands[1])
    assert result is not None, "paths are between sums with constant weights"
    return result


def _numbers(value: SSAValue) -> Array | None:
    """A constant's numbers."""
    if not isinstance(value, OpResult) or not isinstance(value.op, ConstantOp) or value.op.value is None:
        return None
    return elements_array(value.op.value)
