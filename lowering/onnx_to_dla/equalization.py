"""
Channels of one tensor share a grid in 8 bits: those of small numbers, or far from zero, would use few steps.

Between two sums of products with at most ReLUs and moves in between, a channel may be larger by any factor if
the kernels that read it are smaller by it: `relu(f x) = f relu(x)`, so nothing else changes. The kernels
that make the channel have scales of their own, so the factor costs nothing there. Those that read it have one
scale for all channels: factors are chosen, from none to what makes all channels equal, for the least noise
(Nagel et al., 2019, §4.1, has one scale for all kernels, and factors from these alone). Without a ReLU in
between the middle of each channel becomes zero too, and `W m` goes to the readers' biases.

The mean of an image is a sum of products as well, with one weight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, prod
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.builder import Builder
from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xonnc.dialects.onnx.attributes import int_attr, int_values
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
from xonnc.formats.nvdla.quantization import INT8_MAX
from xonnc.lowering.onnx_to_dla.value_ranges import ValueRanges

Array = npt.NDArray[Any]
LinearOp = ConvOp | GemmOp
SpatialMean = AveragePoolOp | GlobalAveragePoolOp

UINT8_MAX = 255

EXPONENTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""How far channels become equal: 0 not at all, 1 wholly."""

MAX_RATIO = 64.0
"""The largest factor between two channels: multipliers of the SDP share a shift, and keep 9 of 15 bits."""

PEAK_TO_RMS = 6.0
"""How many times the root of the mean of a channel's squares its greatest number is, about."""


MEAN_MARGIN = 0.35
"""
What is left free on either side of the means of images, in parts of how far they spread: one number for each
sample, of which a few dozen reach two deviations where others will reach three and a half.
"""


def equalize(function: FuncOp, ranges: ValueRanges, pool: DisposablePool) -> None:
    """
    Scales weights so that channels of what lies between two convolutions use the steps of 8 bits alike.

    `ranges` become those of the scaled values; what they do not tell the channels of stays as it is.
    """
    for op in list(function.body.block.ops):
        path = _path_from(op) if isinstance(op, LinearOp | SpatialMean) else None
        if path is not None:
            _equalize(path, ranges, pool)


@dataclass(frozen=True)
class _Path:
    """From a sum to those that read what it makes: the values on the way, and where channels go."""

    producer: LinearOp | SpatialMean
    values: tuple[SSAValue, ...]
    channel_maps: tuple[Array, ...]
    """For each value and each of its places along axis 1, the maker's channel there; empty for a mixture."""
    consumers: tuple[LinearOp, ...]

    @property
    def may_shift(self) -> bool:
        """Whether channels may have numbers added: no ReLU bends them, no zeros are put around them."""
        bends = any(isinstance(value.owner, ReluOp) for value in self.values)
        return not bends and not any(
            isinstance(consumer, ConvOp) and _pads(consumer) for consumer in self.consumers
        )


@dataclass(frozen=True)
class _Change:
    """Each channel of the maker less a number, then times a factor."""

    centers: Array
    factors: Array
    margin: float
    """What is left free on either side of a channel, in parts of how far it spreads."""

    def of(self, found: Range, channel_map: Array) -> Range:
        """A range after the change; as it is where it does not tell channels."""
        if not channel_map.size or len(found.lows) != channel_map.size:
            return found
        centers, factors = self.centers[channel_map], self.factors[channel_map]
        means, lows, highs = (
            (np.array(values) - centers) * factors if values else np.zeros(0)
            for values in (found.means, found.lows, found.highs)
        )
        least, largest = _ends(found, self.margin)
        return replace(
            found,
            least=float(((least - centers) * factors).min()),
            largest=float(((largest - centers) * factors).max()),
            means=tuple(means.tolist()),
            lows=tuple(lows.tolist()),
            highs=tuple(highs.tolist()),
        )


def _ends(found: Range, margin: float) -> tuple[Array, Array]:
    """Between what channels lie, as far as the range of all does not cut it off, and what is left free."""
    least, largest = (np.clip(each, found.least, found.largest) for each in (found.lows, found.highs))
    free = margin * (largest - least)
    return least - free, largest + free


def _path_from(producer: LinearOp | SpatialMean) -> _Path | None:
    """The path from a sum or mean, if sums alone read what it makes."""
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
    """Where the maker's channels are behind an op that keeps factors of channels; `None` for any other op."""
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
    """The channel at each place along axis 1; empty where there are several."""
    if channels.ndim < 2 or channels.shape[0] != 1:
        return np.zeros(0, np.int32)
    rows = channels.reshape(channels.shape[1], -1)
    return rows[:, 0].copy() if np.all(rows == rows[:, :1]) else np.zeros(0, np.int32)


def _scales_outputs(op: LinearOp | SpatialMean) -> bool:
    """Whether what an op makes can be scaled in it."""
    if isinstance(op, SpatialMean):
        return _window(op) is not None
    return _is_plain(op)


def _window(op: SpatialMean) -> tuple[int, int] | None:
    """Rows and columns of a mean over a whole image that the engines add up exactly; `None` for others."""
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
    """Whether an op is a sum of products with constants of 32 bits, and a constant bias."""
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
    computed = (LinearOp, SpatialMean, ReluOp)
    place = max(index for index, value in enumerate(path.values) if isinstance(value.owner, computed))
    found, channel_map = ranges.of(path.values[place]), path.channel_maps[place]
    if found is None or not channel_map.size or len(found.lows) != channel_map.size:
        return
    margin = MEAN_MARGIN if isinstance(path.producer, SpatialMean) else 0.0
    least, largest = np.full(path.channel_maps[0].size, inf), np.full(path.channel_maps[0].size, -inf)
    ends = _ends(found, margin)
    np.minimum.at(least, channel_map, ends[0])
    np.maximum.at(largest, channel_map, ends[1])
    centers = (least + largest) / 2 if path.may_shift else np.zeros(least.size)
    peaks = np.maximum(np.abs(least - centers), np.abs(largest - centers))
    if not peaks.any():
        return
    peaks = np.maximum(peaks, peaks.max() / MAX_RATIO)
    steps = UINT8_MAX if np.all(least >= centers) else INT8_MAX
    choices = [_Change(centers, (peaks / peaks.max()) ** -exponent, margin) for exponent in EXPONENTS]
    best = min(choices, key=lambda one: _noise(path, peaks, one.factors, steps))
    if np.all(best.factors == 1.0) and not centers.any():
        return
    made = _change(path, best, pool)
    for value, channel_map in zip((made, *path.values[1:]), path.channel_maps, strict=True):
        if (known := ranges.of(value)) is not None:
            ranges.set(value, best.of(known, channel_map))


def _noise(path: _Path, peaks: Array, factors: Array, steps: int) -> float:
    """
    What rounding the channels, each up to a peak, and the kernels that read them adds to these kernels'
    results, in parts of the results' own power, if channels are larger by the factors.
    """
    channel_map = path.channel_maps[-1]
    greatest = (peaks * factors)[channel_map]
    total, count = 0.0, 0
    for consumer in path.consumers:
        weights = _kernels(consumer)
        heights, scales, reach = (
            one.reshape(weights.shape[0], 1, -1, 1)
            for one in (peaks[channel_map], factors[channel_map], greatest)
        )
        scaled = weights / scales
        signal = np.square(weights * heights).sum(axis=(2, 3)) / PEAK_TO_RMS**2
        step = np.abs(scaled).max(axis=(2, 3)) / INT8_MAX
        by_kernels = np.square(step) * np.square(reach).sum(axis=(2, 3)) * weights.shape[3] / PEAK_TO_RMS**2
        by_channels = (greatest.max() / steps) ** 2 * np.square(scaled).sum(axis=(2, 3))
        there = signal > 0
        total += float(((by_kernels + by_channels)[there] / signal[there]).sum())
        count += int(there.sum())
    return total / count if count else inf


def _change(path: _Path, change: _Change, pool: DisposablePool) -> SSAValue:
    """Changes the maker, and the readers so that they give what they gave; the value now made."""
    channel_map = path.channel_maps[-1]
    for consumer in path.consumers:
        kernels = _kernels(consumer)
        along = (kernels.shape[0], 1, -1, 1)
        if change.centers.any():
            added = (kernels * change.centers[channel_map].reshape(along)).sum(axis=(2, 3)).reshape(-1)
            _replace(consumer, 2, _bias(consumer) + added, pool)
        _set_kernels(consumer, kernels / change.factors[channel_map].reshape(along), pool)
    producer = path.producer if isinstance(path.producer, LinearOp) else _as_sum(path.producer, pool)
    if change.centers.any() or producer.operands[2].type != NONE:
        _replace(producer, 2, (_bias(producer) - change.centers) * change.factors, pool)
    kernels = _kernels(producer)
    _set_kernels(producer, kernels * change.factors.reshape(kernels.shape[0], -1, 1, 1), pool)
    return producer.Y


def _as_sum(mean: SpatialMean, pool: DisposablePool) -> ConvOp:
    """A mean of a whole image as the convolution that it is, in its place."""
    window, shape = _window(mean), static_shape(mean.X.type)
    assert window is not None, "means that are made paths of have one"
    assert shape is not None, "a window has a shape"
    weights = np.full((shape[1], 1, *window), 1 / prod(window), np.float32)
    none = NoValueOp.create(result_types=[NONE], location=derived(mean.location))
    constant = _constant(weights, mean, pool)
    conv = ConvOp.create(
        operands=[mean.X, constant.output, none.none_val],
        properties={"group": int_attr(shape[1])},
        result_types=[mean.Y.type],
        location=mean.location,
    )
    Rewriter.replace_op(mean, [none, constant, conv], [conv.Y])
    return conv


def _output_axis(op: LinearOp) -> int:
    return 0 if isinstance(op, ConvOp) or op.transB.value.data else 1


def _kernels(op: LinearOp) -> Array:
    """Weights as groups, kernels of a group, channels that they read, taps."""
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


def _replace(op: Operation, place: int, values: Array, pool: DisposablePool) -> None:
    constant = _constant(values, op, pool)
    Builder(InsertPoint.before(op)).insert(constant)
    op.operands[place] = constant.output


def _constant(values: Array, beside: Operation, pool: DisposablePool) -> ConstantOp:
    array = np.ascontiguousarray(values, np.float32)
    return ConstantOp.create(
        properties={"value": pool.create(array)},
        result_types=[tensor_type(array.shape, element_type_of(array.dtype))],
        location=derived(beside.location),
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
